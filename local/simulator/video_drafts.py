"""Acceptance of video drafts: text, first frame, first and last frame, mixed materials (jimeng-wire 4.9 to 4.11)."""

from local.simulator.answers import Json, Refusal, invalid
from local.simulator.checks import Caller
from local.simulator.draft_models import Draft, Material, Outer, TextToVideo, UnifiedEdit, VideoInput
from local.simulator.image_drafts import check_uploaded
from local.simulator.jobs import Order
from local.simulator.tables import VIDEO_HEIGHTS, VIDEO_MODELS, VIDEO_RATIOS, Size, VideoModel

OMNI_FEATURE = "AIGC_Video_UnifiedEdit"
MATERIAL_LIMITS = {"image": 9, "video": 3, "audio": 12}
MAX_VIDEO_MATERIAL_MS = 15_000


def video_order(body: Json, outer: Outer, draft: Draft, draft_json: Json, metrics: Json, caller: Caller) -> Order:
    """The order in a checked video draft; raises Refusal 1000 or 3000."""
    work = draft.component_list[0].abilities.gen_video
    if work is None:
        raise invalid("abilities.gen_video is missing")
    params = work.text_to_video_params
    clip = params.video_gen_inputs[0]
    model = _model(params.model_req_key, outer, caller)
    _check_clip(params, clip, model)
    _check_mode(draft, clip, model, caller)
    _check_benefit(outer, clip, model)
    _check_metrics(body, work.video_task_extra, metrics, clip)
    width, height = _pixels(params.video_aspect_ratio, clip.resolution or "720p")
    seconds = clip.duration_ms // 1000
    return Order("gen_video", params.model_req_key, _prompt(clip), width, height, 1, seconds, draft_json)


def _model(key: str, outer: Outer, caller: Caller) -> VideoModel:
    if key not in VIDEO_MODELS:
        raise invalid(f"unknown model {key}")
    if outer.extend.root_model != key:
        raise invalid("root_model is not model_req_key")
    model = VIDEO_MODELS[key]
    if caller.region not in model.regions:
        raise Refusal("3000", f"region not allow: {key}")
    return model


def _check_clip(params: TextToVideo, clip: VideoInput, model: VideoModel) -> None:
    if clip.duration_ms not in {seconds * 1000 for seconds in model.seconds}:
        raise invalid(f"duration_ms {clip.duration_ms} is not offered by {params.model_req_key}")
    if clip.unified_edit_input is None and clip.resolution is None and model.resolution_required:
        raise invalid(f"resolution is missing for {params.model_req_key}")
    if clip.resolution is not None and clip.resolution not in model.resolutions:
        raise invalid(f"resolution {clip.resolution} is not offered by {params.model_req_key}")
    if params.video_aspect_ratio not in VIDEO_RATIOS:
        raise invalid(f"video_aspect_ratio {params.video_aspect_ratio}")


def _check_mode(draft: Draft, clip: VideoInput, model: VideoModel, caller: Caller) -> None:
    if clip.unified_edit_input is not None:
        _check_omni(draft, clip, clip.unified_edit_input, model, caller)
        return
    if draft.min_version != "3.0.5" or clip.min_version != "3.0.5" or OMNI_FEATURE in draft.min_features:
        raise invalid("min_version or min_features of a plain video draft")
    if clip.end_frame_image is not None and clip.first_frame_image is None:
        raise invalid("end_frame_image without first_frame_image")
    if clip.first_frame_image is None and not clip.prompt.strip():
        raise invalid("prompt is empty")
    for frame in (clip.first_frame_image, clip.end_frame_image):
        if frame is not None:
            check_uploaded(frame, caller)


def _check_omni(draft: Draft, clip: VideoInput, edit: UnifiedEdit, model: VideoModel, caller: Caller) -> None:
    if not model.omni_benefits:
        raise invalid("this model takes no mixed materials")
    if draft.min_version != "3.3.9" or clip.min_version != "3.3.9" or OMNI_FEATURE not in draft.min_features:
        raise invalid("min_version or min_features of a mixed-material draft")
    if clip.prompt or clip.first_frame_image or clip.end_frame_image or clip.resolution:
        raise invalid("prompt, frames and resolution do not go with unified_edit_input")
    for material in edit.material_list:
        _check_material(material, caller)
    for kind, limit in MATERIAL_LIMITS.items():
        if sum(material.material_type == kind for material in edit.material_list) > limit:
            raise invalid(f"more than {limit} materials of kind {kind}")
    if sum(m.video_info.duration for m in edit.material_list if m.video_info) > MAX_VIDEO_MATERIAL_MS:
        raise invalid("video materials are longer than 15 s together")
    for meta in edit.meta_list:
        _check_reference(meta.meta_type, meta.material_ref.material_idx if meta.material_ref else None, edit)


def _check_material(material: Material, caller: Caller) -> None:
    if material.material_type == "image" and material.image_info is not None:
        check_uploaded(material.image_info, caller)
        return
    clip = material.video_info if material.material_type == "video" else material.audio_info
    if clip is None or clip.vid not in caller.account.committed:
        raise invalid(f"{material.material_type} material was not committed by this account")


def _check_reference(kind: str, index: int | None, edit: UnifiedEdit) -> None:
    if kind == "text":
        right = index is None
    else:
        right = index is not None and 0 <= index < len(edit.material_list)
        right = right and edit.material_list[index or 0].material_type == kind
    if not right:
        raise invalid("meta_list refers to no material of its kind")


def _check_benefit(outer: Outer, clip: VideoInput, model: VideoModel) -> None:
    info = outer.extend.m_video_commerce_info
    if info is None or outer.extend.m_video_commerce_info_list != [info]:
        raise invalid("m_video_commerce_info and its list")
    allowed = model.omni_benefits if clip.unified_edit_input else model.benefits
    if model.resolution_benefits and clip.resolution:
        allowed = frozenset({model.resolution_benefits[clip.resolution]})
    if info.benefit_type not in allowed:
        raise invalid(f"benefit_type {info.benefit_type} does not match the model")


def _check_metrics(body: Json, task_extra: str, metrics: Json, clip: VideoInput) -> None:
    if task_extra != body["metrics_extra"]:
        raise invalid("video_task_extra is not metrics_extra")
    mode = "omni_reference" if clip.unified_edit_input else "first_last_frames"
    if metrics.get("functionMode", mode) != mode:
        raise invalid("metrics_extra.functionMode does not match the draft")


def _prompt(clip: VideoInput) -> str:
    if clip.unified_edit_input is None:
        return clip.prompt
    return "".join(meta.text for meta in clip.unified_edit_input.meta_list)


def _pixels(ratio: str, resolution: str) -> Size:
    across, down = VIDEO_RATIOS[ratio]
    short = VIDEO_HEIGHTS[resolution]
    if across >= down:
        return 2 * round(short * across / down / 2), short
    return short, 2 * round(short * down / across / 2)
