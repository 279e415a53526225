"""The provider's catalog as ``GET /v1/models`` shows it."""

from typing import Literal

from jimeng_tasks.domain.catalog import Catalog, ImageModel, VideoModel

from .answers import ModelInfo

type Kind = Literal["image", "video"]


def model_list(catalog: Catalog, kind: Kind | None) -> list[ModelInfo]:
    """All models of one kind, or of both, each kind in the order of names."""
    images = [_image(catalog, model) for _, model in sorted(catalog.image_models.items())]
    videos = [_video(catalog, model) for _, model in sorted(catalog.video_models.items())]
    return [model for model in (*images, *videos) if kind in (None, model.type)]


def _image(catalog: Catalog, model: ImageModel) -> ModelInfo:
    ratios = dict.fromkeys(ratio for tier in model.sizes.values() for ratio in tier)
    sizes = {
        resolution: {ratio: f"{size.width}x{size.height}" for ratio, size in tier.items()}
        for resolution, tier in model.sizes.items()
    }
    return ModelInfo(
        id=model.name,
        type="image",
        regions=sorted(model.regions),
        resolutions=list(model.sizes),
        default_resolution=model.default_resolution,
        ratios=list(ratios),
        default_ratio=model.default_ratio,
        sizes=sizes,
        max_prompt=model.max_prompt,
        max_references=model.max_references,
        max_images=model.max_images,
        default=model.name == catalog.default_image_model,
    )


def _video(catalog: Catalog, model: VideoModel) -> ModelInfo:
    return ModelInfo(
        id=model.name,
        type="video",
        regions=sorted(model.regions),
        resolutions=list(model.resolutions),
        default_resolution=model.resolutions[0],
        ratios=list(model.ratios),
        default_ratio=model.default_ratio,
        durations=sorted(model.durations),
        max_prompt=model.max_prompt,
        max_references=model.max_frames,
        max_images=1,
        is_pro=model.is_pro,
        default=model.name == catalog.default_video_model,
    )
