"""What the template promises, read from what CloudFormation makes of it."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from jimeng_tasks.bootstrap import Container, create_api
from jimeng_tasks.secrets import REFERENCE
from jimeng_tasks.settings import Settings
from tests.sam.commands import SERVICES, sam
from tests.sam.template import TEMPLATE, expanded, of_type

FUNCTION = "AWS::Lambda::Function"
LOG_GROUP = "AWS::Logs::LogGroup"
APPROVED_EXTRAS: set[str] = set()
SECRETS = ("MONGODB_URI", "TOKEN_ENCRYPTION_KEY", "TOS_ACCESS_KEY", "TOS_SECRET_KEY", "API_KEYS")
TWO = "ServiceIds=a-1,b_2"
ROUTES = {
    "/v1/images/{proxy+}": "ImagesFunction",
    "/v1/video/{proxy+}": "VideoFunction",
    "/v1/upload/{proxy+}": "UploadFunction",
    "$default": "OpsFunction",
}
GROUPS = {"images": "ImagesFunction", "video": "VideoFunction", "upload": "UploadFunction", "ops": "OpsFunction"}


def test_the_template_passes_the_linter() -> None:
    assert "valid SAM Template" in sam("validate", "--lint").stdout


@pytest.mark.parametrize("function", ["ImagesFunction", "VideoFunction", "UploadFunction", "OpsFunction", "Pollera1"])
def test_every_function_declares_exactly_the_settings_that_the_code_reads(function: str) -> None:
    variables = of_type(expanded(TWO), FUNCTION)[function]["Environment"]["Variables"]
    assert set(variables) == Settings().variable_names | APPROVED_EXTRAS


def test_a_deployment_without_parameters_has_the_settings_that_the_code_has_by_default() -> None:
    template = expanded()
    database = {"MONGODB_URI": "mongodb://db"}  # comes out of the secret, which a test has none of
    for function in of_type(template, FUNCTION).values():
        variables = {name: str(value) for name, value in function["Environment"]["Variables"].items()}
        settings = Settings.from_environ({**variables, **database})
        assert settings == replace(
            Settings(),
            use_database_mode=True,
            mongodb_uri=database["MONGODB_URI"],
            service_id=variables["SERVICE_ID"],
            service_ids=SERVICES,
            poller_function_prefix="local-poller-",
            powertools_service_name="local",
        )


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:jimeng-AbCdEf",
        "arn:aws:ssm:us-east-1:123456789012:parameter/jimeng",
    ],
)
def test_secrets_stand_in_the_configuration_only_as_references(arn: str) -> None:
    template = expanded(
        TWO, f"SecretArn={arn}", "TosBucket=media", "TosEndpointUrl=https://tos-s3-cn-beijing.volces.com"
    )
    for function in of_type(template, FUNCTION).values():
        variables = function["Environment"]["Variables"]
        assert {name: variables[name] for name in SECRETS} == {name: f"{arn}:{name}" for name in SECRETS}
        assert all(REFERENCE.fullmatch(variables[name]) for name in SECRETS)


def test_no_secret_is_put_into_the_configuration_by_the_deployment() -> None:
    assert "{{resolve:" not in TEMPLATE.read_text(encoding="utf-8")


def test_without_a_secret_there_is_no_reference() -> None:
    for function in of_type(expanded(TWO), FUNCTION).values():
        assert [function["Environment"]["Variables"][name] for name in SECRETS] == [""] * len(SECRETS)


def test_every_path_reaches_its_function_with_events_of_format_2() -> None:
    template = expanded(TWO)
    paths = of_type(template, "AWS::ApiGatewayV2::Api")["Api"]["Body"]["paths"]
    names = {name: function["FunctionName"] for name, function in of_type(template, FUNCTION).items()}
    methods = {path: route["x-amazon-apigateway-any-method"] for path, route in paths.items()}
    assert set(methods) == set(ROUTES)
    for path, method in methods.items():
        integration = method["x-amazon-apigateway-integration"]
        assert integration["uri"].endswith(f":function:{names[ROUTES[path]]}:live/invocations")
        assert integration["payloadFormatVersion"] == "2.0"
    assert methods["$default"]["isDefaultRoute"] is True


@pytest.mark.parametrize("group", GROUPS)
def test_every_route_of_a_group_leads_to_its_function(group: str) -> None:
    for path in create_api(Container(Settings()), group).openapi()["paths"]:
        taken = [route for route in ROUTES if path.startswith(route.removesuffix("{proxy+}"))]
        assert [ROUTES[route] for route in taken or ["$default"]] == [GROUPS[group]], path


def test_every_setting_is_declared_once_for_all_functions() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    declared = re.findall(r"^ {8}([A-Z][A-Z_]+): ", text[: text.index("Resources:")], re.MULTILINE)
    assert sorted(declared) == sorted(Settings().variable_names)


def test_callers_from_browsers_may_send_and_read_the_headers_of_the_service() -> None:
    cors = of_type(expanded(TWO), "AWS::ApiGatewayV2::Api")["Api"]["Body"]["x-amazon-apigateway-cors"]
    assert set(cors["allowHeaders"]) == {"authorization", "content-type", "idempotency-key", "x-api-key"}
    assert set(cors["exposeHeaders"]) == {"retry-after", "x-request-id"}
    assert "allowCredentials" not in cors


def test_concurrency_is_reserved_only_when_asked_for() -> None:
    plain = of_type(expanded(TWO), FUNCTION)
    assert not [name for name, function in plain.items() if "ReservedConcurrentExecutions" in function]
    asked = of_type(expanded(TWO, "ApiReservedConcurrency=5", "PollerReservedConcurrency=2"), FUNCTION)
    assert {name: function["ReservedConcurrentExecutions"] for name, function in asked.items()} == {
        **dict.fromkeys(GROUPS.values(), "5"),
        **dict.fromkeys(("Pollera1", "Pollerb2"), "2"),
    }


@pytest.mark.parametrize(("snap_start", "version"), [("false", "$LATEST"), ("true", ["ImagesVersion", "Version"])])
def test_the_api_calls_the_function_itself_or_with_snap_start_its_published_version(
    snap_start: str, version: str | list[str]
) -> None:
    template = expanded(TWO, f"SnapStart={snap_start}")
    alias = of_type(template, "AWS::Lambda::Alias")["ImagesAlias"]
    assert alias["Name"] == "live"
    assert alias["FunctionVersion"] in (version, {"Fn::GetAtt": version})
    assert len(of_type(template, "AWS::Lambda::Version")) == (4 if snap_start == "true" else 0)


def test_the_api_is_throttled() -> None:
    (stage,) = of_type(expanded(TWO), "AWS::ApiGatewayV2::Stage").values()
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 50, "ThrottlingBurstLimit": 100}


def test_the_access_log_holds_nothing_that_may_be_a_secret() -> None:
    (stage,) = of_type(expanded(TWO), "AWS::ApiGatewayV2::Stage").values()
    fields = json.loads(stage["AccessLogSettings"]["Format"])
    assert fields["status"] == "$context.status"
    assert stage["AccessLogSettings"]["DestinationArn"] == {"Fn::GetAtt": ["AccessLogGroup", "Arn"]}
    sources = " ".join(fields.values()).lower()
    assert not re.search("header|query|body|authorizer|cookie", sources)


def test_api_functions_end_before_the_gateway_gives_up_and_pollers_have_five_minutes() -> None:
    functions = of_type(expanded(TWO), FUNCTION)
    assert {name: function["Timeout"] for name, function in functions.items()} == {
        **dict.fromkeys(("ImagesFunction", "VideoFunction", "UploadFunction", "OpsFunction"), 29),
        **dict.fromkeys(("Pollera1", "Pollerb2"), 300),
    }
    assert {function["Runtime"] for function in functions.values()} == {"python3.13"}


def test_nothing_retries_a_poller_the_next_minute_does() -> None:
    template = expanded(TWO)
    schedules = of_type(template, "AWS::Scheduler::Schedule").values()
    assert [schedule["ScheduleExpression"] for schedule in schedules] == ["rate(1 minute)"] * 2
    assert [schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] for schedule in schedules] == [0, 0]
    invokes = of_type(template, "AWS::Lambda::EventInvokeConfig").values()
    assert [(invoke["MaximumRetryAttempts"], invoke["Qualifier"]) for invoke in invokes] == [(0, "$LATEST")] * 2


def test_two_services_share_no_function_log_group_schedule_or_role() -> None:
    template = expanded(TWO)
    functions = [function for name, function in of_type(template, FUNCTION).items() if name.startswith("Poller")]
    schedules = list(of_type(template, "AWS::Scheduler::Schedule").values())
    for values in (
        [function["FunctionName"] for function in functions],
        [function["LoggingConfig"]["LogGroup"] for function in functions],
        [function["Environment"]["Variables"]["SERVICE_ID"] for function in functions],
        [json.dumps(function["Role"]) for function in functions],
        [schedule["Name"] for schedule in schedules],
        [json.dumps(schedule["Target"]["Arn"]) for schedule in schedules],
    ):
        assert len(values) == len(set(values)) == 2
    assert functions[0]["FunctionName"].endswith("-poller-a-1")


def test_every_function_writes_to_a_log_group_of_its_own_that_forgets() -> None:
    template = expanded(TWO)
    groups = {group["LogGroupName"]: group["RetentionInDays"] for group in of_type(template, LOG_GROUP).values()}
    used = [_log_group(template, function) for function in of_type(template, FUNCTION).values()]
    assert len(set(used)) == len(used)
    assert set(used) < set(groups)
    assert all(groups.values())


def test_the_outputs_name_the_api_and_every_poller() -> None:
    outputs = expanded(TWO)["Outputs"]
    assert set(outputs) == {"ApiUrl", "DashboardUrl", "PollerNamea1", "PollerNameb2"}
    assert outputs["PollerNamea1"]["Value"].endswith("-poller-a-1")


def _log_group(template: dict[str, Any], function: dict[str, Any]) -> str:
    named = function["LoggingConfig"]["LogGroup"]
    return str(of_type(template, LOG_GROUP)[named["Ref"]]["LogGroupName"] if isinstance(named, dict) else named)
