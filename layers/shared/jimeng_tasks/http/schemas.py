"""What the routes take: request bodies with their accepted spellings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from jimeng_tasks.service.faults import listed, shown
from jimeng_tasks.service.generation_requests import ImageRequest, Reference, VideoRequest
from jimeng_tasks.settings import SERVICE_ID_PATTERN

from .fields import (
    NO_INPUT,
    Flag,
    FreeText,
    Number,
    Pixels,
    ReferenceField,
    References,
    TaskId,
    Text,
    WholeNumber,
    holds_picture,
    squeezed,
)

ALIASES = {
    "images": ("image", "image_url", "filePath", "file_path", "filePaths", "file_paths"),
    "ratio": ("aspect_ratio", "aspectRatio"),
}
LOOKS_LIKE_IMAGE = re.compile(
    r"image|img|picture|photo|frame|reference|base64|b64|图|照片|首帧|尾帧"
    r"|(^|[^a-z])(files?|pics?|refs?|media$|attachments?$|ur[li]s?$)([^a-z]|$)"
)

MAX_SEED = 4_294_967_295
MAX_FIELDS = 200
EMPTY: tuple[JsonValue, ...] = ("", [], {})  # an unknown field that holds nothing asks for nothing


def _by_name(remedies: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {squeezed(name): remedy for remedy, names in remedies.items() for name in names}


# Names that would change what is made, but mean something else than any field here: by what to do instead.
_REFUSED = {
    "masks are not supported; input pictures go into images": ("mask", "mask_url", "mask_image", "mask_base64"),
    "give ratio, such as 16:9": ("aspect", "image_ratio", "image_aspect_ratio", "video_ratio"),
}
REFUSED_FOR_IMAGES = _by_name(
    _REFUSED
    | {
        "give n": (
            *("num", "count", "num_images", "n_images", "images_num", "image_num", "image_count", "images_count"),
            *("number_of_images", "max_images", "num_outputs", "num_samples", "batch_size"),
        ),
        "give size, such as 2048x2048 or 2k, or ratio and resolution": ("image_size", "image_resolution"),
        "give width and height": ("image_width", "image_height"),
        "give sample_strength, from 0 to 1": ("strength", "image_strength", "reference_strength", "denoising_strength"),
        "pictures have no frames; a video is made by POST /v1/video/generations, its length is duration, and "
        "input pictures go into images": ("frames", "num_frames", "frame_count", "frame_rate"),
    }
)
REFUSED_FOR_VIDEOS = _by_name(
    _REFUSED
    | {
        "give ratio, such as 16:9 or 1280x720, and resolution, such as 720p": (
            *("size", "video_size", "video_width", "video_height"),
            *("image_size", "image_width", "image_height", "image_resolution", "video_resolution"),
        ),
        "give duration, in milliseconds; input pictures go into images": (
            *("seconds", "duration_ms", "duration_seconds", "duration_sec", "video_duration", "video_length", "length"),
            *("frames", "num_frames", "frame_count"),
        ),
        "one task makes one video; send an order for each": (
            *("num", "count", "num_videos", "video_count", "number_of_videos", "num_outputs", "batch_size"),
            *("num_images", "image_count", "number_of_images"),
        ),
    }
)


def _canonical(body: Any) -> dict[str, Any]:
    """The body under its canonical names, without nulls."""
    if not isinstance(body, Mapping):
        raise PydanticCustomError("object", "must be a JSON object")
    if len(body) > MAX_FIELDS:
        raise PydanticCustomError("many_fields", f"has {len(body)} fields; at most {MAX_FIELDS} are read")
    given = {name: value for name, value in body.items() if value is not None}
    for name, aliases in ALIASES.items():
        spellings = [spelling for spelling in (name, *aliases) if spelling in given]
        if len(spellings) > 1:
            raise PydanticCustomError("ambiguous", f"{listed(spellings)} mean the same: give one of them")
        if spellings:
            given[name] = given.pop(spellings[0])
    return given


@cache
def _spellings(model: type["Generation"]) -> Mapping[str, str]:
    """The fields of a body by the squeezed form of each accepted spelling."""
    return {squeezed(spelling): field for field in model.model_fields for spelling in (field, *ALIASES.get(field, ()))}


def _fault(name: str, value: Any, model: type["Generation"]) -> str | None:
    """Why an unknown field cannot be ignored: it would have changed what is made and paid for."""
    plain = squeezed(name)
    if plain in NO_INPUT or value in EMPTY:
        return None
    if plain in _spellings(model):
        return f"did you mean {_spellings(model)[plain]}?"
    if plain in model.REFUSED:
        return model.REFUSED[plain]
    if _looks_like_image(name) or holds_picture({name: value}):
        return f"input pictures go into images, also accepted as {listed(ALIASES['images'])}"
    return None


def _looks_like_image(name: str) -> bool:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return bool(LOOKS_LIKE_IMAGE.search(words))


def _references(images: Sequence[ReferenceField]) -> list[Reference]:
    return [Reference(url=image.url, width=image.width, height=image.height) for image in images]


class Generation(BaseModel):
    """What image and video generations have in common."""

    REFUSED: ClassVar[Mapping[str, str]]

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
        given = _canonical(body)
        for name, value in given.items():
            fault = None if name in cls.model_fields else _fault(name, value, cls)
            if fault:
                raise PydanticCustomError("unknown_field", f"{shown(name)} is no field of this route: {fault}")
        return given

    def common(self) -> dict[str, Any]:
        """The values that go into every kind of request."""
        names = ("prompt", "model", "ratio", "resolution", "task_id", "server_id")
        return {name: getattr(self, name) for name in names} | {"images": _references(self.images)}


class ImageGeneration(Generation):
    """Body of ``POST /v1/images/generations``.

    An unknown field is ignored, unless it holds an address or a picture, or its name is close to a field here.
    """

    REFUSED = REFUSED_FOR_IMAGES

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
    An unknown field is ignored, unless it holds an address or a picture, or its name is close to a field here.
    """

    REFUSED = REFUSED_FOR_VIDEOS

    is_pro: Annotated[Flag | None, Field(description="Choose the pro model when no model is named.")] = None
    duration: Annotated[WholeNumber | None, Field(ge=1, description="Milliseconds, one of the model's durations.")] = (
        None
    )
    width: Annotated[
        Pixels | None,
        Field(description="With height, another way to give the ratio; ratio itself counts more."),
    ] = None
    height: Pixels | None = None
    n: Annotated[WholeNumber | None, Field(ge=1, le=1, description="One task makes one video.")] = None
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

    @model_validator(mode="after")
    def _both_sides(self) -> Self:
        if (self.width is None) is not (self.height is None):
            raise PydanticCustomError("one_side", "give width and height together, or ratio")
        return self

    def to_request(self, accounts: Sequence[str], idempotency_key: str | None) -> VideoRequest:
        """The body as a request of the holder of ``accounts``."""
        sides = f"{self.width}x{self.height}" if self.width and self.height else None
        return VideoRequest(
            **self.common() | {"ratio": self.ratio or sides},
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
