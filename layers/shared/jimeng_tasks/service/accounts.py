"""Use cases about session tokens: are they alive, what can they spend."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from jimeng_tasks.domain.provider import Credits, Provider
from jimeng_tasks.exceptions import LoginRejected, ProviderError, RequestError

PARALLEL_ACCOUNTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCheck:
    """Whether a token works: ``live`` is None when the provider could not tell, ``reason`` says why it is not True."""

    live: bool | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Credits of one account, or why they are not known."""

    account: str = field(repr=False)
    credits: Credits | None = None
    error: ProviderError | None = None


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Asks the provider about accounts."""

    provider: Provider

    def check(self, account: str) -> TokenCheck:
        """Probe one token with a free call; a malformed token or unknown region is told apart from a dead one."""
        try:
            self.provider.region(account)
            self.provider.credits(account)
        except (RequestError, LoginRejected) as error:
            return TokenCheck(live=False, reason=str(error))
        except ProviderError as error:
            return TokenCheck(live=None, reason=str(error))
        return TokenCheck(live=True)

    def points(self, accounts: Sequence[str]) -> list[Points]:
        """Credits of every account, side by side; one that fails does not spoil the others."""
        with ThreadPoolExecutor(max_workers=PARALLEL_ACCOUNTS) as pool:
            return list(pool.map(self._points, accounts))

    def _points(self, account: str) -> Points:
        try:
            return Points(account=account, credits=self.provider.credits(account))
        except ProviderError as error:
            return Points(account=account, error=error)
