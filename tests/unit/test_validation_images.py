"""Image requests against the provider's catalog: what a spelling means, and which size all fields agree on."""

from typing import Any

import pytest

from jimeng_tasks.exceptions import RegionUnknown, RequestError, UrlForbidden
from jimeng_tasks.jimeng.models import CATALOG
from jimeng_tasks.jimeng.regions import parse_token
from jimeng_tasks.service.generation_requests import ImageRequest, Reference
from jimeng_tasks.service.sizes import ratio_among
from jimeng_tasks.service.submit import Order
from jimeng_tasks.service.validation import Validator

RATIOS = ("1:1", "4:3", "3:4", "16:9", "9:16", "3:2", "2:3", "21:9")


def no_check(url: str) -> None:
    """Every address will do."""


def order(**values: Any) -> Order:
    request = ImageRequest(**{"prompt": "a boat", "accounts": ("a1",)} | values)
    return Validator(CATALOG, lambda token: parse_token(token).region.name).image(request, no_check)


def size(**values: Any) -> tuple[int, int, str, str]:
    params = order(**values).params
    return params["width"], params["height"], params["ratio"], params["resolution"]


@pytest.mark.parametrize(
    ("spelling", "ratio"),
    [
        ("16:9", "16:9"),
        ("16：9", "16:9"),
        ("１６：９", "16:9"),
        ("16∶9", "16:9"),
        ("16x9", "16:9"),
        ("16X9", "16:9"),
        ("16×9", "16:9"),
        ("16*9", "16:9"),
        ("16_9", "16:9"),
        ("16/9", "16:9"),
        ("16-9", "16:9"),
        (" 16 : 9 ", "16:9"),
        ("32:18", "16:9"),
        ("1280x720", "16:9"),
        ("1920*1080", "16:9"),
        ("854x480", "16:9"),
        ("1024x682", "3:2"),
        ("1195x512", "21:9"),
        ("7:3", "21:9"),
        ("1024x1024", "1:1"),
        ("9：16", "9:16"),
    ],
)
def test_spellings_of_a_ratio_mean_one_canonical_form(spelling: str, ratio: str) -> None:
    assert ratio_among(spelling, RATIOS) == ratio


@pytest.mark.parametrize("spelling", ["Auto", "adaptive", "", "16", "16:", ":9", "0:9", "16:0", "00:1", "17:9", "a:b",
                                      "16:9:1", "-16:9", "1.6:0.9", "100000000:1", "16:10", "५:४"])  # fmt: skip
def test_what_is_no_ratio_of_the_model_is_refused_with_the_list(spelling: str) -> None:
    with pytest.raises(RequestError, match="allowed: 1:1, 4:3, 3:4"):
        ratio_among(spelling, RATIOS)


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ({}, (2048, 2048, "1:1", "2k")),
        ({"ratio": "9：16"}, (1440, 2560, "9:16", "2k")),
        ({"resolution": "4K"}, (4096, 4096, "1:1", "4k")),
        ({"ratio": "3:2", "resolution": "1k"}, (1024, 682, "3:2", "1k")),
        ({"size": "2K"}, (2048, 2048, "1:1", "2k")),
        ({"size": "4k", "ratio": "16x9"}, (5120, 2880, "16:9", "4k")),
        ({"size": "1024x1024"}, (1024, 1024, "1:1", "1k")),
        ({"size": "1440 × 2560"}, (1440, 2560, "9:16", "2k")),
        ({"width": 1440, "height": 2560}, (1440, 2560, "9:16", "2k")),
        ({"width": 1440, "height": 2560, "size": "1440x2560"}, (1440, 2560, "9:16", "2k")),
        ({"width": 1440, "height": 2560, "ratio": "9:16", "resolution": "2K"}, (1440, 2560, "9:16", "2k")),
        ({"width": 1440, "height": 2560, "ratio": "1440x2560"}, (1440, 2560, "9:16", "2k")),
        ({"model": "jimeng-2.1"}, (1024, 1024, "1:1", "1k")),
        ({"model": "jimeng-2.1", "size": "1K"}, (1024, 1024, "1:1", "1k")),
    ],
)
def test_all_size_fields_lead_to_one_size(fields: dict[str, Any], chosen: tuple[int, int, str, str]) -> None:
    assert size(**fields) == chosen


@pytest.mark.parametrize(
    ("fields", "nearest"),
    [
        ({"size": "1000x1000"}, "1024x1024"),
        ({"size": "2000x2000"}, "2048x2048"),
        ({"size": "4096x4000"}, "4096x4096"),
        ({"size": "1920x1080"}, "2560x1440"),
        ({"width": 720, "height": 1280}, "576x1024"),
        ({"width": 200, "height": 200}, "1024x1024"),
        ({"width": 1, "height": 100_000}, "x"),
        ({"model": "jimeng-2.1", "size": "4096x4096"}, "1024x1024"),
    ],
)
def test_a_size_that_the_model_lacks_is_refused_with_the_nearest(fields: dict[str, Any], nearest: str) -> None:
    with pytest.raises(RequestError, match=f"nearest size it makes is .*{nearest}"):
        order(**fields)


def test_the_prompt_is_measured_without_its_margins_and_stored_with_them() -> None:
    prompt = "  " + "船" * 2000 + "\n"
    assert order(prompt=prompt).params["prompt"] == prompt


def test_optional_values_are_stored_only_when_they_were_given() -> None:
    assert {"n", "seed"}.isdisjoint(order().params)
    assert order(n=4, seed=0).params["n"] == 4
    assert order(n=4, seed=0).params["seed"] == 0


def test_only_tokens_of_fitting_regions_stay() -> None:
    assert order(model="jimeng-5.0", accounts=("us-a", "hk-b", "c")).accounts == ["hk-b", "c"]
    with pytest.raises(RequestError, match=r"not offered in the region of the token \(us\), but in cn, hk, jp, sg"):
        order(model="jimeng-5.0", accounts=("us-a",))


def test_a_token_of_an_unknown_region_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RegionUnknown, match="us-, hk-, jp-, sg-"):
        order(accounts=("a1", "de-b2"))


def test_every_input_picture_is_checked_and_the_bad_one_is_named() -> None:
    seen = []

    def check(url: str) -> None:
        seen.append(url)
        if "private" in url:
            raise UrlForbidden("is private")

    request = ImageRequest(
        prompt="a", accounts=("a1",), images=[Reference(url="https://public"), Reference(url="https://private")]
    )
    validator = Validator(CATALOG, lambda token: parse_token(token).region.name)
    with pytest.raises(UrlForbidden, match=r"^images\[1\]: is private$"):
        validator.image(request, check)
    assert seen == ["https://public", "https://private"]


def test_equal_requests_make_equal_orders_however_they_are_spelled() -> None:
    assert order(ratio="16x9").fingerprint() == order(ratio="16：9", resolution="2K").fingerprint()
    assert order(ratio="16:9").fingerprint() != order(ratio="9:16").fingerprint()
