"""Routes for image tasks."""

from fastapi import APIRouter

from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.http.answers import QueryAnswer, SubmitAnswer
from jimeng_tasks.http.auth import ApiKey, Asking, Tokens
from jimeng_tasks.http.bodies import StrictRoute
from jimeng_tasks.http.parameters import QUERY_BODY, AskedTask, IdempotencyKey, PostedTask
from jimeng_tasks.http.reports import query_answer, submit_answer
from jimeng_tasks.http.schemas import ImageGeneration
from jimeng_tasks.http.services import Services

router = APIRouter(prefix="/v1/images", tags=["images"], route_class=StrictRoute, dependencies=[ApiKey])


@router.post("/generations", summary="Start an image task")
def generate_images(
    body: ImageGeneration, tokens: Tokens, services: Services, idempotency_key: IdempotencyKey = None
) -> SubmitAnswer:
    """Takes the order and answers with a ``task_id`` at once; ask /v1/images/query for the result."""
    order = services.validator.image(body.to_request(tokens, idempotency_key), services.source.check)
    return submit_answer(services.submit(order), services.clock.now())


@router.get("/query", summary="Ask for an image task")
def query_images(task_id: AskedTask, asking: Asking, services: Services) -> QueryAnswer:
    """The first answer that holds a finished result uses it up, unless a grace time is configured.

    With session tokens only their own tasks are found.
    """
    return query_answer(services, TaskType.IMAGE, task_id, asking)


@router.post("/query", summary="Ask for an image task", openapi_extra=QUERY_BODY)
def query_images_by_post(task_id: PostedTask, asking: Asking, services: Services) -> QueryAnswer:
    """The same as GET, with the id in a JSON body, a form or the query."""
    return query_answer(services, TaskType.IMAGE, task_id, asking)
