"""The adapter pointed at a simulated Jimeng, and whole jobs in one call."""

import io
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from PIL import Image

from jimeng_tasks.domain.provider import Picture, Progress, ProgressState
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.settings import Settings
from tests.integration.simulator_site import Json

IMAGE, VIDEO = TaskType.IMAGE, TaskType.VIDEO
RUNNING, SUCCEEDED, FAILED = ProgressState.RUNNING, ProgressState.SUCCEEDED, ProgressState.FAILED


def make_client(address: str, **changes: Any) -> JimengWeb:
    values: Json = {"jimeng_base_url": address, "jimeng_imagex_url": address, "jimeng_timeout": 5} | changes
    return JimengWeb(Settings(**values))


def picture(color: str = "red") -> Picture:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), color).save(buffer, "PNG")
    return Picture(data=buffer.getvalue(), format="png", width=64, height=48)


def account_of(region: str, token: str) -> str:
    return token if region == "cn" else f"{region}-{token}"


def submit(
    web: JimengWeb,
    account: str,
    params: Json,
    references: Sequence[str] = (),
    kind: TaskType = IMAGE,
    submit_id: str | None = None,
) -> str:
    return web.submit(account, web.prepare(account, submit_id or str(uuid4()), kind, params, references))


def finished(web: JimengWeb, account: str, history_id: str) -> Progress:
    for _ in range(200):
        progress = web.poll(account, [history_id]).get(history_id)
        if progress and progress.state is not RUNNING:
            return progress
        time.sleep(0.03)
    raise AssertionError("the job did not end")


def generated(web: JimengWeb, account: str, params: Json, *, kind: TaskType = IMAGE, references: int = 0) -> Progress:
    uris = [web.upload_reference(account, picture()) for _ in range(references)]
    return finished(web, account, submit(web, account, params, uris, kind))
