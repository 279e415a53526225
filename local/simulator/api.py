"""The `/mweb/...` endpoints: generate, look-ups and model lists (jimeng-wire 4, 5, 6.7, 8.2)."""

import asyncio
import json

from fastapi import APIRouter, Request, Response

from local.simulator.answers import Dropped, Json, Refusal, envelope, failure_data, invalid
from local.simulator.checks import Caller, identify, read_object
from local.simulator.context import links_of, note, world_of
from local.simulator.drafts import order_of, submit_id_of
from local.simulator.faults import active_submit_script, hq_fault, poll_fault, submit_fault
from local.simulator.jobs import Job, Order
from local.simulator.records import accepted_answer, item, queue_answer, record
from local.simulator.scripts import Script
from local.simulator.state import World
from local.simulator.tables import IMAGE_MODELS, IMAGE_SIZES, RATIO_NAMES, VIDEO_MODELS

router = APIRouter(prefix="/mweb/v1")


@router.post("/aigc_draft/generate")
async def generate(request: Request) -> Response:
    """Accept a job, or refuse it as the site or the script says (jimeng-wire 4)."""
    world = world_of(request)
    caller = identify(request, world)
    body = await read_object(request)
    submit_id = submit_id_of(body)
    note(request, submit_id=submit_id)
    world.received[submit_id] += 1
    order = order_of(body, caller)
    script, kept = world.draw_script(caller.session, order.prompt)
    script = active_submit_script(world, caller.session, order.prompt, script)
    fault = submit_fault(script)
    if fault is not None and not script.submit_accepted:
        note(request, fault=script.submit_ret or fault.status_code)
        return fault
    job = world.find_submitted(caller.session, submit_id) if script.dedupe else None
    job = job or _accept(world, caller, submit_id, order, script, kept)
    note(request, history_id=job.history_id)
    await asyncio.sleep(script.submit_delay)
    if script.submit_drop == "after":
        raise Dropped
    return fault or envelope(accepted_answer(job, script), 0 if script.numeric_ret else "0")


@router.post("/get_history_by_ids")
async def get_history_by_ids(request: Request) -> Response:
    """Records by history id and by submit id; ids without a visible record are missing (jimeng-wire 5.2)."""
    world = world_of(request)
    caller = identify(request, world)
    wanted = _asked(world, caller, await read_object(request))
    note(request, ids=list(wanted))
    jobs = [job for job in wanted.values() if job is not None]
    for asked in {job.history_id: job for job in jobs}.values():
        asked.polls += 1
    fault = await poll_fault(world, caller.session, jobs)
    if fault is not None:
        return fault
    links, data, numeric = links_of(request), {}, False
    for key, job in wanted.items():
        script = world.script_of(job) if job else Script()
        numeric = numeric or script.numeric_ret
        step = job.step(script) if job else None
        hidden = step is None or step.missing or (job and key == job.submit_id and not script.submit_id_lookup)
        if job and step and not hidden:
            data[key] = record(job, step, script, links)
    return envelope(data, 0 if numeric else "0")


@router.post("/get_history_queue_info")
async def get_history_queue_info(request: Request) -> Response:
    """Queue positions keyed by history id (jimeng-wire 5.8)."""
    world = world_of(request)
    caller = identify(request, world)
    ids = _id_list(await read_object(request), "history_ids")
    note(request, ids=ids)
    found = {key: job for key in ids if (job := world.find(caller.session, key))}
    scripts = {key: world.script_of(job) for key, job in found.items()}
    return envelope({key: queue_answer(job, job.step(scripts[key]), scripts[key]) for key, job in found.items()})


@router.post("/get_local_item_list")
async def get_local_item_list(request: Request) -> Response:
    """The better video of finished items (jimeng-wire 5.7)."""
    world = world_of(request)
    caller = identify(request, world)
    body = await read_object(request)
    ids = _id_list(body, "item_id_list")
    note(request, ids=ids)
    if body.get("is_for_video_download") is not True or not isinstance(body.get("pack_item_opt"), dict):
        raise invalid("pack_item_opt or is_for_video_download")
    found = [world.by_item[one] for one in ids if one in world.by_item]
    found = [(job, index) for job, index in found if job.session == caller.session]
    script = world.script_of(found[0][0]) if found else Script()
    fault = hq_fault(script)
    if fault is not None:
        return fault
    links = links_of(request)
    entries = [item(job, index, script, links, hq=True) for job, index in found] if script.hq != "empty" else []
    return envelope({"local_item_list" if script.hq == "local" else "item_list": entries})


@router.post("/algo_proxy")
async def algo_proxy(request: Request) -> Response:
    """The content check of an uploaded image, on the CN site only (jimeng-wire 6.7)."""
    world = world_of(request)
    caller = identify(request, world)
    body = await read_object(request)
    script = world.rules.side(caller.session, "algo_")
    _check_babi(request.query_params.get("babi_param", ""))
    files = body.get("file_list")
    uris = [entry.get("file_uri") for entry in files if isinstance(entry, dict)] if isinstance(files, list) else []
    if caller.region != "cn" or body.get("scene") != "image_face_ip" or not isinstance(body.get("req_key"), str):
        raise invalid("scene, req_key or region")
    if not uris or not caller.account.committed.issuperset(uris):
        raise invalid("file_uri was not committed by this account")
    if script.algo_ret is not None:
        raise Refusal(script.algo_ret, "risk not pass" if script.algo_ret == "2003" else "refused by script")
    return envelope({})


@router.post("/get_common_config")
async def get_common_config(request: Request) -> Response:
    """The image models this region offers (jimeng-wire 8.2)."""
    caller = identify(request, world_of(request))
    await read_object(request)
    sizes: dict[str, list[Json]] = {}
    for (tier, code), pixels in IMAGE_SIZES.items():
        width, height = min(pixels)
        ratio = code % 100
        sizes.setdefault(tier, []).append(
            {"ratio_type": ratio, "name": RATIO_NAMES[ratio], "width": width, "height": height}
        )
    models = [
        {"model_req_key": key, "model_name": f"Image {key}", "model_status": 1, "resolution_map": sizes}
        for key, regions in IMAGE_MODELS.items()
        if caller.region in regions
    ]
    return envelope({"model_list": models})


@router.post("/video_generate/get_common_config")
async def video_common_config(request: Request) -> Response:
    """The video models this region offers (jimeng-wire 8.2)."""
    caller = identify(request, world_of(request))
    await read_object(request)
    models = [
        {
            "model_req_key": key,
            "model_name": f"Video {key}",
            "model_status": 1,
            "resolution_options": sorted(model.resolutions),
            "duration_options": sorted(model.seconds),
            "commercial_config": {"benefit_types": sorted(model.benefits)},
        }
        for key, model in VIDEO_MODELS.items()
        if caller.region in model.regions
    ]
    return envelope({"model_list": models})


def _accept(world: World, caller: Caller, submit_id: str, order: Order, script: Script, kept: Json) -> Job:
    account = caller.account
    if account.max_running is not None and world.running(account.session) >= account.max_running:
        raise Refusal("1010", "concurrency limit", failure_data("1010", "", "concurrency limit"))
    account.pay(script.cost)
    job = world.accept(account, submit_id, caller.aid, order, kept)
    title = "video generation" if order.is_video else "image generation"
    entry = {"amount": script.cost, "create_time": int(job.created), "title": title}
    account.records.insert(0, entry | {"submit_id": submit_id, "status": 1})
    return job


def _asked(world: World, caller: Caller, body: Json) -> dict[str, Job | None]:
    if "history_ids" not in body and "submit_ids" not in body:
        raise Refusal("2008", "history_ids and submit_ids are missing")
    asked: dict[str, Job | None] = {}
    for key in _id_list(body, "history_ids", required=False):
        asked[key] = world.find(caller.session, key)
    for key in _id_list(body, "submit_ids", required=False):
        asked[key] = world.find_submitted(caller.session, key)
    return asked


def _id_list(body: Json, key: str, *, required: bool = True) -> list[str]:
    ids = body.get(key, None if required else [])
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise invalid(f"{key} is not a list of strings")
    return ids


def _check_babi(text: str) -> None:
    try:
        babi = json.loads(text)
    except ValueError:
        babi = None
    if not isinstance(babi, dict) or babi.get("scenario") != "image_video_generation":
        raise invalid("babi_param")
