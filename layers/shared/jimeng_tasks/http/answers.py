"""What the routes answer."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from jimeng_tasks.domain.task import TaskStatus

TASK_ID = "3f1f6f1b-2a01-4b52-9c7d-5f0c1c1e0a6b"

Seconds = Annotated[int, Field(description="Epoch seconds.")]
State = Annotated[
    Literal["not_found"] | TaskStatus, Field(description="How far the task is; not_found when there is none.")
]
Status = Annotated[Literal[0, -1, -2], Field(description="0 unknown or unfinished, -1 success, -2 failed.")]


class ErrorBody(BaseModel):
    """The one shape of every error."""

    code: Annotated[int, Field(description="The gateways' number for the kind of error.")]
    error: Annotated[str, Field(description="Stable name of the error.")]
    message: Annotated[str, Field(description="What was wrong, and what is allowed.")]
    data: None = None
    request_id: str

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": -2000,
                    "error": "invalid_request",
                    "message": "duration: jimeng-video-3.0 does not make 7000 ms; allowed: 5000, 10000",
                    "data": None,
                    "request_id": "0f8e2c1c-7d6b-4e8a-9a51-0c9b8d7e6f5a",
                }
            ]
        }
    )


class Submitted(BaseModel):
    """An accepted task; ``params`` are the effective values."""

    task_id: str
    url: Literal[""] = ""
    status: Status = 0
    state: State
    server_id: str
    references: Annotated[int, Field(description="How many input pictures are used.")]
    params: dict[str, Any]


class SubmitAnswer(BaseModel):
    """Answer of a generation route: the work is done later."""

    created: Seconds
    data: Submitted

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "created": 1767225600,
                    "data": {
                        "task_id": TASK_ID,
                        "url": "",
                        "status": 0,
                        "state": "pending",
                        "server_id": "jimeng-api-3302",
                        "references": 0,
                        "params": {"model": "jimeng-4.5", "width": 2048, "height": 2048, "ratio": "1:1"},
                    },
                }
            ]
        }
    )


class TaskReport(BaseModel):
    """What is known of a task; ``url`` is the list ``urls`` joined by commas."""

    task_id: str
    url: str = ""
    status: Status = 0
    state: State = "not_found"
    urls: list[str] = []
    consumed: Annotated[bool, Field(description="The result was handed out before, or has expired.")] = False
    server_id: str | None = None
    error_message: str | None = None
    fail_code: str | None = None
    fail_reason: Annotated[str | None, Field(description="Why a generation failed or delivered less.")] = None
    generation_time: Annotated[int | None, Field(description="Milliseconds.")] = None
    created_at: Seconds | None = None
    updated_at: Seconds | None = None
    b64_json: Annotated[list[str] | None, Field(description="The pictures, when asked for and small enough.")] = None
    notice: Annotated[str | None, Field(description="Why something that was asked for is missing.")] = None


class QueryAnswer(BaseModel):
    """Answer of a query route."""

    created: Seconds
    data: TaskReport

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "created": 1767225660,
                    "data": {
                        "task_id": TASK_ID,
                        "url": "https://media.example.com/a/0.png,https://media.example.com/a/1.png",
                        "status": -1,
                        "state": "completed",
                        "urls": ["https://media.example.com/a/0.png", "https://media.example.com/a/1.png"],
                        "consumed": False,
                        "server_id": "jimeng-api-3302",
                        "created_at": 1767225600,
                        "updated_at": 1767225655,
                    },
                }
            ]
        }
    )


class UploadedPicture(BaseModel):
    """One stored picture; ``size`` in bytes."""

    url: str
    width: int
    height: int
    format: str
    size: int


class UploadAnswer(BaseModel):
    """Answer of the upload route, in the order of the pictures sent."""

    created: Seconds
    data: list[UploadedPicture]


class ModelInfo(BaseModel):
    """One model and what it can make; durations in milliseconds."""

    id: str
    object: Literal["model"] = "model"
    owned_by: Literal["jimeng"] = "jimeng"
    type: Literal["image", "video"]
    regions: list[str]
    resolutions: list[str]
    default_resolution: str
    ratios: list[str]
    default_ratio: str
    sizes: Annotated[dict[str, dict[str, str]] | None, Field(description="Image sizes by resolution and ratio.")] = None
    durations: list[int] | None = None
    max_prompt: int
    max_references: int
    max_images: int
    is_pro: bool | None = None
    default: bool


class ModelList(BaseModel):
    """Answer of ``GET /v1/models``."""

    object: Literal["list"] = "list"
    data: list[ModelInfo]


class Health(BaseModel):
    """Answer of ``GET /health``."""

    status: Literal["ok"] = "ok"
    version: str
    database: Literal["ok", "memory"]
    time: Seconds


class Unhealthy(ErrorBody):
    """Answer of ``GET /health`` while tasks cannot be stored: an error, and where the fault is."""

    status: Literal["unavailable"]
    version: str
    database: Literal["unavailable"]

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": -1000,
                    "error": "store_unavailable",
                    "message": "MongoDB does not answer",
                    "data": None,
                    "request_id": "0f8e2c1c-7d6b-4e8a-9a51-0c9b8d7e6f5a",
                    "status": "unavailable",
                    "version": "0.1.0",
                    "database": "unavailable",
                }
            ]
        }
    )


class OnlineServer(BaseModel):
    """A service whose poller showed a sign of life in the last 150 s."""

    server_id: str
    status: str
    load: int
    last_heartbeat_at: Seconds
    version: str


class Stats(BaseModel):
    """Counts over the stored tasks; ages and times in seconds, means over tasks that ended in the last hour."""

    server_id: str | None
    tasks: dict[str, int]
    load: dict[str, int]
    servers_online: list[OnlineServer]
    oldest_pending_age: int | None
    mean_task_seconds: float | None
    error_rate: float | None


class StatsAnswer(BaseModel):
    """Answer of ``GET /v1/tasks/stats``."""

    created: Seconds
    data: Stats


class TokenLife(BaseModel):
    """Answer of ``POST /token/check``: ``live`` is null when the provider could not tell."""

    live: bool | None
    reason: str | None = None


class PointsBody(BaseModel):
    """Credits of an account, by the gateways' names."""

    giftCredit: int  # noqa: N815 - the name on the wire
    purchaseCredit: int  # noqa: N815
    vipCredit: int  # noqa: N815
    totalCredit: int  # noqa: N815


class TokenPoints(BaseModel):
    """Credits of one token, or why they are not known."""

    token: Annotated[str, Field(description="The first four characters.")]
    points: PointsBody | None = None
    error: str | None = None
    message: str | None = None
