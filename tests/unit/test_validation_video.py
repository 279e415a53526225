"""Video requests against the provider's catalog."""

from typing import Any

import pytest

from jimeng_tasks.exceptions import RequestError
from jimeng_tasks.jimeng.models import CATALOG
from jimeng_tasks.jimeng.regions import parse_token
from jimeng_tasks.service.generation_requests import Reference, VideoRequest
from jimeng_tasks.service.validation import Validator


def no_check(url: str) -> None:
    """Every address will do."""


def params(**values: Any) -> Any:
    request = VideoRequest(**{"prompt": "drift", "accounts": ("a1",)} | values)
    return Validator(CATALOG, lambda token: parse_token(token).region.name).video(request, no_check).params


def test_what_is_left_open_gets_the_models_defaults() -> None:
    assert params() == {
        "model": "jimeng-video-3.0",
        "prompt": "drift",
        "is_pro": False,
        "duration": 5000,
        "ratio": "16:9",
        "resolution": "720p",
        "images": [],
        "response_format": "url",
    }


def test_is_pro_chooses_the_pro_model_or_confirms_a_named_one() -> None:
    assert params(is_pro=True)["model"] == "jimeng-video-3.5-pro"
    assert params(is_pro=False)["model"] == "jimeng-video-3.0"
    assert params(is_pro=True, model="jimeng-video-3.0-pro")["is_pro"] is True
    assert params(model="jimeng-video-3.0-pro")["is_pro"] is True


def test_is_pro_with_a_model_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(RequestError, match=r"jimeng-video-3\.0 is no pro model.*jimeng-video-3\.5-pro"):
        params(is_pro=True, model="jimeng-video-3.0")


@pytest.mark.parametrize(("duration", "hint"), [(5, True), (15, True), (7000, False), (15_000, False)])
def test_a_duration_is_taken_as_it_is_or_refused_with_the_list(duration: int, hint: bool) -> None:
    with pytest.raises(RequestError, match=r"allowed: 5000, 10000") as refusal:
        params(duration=duration)
    assert ("milliseconds, not seconds" in str(refusal.value)) is hint
    assert params(duration=10_000)["duration"] == 10_000


@pytest.mark.parametrize("spelling", ["1080p", "1080P", " 1080p ", "１０８０ｐ"])
def test_resolutions_are_read_whatever_their_case(spelling: str) -> None:
    assert params(resolution=spelling)["resolution"] == "1080p"


def test_a_ratio_of_pictures_only_is_refused() -> None:
    with pytest.raises(RequestError, match="ratio: '3:2' is not offered"):
        params(ratio="3:2")


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_up_to_two_frames_are_kept_in_order(frames: int) -> None:
    images = [Reference(url=f"https://example.com/{n}.png", width=16, height=9) for n in range(frames)]
    kept = params(images=images)["images"]
    assert kept == [{"url": f"https://example.com/{n}.png", "width": 16, "height": 9} for n in range(frames)]


def test_a_third_frame_is_refused_with_the_limit() -> None:
    with pytest.raises(RequestError, match=r"images: 3 is too many; jimeng-video-3\.0 takes at most 2"):
        params(images=[Reference(url="https://example.com/a.png")] * 3)


def test_names_are_looked_up_exactly() -> None:
    for name in ("seedance-2.0", "dreamina_seedance_40_pro_vision", "jimeng-video-3.0-pro-max", "video-3.0"):
        with pytest.raises(RequestError, match=r"is not known; allowed: jimeng-video-2\.0, "):
            params(model=name)
