"""What the site's codes mean, as tables, and the order in which they are asked.

Codes are text: the site sends them as numbers, too. Sources: jimeng-wire 3.4 (``ret``), 3.5 (``fail_code`` and
starling keys), 3.6 (automation checks), 3.7 (both, from public lists).
"""

from enum import Enum

from jimeng_tasks.exceptions import (
    AccessDenied,
    ContentRejected,
    LoginRejected,
    ParameterRejected,
    ProviderBlocked,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RegionMismatch,
    ServerRefused,
    VersionRejected,
)

ErrorClass = type[ProviderError]


class Stage(Enum):
    """Where moderation said no: its ``label``, the ``subject`` it said no to, and how much it tells (0 to 2)."""

    INPUT_TEXT = "input text", "the prompt"
    INPUT_IMAGE = "input image", "an input picture"
    OUTPUT_IMAGE = "output image", "a generated picture"
    OUTPUT_VIDEO = "output video", "the generated video"
    OUTPUT_AUDIO = "output audio", "the sound of the generated video"
    INPUT = "input", "the input", 1
    OUTPUT = "output", "the output", 1
    UNKNOWN = "stage unknown", "the content", 0

    def __init__(self, label: str, subject: str, precision: int = 2) -> None:
        self.label = label
        self.subject = subject
        self.precision = precision


CONTENT_KEYS: tuple[tuple[str, Stage], ...] = (
    ("text_violates_community_guidelines", Stage.INPUT_TEXT),
    ("violates_community_guidelines", Stage.UNKNOWN),
    ("violate_guidelines", Stage.UNKNOWN),
    ("sensitive_text", Stage.INPUT_TEXT),
    ("fail2generate_input", Stage.INPUT),
    ("fail2generate_copyright", Stage.UNKNOWN),
    ("inputtextrisk", Stage.INPUT_TEXT),
    ("inputimagerisk", Stage.INPUT_IMAGE),
    ("outputimagerisk", Stage.OUTPUT_IMAGE),
    ("outputvideorisk", Stage.OUTPUT_VIDEO),
    ("outputaudiorisk", Stage.OUTPUT_AUDIO),  # not in jimeng-wire: from public lists of the site's reasons
    ("content_violation", Stage.UNKNOWN),
)
"""The parts of starling keys that mean moderation. The only text there is to refuse is the prompt."""

STARLING_KEYS: tuple[tuple[str, ErrorClass], ...] = (
    *((part, ContentRejected) for part, _ in CONTENT_KEYS),
    ("account_block", ProviderBlocked),
    ("risk_notification", ProviderBlocked),
    ("risk_control", ProviderBlocked),
    ("authorization", LoginRejected),
    ("unauthorized", LoginRejected),
    ("login", LoginRejected),
    ("token", LoginRejected),
    ("daily_usage_limit", QuotaExhausted),
    ("credit_ininsufficient", QuotaExhausted),
    ("timeout", ServerRefused),
    ("timed out", ServerRefused),
    ("generation_failed", ServerRefused),
    ("100402", ServerRefused),
    ("network", ServerRefused),
)
"""Parts of a starling key in lower case, first match wins (jimeng-wire 3.5; 3.2 for the credits key)."""

CONTENT_CODES: dict[str, Stage] = {
    "1063": Stage.INPUT_TEXT,  # text audit
    "1159": Stage.UNKNOWN,  # copyright
    "2003": Stage.INPUT_IMAGE,  # before generation
    "2004": Stage.OUTPUT_IMAGE,  # after generation
    "2005": Stage.INPUT_TEXT,  # before generation
    "2038": Stage.INPUT_TEXT,
    "2039": Stage.INPUT_IMAGE,
    "2040": Stage.UNKNOWN,
    "2041": Stage.UNKNOWN,
    "2042": Stage.UNKNOWN,  # of a video, but nobody says whether of its input or its output
    "2043": Stage.UNKNOWN,
    "2047": Stage.INPUT_TEXT,  # text
    "2048": Stage.UNKNOWN,
    "2050": Stage.UNKNOWN,  # copyright
    # One gateway reads 4001 as a content violation, a public list as missing credits; either way it is final.
    "4001": Stage.UNKNOWN,
}
"""The codes that mean moderation, as ``ret`` or ``fail_code``, and the stage where a source names it."""

RET_CODES: dict[str, ErrorClass] = dict.fromkeys(CONTENT_CODES, ContentRejected) | {
    "1015": LoginRejected,
    "5000": QuotaExhausted,
    "1006": QuotaExhausted,
    "121101": QuotaExhausted,  # daily generation limit
    "1": RateLimited,
    "1010": RateLimited,  # too many running jobs
    "1057": RateLimited,
    "2014": RateLimited,
    "2020": RateLimited,
    "10020": RateLimited,
    "4013": ProviderBlocked,
    "1018": ProviderBlocked,  # account penalty
    "1019": ProviderBlocked,
    "1021": ProviderBlocked,
    "2035": ProviderBlocked,
    "-4": ProviderBlocked,
    "-6": ProviderBlocked,
    "3018": VersionRejected,
    "3000": RegionMismatch,
    "2061": AccessDenied,  # model withdrawn
    "4002": ParameterRejected,
    "1000": ParameterRejected,
    "1001": ParameterRejected,
    "1002": ParameterRejected,
    "1014": ParameterRejected,  # Sign header
    "1161": ParameterRejected,
    "1162": ParameterRejected,  # language
    "2008": ParameterRejected,
    "3021": ParameterRejected,  # beta only
    "4003": ParameterRejected,
    "4010": ParameterRejected,  # wants a confirmation
    "34010100": ParameterRejected,
    "2002": ServerRefused,
    "5001": ServerRefused,
    "5002": ServerRefused,
}

FAIL_CODES: dict[str, ErrorClass] = RET_CODES | {
    "1017": AccessDenied,
    "100402": ServerRefused,
}


def classify(
    *, ret: str = "", fail_code: str = "", starling_key: str = "", default: ErrorClass = ServerRefused
) -> ErrorClass:
    """The error class of a refusal: by starling key, else ``fail_code``, else ``ret``, else ``default``.

    An unknown ``ret`` means ServerRefused: the site said no, so nothing was accepted and nothing was paid.
    """
    key = starling_key.lower()
    by_key = next((error for part, error in STARLING_KEYS if part in key), None)
    return by_key or FAIL_CODES.get(fail_code) or RET_CODES.get(ret) or default


def moderation_stage(
    *, ret: str = "", fail_code: str = "", starling_key: str = "", default: Stage = Stage.UNKNOWN
) -> Stage:
    """Where moderation said no, as the most telling of starling key, ``fail_code``, ``ret`` and ``default`` has it."""
    key = starling_key.lower()
    by_key = next((stage for part, stage in CONTENT_KEYS if part in key), Stage.UNKNOWN)
    by_code = (CONTENT_CODES.get(code, Stage.UNKNOWN) for code in (fail_code, ret))
    return max((by_key, *by_code, default), key=lambda stage: stage.precision)
