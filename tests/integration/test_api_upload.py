"""Uploading reference pictures: files, addresses, data URIs and base64, against a real S3 server."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import boto3
import pytest
import requests

from jimeng_tasks.domain.ports import Clock
from jimeng_tasks.exceptions import StoreUnavailable
from local.objectstore import create_public_bucket, running_objectstore
from tests.integration.api_world import IMAGES, UPLOAD, Api, fixture_event, form
from tests.integration.picture_bytes import picture, png

LIMIT = 4 * 1024 * 1024 + 700 * 1024
BUCKET = "uploads"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A running S3 server with a public bucket."""
    with running_objectstore() as address:
        client = boto3.client(
            "s3",
            endpoint_url=address,
            region_name="cn-beijing",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        create_public_bucket(client, BUCKET)
        yield address


@pytest.fixture
def api(endpoint: str) -> Api:
    return Api(
        TOS_ENDPOINT_URL=endpoint,
        TOS_BUCKET=BUCKET,
        TOS_ACCESS_KEY="key",
        TOS_SECRET_KEY="secret",
        ALLOW_PRIVATE_URLS="true",
    )


def send_json(api: Api, body: Any) -> Any:
    return api.call("POST", UPLOAD, json.dumps(body).encode(), {"content-type": "application/json"})


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def fetched(url: str) -> tuple[bytes, str]:
    answer = requests.get(url, timeout=10)
    answer.raise_for_status()
    return answer.content, answer.headers["Content-Type"]


def test_files_of_any_field_name_are_stored_in_order_with_kind_and_size_from_their_bytes(api: Api) -> None:
    # Given a WEBP that calls itself JPEG
    first, second, third = png(40, 30), picture(30, 40, "WEBP"), picture(16, 16, "JPEG")
    body, headers = form(("image[]", "a.png", first), ("image[]", "photo.jpg", second), ("upload", "c.bin", third))
    # When they are uploaded in one form
    reply = api.call("POST", UPLOAD, body, headers)
    # Then each is described as what it is
    assert reply.status == 200
    assert [(p["format"], p["width"], p["height"], p["size"]) for p in reply.data] == [
        ("png", 40, 30, len(first)),
        ("webp", 30, 40, len(second)),
        ("jpeg", 16, 16, len(third)),
    ]
    # And can be fetched as such
    assert fetched(reply.data[1]["url"]) == (second, "image/webp")


def test_an_uploaded_picture_can_be_used_in_a_generation(api: Api) -> None:
    url = send_json(api, {"image": b64(png(32, 32))}).data[0]["url"]
    assert api.post(IMAGES, {"prompt": "the same boat", "images": [url]}).data["references"] == 1


def test_addresses_data_uris_and_base64_are_accepted_beside_each_other(api: Api) -> None:
    [stored] = send_json(api, {"image": b64(png(20, 20))}).data
    reply = send_json(
        api,
        {
            "images": [
                stored["url"],
                f"data:image/jpeg;base64,{b64(png(21, 20))}",
                b64(png(22, 20)),
                {"url": stored["url"]},
                {"image_url": {"url": f"data:;base64,{b64(png(23, 20))}"}},
                {"b64_json": b64(png(24, 20))},
            ]
        },
    )
    assert reply.status == 200, reply.message
    assert [p["width"] for p in reply.data] == [20, 21, 22, 20, 23, 24]
    assert {p["format"] for p in reply.data} == {"png"}
    assert reply.data[0]["url"] == stored["url"]


def test_a_form_may_hold_addresses_as_text(api: Api) -> None:
    [stored] = send_json(api, {"image": b64(png(20, 20))}).data
    body, headers = form(("url", None, stored["url"].encode()), ("comment", None, b"hello"))
    assert [p["width"] for p in api.call("POST", UPLOAD, body, headers).data] == [20]


@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,"])
def test_a_form_may_hold_a_picture_of_any_allowed_size_as_text(api: Api, prefix: str) -> None:
    # Given the largest picture, which is far more than a text part usually is
    largest = png(20, 20) + bytes(LIMIT - len(png(20, 20)))
    sent = f"{prefix}{b64(largest)}"
    # When it is sent as base64, in either kind of form
    body, headers = form(("image", None, sent.encode()))
    in_parts = api.call("POST", UPLOAD, body, headers)
    in_pairs = api.call(
        "POST", UPLOAD, urlencode({"image": sent}).encode(), {"content-type": "application/x-www-form-urlencoded"}
    )
    # Then it is stored
    for reply in (in_parts, in_pairs):
        assert reply.status == 200, reply.message
        assert [p["size"] for p in reply.data] == [LIMIT]


def test_base64_in_a_form_over_the_limit_is_refused_with_limit_and_size(api: Api) -> None:
    body, headers = form(("image", None, b64(png(20, 20) + bytes(LIMIT)).encode()))
    reply = api.call("POST", UPLOAD, body, headers)
    assert (reply.status, reply.json["error"]) == (413, "too_large")
    assert str(LIMIT) in reply.message
    assert str(LIMIT + len(png(20, 20))) in reply.message


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({}, 400, "no picture"),
        ({"images": []}, 400, "no picture"),
        ({"images": [""]}, 400, "images"),
        ({"images": [5]}, 400, "images"),
        ({"images": [{"name": "x"}]}, 400, "images"),
        ([], 400, "JSON object"),
        ({"images": ["%%%"]}, 400, "images[0]"),
        ({"images": ["data:image/png;base64,%%%"]}, 400, "images[0]"),
        ({"images": ["data:image/png;base64,AAAA"]}, 415, "png"),
        ({"images": [b64(b"hello world, this is text")]}, 415, "png"),
        ({"images": [b64(picture(9, 9, "BMP"))]}, 415, "bmp"),
        ({"images": [b64(png(5, 5))]}, 415, "5x5"),
        ({"images": [b64(png(20, 20))] * 11}, 400, "at most 10"),
        ({"image": b64(png(20, 20) + bytes(LIMIT))}, 413, str(LIMIT)),
        ({"image": "ftp://example.com/a.png"}, 400, "http"),
        ({"image": "http://127.0.0.1:1/a.png"}, 400, "image: http://127.0.0.1:1"),
    ],
)
def test_a_bad_json_upload_is_refused(api: Api, body: Any, status: int, reason: str) -> None:
    reply = send_json(api, body)
    assert reply.status == status
    assert reason in reply.message


def test_addresses_inside_the_network_are_not_fetched(endpoint: str) -> None:
    guarded = Api(TOS_ENDPOINT_URL=endpoint, TOS_BUCKET=BUCKET, TOS_ACCESS_KEY="key", TOS_SECRET_KEY="secret")
    reply = send_json(guarded, {"image": f"{endpoint}/{BUCKET}/a.png"})
    assert (reply.status, reply.json["error"]) == (400, "url_forbidden")


def test_an_empty_file_is_refused(api: Api) -> None:
    body, headers = form(("image[]", "a.png", png(20, 20)), ("image[]", "b.png", b""))
    reply = api.call("POST", UPLOAD, body, headers)
    assert reply.status == 400
    assert "0 bytes" in reply.message


def test_a_file_over_the_limit_is_refused_with_limit_and_size(api: Api) -> None:
    big = png(20, 20) + bytes(12 * 1024 * 1024)
    body, headers = form(("image", "a.png", big))
    reply = api.call("POST", UPLOAD, body, headers)
    assert (reply.status, reply.json["error"]) == (413, "too_large")
    assert str(LIMIT) in reply.message
    assert str(len(big)) in reply.message


def test_too_many_files_are_refused(api: Api) -> None:
    body, headers = form(*[("image", "a.png", png(20, 20))] * 11)
    reply = api.call("POST", UPLOAD, body, headers)
    assert reply.status == 400
    assert "10" in reply.message


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"--b\r\n", "multipart/form-data"),
        (b"no parts at all", "multipart/form-data; boundary=b"),
        (b"--b\r\nContent-Disposition: nonsense\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b"),
    ],
)
def test_a_broken_form_is_refused(api: Api, body: bytes, content_type: str) -> None:
    reply = api.call("POST", UPLOAD, body, {"content-type": content_type})
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("content_type", ["image/png", "text/plain", "application/octet-stream"])
def test_another_body_is_refused_with_what_is_accepted(api: Api, content_type: str) -> None:
    reply = api.call("POST", UPLOAD, png(20, 20), {"content-type": content_type})
    assert (reply.status, reply.json["error"]) == (415, "unsupported_media")
    assert "multipart/form-data" in reply.message


def test_bytes_that_a_gateway_took_for_text_are_refused_with_the_remedy(api: Api) -> None:
    reply = api.event(fixture_event("upload-images-mangled"))
    assert reply.status == 400
    assert "binary media type" in reply.message


def test_the_same_form_sent_as_base64_is_stored(api: Api) -> None:
    reply = api.event(fixture_event("upload-images-multipart"))
    assert [(p["width"], p["height"], p["format"]) for p in reply.data] == [(24, 18, "png")] * 2


def test_without_a_bucket_an_upload_says_what_to_configure() -> None:
    reply = send_json(Api(), {"image": b64(png(20, 20))})
    assert (reply.status, reply.json["error"]) == (503, "storage_not_configured")
    assert "TOS_BUCKET" in reply.message


class AwayClock(Clock):
    """The clock of a database that cannot be asked."""

    def now(self) -> int:
        raise StoreUnavailable("MongoDB did not serve the request")


def test_an_upload_needs_no_database(api: Api) -> None:
    api.container.clock = AwayClock()

    reply = send_json(api, {"images": [b64(png(64, 48))]})

    assert reply.status == 200
    assert abs(reply.json["created"] - time.time()) < 60
