"""The route for reference pictures."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends

from jimeng_tasks.http.answers import UploadAnswer, UploadedPicture
from jimeng_tasks.http.auth import ApiKey
from jimeng_tasks.http.bodies import StrictRoute
from jimeng_tasks.http.pictures import SentPicture, read_pictures, sent_pictures
from jimeng_tasks.http.services import Services

router = APIRouter(prefix="/v1/upload", tags=["upload"], route_class=StrictRoute, dependencies=[ApiKey])

UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"images": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            },
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "images": {
                            "type": "array",
                            "maxItems": 10,
                            "items": {"type": "string"},
                            "description": "Addresses, data URIs or base64.",
                        }
                    },
                    "required": ["images"],
                },
                "examples": {"address": {"value": {"images": ["https://example.com/boat.png"]}}},
            },
        },
    }
}


@router.post("/images", summary="Store reference pictures", openapi_extra=UPLOAD_BODY)
def upload_images(sent: Annotated[list[SentPicture], Depends(sent_pictures)], services: Services) -> UploadAnswer:
    """Stores up to ten pictures and answers with their addresses; kind and size are read from the bytes."""
    pictures = read_pictures(sent, services.source, services.validator.catalog.references)
    stored = [
        UploadedPicture(url=kept.url, width=kept.width, height=kept.height, format=kept.format, size=kept.size)
        for kept in services.uploads(pictures)
    ]
    # By this host's clock: an upload needs no database, so it does not ask one for the time either.
    return UploadAnswer(created=int(time.time()), data=stored)
