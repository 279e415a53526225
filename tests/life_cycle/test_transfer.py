"""Delivered media are copied to our own storage, file by file, without ever asking the provider again."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from jimeng_tasks.domain.task import ResultStatus, Task, TaskStatus, TaskType
from jimeng_tasks.exceptions import FetchFailed, JimengTasksError, StorageError, UrlForbidden

from .scripted_provider import done
from .stand_ins import BytesSource, DictStorage, Killed
from .world import World

URLS = ("https://j.example/a", "https://j.example/b", "https://j.example/c")


def deliver(world: World, *urls: str, **changes: Any) -> Task:
    """A task whose job is done at the provider, due to be polled now."""
    task = world.post_accepted(**changes)
    world.provider.on_poll["t1"].append(done(*urls))
    return task


def keys(task: Task, count: int, extension: str = "png") -> list[str]:
    day = datetime.fromtimestamp(task.created_at, UTC).strftime("%Y/%m/%d")
    return [f"jimeng/{task.task_type}/{day}/{task.task_id}/{index}.{extension}" for index in range(count)]


@pytest.fixture
def storage(world: World) -> DictStorage:
    assert world.storage is not None
    return world.storage


def test_files_are_stored_under_deterministic_keys(world: World, storage: DictStorage) -> None:
    task = deliver(world, *URLS)
    world.tick()
    expected = keys(task, 3)
    assert storage.objects == {
        key: ("image/png", BytesSource.content(url)) for key, url in zip(expected, URLS, strict=True)
    }
    result = world.take_result()
    assert result.original_urls == URLS
    assert result.tos_urls == tuple(storage.address(key) for key in expected)
    assert (result.metadata.total_files, result.metadata.successful_uploads) == (3, 3)
    assert (result.metadata.tos_upload_errors, result.metadata.fail_reason) == ((), None)


def test_a_video_gets_the_extension_of_its_bytes(world: World, storage: DictStorage) -> None:
    task = deliver(world, "https://j.example/v.mp4", task_type=TaskType.VIDEO)
    world.tick()
    assert list(storage.objects) == keys(task, 1, "mp4")
    assert storage.objects[keys(task, 1, "mp4")[0]][0] == "video/mp4"


def test_the_original_addresses_are_saved_before_anything_is_copied(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS)
    storage.troubles["t1/0.png"].append(Killed())
    world.tick()
    task = world.task()
    assert (task.status, task.original_urls) == (TaskStatus.POLLING, URLS)
    assert task.delivered_at == world.clock.now()
    assert storage.objects == {}


def test_a_try_is_counted_before_it_begins(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS)
    storage.troubles["t1/0.png"].append(Killed())
    world.tick()
    assert [file.attempts for file in world.task().files] == [1, 0, 0]


def test_a_killed_transfer_goes_on_with_the_missing_files(world: World, storage: DictStorage) -> None:
    task = deliver(world, *URLS)
    storage.troubles["t1/1.png"].append(Killed())
    world.tick()
    looks = len(world.provider.looks)
    assert world.tick_after(world.policy.lease - 1)["claimed"] == 0
    world.tick_after(1)
    assert world.task().status is TaskStatus.COMPLETED
    assert storage.puts == dict.fromkeys(keys(task, 3), 1)
    assert len(world.provider.looks) == looks
    assert world.provider.paid() == ["t1"]


def test_a_file_that_kills_every_poller_is_given_up(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS)
    storage.troubles["t1/1.png"].extend([Killed()] * 9)
    for _ in range(5):
        world.tick_after(world.policy.lease)
    result = world.take_result()
    assert world.task().status is TaskStatus.COMPLETED
    assert result.tos_urls[1] == URLS[1]
    assert len(result.metadata.tos_upload_errors) == 1


@pytest.mark.parametrize("error", [StorageError("503 SlowDown"), FetchFailed("cut off")], ids=lambda error: error.name)
def test_a_failed_file_is_tried_again_with_backoff_and_alone(
    world: World, storage: DictStorage, error: JimengTasksError
) -> None:
    task = deliver(world, *URLS)
    storage.troubles["t1/1.png"].extend([error, error])
    world.tick()
    looks = len(world.provider.looks)
    assert (world.task().status, world.task().claim_id) == (TaskStatus.POLLING, None)
    assert world.task().next_poll_at == world.clock.now() + 10
    world.tick_after(10)
    assert world.task().next_poll_at == world.clock.now() + 20
    world.tick_after(20)
    result = world.take_result()
    assert result.metadata.successful_uploads == 3
    assert result.metadata.tos_upload_errors == ()
    assert result.metadata.tos_upload_time == 30_000
    assert storage.puts == dict.fromkeys(keys(task, 3), 1)
    assert len(world.provider.looks) == looks
    assert world.provider.paid() == ["t1"]


def test_after_three_tries_the_original_address_stands_in(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS)
    storage.troubles["t1/1.png"].extend([StorageError(f"fault {number}") for number in (1, 2, 3, 4)])
    world.tick()
    world.tick_after(10)
    assert world.task().status is TaskStatus.POLLING
    world.tick_after(20)
    result = world.take_result()
    assert result.status is ResultStatus.SUCCESS
    assert result.original_urls == URLS
    assert [url.startswith("https://cdn.example/") for url in result.tos_urls] == [True, False, True]
    assert result.tos_urls[1] == URLS[1]
    assert (result.metadata.total_files, result.metadata.successful_uploads) == (3, 2)
    [error] = result.metadata.tos_upload_errors
    assert "fault 3" in error
    assert len(storage.troubles["t1/1.png"]) == 1


def test_an_address_that_the_guard_forbids_is_handed_on_as_it_is(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS[:1])
    world.source.troubles[URLS[0]].extend([UrlForbidden("a private address")] * 3)
    for seconds in (0, 10, 20):
        world.tick_after(seconds)
    result = world.take_result()
    assert result.tos_urls == URLS[:1]
    assert storage.objects == {}


def test_without_a_bucket_the_original_addresses_are_the_result(world: World) -> None:
    world.storage = None
    deliver(world, *URLS)
    world.tick()
    result = world.take_result()
    assert (result.status, result.tos_urls, result.original_urls) == (ResultStatus.SUCCESS, URLS, URLS)
    assert (result.metadata.successful_uploads, result.metadata.tos_upload_errors) == (0, ())


def test_the_lease_is_renewed_during_a_long_transfer(world: World, storage: DictStorage) -> None:
    """Every read takes ten seconds; the whole file takes longer than a lease, and nobody else may come in between."""
    deliver(world, *URLS[:1])
    begun, rivals = world.clock.now(), []

    def read_slowly(url: str) -> None:
        world.clock.advance(10)
        refs = world.store.survey("svc-a", 3).due(world.clock.now())
        rivals.extend(world.store.claim_due(refs, world.clock.now(), world.policy.lease))

    world.policy = replace(world.policy, lease=30)
    world.source.on_read = read_slowly
    summary = world.tick()
    assert world.clock.now() - begun > world.policy.lease
    assert rivals == []
    assert (world.task().status, summary["claims_lost"]) == (TaskStatus.COMPLETED, 0)


def test_a_claim_lost_during_a_transfer_stops_it_and_writes_nothing(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS)
    taken: list[Task] = []

    def hang_once(url: str) -> None:
        if not taken:
            world.clock.advance(world.policy.lease)
            taken.append(world.claim_running())

    world.source.on_read = hang_once
    summary = world.tick()
    assert world.task() == taken[0]
    assert (summary["claims_lost"], summary["completed"]) == (1, 0)
    assert storage.objects == {}
    assert world.store.hand_out("t1", world.clock.now(), 0) is None


def test_an_unexpected_error_in_a_transfer_is_one_try(world: World, storage: DictStorage) -> None:
    deliver(world, *URLS)
    storage.troubles["t1/1.png"].extend([RuntimeError("a fault of our own")] * 9)
    world.tick()
    assert world.task().status is TaskStatus.POLLING
    for _ in range(3):
        world.tick_after(world.policy.lease)
    assert world.task().status is TaskStatus.COMPLETED
    assert world.take_result().tos_urls[1] == URLS[1]
