"""The servers that the product talks to, each started here only where the environment names none."""

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from jimeng_tasks.exceptions import SettingsError
from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from local.errors import LocalError
from local.mongodb import running_mongod
from local.objectstore import create_public_bucket, running_objectstore
from local.processes import Child, stop_all

JIMENG = "Jimeng"
SIMULATOR_SECONDS = 20
BUCKET_SECONDS = 10
NAP = 0.05

DEFAULTS = {
    "USE_DATABASE_MODE": "true",
    "ALLOW_PRIVATE_URLS": "true",
    # Nobody kicks a poller here, so it looks for new tasks more often.
    "TASK_POLL_INTERVAL": "1",
    "TOS_BUCKET": "jimeng-media",
    "TOS_ACCESS_KEY": "local",
    "TOS_SECRET_KEY": "local",
}
SERVICE_IDS = "jimeng-api-3302,jimeng-api-3303"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A server in use: its name and its address without credentials. Those of our own are watched."""

    name: str
    address: str
    is_ours: bool

    def check(self) -> None:
        """Raise `LocalError` if a server of our own no longer accepts connections."""
        if not self.is_ours:
            return
        parts = urlsplit(self.address)
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5).close()
        except OSError:
            raise LocalError(f"{self.name} at {self.address} has ended") from None


def validated(environ: Mapping[str, str]) -> Settings:
    """The settings of the stack; the address of a part that is still to be started may be missing.

    Raises:
        LocalError: a variable is wrong: which, why, and what is allowed.
    """
    standing_in = {name: f"{scheme}://127.0.0.1" for name, scheme, _, _ in _PARTS if not is_set(environ, name)}
    try:
        return Settings.from_environ({**completed(environ), **standing_in})
    except SettingsError as error:
        raise LocalError(str(error)) from None


def is_set(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable counts as set: an empty one does not."""
    return bool(environ.get(name, "").strip())


def completed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with what a laptop needs and the caller did not set."""
    defaults = {**DEFAULTS, "SERVICE_IDS": environ.get("SERVICE_ID", "").strip() or SERVICE_IDS}
    return {**environ, **{name: value for name, value in defaults.items() if not is_set(environ, name)}}


def start_parts(environ: Mapping[str, str], output: Path, cleanup: ExitStack) -> tuple[dict[str, str], list[Part]]:
    """Start every part that the environment does not name; returns the environment that names them all, and the parts.

    Raises:
        LocalError: a part does not start.
    """
    environ, parts = completed(environ), []
    for variable, _, name, start in _PARTS:
        if variable == "MONGODB_URI" and not validated(environ).use_database_mode:
            continue
        is_ours = not is_set(environ, variable)
        if is_ours:
            environ |= start(environ, output, cleanup)
        parts.append(Part(name=name, address=without_credentials(environ[variable]), is_ours=is_ours))
    _provide_bucket(validated(environ))
    return environ, parts


def without_credentials(address: str) -> str:
    """Scheme and hosts of an address: what is in front of them and behind them may be secret."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return "as a secret says"
    return f"{scheme}://{rest.split('/')[0].split('?')[0].rpartition('@')[2]}"


def _mongodb(_environ: Mapping[str, str], _output: Path, cleanup: ExitStack) -> dict[str, str]:
    try:
        return {"MONGODB_URI": cleanup.enter_context(running_mongod())}
    except RuntimeError as error:
        raise LocalError(str(error)) from None


def _simulator(environ: Mapping[str, str], output: Path, cleanup: ExitStack) -> dict[str, str]:
    child = Child("simulator", ["local.simulator", "--port", "0"], environ=environ, output=output)
    cleanup.callback(stop_all, [child])
    child.start()
    deadline = time.monotonic() + SIMULATOR_SECONDS
    while '{"simulator": ' not in (said := child.output()):
        if not child.is_running or time.monotonic() > deadline:
            raise LocalError(child.last_words())
        time.sleep(NAP)
    address = json.loads(said[said.index('{"simulator": ') :].splitlines()[0])["simulator"]
    upload_host = {} if is_set(environ, "JIMENG_IMAGEX_URL") else {"JIMENG_IMAGEX_URL": address}
    return {"JIMENG_BASE_URL": address, **upload_host}


def _objectstore(_environ: Mapping[str, str], _output: Path, cleanup: ExitStack) -> dict[str, str]:
    try:
        return {"TOS_ENDPOINT_URL": cleanup.enter_context(running_objectstore())}
    except RuntimeError as error:
        raise LocalError(str(error)) from None


def _provide_bucket(settings: Settings) -> None:
    """Make the bucket if it is missing, on this machine only: nobody wants one made in an account by surprise."""
    if (urlsplit(settings.tos_endpoint_url).hostname or "") not in ("127.0.0.1", "localhost", "::1"):
        return
    # The product's own client waits and repeats for minutes; a slow storage must not delay the start.
    maker = threading.Thread(target=_make_bucket, args=(settings,), daemon=True)
    maker.start()
    maker.join(BUCKET_SECONDS)
    if maker.is_alive():
        print(f"note: the storage has not answered within {BUCKET_SECONDS} s")


def _make_bucket(settings: Settings) -> None:
    client = s3_client(settings)
    try:
        client.head_bucket(Bucket=settings.tos_bucket)
    except ClientError:
        try:
            create_public_bucket(client, settings.tos_bucket)
        except (ClientError, BotoCoreError) as error:
            print(f"note: bucket {settings.tos_bucket} could not be made ({type(error).__name__})")
    except BotoCoreError as error:
        print(f"note: the storage does not answer ({type(error).__name__})")


type Start = Callable[[Mapping[str, str], Path, ExitStack], dict[str, str]]

_PARTS: tuple[tuple[str, str, str, Start], ...] = (
    ("MONGODB_URI", "mongodb", "MongoDB", _mongodb),
    ("JIMENG_BASE_URL", "http", JIMENG, _simulator),
    ("TOS_ENDPOINT_URL", "http", "storage", _objectstore),
)
