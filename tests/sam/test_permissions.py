"""Every permission of the deployment stands in an approved list."""

import json
from pathlib import Path
from typing import Any

from tests.sam.template import expanded, of_type

APPROVED = Path(__file__).with_name("approved_iam.json")


def granted(template: dict[str, Any]) -> dict[str, Any]:
    """What every role and policy of a template grants, and to whom roles are given."""
    roles = {
        name: {
            "trusts": [statement["Principal"] for statement in role["AssumeRolePolicyDocument"]["Statement"]],
            "managed": role.get("ManagedPolicyArns", []),
            "statements": [part for policy in role["Policies"] for part in policy["PolicyDocument"]["Statement"]],
        }
        for name, role in of_type(template, "AWS::IAM::Role").items()
    }
    policies = {
        name: {"roles": policy.get("Roles", []), "statements": policy["PolicyDocument"]["Statement"]}
        for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
        for name, policy in of_type(template, kind).items()
    }
    callers = {
        name: {key: permission[key] for key in ("Action", "FunctionName", "Principal", "SourceArn")}
        for name, permission in of_type(template, "AWS::Lambda::Permission").items()
    }
    return {"roles": roles, "policies": policies, "callers": callers}


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


def test_a_deployment_with_every_option_grants_what_is_approved() -> None:
    assert granted(expanded(*EVERYTHING)) == json.loads(APPROVED.read_text(encoding="utf-8"))


def test_a_deployment_without_options_grants_less() -> None:
    approved = json.loads(APPROVED.read_text(encoding="utf-8"))
    plain = granted(expanded("ServiceIds=a-1"))
    assert {name: role["statements"] for name, role in plain["roles"].items()} == {
        name: role["statements"] for name, role in approved["roles"].items()
    }
    assert [role["managed"] for role in plain["roles"].values()] == [[]] * len(plain["roles"])


def test_the_only_wildcards_are_the_pollers_of_this_stack_and_the_routes_of_this_api() -> None:
    text = json.dumps(granted(expanded(*EVERYTHING)))
    assert text.count("*") == text.count("function:local-poller-*") + text.count("${Api}/*")


def test_a_secret_in_ssm_is_read_there_and_nowhere_else() -> None:
    template = expanded("ServiceIds=a-1", f"SecretArn={PARAMETER}")
    assert granted(template)["policies"]["SecretPolicy"]["statements"] == [
        {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": PARAMETER}
    ]
