"""Uploads in trouble: none holds up another, lets a lease run out, or leaves its parts in memory."""

import gc
import io
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from jimeng_tasks.exceptions import ClaimLost, FetchFailed, StorageError
from jimeng_tasks.storage.tos import TosStorage
from tests.integration.s3_sink import S3Sink
from tests.integration.test_storage import MEBIBYTE, Source, settings_for

HANGING = 8


@pytest.fixture
def sink() -> Iterator[S3Sink]:
    with S3Sink().running() as running:
        yield running


def test_uploads_that_hang_hold_up_no_other(sink: S3Sink) -> None:
    storage = TosStorage(settings_for(sink.endpoint))
    with ThreadPoolExecutor(HANGING) as pool:
        stuck = [
            pool.submit(storage.store, f"hang-{n}", "video/mp4", Source(bytes(16 * MEBIBYTE))) for n in range(HANGING)
        ]
        try:
            sink.wait_for_hanging(HANGING)
            began = time.monotonic()

            storage.store("small", "image/png", Source(b"abc"))

            assert time.monotonic() - began < 5
            assert not any(job.done() for job in stuck)
        finally:
            sink.let_go.set()


def test_progress_is_told_while_the_file_is_read_and_while_it_is_sent(sink: S3Sink) -> None:
    source, told = Source(bytes(30 * MEBIBYTE)), list[tuple[int, int]]()

    TosStorage(settings_for(sink.endpoint)).store(
        "k", "video/mp4", source, lambda: told.append((threading.get_ident(), source.taken))
    )

    assert len({thread for thread, _ in told}) > 1
    assert sum(taken == 30 * MEBIBYTE for _, taken in told) > 5, "also after the last byte was read"


def test_what_progress_raises_ends_the_upload_and_comes_through(sink: S3Sink) -> None:
    source = Source(bytes(200 * MEBIBYTE))

    def lose_the_claim() -> None:
        if source.taken > 12 * MEBIBYTE:
            raise ClaimLost("another poller owns the task")

    with pytest.raises(ClaimLost, match="another poller"):
        TosStorage(settings_for(sink.endpoint)).store("k", "video/mp4", source, lose_the_claim)

    assert source.taken < 60 * MEBIBYTE
    assert not sink.completed


def test_failed_uploads_leave_no_parts_in_memory(sink: S3Sink) -> None:
    storage = TosStorage(settings_for(sink.endpoint))
    data = bytes(30 * MEBIBYTE)
    gc.collect()
    gc.disable()  # what only a collection frees may stay for long
    tracemalloc.start()
    try:
        for number in range(6):
            with pytest.raises(FetchFailed):
                storage.store(f"broken-{number}", "video/mp4", Source(data, fails_after=28 * MEBIBYTE))
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert left - len(data) < 12 * MEBIBYTE  # the last source


@pytest.mark.parametrize("size", [3, 9 * MEBIBYTE])
def test_a_key_that_may_only_write_is_served(sink: S3Sink, size: int, caplog: pytest.LogCaptureFixture) -> None:
    sink.forbids_reading = True

    TosStorage(settings_for(sink.endpoint)).store("k", "video/mp4", io.BytesIO(bytes(size)))

    assert sum(sink.parts) == size
    assert "let the key of the object storage read objects" in caplog.text


def test_a_part_that_is_answered_without_an_etag_is_a_storage_error(sink: S3Sink) -> None:
    sink.sends_etags = False

    with pytest.raises(StorageError, match="answered without 'ETag'"):
        TosStorage(settings_for(sink.endpoint)).store("k", "video/mp4", Source(bytes(9 * MEBIBYTE)))


def test_many_uploads_at_once_take_no_thread_from_each_other(sink: S3Sink) -> None:
    storage = TosStorage(settings_for(sink.endpoint))
    with ThreadPoolExecutor(16) as pool:
        urls = list(pool.map(lambda n: storage.store(f"small-{n}", "image/png", Source(b"abc")), range(160)))

    assert len(set(urls)) == len(sink.parts) == 160
