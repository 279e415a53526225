"""Canaries in every place where a secret can stand, everything failing, real processes: nothing of them comes out."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from local.processes import PYTHONPATH, ROOT
from tests.integration.local_commands import Running, running
from tests.integration.test_local_run import free_port
from tests.security.echoing_site import echoing_site

TOKEN = "c4n4ry70ken0123456789abcdef01234"
OTHER_TOKEN = "c4n4ry0ther0123456789abcdef01234"
API_KEY = "c4n4ryap1key0123456789"
SECRET_KEY = "c4n4ry5ecretkey0123456789"
ACCESS_KEY = "c4n4ryacce55key0123456789"
SIGNATURE = "c4n4ry51gnature0123456789"
PASSWORD = "c4n4rypa55word0123456789"
CIPHER_KEY = base64.b64encode(b"c4n4ry-c1pher-key-0123456789-abc").decode()
CANARIES = [TOKEN, OTHER_TOKEN, API_KEY, SECRET_KEY, ACCESS_KEY, SIGNATURE, PASSWORD, CIPHER_KEY, "c4n4ry"]
WAYS = ("refuse", "server", "html", "failed", "done")
ENDED = ("failed", "completed")
SECONDS = 40


@dataclass
class Witness:
    """Everything that came out: answers of the API, and what the processes wrote."""

    answers: dict[str, requests.Response] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)


class Client:
    """Calls the API as somebody who has the canaries, and keeps every answer."""

    def __init__(self, url: str, witness: Witness) -> None:
        self._url = url
        self._witness = witness

    def call(self, name: str, method: str, path: str, **request: Any) -> requests.Response:
        sent = {"X-API-Key": API_KEY, "Authorization": f"Bearer {TOKEN}", **request.pop("headers", {})}
        headers = {key: value for key, value in sent.items() if value is not None}
        answer = requests.request(method, self._url + path, headers=headers, timeout=20, **request)
        self._witness.answers[name] = answer
        return answer

    def order(self, task_id: str, prompt: str, **changes: Any) -> None:
        body = {"prompt": prompt, "task_id": task_id, **changes}
        self.call(f"order {task_id}", "POST", "/v1/images/generations", json=body)

    def wait_for(self, task_ids: Sequence[str]) -> None:
        deadline = time.monotonic() + SECONDS
        waiting = list(task_ids)
        while waiting and time.monotonic() < deadline:
            for task_id in list(waiting):
                answer = self.call(f"query {task_id}", "GET", f"/v1/images/query?task_id={task_id}")
                if answer.json()["data"]["state"] in ENDED:
                    waiting.remove(task_id)
            time.sleep(0.3)


def bad_requests(client: Client, site: str) -> None:
    images, signed = "/v1/images/generations", f"?X-Amz-Signature={SIGNATURE}&token={TOKEN}"
    as_text = {"Content-Type": "application/json"}
    client.call("broken json", "POST", images, data=f'{{"token": "{TOKEN}"', headers=as_text)
    client.call("twice", "POST", images, data=f'{{"{TOKEN}": 1, "a": 1, "a": 2}}', headers=as_text)
    client.call("types", "POST", images, json={"prompt": {"a": TOKEN}, "width": TOKEN, "is": SIGNATURE, "n": API_KEY})
    client.call("address", "POST", images, json={"prompt": "a", "images": [f"file:///etc/passwd{signed}"]})
    client.call("data uri", "POST", images, json={"prompt": "a", "images": [f"data:image/png;base64,{SIGNATURE}"]})
    client.call("upload", "POST", "/v1/upload/images", json={"images": [f"{site}/media/a.png{signed}"]})
    client.call("no key", "POST", images, json={"prompt": "a"}, headers={"X-API-Key": f"{API_KEY}x"})
    client.call("scheme", "POST", images, json={"prompt": "a"}, headers={"Authorization": f"Basic {TOKEN}"})
    client.call("form", "POST", images, json={"prompt": "a"}, headers={"Authorization": f'Bearer "{TOKEN}",{TOKEN}'})
    client.call("region", "POST", images, json={"prompt": "a"}, headers={"Authorization": f"Bearer xx-{TOKEN}"})
    client.call("proxy", "POST", images, json={"prompt": "a"}, headers={"Authorization": f"Bearer http://u:{TOKEN}@h"})
    client.call("path", "GET", f"/v1/{TOKEN}?sign={SIGNATURE}")
    client.call("check", "POST", "/token/check", json={"token": TOKEN})
    client.call("points", "POST", "/token/points", headers={"Authorization": f"Bearer {TOKEN},us-{OTHER_TOKEN}"})
    client.call("stats", "GET", f"/v1/tasks/stats?server_id={SIGNATURE}!")
    client.call("openapi", "GET", "/openapi.json")
    client.call("docs", "GET", "/docs")


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witness]:
    """What came out of a stack whose provider, media host and storage all fail and echo."""
    seen, directory = Witness(), tmp_path_factory.mktemp("canaries")
    with echoing_site(SIGNATURE) as site:
        variables = {
            "JIMENG_BASE_URL": site,
            "JIMENG_IMAGEX_URL": site,
            "TOS_ENDPOINT_URL": site,
            "TOS_ACCESS_KEY": ACCESS_KEY,
            "TOS_SECRET_KEY": SECRET_KEY,
            "TOKEN_ENCRYPTION_KEY": CIPHER_KEY,
            "API_KEYS": API_KEY,
            "LOG_LEVEL": "DEBUG",
            "SERVICE_IDS": "canaries",
            "IMAGE_TASK_TIMEOUT": "15",
        }
        with running(directory, free_port(), **variables) as stack:
            _work(Client(stack.url, seen), site)
            seen.written |= _written(stack)
        seen.written["make run, to its end"] = stack.printed
        yield seen


def _work(client: Client, site: str) -> None:
    names = []
    for way in WAYS:
        client.order(f"canary-{way}", f"way-{way}")
        names.append(f"canary-{way}")
    client.order("canary-reference", "way-done", images=[f"{site}/media/a.png?X-Amz-Signature={SIGNATURE}"])
    bad_requests(client, site)
    client.wait_for([*names, "canary-reference"])


def _written(stack: Running) -> dict[str, str]:
    port = stack.url.rpartition(":")[2]
    logs = [*(ROOT / "logs" / port).iterdir(), ROOT / "logs" / "task_polling.log"]
    return {path.name: path.read_text(errors="replace") for path in logs}


def test_it_happened(witness: Witness) -> None:
    """The stack was really given the canaries, and really failed."""
    states = {way: witness.answers[f"query canary-{way}"].json()["data"]["state"] for way in WAYS}
    assert states["refuse"] == states["failed"] == "failed"
    assert states["done"] == "completed"
    assert "transfer failed" in witness.written["task_polling.log"]
    assert '"_aws"' in witness.written["poller-canaries.log"]
    refused = {name: answer.status_code for name, answer in witness.answers.items() if answer.status_code >= 400}
    assert len(refused) >= 12
    assert max(refused.values()) < 500


def test_no_log_line_and_no_metric_holds_a_canary(witness: Witness) -> None:
    for name, text in witness.written.items():
        leaks = [line[:300] for line in text.splitlines() if any(canary in line for canary in CANARIES)]
        assert leaks == [], name


def test_no_answer_holds_a_canary(witness: Witness) -> None:
    for name, answer in witness.answers.items():
        text = f"{answer.text} {dict(answer.headers)}"
        if answer.ok and "urls" in (answer.json().get("data") or {} if answer.text.startswith("{") else {}):
            data = answer.json()["data"]
            text = text.replace(json.dumps(data["url"]), "").replace(
                json.dumps(data["urls"], separators=(",", ":")), ""
            )
        allowed = f"{TOKEN[:4]}***"
        assert [canary for canary in CANARIES if canary in text.replace(allowed, "")] == [], f"{name}: {text[:500]}"


CRASHES = {
    "mongodb address": {"MONGODB_URI": f"mongodb://user:{PASSWORD}@[::bad/"},
    "mongodb scheme": {"MONGODB_URI": f"https://user:{PASSWORD}@h/"},
    "encryption key": {"TOKEN_ENCRYPTION_KEY": f"{CIPHER_KEY},c4n4ry"},
    "storage keys": {"TOS_SECRET_KEY": SECRET_KEY, "TOS_BUCKET": f"{ACCESS_KEY}_"},
    "endpoint": {"TOS_ENDPOINT_URL": f"s3://{ACCESS_KEY}:{SECRET_KEY}@h"},
    "nothing answers": {"MONGODB_URI": f"mongodb://user:{PASSWORD}@127.0.0.1:1/?replicaSet=rs0"},
    "unknown option": {
        "MONGODB_URI": f"mongodb://user:{PASSWORD}@127.0.0.1:1/?tlsCertificateKeyFilePassword={PASSWORD}"
    },
    "secret": {
        "MONGODB_URI": "arn:aws:secretsmanager:us-east-1:123456789012:secret:jimeng-AbCdEf:MONGODB_URI",
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    },
}
INVOKE = """
import functions.{group}.app as app
class Context:
    aws_request_id = "r"
    def get_remaining_time_in_millis(self): return 3000
app.handler({event}, Context())
raise SystemExit("end")
"""
EVENTS = {
    "poller": "{}",
    "ops": str({"rawPath": "/health", "headers": {"authorization": f"Bearer {TOKEN}"}, "requestContext": {}}),
}


@pytest.mark.parametrize("group", EVENTS)
@pytest.mark.parametrize("crash", CRASHES)
def test_a_start_that_fails_shows_no_canary(crash: str, group: str) -> None:
    environ = {
        "PATH": os.defpath,
        "PYTHONPATH": PYTHONPATH,
        "USE_DATABASE_MODE": "true",
        "SERVICE_ID": "canaries",
        "API_KEYS": API_KEY,
        "MONGODB_URI": f"mongodb://user:{PASSWORD}@127.0.0.1:1/",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "LOG_LEVEL": "DEBUG",
        **CRASHES[crash],
    }
    script = INVOKE.format(group=group, event=EVENTS[group])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        check=False,
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    output = done.stdout + done.stderr
    assert output.strip()
    assert [canary for canary in CANARIES if canary in output] == [], output[-2000:]


def test_a_database_that_refuses_the_password_does_not_make_it_public(mongodb_uri: str, tmp_path: Path) -> None:
    address = mongodb_uri.replace("mongodb://", f"mongodb://user:{PASSWORD}@")
    environ = {"PATH": os.defpath, "PYTHONPATH": PYTHONPATH, "SERVICE_ID": "canaries", "MONGODB_URI": address}
    script = INVOKE.format(group="poller", event="{}")
    command = [sys.executable, "-c", script]
    environ |= {"USE_DATABASE_MODE": "true", "LOG_LEVEL": "DEBUG"}
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "store is not available" in done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
