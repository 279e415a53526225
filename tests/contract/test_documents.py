"""Records survive their way through BSON, whatever is in them."""

from typing import Any

import bson
from hypothesis import given, settings
from hypothesis import strategies as st

from jimeng_tasks.domain.task import (
    FileProgress,
    InternalParams,
    Result,
    ResultMetadata,
    ResultStatus,
    Strikes,
    SubmitPhase,
    Task,
    TaskStatus,
    TaskType,
)
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.store.documents import Document, result_from, server_from, task_from, to_document

text = st.text(max_size=20)
whole = st.integers(0, 2**40)
maybe_whole = st.none() | whole
maybe_text = st.none() | text
texts = st.lists(text, max_size=3).map(tuple)
params = st.dictionaries(st.sampled_from(["prompt", "model", "images", "n"]), st.one_of(text, whole, st.booleans()))

internal_params = st.builds(
    InternalParams,
    refresh_token=text,
    component_id=maybe_text,
    history_id=maybe_text,
    mapped_model=maybe_text,
    submit_id=maybe_text,
)
files = st.builds(FileProgress, url=maybe_text, attempts=whole, error=maybe_text)
task_fields: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(["task_id", "server_id"], text),
    **dict.fromkeys(["retry_count", "max_retries", "poll_interval", "task_timeout", "poll_count"], whole),
    **dict.fromkeys(["created_at", "updated_at", "deadline_at"], whole),
    **dict.fromkeys(["next_poll_at", "started_at", "completed_at", "slot", "delivered_at", "consumed_at"], maybe_whole),
    **dict.fromkeys(["error_message", "fail_code", "request_hash", "claim_id", "partial_reason"], maybe_text),
    "task_type": st.sampled_from(TaskType),
    "original_params": params,
    "internal_params": internal_params,
    "status": st.sampled_from(TaskStatus),
    "submit_phase": st.none() | st.sampled_from(SubmitPhase),
    "strikes": st.none() | st.builds(Strikes, kind=text, count=whole, since=whole),
    "original_urls": texts,
    "files": st.lists(files, max_size=3).map(tuple),
}
metadata = st.builds(
    ResultMetadata,
    generation_time=maybe_whole,
    tos_upload_time=maybe_whole,
    total_files=whole,
    successful_uploads=whole,
    tos_upload_errors=texts,
    fail_reason=maybe_text,
)
results = st.builds(
    Result,
    task_id=text,
    task_type=st.sampled_from(TaskType),
    server_id=text,
    status=st.sampled_from(ResultStatus),
    original_urls=texts,
    tos_urls=texts,
    metadata=metadata,
    created_at=whole,
    expires_at=whole,
)


def _through_bson(document: Document) -> Document:
    decoded: Document = bson.decode(bson.encode(document))
    return decoded


@settings(max_examples=100, deadline=None)
@given(st.builds(Task, **task_fields))
def test_a_task_comes_back_from_its_document(task: Task) -> None:
    assert set(task_fields) == set(Task.__dataclass_fields__), "a new field belongs into this test"
    assert task_from(_through_bson(to_document(task))) == task


@settings(max_examples=50, deadline=None)
@given(results)
def test_a_result_comes_back_from_its_document(result: Result) -> None:
    assert result_from(_through_bson(to_document(result))) == result


def test_a_server_comes_back_from_its_document() -> None:
    server = Server(server_id="s1", status="online", last_heartbeat_at=1, load=2, version="0.1.0")

    assert server_from(_through_bson(to_document(server))) == server
