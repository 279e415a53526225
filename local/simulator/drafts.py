"""Acceptance of a generate call (jimeng-wire 4): what the site would refuse is refused here, by ret."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from local.simulator.answers import Json, Refusal, invalid
from local.simulator.checks import Caller, version_tuple
from local.simulator.draft_models import Component, Draft, Outer
from local.simulator.image_drafts import image_order
from local.simulator.jobs import Order
from local.simulator.video_drafts import video_order

COMPONENT_TYPES = {
    "generate": ("image_base_component", {"3.0.2"}, {"3.0.2"}),
    "blend": ("image_base_component", {"3.0.2"}, {"3.0.2", "3.2.9"}),
    "gen_video": ("video_base_component", {"1.0.0"}, {"3.0.5", "3.3.9"}),
}
"""generate_type to component type, its min_version and the draft's min_version (jimeng-wire 4.2)."""


def submit_id_of(body: Json) -> str:
    """The call's submit id; raises Refusal 1000 unless it is a uuid with dashes."""
    submit_id = body.get("submit_id")
    if not is_uuid(submit_id):
        raise invalid("submit_id is not a uuid")
    return str(submit_id)


def order_of(body: Json, caller: Caller) -> Order:
    """Check a whole generate body; raises Refusal 1002, 1000, 3000 or 1006."""
    draft_json = _json_text(body, "draft_content")
    metrics = _json_text(body, "metrics_extra") if "metrics_extra" in body else None
    _check_scene_options(metrics)
    _refuse_nulls(draft_json, "draft_content")
    _check_ids(draft_json)
    outer, draft = _shaped(Outer, body), _shaped(Draft, draft_json)
    component = draft.component_list[0]
    _check_common(outer, draft, component, caller)
    if metrics is None and component.generate_type != "blend":
        raise Refusal("1002", "common error: metrics_extra is missing")
    make = video_order if component.generate_type == "gen_video" else image_order
    return make(body, outer, draft, draft_json, metrics or {}, caller)


def is_uuid(value: Any) -> bool:
    """Whether a value is a uuid written with dashes."""
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


def _json_text(body: Json, key: str) -> Json:
    text = body.get(key)
    if not isinstance(text, str):
        raise Refusal("1002", f"common error: {key} is not a string")
    try:
        value = json.loads(text)
    except ValueError:
        raise Refusal("1002", f"common error: {key} is not JSON") from None
    if not isinstance(value, dict):
        raise Refusal("1002", f"common error: {key} holds no object")
    return value


def _check_scene_options(metrics: Json | None) -> None:
    if metrics is None or "sceneOptions" not in metrics:
        return
    options = metrics["sceneOptions"]
    try:
        scenes = json.loads(options) if isinstance(options, str) else None
    except ValueError:
        scenes = None
    if not isinstance(scenes, list) or not all(isinstance(scene, dict) for scene in scenes):
        raise Refusal("1002", "common error: sceneOptions is not a string holding a JSON list of objects")


def _refuse_nulls(value: Any, path: str) -> None:
    if value is None:
        raise invalid(f"{path} is null")
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        _refuse_nulls(child, f"{path}.{key}")


def _typed_objects(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        if "type" in value:
            yield value
        for child in value.values():
            yield from _typed_objects(child)
    elif isinstance(value, list):
        for child in value:
            yield from _typed_objects(child)


def _check_ids(draft: Json) -> None:
    seen: set[str] = set()
    for node in _typed_objects(draft):
        node_id = node.get("id")
        if not is_uuid(node_id) or node_id in seen:
            raise invalid(f"an object of type {node['type']!r} has no id of its own")
        seen.add(str(node_id))


def _shaped[Shaped: BaseModel](model: type[Shaped], value: Json) -> Shaped:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise invalid(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _check_common(outer: Outer, draft: Draft, component: Component, caller: Caller) -> None:
    kind, component_versions, draft_versions = COMPONENT_TYPES[component.generate_type]
    if draft.main_component_id != component.id:
        raise invalid("main_component_id is not the component's id")
    if component.type != kind or component.min_version not in component_versions:
        raise invalid("component type or min_version")
    if draft.min_version not in draft_versions or version_tuple(draft.version) < version_tuple(draft.min_version):
        raise invalid("draft min_version or version")
    if outer.http_common_info.aid != caller.aid:
        raise invalid("http_common_info.aid is not the aid of the query")
