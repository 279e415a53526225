"""Routes for operators and for clients that look around: health, models, numbers, session tokens."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from jimeng_tasks import __version__
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.http.answers import (
    Health,
    ModelList,
    OnlineServer,
    PointsBody,
    Stats,
    StatsAnswer,
    TokenLife,
    TokenPoints,
    Unhealthy,
)
from jimeng_tasks.http.auth import ApiKey, Tokens
from jimeng_tasks.http.bodies import StrictRoute
from jimeng_tasks.http.errors import error_body
from jimeng_tasks.http.models import model_list
from jimeng_tasks.http.schemas import TokenBody
from jimeng_tasks.http.services import ApiServices, Services
from jimeng_tasks.settings import SERVICE_ID_PATTERN

PONG: dict[str, Any] = {"content": {"text/plain": {"schema": {"type": "string"}, "example": "pong"}}}

router = APIRouter(tags=["ops"], route_class=StrictRoute)


@router.get("/ping", summary="Is this process alive?", response_class=Response, responses={200: PONG})
async def ping() -> PlainTextResponse:
    """Answers ``pong`` and touches nothing."""
    return PlainTextResponse("pong")


@router.get("/health", summary="Can tasks be stored?", response_model=Health, responses={503: {"model": Unhealthy}})
def health(request: Request, services: Services) -> Health | JSONResponse:
    """200 when the store serves reads and writes, else 503."""
    try:
        services.store.ping()
    except StoreUnavailable as error:
        body = {"status": "unavailable", "version": __version__, "database": "unavailable"}
        return JSONResponse(error_body(error, request.scope) | body, error.http_status, {"Retry-After": "5"})
    kind: Literal["ok", "memory"] = "ok" if services.settings.use_database_mode else "memory"
    return Health(version=__version__, database=kind, time=services.clock.now())


@router.get("/v1/models", summary="Models and what they can make", dependencies=[ApiKey])
def models(
    services: Services, kind: Annotated[Literal["image", "video"] | None, Query(alias="type")] = None
) -> ModelList:
    """Every accepted model name with its sizes, ratios, durations, limits and regions."""
    return ModelList(data=model_list(services.validator.catalog, kind))


@router.get("/v1/tasks/stats", summary="Numbers of the stored tasks", dependencies=[ApiKey])
def stats(
    services: Services, server_id: Annotated[str | None, Query(pattern=f"^{SERVICE_ID_PATTERN.pattern}$")] = None
) -> StatsAnswer:
    """Tasks per status, load per service, services online, ages and error rate; of one service or of all."""
    return StatsAnswer(created=services.clock.now(), data=_stats(services, server_id))


@router.post("/token/check", summary="Does a session token work?", dependencies=[ApiKey])
def check_token(body: TokenBody, services: Services) -> TokenLife:
    """Asks the provider with a free call; ``reason`` tells a dead token from a malformed one or a wrong region."""
    check = services.accounts.check(body.token.strip())
    return TokenLife(live=check.live, reason=check.reason)


@router.post("/token/points", summary="What can the session tokens spend?", dependencies=[ApiKey])
def token_points(tokens: Tokens, services: Services) -> list[TokenPoints]:
    """Credits of every token of the bearer, in order; one that fails does not spoil the others."""
    answers = []
    for points in services.accounts.points(tokens):
        answer = TokenPoints(token=f"{points.account[:4]}***")
        if points.credits:
            credit = points.credits
            answer.points = PointsBody(
                giftCredit=credit.gift,
                purchaseCredit=credit.purchase,
                vipCredit=credit.vip,
                totalCredit=credit.total,
            )
        if points.error:
            answer.error, answer.message = points.error.name, str(points.error)
        answers.append(answer)
    return answers


def _stats(services: ApiServices, server_id: str | None) -> Stats:
    numbers = services.monitor.task_stats(server_id)
    online = [
        OnlineServer(
            server_id=server.server_id,
            status=server.status,
            load=server.load,
            last_heartbeat_at=server.last_heartbeat_at,
            version=server.version,
        )
        for server in services.monitor.servers_online()
        if server_id in (None, server.server_id)
    ]
    return Stats(
        server_id=server_id,
        tasks={status.value: count for status, count in numbers.per_status.items()},
        load=dict(numbers.load_per_server),
        servers_online=online,
        oldest_pending_age=numbers.oldest_pending_age,
        mean_task_seconds=numbers.mean_task_seconds,
        error_rate=numbers.error_rate,
    )
