"""What the routes take: request bodies with their accepted spellings."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from jimeng_tasks.service.faults import listed, shown
from jimeng_tasks.service.generation_requests import ImageRequest, Reference, VideoRequest
from jimeng_tasks.settings import SERVICE_ID_PATTERN

from .fields import Flag, FreeText, Number, Pixels, ReferenceField, References, TaskId, Text, WholeNumber

ALIASES = {
    "images": ("image", "image_url", "filePath", "file_path", "filePaths", "file_paths"),
    "ratio": ("aspect_ratio", "aspectRatio"),
}
LOOKS_LIKE_IMAGE = re.compile(r"image|img|picture|photo|frame|reference|(^|[^a-z])(files?|pics?|refs?)([^a-z]|$)")

MAX_SEED = 4_294_967_295


def _canonical(body: Any, known: Mapping[str, Any]) -> Any:
    """The body under its canonical names, without nulls; refuses unknown fields that look like pictures."""
    if not isinstance(body, Mapping):
        raise PydanticCustomError("object", "must be a JSON object")
    given = {name: value for name, value in body.items() if value is not None}
    for name, aliases in ALIASES.items():
        spellings = [spelling for spelling in (name, *aliases) if spelling in given]
        if len(spellings) > 1:
            raise PydanticCustomError("ambiguous", f"{listed(spellings)} mean the same: give one of them")
        if spellings:
            given[name] = given.pop(spellings[0])
    unknown = [name for name in given if name not in known and _looks_like_image(name)]
    if unknown:
        accepted = listed(("images", *ALIASES["images"]))
        raise PydanticCustomError("unknown_image", f"{shown(unknown[0])} is no field for pictures; allowed: {accepted}")
    return given


def _looks_like_image(name: str) -> bool:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return bool(LOOKS_LIKE_IMAGE.search(words))


def _references(images: Sequence[ReferenceField]) -> list[Reference]:
    return [Reference(url=image.url, width=image.width, height=image.height) for image in images]


class Generation(BaseModel):
    """What image and video generations have in common."""

    prompt: Annotated[Text, Field(description="What to show; kept as sent. The limit in characters is the model's.")]
    model: Annotated[Text | None, Field(description="A name from /v1/models.")] = None
    ratio: Annotated[Text | None, Field(description="Width to height, such as 16:9; also 16x9, 16_9 or 1280x720.")] = (
        None
    )
    resolution: Text | None = None
    images: Annotated[
        References,
        Field(
            description="Input pictures in order: addresses, data URIs, or objects with url, width, height. "
            f"Also accepted as {listed(ALIASES['images'])}."
        ),
    ] = []
    task_id: Annotated[
        TaskId | None, Field(description="Your own id for the task: the same body again is the same task.")
    ] = None
    server_id: Annotated[
        str | None,
        Field(
            description="The service that shall work on the task; normally left out.",
            pattern=f"^{SERVICE_ID_PATTERN.pattern}$",
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _canonical_names(cls, body: Any) -> Any:
        return _canonical(body, cls.model_fields)

    def common(self) -> dict[str, Any]:
        """The values that go into every kind of request."""
        names = ("prompt", "model", "ratio", "resolution", "task_id", "server_id")
        return {name: getattr(self, name) for name in names} | {"images": _references(self.images)}


class ImageGeneration(Generation):
    """Body of ``POST /v1/images/generations``."""

    negative_prompt: Annotated[FreeText, Field(description="What not to show.")] = ""
    width: Annotated[Pixels | None, Field(description="Pixels; together with height, one of the model's sizes.")] = None
    height: Pixels | None = None
    size: Annotated[Text | None, Field(description="WIDTHxHEIGHT, or a resolution such as 2K.")] = None
    sample_strength: Annotated[Number, Field(ge=0, le=1, description="How strongly the input pictures count.")] = 0.5
    n: Annotated[WholeNumber | None, Field(ge=1, description="How many pictures.")] = None
    seed: Annotated[WholeNumber | None, Field(ge=0, le=MAX_SEED)] = None
    response_format: Annotated[
        Literal["url", "b64_json"],
        Field(description="With b64_json the query answer also holds the pictures themselves while they are small."),
    ] = "url"

    EXAMPLES: ClassVar[list[JsonValue]] = [
        {"model": "jimeng-4.5", "prompt": "a paper boat on a lake at dawn", "ratio": "16:9", "resolution": "2k"},
        {"prompt": "the same boat in the rain", "images": ["https://example.com/boat.png"], "sample_strength": 0.6},
        {"prompt": "一只折纸小船", "width": 2048, "height": 2048, "task_id": "boat-0001"},
    ]
    model_config = ConfigDict(json_schema_extra={"examples": EXAMPLES})

    def to_request(self, accounts: Sequence[str], idempotency_key: str | None) -> ImageRequest:
        """The body as a request of the holder of ``accounts``."""
        return ImageRequest(
            **self.common(),
            accounts=accounts,
            idempotency_key=idempotency_key,
            negative_prompt=self.negative_prompt,
            width=self.width,
            height=self.height,
            size=self.size,
            sample_strength=self.sample_strength,
            n=self.n,
            seed=self.seed,
            response_format=self.response_format,
        )


class VideoGeneration(Generation):
    """Body of ``POST /v1/video/generations``.

    No picture makes a video from the text alone, one is its first frame, two are its first and last frame.
    """

    is_pro: Annotated[Flag | None, Field(description="Choose the pro model when no model is named.")] = None
    duration: Annotated[WholeNumber | None, Field(ge=1, description="Milliseconds, one of the model's durations.")] = (
        None
    )
    response_format: Literal["url"] = "url"

    EXAMPLES: ClassVar[list[JsonValue]] = [
        {"prompt": "the paper boat drifts from left to right", "ratio": "16:9", "duration": 5000},
        {
            "model": "jimeng-video-3.0",
            "prompt": "day turns into night",
            "images": [
                {"url": "https://example.com/day.png", "width": 1280, "height": 720},
                {"url": "https://example.com/night.png", "width": 1280, "height": 720},
            ],
        },
    ]
    model_config = ConfigDict(json_schema_extra={"examples": EXAMPLES})

    def to_request(self, accounts: Sequence[str], idempotency_key: str | None) -> VideoRequest:
        """The body as a request of the holder of ``accounts``."""
        return VideoRequest(
            **self.common(),
            accounts=accounts,
            idempotency_key=idempotency_key,
            is_pro=self.is_pro,
            duration=self.duration,
            response_format=self.response_format,
        )


class TokenBody(BaseModel):
    """Body of ``POST /token/check``."""

    token: Annotated[Text, Field(description="One session token, with its region prefix if it has one.")]

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": "us-0123456789abcdef0123456789abcdef"}]})
