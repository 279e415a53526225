"""Acceptance of text-to-image and image-to-image drafts (jimeng-wire 4.3 to 4.8)."""

import json
import re
from typing import Any

from local.simulator.answers import Json, Refusal, invalid, no_credits
from local.simulator.checks import Caller
from local.simulator.draft_models import Abilities, Blend, CoreParam, Draft, GenOption, Outer, UploadedImage
from local.simulator.jobs import Order
from local.simulator.tables import (
    BENEFIT_COUNT_MODELS,
    IMAGE_MODELS,
    IMAGE_SIZES,
    INTELLIGENT_RATIO_MODELS,
    NANOBANANA,
    NANOBANANA_PRO,
)

STORY_COUNT = re.compile(r"(\d+)张")


def image_order(body: Json, outer: Outer, draft: Draft, draft_json: Json, metrics: Json, caller: Caller) -> Order:
    """The order in a checked image draft; raises Refusal 1000, 3000 or 1006."""
    component = draft.component_list[0]
    abilities = component.abilities
    work = abilities.blend if component.generate_type == "blend" else abilities.generate
    if work is None:
        raise invalid(f"abilities.{component.generate_type} is missing")
    core = work.core_param
    _check_model(core.model, outer.extend.root_model, caller)
    _check_size(core, caller, blend=isinstance(work, Blend))
    if isinstance(work, Blend):
        _check_blend(work, caller)
    scene = _scene(metrics)
    _check_metrics(body, metrics, scene, core, component.generate_type)
    count = _count(abilities, work.gen_option, core.prompt, scene, component.generate_type)
    size = core.large_image_info
    return Order(component.generate_type, core.model, core.prompt, size.width, size.height, count, 0, draft_json)


def check_uploaded(image: UploadedImage, caller: Caller) -> None:
    """An image entry must name one upload that this account has committed."""
    if image.uri != image.image_uri or image.uri not in caller.account.committed:
        raise invalid(f"image uri {image.uri} was not committed by this account")


def _check_model(model: str, root_model: str, caller: Caller) -> None:
    if model not in IMAGE_MODELS:
        raise invalid(f"unknown model {model}")
    if root_model != model:
        raise invalid("root_model is not core_param.model")
    if caller.region not in IMAGE_MODELS[model]:
        raise Refusal("3000", f"region not allow: {model}")


def _check_size(core: CoreParam, caller: Caller, *, blend: bool) -> None:
    info = core.large_image_info
    size, tier = (info.width, info.height), info.resolution_type
    if core.intelligent_ratio and core.model not in INTELLIGENT_RATIO_MODELS:
        raise invalid(f"intelligent_ratio with {core.model}")
    if core.image_ratio is None and (blend or not core.intelligent_ratio):
        raise invalid("image_ratio is missing")
    if core.model == NANOBANANA and caller.region == "us":
        right = (size, tier, core.image_ratio) == ((1024, 1024), "2k", 1)
    elif core.image_ratio is None:
        right = any(size in sizes for (name, _), sizes in IMAGE_SIZES.items() if name == tier)
    else:
        right = size in IMAGE_SIZES.get((tier, core.image_ratio), ())
    if core.model == NANOBANANA and caller.region != "us":
        right = right and tier == "1k"
    if core.model == NANOBANANA_PRO and tier == "4k":
        right = right and (core.image_ratio or 0) < 100
    if not right:
        raise invalid(f"size {size[0]}x{size[1]} does not match {tier} with image_ratio {core.image_ratio}")


def _check_blend(blend: Blend, caller: Caller) -> None:
    images = len(blend.ability_list)
    places = sorted(place.ability_index for place in blend.prompt_placeholder_info_list)
    if blend.core_param.prompt.count("##") != images or places != list(range(images)):
        raise invalid("## marks, placeholders and images do not agree")
    if images > 1 and blend.min_version is None:
        raise invalid("blend.min_version is missing")
    for ability in blend.ability_list:
        image = ability.image_list[0]
        if ability.image_uri_list != [image.image_uri]:
            raise invalid("image_uri_list and image_list do not agree")
        check_uploaded(image, caller)


def _scene(metrics: Json) -> Json:
    scenes: list[Json] = json.loads(metrics.get("sceneOptions", "[]"))
    return scenes[0] if scenes else {}


def _check_metrics(body: Json, metrics: Json, scene: Json, core: CoreParam, kind: str) -> None:
    if metrics.get("generateId", body["submit_id"]) != body["submit_id"]:
        raise invalid("metrics_extra.generateId is not the submit_id")
    tier = core.large_image_info.resolution_type
    if scene.get("resolutionType", tier) != tier:
        raise invalid("sceneOptions resolutionType is not the draft's resolution_type")
    priced = kind == "generate" and scene.get("scene") != "ImageMultiGenerate"
    if priced and tier == "2k" and core.model in BENEFIT_COUNT_MODELS and not _is_count(scene.get("benefitCount")):
        refusal = no_credits()
        raise Refusal(refusal.ret, "not enough credits: benefitCount is missing", refusal.data)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _count(abilities: Abilities, inner: GenOption | None, prompt: str, scene: Json, kind: str) -> int:
    option = abilities.gen_option or inner
    if option is not None and option.gen_count is not None:
        return option.gen_count
    if scene.get("scene") == "ImageMultiGenerate":
        found = STORY_COUNT.search(prompt)
        return min(int(found[1]), 15) if found and int(found[1]) else 4
    return 1 if kind == "blend" else 4
