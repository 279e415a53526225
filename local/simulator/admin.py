"""The tester's side: `/_sim/...` sets scripts, accounts and settings, and tells what was asked."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, ConfigDict

from local.simulator.answers import Json
from local.simulator.context import world_of
from local.simulator.jobs import Job
from local.simulator.scripts import RuleBody, bare_session
from local.simulator.state import World

router = APIRouter(prefix="/_sim")


class TokenBody(BaseModel):
    """Body of `POST /_sim/tokens`: an account, with or without region prefix, and what to change of it."""

    model_config = ConfigDict(extra="forbid")

    token: str
    credits: int | None = None
    purchase: int | None = None
    vip: int | None = None
    dead: bool | None = None
    region: Literal["cn", "us", "hk", "jp", "sg"] | None = None
    max_running: int | None = None
    received_today: bool | None = None


class ConfigBody(BaseModel):
    """Body of `POST /_sim/config`: the settings to change."""

    model_config = ConfigDict(extra="forbid")

    min_appvr: str | None = None
    check_sign: bool | None = None
    default_credits: int | None = None
    daily_gift: int | None = None
    image_step: float | None = None
    video_step: float | None = None


@router.post("/scripts")
async def add_script(request: Request, rule: Annotated[RuleBody, Body()]) -> Json:
    """Add a rule; unknown script keys are refused with 422."""
    world_of(request).rules.add(rule)
    return {"ok": True}


@router.delete("/scripts")
async def clear_scripts(request: Request) -> Json:
    """Forget every rule; what jobs took along with `times` stays with them."""
    world_of(request).rules.clear()
    return {"ok": True}


@router.post("/tokens")
async def set_token(request: Request, body: Annotated[TokenBody, Body()]) -> Json:
    """Change an account; `credits` sets its gift credits and takes the others away."""
    account = world_of(request).account(body.token)
    changes = body.model_dump(exclude_none=True, exclude={"token", "credits", "received_today"})
    if body.credits is not None:
        account.gift, account.purchase, account.vip = body.credits, 0, 0
    if body.received_today is not None:
        account.received_on = ""
        if body.received_today:
            account.receive(0)
    for name, value in changes.items():
        setattr(account, name, value)
    return {"ok": True, "total": account.total}


@router.get("/tokens/{token}")
async def get_token(request: Request, token: str) -> Json:
    """Credits and state of an account."""
    account = world_of(request).account(token)
    return {"total": account.total, "gift": account.gift, "dead": account.dead, "paid": account.records}


@router.get("/jobs")
async def jobs(request: Request, submit_id: str | None = None) -> list[Json]:
    """Every accepted job, oldest first."""
    world = world_of(request)
    return [_told(world, job) for job in world.jobs if submit_id in (None, job.submit_id)]


@router.get("/submissions")
async def submissions(request: Request) -> dict[str, dict[str, int]]:
    """How often each submit id was received and accepted; accepted over 1 is a double payment."""
    world = world_of(request)
    return {key: {"received": world.received[key], "accepted": world.accepted[key]} for key in world.received}


@router.get("/requests")
async def requests(request: Request) -> Json:
    """Calls per endpoint and the last 200 of them, without secrets."""
    world = world_of(request)
    return {"counts": dict(world.endpoint_counts), "last": list(world.requests)}


@router.post("/config")
async def configure(request: Request, body: Annotated[ConfigBody, Body()]) -> dict[str, Any]:
    """Change settings and tell all of them."""
    settings = world_of(request).settings
    for name, value in body.model_dump(exclude_none=True).items():
        setattr(settings, name, value)
    return asdict(settings)


@router.post("/reset")
async def reset(request: Request) -> Json:
    """Forget accounts, jobs, rules, uploads and counters; settings stay."""
    world_of(request).clear()
    return {"ok": True}


def _told(world: World, job: Job) -> Json:
    step = job.step(world.script_of(job))
    return {
        "submit_id": job.submit_id,
        "history_id": job.history_id,
        "token": bare_session(job.session),
        "generate_type": job.order.kind,
        "prompt": job.order.prompt,
        "model": job.order.model,
        "accepted": world.accepted[job.submit_id],
        "polls": job.polls,
        "status": step.status,
        "missing": step.missing,
        "items": step.items,
        "age": round(job.age(), 3),
        "media_hits": {
            media.variant + str(media.index): world.media_hits[path]
            for path, media in world.media.items()
            if media.job is job and world.media_hits[path]
        },
        "draft": job.order.draft,
    }
