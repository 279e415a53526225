"""The floor of the API: FastAPI, Mangum and pymongo with nothing of the product in between."""

import asyncio
import time
import uuid
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Header
from mangum import Mangum
from pydantic import BaseModel
from pymongo import MongoClient

from .stage import Document


class Generation(BaseModel):
    """The body of a submit."""

    model: str
    prompt: str
    ratio: str
    resolution: str


def make_floor(uri: str, database: str) -> Callable[[Any, Any], Any]:
    """A Lambda handler that inserts on POST, and on a query finds the result, else the task."""
    client: MongoClient[Document] = MongoClient(uri, w="majority")
    tasks = client[database]["jimeng_free_generation_tasks"]
    results = client[database]["jimeng_free_generation_results"]
    app = FastAPI()

    @app.post("/v1/images/generations")
    def generate(body: Generation, authorization: Annotated[str, Header()]) -> dict[str, Any]:
        document = _document(body, authorization)
        tasks.insert_one(document)
        data = {"task_id": document["task_id"], "url": "", "status": 0, "state": "pending", "server_id": "floor"}
        return {"created": int(time.time()), "data": data}

    @app.get("/v1/images/query")
    def query(task_id: str) -> dict[str, Any]:
        result = results.find_one({"task_id": task_id})
        task = tasks.find_one({"task_id": task_id})
        urls = ",".join((result or {}).get("tos_urls", ()))
        data = {"task_id": task_id, "url": urls, "status": -1, "state": (task or {}).get("status", "not_found")}
        return {"created": int(time.time()), "data": data}

    asyncio.set_event_loop(asyncio.new_event_loop())
    return Mangum(app, lifespan="off")


def _document(body: Generation, authorization: str) -> Document:
    now = int(time.time())
    return {
        "task_id": str(uuid.uuid4()),
        "task_type": "image",
        "server_id": "floor",
        "original_params": body.model_dump(),
        "internal_params": {"refresh_token": authorization.removeprefix("Bearer ")},
        "status": "pending",
        "retry_count": 0,
        "max_retries": 3,
        "next_poll_at": now,
        "poll_interval": 10,
        "task_timeout": 3600,
        "created_at": now,
        "updated_at": now,
    }
