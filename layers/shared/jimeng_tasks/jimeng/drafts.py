"""The body of a generate call (jimeng-wire 4): drafts of images, of image blends and of videos.

Everything that another client would draw at random is derived from the submit id, so the same submission prepared
twice is the same job down to its seed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from .orders import ImageOrder, VideoOrder

Json = dict[str, Any]

MS_PER_SECOND = 1000
USUAL_COUNT = 4
IMAGE_SEED_BASE = 2_500_000_000
IMAGE_SEED_RANGE = 100_000_000
VIDEO_SEED_RANGE = 2**32
IMAGE_MARK = "##"
STORY = re.compile(r"连续|绘本|故事|[0-9０-９一二三四五六七八九十]+张")
FRAME_NAMES = ("first_frame_image", "end_frame_image")


class Derived:
    """Ids and seeds that depend on nothing but the submit id and the order in which they are asked for."""

    def __init__(self, submit_id: str) -> None:
        self._root = uuid5(NAMESPACE_OID, submit_id)
        self._numbers = count(1)

    def id(self) -> str:
        """The next uuid, marked as version 4 as the site's own are (jimeng-wire 4.1)."""
        return str(UUID(bytes=uuid5(self._root, str(next(self._numbers))).bytes, version=4))

    def seed(self, base: int, size: int) -> int:
        """A number from ``base`` to ``base + size - 1``."""
        return base + self._root.int % size

    def node(self, **fields: Any) -> Json:
        """An object of empty type with an id of its own (jimeng-wire 4.2)."""
        return {"type": "", "id": self.id(), **fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A generate call but for its signature; ``page`` is the kind in the Referer's query, image or video."""

    page: str
    component_id: str
    body: Json = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every submission carries beside its order. ``created_ms`` is epoch milliseconds."""

    submit_id: str
    app_id: int
    draft_version: str
    created_ms: int


def image_submission(order: ImageOrder, references: Sequence[str], job: Job) -> Submission:
    """A text-to-image job, or a blend of uploaded pictures (jimeng-wire 4.3 to 4.6)."""
    ids = Derived(job.submit_id)
    work = {"blend": _blend(order, references, ids)} if references else {"generate": _generate(order, ids)}
    option = ids.node(generate_all=False) | ({"gen_count": order.count} if order.count else {})
    component = _component("image_base_component", "3.0.2", next(iter(work)), job, ids)
    component["abilities"] = ids.node(**work, gen_option=option)
    draft = _draft(component, "3.2.9" if references else "3.0.2", job, ids)
    metrics = _image_metrics(order, references, job, ids)
    return _submission("image", draft, metrics, {"root_model": order.model.key}, job)


def video_submission(order: VideoOrder, frames: Sequence[str], job: Job) -> Submission:
    """A video job from text, a first frame, or a first and a last frame (jimeng-wire 4.9, 4.10)."""
    ids = Derived(job.submit_id)
    metrics = _video_metrics(order, ids)
    component = _component("video_base_component", "1.0.0", "gen_video", job, ids)
    component |= {"abilities": ids.node(gen_video=_gen_video(order, frames, metrics, ids)), "process_type": 1}
    draft = _draft(component, "3.0.5", job, ids)
    commerce = {
        "benefit_type": order.model.benefit_type.format(resolution=order.resolution),
        "resource_id": "generate_video",
        "resource_id_type": "str",
        "resource_sub_type": "aigc",
    }
    extend = {
        "root_model": order.model.key,
        "m_video_commerce_info": commerce,
        "m_video_commerce_info_list": [commerce],
    }
    return _submission("video", draft, metrics, extend, job)


def _submission(page: str, draft: Json, metrics: str, extend: Json, job: Job) -> Submission:
    body = {
        "extend": extend,
        "submit_id": job.submit_id,
        "metrics_extra": metrics,
        "draft_content": _text(draft),
        "http_common_info": {"aid": job.app_id},
    }
    return Submission(page=page, component_id=draft["main_component_id"], body=body)


def _draft(component: Json, min_version: str, job: Job, ids: Derived) -> Json:
    return {
        "type": "draft",
        "id": ids.id(),
        "min_version": min_version,
        "min_features": [],
        "is_from_tsn": True,
        "version": job.draft_version,
        "main_component_id": component["id"],
        "component_list": [component],
    }


def _component(kind: str, min_version: str, generate_type: str, job: Job, ids: Derived) -> Json:
    return {
        "type": kind,
        "id": ids.id(),
        "min_version": min_version,
        "aigc_mode": "workbench",
        "metadata": ids.node(
            created_platform=3,
            created_platform_version="",
            created_time_in_ms=str(job.created_ms),
            created_did="",
        ),
        "generate_type": generate_type,
    }


def _generate(order: ImageOrder, ids: Derived) -> Json:
    seed = ids.seed(IMAGE_SEED_BASE, IMAGE_SEED_RANGE) if order.seed is None else order.seed
    return ids.node(core_param=_core_param(order, order.prompt, ids) | {"seed": seed})


def _blend(order: ImageOrder, references: Sequence[str], ids: Derived) -> Json:
    # Two number signs of the caller's own would count as one more picture.
    prompt = IMAGE_MARK * len(references) + re.sub("#(?=#)", "# ", order.prompt)
    core = _core_param(order, prompt, ids) | ({} if order.seed is None else {"seed": order.seed})
    abilities = [
        ids.node(name="byte_edit", image_uri_list=[uri], image_list=[_uploaded(uri, ids)], strength=order.strength)
        for uri in references
    ]
    return ids.node(
        min_version="3.2.9",
        min_features=[],
        core_param=core,
        ability_list=abilities,
        prompt_placeholder_info_list=[ids.node(ability_index=index) for index in range(len(references))],
        postedit_param=ids.node(generate_type=0),
    )


def _core_param(order: ImageOrder, prompt: str, ids: Derived) -> Json:
    size = order.size
    return ids.node(
        model=order.model.key,
        prompt=prompt,
        negative_prompt=order.negative_prompt,
        sample_strength=order.strength,
        image_ratio=size.ratio_code,
        large_image_info=ids.node(
            min_version="3.0.2", height=size.height, width=size.width, resolution_type=order.resolution
        ),
        intelligent_ratio=False,
    )


def _uploaded(uri: str, ids: Derived) -> Json:
    """An uploaded picture as abilities and frames name it; the site knows its real width and height."""
    return {
        "type": "image",
        "id": ids.id(),
        "source_from": "upload",
        "platform_type": 1,
        "name": "",
        "image_uri": uri,
        "width": 0,
        "height": 0,
        "format": "",
        "uri": uri,
    }


def _gen_video(order: VideoOrder, frames: Sequence[str], metrics: str, ids: Derived) -> Json:
    clip = ids.node(
        min_version="3.0.5",
        prompt=order.prompt,
        video_mode=2,
        fps=24,
        duration_ms=order.duration,
        idip_meta_list=[],
        **_sent_resolution(order),
    )
    # The frames that exist are the mode: an absent one must not appear, not even as null.
    clip |= {name: _uploaded(uri, ids) for name, uri in zip(FRAME_NAMES, frames, strict=False)}
    params = ids.node(
        video_gen_inputs=[clip],
        video_aspect_ratio=order.ratio,
        seed=ids.seed(0, VIDEO_SEED_RANGE) if order.seed is None else order.seed,
        model_req_key=order.model.key,
        priority=0,
    )
    return ids.node(text_to_video_params=params, video_task_extra=metrics)


def _sent_resolution(order: VideoOrder) -> dict[str, str]:
    return {"resolution": order.resolution} if order.model.sends_resolution else {}


def _image_metrics(order: ImageOrder, references: Sequence[str], job: Job, ids: Derived) -> str:
    wanted = order.count or USUAL_COUNT
    many = wanted > USUAL_COUNT or _asks_for_a_story(order, references)
    scene = {
        "type": "image",
        "scene": "ImageMultiGenerate" if many else "ImageBasicGenerate",
        "modelReqKey": order.model.key,
        "resolutionType": order.resolution,
        "abilityList": [_reported_ability(order.strength, ids) for _ in references],
        "reportParams": _report(f"{order.model.key}-{order.resolution}"),
    }
    metrics = {
        "promptSource": "custom",
        "generateCount": 1,
        "enterFrom": "click",
        "sceneOptions": _text([scene | ({} if many else {"benefitCount": wanted})]),
        "generateId": job.submit_id,
        "isRegenerate": False,
    }
    extra = ("templateId", "templateSource", "lastRequestId", "originRequestId") if many else ()
    return _text(metrics | dict.fromkeys(extra, ""))


def _asks_for_a_story(order: ImageOrder, references: Sequence[str]) -> bool:
    """Whether the words of a prompt ask for several pictures, as the site's own page decides it (jimeng-wire 4.6)."""
    return order.model.max_images > USUAL_COUNT and not references and STORY.search(order.prompt) is not None


def _reported_ability(strength: float, ids: Derived) -> Json:
    source = {"imageUrl": f"blob:https://dreamina.capcut.com/{ids.id()}"}
    return {"abilityName": "byte_edit", "strength": strength, "source": source}


def _video_metrics(order: VideoOrder, ids: Derived) -> str:
    sent = _sent_resolution(order)
    scene = {
        "type": "video",
        "scene": "BasicVideoGenerateButton",
        **sent,
        "modelReqKey": order.model.key,
        "videoDuration": order.duration // MS_PER_SECOND,
        "materialTypes": [],
        "reportParams": _report("-".join([order.model.key, *sent.values()])),
    }
    metrics = {
        "promptSource": "custom",
        "isDefaultSeed": 1,
        "originSubmitId": ids.id(),
        "isRegenerate": False,
        "enterFrom": "use_bgimage_prompt",
        "position": "page_bottom_box",
        "functionMode": "first_last_frames",
        "sceneOptions": _text([scene]),
    }
    return _text(metrics)


def _report(function_key: str) -> Json:
    return {
        "enterSource": "generate",
        "vipSource": "generate",
        "extraVipFunctionKey": function_key,
        "useVipFunctionDetailsReporterHoc": True,
    }


def _text(value: Mapping[str, Any] | list[Json]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
