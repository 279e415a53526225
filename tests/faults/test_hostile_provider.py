"""The provider lies, stammers and breaks: no tick dies, nobody else suffers, nothing is paid twice, everything ends."""

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.domain.task import TaskStatus
from tests.faults.hostile_world import (
    LEASE,
    NEIGHBOUR,
    STRIKE,
    HostileWorld,
    hostile_world,
    keep_running,
    of_hostile,
    video,
)
from tests.faults.raw_site import (
    APPLY,
    GENERATE,
    HISTORY,
    LOCAL_ITEMS,
    PLAIN,
    UPLOADS,
    Asked,
    RawSite,
    Wire,
    envelope,
    http,
    image_record,
    say,
    video_record,
)
from tests.faults.replies import SOME_JOB, Reply, mutated, replies
from tests.faults.soak import property_test
from tests.integration.picture_bytes import png

ACCEPTED = envelope({"aigc_data": {"history_record_id": "4000000000"}, "fail_code": ""})
POLLED = envelope({SOME_JOB[0]: image_record(*SOME_JOB)})
LOOKED_UP = envelope({SOME_JOB[1]: image_record(*SOME_JOB)})


@pytest.fixture(scope="module")
def site() -> Iterator[RawSite]:
    with RawSite().running() as site:
        yield site


@pytest.fixture(scope="module")
def world(mongodb_uri: str, site: RawSite) -> Iterator[HostileWorld]:
    with hostile_world(mongodb_uri, site) as world:
        yield world


@pytest.fixture(autouse=True)
def empty(world: HostileWorld) -> None:
    world.clear()


def job_of(world: HostileWorld, task_id: str) -> tuple[str, str]:
    """History id and submit id of a running task."""
    internal = world.task(task_id).internal_params
    return internal.history_id or "", internal.submit_id or ""


def first_only(site: RawSite, call: str, speak: Any) -> None:
    """The hostile account's first call gets a special answer, all others a good one."""

    def speech(asked: Asked) -> Wire | None:
        hostile = [one for one in site.calls(call) if of_hostile(one)]
        return speak(asked) if hostile == [asked] else None

    site.speech[call] = speech


@given(reply=replies(ACCEPTED))
@property_test(25)
def test_any_reply_to_a_submission(world: HostileWorld, site: RawSite, reply: Reply) -> None:
    """Where the reply does not refuse for sure, the site has taken the job."""
    world.clear()

    def answer(asked: Asked) -> Wire:
        if not reply.refuses_surely:
            site.accept(asked.body["submit_id"])
        return reply.wire()

    first_only(site, GENERATE, answer)
    hostile, neighbour = world.post(), world.post(NEIGHBOUR)
    world.run_to_the_deadline()

    task, _ = world.ended(hostile)
    assert max(site.paid.values()) == 1, site.paid
    assert world.ended(neighbour)[0].status is TaskStatus.COMPLETED
    if not reply.refuses_surely and reply.ret != 0:
        assert task.status is TaskStatus.COMPLETED, task


@given(record=mutated(image_record(*SOME_JOB)))
@property_test(15)
def test_any_record_of_one_job_beside_a_good_one(world: HostileWorld, site: RawSite, record: Any) -> None:
    world.clear()
    hostile, sibling = world.post(), world.post()
    world.tick()
    told = {SOME_JOB[0]: record, job_of(world, sibling)[0]: image_record(*job_of(world, sibling))}
    reply = Reply(200, json.dumps(envelope(told)).encode()).about(*job_of(world, hostile))
    keep_running(site, reply.wire())
    world.tick(15)

    _is_the_only_one_harmed(hostile, sibling, world, site)


def _is_the_only_one_harmed(hostile: str, sibling: str, world: HostileWorld, site: RawSite) -> None:
    assert world.task(sibling).status is TaskStatus.COMPLETED
    world.run_to_the_deadline()
    world.ended(hostile)
    assert set(site.paid.values()) == {1}


@given(data=st.lists(replies(POLLED), min_size=1, max_size=3))
@property_test(15)
def test_any_replies_to_polls(world: HostileWorld, site: RawSite, data: list[Reply]) -> None:
    world.clear()
    hostile, neighbour = world.post(), world.post(NEIGHBOUR)
    world.tick()
    keep_running(site, *(reply.about(*job_of(world, hostile)).wire() for reply in data))
    world.tick(15)

    _is_the_only_one_harmed(hostile, neighbour, world, site)


@given(data=st.lists(replies(LOOKED_UP), min_size=3, max_size=6))
@property_test(15)
def test_any_replies_to_look_ups_of_a_lost_submission(world: HostileWorld, site: RawSite, data: list[Reply]) -> None:
    """A second submission takes three replies that show other jobs or none, and not this one."""
    world.clear()

    def lose(asked: Asked) -> Wire:
        site.accept(asked.body["submit_id"])
        return Wire(b"", "reset")

    first_only(site, GENERATE, lose)
    hostile = world.post()
    world.tick()
    submit_id = world.task(hostile).internal_params.submit_id or ""
    told = [reply.about(site.jobs[submit_id], submit_id) for reply in data]
    keep_running(site, *(reply.wire() for reply in told))
    world.tick(*[STRIKE] * len(data))
    submissions = len(site.calls(GENERATE))
    world.run_to_the_deadline()

    world.ended(hostile)
    assert submissions == 1 or sum(reply.denies(submit_id) for reply in told) >= 3


@given(reply=replies(envelope({"item_list": [{"item_id": "item-1", "video": {"download_url": "https://v/best"}}]})))
@property_test(15)
def test_any_reply_to_the_look_up_of_a_better_video(world: HostileWorld, site: RawSite, reply: Reply) -> None:
    world.clear()
    site.record = video_record
    site.speech[LOCAL_ITEMS] = lambda asked: reply.wire() if of_hostile(asked) else None
    task_id = world.post(**video())
    world.tick(0, 20)

    task, result = world.ended(task_id)
    assert task.status is TaskStatus.COMPLETED
    assert result.tos_urls[0].startswith("https://")


@given(data=st.data(), call=st.sampled_from(UPLOADS))
@property_test(15)
def test_any_reply_to_a_step_of_an_upload(world: HostileWorld, site: RawSite, data: st.DataObject, call: str) -> None:
    world.clear()
    good = {"Result": {"UploadAddress": {"StoreInfos": [{"StoreUri": "u", "Auth": "a"}], "SessionKey": "s"}}}
    reply: Reply = data.draw(replies(good if call == APPLY else PLAIN.get(call, envelope({}))))
    first_only(site, call, lambda _: reply.wire())
    reference = {"url": f"data:image/png;base64,{b64encode(png(512, 512)).decode()}"}
    hostile, neighbour = world.post(images=[reference]), world.post(NEIGHBOUR)
    world.run_to_the_deadline()

    world.ended(hostile)
    assert site.calls(call), "the step was not taken"
    assert world.ended(neighbour)[0].status is TaskStatus.COMPLETED
    assert set(site.paid.values()) == {1}


@pytest.mark.parametrize(("call", "size"), [(GENERATE, 0), (GENERATE, 40), (HISTORY, 0), (HISTORY, 90)])
def test_silence_holds_up_nobody_else(world: HostileWorld, site: RawSite, call: str, size: int) -> None:
    silence = Wire(http(b"{}" * 50)[:size], "silence")
    site.speech[call] = lambda asked: silence if of_hostile(asked) else None
    hostile = [world.post() for _ in range(3)]
    neighbour = world.post(NEIGHBOUR)
    began = time.monotonic()
    world.tick(0, 15)

    assert world.task(neighbour).status is TaskStatus.COMPLETED
    assert time.monotonic() - began < 4
    world.clock.advance(LEASE)
    site.speech = {}
    world.run_to_the_deadline()
    for task_id in hostile:
        world.ended(task_id)


@pytest.mark.parametrize("field", ["fail_msg", "fail_code", "url"])
def test_a_task_ends_although_its_job_ends_with_an_unstorable_text(
    world: HostileWorld, site: RawSite, field: str
) -> None:
    text = "https://media.example/\ud800"

    def record(history_id: str, submit_id: str) -> Any:
        items = [{"image": {"large_images": [{"image_url": text}]}}]
        changes = {"item_list": items} if field == "url" else {field: text, "item_list": [], "status": 30}
        return image_record(history_id, submit_id) | changes

    site.record = record
    task_id = world.post()
    world.run_to_the_deadline()

    world.ended(task_id)


NO_DATA: dict[str, dict[str, Any]] = {
    "missing": {},
    "null": {"data": None},
    "text": {"data": "busy"},
    "number": {"data": 7},
    "null for the job": {"data": {SOME_JOB[1]: None}},
}


@pytest.mark.parametrize("data", NO_DATA)
def test_a_look_up_without_records_proves_nothing(world: HostileWorld, site: RawSite, data: str) -> None:
    """Absence is believed of a list of records, not of a reply that has none."""
    first_only(site, GENERATE, lambda asked: Wire(b"", "reset") if site.accept(asked.body["submit_id"]) else None)
    hostile = world.post()
    world.tick()
    submit_id = world.task(hostile).internal_params.submit_id or ""
    body = json.dumps({"ret": "0", "errmsg": "success", **NO_DATA[data]})
    keep_running(site, *[Wire(http(body.replace(SOME_JOB[1], submit_id).encode()))] * 5)
    world.tick(*[STRIKE] * 5)

    assert site.paid[submit_id] == 1
    world.run_to_the_deadline()
    world.ended(hostile)


@pytest.mark.parametrize("ret", ["1", "2002", "5001", "99999"])
def test_a_refusal_that_names_a_job_is_no_sure_refusal(world: HostileWorld, site: RawSite, ret: str) -> None:
    def answer(asked: Asked) -> Wire:
        job = {"aigc_data": {"history_record_id": site.accept(asked.body["submit_id"])}}
        return say(envelope(job, ret=ret))

    first_only(site, GENERATE, answer)
    hostile = world.post()
    world.run_to_the_deadline()

    assert set(site.paid.values()) == {1}
    world.ended(hostile)
