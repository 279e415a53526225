"""Objects are stored over the real S3 protocol: whole and typed, or not at all, and with flat memory."""

import hashlib
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from urllib3 import HTTPResponse

from jimeng_tasks.exceptions import FetchFailed, StorageError
from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import TosStorage, s3_client
from local.objectstore import create_public_bucket, running_objectstore
from tests.integration.rogue_server import RogueServer
from tests.integration.s3_sink import S3Sink

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MEBIBYTE = 1024 * 1024
BUCKET = "media"


def settings_for(endpoint: str, bucket: str = BUCKET, **others: Any) -> Settings:
    return Settings(
        tos_endpoint_url=endpoint, tos_bucket=bucket, tos_access_key="AKCANARY", tos_secret_key="SKCANARY", **others
    )


class Source:
    """A reader that is no file: it cannot seek, and it may fail after so many bytes."""

    def __init__(self, data: bytes, fails_after: int | None = None) -> None:
        self._data = io.BytesIO(data)
        self._fails_after = fails_after

    @property
    def taken(self) -> int:
        """How many bytes were read."""
        return self._data.tell()

    def read(self, size: int = -1) -> bytes:
        if self._fails_after is not None and self._data.tell() + size > self._fails_after:
            raise FetchFailed("https://cdn.example.com/v broke off before its end")
        return self._data.read(size)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with running_objectstore() as running:
        create_public_bucket(s3_client(settings_for(running)), BUCKET)
        yield running


@pytest.fixture(scope="module")
def client(endpoint: str) -> "S3Client":
    return s3_client(settings_for(endpoint))


@pytest.fixture(scope="module")
def storage(endpoint: str) -> TosStorage:
    return TosStorage(settings_for(endpoint))


def test_without_a_bucket_there_is_no_storage() -> None:
    assert TosStorage.from_settings(Settings()) is None
    assert TosStorage.from_settings(settings_for("http://127.0.0.1:9")) is not None


@pytest.mark.parametrize("size", [0, 1, 8 * MEBIBYTE - 1, 8 * MEBIBYTE, 8 * MEBIBYTE + 1, 20 * MEBIBYTE])
def test_a_stored_object_can_be_fetched_by_anybody(storage: TosStorage, size: int) -> None:
    data = os.urandom(size)

    url = storage.store(f"jimeng/video/{size}.mp4", "video/mp4", Source(data))

    got = requests.get(url, timeout=10)
    assert got.status_code == 200
    assert hashlib.sha256(got.content).digest() == hashlib.sha256(data).digest()
    assert got.headers["Content-Type"] == "video/mp4"


def test_an_address_encodes_its_key(endpoint: str, storage: TosStorage) -> None:
    url = storage.store("jimeng/图 1+a?b#c.png", "image/png", Source(b"abc"))

    assert url == f"{endpoint}/media/jimeng/%E5%9B%BE%201%2Ba%3Fb%23c.png"
    assert requests.get(url, timeout=10).content == b"abc"


def test_storing_again_replaces_the_object(storage: TosStorage) -> None:
    first = storage.store("jimeng/again.png", "image/png", Source(b"old"))
    second = storage.store("jimeng/again.png", "image/webp", Source(b"new"))

    got = requests.get(second, timeout=10)
    assert first == second
    assert (got.content, got.headers["Content-Type"]) == (b"new", "image/webp")


@pytest.mark.parametrize("good_bytes", [0, 9 * MEBIBYTE, 17 * MEBIBYTE])
def test_a_source_that_breaks_off_leaves_nothing_behind(
    client: "S3Client", storage: TosStorage, good_bytes: int
) -> None:
    key = f"broken/{good_bytes}.mp4"

    with pytest.raises(FetchFailed, match="broke off before its end"):
        storage.store(key, "video/mp4", Source(bytes(30 * MEBIBYTE), fails_after=good_bytes))

    assert "Contents" not in client.list_objects_v2(Bucket=BUCKET, Prefix="broken/")
    assert "Uploads" not in client.list_multipart_uploads(Bucket=BUCKET)


def test_a_refusal_names_code_and_status_and_no_secret(endpoint: str) -> None:
    storage = TosStorage(settings_for(endpoint, bucket="nobody-made-it"))

    for size in (5, 9 * MEBIBYTE):
        with pytest.raises(StorageError, match=r"NoSuchBucket \(status 404\)") as caught:
            storage.store("secret/key.png", "image/png", Source(bytes(size)))
        assert not re.search("CANARY|secret|nobody", str(caught.value))
        assert caught.value.__suppress_context__


def test_after_a_refusal_the_rest_of_the_file_is_not_read(endpoint: str) -> None:
    source = Source(bytes(120 * MEBIBYTE))

    with pytest.raises(StorageError, match="NoSuchBucket"):
        TosStorage(settings_for(endpoint, bucket="nobody-made-it")).store("key.mp4", "video/mp4", source)

    assert source.taken < 60 * MEBIBYTE


def test_a_storage_that_does_not_answer_is_an_error_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    storage = TosStorage(settings_for(f"http://127.0.0.1:{port}"))
    began = time.monotonic()

    with pytest.raises(StorageError, match="EndpointConnectionError") as caught:
        storage.store("secret/key.png", "image/png", Source(b"abc"))

    assert "secret" not in str(caught.value)
    assert time.monotonic() - began < 10


def test_threads_share_a_storage_from_its_first_use(endpoint: str) -> None:
    storage, urls = TosStorage(settings_for(endpoint)), list[str]()

    def work(index: int) -> None:
        urls.append(storage.store(f"threads/{index}.png", "image/png", Source(b"%d" % index)))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(requests.get(url, timeout=10).content for url in urls) == [b"%d" % index for index in range(8)]


# -- TOS itself cannot be reached from a test; what would be sent to it can be seen


def sent_to(settings: Settings) -> AWSPreparedRequest:
    """The first request of an upload, seen through botocore's own hook that answers in place of the network."""
    client, seen = s3_client(settings), list[AWSPreparedRequest]()

    def answer(request: AWSPreparedRequest, **_: Any) -> Any:
        seen.append(request)
        return AWSResponse(request.url, 200, HTTPHeaders(), HTTPResponse(io.BytesIO(), preload_content=False))

    client.meta.events.register("before-send.s3", answer)
    client.put_object(Bucket=settings.tos_bucket, Key="a/1.png", Body=b"abcde", ContentType="image/png")
    return seen[0]


TOS_ENDPOINTS = [
    ("https://tos-s3-cn-beijing.volces.com", "media.tos-s3-cn-beijing.volces.com"),
    ("https://tos-s3-cn-beijing.ivolces.com", "media.tos-s3-cn-beijing.ivolces.com"),
    ("https://tos-s3-ap-southeast-1.bytepluses.com", "media.tos-s3-ap-southeast-1.bytepluses.com"),
]


@pytest.mark.parametrize(("endpoint", "host"), TOS_ENDPOINTS)
def test_tos_is_addressed_by_the_buckets_own_host(endpoint: str, host: str) -> None:
    request = sent_to(settings_for(endpoint))

    assert urlsplit(request.url).netloc == host
    assert urlsplit(request.url).path == "/a/1.png"


@pytest.mark.parametrize(
    ("endpoint", "is_signed"),
    [("https://tos-s3-cn-beijing.volces.com", False), ("http://tos-s3-cn-beijing.ivolces.com", True)],
)
def test_a_body_is_signed_where_no_tls_protects_it(endpoint: str, is_signed: bool) -> None:
    header = sent_to(settings_for(endpoint)).headers["X-Amz-Content-SHA256"]
    signed = header.decode() if isinstance(header, bytes) else header

    assert signed == (hashlib.sha256(b"abcde").hexdigest() if is_signed else "UNSIGNED-PAYLOAD")


def test_tos_gets_a_plain_sized_typed_body() -> None:
    headers = sent_to(settings_for("https://tos-s3-cn-beijing.volces.com")).headers

    sent = {name.lower(): value.decode() if isinstance(value, bytes) else value for name, value in headers.items()}
    assert sent["content-length"] == "5"
    assert sent["content-type"] == "image/png"
    assert sent["authorization"].startswith("AWS4-HMAC-SHA256 ")
    assert "/cn-beijing/s3/aws4_request" in sent["authorization"]
    assert "content-encoding" not in sent
    assert "transfer-encoding" not in sent
    assert not [name for name in sent if "checksum" in name or "trailer" in name]


@pytest.mark.parametrize(
    ("endpoint", "public_base", "url"),
    [
        ("https://tos-s3-cn-beijing.volces.com", "", "https://media.tos-s3-cn-beijing.volces.com/a/1%20x.png"),
        ("https://tos-s3-cn-beijing.ivolces.com", "", "https://media.tos-s3-cn-beijing.volces.com/a/1%20x.png"),
        ("https://tos-s3-cn-beijing.volces.com", "https://cdn.example.com/m", "https://cdn.example.com/m/a/1%20x.png"),
        ("http://localhost:9000", "", "http://localhost:9000/media/a/1%20x.png"),
    ],
)
def test_public_addresses(endpoint: str, public_base: str, url: str) -> None:
    storage = TosStorage(settings_for(endpoint, tos_public_base_url=public_base))

    assert storage.public_url("a/1 x.png") == url


# -- memory

STREAM_A_FILE = """
import json, sys, threading, psutil
from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.media.source import GuardedSource
from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import TosStorage

small, large, endpoint = sys.argv[1:]
limits = ReferenceLimits(formats=frozenset(), max_bytes=1, min_side=1, max_side=1, max_pixels=1)
source = GuardedSource(True, limits, timeout=60)
storage = TosStorage(
    Settings(tos_endpoint_url=endpoint, tos_bucket="media", tos_access_key="a", tos_secret_key="b")
)
process = psutil.Process()
peak = 0

def transfer(url):
    with source.open(url) as stream:
        storage.store("k", stream.content_type, stream)

def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, process.memory_info().rss)

transfer(small)
before, done = process.memory_info().rss, threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
transfer(large)
done.set()
watcher.join()
print(json.dumps({"growth": peak - before}))
"""


def generated_video(mebibytes: int) -> Any:
    def behave(handler: Any) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Content-Length", str(mebibytes * MEBIBYTE))
        handler.end_headers()
        piece = bytes(MEBIBYTE)
        handler.wfile.write((b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + piece)[:MEBIBYTE])
        for _ in range(mebibytes - 1):
            handler.wfile.write(piece)

    return behave


def test_memory_stays_flat_for_a_file_of_one_gibibyte() -> None:
    with RogueServer().running() as server, S3Sink().running() as sink:
        small = server.on("/small", generated_video(1))
        large = server.on("/large", generated_video(1024))

        child = subprocess.run(
            [sys.executable, "-c", STREAM_A_FILE, small, large, sink.endpoint],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

    assert sum(sink.parts) == 1025 * MEBIBYTE
    assert max(sink.parts) == 5 * MEBIBYTE
    assert sink.completed
    assert json.loads(child.stdout)["growth"] < 60 * MEBIBYTE
