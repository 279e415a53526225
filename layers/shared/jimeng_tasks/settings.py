"""Every environment variable that the product reads, with its type, default and limits, in one table.

The table is plain dataclass fields: a settings library would double what the poller imports at a cold start.
"""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from .endpoints import endpoint_faults
from .exceptions import SettingsError

SERVICE_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
KEY_BYTES = 32
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _text(raw: str) -> str:
    return raw


def _matching(pattern: str, allowed: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if not re.fullmatch(pattern, raw, re.ASCII):
            raise ValueError(f"must be {allowed}")
        return raw

    return parse


def _flag(raw: str) -> bool:
    if raw.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return raw.lower() == "true"


def _number(minimum: int, maximum: int) -> Callable[[str], int]:
    def parse(raw: str) -> int:
        if not re.fullmatch(r"-?\d{1,12}", raw, re.ASCII) or not minimum <= int(raw) <= maximum:
            raise ValueError(f"must be a whole number from {minimum} to {maximum}")
        return int(raw)

    return parse


def _url(*schemes: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        try:
            parts = urlsplit(raw)
            valid = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            valid = False
        if not valid:
            raise ValueError(f"must be an address that starts with {' or '.join(f'{s}://' for s in schemes)}")
        return raw.rstrip("/")

    return parse


_ENCODED = r"([^:/?#\[\]@%]|%[0-9A-Fa-f]{2})*"
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[^:/?#\[\]@,\s]+)(:\d{1,5})?"
_MONGODB_URI = re.compile(
    rf"mongodb(\+srv)?://({_ENCODED}(:{_ENCODED})?@)?(?P<hosts>{_HOST}(,{_HOST})*)(/[^?\s]*)?(\?\S*)?"
)
MAX_PORT = 65_535


def _mongodb_uri(raw: str) -> str:
    if not raw.startswith(("mongodb://", "mongodb+srv://")):
        raise ValueError("must start with mongodb:// or mongodb+srv://")
    match = _MONGODB_URI.fullmatch(raw)
    if match is None or any(int(port) > MAX_PORT for port in re.findall(r":(\d+)", match["hosts"])):
        raise ValueError(
            "must be mongodb://[user:password@]host[:port][,host[:port]...][/database][?options], "
            "with : / ? # [ ] @ and % in user and password percent-encoded"
        )
    return raw


_service_id = _matching(
    SERVICE_ID_PATTERN.pattern, "1 to 64 letters, digits, dashes or underscores and start with a letter or digit"
)


def _names(raw: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in raw.split(",") if part.strip())
    if not names:
        raise ValueError("must hold at least one entry between its commas")
    return names


def _encryption_keys(raw: str) -> tuple[bytes, ...]:
    try:
        keys = tuple(base64.b64decode(name, validate=True) for name in _names(raw))
    except ValueError:
        keys = ()
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise ValueError(f"must be keys of {KEY_BYTES} random bytes in base64, separated by commas")
    return keys


def _service_ids(raw: str) -> tuple[str, ...]:
    names = tuple(_service_id(name) for name in _names(raw))
    if len(set(names)) != len(names):
        raise ValueError("must not name a service twice")
    return names


def _log_level(raw: str) -> str:
    if raw.upper() not in LOG_LEVELS:
        raise ValueError(f"must be one of {', '.join(LOG_LEVELS)}")
    return raw.upper()


def _base_path(raw: str) -> str:
    path = "/" + raw.strip("/")
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*/?", path):
        raise ValueError("must be a path such as /gateway")
    return "" if path == "/" else path


def _prefix(raw: str) -> str:
    path = raw.strip("/")
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", path, re.ASCII):
        raise ValueError("must be a path of letters, digits and . _ - such as media/jimeng")
    return path


VERSION = _matching(r"[0-9A-Za-z.]{1,32}", "a version such as 8.4.0")


def setting(default: Any, parse: Callable[[str], Any], *, secret: bool = False) -> Any:
    """Declare a variable: the field's name in capitals is the variable's name."""
    return field(default=default, repr=not secret, metadata={"parse": parse})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The configuration of one process. Times in seconds."""

    # Mode and identity
    use_database_mode: bool = setting(False, _flag)
    service_id: str = setting("", _service_id)
    service_ids: tuple[str, ...] = setting((), _service_ids)

    # Task handling (seed 4.1)
    max_concurrent_tasks: int = setting(3, _number(1, 10_000))
    task_poll_interval: int = setting(5, _number(1, 60))
    image_task_timeout: int = setting(3600, _number(1, 604_800))
    video_task_timeout: int = setting(86_400, _number(1, 604_800))
    result_expire_time: int = setting(86_400, _number(1, 31_536_000))
    task_retention: int = setting(604_800, _number(60, 31_536_000))
    result_grace_seconds: int = setting(0, _number(0, 86_400))

    # MongoDB
    mongodb_uri: str = setting("", _mongodb_uri, secret=True)
    mongodb_database: str = setting(
        "jimeng_tasks", _matching(r"[A-Za-z0-9_-]{1,63}", "1 to 63 letters, digits, dashes or underscores")
    )
    token_encryption_key: tuple[bytes, ...] = setting((), _encryption_keys, secret=True)

    # Jimeng
    jimeng_base_url: str = setting("", _url("http", "https"))
    jimeng_imagex_url: str = setting("", _url("http", "https"))
    jimeng_timeout: int = setting(45, _number(1, 120))
    jimeng_appvr: str = setting("8.4.0", VERSION)
    jimeng_da_version: str = setting("3.3.9", VERSION)
    jimeng_web_version: str = setting("7.5.0", VERSION)
    jimeng_draft_version: str = setting("3.3.9", VERSION)
    jimeng_aid_cn: int = setting(513695, _number(1, 99_999_999))
    jimeng_aid_intl: int = setting(513641, _number(1, 99_999_999))

    # TOS object storage
    tos_endpoint_url: str = setting("", _url("http", "https"))
    tos_region: str = setting("cn-beijing", _matching(r"[a-z0-9-]{1,32}", "a region such as cn-beijing"))
    tos_bucket: str = setting(
        "", _matching(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", "3 to 63 of a-z, 0-9 and dash, with no dash at either end")
    )
    tos_access_key: str = setting("", _text, secret=True)
    tos_secret_key: str = setting("", _text, secret=True)
    tos_public_base_url: str = setting("", _url("http", "https"))
    tos_prefix: str = setting("jimeng", _prefix)

    # HTTP side
    api_keys: tuple[str, ...] = setting((), _names, secret=True)
    require_query_auth: bool = setting(False, _flag)
    api_base_path: str = setting("", _base_path)
    poller_function_prefix: str = setting(
        "", _matching(r"[A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, dashes or underscores")
    )
    allow_private_urls: bool = setting(False, _flag)

    # Process
    log_level: str = setting("INFO", _log_level)
    powertools_service_name: str = setting(
        "jimeng_tasks", _matching(r"[\w.-]{1,128}", "1 to 128 letters, digits or . _ -")
    )
    port: int = setting(8000, _number(1, 65_535))

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the settings; an empty variable counts as not set.

        Raises:
            SettingsError: names every variable that is wrong or missing, its fault and what is allowed,
                never its value; of an endpoint of TOS the region.
        """
        values: dict[str, Any] = {}
        faults: list[str] = []
        for spec in fields(cls):
            raw = environ.get(spec.name.upper(), "").strip()
            if not raw:
                continue
            try:
                values[spec.name] = spec.metadata["parse"](raw)
            except ValueError as fault:
                faults.append(f"{spec.name.upper()} {fault}")
        settings = cls(**values)
        faults += [fault for is_broken, fault in settings._rules() if is_broken]
        if faults:
            raise SettingsError("; ".join(faults))
        return settings

    def _rules(self) -> list[tuple[bool, str]]:
        """What several variables must fulfil together: whether it is broken, and how to say so."""
        endpoint = endpoint_faults(self.tos_endpoint_url, self.tos_bucket, self.tos_region)
        return [
            *((True, fault) for fault in endpoint),
            (
                self.use_database_mode and not self.mongodb_uri,
                "MONGODB_URI is required when USE_DATABASE_MODE is true",
            ),
            (
                bool(self.tos_bucket) and not self.tos_endpoint_url,
                "TOS_ENDPOINT_URL is required when TOS_BUCKET is set",
            ),
            (
                bool(self.tos_bucket) and not (self.tos_access_key and self.tos_secret_key),
                "TOS_ACCESS_KEY and TOS_SECRET_KEY are required when TOS_BUCKET is set",
            ),
            (
                self.task_retention < self.result_expire_time,
                "TASK_RETENTION must be at least RESULT_EXPIRE_TIME: a result needs its task to be found",
            ),
            (
                bool(self.service_id and self.service_ids) and self.service_id not in self.service_ids,
                "SERVICE_ID must be one of SERVICE_IDS",
            ),
        ]

    def require_service_id(self) -> str:
        """The poller's own service.

        Raises:
            SettingsError: ``SERVICE_ID`` is not set.
        """
        if not self.service_id:
            raise SettingsError("SERVICE_ID is required for a poller; it names the service whose tasks it works on")
        return self.service_id

    @property
    def known_services(self) -> tuple[str, ...]:
        """Every service a task may be given to: ``SERVICE_IDS``, else ``SERVICE_ID``, else the seed's default."""
        return self.service_ids or ((self.service_id,) if self.service_id else ("jimeng-free-api",))

    @property
    def variable_names(self) -> frozenset[str]:
        """The names of all variables that the product reads."""
        return frozenset(spec.name.upper() for spec in fields(self))
