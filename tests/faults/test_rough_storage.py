"""Storage and media fail: what is handed out is the very file, or its original address with the reason."""

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests

from jimeng_tasks.domain.task import Result, Task, TaskStatus
from jimeng_tasks.storage.tos import s3_client
from local.objectstore import create_public_bucket, running_objectstore
from tests.faults.hostile_world import HostileWorld, hostile_world, video
from tests.faults.raw_site import RawSite, image_record, video_record
from tests.faults.rough_storage import Answer, RoughStorage, Trouble
from tests.faults.soak import SOAK_SECONDS
from tests.integration.picture_bytes import png
from tests.integration.rogue_server import Behaviour, RogueServer, answer, raw, redirect

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "media"
MEBIBYTE = 1024 * 1024
PICTURE = png(64, 64)
MOVIE = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + hashlib.sha256(b"seed").digest() * (18 * MEBIBYTE // 32)
LAST_TRY = [11, 21, 41, 130]  # seconds; past the waits between the tries of a transfer


@dataclass
class Stack:
    world: HostileWorld
    site: RawSite
    media: RogueServer
    storage: RoughStorage
    client: "S3Client"

    def deliver(self, behaviour: Behaviour, *, is_video: bool = False) -> str:
        """A task whose one file is served like this; returns its id once it is about to be transferred."""
        url = self.media.on("/file", behaviour)
        self.site.record = lambda history_id, submit_id: _record(history_id, submit_id, url, is_video)
        task_id = self.world.post(**(video() if is_video else {}))
        self.world.tick(0, 20)
        return task_id

    def finish(self, task_id: str) -> tuple[Task, Result]:
        """Tick through the further tries of a transfer until the task has ended."""
        for seconds in LAST_TRY:
            if not self.world.task(task_id).is_terminal:
                self.world.tick(seconds)
        return self.world.ended(task_id)

    def loose_parts(self) -> list[Any]:
        return list(self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))


def _record(history_id: str, submit_id: str, url: str, is_video: bool) -> Any:
    if is_video:
        item = {"common_attr": {"transcoded_video": {"origin": {"video_url": url}}}, "video": {"play_url": url}}
        return video_record(history_id, submit_id) | {"item_list": [item]}
    return image_record(history_id, submit_id) | {"item_list": [{"image": {"large_images": [{"image_url": url}]}}]}


@pytest.fixture(scope="module")
def stack(mongodb_uri: str) -> Iterator[Stack]:
    with (
        running_objectstore() as endpoint,
        RoughStorage(endpoint).running() as storage,
        RawSite().running() as site,
        RogueServer().running() as media,
    ):
        environ = {"TOS_ENDPOINT_URL": storage.endpoint, "TOS_BUCKET": BUCKET}
        secrets = {"TOS_ACCESS_KEY": "local", "TOS_SECRET_KEY": "local"}
        with hostile_world(mongodb_uri, site, **environ, **secrets) as world:
            client = s3_client(world.deployment.settings)
            create_public_bucket(client, BUCKET)
            yield Stack(world, site, media, storage, client)


@pytest.fixture(autouse=True)
def healed(stack: Stack) -> None:
    stack.world.clear()
    stack.storage.heal()


def assert_stored(stack: Stack, ended: tuple[Task, Result], data: bytes) -> None:
    """The result is our own copy, and it is the very file."""
    task, result = ended
    assert (task.status, result.metadata.tos_upload_errors) == (TaskStatus.COMPLETED, ())
    [url] = result.tos_urls
    assert url.startswith(stack.storage.endpoint)
    stack.storage.heal()
    assert hashlib.sha256(requests.get(url, timeout=10).content).digest() == hashlib.sha256(data).digest()
    assert stack.loose_parts() == []


def assert_reported(stack: Stack, ended: tuple[Task, Result], reason: str = "") -> None:
    """The result is the original address, and says why; no broken object is left."""
    task, result = ended
    assert task.status is TaskStatus.COMPLETED
    assert result.tos_urls == result.original_urls == (stack.media.url("/file"),)
    [error] = result.metadata.tos_upload_errors
    assert reason in error
    stack.storage.heal()
    kept = stack.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    assert [one["Key"] for one in kept if task.task_id in one["Key"]] == []
    assert stack.loose_parts() == []


# -- the storage

REFUSALS = [(403, "AccessDenied"), (429, "TooManyRequests"), (500, "InternalError"), (503, "SlowDown")]


@pytest.mark.parametrize(("status", "code"), REFUSALS)
def test_a_storage_that_refuses_for_a_while(stack: Stack, status: int, code: str) -> None:
    stack.storage.befall(Trouble(status=status, code=code), ("put",), times=2)

    ended = stack.finish(stack.deliver(answer(PICTURE)))

    assert_stored(stack, ended, PICTURE)


@pytest.mark.parametrize(("status", "code"), REFUSALS if SOAK_SECONDS else REFUSALS[:1])
def test_a_storage_that_refuses_the_whole_time(stack: Stack, status: int, code: str) -> None:
    stack.storage.befall(Trouble(status=status, code=code), ("put",))

    ended = stack.finish(stack.deliver(answer(PICTURE)))

    assert_reported(stack, ended, code)


@pytest.mark.parametrize("kind", ["create", "part", "complete"])
def test_a_multipart_upload_of_which_one_step_fails_the_whole_time(stack: Stack, kind: str) -> None:
    stack.storage.befall(Trouble(status=403, code="AccessDenied"), (kind,))

    ended = stack.finish(stack.deliver(answer(MOVIE), is_video=True))

    assert_reported(stack, ended, "AccessDenied")


TROUBLES: dict[str, tuple[str, Trouble]] = {
    "cut at its start": ("part", Trouble(cut_after=0)),
    "cut in the middle of a part": ("part", Trouble(cut_after=4 * MEBIBYTE)),
    "slow": ("part", Trouble(wait=0.5)),
    "busy": ("part", Trouble(status=503, code="SlowDown")),
    "refused after all parts": ("complete", Trouble(status=500)),
    "an error with status 200": ("complete", Trouble(status=200, code="InternalError")),
    "lost before it is created": ("create", Trouble(cut_after=0)),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_multipart_upload_is_resumed_or_made_again(stack: Stack, trouble: str) -> None:
    kind, what = TROUBLES[trouble]
    stack.storage.befall(what, (kind,), times=2)

    ended = stack.finish(stack.deliver(answer(MOVIE), is_video=True))

    assert_stored(stack, ended, MOVIE)


def test_a_storage_that_is_away_the_whole_time(stack: Stack) -> None:
    stack.storage.befall(Trouble(cut_after=0), ("put", "create"))

    ended = stack.finish(stack.deliver(answer(PICTURE)))

    assert_reported(stack, ended, "ConnectionClosedError")


def _other_etag(said: Answer) -> None:
    said.headers["ETag"] = '"00000000000000000000000000000000"'


LIES: dict[str, Trouble] = {
    "stores less than it was sent": Trouble(corrupt=lambda body: body[: len(body) // 2]),
    "stores other bytes than it was sent": Trouble(corrupt=lambda body: bytes(len(body))),
    "names another checksum": Trouble(change=_other_etag),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_storage_that_lies_once_is_found_out(stack: Stack, lie: str) -> None:
    """Its own checksum tells, and another try stores the file as it is."""
    stack.storage.befall(LIES[lie], ("put",), times=1)

    ended = stack.finish(stack.deliver(answer(PICTURE)))

    assert_stored(stack, ended, PICTURE)


@pytest.mark.parametrize("lie", ["stores less than it was sent", "stores other bytes than it was sent"])
def test_a_part_that_is_stored_wrong_is_found_out(stack: Stack, lie: str) -> None:
    stack.storage.befall(LIES[lie], ("part",), times=1)

    ended = stack.finish(stack.deliver(answer(MOVIE), is_video=True))

    assert_stored(stack, ended, MOVIE)


# -- the original

ORIGINALS: dict[str, Callable[[], Behaviour]] = {
    "403": lambda: answer(b"<Error>expired</Error>", status=403),
    "404": lambda: answer(b"", status=404),
    "410": lambda: answer(b"", status=410),
    "429": lambda: answer(b"", status=429, Retry_After="9"),
    "500": lambda: answer(b"", status=500),
    "HTML": lambda: answer(b"<!doctype html><html>log in</html>"),
    "HTML that claims to be a picture": lambda: answer(b"<html>no</html>" * 999, Content_Type="image/png"),
    "empty": lambda: answer(b""),
    "truncated": lambda: answer(PICTURE[:-20], declared=len(PICTURE)),
    "truncated chunks": lambda: raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(PICTURE), PICTURE[:-20]
    ),
    "redirect without end": lambda: redirect("/file"),
    "no HTTP": lambda: raw(b"SSH-2.0-OpenSSH\r\n"),
}


@pytest.mark.parametrize("original", ORIGINALS)
def test_an_original_that_cannot_be_had(stack: Stack, original: str) -> None:
    ended = stack.finish(stack.deliver(ORIGINALS[original]()))

    assert_reported(stack, ended, "file 0: ")
    assert "signature" not in str(ended[1].metadata)


@pytest.mark.parametrize("original", ["403", "500", "HTML", "empty", "truncated", "no HTTP"])
def test_an_original_that_comes_later(stack: Stack, original: str) -> None:
    task_id = stack.deliver(ORIGINALS[original]())
    stack.media.on("/file", answer(PICTURE))

    assert_stored(stack, stack.finish(task_id), PICTURE)


@pytest.mark.parametrize("cut_at", [9 * MEBIBYTE, len(MOVIE) - 1])
def test_a_movie_whose_original_breaks_off(stack: Stack, cut_at: int) -> None:
    ended = stack.finish(stack.deliver(answer(MOVIE[:cut_at], declared=len(MOVIE)), is_video=True))

    assert_reported(stack, ended, "broke off before its end")


def test_an_original_that_falls_silent(stack: Stack) -> None:
    def silent(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + PICTURE[:100])
        stack.media.pause(8)

    began = time.monotonic()
    ended = stack.finish(stack.deliver(silent))

    assert_reported(stack, ended, "did not answer in time")
    assert time.monotonic() - began < 3 * 2
