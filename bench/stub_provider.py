"""A provider that costs nothing: every job is accepted at once and runs until its time has come."""

import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from jimeng_tasks.domain.catalog import Catalog
from jimeng_tasks.domain.provider import Credits, Picture, Prepared, Progress, ProgressState, Provider
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.jimeng.models import CATALOG


class StubProvider(Provider):
    """Answers without delay. ``done_at`` gives monotonic times at which jobs are done, ``urls`` what they deliver."""

    def __init__(self, done_at: Mapping[str, float] | None = None, urls: tuple[str, ...] = ()) -> None:
        self._done_at = done_at or {}
        self._urls = urls
        self._numbers = count(1)

    @property
    def catalog(self) -> Catalog:
        """Jimeng's own."""
        return CATALOG

    def region(self, account: str) -> str:
        """Every account is of the mainland."""
        return "cn"

    def upload_reference(self, account: str, picture: Picture) -> str:
        """Takes any picture."""
        return "uri"

    def prepare(
        self, account: str, submit_id: str, task_type: TaskType, params: Mapping[str, Any], references: Sequence[str]
    ) -> Prepared:
        """Nothing is to be translated."""
        return Prepared(mapped_model="high_aes", component_id="component", request=submit_id)

    def submit(self, account: str, prepared: Prepared) -> str:
        """Accepts everything."""
        return f"{next(self._numbers)}"

    def poll(self, account: str, history_ids: Sequence[str]) -> Mapping[str, Progress]:
        """Running, until a job's time has come."""
        return {history_id: self._progress(history_id) for history_id in history_ids}

    def find(self, account: str, submit_ids: Sequence[str]) -> Mapping[str, Progress]:
        """Knows nothing by submit id."""
        return {}

    def credits(self, account: str) -> Credits:
        """Nobody pays here."""
        return Credits(gift=0, purchase=0, vip=0)

    def _progress(self, history_id: str) -> Progress:
        if time.monotonic() >= self._done_at.get(history_id, float("inf")):
            return Progress(history_id=history_id, state=ProgressState.SUCCEEDED, urls=self._urls)
        return Progress(history_id=history_id, state=ProgressState.RUNNING)
