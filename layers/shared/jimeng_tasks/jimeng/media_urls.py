"""Where the addresses of generated media stand in an item, in the order they are tried in (jimeng-wire 5.5, 5.7)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from .answers import first_text, mapping_of

Path = tuple[str, ...]

MAX_ADDRESS = 8192  # bytes

PREVIEW_PATHS: tuple[Path, ...] = (
    ("common_attr", "transcoded_video", "origin", "video_url"),
    ("video", "transcoded_video", "origin", "video_url"),
    ("video", "play_url"),
    ("video", "download_url"),
    ("video", "url"),
    ("url",),
)
BEST_PATHS: tuple[Path, ...] = (
    ("common_attr", "transcoded_video", "origin", "video_url"),
    ("video", "transcoded_video", "origin", "video_url"),
    ("video", "download_url"),
    ("video", "play_url"),
    ("video", "url"),
)

ADDRESS = r"[^\s\"'<>\\]"
PREVIEW_PATTERNS = (
    re.compile(rf"https://(?={ADDRESS}*vlabvod){ADDRESS}+"),
    re.compile(rf"https://(?={ADDRESS}*vod){ADDRESS}+"),
)
BEST_PATTERNS = (
    re.compile(rf"https://v\d+-dreamnia\.jimeng\.com/{ADDRESS}+"),
    re.compile(rf"https://v\d+-[\w.-]*jimeng\.com/{ADDRESS}+"),
    re.compile(rf"https://[\w.-]*vlabvod\.com/{ADDRESS}+"),
)
PICTURE_NAME = re.compile(r"\.(webp|jpe?g|png|gif|avif|heic|image)$", re.IGNORECASE)
CALLERS_TEXT = frozenset({"description", "title", "prompt", "draft_content", "task"})
"""Fields that may hold addresses from the caller's own prompt or inputs."""


def is_video(item: Mapping[str, Any]) -> bool:
    """Whether an item is a video, whose cover picture is then no result; a picture may have the same fields as null."""
    if mapping_of(item.get("video")) or mapping_of(item.get("common_attr")).get("transcoded_video"):
        return True
    return bool(item.get("url")) and not mapping_of(item.get("image"))


def image_url(item: Mapping[str, Any]) -> str | None:
    """The address of a picture: the full size if there is one, else the reduced ones."""
    return next(_usable(_image_candidates(item)), None)


def preview_url(item: Mapping[str, Any]) -> str | None:
    """The address of a video in its item of a history record, or anywhere in a whole record."""
    return _video_url(item, PREVIEW_PATHS, PREVIEW_PATTERNS)


def best_url(item: Mapping[str, Any]) -> str | None:
    """The address of a video in full quality, from an answer of get_local_item_list."""
    return _video_url(item, BEST_PATHS, BEST_PATTERNS)


def item_id(item: Mapping[str, Any]) -> str:
    """The id under which get_local_item_list knows an item; empty if it has none."""
    own = first_text(item, "item_id", "id", "local_item_id")
    return own or first_text(mapping_of(item.get("common_attr")), "id")


def _video_url(item: Mapping[str, Any], paths: tuple[Path, ...], patterns: tuple[re.Pattern[str], ...]) -> str | None:
    found = next(_usable(_at(item, path) for path in paths), None)
    return found or next(_usable(_search(item, patterns)), None)


def _image_candidates(item: Mapping[str, Any]) -> Iterator[Any]:
    large = mapping_of(item.get("image")).get("large_images")
    for picture in large if isinstance(large, list) else []:
        yield mapping_of(picture).get("image_url")
    attributes = mapping_of(item.get("common_attr"))
    yield attributes.get("cover_url")
    yield from _largest_first(mapping_of(attributes.get("cover_url_map")))
    urls = attributes.get("item_urls")
    yield from urls if isinstance(urls, list) else []


def _largest_first(covers: Mapping[str, Any]) -> list[Any]:
    """Values of a map whose keys begin with a width in pixels."""

    def width(name: str) -> int:
        digits = re.search(r"\d{1,6}", name)
        return int(digits[0]) if digits else 0

    return [covers[name] for name in sorted(covers, key=width, reverse=True)]


def _at(item: Mapping[str, Any], path: Path) -> Any:
    *parents, name = path
    place = item
    for parent in parents:
        place = mapping_of(place.get(parent))
    return place.get(name)


def _search(item: Any, patterns: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    texts = [text.replace("\\u0026", "&") for text in _texts(item)]
    for pattern in patterns:
        found = (address for text in texts for address in pattern.findall(text))
        yield from (address for address in found if not PICTURE_NAME.search(urlsplit(address).path))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for key, child in value.items() if key not in CALLERS_TEXT for text in _texts(child))
    elif isinstance(value, list):
        yield from (text for child in value for text in _texts(child))


def _usable(candidates: Iterator[Any]) -> Iterator[str]:
    for candidate in candidates:
        if isinstance(candidate, str):
            address = candidate.strip().replace("\\u0026", "&")
            if _is_http(address):
                yield address


def _is_http(address: str) -> bool:
    try:
        if len(address.encode()) > MAX_ADDRESS:
            return False
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
