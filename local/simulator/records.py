"""What the site says about a job: the answer of generate and the history record (jimeng-wire 4.12, 5.3, 5.7)."""

import math
from typing import Any

from local.simulator.answers import Json
from local.simulator.jobs import PENDING, Job, Step, fail_code_of
from local.simulator.scripts import Script
from local.simulator.urls import Links

GENERATE_TYPES = {"generate": 1, "blend": 12, "gen_video": 10}
"""Numbers of `generate_type`; the video one is an assumption (jimeng-wire 4.12)."""

VIDEO_PLACES: dict[str, tuple[str, ...]] = {
    "common": ("common_attr", "transcoded_video", "origin", "video_url"),
    "transcoded": ("video", "transcoded_video", "origin", "video_url"),
    "play": ("video", "play_url"),
    "download": ("video", "download_url"),
    "url": ("video", "url"),
    "item": ("url",),
}
"""`video_url` of a script to where the url stands in an item (jimeng-wire 5.7)."""


def accepted_answer(job: Job, script: Script) -> Json:
    """`data` of a generate call that was accepted."""
    history_id: Any = int(job.history_id) if script.numeric_history_id else job.history_id
    aigc = {
        "generate_type": GENERATE_TYPES[job.order.kind],
        "history_record_id": history_id,
        "origin_history_record_id": None,
        "created_time": round(job.created, 3),
        "item_list": [],
        "origin_item_list": [],
        "task": _task(job, 20),
        "status": 20,
        "submit_id": job.submit_id,
        "forecast_generate_cost": 23,
        "forecast_queue_cost": math.ceil(script.queue),
        "total_image_count": 0,
        "finished_image_count": 0,
    }
    if script.no_history_id:
        del aigc["history_record_id"]
    return {"aigc_data": aigc, "fail_code": "", "fail_starling_key": "", "fail_starling_message": ""}


def record(job: Job, step: Step, script: Script, links: Links) -> Json:
    """A job's history record at one step of its life."""
    code = fail_code_of(step, script)
    failed = step.status is not None and step.status not in PENDING and step.status != 50
    queue = queue_answer(job, step, script)
    answer = {
        "generate_type": GENERATE_TYPES[job.order.kind],
        "history_record_id": int(job.history_id) if script.numeric_history_id else job.history_id,
        "origin_history_record_id": None,
        "created_time": round(job.created, 3),
        "status": step.status,
        "fail_code": int(code) if script.numeric_fail_code and code else code,
        "fail_msg": script.starling_message if failed else "",
        "fail_starling_key": script.starling_key if failed else "",
        "fail_starling_message": script.starling_message if failed else "",
        "submit_id": job.submit_id,
        "total_image_count": job.expected_items(script),
        "finished_image_count": step.items,
        **queue["forecast_cost_time"],
        "queue_info": queue["queue_info"],
        "task": _task(job, step.status),
        "item_list": [item(job, index, script, links) for index in range(step.items)],
        "origin_item_list": [],
    }
    if step.status is None:
        del answer["status"]
    return answer


def item(job: Job, index: int, script: Script, links: Links, *, hq: bool = False) -> Json:
    """One entry of `item_list`; `hq` gives the answer of get_local_item_list."""
    entry: Json = {
        "common_attr": {
            "id": job.item_id(index),
            "effect_id": job.item_id(index),
            "effect_type": 9,
            "title": "",
            "description": job.order.prompt,
            "status": 144,
        }
    }
    if job.order.is_video:
        _add_video(entry, job, index, script, links, hq=hq)
    else:
        _add_image(entry, job, index, script, links)
    return entry


def queue_answer(job: Job, step: Step, script: Script) -> Json:
    """Queue position and forecasts (jimeng-wire 5.8); it moves up while the scripted queue lasts."""
    left = max(0.0, script.queue - job.age()) if step.queued else 0.0
    place = math.ceil(script.queue_length * left / script.queue / 10) if step.queued else 0
    generating = step.status in PENDING
    info = {
        "queue_idx": place,
        "priority": 3,
        "queue_status": 1 if step.queued else 2 if generating else 3,
        "queue_length": script.queue_length if step.queued else 0,
        "polling_config": {"interval_seconds": 30, "timeout_seconds": 86400},
        "priority_queue_display_threshold": {"vip_queuing_time_threshold": 300, "waiting_time_threshold": 60},
    }
    return {
        "queue_info": info,
        "forecast_cost_time": {"forecast_queue_cost": math.ceil(left), "forecast_generate_cost": 22},
    }


def _task(job: Job, status: int | None) -> Json:
    done = status is not None and status not in PENDING
    return {
        "task_id": job.history_id,
        "submit_id": job.submit_id,
        "aid": 0,
        "status": status,
        "finish_time": int(job.created + job.age()) if done else 0,
        "history_id": job.history_id,
        "task_payload": None,
        "original_input": None,
        "req_first_frame_image": None,
    }


def _add_image(entry: Json, job: Job, index: int, script: Script, links: Links) -> None:
    cover = links.media(job, index, "cover", script)
    if script.item_form in ("large", "cover"):
        entry["common_attr"]["cover_url"] = cover
    if script.item_form == "cover_map":
        entry["common_attr"]["cover_url_map"] = {"360": cover}
    entry["image"] = {"format": script.media_format}
    if script.item_form == "large":
        large = {
            "image_uri": f"tos-cn-i-tb4s082cfz/{job.media_id(index)}",
            "image_url": links.media(job, index, "image", script),
            "width": job.order.width,
            "height": job.order.height,
            "format": script.media_format,
        }
        entry["image"]["large_images"] = [large]


def _add_video(entry: Json, job: Job, index: int, script: Script, links: Links, *, hq: bool) -> None:
    entry["video"] = {
        "video_id": "v0280000" + job.item_id(index)[-16:],
        "duration_ms": job.order.seconds * 1000,
        "cover_url": links.media(job, index, "poster", script),
    }
    if script.video_url == "none":
        return
    *path, name = VIDEO_PLACES[script.video_url]
    place = entry
    for key in path:
        place = place.setdefault(key, {})
    place[name] = links.media(job, index, "hq" if hq else "video", script)
    if name == "video_url":
        place |= {"width": job.order.width, "height": job.order.height}
