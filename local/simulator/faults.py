"""Scripted troubles of the calls that submit, poll and look up better videos."""

import asyncio
from typing import Any

from fastapi import Response

from local.simulator.answers import Dropped, Refusal, envelope, failure_data, http_fault
from local.simulator.jobs import Job
from local.simulator.scripts import Script
from local.simulator.state import World

NO_SUBMIT_FAULT: dict[str, Any] = {
    "submit_ret": None,
    "submit_http": None,
    "submit_html": False,
    "submit_drop": None,
    "submit_delay": 0.0,
}


def active_submit_script(world: World, session: str, prompt: str, script: Script) -> Script:
    """The script without its submit faults once `submit_times` submissions of this account and prompt met them."""
    world.fault_counts[session, prompt] += 1
    spent = script.submit_times is not None and world.fault_counts[session, prompt] > script.submit_times
    return script.model_copy(update=NO_SUBMIT_FAULT) if spent else script


def submit_fault(script: Script) -> Response | None:
    """The scripted answer in place of an acceptance, None for none; raises Dropped for `submit_drop=before`."""
    if script.submit_drop == "before":
        raise Dropped
    if script.submit_ret is not None:
        data = failure_data(script.submit_fail_code, script.submit_starling, script.submit_errmsg)
        ret: str | int = int(script.submit_ret) if script.numeric_ret else script.submit_ret
        return envelope(data if script.submit_data == "full" else None, ret, script.submit_errmsg)
    if script.submit_http is not None:
        return http_fault(script.submit_http, script.submit_body, script.retry_after)
    return http_fault(200, "html", None) if script.submit_html else None


async def poll_fault(world: World, session: str, jobs: list[Job]) -> Response | None:
    """The scripted answer of a look-up that touches one of these jobs, after the scripted delay."""
    scripts = [script for job in jobs if _in_window(job.polls, script := world.script_of(job))]
    if not jobs:
        scripts = [Script.model_validate(world.rules.standing(session, None))]
    await asyncio.sleep(max((script.poll_delay for script in scripts), default=0))
    for script in scripts:
        if script.poll_drop:
            raise Dropped
        if script.poll_ret is not None:
            raise Refusal(script.poll_ret, script.poll_errmsg)
        if script.poll_http is not None:
            return http_fault(script.poll_http, script.poll_body, script.retry_after)
        if script.poll_html:
            return http_fault(200, "html", None)
    return None


def hq_fault(script: Script) -> Response | None:
    """The scripted answer of get_local_item_list, None when it is to answer properly."""
    if script.hq == "drop":
        raise Dropped
    if script.hq == "error":
        raise Refusal("1000", "invalid parameter: refused by script")
    if script.hq in ("http", "html"):
        return http_fault(500 if script.hq == "http" else 200, "html", None)
    return None


def _in_window(polls: int, script: Script) -> bool:
    if polls < script.poll_from:
        return False
    return script.poll_times is None or polls < script.poll_from + script.poll_times
