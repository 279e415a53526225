"""Stored parameters: what is absent gets a default, what is wrong is refused before anything is paid."""

import json
from typing import Any

import pytest

from jimeng_tasks.domain.provider import Prepared
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.exceptions import ParameterRejected
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.settings import Settings

Json = dict[str, Any]
WEB = JimengWeb(Settings())
IMAGE, VIDEO = TaskType.IMAGE, TaskType.VIDEO


def prepare(kind: TaskType, params: Json, references: int = 0, account: str = "tok") -> Prepared:
    return WEB.prepare(account, "submit", kind, params, [f"uri{n}" for n in range(references)])


def size_of(prepared: Prepared) -> tuple[int, int, str, int]:
    draft = json.loads(prepared.request.body["draft_content"])
    core = draft["component_list"][0]["abilities"]["generate"]["core_param"]
    info = core["large_image_info"]
    return info["width"], info["height"], info["resolution_type"], core["image_ratio"]


@pytest.mark.parametrize(
    ("params", "size"),
    [
        ({}, (2048, 2048, "2k", 1)),
        ({"ratio": "4:3"}, (2304, 1728, "2k", 4)),
        ({"resolution": "4k"}, (4096, 4096, "4k", 101)),
        ({"resolution": "1k", "ratio": "4:3"}, (1024, 768, "1k", 4)),
        ({"resolution": "1k", "ratio": "3:4"}, (768, 1024, "1k", 2)),
        ({"width": 1024, "height": 1024}, (1024, 1024, "1k", 1)),
        ({"width": 2560.0, "height": 1440.0}, (2560, 1440, "2k", 3)),
        ({"width": 3024, "height": 1296, "ratio": "21:9", "resolution": "2k"}, (3024, 1296, "2k", 8)),
        ({"model": None, "ratio": "", "resolution": None, "width": None, "height": None}, (2048, 2048, "2k", 1)),
        ({"model": "jimeng-2.1"}, (1024, 1024, "1k", 1)),
    ],
)
def test_the_size_of_a_picture(params: Json, size: tuple[int, int, str, int]) -> None:
    assert size_of(prepare(IMAGE, {"prompt": "x", **params})) == size


@pytest.mark.parametrize(
    ("account", "params", "size"),
    [
        ("hk-tok", {}, (1024, 1024, "1k", 1)),
        ("jp-tok", {"ratio": "16:9"}, (1024, 576, "1k", 3)),
        ("us-tok", {}, (1024, 1024, "2k", 1)),
    ],
)
def test_nanobanana_follows_the_region(account: str, params: Json, size: tuple[int, int, str, int]) -> None:
    assert size_of(prepare(IMAGE, {"prompt": "x", "model": "nanobanana", **params}, account=account)) == size


def test_nanobananapro_has_its_own_4k_sizes() -> None:
    params = {"prompt": "x", "model": "nanobananapro", "resolution": "4k", "ratio": "16:9"}
    assert size_of(prepare(IMAGE, params, account="us-tok")) == (5404, 3040, "4k", 3)


@pytest.mark.parametrize(
    ("params", "model"),
    [
        ({}, "dreamina_ic_generate_video_model_vgfm_3.0"),
        ({"is_pro": False}, "dreamina_ic_generate_video_model_vgfm_3.0"),
        ({"is_pro": True}, "dreamina_ic_generate_video_model_vgfm_3.5_pro"),
        ({"is_pro": True, "model": "jimeng-video-2.0"}, "dreamina_ic_generate_video_model_vgfm_lite"),
    ],
)
def test_the_model_of_a_video(params: Json, model: str) -> None:
    assert prepare(VIDEO, {"prompt": "x", **params}).mapped_model == model


def test_a_video_from_pixels_of_the_old_service_gets_their_ratio() -> None:
    body = prepare(VIDEO, {"prompt": "x", "width": 1280, "height": 720}).request.body
    draft = json.loads(body["draft_content"])
    params = draft["component_list"][0]["abilities"]["gen_video"]["text_to_video_params"]
    assert params["video_aspect_ratio"] == "16:9"


def test_a_video_with_a_first_frame_needs_no_prompt() -> None:
    assert prepare(VIDEO, {}, references=1).component_id


@pytest.mark.parametrize(
    ("kind", "params", "reason"),
    [
        (IMAGE, {"model": "jimeng-9"}, "jimeng-4.5"),
        (IMAGE, {"model": "JIMENG-4.5"}, "jimeng-4.5"),
        (IMAGE, {"model": "high_aes_general_v40l"}, "not offered"),
        (IMAGE, {"model": 4.5}, "must be a text"),
        (IMAGE, {"model": "jimeng-video-3.0"}, "not offered"),
        (IMAGE, {"model": "nanobanana"}, "hk, jp, sg, us"),
        (IMAGE, {"ratio": "5:4"}, "1:1"),
        (IMAGE, {"resolution": "8k"}, "1k, 2k, 4k"),
        (IMAGE, {"resolution": "2K"}, "1k, 2k, 4k"),
        (IMAGE, {"model": "jimeng-2.1", "resolution": "2k"}, "1k"),
        (IMAGE, {"width": 1000, "height": 1000}, "1024x1024"),
        (IMAGE, {"width": 200, "height": 200}, "nearest"),
        (IMAGE, {"width": 1024}, "together"),
        (IMAGE, {"width": 0, "height": 0}, "together"),
        (IMAGE, {"width": 1024, "height": 1024, "resolution": "2k"}, "2048x2048"),
        (IMAGE, {"width": "1024", "height": "1024"}, "whole number"),
        (IMAGE, {"width": 1024.5, "height": 1024}, "whole number"),
        (IMAGE, {"n": 9}, "1 to 8"),
        (IMAGE, {"n": 0}, "1 to 8"),
        (IMAGE, {"n": True}, "1 to 8"),
        (IMAGE, {"n": 5, "model": "jimeng-3.0"}, "1 to 4"),
        (IMAGE, {"seed": -1}, "0 to 4294967295"),
        (IMAGE, {"seed": 2**32}, "0 to 4294967295"),
        (IMAGE, {"sample_strength": 1.1}, "0 to 1"),
        (IMAGE, {"sample_strength": "high"}, "0 to 1"),
        (IMAGE, {"sample_strength": float("nan")}, "0 to 1"),
        (IMAGE, {"prompt": " \n"}, "prompt is empty"),
        (IMAGE, {"prompt": None}, "prompt is empty"),
        (IMAGE, {"prompt": "x" * 2001}, "2001, at most 2000"),
        (VIDEO, {"prompt": "x" * 801}, "801, at most 800"),
        (VIDEO, {"prompt": ""}, "prompt is empty"),
        (VIDEO, {"model": "jimeng-4.5"}, "not offered"),
        (VIDEO, {"model": "jimeng-video-veo3"}, "hk, jp, sg"),
        (VIDEO, {"duration": 15000}, "5000, 10000"),
        (VIDEO, {"duration": 5}, "5000, 10000"),
        (VIDEO, {"duration": "5000"}, "whole number"),
        (VIDEO, {"ratio": "3:2"}, "16:9"),
        (VIDEO, {"width": 100, "height": 99}, "100:99"),
        (VIDEO, {"resolution": "2k"}, "720p"),
        (VIDEO, {"model": "jimeng-video-3.5-pro", "resolution": "1080p"}, "720p"),
    ],
)
def test_wrong_parameters_are_refused_with_what_is_allowed(kind: TaskType, params: Json, reason: str) -> None:
    with pytest.raises(ParameterRejected, match=r"(?s).*") as refusal:
        prepare(kind, {"prompt": "x", **params})
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "params", "references", "allowed"),
    [(IMAGE, {}, 11, 10), (IMAGE, {"model": "jimeng-2.0-pro"}, 2, 1), (VIDEO, {}, 3, 2)],
)
def test_no_reference_is_dropped_in_silence(kind: TaskType, params: Json, references: int, allowed: int) -> None:
    with pytest.raises(ParameterRejected, match=f"{references}, at most {allowed}"):
        prepare(kind, {"prompt": "x", **params}, references)


def test_nanobanana_in_the_us_makes_one_shape_only() -> None:
    with pytest.raises(ParameterRejected, match="allowed: 1:1"):
        prepare(IMAGE, {"prompt": "x", "model": "nanobanana", "ratio": "16:9"}, account="us-tok")
