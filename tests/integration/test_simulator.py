"""The simulator follows the wire contract: submit, look up, upload, pay."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from PIL import Image

from local.simulator import sigv4
from local.simulator.checks import sign
from local.simulator.movies import mp4
from tests.integration.simulator_site import (
    Json,
    Site,
    body_of,
    image_draft,
    omni_body,
    serving,
    video_draft,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def site(address: str) -> Site:
    return Site(address, f"tok{uuid4().hex}")


def picture(width: int = 64, height: int = 48) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 60)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("path", "appvr", "expected"),
    [
        ("/mweb/v1/aigc_draft/generate", "8.4.0", "050615d4bfc9047fbab2a4393676b3db"),
        ("/mweb/v1/get_history_by_ids", "8.4.0", "3b5cfd6fb9927965b97c9abcc4cec558"),
        ("/commerce/v1/benefits/user_credit", "8.4.0", "ba5c5e8a03c9a11f3c7ffda27ec80565"),
        ("/mweb/v1/get_upload_token", "8.4.0", "e9367e934d9c365cb4a1aeb93600aa0b"),
        ("/mweb/v1/aigc_draft/generate", "5.8.0", "3c82dda9a236d5cb3671cfa32a5de91e"),
    ],
)
def test_sign_vectors(path: str, appvr: str, expected: str) -> None:
    assert sign(path, "7", appvr, "1767225600") == expected


@pytest.mark.parametrize(
    ("method", "query", "date", "body", "expected"),
    [
        (
            "GET",
            "Action=ApplyImageUpload&Version=2018-08-01&ServiceId=tb4s082cfz&FileSize=12&s=abcde12345",
            "20260101T000000Z",
            b"",
            "663dc523c88bc3503ff27d88efd2d36465e2c42f5e0363e356052185421eac58",
        ),
        (
            "POST",
            "Action=CommitImageUpload&Version=2018-08-01&ServiceId=tb4s082cfz",
            "20260101T000005Z",
            b'{"SessionKey":"c2Vzc2lvbg=="}',
            "7fc50eaca2f738f875fdeca55cf60aa1e0ae750c3f43e5cc01de0c0d3c25b255",
        ),
    ],
)
def test_upload_signature_vectors(method: str, query: str, date: str, body: bytes, expected: str) -> None:
    scope = "AKEXAMPLE0001/20260101/cn-north-1/imagex/aws4_request"
    headers = {"x-amz-date": date, "x-amz-security-token": "STSEXAMPLE0003"}
    if method == "POST":
        headers["x-amz-content-sha256"] = "c1876d4f432469f608ed9883dc0dde3947cb0bec664e9e17996e24c4e2cb3d86"
    names = ";".join(sorted(headers))
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={expected}"

    assert sigv4.problem(method, query, headers, body, "SKEXAMPLE0002") is None
    assert sigv4.problem(method, query + "x", headers, body, "SKEXAMPLE0002") == "SignatureDoesNotMatch"


def test_text_to_image_goes_from_submit_to_four_images(site: Site) -> None:
    body = body_of(image_draft("a tin lighthouse [[sim step_seconds=0.3]]"))

    history_id = site.submit(body)
    first = site.look_up(history_id)[history_id]
    last = site.finished(history_id)

    assert first["status"] in (20, 42, 45)
    assert first["item_list"] == []
    assert last["status"] == last["task"]["status"] == 50
    assert len(last["item_list"]) == last["total_image_count"] == 4
    assert last["item_list"][0]["image"]["large_images"][0]["width"] == 2048
    assert site.admin("GET", "submissions")[body["submit_id"]] == {"received": 1, "accepted": 1}


def test_gen_count_and_blend_decide_the_number_of_images(site: Site) -> None:
    uris = (site.uploaded(picture()), site.uploaded(picture()))

    three = site.submit(body_of(image_draft("three", gen_count=3)))
    blend = site.submit(body_of(image_draft("put the cup on the table", uris=uris)))

    assert len(site.finished(three)["item_list"]) == 3
    assert len(site.finished(blend)["item_list"]) == 1
    assert uris[0] != uris[1]


def test_records_are_found_by_both_ids_and_only_by_their_account(site: Site, address: str) -> None:
    body = body_of(image_draft("mine"))
    history_id = site.submit(body)

    both = site.call(
        "/mweb/v1/get_history_by_ids",
        {"history_ids": [history_id, "12345"], "submit_ids": [body["submit_id"], str(uuid4())]},
    )["data"]

    assert set(both) == {history_id, body["submit_id"]}
    assert both[body["submit_id"]]["history_record_id"] == history_id
    assert Site(address, "someone-else").look_up(history_id) == {}
    assert site.call("/mweb/v1/get_history_by_ids", {})["ret"] == "2008"
    assert site.call("/mweb/v1/get_history_by_ids", {"history_ids": [int(history_id)]})["ret"] == "1000"


def test_the_same_submit_id_twice_is_two_paid_jobs(site: Site) -> None:
    site.admin("POST", "tokens", {"token": site.token, "credits": 10})
    body = body_of(image_draft("twice"))

    assert site.submit(body) != site.submit(body)

    assert site.admin("GET", "submissions")[body["submit_id"]] == {"received": 2, "accepted": 2}
    assert site.admin("GET", f"tokens/{site.token}")["total"] == 8


def test_frames_and_references_must_be_committed_uploads_of_the_account(site: Site, address: str) -> None:
    uri = site.uploaded(picture())
    stranger = Site(address, f"tok{uuid4().hex}")
    marks = image_draft("cup", uris=(uri,))
    marks["component_list"][0]["abilities"]["blend"]["core_param"]["prompt"] = "cup"

    assert site.submit(body_of(video_draft("a boat", (uri, uri))))
    assert stranger.generate(body_of(video_draft("a boat", (uri,))))["ret"] == "1000"
    assert stranger.generate(body_of(image_draft("cup", uris=(uri,))))["ret"] == "1000"
    assert site.generate(body_of(marks))["ret"] == "1000"


def test_upload_checks_crc_size_signature_and_content(site: Site) -> None:
    content, keys = picture(80, 60), site.keys()
    address = site.apply(keys, len(content))

    unpadded = site.store(address, content, crc="514756e")
    short = site.store(address, content[:-1])
    early = site.commit(keys, address)
    stored = site.store(address, content)
    committed = site.commit(keys, address)["Result"]["PluginResult"][0]
    forged = site.signed("GET", "Action=ApplyImageUpload&Version=2018-08-01", keys | {"secret_access_key": "x"})
    page = b"<html>no picture</html>"
    other = site.apply(keys, len(page))
    site.store(other, page)

    assert (unpadded.status_code, short.status_code) == (400, 400)
    assert early["ResponseMetadata"]["Error"]["Code"] == "UploadNotFinished"
    assert stored.json()["code"] == 2000
    assert (committed["ImageWidth"], committed["ImageHeight"], committed["ImageFormat"]) == (80, 60, "png")
    assert forged.status_code == 403
    assert forged.json()["ResponseMetadata"]["Error"]["Code"] == "SignatureDoesNotMatch"
    assert site.commit(keys, other)["Result"]["Results"][0]["UriStatus"] == 2001


def test_uploads_abroad_use_the_space_name(address: str) -> None:
    site = Site(address, "abroad2", "hk")

    assert site.keys()["service"] == "wopfjsm1ax"
    assert site.uploaded(picture()).startswith("tos-alisg-i-wopfjsm1ax/")


def test_credits_are_spent_and_received_once_a_day(site: Site) -> None:
    credit = "/commerce/v1/benefits/user_credit"
    site.admin("POST", "tokens", {"token": site.token, "credits": 1})
    site.submit(body_of(image_draft("paid")))

    broke = site.generate(body_of(image_draft("not paid")))
    gifts = [site.call("/commerce/v1/benefits/credit_receive", {"time_zone": "Asia/Shanghai"}) for _ in range(2)]
    told = site.call(credit, {}, query={})
    history = site.call("/commerce/v1/benefits/user_credit_history", {"count": 20, "cursor": "0"}, query={})

    assert (broke["ret"], broke["data"]["fail_code"], broke["data"]["aigc_data"]) == ("1006", "1006", None)
    assert [gift["data"]["receive_quota"] for gift in gifts] == [66, 0]
    assert json.loads(told["response"]) == told["data"]
    assert told["data"]["credit"]["gift_credit"] == 66
    assert [entry["amount"] for entry in history["data"]["records"]] == [1]
    assert site.call(credit, {})["ret"] == "1014"


def test_token_check_and_model_lists(site: Site, address: str) -> None:
    path, extra = "/passport/account/info/v2", {"account_sdk_source": "web"}

    alive = site.call(path, extra=extra)
    dead = Site(address, "dead2").call(path, extra=extra)
    images = site.call("/mweb/v1/get_common_config", {})["data"]["model_list"]
    videos = site.call("/mweb/v1/video_generate/get_common_config", {})["data"]["model_list"]

    assert alive["data"]["user_id"] > 0
    assert dead["message"] == "error"
    assert "ret" not in dead
    assert "high_aes_general_v50" in {model["model_req_key"] for model in images}
    assert len(videos) > 5


def test_content_check_wants_a_committed_image(site: Site) -> None:
    uri = site.uploaded(picture())
    body: Json = {"scene": "image_face_ip", "options": {"ip_check": True}, "req_params": {}}
    body |= {"req_key": "benchmark_test_user_upload_image_input", "file_list": [{"file_uri": uri}]}
    extra = {"babi_param": json.dumps({"scenario": "image_video_generation"})}
    path = "/mweb/v1/algo_proxy"

    passed = site.call(path, body, extra=extra)
    site.script({"algo_ret": "2003"})

    assert passed["ret"] == "0"
    assert site.call(path, body, extra=extra)["ret"] == "2003"
    assert site.call(path, body | {"file_list": [{"file_uri": "x"}]}, extra=extra)["ret"] == "1000"


def test_many_submissions_at_once_are_all_counted(site: Site) -> None:
    bodies = [body_of(image_draft(f"crowd {number}")) for number in range(40)]

    with ThreadPoolExecutor(10) as pool:
        ids = list(pool.map(site.submit, bodies))

    assert len(set(ids)) == 40
    assert len(site.look_up(*ids)) == 40
    assert all(job["accepted"] == 1 for job in site.admin("GET", "jobs") if job["token"] == site.token)


def video_material(site: Site) -> str:
    keys = site.call("/mweb/v1/get_upload_token", {"scene": 1})["data"]
    clip = mp4(640, 480, 4, "material")
    content = b"".join(clip.read(0, clip.size))
    apply = f"Action=ApplyUploadInner&Version=2020-11-19&SpaceName={keys['space_name']}&FileType=video&IsInner=1"
    answer = site.signed("GET", f"{apply}&FileSize={len(content)}&s=abcde12345", keys, service="vod").json()
    vod = answer["Result"]["InnerUploadAddress"]["UploadNodes"][0]
    assert site.store(vod | {"UploadHosts": [vod["UploadHost"]]}, content).json()["code"] == 2000
    body = json.dumps({"SessionKey": vod["SessionKey"], "Functions": []}).encode()
    commit = f"Action=CommitUploadInner&Version=2020-11-19&SpaceName={keys['space_name']}"
    result = site.signed("POST", commit, keys, body, service="vod").json()["Result"]["Results"][0]
    assert (result["VideoMeta"]["Duration"], result["VideoMeta"]["Width"]) == (4.0, 640)
    return str(result["Vid"])


def test_mixed_materials_go_through_vod_and_the_omni_draft(site: Site) -> None:
    uri, vid = site.uploaded(picture()), video_material(site)

    history_id = site.submit(omni_body(uri, vid))

    assert site.finished(history_id)["status"] == 50
    assert site.generate(omni_body(uri, "v0280000000000000000000001"))["ret"] == "1000"


def test_it_runs_as_a_program_and_ends_on_sigterm() -> None:
    command = [sys.executable, "-m", "local.simulator", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        address = json.loads(program.stdout.readline())["simulator"]
        history_id = Site(address, "anyone").submit(body_of(image_draft("hello")))
        program.terminate()
        rest = program.stdout.read()

    assert history_id.isdigit()
    assert rest == ""
    assert program.returncode in (0, -signal.SIGTERM)
