"""The protocol of a generation provider, and what goes in and out of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from jimeng_tasks.exceptions import ProviderError

from .catalog import Catalog
from .task import TaskType


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A reference picture in memory, with kind and size read from its bytes."""

    data: bytes = field(repr=False)
    format: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A submission that is complete but for the paid call: ``request`` is the provider's own form of it."""

    mapped_model: str
    component_id: str
    request: Any = field(repr=False)


class ProgressState(StrEnum):
    """What the provider says of a job."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One job as the provider reports it.

    ``urls`` are the media of the items so far, in order. ``error`` says why a FAILED job failed. RUNNING with ``urls``
    means partial results; SUCCEEDED may have none, since providers lie.
    """

    history_id: str
    state: ProgressState
    urls: tuple[str, ...] = ()
    error: ProviderError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """Credits of an account (``jimeng-wire 7``)."""

    gift: int
    purchase: int
    vip: int

    @property
    def total(self) -> int:
        """All credits the account can spend."""
        return self.gift + self.purchase + self.vip


class Provider(Protocol):
    """A place that generates pictures and videos for money.

    Calls raise `ProviderError`: `SurelyNotAccepted`, `Refused` or `OutcomeUnknown`. An ``account`` is one session
    token as the client sent it; every call for a task uses the task's account.
    """

    @property
    def catalog(self) -> Catalog:
        """Models, sizes and limits."""

    def region(self, account: str) -> str:
        """The region of an account.

        Raises:
            LoginMissing: the token is malformed.
            RegionUnknown: it has an unknown region prefix; the known ones are listed.
        """

    def upload_reference(self, account: str, picture: Picture) -> str:
        """Hand a reference picture over, free of charge; returns the provider's address of it."""

    def prepare(
        self,
        account: str,
        submit_id: str,
        task_type: TaskType,
        params: Mapping[str, Any],
        references: Sequence[str],
    ) -> Prepared:
        """Translate stored parameters into a complete request, without any call.

        Raises:
            ParameterRejected: the parameters name a model, size or duration that the catalog does not have.
        """

    def submit(self, account: str, prepared: Prepared) -> str:
        """Make the paid call, once; returns the history id of the accepted job."""

    def poll(self, account: str, history_ids: Sequence[str]) -> Mapping[str, Progress]:
        """Progress by history id, in one request; ids the provider does not show are missing."""

    def find(self, account: str, submit_ids: Sequence[str]) -> Mapping[str, Progress]:
        """Progress by submit id, in one request; ids the provider does not know are missing.

        A job that is known but whose history id the provider does not name has an empty ``history_id``.
        """

    def credits(self, account: str) -> Credits:
        """What the account can spend; also the dependable test of a token (`LoginRejected` when it is dead)."""
