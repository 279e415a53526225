"""Every permission of the deployment stands in an approved list."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.sam.template import expanded, of_type

APPROVED = Path(__file__).with_name("approved_iam.json")
POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:jimeng-AbCdEf"
PARAMETER = "arn:aws:ssm:us-east-1:123456789012:parameter/jimeng"
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
EVERYTHING = (
    "ServiceIds=a-1",
    f"SecretArn={SECRET}",
    f"SecretKeyArn={KEY}",
    "SubnetIds=subnet-1",
    "SecurityGroupIds=sg-1",
    "SnapStart=true",
)
POLLERS_OF_THE_STACK = "arn:aws:lambda:us-east-1:123456789012:function:local-poller-*"
ROUTES_OF_THE_API = "arn:aws:execute-api:us-east-1:123456789012:${Api}/*"


def granted(template: dict[str, Any]) -> dict[str, Any]:
    """What every role and policy of a template grants, and to whom roles are given."""
    roles = {
        name: {
            "trusts": role["AssumeRolePolicyDocument"]["Statement"],
            "managed": role.get("ManagedPolicyArns", []),
            "statements": [part for policy in role["Policies"] for part in policy["PolicyDocument"]["Statement"]],
        }
        for name, role in of_type(template, "AWS::IAM::Role").items()
    }
    policies = {
        name: {"roles": policy.get("Roles", []), "statements": policy["PolicyDocument"]["Statement"]}
        for kind in POLICIES
        for name, policy in of_type(template, kind).items()
    }
    callers = {
        name: {key: permission[key] for key in ("Action", "FunctionName", "Principal", "SourceArn")}
        for name, permission in of_type(template, "AWS::Lambda::Permission").items()
    }
    return {"roles": roles, "policies": policies, "callers": callers}


def allowed(grants: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every pair of action and resource that is allowed, with the name of its role or policy."""
    for name, holder in {**grants["roles"], **grants["policies"]}.items():
        for statement in holder["statements"]:
            if statement["Effect"] == "Allow":
                actions, resource = statement["Action"], statement["Resource"]
                for action in [actions] if isinstance(actions, str) else actions:
                    yield name, action, resource if isinstance(resource, str) else json.dumps(resource)


def test_a_deployment_with_every_option_grants_what_is_approved() -> None:
    assert granted(expanded(*EVERYTHING)) == json.loads(APPROVED.read_text(encoding="utf-8"))


def test_a_deployment_without_options_grants_less() -> None:
    approved = json.loads(APPROVED.read_text(encoding="utf-8"))
    plain = granted(expanded("ServiceIds=a-1"))
    assert {name: role["statements"] for name, role in plain["roles"].items()} == {
        name: role["statements"] for name, role in approved["roles"].items()
    }
    assert [role["managed"] for role in plain["roles"].values()] == [[]] * len(plain["roles"])
    assert set(plain["policies"]) == {"KickPolicy"}


def test_no_action_is_a_wildcard_and_no_resource_is_but_the_pollers_of_this_stack() -> None:
    grants = granted(expanded(*EVERYTHING))
    wide = {(name, resource) for name, action, resource in allowed(grants) if "*" in action + resource}
    assert wide == {
        ("KickPolicy", POLLERS_OF_THE_STACK),
        ("ScheduleRole", POLLERS_OF_THE_STACK),
        ("VpcPolicy", "*"),  # EC2 lets interfaces that do not exist yet be named in no other way
    }
    assert {caller["SourceArn"] for caller in grants["callers"].values()} == {ROUTES_OF_THE_API}


def test_what_lambda_may_do_in_the_vpc_the_code_of_the_functions_may_not() -> None:
    allow, deny = granted(expanded(*EVERYTHING))["policies"]["VpcPolicy"]["statements"]
    assert {action.partition(":")[0] for action in allow["Action"]} == {"ec2"}
    assert (deny["Effect"], deny["Action"], deny["Resource"]) == ("Deny", "ec2:*", "*")
    assert deny["Condition"] == {
        "ArnLike": {"lambda:SourceFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:local-*"}
    }


def test_a_secret_in_ssm_is_read_there_and_nowhere_else() -> None:
    template = expanded("ServiceIds=a-1", f"SecretArn={PARAMETER}")
    assert granted(template)["policies"]["SecretPolicy"]["statements"] == [
        {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": PARAMETER}
    ]
