"""The OpenAPI document: complete, and with examples that the routes accept."""

from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import validate
from pydantic import BaseModel

from jimeng_tasks.http import answers
from jimeng_tasks.http.schemas import ImageGeneration, TokenBody, VideoGeneration
from tests.integration.api_world import IMAGES, TOKEN, VIDEO, Api


@pytest.fixture
def api() -> Api:
    return Api()


def test_the_document_is_valid_and_names_every_route(api: Api) -> None:
    document = api.get("/openapi.json").json
    validate(document)
    assert sorted(document["paths"]) == [
        "/health",
        "/ping",
        "/token/check",
        "/token/points",
        "/v1/images/generations",
        "/v1/images/query",
        "/v1/models",
        "/v1/tasks/stats",
        "/v1/upload/images",
        "/v1/video/generations",
        "/v1/video/query",
    ]


@pytest.mark.parametrize("group", ["images", "video", "upload", "ops"])
def test_each_function_documents_its_own_routes(group: str) -> None:
    document = Api(group).get("/openapi.json").json
    validate(document)
    assert document["paths"]


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_every_operation_documents_errors_in_the_one_shape_and_no_other(api: Api) -> None:
    document = api.app.openapi()
    for name, operation in operations(document):
        assert operation["summary"], name
        assert {"4XX", "5XX"} <= set(operation["responses"]), name
        assert "422" not in operation["responses"], name
        schema = operation["responses"]["4XX"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/ErrorBody"}, name


def test_the_ways_to_log_in_are_documented(api: Api) -> None:
    document = api.app.openapi()
    schemes = document["components"]["securitySchemes"]
    assert schemes["SessionTokens"]["scheme"] == "bearer"
    assert (schemes["ApiKey"]["in"], schemes["ApiKey"]["name"]) == ("header", "X-API-Key")
    generation = document["paths"][IMAGES]["post"]["security"]
    assert {name for entry in generation for name in entry} == {"SessionTokens", "ApiKey"}


@pytest.mark.parametrize("body", ImageGeneration.EXAMPLES)
def test_image_examples_are_accepted(api: Api, body: dict[str, Any]) -> None:
    assert api.post(IMAGES, body).status == 200


@pytest.mark.parametrize("body", VideoGeneration.EXAMPLES)
def test_video_examples_are_accepted(api: Api, body: dict[str, Any]) -> None:
    assert api.post(VIDEO, body).status == 200


@pytest.mark.parametrize(("name", "absent"), [("ImageGeneration", "duration"), ("VideoGeneration", "size")])
def test_bodies_are_documented_with_their_fields_and_what_happens_to_others(api: Api, name: str, absent: str) -> None:
    schema = api.app.openapi()["components"]["schemas"][name]
    assert "An unknown field is ignored, unless" in schema["description"]
    assert {"prompt", "images", "ratio", "n"} <= set(schema["properties"])
    assert absent not in schema["properties"]


@pytest.mark.parametrize(
    "model",
    [
        model
        for model in (*vars(answers).values(), TokenBody)
        if isinstance(model, type) and issubclass(model, BaseModel) and "json_schema_extra" in model.model_config
    ],
)
def test_other_examples_fit_their_schema(model: type[BaseModel]) -> None:
    examples = model.model_json_schema()["examples"]
    assert [model.model_validate(example) for example in examples]


def test_no_example_holds_a_real_looking_secret(api: Api) -> None:
    assert TOKEN not in str(api.app.openapi()).replace(f"us-{TOKEN}", "")
