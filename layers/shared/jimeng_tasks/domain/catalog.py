"""The shape of a provider's model tables; the tables themselves belong to the provider."""

from collections.abc import Mapping
from dataclasses import dataclass

from .task import TaskType


@dataclass(frozen=True, slots=True)
class Size:
    """A picture size in pixels with the provider's code for its ratio."""

    width: int
    height: int
    ratio_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageModel:
    """One image model: ``sizes[resolution][ratio]`` holds every size it can make.

    ``regions`` are the regions that offer it; ``max_prompt`` counts characters, ``max_references`` input pictures,
    ``max_images`` the pictures of one job.
    """

    name: str
    key: str
    regions: frozenset[str]
    sizes: Mapping[str, Mapping[str, Size]]
    default_resolution: str
    default_ratio: str = "1:1"
    max_prompt: int
    max_references: int
    max_images: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoModel:
    """One video model; ``durations`` in milliseconds, the first is the default.

    ``max_frames`` is 0 for text only, 1 with a first frame, 2 with first and last frame.
    """

    name: str
    key: str
    regions: frozenset[str]
    benefit_type: str
    durations: tuple[int, ...]
    resolutions: tuple[str, ...]
    sends_resolution: bool
    ratios: tuple[str, ...]
    default_ratio: str
    max_prompt: int
    max_frames: int
    is_pro: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceLimits:
    """What an input picture may be: file formats, bytes, and pixels along one side and in all."""

    formats: frozenset[str]
    max_bytes: int
    min_side: int
    max_side: int
    max_pixels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything a provider offers, by exact public name; aliases are entries of their own."""

    image_models: Mapping[str, ImageModel]
    video_models: Mapping[str, VideoModel]
    default_image_model: str
    default_video_model: str
    default_pro_video_model: str
    references: ReferenceLimits

    def names(self, task_type: TaskType) -> list[str]:
        """Public model names for one kind of task, sorted."""
        models: Mapping[str, object] = self.image_models if task_type is TaskType.IMAGE else self.video_models
        return sorted(models)
