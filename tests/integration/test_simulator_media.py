"""The simulator's media are real files behind signed links, of any size, with scripted troubles."""

import io
import re
import struct
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import filetype
import pytest
import requests
from PIL import Image

from tests.integration.simulator_site import Json, Site, body_of, image_draft, serving, video_draft


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as address:
        yield Site(address, f"tok{uuid4().hex}")


def image_urls(site: Site, keys: str) -> list[str]:
    record = site.finished(site.submit(body_of(image_draft(f"[[sim {keys}]] {uuid4()}"))))
    return [item["image"]["large_images"][0]["image_url"] for item in record["item_list"]]


def video_url(site: Site, keys: str) -> str:
    record = site.finished(site.submit(body_of(video_draft(f"[[sim {keys}]] {uuid4()}"))))
    return str(record["item_list"][0]["common_attr"]["transcoded_video"]["origin"]["video_url"])


def boxes(content: bytes) -> list[str]:
    names, position = [], 0
    while position < len(content):
        size, name = struct.unpack(">I4s", content[position : position + 8])
        names.append(name.decode())
        position += size
    assert position == len(content)
    return names


def fetch(url: str, **headers: str) -> requests.Response:
    return requests.get(url, headers={"Accept-Encoding": "identity"} | headers, timeout=10)


def test_images_are_real_and_differ(site: Site) -> None:
    answers = [fetch(url) for url in image_urls(site, "items=4")]

    images = [Image.open(io.BytesIO(answer.content)) for answer in answers]
    assert [(image.format, image.size) for image in images] == [("PNG", (2048, 2048))] * 4
    assert len({answer.content for answer in answers}) == 4
    assert {answer.headers["content-type"] for answer in answers} == {"image/png"}


@pytest.mark.parametrize("form", ["jpeg", "webp"])
def test_other_picture_formats(site: Site, form: str) -> None:
    content = fetch(image_urls(site, f"media_format={form}")[0]).content

    assert Image.open(io.BytesIO(content)).format == form.upper()


def test_video_is_a_real_mp4(site: Site) -> None:
    content = fetch(video_url(site, "cost=1")).content

    assert boxes(content) == ["ftyp", "moov", "mdat", "free"]
    assert filetype.guess_mime(content) == "video/mp4"
    header = content.index(b"mvhd")
    timescale, duration = struct.unpack(">II", content[header + 16 : header + 24])
    assert duration / timescale == 5
    first_sample = content.index(b"mdat") + 4
    assert content[first_sample + 4] & 0x1F == 5, "an H.264 key frame comes first"


@pytest.mark.parametrize("size", [100_000, 3_000_017])
def test_media_size_is_exact_and_still_valid(site: Site, size: int) -> None:
    picture = fetch(image_urls(site, f"media_size={size}")[0]).content
    movie = fetch(video_url(site, f"media_size={size}")).content

    assert (len(picture), len(movie)) == (size, size)
    with Image.open(io.BytesIO(picture)) as image:
        image.load()
    assert boxes(movie)[-1] == "free"


def test_a_gigabyte_is_announced_and_its_end_can_be_read(site: Site) -> None:
    url = video_url(site, "media_size=1073741824")

    head = requests.head(url, timeout=10)
    end = fetch(url, Range="bytes=-10")

    assert head.headers["content-length"] == "1073741824"
    assert (end.status_code, end.content) == (206, bytes(10))


def test_ranges(site: Site) -> None:
    url = image_urls(site, "media_size=200000")[0]
    whole = fetch(url).content

    middle, rest, beyond = (fetch(url, Range=f"bytes={part}") for part in ("1000-150000", "199990-", "200000-"))

    assert (middle.status_code, middle.content) == (206, whole[1000:150001])
    assert middle.headers["content-range"] == "bytes 1000-150000/200000"
    assert rest.content == whole[-10:]
    assert beyond.status_code == 416


def test_links_are_checked(site: Site) -> None:
    url = image_urls(site, "media_ttl=1")[0]

    forged = fetch(re.sub("x-expires=[0-9]+", "x-expires=4102444800", url))
    alive = fetch(url)
    time.sleep(1.1)

    assert (forged.status_code, alive.status_code, fetch(url).status_code) == (403, 200, 403)
    assert fetch(f"{site.address}/tos-cn-i-tb4s082cfz/unknown").status_code == 404


def test_item_forms_and_escaped_links(site: Site) -> None:
    def first_item(keys: str) -> Json:
        item: Json = site.finished(site.submit(body_of(image_draft(f"[[sim {keys}]] x"))))["item_list"][0]
        return item

    cover, bare, escaped = first_item("item_form=cover"), first_item("item_form=none"), first_item("escape_urls")
    link = escaped["image"]["large_images"][0]["image_url"]

    assert "large_images" not in cover["image"]
    assert filetype.guess_mime(fetch(cover["common_attr"]["cover_url"]).content) == "image/webp"
    assert "http" not in str(bare)
    assert "\\u0026" in link
    assert fetch(link.replace("\\u0026", "&")).status_code == 200


@pytest.mark.parametrize(("keys", "status", "page"), [("media_http=403", 403, True), ("media_html", 200, True)])
def test_media_faults_hit_the_first_fetches_of_one_item(site: Site, keys: str, status: int, page: Any) -> None:
    first, second, *_ = image_urls(site, f"{keys} media_times=1 media_item=1")

    answers = [fetch(first), fetch(second), fetch(second)]

    assert [answer.status_code for answer in answers] == [200, status, 200]
    assert [answer.content.startswith(b"<!DOCTYPE") for answer in answers] == [False, page, False]


def test_media_is_cut_short_or_dropped(site: Site) -> None:
    cut = image_urls(site, "media_size=300000 media_truncate=100000 media_times=1")[0]
    dropped = image_urls(site, "media_drop media_times=1")[0]

    with pytest.raises(requests.RequestException):
        fetch(cut)
    with pytest.raises(requests.ConnectionError):
        fetch(dropped)

    assert len(fetch(cut).content) == 300_000
    assert fetch(dropped).status_code == 200


def test_media_without_length_and_with_a_wrong_type(site: Site) -> None:
    answer = fetch(image_urls(site, "media_no_length media_no_range media_type=binary/octet-stream")[0])

    assert "content-length" not in answer.headers
    assert "accept-ranges" not in answer.headers
    assert answer.headers["content-type"] == "binary/octet-stream"
    assert filetype.guess_mime(answer.content) == "image/png"
