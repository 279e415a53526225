"""Settings that refer to a secret, against a real Secrets Manager and SSM protocol over HTTP."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from jimeng_tasks.exceptions import SettingsError
from jimeng_tasks.secrets import resolve
from local.objectstore import running_objectstore
from local.processes import PYTHONPATH

CONTENT = {"MONGODB_URI": "mongodb://user:canary@db/", "API_KEYS": ""}
NO_SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:nowhere-AbCdEf"
NO_PARAMETER = "arn:aws:ssm:us-east-1:123456789012:parameter/nowhere"


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    """The address of a server that speaks for every service, and keeps what it was given."""
    with running_objectstore() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch, aws: str) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": aws,
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def secret_arn(aws: str) -> str:
    return str(_client("secretsmanager", aws).create_secret(Name="jimeng", SecretString=json.dumps(CONTENT))["ARN"])


@pytest.fixture(scope="module")
def parameter_arn(aws: str) -> str:
    client = _client("ssm", aws)
    client.put_parameter(Name="/jimeng/prod", Value=json.dumps(CONTENT), Type="SecureString")
    return str(client.get_parameter(Name="/jimeng/prod")["Parameter"]["ARN"])


def test_a_key_of_a_secret_stands_in_for_its_reference(secret_arn: str) -> None:
    environ = {
        "MONGODB_URI": f"{secret_arn}:MONGODB_URI",
        "API_KEYS": f"{secret_arn}:API_KEYS",
    }
    assert resolve(environ) == CONTENT


def test_a_key_of_a_parameter_stands_in_for_its_reference(parameter_arn: str) -> None:
    assert resolve({"MONGODB_URI": f"{parameter_arn}:MONGODB_URI"}) == {"MONGODB_URI": CONTENT["MONGODB_URI"]}


def test_a_reference_without_a_key_stands_for_the_whole_text(parameter_arn: str) -> None:
    assert json.loads(resolve({"ALL": parameter_arn})["ALL"]) == CONTENT


def test_plain_values_stay_as_they_are() -> None:
    environ = {"MONGODB_URI": "mongodb://localhost", "TOS_SECRET_KEY": "a:b:c", "EMPTY": ""}
    topic = {"TOPIC": "arn:aws:sns:us-east-1:123456789012:alarms"}
    assert resolve(environ | topic) == environ | topic


def test_a_secret_that_several_variables_name_is_read_once() -> None:
    readings = []

    def fetch(arn: str) -> str:
        readings.append(arn)
        return '{"a": "1", "b": "2"}'

    assert resolve({"A": f"{NO_SECRET}:a", "B": f"{NO_SECRET}:b"}, fetch) == {"A": "1", "B": "2"}
    assert readings == [NO_SECRET]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (f"{NO_SECRET}:MONGODB_URI", "could not be read: ResourceNotFoundException"),
        (NO_PARAMETER, "could not be read: ParameterNotFound"),
        ("PARAMETER:PASSWORD", "has no text under the key PASSWORD"),
    ],
)
def test_what_cannot_be_read_stops_the_start_and_says_why(reference: str, reason: str, parameter_arn: str) -> None:
    with pytest.raises(SettingsError, match=reason) as caught:
        resolve({"MONGODB_URI": reference.replace("PARAMETER", parameter_arn)})
    assert str(caught.value).startswith("MONGODB_URI refers to ")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("text", ["canary", '["canary"]', '{"MONGODB_URI": 7}'])
def test_a_secret_of_another_form_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve({"MONGODB_URI": f"{NO_PARAMETER}:MONGODB_URI"}, lambda _: text)
    assert "canary" not in str(caught.value)


def test_an_unreachable_service_is_said_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(SettingsError, match="could not be read: EndpointConnectionError"):
        resolve({"MONGODB_URI": NO_PARAMETER})


def test_without_a_reference_boto3_is_not_loaded() -> None:
    code = "import sys, jimeng_tasks.secrets as s; s.resolve({'A': 'b'}); print('boto3' in sys.modules)"
    environ = {"PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout == "False\n"


def _client(service: str, endpoint: str) -> Any:
    return boto3.session.Session(
        aws_access_key_id="none", aws_secret_access_key="none", region_name="us-east-1"
    ).client(service, endpoint_url=endpoint)  # type: ignore[call-overload]
