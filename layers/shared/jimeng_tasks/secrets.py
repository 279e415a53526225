"""Variables that only refer to a secret: read from Secrets Manager or SSM once, when the process starts.

A reference is the ARN of a secret or of a parameter; with ``:KEY`` behind it the secret is JSON and the value is the
one of that key. boto3 is imported only where there is a reference.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from .exceptions import SettingsError

REFERENCE = re.compile(
    r"(?P<arn>arn:[^:]+:(?:secretsmanager:[^:]+:\d+:secret:|ssm:[^:]+:\d+:parameter/)[^:]+)"
    r"(?::(?P<key>[A-Za-z0-9_.-]+))?"
)
CONNECT_SECONDS = 3
READ_SECONDS = 5

type Fetch = Callable[[str], str]
"""Reads a secret's text, given its ARN."""


class _Unreadable(Exception):
    """Why a secret has no value; the message never holds any of it."""


def resolve(environ: Mapping[str, str], fetch: Fetch | None = None) -> dict[str, str]:
    """The environment with every reference replaced by what it refers to; each secret is read once.

    Raises:
        SettingsError: names every variable whose secret cannot be read, and why, never a value.
    """
    read = cache(fetch or _fetch)
    values, faults = dict(environ), []
    for variable, raw in environ.items():
        if reference := REFERENCE.fullmatch(raw.strip()):
            try:
                values[variable] = _value(read, **reference.groupdict())
            except _Unreadable as fault:
                faults.append(f"{variable} refers to {reference['arn']}, which {fault}")
    if faults:
        raise SettingsError("; ".join(faults))
    return values


def _value(read: Fetch, arn: str, key: str | None) -> str:
    text = read(arn)
    if key is None:
        return text
    try:
        members = json.loads(text)
    except ValueError:
        raise _Unreadable("is not JSON") from None
    value = members.get(key) if isinstance(members, dict) else None
    if not isinstance(value, str):
        raise _Unreadable(f"has no text under the key {key}: add it, empty if it is not used")
    return value


def _fetch(arn: str) -> str:
    from botocore.exceptions import BotoCoreError, ClientError

    service, region = arn.split(":")[2:4]
    try:
        return _READERS[service](_client(service, region), arn)
    except ClientError as error:
        raise _Unreadable(f"could not be read: {error.response.get('Error', {}).get('Code')}") from None
    except BotoCoreError as error:
        raise _Unreadable(f"could not be read: {type(error).__name__}") from None


def _client(service: str, region: str) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 2})
    return boto3.session.Session(region_name=region).client(service, config=config)  # type: ignore[call-overload]


def _secret(client: Any, arn: str) -> str:
    text = client.get_secret_value(SecretId=arn).get("SecretString")
    if text is None:
        raise _Unreadable("is binary, not text")
    return str(text)


def _parameter(client: Any, arn: str) -> str:
    return str(client.get_parameter(Name=arn, WithDecryption=True)["Parameter"]["Value"])


_READERS: dict[str, Callable[[Any, str], str]] = {"secretsmanager": _secret, "ssm": _parameter}
