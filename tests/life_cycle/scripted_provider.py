"""A provider that answers by script and keeps books of its own, as a bank would.

Scripts are per prompt; a script that has run out gives the plain answer: submissions are accepted, jobs are running,
look-ups tell what the books say.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from jimeng_tasks.domain.catalog import Catalog, ReferenceLimits
from jimeng_tasks.domain.provider import Credits, Picture, Prepared, Progress, ProgressState, Provider
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.exceptions import ProviderError


@dataclass(frozen=True)
class Says:
    """What the provider says of a job."""

    state: ProgressState
    urls: tuple[str, ...] = ()
    error: ProviderError | None = None


@dataclass(frozen=True)
class AcceptedBut:
    """The job is in the books, and then the caller sees this instead of an answer."""

    trouble: BaseException


@dataclass(frozen=True)
class Job:
    """An accepted submission."""

    history_id: str
    submit_id: str
    account: str
    prompt: str


MISSING = None  # the provider does not show the job

type SubmitAnswer = BaseException | AcceptedBut | Callable[[], object]
type LookAnswer = Says | BaseException | None


def running(*urls: str) -> Says:
    return Says(ProgressState.RUNNING, urls)


def done(*urls: str) -> Says:
    return Says(ProgressState.SUCCEEDED, urls)


def failed(error: ProviderError, *urls: str) -> Says:
    return Says(ProgressState.FAILED, urls, error)


class ScriptedProvider(Provider):
    """See the module."""

    def __init__(self) -> None:
        self.on_prepare: defaultdict[str, deque[BaseException]] = defaultdict(deque)
        self.on_upload: deque[BaseException] = deque()
        self.on_submit: defaultdict[str, deque[SubmitAnswer]] = defaultdict(deque)
        self.on_poll: defaultdict[str, deque[LookAnswer]] = defaultdict(deque)
        self.on_find: defaultdict[str, deque[LookAnswer]] = defaultdict(deque)
        self.before_poll: dict[str, Callable[[], object]] = {}  # by account
        self.jobs: dict[str, Job] = {}
        self.uploads: list[bytes] = []
        self.references: dict[str, tuple[str, ...]] = {}
        self.looks: list[tuple[str, frozenset[str]]] = []
        self._prompts: dict[str, str] = {}
        self._lock = RLock()

    # -- the books

    def acceptances(self) -> Counter[str]:
        """Paid jobs by submit id."""
        return Counter(job.submit_id for job in self.jobs.values())

    def job(self, prompt: str) -> Job:
        """The one paid job of a prompt."""
        [job] = [job for job in self.jobs.values() if job.prompt == prompt]
        return job

    def paid(self) -> list[str]:
        """Prompts of all paid jobs, in the order of their acceptance."""
        return [job.prompt for job in self.jobs.values()]

    # -- the protocol

    @property
    def catalog(self) -> Catalog:
        limits = ReferenceLimits(
            formats=frozenset({"png"}), max_bytes=10**6, min_side=1, max_side=10**4, max_pixels=10**8
        )
        return Catalog(
            image_models={},
            video_models={},
            default_image_model="",
            default_video_model="",
            default_pro_video_model="",
            references=limits,
        )

    def region(self, account: str) -> str:
        return "cn"

    def upload_reference(self, account: str, picture: Picture) -> str:
        with self._lock:
            if self.on_upload:
                raise self.on_upload.popleft()
            self.uploads.append(picture.data)
            return f"uri-{len(self.uploads)}"

    def prepare(
        self, account: str, submit_id: str, task_type: TaskType, params: Mapping[str, Any], references: Sequence[str]
    ) -> Prepared:
        with self._lock:
            prompt = params["prompt"]
            if self.on_prepare[prompt]:
                raise self.on_prepare[prompt].popleft()
            self._prompts[submit_id] = prompt
            self.references[prompt] = tuple(references)
            return Prepared(mapped_model="high_aes", component_id=f"component-{prompt}", request=submit_id)

    def submit(self, account: str, prepared: Prepared) -> str:
        submit_id = prepared.request
        script = self.on_submit[self._prompts[submit_id]]
        answer = script.popleft() if script else None
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer()
        history_id = self._accept(account, submit_id)
        if isinstance(answer, AcceptedBut):
            raise answer.trouble
        return history_id

    def _accept(self, account: str, submit_id: str) -> str:
        with self._lock:
            history_id = f"h{len(self.jobs) + 1}"
            self.jobs[history_id] = Job(history_id, submit_id, account, self._prompts[submit_id])
            return history_id

    def poll(self, account: str, history_ids: Sequence[str]) -> Mapping[str, Progress]:
        self.before_poll.get(account, lambda: None)()
        with self._lock:
            self.looks.append((account, frozenset(history_ids)))
            mine = [self.jobs[name] for name in history_ids if name in self.jobs and self.jobs[name].account == account]
            seen = {job.history_id: (job, self._look(self.on_poll[job.prompt])) for job in mine}
        return _answered(seen)

    def find(self, account: str, submit_ids: Sequence[str]) -> Mapping[str, Progress]:
        with self._lock:
            self.looks.append((account, frozenset(submit_ids)))
            for submit_id in submit_ids:
                script = self.on_find[self._prompts.get(submit_id, submit_id)]
                if script and isinstance(script[0], BaseException):
                    self._look(script)
            mine = [job for job in self.jobs.values() if job.submit_id in submit_ids and job.account == account]
            seen = {job.submit_id: (job, self._look(self.on_find[job.prompt])) for job in mine}
        return _answered(seen)

    def credits(self, account: str) -> Credits:
        return Credits(gift=0, purchase=0, vip=0)

    @staticmethod
    def _look(script: deque[LookAnswer]) -> Says | None:
        answer = script.popleft() if script else running()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _answered(seen: Mapping[str, tuple[Job, Says | None]]) -> dict[str, Progress]:
    return {
        name: Progress(history_id=job.history_id, state=says.state, urls=says.urls, error=says.error)
        for name, (job, says) in seen.items()
        if says is not None
    }
