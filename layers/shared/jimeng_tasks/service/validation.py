"""Turns requests into orders: what a model cannot do is refused here, before anything is written or paid for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jimeng_tasks.domain.catalog import Catalog, ImageModel, VideoModel
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.exceptions import RequestError

from .faults import listed, shown
from .generation_requests import GenerationRequest, ImageRequest, Reference, VideoRequest
from .sizes import choose_size, ratio_among, resolution_among
from .submit import Order

type Model = ImageModel | VideoModel
type CheckReference = Callable[[str], None]


@dataclass(frozen=True)
class Validator:
    """Checks requests against the provider's catalog.

    ``region`` tells the region of a token and refuses malformed ones (`Provider.region`). Every refusal is a
    `RequestError` that names the field, the fault and the allowed values; nothing is ever replaced by a default or cut
    to fit.
    """

    catalog: Catalog
    region: Callable[[str], str]

    def image(self, request: ImageRequest, check_reference: CheckReference) -> Order:
        """An order for pictures; ``check_reference`` is asked about every input picture (`MediaSource.check`).

        Raises:
            RequestError: or one of its kinds, for a value that the model does not allow.
        """
        name = self.catalog.default_image_model if request.model is None else request.model
        model = self._model(self.catalog.image_models, name, TaskType.VIDEO)
        accounts = self._accounts(model, request.accounts)
        _check_text("prompt", request.prompt, model.max_prompt)
        _check_text("negative_prompt", request.negative_prompt, model.max_prompt)
        _check_count("n", request.n or 1, model.max_images, model.name)
        _check_count("images", len(request.images), model.max_references, model.name)
        choice = choose_size(model, request)
        params = {
            "model": model.name,
            "prompt": request.prompt,
            "negative_prompt": request.negative_prompt,
            "width": choice.size.width,
            "height": choice.size.height,
            "ratio": choice.ratio,
            "resolution": choice.resolution,
            "sample_strength": request.sample_strength,
            "images": _references(request.images, check_reference),
            "response_format": request.response_format,
            **_given(n=request.n, seed=request.seed),
        }
        return _order(TaskType.IMAGE, request, params, accounts)

    def video(self, request: VideoRequest, check_reference: CheckReference) -> Order:
        """An order for a video; ``check_reference`` is asked about every frame (`MediaSource.check`).

        Raises:
            RequestError: or one of its kinds, for a value that the model does not allow.
        """
        model = self._video_model(request)
        accounts = self._accounts(model, request.accounts)
        _check_text("prompt", request.prompt, model.max_prompt)
        _check_count("images", len(request.images), model.max_frames, model.name)
        params = {
            "model": model.name,
            "prompt": request.prompt,
            "is_pro": model.is_pro,
            "duration": _duration(model, request.duration),
            "ratio": model.default_ratio if request.ratio is None else ratio_among(request.ratio, model.ratios),
            "resolution": _video_resolution(model, request.resolution),
            "images": _references(request.images, check_reference),
            "response_format": request.response_format,
        }
        return _order(TaskType.VIDEO, request, params, accounts)

    def _video_model(self, request: VideoRequest) -> VideoModel:
        default = self.catalog.default_pro_video_model if request.is_pro else self.catalog.default_video_model
        name = default if request.model is None else request.model
        model = self._model(self.catalog.video_models, name, TaskType.IMAGE)
        if request.is_pro and not model.is_pro:
            pro = sorted(name for name, other in self.catalog.video_models.items() if other.is_pro)
            raise RequestError(f"is_pro: {model.name} is no pro model; leave is_pro out, or use one of {listed(pro)}")
        return model

    def _model[M: (ImageModel, VideoModel)](self, models: Mapping[str, M], name: str, other: TaskType) -> M:
        if name not in models:
            fault = f"is a model for {other}s" if name in self.catalog.names(other) else "is not known"
            raise RequestError(f"model: {shown(name)} {fault}; allowed: {listed(sorted(models))}")
        return models[name]

    def _accounts(self, model: Model, accounts: Sequence[str]) -> list[str]:
        """The tokens whose region offers the model."""
        regions = {account: self.region(account) for account in accounts}
        usable = [account for account, region in regions.items() if region in model.regions]
        if not usable:
            here, there = listed(sorted(set(regions.values()))), listed(sorted(model.regions))
            raise RequestError(
                f"model: {model.name} is not offered in the region of the token ({here}), but in {there}"
            )
        return usable


def _references(images: Sequence[Reference], check: CheckReference) -> list[dict[str, Any]]:
    for position, image in enumerate(images):
        try:
            check(image.url)
        except RequestError as error:
            raise type(error)(f"images[{position}]: {error}") from None
    return [{"url": image.url, "width": image.width or 0, "height": image.height or 0} for image in images]


def _order(
    task_type: TaskType, request: GenerationRequest, params: Mapping[str, Any], accounts: Sequence[str]
) -> Order:
    return Order(
        task_type=task_type,
        params=params,
        accounts=accounts,
        task_id=request.task_id,
        idempotency_key=request.idempotency_key,
        server_id=request.server_id,
    )


def _check_text(field: str, text: str, limit: int) -> None:
    length = len(text.strip())
    if length > limit:
        raise RequestError(f"{field}: has {length} characters; this model takes at most {limit}")


def _check_count(field: str, count: int, limit: int, model: str) -> None:
    if count > limit:
        raise RequestError(f"{field}: {count} is too many; {model} takes at most {limit}")


def _video_resolution(model: VideoModel, resolution: str | None) -> str:
    return model.resolutions[0] if resolution is None else resolution_among(resolution, model.resolutions)


def _duration(model: VideoModel, duration: int | None) -> int:
    if duration is None:
        return model.durations[0]
    if duration not in model.durations:
        hint = "; durations are milliseconds, not seconds" if duration < 1000 else ""
        raise RequestError(
            f"duration: {model.name} does not make {duration} ms; allowed: {listed(sorted(model.durations))}{hint}"
        )
    return duration


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
