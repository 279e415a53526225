"""The site's answer envelope (jimeng-wire 3.1, 3.2): success becomes an `Answer`, anything else an error."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jimeng_tasks.exceptions import ContentRejected, OutcomeUnknown, ProviderError, ServerRefused, SurelyNotAccepted

from .codes import Stage, classify, moderation_stage
from .regions import Account
from .transport import Reply

MAX_MESSAGE = 200
MAX_CODE = 64
MAX_ID = 128
SUCCESS = "0"


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: its whole ``body``, and the ``data`` in it."""

    body: Mapping[str, Any] = field(repr=False)
    log_id: str | None

    @property
    def data(self) -> Any:
        """The payload, of whatever type the site sent."""
        return self.body.get("data")


def text_of(value: Any) -> str:
    """A code or id as text that can be encoded, whether it came as text or as a number; empty for anything else."""
    if isinstance(value, str):
        return value.strip().encode("utf-8", "replace").decode()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def mapping_of(value: Any) -> Mapping[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def first_text(source: Mapping[str, Any], *keys: str) -> str:
    """The first of some fields that holds a text or number, as text; empty if none does."""
    return next((text for text in (text_of(source.get(key)) for key in keys) if text), "")


def parse_object(content: bytes) -> Mapping[str, Any] | None:
    """The JSON object in a body, None for HTML, an empty body or any other JSON."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_answer(reply: Reply, account: Account) -> Answer:
    """The answer in a reply; ``ret`` decides before the HTTP status does (jimeng-wire 3.1).

    Raises:
        OutcomeUnknown: no envelope in an answer with HTTP 2xx.
        ServerRefused: no envelope in an answer with HTTP 4xx, or an unknown ``ret``.
        ProviderError: the class that `codes` gives to the refusal.
    """
    body = parse_object(account.hide(reply.body)) or {}
    ret = _ret(body)
    if not ret and reply.status >= 400:
        raise ServerRefused(f"the site refused the call with HTTP {reply.status} and no readable reason")
    if not ret or (ret == SUCCESS and reply.status >= 400):
        raise OutcomeUnknown(f"the site's answer is not readable (HTTP {reply.status})")
    log_id = first_text(body, "logid", "log_id")[:MAX_CODE] or None
    if ret != SUCCESS:
        raise _refusal(ret, body, log_id, account)
    return Answer(body, log_id)


def describe(message: str, account: Account) -> str:
    """A provider's message as it may be shown: one line of at most 200 characters without the session."""
    return account.mask(" ".join(message.split()))[:MAX_MESSAGE]


def explain(
    what: str, message: str, facts: Mapping[str, str | None], account: Account, stage: Stage | None = None
) -> str:
    """One line: ``what`` happened, or at which ``stage`` moderation said no; the provider's message and known facts."""
    words = describe(message, account)
    known = describe(", ".join(f"{name} {value}" for name, value in facts.items() if value), account)
    if stage is None:
        return f"{what}: {words or 'no message'} ({known})"
    quoted = f": {words}" if words else ""
    return f"{stage.subject} was rejected by moderation{quoted} ({stage.label}; {known})"


def _ret(body: Mapping[str, Any]) -> str:
    ret = text_of(body.get("ret"))
    return str(int(ret)) if re.fullmatch(r"-?[0-9]{1,18}", ret) else ""


def _refusal(ret: str, body: Mapping[str, Any], log_id: str | None, account: Account) -> ProviderError:
    data = mapping_of(body.get("data"))
    fail_code = text_of(data.get("fail_code"))[:MAX_CODE]
    key = text_of(data.get("fail_starling_key"))
    error = classify(ret=ret, fail_code=fail_code, starling_key=key)
    if issubclass(error, SurelyNotAccepted) and first_text(mapping_of(data.get("aigc_data")), "history_record_id"):
        error = OutcomeUnknown  # a refusal that names a job is no proof that none was started
    stage = moderation_stage(ret=ret, fail_code=fail_code, starling_key=key) if error is ContentRejected else None
    message = first_text(body, "errmsg", "message") or text_of(data.get("fail_starling_message"))
    facts = {"ret": ret, "code": fail_code if fail_code != ret else "", "key": key, "logid": log_id}
    shown = explain("Jimeng refused", message, facts, account, stage)
    return error(shown, fail_code=fail_code or ret, log_id=log_id)
