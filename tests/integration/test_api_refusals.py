"""Bad generations: each is refused with its reason and the allowed values, and nothing is stored."""

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.api_world import BEARER, IMAGES, TOKEN, VIDEO, Api
from tests.integration.picture_bytes import picture, png

PUBLIC = "https://192.0.78.9/a.png"  # a literal public address: nothing is looked up or fetched


@pytest.fixture
def api() -> Iterator[Api]:
    """The API; whatever a test sends, nothing is stored."""
    api = Api()
    yield api
    assert api.stored == 0


def data_uri(data: bytes, declared: str = "image/png") -> str:
    return f"data:{declared};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        # the prompt
        ({}, ["prompt", "required"]),
        ({"prompt": None}, ["prompt", "required"]),
        ({"prompt": ""}, ["prompt", "empty"]),
        ({"prompt": " \n\t　"}, ["prompt", "empty"]),
        ({"prompt": 5}, ["prompt", "text"]),
        ({"prompt": ["a"]}, ["prompt", "text"]),
        ({"prompt": "\ud800"}, ["prompt", "surrogate"]),
        ({"prompt": "船" * 2001}, ["prompt", "2001", "2000"]),
        ({"prompt": "a\n" * 1001}, ["prompt", "2001", "2000"]),
        ({"prompt": "a", "negative_prompt": "b" * 2001}, ["negative_prompt", "2001", "2000"]),
        # the model
        ({"prompt": "a", "model": "dall-e-3"}, ["model", "dall-e-3", "jimeng-4.5"]),
        ({"prompt": "a", "model": "JIMENG-4.5"}, ["model", "jimeng-4.5"]),
        ({"prompt": "a", "model": "jimeng-4.5-extra"}, ["model", "jimeng-4.5"]),
        ({"prompt": "a", "model": "jimeng-video-3.0"}, ["model", "video", "jimeng-4.5"]),
        ({"prompt": "a", "model": ""}, ["model", "empty"]),
        ({"prompt": "a", "model": "nanobanana"}, ["model", "cn", "us"]),
        # ratio, resolution, size
        ({"prompt": "a", "ratio": "auto"}, ["ratio", "16:9"]),
        ({"prompt": "a", "ratio": "adaptive"}, ["ratio", "16:9"]),
        ({"prompt": "a", "aspect_ratio": "17:9"}, ["ratio", "16:9"]),
        ({"prompt": "a", "ratio": "0:0"}, ["ratio"]),
        ({"prompt": "a", "ratio": 1.5}, ["ratio", "text"]),
        ({"prompt": "a", "ratio": "16:9", "aspect_ratio": "16:9"}, ["ratio", "aspect_ratio", "one of them"]),
        ({"prompt": "a", "resolution": "8k"}, ["resolution", "2k"]),
        ({"prompt": "a", "model": "jimeng-2.1", "resolution": "2K"}, ["resolution", "1k"]),
        ({"prompt": "a", "model": "jimeng-2.1", "size": "2K"}, ["size", "1k"]),
        ({"prompt": "a", "size": "adaptive"}, ["size", "adaptive"]),
        ({"prompt": "a", "size": "16:9"}, ["size", "ratio"]),
        ({"prompt": "a", "size": "1000x1000"}, ["size", "1024x1024"]),
        ({"prompt": "a", "size": "1920x1080"}, ["size", "2560x1440"]),
        ({"prompt": "a", "model": "jimeng-2.1", "size": "2048x2048"}, ["size", "1024x1024"]),
        ({"prompt": "a", "width": 200, "height": 200}, ["width", "200x200", "1024x1024"]),
        ({"prompt": "a", "width": 1024}, ["width and height", "both"]),
        ({"prompt": "a", "height": 1024}, ["width and height", "both"]),
        ({"prompt": "a", "width": 0, "height": 0}, ["width", "greater"]),
        ({"prompt": "a", "width": 4.9, "height": 5}, ["width", "whole number"]),
        ({"prompt": "a", "width": "8abc", "height": 5}, ["width", "whole number"]),
        ({"prompt": "a", "width": True, "height": 5}, ["width", "whole number"]),
        ({"prompt": "a", "width": 10**400, "height": 5}, ["width", "whole number"]),
        ({"prompt": "a", "width": 2048, "height": 2048, "ratio": "16:9"}, ["2048x2048", "1:1", "contradicts"]),
        ({"prompt": "a", "width": 2048, "height": 2048, "resolution": "1k"}, ["2048x2048", "2k", "contradicts"]),
        ({"prompt": "a", "width": 2048, "height": 2048, "size": "1024x1024"}, ["contradicts"]),
        ({"prompt": "a", "size": "4K", "resolution": "2k"}, ["size", "contradicts", "resolution"]),
        ({"prompt": "a", "size": "1024x1024", "ratio": "16:9"}, ["1024x1024", "contradicts"]),
        # numbers
        ({"prompt": "a", "sample_strength": 1.01}, ["sample_strength", "1"]),
        ({"prompt": "a", "sample_strength": -0.1}, ["sample_strength", "0"]),
        ({"prompt": "a", "sample_strength": "strong"}, ["sample_strength", "number"]),
        ({"prompt": "a", "sample_strength": "nan"}, ["sample_strength", "number"]),
        ({"prompt": "a", "sample_strength": True}, ["sample_strength", "number"]),
        ({"prompt": "a", "n": 0}, ["n", "1"]),
        ({"prompt": "a", "n": 9}, ["n", "9", "8"]),
        ({"prompt": "a", "n": "two"}, ["n", "whole number"]),
        ({"prompt": "a", "seed": -1}, ["seed", "0"]),
        ({"prompt": "a"} | {f"x{number}": number for number in range(200)}, ["201 fields", "at most 200"]),
        ({"prompt": "a", "seed": 4294967296}, ["seed", "4294967295"]),
        ({"prompt": "a", "response_format": "png"}, ["response_format", "url", "b64_json"]),
        # ids
        ({"prompt": "a", "task_id": "a b"}, ["task_id"]),
        ({"prompt": "a", "task_id": "x" * 65}, ["task_id"]),
        ({"prompt": "a", "task_id": "a\n"}, ["task_id"]),
        ({"prompt": "a", "task_id": ""}, ["task_id"]),
        ({"prompt": "a", "server_id": "nobody"}, ["server_id", "jimeng-free-api"]),
        ({"prompt": "a", "server_id": {"$ne": 1}}, ["server_id"]),
        # pictures
        ({"prompt": "a", "images": [PUBLIC] * 11}, ["images", "11", "10"]),
        ({"prompt": "a", "model": "jimeng-2.1", "images": [PUBLIC, PUBLIC]}, ["images", "2", "1"]),
        ({"prompt": "a", "images": [5]}, ["images", "address"]),
        ({"prompt": "a", "images": [{"uri": PUBLIC}]}, ["images[0]", "url"]),
        ({"prompt": "a", "images": [PUBLIC, ""]}, ["images[1]", "empty"]),
        ({"prompt": "a", "images": {"url": {"url": PUBLIC}}}, ["images", "text"]),
        ({"prompt": "a", "images": [{"url": PUBLIC, "width": "wide"}]}, ["images[0].width", "whole number"]),
        ({"prompt": "a", "images": [PUBLIC], "filePath": PUBLIC}, ["images", "filePath", "one of them"]),
        ({"prompt": "a", "reference_images": [PUBLIC]}, ["reference_images", "images", "filePath"]),
        ({"prompt": "a", "initImage": PUBLIC}, ["initImage", "images"]),
        ({"prompt": "a", "imgs": [PUBLIC]}, ["imgs", "images"]),
        ({"prompt": "a", "photo": PUBLIC}, ["photo", "images"]),
        ({"prompt": "a", "files": [PUBLIC]}, ["files", "images"]),
        ({"prompt": "a", "images": ["ftp://example.com/a.png"]}, ["images[0]", "http"]),
        ({"prompt": "a", "images": ["/etc/passwd"]}, ["images[0]", "http"]),
        ({"prompt": "a", "images": ["http://"]}, ["images[0]"]),
        ({"prompt": "a", "images": ["http://a b/c.png"]}, ["images[0]"]),
        ({"prompt": "a", "images": ["data:image/png;base64,AAAA"]}, ["images[0]", "png"]),
        ({"prompt": "a", "images": ["data:image/png;base64,*"]}, ["images[0]", "base64"]),
    ],
)
def test_a_bad_image_order_is_refused(api: Api, body: dict[str, Any], reasons: list[str]) -> None:
    reply = api.post(IMAGES, body)
    assert reply.status in (400, 415)
    for reason in reasons:
        assert reason in reply.message


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ({"prompt": "a" * 801}, ["prompt", "801", "800"]),
        ({"prompt": "a", "duration": 5}, ["duration", "5000", "10000", "milliseconds"]),
        ({"prompt": "a", "duration": 15000}, ["duration", "5000", "10000"]),
        ({"prompt": "a", "duration": 4.9}, ["duration", "whole number"]),
        ({"prompt": "a", "duration": "8abc"}, ["duration", "whole number"]),
        ({"prompt": "a", "duration": "5s"}, ["duration", "whole number"]),
        ({"prompt": "a", "duration": True}, ["duration", "whole number"]),
        ({"prompt": "a", "model": "jimeng-video-3.5-pro", "duration": 7000}, ["5000", "10000", "12000"]),
        ({"prompt": "a", "resolution": "8k"}, ["resolution", "720p"]),
        ({"prompt": "a", "model": "jimeng-video-3.5-pro", "resolution": "1080p"}, ["resolution", "720p"]),
        ({"prompt": "a", "ratio": "3:2"}, ["ratio", "16:9"]),
        ({"prompt": "a", "ratio": "Auto"}, ["ratio", "16:9"]),
        ({"prompt": "a", "is_pro": True, "model": "jimeng-video-3.0"}, ["is_pro", "jimeng-video-3.0", "3.5-pro"]),
        ({"prompt": "a", "is_pro": "true"}, ["is_pro"]),
        ({"prompt": "a", "is_pro": 1}, ["is_pro"]),
        ({"prompt": "a", "model": "seedance_40_pro"}, ["model", "jimeng-video-3.0"]),
        ({"prompt": "a", "model": "jimeng-4.5"}, ["model", "image"]),
        ({"prompt": "a", "images": [PUBLIC] * 3}, ["images", "3", "2"]),
        ({"prompt": "a", "first_frame_image": PUBLIC}, ["first_frame_image", "images"]),
        ({"prompt": "a", "end_frame": PUBLIC}, ["end_frame", "images"]),
        ({"prompt": "a", "video_file_1": PUBLIC}, ["video_file_1", "images"]),
        ({"prompt": "a", "response_format": "b64_json"}, ["response_format", "url"]),
    ],
)
def test_a_bad_video_order_is_refused(api: Api, body: dict[str, Any], reasons: list[str]) -> None:
    reply = api.post(VIDEO, body)
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")
    for reason in reasons:
        assert reason in reply.message


PNG = base64.b64encode(png(16, 16)).decode()


@pytest.mark.parametrize("route", [IMAGES, VIDEO])
@pytest.mark.parametrize(
    "field",
    [
        {"url": PUBLIC},
        {"url": f" {PUBLIC.upper()}"},
        {"urls": [PUBLIC]},
        {"url": "boat.png"},
        {"mask": PUBLIC},
        {"mask": PNG},
        {"media": [{"src": PUBLIC}]},
        {"attachments": [{"id": "file-1"}]},
        {"content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": PUBLIC}}]},
        {"content": [{"image_url": data_uri(png(16, 16))}]},
        {"图片": PUBLIC},
        {"参考图": "boat.png"},
        {"binary_data_base64": [PNG]},
        {"binary_data_base64": ["AAAA"]},
        {"sketch": PNG},
        {"sketch": f" data:;base64,{PNG}"},
        {"weights": {PUBLIC: 0.5}},
        {"style": {"from": [[{"deep": PUBLIC}]]}},
        {"{odd} name": PUBLIC},
    ],
)
def test_a_picture_in_a_field_that_would_be_ignored_is_refused(api: Api, route: str, field: dict[str, Any]) -> None:
    reply = api.post(route, {"prompt": "a", **field})
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")
    [name] = field
    assert repr(name) in reply.message
    assert "pictures go into images" in reply.message
    assert PUBLIC not in reply.message


def test_a_second_picture_inside_a_picture_is_refused(api: Api) -> None:
    for extra in ({"image_url": PUBLIC}, {"mask": data_uri(png(16, 16))}, {"last": {"url": PUBLIC}}):
        reply = api.post(IMAGES, {"prompt": "a", "images": [PUBLIC, {"url": PUBLIC, **extra}]})
        assert reply.status == 400
        assert reply.message.startswith(f"images[1]: {next(iter(extra))!r} ")


@pytest.mark.parametrize(
    ("route", "name", "value", "meant"),
    [
        (IMAGES, "aspect-ratio", "16:9", "ratio"),
        (IMAGES, "Ratio", "16:9", "ratio"),
        (IMAGES, "ASPECT_RATIO", "16:9", "ratio"),
        (IMAGES, "Width", 2048, "width"),
        (IMAGES, "HEIGHT", 2048, "height"),
        (IMAGES, "responseFormat", "b64_json", "response_format"),
        (IMAGES, "negativePrompt", "rain", "negative_prompt"),
        (IMAGES, "sampleStrength", 0.1, "sample_strength"),
        (IMAGES, "taskId", "boat-1", "task_id"),
        (IMAGES, "N", 2, "n"),
        (IMAGES, "file-path", PUBLIC, "images"),
        (VIDEO, "isPro", True, "is_pro"),
        (VIDEO, "Duration", 10000, "duration"),
        (VIDEO, " aspect ratio", "9:16", "ratio"),
        (VIDEO, "imageURL", PUBLIC, "images"),
    ],
)
def test_another_spelling_of_a_field_is_refused_with_the_right_one(
    api: Api, route: str, name: str, value: Any, meant: str
) -> None:
    reply = api.post(route, {"prompt": "a", name: value})
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")
    assert reply.message == f"body: {name!r} is no field of this route: did you mean {meant}?"


@pytest.mark.parametrize(
    ("route", "field", "instead"),
    [
        (IMAGES, {"num_images": 2}, "give n"),
        (IMAGES, {"numImages": 2}, "give n"),
        (IMAGES, {"image_size": "2048x2048"}, "give size"),
        (IMAGES, {"image_size": "landscape_16_9"}, "or ratio and resolution"),
        (IMAGES, {"strength": 0.2}, "give sample_strength"),
        (IMAGES, {"frames": 49}, "pictures have no frames"),
        (VIDEO, {"size": "720x1280"}, "give ratio, such as 16:9 or 1280x720, and resolution"),
        (VIDEO, {"image_size": "720x1280"}, "give ratio"),
        (VIDEO, {"seconds": "10"}, "give duration, in milliseconds"),
        (VIDEO, {"duration_ms": 10000}, "give duration, in milliseconds"),
        (VIDEO, {"frames": 121}, "give duration, in milliseconds"),
        (VIDEO, {"frames": [PUBLIC, PUBLIC]}, "pictures go into images"),
        (VIDEO, {"num_images": 2}, "one task makes one video"),
    ],
)
def test_a_field_with_another_meaning_is_refused_with_what_to_do_instead(
    api: Api, route: str, field: dict[str, Any], instead: str
) -> None:
    reply = api.post(route, {"prompt": "a", **field})
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")
    assert repr(next(iter(field))) in reply.message
    assert instead in reply.message
    assert "no field for pictures" not in reply.message


def test_one_side_of_a_video_is_no_ratio(api: Api) -> None:
    reply = api.post(VIDEO, {"prompt": "a", "width": 1280})
    assert (reply.status, reply.message) == (400, "body: give width and height together, or ratio")


def test_one_task_makes_one_video(api: Api) -> None:
    assert api.post(VIDEO, {"prompt": "a", "n": 2}).message.startswith("n: ")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/iam/",
        "http://127.0.0.1:27017/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://localhost/a.png",
        "https://user:secret@192.0.78.9/a.png",
        "file:///etc/passwd",
    ],
)
@pytest.mark.parametrize("route", [IMAGES, VIDEO])
def test_addresses_inside_the_network_are_refused_at_the_post(api: Api, route: str, url: str) -> None:
    reply = api.post(route, {"prompt": "a", "images": [url]})
    assert (reply.status, reply.json["error"]) == (400, "url_forbidden")
    assert reply.message.startswith("images[0]: ")
    assert "secret" not in reply.message


def test_an_inline_picture_over_the_limit_is_refused_with_limit_and_size(api: Api) -> None:
    big = png(8, 8) + bytes(5 * 1024 * 1024)
    reply = api.post(IMAGES, {"prompt": "a", "images": [data_uri(big)]})
    assert (reply.status, reply.json["error"]) == (413, "too_large")
    assert str(len(big)) in reply.message
    assert str(4 * 1024 * 1024 + 700 * 1024) in reply.message


def test_an_inline_picture_of_an_unknown_kind_is_refused_whatever_it_claims(api: Api) -> None:
    reply = api.post(IMAGES, {"prompt": "a", "images": [data_uri(picture(8, 8, "GIF"), "image/png")]})
    assert (reply.status, reply.json["error"]) == (415, "unsupported_media")
    assert "gif" in reply.message


JSON = {"content-type": "application/json", **BEARER}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"  ", "empty"),
        (b"{", "not JSON"),
        (b"{'prompt': 'a'}", "not JSON"),
        (b'{"prompt": "a",}', "not JSON"),
        (b"null", "JSON object"),
        (b"[]", "JSON object"),
        (b'"prompt"', "JSON object"),
        (b'{"prompt": "a", "prompt": "b"}', "'prompt' twice"),
        (b'{"prompt": "a", "sample_strength": NaN}', "NaN"),
        (b'{"prompt": "a", "sample_strength": -Infinity}', "Infinity"),
        (b'{"prompt": "a", "sample_strength": 1e999}', "sample_strength"),
        (b'{"prompt": "\xff"}', "UTF-8"),
        ('{"prompt": "a"}'.encode("utf-16"), "UTF-8"),
        (b"[" * 200_000, "nested"),
        (b'{"a":' * 100_000, "nested"),
        (b'{"prompt": "a", "n": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"prompt": "a", "images": ' + b"[" * 90 + b"]" * 90 + b"}", "images"),
    ],
)
def test_a_body_that_is_no_clear_json_object_is_refused(api: Api, body: bytes, reason: str) -> None:
    reply = api.call("POST", IMAGES, body, JSON)
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")
    assert reason in reply.message


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
        "image/png",
        "json",
        "a/b/c",
    ],
)
def test_a_generation_takes_json_only(api: Api, content_type: str) -> None:
    reply = api.call("POST", IMAGES, b'{"prompt": "a"}', {**BEARER, "content-type": content_type})
    assert (reply.status, reply.json["error"]) == (415, "unsupported_media")
    assert "application/json" in reply.message


def test_a_json_body_over_ten_mebibytes_is_refused_with_the_limit(api: Api) -> None:
    body = json.dumps({"prompt": "a", "padding": "x" * (10 * 1024 * 1024)}).encode()
    reply = api.call("POST", IMAGES, body, JSON)
    assert (reply.status, reply.json["error"]) == (413, "too_large")
    assert str(10 * 1024 * 1024) in reply.message


def test_an_answer_shows_no_more_of_a_value_than_its_beginning(api: Api) -> None:
    reply = api.post(IMAGES, {"prompt": "a", "model": "m" * 5000})
    assert reply.status == 400
    assert "m" * 51 not in reply.message


def test_neither_answers_nor_logs_repeat_a_token(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    # Given logs as they are written, whatever logger writes them
    records = logging.getLogger("jimeng_tasks")
    records.addHandler(caplog.handler)
    # When requests with a token fail in every way that the API knows
    replies = [
        api.post(IMAGES, {"prompt": ""}),
        api.post(IMAGES, {"prompt": "a"}, {"authorization": f"Bearer zz-{TOKEN}"}),
        api.post(IMAGES, {"prompt": "a"}, {"authorization": f"Basic {TOKEN}"}),
        api.post(IMAGES, {"prompt": "a"}, {"authorization": f"Bearer {TOKEN},{TOKEN}"}),
        api.call("POST", IMAGES, b"{", JSON),
        api.get("/nowhere", BEARER),
    ]
    records.removeHandler(caplog.handler)
    # Then the token is nowhere
    assert all(TOKEN.encode() not in reply.body for reply in replies)
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("body", [b'\xef\xbb\xbf{"prompt": "a", "n": 0}', b' \n{"prompt": "a", "n": 0}'])
def test_a_byte_order_mark_and_white_space_do_not_matter(api: Api, body: bytes) -> None:
    # The order is read: it is refused for what it says
    assert "n: " in api.call("POST", IMAGES, body, JSON).message


def test_json_without_a_content_type_or_with_a_json_like_one_is_read(api: Api) -> None:
    for headers in ({}, {"content-type": "application/vnd.api+json"}, {"content-type": "Application/JSON; charset=x"}):
        assert "n: " in api.call("POST", IMAGES, b'{"prompt": "a", "n": 0}', BEARER | headers).message
