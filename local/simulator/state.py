"""Everything the simulator remembers. One event loop owns it: nothing here awaits, so no call sees half a change."""

import hashlib
import secrets
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from local.simulator.answers import no_credits
from local.simulator.jobs import PENDING, Job, Order
from local.simulator.scripts import Rules, Script, bare_session, directive

MAX_ITEMS = 32


@dataclass
class Settings:
    """Values of `POST /_sim/config`; steps in seconds, credits in the site's units."""

    min_appvr: str = "8.4.0"
    check_sign: bool = True
    default_credits: int = 10_000
    daily_gift: int = 66
    image_step: float = 0.7
    video_step: float = 4.0


@dataclass
class Account:
    """One session id and what it owns."""

    session: str
    gift: int
    purchase: int = 0
    vip: int = 0
    dead: bool = False
    region: str | None = None
    max_running: int | None = None
    received_on: str = ""
    committed: set[str] = field(default_factory=set)
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def user_id(self) -> int:
        """A stable invented id."""
        return 4 * 10**15 + int(hashlib.md5(self.session.encode()).hexdigest()[:10], 16)

    @property
    def total(self) -> int:
        """All credits together (jimeng-wire 7)."""
        return self.gift + self.purchase + self.vip

    def pay(self, amount: int) -> None:
        """Take credits, gifts first; raises the 1006 refusal when there are too few."""
        if self.total < max(amount, 1):
            raise no_credits()
        for purse in ("gift", "vip", "purchase"):
            part = min(amount, getattr(self, purse))
            setattr(self, purse, getattr(self, purse) - part)
            amount -= part

    def receive(self, quota: int) -> int:
        """Collect the daily gift; 0 when today's was taken already. The site's day is China's."""
        today = (datetime.now(UTC) + timedelta(hours=8)).date().isoformat()
        if self.received_on == today:
            return 0
        self.received_on = today
        self.gift += quota
        return quota


@dataclass
class Grant:
    """Temporary upload keys of one `get_upload_token` answer (jimeng-wire 6.1)."""

    session: str
    service: str
    space: str
    regions: frozenset[str]
    store_prefix: str
    access_key: str = field(default_factory=lambda: "AKSIM" + secrets.token_hex(8))
    secret_key: str = field(default_factory=lambda: "SKSIM" + secrets.token_hex(16))
    session_token: str = field(default_factory=lambda: "STSSIM" + secrets.token_hex(24))


@dataclass
class Upload:
    """One applied upload on its way from Apply to Commit (jimeng-wire 6.3 to 6.5)."""

    session: str
    service: str
    uri: str
    vid: str
    auth: str
    size: int
    session_key: str
    body: bytes | None = None


@dataclass(frozen=True)
class Media:
    """What a media url stands for: `variant` is image, cover, video, hq or poster."""

    job: Job
    index: int
    variant: str


class World:
    """Accounts, jobs, uploads, media, rules and counters of one simulator process."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.secret = secrets.token_bytes(16)
        self.clear()

    def clear(self) -> None:
        """Forget everything but the settings."""
        self.accounts: dict[str, Account] = {}
        self.jobs: list[Job] = []
        self.by_history: dict[str, Job] = {}
        self.by_submit: dict[tuple[str, str], Job] = {}
        self.by_item: dict[str, tuple[Job, int]] = {}
        self.received: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self.fault_counts: Counter[tuple[str, str]] = Counter()
        self.rules = Rules()
        self.grants: dict[str, Grant] = {}
        self.uploads: dict[str, Upload] = {}
        self.media: dict[str, Media] = {}
        self.media_hits: Counter[str] = Counter()
        self.endpoint_counts: Counter[str] = Counter()
        self.requests: deque[dict[str, Any]] = deque(maxlen=200)

    def account(self, token: str) -> Account:
        """The account of a token, made on first sight; those that start with `dead` are dead."""
        session = bare_session(token)
        if session not in self.accounts:
            credits = self.settings.default_credits
            self.accounts[session] = Account(session, credits, dead=session.startswith("dead"))
        return self.accounts[session]

    def script_of(self, job: Job) -> Script:
        """The script a job follows now: standing rules, then what it took along, then its own prompt."""
        standing = self.rules.standing(job.session, job.order.prompt)
        return Script.model_validate(standing | job.kept)

    def draw_script(self, session: str, prompt: str) -> tuple[Script, dict[str, Any]]:
        """The script of a new submission and the values that would stay with its job."""
        kept = self.rules.pinned(session, prompt) | directive(prompt)
        return Script.model_validate(self.rules.standing(session, prompt) | kept), kept

    def running(self, session: str) -> int:
        """Jobs of an account that have not ended."""
        steps = [job.step(self.script_of(job)) for job in self.jobs if job.session == session]
        return sum(step.status is None or step.status in PENDING for step in steps)

    def accept(self, account: Account, submit_id: str, aid: int, order: Order, kept: dict[str, Any]) -> Job:
        """Start a paid job and count it; a repeated submit id starts (and counts) another one."""
        step = self.settings.video_step if order.is_video else self.settings.image_step
        history_id = str(90_010_000_000_000 + len(self.jobs) * 100 + secrets.randbelow(100))
        job = Job(history_id, submit_id, account.session, aid, order, kept, step)
        self.jobs.append(job)
        self.by_history[history_id] = job
        self.by_submit.setdefault((account.session, submit_id), job)
        self.by_item |= {job.item_id(index): (job, index) for index in range(MAX_ITEMS)}
        self.accepted[submit_id] += 1
        return job

    def find(self, session: str, history_id: str) -> Job | None:
        """A job by history id, if it belongs to this account."""
        job = self.by_history.get(history_id)
        return job if job and job.session == session else None

    def find_submitted(self, session: str, submit_id: str) -> Job | None:
        """The first job accepted under a submit id, if it belongs to this account."""
        return self.by_submit.get((session, submit_id))

    def note(self, endpoint: str, **details: Any) -> None:
        """Count a call and remember it; `details` must hold ids and codes, never tokens or keys."""
        self.endpoint_counts[endpoint] += 1
        self.requests.append({"at": round(time.time(), 3), "endpoint": endpoint, **details})
