"""What a submission looks like (jimeng-wire 4.1 to 4.10), from stored parameters to the body of the call."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.domain.provider import Prepared
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.settings import Settings

Json = dict[str, Any]
SUBMIT_ID = "5f0c1c1e-0a6b-4b52-9c7d-3f1f6f1b2a01"
PICTURES = ("tos-cn-i-tb4s082cfz/01", "tos-cn-i-tb4s082cfz/02")
WEB = JimengWeb(Settings(), now=lambda: 1767225600.123)


def prepared(kind: TaskType, params: Json, references: tuple[str, ...] = (), account: str = "tok") -> Prepared:
    return WEB.prepare(account, SUBMIT_ID, kind, params, references)


def image_body(params: Json, references: tuple[str, ...] = (), account: str = "tok") -> Json:
    return dict(prepared(TaskType.IMAGE, {"prompt": "a tin lighthouse", **params}, references, account).request.body)


def video_body(params: Json, references: tuple[str, ...] = (), account: str = "tok") -> Json:
    return dict(prepared(TaskType.VIDEO, {"prompt": "a paper boat", **params}, references, account).request.body)


def component(body: Json) -> Json:
    draft = json.loads(body["draft_content"])
    assert draft["main_component_id"] == draft["component_list"][0]["id"]
    return dict(draft["component_list"][0])


def clip(body: Json) -> Json:
    return dict(component(body)["abilities"]["gen_video"]["text_to_video_params"]["video_gen_inputs"][0])


def nodes(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from [value] if "type" in value else []
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from nodes(child)


def test_text_to_image() -> None:
    body = image_body({"model": "jimeng-4.5", "ratio": "16:9", "resolution": "2k", "negative_prompt": "fog", "seed": 7})

    assert body["extend"] == {"root_model": "high_aes_general_v40l"}
    assert body["submit_id"] == SUBMIT_ID
    assert body["http_common_info"] == {"aid": 513695}
    draft = json.loads(body["draft_content"])
    assert {key: draft[key] for key in ("type", "min_version", "min_features", "is_from_tsn", "version")} == {
        "type": "draft",
        "min_version": "3.0.2",
        "min_features": [],
        "is_from_tsn": True,
        "version": "3.3.9",
    }
    part = component(body)
    assert (part["type"], part["min_version"], part["aigc_mode"]) == ("image_base_component", "3.0.2", "workbench")
    assert part["generate_type"] == "generate"
    assert part["metadata"]["created_time_in_ms"] == "1767225600123"
    core = part["abilities"]["generate"]["core_param"]
    size = core.pop("large_image_info")
    assert {key: value for key, value in core.items() if key != "id"} == {
        "type": "",
        "model": "high_aes_general_v40l",
        "prompt": "a tin lighthouse",
        "negative_prompt": "fog",
        "seed": 7,
        "sample_strength": 0.5,
        "image_ratio": 3,
        "intelligent_ratio": False,
    }
    assert (size["width"], size["height"], size["resolution_type"]) == (2560, 1440, "2k")
    assert part["abilities"]["gen_option"]["generate_all"] is False
    assert "gen_count" not in part["abilities"]["gen_option"]


def test_the_scene_travels_as_text_inside_text() -> None:
    metrics = json.loads(image_body({"model": "jimeng-4.0", "resolution": "4k"})["metrics_extra"])

    scene = json.loads(metrics["sceneOptions"])[0]
    assert metrics["generateId"] == SUBMIT_ID
    assert scene["scene"] == "ImageBasicGenerate"
    assert (scene["modelReqKey"], scene["resolutionType"]) == ("high_aes_general_v40", "4k")
    assert scene["benefitCount"] == 4
    assert scene["reportParams"]["extraVipFunctionKey"] == "high_aes_general_v40-4k"


@pytest.mark.parametrize(("count", "scene"), [(1, "ImageBasicGenerate"), (4, "ImageBasicGenerate"), (5, "Image")])
def test_the_asked_for_number_of_pictures(count: int, scene: str) -> None:
    body = image_body({"n": count})

    metrics = json.loads(body["metrics_extra"])
    options = json.loads(metrics["sceneOptions"])[0]
    assert component(body)["abilities"]["gen_option"]["gen_count"] == count
    assert options["scene"] == (scene if count <= 4 else "ImageMultiGenerate")
    assert options.get("benefitCount") == (count if count <= 4 else None)
    assert ("templateId" in metrics) == (count > 4)


@pytest.mark.parametrize("prompt", ["讲一个故事", "连续的画面", "一本绘本", "海边 3张", "海边三张"])
def test_words_that_ask_for_several_pictures(prompt: str) -> None:
    [scene] = json.loads(json.loads(image_body({"prompt": prompt})["metrics_extra"])["sceneOptions"])
    assert scene["scene"] == "ImageMultiGenerate"
    assert "benefitCount" not in scene


@pytest.mark.parametrize("kind", list(TaskType))
def test_every_id_of_a_draft_is_a_uuid_of_version_4(kind: TaskType) -> None:
    draft = json.loads(prepared(kind, {"prompt": "a boat"}, PICTURES[:1]).request.body["draft_content"])
    assert {uuid.UUID(node["id"]).version for node in nodes(draft)} == {4}


def test_blend_of_two_pictures() -> None:
    body = image_body({"sample_strength": 0.7}, PICTURES)

    draft, part = json.loads(body["draft_content"]), component(body)
    blend = part["abilities"]["blend"]
    assert draft["min_version"] == "3.2.9"
    assert (part["generate_type"], blend["min_version"]) == ("blend", "3.2.9")
    assert blend["core_param"]["prompt"] == "####a tin lighthouse"
    assert "seed" not in blend["core_param"]
    assert [ability["image_uri_list"] for ability in blend["ability_list"]] == [[uri] for uri in PICTURES]
    assert [ability["image_list"][0]["uri"] for ability in blend["ability_list"]] == list(PICTURES)
    assert {ability["strength"] for ability in blend["ability_list"]} == {0.7}
    assert [place["ability_index"] for place in blend["prompt_placeholder_info_list"]] == [0, 1]
    assert blend["postedit_param"]["generate_type"] == 0
    assert part["abilities"]["gen_option"]["generate_all"] is False
    scene = json.loads(json.loads(body["metrics_extra"])["sceneOptions"])[0]
    assert [ability["strength"] for ability in scene["abilityList"]] == [0.7, 0.7]


def test_number_signs_of_the_caller_do_not_count_as_pictures() -> None:
    prompt = component(image_body({"prompt": "## title ### x"}, PICTURES))["abilities"]["blend"]["core_param"]["prompt"]
    assert prompt.count("##") == len(PICTURES)
    assert component(image_body({"prompt": "## title"}))["abilities"]["generate"]["core_param"]["prompt"] == "## title"


def test_text_to_video() -> None:
    body = video_body({"model": "jimeng-video-3.0", "duration": 10000, "ratio": "9:16", "resolution": "1080p"})

    benefit = {
        "benefit_type": "basic_video_operation_vgfm_v_three",
        "resource_id": "generate_video",
        "resource_id_type": "str",
        "resource_sub_type": "aigc",
    }
    key = "dreamina_ic_generate_video_model_vgfm_3.0"
    assert body["extend"] == {
        "root_model": key,
        "m_video_commerce_info": benefit,
        "m_video_commerce_info_list": [benefit],
    }
    part = component(body)
    assert (part["type"], part["min_version"], part["process_type"]) == ("video_base_component", "1.0.0", 1)
    assert json.loads(body["draft_content"])["min_version"] == "3.0.5"
    video = part["abilities"]["gen_video"]
    assert video["video_task_extra"] == body["metrics_extra"]
    params = video["text_to_video_params"]
    assert (params["model_req_key"], params["video_aspect_ratio"], params["priority"]) == (key, "9:16", 0)
    assert 0 <= params["seed"] < 2**32
    sent = {name: value for name, value in clip(body).items() if name != "id"}
    assert sent == {
        "type": "",
        "min_version": "3.0.5",
        "prompt": "a paper boat",
        "video_mode": 2,
        "fps": 24,
        "duration_ms": 10000,
        "resolution": "1080p",
        "idip_meta_list": [],
    }
    scene = json.loads(json.loads(body["metrics_extra"])["sceneOptions"])[0]
    assert (scene["videoDuration"], scene["resolution"]) == (10, "1080p")
    assert scene["reportParams"]["extraVipFunctionKey"] == f"{key}-1080p"


@pytest.mark.parametrize(
    ("frames", "names"),
    [((), set()), (PICTURES[:1], {"first_frame_image"}), (PICTURES, {"first_frame_image", "end_frame_image"})],
)
def test_the_frames_that_exist_are_the_mode(frames: tuple[str, ...], names: set[str]) -> None:
    sent = clip(video_body({}, frames))
    assert {name for name in sent if name.endswith("_image")} == names
    for name, uri in zip(("first_frame_image", "end_frame_image"), frames, strict=False):
        assert (sent[name]["uri"], sent[name]["image_uri"], sent[name]["source_from"]) == (uri, uri, "upload")


def test_a_model_whose_resolution_the_site_chooses_is_not_told_one() -> None:
    body = video_body({"model": "jimeng-video-3.5-pro", "resolution": "720p"})
    assert "resolution" not in clip(body)
    assert "resolution" not in body["metrics_extra"].replace("resolution_type", "")


def test_a_model_with_a_price_for_each_resolution() -> None:
    body = video_body({"model": "jimeng-video-seedance-2.0-pro", "resolution": "1080p"})
    assert body["extend"]["m_video_commerce_info"]["benefit_type"] == "seedance_20_pro_1080p_output"
    assert clip(body)["resolution"] == "1080p"


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("jimeng-video-seedance-2.0", "dreamina_seedance_40_pro"),
        ("jimeng-video-seedance-2.0-fast", "dreamina_seedance_40"),
    ],
)
def test_seedance_works_with_text_and_frames(model: str, key: str) -> None:
    body = video_body({"model": model, "duration": 15000}, PICTURES[:1])
    assert body["extend"]["root_model"] == key
    assert clip(body)["duration_ms"] == 15000


def test_the_app_id_follows_the_region() -> None:
    assert image_body({}, account="jp-tok")["http_common_info"] == {"aid": 513641}


def test_configured_versions_are_used() -> None:
    web = JimengWeb(Settings(jimeng_draft_version="9.9.9", jimeng_aid_cn=42))
    body = web.prepare("tok", SUBMIT_ID, TaskType.IMAGE, {"prompt": "x"}, []).request.body
    assert json.loads(body["draft_content"])["version"] == "9.9.9"
    assert body["http_common_info"] == {"aid": 42}


@pytest.mark.parametrize("kind", list(TaskType))
def test_preparing_the_same_submission_twice_gives_the_same_job(kind: TaskType) -> None:
    first, second = (prepared(kind, {"prompt": "x"}, PICTURES) for _ in range(2))
    other = WEB.prepare("tok", str(uuid.UUID(int=1)), kind, {"prompt": "x"}, PICTURES)
    assert first == second
    assert first.component_id != other.component_id


@given(
    prompt=st.text(st.characters(exclude_categories=[]), min_size=1, max_size=50).filter(str.strip),
    pictures=st.integers(0, 2),
    kind=st.sampled_from(list(TaskType)),
)
def test_any_prompt_survives_and_every_object_has_an_id_of_its_own(prompt: str, pictures: int, kind: TaskType) -> None:
    body = prepared(kind, {"prompt": prompt}, PICTURES[:pictures]).request.body

    sent = json.loads(json.dumps(body).encode())
    draft = json.loads(sent["draft_content"])
    ids = [node["id"] for node in nodes(draft)]
    assert len(set(ids)) == len(ids)
    assert all(str(uuid.UUID(one)) == one for one in ids)
    if kind is TaskType.VIDEO:
        assert clip(sent)["prompt"] == prompt
    elif not pictures:
        assert component(sent)["abilities"]["generate"]["core_param"]["prompt"] == prompt
