"""Reading ratios and picture sizes as people write them, and finding them in a model's tables."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from jimeng_tasks.domain.catalog import ImageModel, Size
from jimeng_tasks.exceptions import RequestError

from .faults import listed, shown
from .generation_requests import ImageRequest

PAIR = re.compile(r"(\d{1,5})\s*[:x×*_/\u2236-]\s*(\d{1,5})", re.ASCII)
TIER = re.compile(r"\d{1,2}k", re.ASCII)
SMALLEST_PIXELS = 64  # below this a pair such as 16x9 is a ratio, above it is a size in pixels
PIXEL_TOLERANCE = 0.01  # tables round: 1024x682 is 3:2, 854x480 is 16:9


def pair(text: str) -> tuple[int, int] | None:
    """Two whole numbers joined by ``:``, ``x``, ``_``, ``/`` or the like, full-width forms included."""
    match = PAIR.fullmatch(_plain(text))
    if not match:
        return None
    width, height = int(match[1]), int(match[2])
    return (width, height) if width and height else None


def ratio_among(text: str, allowed: Collection[str]) -> str:
    """The ratio of ``allowed`` that ``text`` means: ``16:9`` for ``16x9``, ``16：9``, ``32/18`` or ``1280x720``.

    Raises:
        RequestError: it means none of them.
    """
    numbers = pair(text)
    if numbers:
        wanted = math.log(numbers[0] / numbers[1])
        tolerance = PIXEL_TOLERANCE if min(numbers) > SMALLEST_PIXELS else 1e-9
        for ratio in allowed:
            width, height = map(int, ratio.split(":"))
            if abs(math.log(width / height) - wanted) <= tolerance:
                return ratio
    raise RequestError(f"ratio: {shown(text)} is not offered by this model; allowed: {listed(allowed)}")


def resolution_among(text: str, allowed: Collection[str], field: str = "resolution") -> str:
    """The resolution of ``allowed`` that ``text`` means, whatever its case.

    Raises:
        RequestError: it means none of them.
    """
    wanted = _plain(text)
    if wanted not in allowed:
        raise RequestError(f"{field}: {shown(text)} is not offered by this model; allowed: {listed(allowed)}")
    return wanted


@dataclass(frozen=True, slots=True)
class Choice:
    """One size that a model can make, with the names of its resolution and ratio."""

    resolution: str
    ratio: str
    size: Size

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height."""
        return self.size.width, self.size.height


def choose_size(model: ImageModel, request: ImageRequest) -> Choice:
    """The one size that all the size fields of a request agree on; the model's defaults fill what is left open.

    Raises:
        RequestError: a value is not offered, or two of them contradict each other.
    """
    resolution, pixels = _tier_and_pixels(model, request)
    ratio = ratio_among(request.ratio, _ratios(model, resolution)) if request.ratio is not None else None
    fitting = [
        choice
        for choice in _choices(model)
        if (resolution in (None, choice.resolution))
        and (ratio in (None, choice.ratio))
        and (pixels in (None, choice.pixels))
    ]
    if not fitting:
        raise RequestError(_contradiction(model, resolution, ratio, pixels))
    return min(fitting, key=lambda c: (c.resolution != model.default_resolution, c.ratio != model.default_ratio))


def _tier_and_pixels(model: ImageModel, request: ImageRequest) -> tuple[str | None, tuple[int, int] | None]:
    resolution = resolution_among(request.resolution, model.sizes) if request.resolution is not None else None
    pixels = _width_and_height(model, request)
    if request.size is None:
        return resolution, pixels
    if TIER.fullmatch(_plain(request.size)):
        tier = resolution_among(request.size, model.sizes, "size")
        return _same("size", tier, "resolution", resolution), pixels
    numbers = pair(request.size)
    if numbers is None or min(numbers) <= SMALLEST_PIXELS:
        forms = f"WIDTHxHEIGHT such as {_nearest(model, (2048, 2048))}, or {listed(model.sizes)}"
        raise RequestError(f"size: {shown(request.size)} cannot be read; give {forms}; a ratio goes into ratio")
    return resolution, _same("size", _offered(model, numbers, "size"), "width and height", pixels)


def _width_and_height(model: ImageModel, request: ImageRequest) -> tuple[int, int] | None:
    if request.width is None and request.height is None:
        return None
    if request.width is None or request.height is None:
        raise RequestError("width and height: give both or none")
    return _offered(model, (request.width, request.height), "width and height")


def _same[T](field: str, value: T, other: str, stated: T | None) -> T:
    if stated is not None and stated != value:
        raise RequestError(f"{field} contradicts {other}: give one of them, or the same value")
    return value


def _offered(model: ImageModel, pixels: tuple[int, int], field: str) -> tuple[int, int]:
    if all(choice.pixels != pixels for choice in _choices(model)):
        width, height = pixels
        raise RequestError(
            f"{field}: {model.name} does not make {width}x{height}; the nearest size it makes is "
            f"{_nearest(model, pixels)}, or give ratio ({listed(_ratios(model, None))}) "
            f"and resolution ({listed(model.sizes)})"
        )
    return pixels


def _nearest(model: ImageModel, pixels: tuple[int, int]) -> str:
    """The size whose shape and area differ least, shape first."""
    wanted_shape, wanted_area = math.log(pixels[0] / pixels[1]), math.log(pixels[0] * pixels[1])

    def distance(choice: Choice) -> float:
        width, height = choice.pixels
        return 4 * abs(math.log(width / height) - wanted_shape) + abs(math.log(width * height) - wanted_area)

    width, height = min(_choices(model), key=distance).pixels
    return f"{width}x{height}"


def _plain(text: str) -> str:
    """Lower case and half width, without margins."""
    return unicodedata.normalize("NFKC", text).strip().lower()


def _choices(model: ImageModel) -> Iterator[Choice]:
    for resolution, by_ratio in model.sizes.items():
        for ratio, size in by_ratio.items():
            yield Choice(resolution, ratio, size)


def _ratios(model: ImageModel, resolution: str | None) -> list[str]:
    tiers = model.sizes.values() if resolution is None else [model.sizes[resolution]]
    return list(dict.fromkeys(ratio for tier in tiers for ratio in tier))


def _contradiction(model: ImageModel, resolution: str | None, ratio: str | None, pixels: tuple[int, int] | None) -> str:
    meant = next((choice for choice in _choices(model) if choice.pixels == pixels), None)
    if meant is None:
        return f"ratio: {model.name} does not make {ratio} at {resolution}"
    width, height = meant.pixels
    fact = f"{width}x{height} is {meant.ratio} at {meant.resolution}"
    return f"the size contradicts ratio or resolution: {fact}; give either pixels, or ratio and resolution"
