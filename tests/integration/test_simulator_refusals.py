"""The simulator refuses what the real site refuses, so that a wrong client cannot pass."""

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from tests.integration.simulator_site import Json, Site, body_of, image_draft, serving, video_draft


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def site(address: str) -> Site:
    return Site(address, f"tok{uuid4().hex}")


@pytest.mark.parametrize(
    ("headers", "query", "ret"),
    [
        ({"Sign": "0" * 32}, {}, "1014"),
        ({"Device-Time": "1767225601"}, {}, "1014"),
        ({"Pf": "8"}, {}, "1014"),
        ({"Sign-Ver": "2"}, {}, "1014"),
        ({"Appvr": "5.8.0", "Sign": "3c82dda9a236d5cb3671cfa32a5de91e"}, {}, "3018"),
        ({"Appid": "513641"}, {}, "1014"),
        ({}, {"region": "us"}, "3000"),
        ({}, {"region": "xx"}, "1000"),
        ({}, {"device_platform": "ios"}, "1000"),
        ({"Cookie": "sessionid=dead1"}, {}, "1015"),
        ({"Cookie": "sid_tt=abc"}, {}, "1015"),
        ({"Cookie": "sessionid=us-abc"}, {}, "1015"),
        ({"Content-Type": "text/plain"}, {}, "1002"),
    ],
)
def test_bad_calls_are_refused(site: Site, headers: Json, query: Json, ret: str) -> None:
    answer = site.post("/mweb/v1/aigc_draft/generate", body_of(image_draft("x")), headers=headers, extra=query)

    assert answer.status_code == 200
    assert answer.json()["ret"] == ret


def _component(body: Json, change: Callable[[Json], object]) -> Json:
    draft = json.loads(body["draft_content"])
    change(draft)
    return body | {"draft_content": json.dumps(draft)}


def _core(draft: Json) -> Json:
    core: Json = draft["component_list"][0]["abilities"]["generate"]["core_param"]
    return core


def _clip(draft: Json) -> Json:
    clip: Json = draft["component_list"][0]["abilities"]["gen_video"]["text_to_video_params"]["video_gen_inputs"][0]
    return clip


IMAGE_MISTAKES: list[tuple[str, Callable[[Json], Json]]] = [
    ("1002", lambda body: body | {"draft_content": json.loads(body["draft_content"])}),
    ("1002", lambda body: body | {"draft_content": "not json"}),
    ("1002", lambda body: body | {"metrics_extra": {}}),
    ("1002", lambda body: body | {"metrics_extra": json.dumps({"sceneOptions": [{}]})}),
    ("1000", lambda body: {key: value for key, value in body.items() if key != "submit_id"}),
    ("1000", lambda body: body | {"submit_id": "not-a-uuid"}),
    ("1000", lambda body: body | {"extend": {"root_model": "high_aes_general_v41"}}),
    ("1000", lambda body: body | {"http_common_info": {"aid": 513641}}),
    ("1006", lambda body: body | {"metrics_extra": json.dumps({"sceneOptions": "[{}]"})}),
    ("1000", lambda body: _component(body, lambda draft: draft.update(main_component_id=str(uuid4())))),
    ("1000", lambda body: _component(body, lambda draft: draft.update(version="3.0"))),
    ("1000", lambda body: _component(body, lambda draft: draft.pop("is_from_tsn"))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft).pop("prompt"))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft).update(seed="5"))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft).update(negative_prompt=None))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft).update(sample_strength=1.5))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft).update(image_ratio=8))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft)["large_image_info"].update(width=1024))),
    ("1000", lambda body: _component(body, lambda draft: _core(draft)["large_image_info"].update(id=draft["id"]))),
]


@pytest.mark.parametrize(("ret", "spoil"), IMAGE_MISTAKES)
def test_malformed_image_jobs_are_refused(site: Site, ret: str, spoil: Callable[[Json], Json]) -> None:
    answer = site.generate(spoil(body_of(image_draft("a road"))))

    assert answer["ret"] == ret, answer
    assert not [job for job in site.admin("GET", "jobs") if job["token"] == site.token]


def _benefit(name: str) -> Callable[[Json], Json]:
    def change(body: Json) -> Json:
        info = body["extend"]["m_video_commerce_info"] | {"benefit_type": name}
        return body | {"extend": body["extend"] | {"m_video_commerce_info": info, "m_video_commerce_info_list": [info]}}

    return change


VIDEO_MISTAKES: list[Callable[[Json], Json]] = [
    _benefit("generate_video_veo3"),
    lambda body: body | {"extend": {"root_model": body["extend"]["root_model"]}},
    lambda body: body | {"metrics_extra": json.dumps({"functionMode": "omni_reference"})},
    lambda body: _component(body, lambda draft: _clip(draft).update(duration_ms=7000)),
    lambda body: _component(body, lambda draft: _clip(draft).update(duration_ms=5.0)),
    lambda body: _component(body, lambda draft: _clip(draft).update(fps=25)),
    lambda body: _component(body, lambda draft: _clip(draft).update(video_mode=1)),
    lambda body: _component(body, lambda draft: _clip(draft).pop("resolution")),
    lambda body: _component(body, lambda draft: _clip(draft).update(prompt="")),
    lambda body: _component(body, lambda draft: _clip(draft).update(first_frame_image=None)),
]


@pytest.mark.parametrize("spoil", VIDEO_MISTAKES)
def test_malformed_video_jobs_are_refused(site: Site, spoil: Callable[[Json], Json]) -> None:
    assert site.generate(spoil(body_of(video_draft("a boat"))))["ret"] == "1000"


def test_models_are_known_and_offered_per_region(site: Site, address: str) -> None:
    abroad = Site(address, "abroad", "us")
    unknown = site.generate(body_of(image_draft("x", model="high_aes_general_v45")))
    elsewhere = site.generate(body_of(image_draft("x", model="dreamina_image_lib_1")))
    only_cn = abroad.generate(body_of(image_draft("x", model="high_aes_general_v50"), aid=513641))

    assert (unknown["ret"], elsewhere["ret"], only_cn["ret"]) == ("1000", "3000", "3000")
    assert abroad.submit(body_of(image_draft("x"), aid=513641))
