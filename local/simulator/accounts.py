"""Credits and the token check (jimeng-wire 7, 8.1)."""

import asyncio
import time

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from local.simulator.answers import Dropped, Json, Refusal, commerce, http_fault, invalid
from local.simulator.checks import identify, read_object
from local.simulator.context import world_of
from local.simulator.scripts import Script
from local.simulator.state import Account

router = APIRouter()

BENEFITS = "/commerce/v1/benefits"


@router.post(f"{BENEFITS}/user_credit")
async def user_credit(request: Request) -> Response:
    """The credits of an account; a query string is refused, for the site's page sends none."""
    world = world_of(request)
    if request.url.query:
        raise Refusal("1014", "sign error: user_credit takes no query")
    caller = identify(request, world, with_query=False)
    await read_object(request)
    script = world.rules.side(caller.session, "credit_")
    await asyncio.sleep(script.credit_delay)
    if script.credit_drop:
        raise Dropped
    if script.credit_http is not None:
        return http_fault(script.credit_http, "html", script.retry_after)
    if script.credit_ret is not None:
        raise Refusal(script.credit_ret, "refused by script")
    return commerce(_credits(caller.account))


@router.post(f"{BENEFITS}/credit_receive")
async def credit_receive(request: Request) -> Response:
    """Collect the daily gift, once per day."""
    world = world_of(request)
    caller = identify(request, world)
    body = await read_object(request)
    if not isinstance(body.get("time_zone"), str):
        raise Refusal("34010100", "param error")
    script = world.rules.side(caller.session, "receive_")
    if script.receive_ret is not None:
        raise Refusal(script.receive_ret, "shark check reject", {"receive_quota": 0})
    gift = world.settings.daily_gift if script.receive_quota is None else script.receive_quota
    received = caller.account.receive(gift)
    return commerce({"receive_quota": received, "cur_total_credits": caller.account.total, "has_popup": False})


@router.post(f"{BENEFITS}/user_credit_history")
async def user_credit_history(request: Request) -> Response:
    """What was paid for which submit id, newest first; `cursor` is an offset."""
    world = world_of(request)
    caller = identify(request, world, with_query=bool(request.url.query))
    body = await read_object(request)
    count, cursor = body.get("count"), body.get("cursor")
    if not isinstance(count, int) or not isinstance(cursor, str) or not cursor.isdigit():
        raise invalid("count or cursor")
    records = caller.account.records
    end = int(cursor) + count
    page = {"records": records[int(cursor) : end], "new_cursor": str(end), "has_more": end < len(records)}
    return commerce({"total_credit": caller.account.total, **page})


@router.post("/passport/account/info/v2")
async def account_info(request: Request) -> Response:
    """Who a session is; a dead one gets the answer without `ret` (jimeng-wire 3.2, 8.1)."""
    world = world_of(request)
    if request.query_params.get("account_sdk_source") != "web":
        raise invalid("account_sdk_source")
    try:
        caller = identify(request, world)
    except Refusal as refusal:
        if refusal.ret != "1015":
            raise
        return _passport_error()
    script = world.rules.side(caller.session, "account_")
    return _account_answer(caller.account, script)


def _account_answer(account: Account, script: Script) -> Response:
    person = {"user_id": account.user_id, "name": "someone"}
    if script.account_form == "error":
        return _passport_error()
    if script.account_form == "html":
        return http_fault(200, "html", None)
    if script.account_form == "top":
        return JSONResponse(person)
    return JSONResponse({"message": "success", "data": person})


def _passport_error() -> Response:
    return JSONResponse({"message": "error", "data": {"error_code": 4, "description": "session expired"}})


def _credits(account: Account) -> Json:
    ends = int(time.time()) // 86400 * 86400 + 86400
    return {
        "credit": {
            "gift_credit": account.gift,
            "purchase_credit": account.purchase,
            "vip_credit": account.vip,
        },
        "expiring_credits": [{"credit_amount": account.gift, "expire_time": ends}] if account.gift else [],
        "credits_detail": {"gift_credits": [{"residual_credits": account.gift, "credits_life_end": ends}]},
    }
