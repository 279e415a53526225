"""Every variable: its default, what it takes, what it refuses and in which words."""

from typing import Any

import pytest

from jimeng_tasks.exceptions import SettingsError
from jimeng_tasks.settings import Settings

CANARY = "c4n4ry"

DEFAULTS: dict[str, Any] = {
    "USE_DATABASE_MODE": False,
    "SERVICE_ID": "",
    "SERVICE_IDS": (),
    "MAX_CONCURRENT_TASKS": 3,
    "TASK_POLL_INTERVAL": 5,
    "IMAGE_TASK_TIMEOUT": 3600,
    "VIDEO_TASK_TIMEOUT": 86_400,
    "RESULT_EXPIRE_TIME": 86_400,
    "TASK_RETENTION": 604_800,
    "RESULT_GRACE_SECONDS": 0,
    "MONGODB_URI": "",
    "MONGODB_DATABASE": "jimeng_tasks",
    "TOKEN_ENCRYPTION_KEY": (),
    "JIMENG_BASE_URL": "",
    "JIMENG_IMAGEX_URL": "",
    "JIMENG_TIMEOUT": 45,
    "JIMENG_APPVR": "8.4.0",
    "JIMENG_DA_VERSION": "3.3.9",
    "JIMENG_WEB_VERSION": "7.5.0",
    "JIMENG_DRAFT_VERSION": "3.3.9",
    "JIMENG_AID_CN": 513695,
    "JIMENG_AID_INTL": 513641,
    "TOS_ENDPOINT_URL": "",
    "TOS_REGION": "cn-beijing",
    "TOS_BUCKET": "",
    "TOS_ACCESS_KEY": "",
    "TOS_SECRET_KEY": "",
    "TOS_PUBLIC_BASE_URL": "",
    "TOS_PREFIX": "jimeng",
    "API_KEYS": (),
    "REQUIRE_QUERY_AUTH": False,
    "API_BASE_PATH": "",
    "POLLER_FUNCTION_PREFIX": "",
    "ALLOW_PRIVATE_URLS": False,
    "LOG_LEVEL": "INFO",
    "POWERTOOLS_SERVICE_NAME": "jimeng_tasks",
    "PORT": 8000,
}

VALID: list[tuple[str, str, Any]] = [
    ("USE_DATABASE_MODE", "false", False),
    ("ALLOW_PRIVATE_URLS", "TRUE", True),
    ("SERVICE_ID", "jimeng-api-3302", "jimeng-api-3302"),
    ("SERVICE_IDS", "a, b ,c", ("a", "b", "c")),
    ("MAX_CONCURRENT_TASKS", "1", 1),
    ("MAX_CONCURRENT_TASKS", " 12 ", 12),
    ("RESULT_GRACE_SECONDS", "0", 0),
    ("MONGODB_URI", "mongodb+srv://u:p@h.example/db", "mongodb+srv://u:p@h.example/db"),
    (
        "MONGODB_URI",
        "mongodb://u:p%40x@h-1:27017,[::1]:27018/?replicaSet=rs0",
        "mongodb://u:p%40x@h-1:27017,[::1]:27018/?replicaSet=rs0",
    ),
    ("JIMENG_BASE_URL", "http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
    ("TOS_PREFIX", "/a/b/", "a/b"),
    ("API_KEYS", "k1, k2", ("k1", "k2")),
    ("API_BASE_PATH", "gateway/", "/gateway"),
    ("API_BASE_PATH", "/", ""),
    ("LOG_LEVEL", "debug", "DEBUG"),
    ("POWERTOOLS_SERVICE_NAME", "jimeng-prod", "jimeng-prod"),
    ("PORT", "65535", 65_535),
    ("JIMENG_APPVR", "8.5.1", "8.5.1"),
]

NUMBERS = [name for name, default in DEFAULTS.items() if isinstance(default, int) and not isinstance(default, bool)]

INVALID: list[tuple[str, str, str]] = [
    *((name, value, "whole number") for name in NUMBERS for value in (f"{CANARY}7", "-1", "1.5", "1e3", "٣", "9" * 13)),
    *((name, "0", "whole number") for name in NUMBERS if name != "RESULT_GRACE_SECONDS"),
    *((name, f"yes{CANARY}", "true or false") for name in ("USE_DATABASE_MODE", "ALLOW_PRIVATE_URLS")),
    *(
        (name, value, "http")
        for name in ("JIMENG_BASE_URL", "JIMENG_IMAGEX_URL", "TOS_ENDPOINT_URL", "TOS_PUBLIC_BASE_URL")
        for value in (
            f"{CANARY}.example",
            f"ftp://{CANARY}.example",
            "https://",
            f"https://{CANARY}:99999",
            "http://[1",
        )
    ),
    *((name, f"8 {CANARY}", "version") for name in ("JIMENG_APPVR", "JIMENG_DA_VERSION", "JIMENG_WEB_VERSION")),
    ("JIMENG_DRAFT_VERSION", f"3/{CANARY}", "version"),
    ("SERVICE_ID", f"-{CANARY}", "letters"),
    ("SERVICE_ID", f"{CANARY} b", "letters"),
    ("SERVICE_ID", "x" * 65, "64"),
    ("SERVICE_IDS", f"a,{CANARY}!", "letters"),
    ("SERVICE_IDS", f"{CANARY},{CANARY}", "twice"),
    ("SERVICE_IDS", " , ", "SERVICE_IDS"),
    ("MONGODB_URI", f"http://{CANARY}", "mongodb://"),
    ("MONGODB_URI", f"mongodb://u:{CANARY}@h:99999999", "host[:port]"),
    ("MONGODB_URI", f"mongodb://u:{CANARY}@more@h", "percent-encoded"),
    ("MONGODB_URI", f"mongodb://u:{CANARY}/x@h", "percent-encoded"),
    ("MONGODB_URI", f"mongodb://u:{CANARY}@", "host[:port]"),
    ("MONGODB_DATABASE", f"{CANARY}/x", "MONGODB_DATABASE"),
    ("MONGODB_DATABASE", f"{CANARY}.x", "MONGODB_DATABASE"),
    ("MONGODB_DATABASE", f"{CANARY} x", "MONGODB_DATABASE"),
    ("TOS_BUCKET", f"{CANARY}_B", "a-z"),
    ("TOS_REGION", f"{CANARY} /", "TOS_REGION"),
    ("TOS_PREFIX", f"{CANARY} ?", "letters"),
    ("TOS_PREFIX", f"../{CANARY}", "TOS_PREFIX"),
    ("API_KEYS", ",", "API_KEYS"),
    ("API_BASE_PATH", f"/{CANARY}?x", "path"),
    ("POLLER_FUNCTION_PREFIX", f"{CANARY} !", "POLLER_FUNCTION_PREFIX"),
    ("LOG_LEVEL", f"{CANARY}", "DEBUG, INFO"),
    ("POWERTOOLS_SERVICE_NAME", f"{CANARY} x", "letters"),
]


def refusal(environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ(environ)
    return str(caught.value)


def test_this_table_knows_every_variable() -> None:
    assert Settings().variable_names == set(DEFAULTS)


@pytest.mark.parametrize(("name", "default"), DEFAULTS.items())
def test_a_variable_that_is_not_set_or_empty_has_its_default(name: str, default: Any) -> None:
    assert getattr(Settings.from_environ({}), name.lower()) == default
    assert getattr(Settings.from_environ({name: "  "}), name.lower()) == default


@pytest.mark.parametrize(("name", "raw", "value"), VALID)
def test_a_valid_value_is_read(name: str, raw: str, value: Any) -> None:
    assert getattr(Settings.from_environ({name: raw}), name.lower()) == value


@pytest.mark.parametrize(("name", "raw", "allowed"), INVALID)
def test_a_wrong_value_is_refused_by_name_with_what_is_allowed_and_never_repeated(
    name: str, raw: str, allowed: str
) -> None:
    message = refusal({name: raw})
    assert name in message
    assert allowed in message
    assert CANARY not in message


def test_all_faults_are_named_at_once() -> None:
    message = refusal({"PORT": "x", "LOG_LEVEL": "loud", "TOS_BUCKET": "UPPER"})
    assert all(name in message for name in ("PORT", "LOG_LEVEL", "TOS_BUCKET"))


def test_what_is_missing_is_named_together_with_what_is_wrong() -> None:
    message = refusal({"PORT": "x", "USE_DATABASE_MODE": "true"})
    assert "PORT" in message
    assert "MONGODB_URI" in message


TOS = {
    "TOS_BUCKET": "media",
    "TOS_ENDPOINT_URL": "https://tos-s3-cn-beijing.volces.com",
    "TOS_ACCESS_KEY": CANARY,
    "TOS_SECRET_KEY": CANARY,
}


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"USE_DATABASE_MODE": "true"}, "MONGODB_URI"),
        ({**TOS, "TOS_ENDPOINT_URL": ""}, "TOS_ENDPOINT_URL"),
        ({**TOS, "TOS_ACCESS_KEY": ""}, "TOS_ACCESS_KEY"),
        ({**TOS, "TOS_SECRET_KEY": ""}, "TOS_SECRET_KEY"),
        ({"SERVICE_ID": "a", "SERVICE_IDS": "b,c"}, "SERVICE_ID"),
    ],
)
def test_variables_that_do_not_fit_together_are_refused(environ: dict[str, str], named: str) -> None:
    message = refusal(environ)
    assert named in message
    assert CANARY not in message


BEIJING = "https://tos-s3-cn-beijing.volces.com"
SHANGHAI = "https://tos-s3-cn-shanghai.volces.com"


@pytest.mark.parametrize("server", [BEIJING, "http://127.0.0.1:9000"])
@pytest.mark.parametrize(
    ("endpoint", "fault"),
    [
        ("{}/media", "a path"),
        ("{}/media/", "a path"),
        ("{}?media", "a query"),
        ("{}/?media", "a path or a query"),
        ("{}?", "a query"),
        ("{}#media", "a fragment"),
        ("{}/media?x=1#y", "a path or a query or a fragment"),
    ],
)
def test_an_endpoint_is_scheme_host_and_port_only(server: str, endpoint: str, fault: str) -> None:
    message = refusal({**TOS, "TOS_ENDPOINT_URL": endpoint.format(server)})
    assert message.startswith(f"TOS_ENDPOINT_URL must not have {fault}: write scheme, host and port only")
    assert "TOS_BUCKET" in message
    assert "required" not in message


@pytest.mark.parametrize("user_info", [f"{CANARY}@", f"{CANARY}:{CANARY}@", "@"])
def test_an_endpoint_has_no_keys_and_they_are_not_repeated(user_info: str) -> None:
    message = refusal({**TOS, "TOS_ENDPOINT_URL": f"https://{user_info}tos-s3-cn-beijing.volces.com"})
    assert "must not have user info" in message
    assert "TOS_ACCESS_KEY" in message
    assert CANARY not in message


@pytest.mark.parametrize(
    ("endpoint", "region", "faults"),
    [
        ("https://media.tos-s3-cn-beijing.volces.com", "", ["must not contain the bucket", f"write {BEIJING}"]),
        ("https://other.tos-s3-cn-beijing.volces.com", "", ["must not contain the bucket", f"write {BEIJING}"]),
        ("https://media.tos-cn-beijing.volces.com", "", ["must not contain the bucket", "native", f"write {BEIJING}"]),
        ("https://tos-cn-beijing.volces.com", "", ["not the native one", f"write {BEIJING}"]),
        ("https://TOS-cn-beijing.volces.com", "", ["not the native one", f"write {BEIJING}"]),
        ("http://tos-cn-beijing.ivolces.com", "", ["write http://tos-s3-cn-beijing.ivolces.com"]),
        (
            "https://tos-ap-southeast-1.bytepluses.com",
            "ap-southeast-1",
            ["not the native one", "write https://tos-s3-ap-southeast-1.bytepluses.com"],
        ),
        (SHANGHAI, "", ["TOS_REGION must be the region of TOS_ENDPOINT_URL", "write cn-shanghai"]),
        (BEIJING, "cn-shanghai", ["TOS_REGION must be the region of TOS_ENDPOINT_URL", "write cn-beijing"]),
        ("https://tos-s3-cn-beijing2.volces.com", "", ["write cn-beijing2"]),
        ("https://console.volces.com", "", ["S3-compatible", BEIJING]),
        ("https://tos-s3-cn-beijing.volces.com.", "", ["S3-compatible", BEIJING]),
        ("http://media.localhost:9000", "", ["must not contain the bucket"]),
    ],
)
def test_an_endpoint_that_cannot_serve_the_bucket_is_refused_with_what_to_write(
    endpoint: str, region: str, faults: list[str]
) -> None:
    message = refusal({**TOS, "TOS_ENDPOINT_URL": endpoint, "TOS_REGION": region})
    assert [fault for fault in faults if fault not in message] == []
    assert CANARY not in message


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [
        (BEIJING, ""),
        (f"{BEIJING}/", "cn-beijing"),
        (f"{BEIJING}:443", ""),
        (SHANGHAI, "cn-shanghai"),
        ("https://tos-s3-cn-beijing2.ivolces.com", "cn-beijing2"),
        ("https://tos-s3-ap-southeast-1.bytepluses.com", "ap-southeast-1"),
        ("http://127.0.0.1:9000", ""),
        ("http://[::1]:9000", ""),
        ("http://media:9000", ""),
        ("https://minio.example.com", "us-east-1"),
        ("https://s3.eu-central-1.amazonaws.com", "eu-central-1"),
    ],
)
def test_an_endpoint_of_any_s3_server_is_taken(endpoint: str, region: str) -> None:
    settings = Settings.from_environ({**TOS, "TOS_ENDPOINT_URL": endpoint, "TOS_REGION": region})
    assert settings.tos_endpoint_url == endpoint.rstrip("/")


def test_a_complete_environment_is_accepted() -> None:
    mongodb_uri = f"mongodb://u:{CANARY}@h.example/?replicaSet=rs0"
    settings = Settings.from_environ(
        {**TOS, "USE_DATABASE_MODE": "true", "MONGODB_URI": mongodb_uri, "SERVICE_ID": "a", "SERVICE_IDS": "a,b"}
    )
    assert settings.mongodb_uri == mongodb_uri
    assert settings.require_service_id() == "a"
    assert settings.known_services == ("a", "b")


def test_foreign_variables_are_none_of_our_business() -> None:
    assert Settings.from_environ({"PATH": "/bin", "port": "x"}) == Settings()


def test_a_poller_needs_its_service() -> None:
    with pytest.raises(SettingsError, match="SERVICE_ID"):
        Settings.from_environ({}).require_service_id()


@pytest.mark.parametrize(
    ("environ", "services"),
    [({}, ("jimeng-free-api",)), ({"SERVICE_ID": "a"}, ("a",)), ({"SERVICE_IDS": "b,a"}, ("b", "a"))],
)
def test_the_services_that_a_task_may_be_given_to(environ: dict[str, str], services: tuple[str, ...]) -> None:
    assert Settings.from_environ(environ).known_services == services


def test_secrets_are_not_shown_by_the_settings_themselves() -> None:
    settings = Settings.from_environ({**TOS, "API_KEYS": CANARY, "MONGODB_URI": f"mongodb://u:{CANARY}@h"})
    assert CANARY not in repr(settings)
