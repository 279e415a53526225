"""Scripts: what the simulator is told to do to a job, a file or an account, and where it was told.

A script comes from `[[sim key=value ...]]` in a prompt or from a rule posted to `/_sim/scripts`.
"""

import re
import shlex
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local.simulator.answers import Refusal

DIRECTIVE = re.compile(r"\[\[sim\b(.*?)\]\]", re.DOTALL)
REGION_PREFIX = re.compile(r"^(us|hk|jp|sg)-", re.IGNORECASE)
STATUSES = r"^(missing|none|\d+(:\d+)?)(,(missing|none|\d+(:\d+)?))*$"


class Script(BaseModel):
    """Every key a directive or a rule may set. Seconds and bytes unless a name says otherwise."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    submit_ret: str | None = None
    submit_errmsg: str = "refused by script"
    submit_fail_code: str = ""
    submit_starling: str = ""
    submit_data: Literal["full", "null"] = "full"
    submit_http: int | None = None
    submit_body: Literal["html", "json", "empty"] = "html"
    submit_html: bool = False
    submit_drop: Literal["before", "after"] | None = None
    submit_delay: float = 0
    submit_accepted: bool = False
    submit_times: int | None = None
    retry_after: str | None = None
    numeric_ret: bool = False
    numeric_history_id: bool = False
    no_history_id: bool = False
    dedupe: bool = False
    cost: int = 1

    visible_after: float = 0
    vanish: str | None = Field(default=None, pattern=r"^(always|\d+-\d*)$")
    submit_id_lookup: bool = True

    poll_ret: str | None = None
    poll_errmsg: str = "refused by script"
    poll_http: int | None = None
    poll_body: Literal["html", "json", "empty"] = "html"
    poll_html: bool = False
    poll_drop: bool = False
    poll_delay: float = 0
    poll_from: int = 1
    poll_times: int | None = None

    statuses: str | None = Field(default=None, pattern=STATUSES)
    step_seconds: float | None = None
    per_poll: bool = False
    queue: float = 0
    queue_length: int = 9000
    stuck: bool = False
    fail: str | None = Field(default=None, pattern=r"^\d+(:\d+)?$")
    fail_code: str | None = None
    starling_key: str = ""
    starling_message: str = ""
    numeric_fail_code: bool = False
    items: int | None = None
    item_form: Literal["large", "cover", "cover_map", "none"] = "large"
    escape_urls: bool = False
    video_url: Literal["common", "transcoded", "play", "download", "url", "item", "none"] = "common"
    hq: Literal["ok", "local", "empty", "error", "http", "html", "drop"] = "ok"

    media_size: int = 0
    media_format: Literal["png", "jpeg", "webp"] = "png"
    media_type: str | None = None
    media_http: int | None = None
    media_html: bool = False
    media_drop: bool = False
    media_truncate: int | None = None
    media_delay: float = 0
    media_chunk_delay: float = 0
    media_times: int | None = None
    media_item: int | None = None
    media_ttl: float = 2_592_000
    media_no_length: bool = False
    media_no_range: bool = False

    upload_token_ret: str | None = None
    apply_error: str | None = None
    apply_host_form: Literal["list", "single"] = "list"
    store_code: int | None = None
    store_http: int | None = None
    store_drop: bool = False
    commit_error: str | None = None
    commit_status: int | None = None
    algo_ret: str | None = None
    credit_ret: str | None = None
    credit_http: int | None = None
    credit_drop: bool = False
    credit_delay: float = 0
    receive_ret: str | None = None
    receive_quota: int | None = None
    account_form: Literal["data", "top", "error", "html"] | None = None


SIDE_PREFIXES = ("upload_token_", "apply_", "store_", "commit_", "algo_", "credit_", "receive_", "account_")
"""Keys of calls that carry no prompt: they only make sense in a rule, matched by token."""


class Match(BaseModel):
    """What a rule applies to; an absent part matches everything."""

    model_config = ConfigDict(extra="forbid")

    prompt_contains: str | None = None
    token: str | None = None

    def fits(self, session: str, prompt: str | None) -> bool:
        """Whether a call of this session, about this prompt if any, is meant."""
        if self.token is not None and bare_session(self.token) != session:
            return False
        return self.prompt_contains is None or (prompt is not None and self.prompt_contains in prompt)


class RuleBody(BaseModel):
    """Body of `POST /_sim/scripts`."""

    model_config = ConfigDict(extra="forbid")

    match: Match = Match()
    script: Script
    times: int | None = None


@dataclass
class Rule:
    """A posted rule; `left` counts down when it has `times`, None is for ever."""

    match: Match
    values: dict[str, Any]
    left: int | None


class Rules:
    """The posted rules, oldest first; a later one wins over an earlier one key by key."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(self, body: RuleBody) -> None:
        """Append a rule."""
        self._rules.append(Rule(body.match, body.script.model_dump(exclude_unset=True), body.times))

    def clear(self) -> None:
        """Forget every rule."""
        self._rules.clear()

    def standing(self, session: str, prompt: str | None) -> dict[str, Any]:
        """Merged values of the rules without `times` that fit now."""
        return _merged(rule for rule in self._rules if rule.left is None and rule.match.fits(session, prompt))

    def pinned(self, session: str, prompt: str) -> dict[str, Any]:
        """Merged values of the `times` rules a submission uses up; they stay with its job."""
        return _merged(self._take(session, prompt, job_keys=True))

    def side(self, session: str, prefix: str) -> Script:
        """The script of a call without a prompt, using up one `times` of each rule with such a key."""
        taken = _merged(self._take(session, None, prefix=prefix))
        return Script.model_validate(self.standing(session, None) | taken)

    def _take(self, session: str, prompt: str | None, *, prefix: str = "", job_keys: bool = False) -> list[Rule]:
        taken = []
        for rule in self._rules:
            keys = rule.values if not job_keys else [k for k in rule.values if not k.startswith(SIDE_PREFIXES)]
            used = any(key.startswith(prefix) for key in keys)
            if rule.left and used and rule.match.fits(session, prompt):
                rule.left -= 1
                taken.append(rule)
        return taken


def _merged(rules: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for rule in rules:
        values |= rule.values
    return values


def bare_session(token: str) -> str:
    """A token as a caller writes it, without its region prefix."""
    return REGION_PREFIX.sub("", token)


def directive(prompt: str) -> dict[str, Any]:
    """The values of the `[[sim ...]]` directives in a prompt; a wrong key or value refuses the job."""
    words = [word for found in DIRECTIVE.findall(prompt) for word in shlex.split(found)]
    pairs = (word.partition("=") for word in words)
    values: dict[str, Any] = {key: value if equals else True for key, equals, value in pairs}
    try:
        return Script.model_validate(values).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise Refusal("1000", f"bad [[sim]] directive: {error.errors()[0]['loc']} {error.errors()[0]['msg']}") from None
