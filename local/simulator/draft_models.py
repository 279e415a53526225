"""The shapes inside `draft_content` and around it (jimeng-wire 4.1 to 4.11); unknown extra fields are tolerated."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Strength = Annotated[float, Field(ge=0, le=1)]
Version = Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]


class Shape(BaseModel):
    """Strict types: "5" is not 5, and true is not 1."""

    model_config = ConfigDict(strict=True, extra="allow")


class Node(Shape):
    """An object with an empty `type`; its `id` is checked by the walk over the whole draft."""

    type: Literal[""]


class LargeImageInfo(Node):
    """4.4"""

    width: int
    height: int
    resolution_type: Literal["1k", "2k", "4k"]


class CoreParam(Node):
    """4.4"""

    model: str
    prompt: str = Field(min_length=1)
    negative_prompt: str = ""
    seed: Seed | None = None
    sample_strength: Strength
    image_ratio: int | None = None
    intelligent_ratio: bool = False
    large_image_info: LargeImageInfo


class GenOption(Node):
    """4.3"""

    generate_all: bool = False
    gen_count: Annotated[int, Field(ge=1, le=8)] | None = None


class Generate(Node):
    """4.3"""

    core_param: CoreParam
    gen_option: GenOption | None = None


class UploadedImage(Shape):
    """An image entry of 4.5 and 4.10: both uri fields name the same committed upload."""

    type: Literal["image"]
    source_from: Literal["upload"]
    platform_type: Literal[1]
    name: str
    image_uri: str
    uri: str
    width: int
    height: int
    format: str


class ByteEdit(Node):
    """4.5"""

    name: Literal["byte_edit"]
    image_uri_list: list[str] = Field(min_length=1, max_length=1)
    image_list: list[UploadedImage] = Field(min_length=1, max_length=1)
    strength: Strength


class Placeholder(Node):
    """4.5"""

    ability_index: int


class PostEdit(Node):
    """4.5"""

    generate_type: Literal[0]


class Blend(Node):
    """4.5"""

    min_version: Literal["3.2.9"] | None = None
    core_param: CoreParam
    ability_list: list[ByteEdit] = Field(min_length=1, max_length=10)
    prompt_placeholder_info_list: list[Placeholder]
    postedit_param: PostEdit
    gen_option: GenOption | None = None


class MaterialRef(Shape):
    """4.11"""

    material_idx: int


class Meta(Shape):
    """4.11"""

    meta_type: Literal["text", "image", "video", "audio"]
    text: str
    material_ref: MaterialRef | None = None


class Clip(Shape):
    """`video_info` and `audio_info` of 4.11; duration in milliseconds."""

    source_from: Literal["upload"]
    vid: str
    duration: int


class Material(Node):
    """4.11"""

    material_type: Literal["image", "video", "audio"]
    image_info: UploadedImage | None = None
    video_info: Clip | None = None
    audio_info: Clip | None = None


class UnifiedEdit(Node):
    """4.11"""

    material_list: list[Material] = Field(min_length=1, max_length=12)
    meta_list: list[Meta] = Field(min_length=1)


class VideoInput(Node):
    """4.10; duration in milliseconds."""

    min_version: Literal["3.0.5", "3.3.9"]
    prompt: str
    video_mode: Literal[2]
    fps: Literal[24]
    duration_ms: int
    resolution: Literal["480p", "720p", "1080p", "4k"] | None = None
    first_frame_image: UploadedImage | None = None
    end_frame_image: UploadedImage | None = None
    unified_edit_input: UnifiedEdit | None = None
    idip_meta_list: list[Any] = []


class TextToVideo(Node):
    """4.10"""

    video_gen_inputs: list[VideoInput] = Field(min_length=1, max_length=1)
    video_aspect_ratio: str
    seed: Seed
    model_req_key: str
    priority: Literal[0]


class GenVideo(Node):
    """4.10"""

    text_to_video_params: TextToVideo
    video_task_extra: str


class Abilities(Node):
    """4.2: exactly the ability that `generate_type` names is read."""

    generate: Generate | None = None
    blend: Blend | None = None
    gen_video: GenVideo | None = None
    gen_option: GenOption | None = None


class Metadata(Node):
    """4.2"""

    created_platform: Literal[3]
    created_platform_version: str
    created_time_in_ms: Annotated[str, Field(pattern=r"^\d{13}$")] | int
    created_did: str


class Component(Shape):
    """4.2"""

    type: Literal["image_base_component", "video_base_component"]
    id: str
    min_version: Version
    aigc_mode: Literal["workbench"]
    metadata: Metadata | None = None
    generate_type: Literal["generate", "blend", "gen_video"]
    process_type: Literal[1] | None = None
    abilities: Abilities


class Draft(Shape):
    """4.2"""

    type: Literal["draft"]
    id: str
    min_version: Version
    min_features: list[str] = []
    is_from_tsn: Literal[True]
    version: Version
    main_component_id: str
    component_list: list[Component] = Field(min_length=1, max_length=1)


class CommerceInfo(Shape):
    """4.9"""

    benefit_type: str
    resource_id: Literal["generate_video"]
    resource_id_type: Literal["str"]
    resource_sub_type: Literal["aigc"]


class Extend(Shape):
    """4.1"""

    root_model: str
    m_video_commerce_info: CommerceInfo | None = None
    m_video_commerce_info_list: list[CommerceInfo] | None = None


class CommonInfo(Shape):
    """4.1"""

    aid: int


class Outer(Shape):
    """The outer body, its JSON texts still texts (4.1)."""

    extend: Extend
    submit_id: str
    http_common_info: CommonInfo
