"""Stored parameters into a checked order: every value resolved by the catalog, nothing replaced silently.

Documents of the old Node service pass through here, too. They may lack anything but the prompt, and hold numbers as
floats; what is absent gets the catalog's default, what is wrong is refused with the allowed values.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import gcd, log
from typing import Any

from jimeng_tasks.domain.catalog import Catalog, ImageModel, Size, VideoModel
from jimeng_tasks.exceptions import ParameterRejected

from .models import NANOBANANA_KEY
from .regions import Region

DEFAULT_STRENGTH = 0.5
MAX_SEED = 2**32 - 1
NANOBANANA_US_RATIO = "1:1"

Params = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOrder:
    """A complete image job; ``count`` and ``seed`` are None where the caller left them to us."""

    model: ImageModel
    prompt: str
    negative_prompt: str
    size: Size
    resolution: str
    strength: float
    count: int | None
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOrder:
    """A complete video job; ``duration`` in milliseconds."""

    model: VideoModel
    prompt: str
    duration: int
    ratio: str
    resolution: str
    seed: int | None


def image_order(catalog: Catalog, region: Region, params: Params, references: int) -> ImageOrder:
    """Resolve the parameters of an image task with so many reference pictures.

    Raises:
        ParameterRejected: which parameter, and the allowed values.
    """
    model = _model(catalog.image_models, params, catalog.default_image_model, region)
    _at_most("number of reference pictures", references, model.max_references)
    resolution, ratio = _resolution_and_ratio(model, params)
    size = model.sizes[resolution][ratio]
    if model.key == NANOBANANA_KEY and region.name == "us":
        # There the model makes one size whatever is asked, under the name of another tier (jimeng-wire 4.8).
        _one_of("ratio", ratio, (NANOBANANA_US_RATIO,))
        resolution = "2k"
    return ImageOrder(
        model=model,
        prompt=_prompt(params, model.max_prompt, required=True),
        negative_prompt=_text(params, "negative_prompt") or "",
        size=size,
        resolution=resolution,
        strength=_strength(params),
        count=_whole(params, "n", 1, model.max_images),
        seed=_whole(params, "seed", 0, MAX_SEED),
    )


def video_order(catalog: Catalog, region: Region, params: Params, references: int) -> VideoOrder:
    """Resolve the parameters of a video task with so many frames.

    A named model wins over ``is_pro``, which only chooses between the two defaults.

    Raises:
        ParameterRejected: which parameter, and the allowed values.
    """
    default = catalog.default_pro_video_model if params.get("is_pro") is True else catalog.default_video_model
    model = _model(catalog.video_models, params, default, region)
    _at_most("number of frames", references, model.max_frames)
    duration = _whole(params, "duration")
    return VideoOrder(
        model=model,
        prompt=_prompt(params, model.max_prompt, required=not references),
        duration=model.durations[0] if duration is None else _one_of("duration (ms)", duration, model.durations),
        ratio=_one_of("ratio", _video_ratio(params) or model.default_ratio, model.ratios),
        resolution=_one_of("resolution", _text(params, "resolution") or model.resolutions[0], model.resolutions),
        seed=_whole(params, "seed", 0, MAX_SEED),
    )


def _model[Model: (ImageModel, VideoModel)](
    models: Mapping[str, Model], params: Params, default: str, region: Region
) -> Model:
    model = models[_one_of("model", _text(params, "model") or default, sorted(models))]
    if region.name not in model.regions:
        offered = ", ".join(sorted(model.regions))
        raise ParameterRejected(f"model {model.name} is not offered in region {region.name}, only in {offered}")
    return model


def _resolution_and_ratio(model: ImageModel, params: Params) -> tuple[str, str]:
    resolution, ratio = _text(params, "resolution"), _text(params, "ratio")
    tiers = (_one_of("resolution", resolution, model.sizes),) if resolution else tuple(model.sizes)
    ratios = tuple(model.sizes[model.default_resolution])
    ratios = (_one_of("ratio", ratio, ratios),) if ratio else ratios
    width, height = _whole(params, "width"), _whole(params, "height")
    if width is None and height is None:
        return resolution or model.default_resolution, ratio or model.default_ratio
    if not width or not height:
        raise ParameterRejected("width and height belong together; send both, or ratio and resolution")
    return _by_pixels(model, tiers, ratios, width, height)


def _by_pixels(
    model: ImageModel, tiers: Collection[str], ratios: Collection[str], width: int, height: int
) -> tuple[str, str]:
    """The tier and ratio that make exactly these pixels; the refusal names the size nearest in shape, then in width."""
    sizes = {(tier, ratio): model.sizes[tier][ratio] for tier in tiers for ratio in ratios}
    for choice, size in sizes.items():
        if (size.width, size.height) == (width, height):
            return choice

    def distance(size: Size) -> tuple[float, int]:
        return round(abs(log(size.width * height / (size.height * width))), 1), abs(size.width - width)

    nearest = min(sizes.values(), key=distance)
    raise ParameterRejected(
        f"{model.name} does not make {width}x{height}; the nearest size is {nearest.width}x{nearest.height}"
    )


def _video_ratio(params: Params) -> str | None:
    ratio, width, height = _text(params, "ratio"), _whole(params, "width"), _whole(params, "height")
    if ratio or not width or not height:
        return ratio
    divisor = gcd(width, height)
    return f"{width // divisor}:{height // divisor}"


def _prompt(params: Params, maximum: int, *, required: bool) -> str:
    prompt = _text(params, "prompt") or ""
    if required and not prompt.strip():
        raise ParameterRejected("prompt is empty")
    _at_most("number of characters in prompt", len(prompt.strip()), maximum)
    return prompt


def _strength(params: Params) -> float:
    value = params.get("sample_strength")
    if value is None:
        return DEFAULT_STRENGTH
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ParameterRejected("sample_strength must be a number from 0 to 1")
    return value


def _text(params: Params, name: str) -> str | None:
    """A text; absent, null and empty are the same."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise ParameterRejected(f"{name} must be a text")
    return value or None


def _whole(params: Params, name: str, minimum: int = 0, maximum: int = MAX_SEED) -> int | None:
    """A whole number; absent and null are the same."""
    value = params.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise ParameterRejected(f"{name} must be a whole number from {minimum} to {maximum}")
    return value


def _one_of[Choice: (str, int)](name: str, value: Choice, allowed: Collection[Choice]) -> Choice:
    if value not in allowed:
        raise ParameterRejected(f"{name} {value!r} is not offered; allowed: {', '.join(map(str, allowed))}")
    return value


def _at_most(name: str, value: int, maximum: int) -> None:
    if value > maximum:
        raise ParameterRejected(f"{name} is {value}, at most {maximum} are allowed")
