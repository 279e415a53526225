"""Every model by its exact public name (jimeng-wire 4.7, 4.9): a name is looked up, never searched for parts.

The names of two gateways lead to one table: "J" is the one that knows all regions, "Z" the newest for China. Where both
use a name for different models, J's meaning holds.
"""

from collections.abc import Iterable, Mapping

from jimeng_tasks.domain.catalog import Catalog, ImageModel, ReferenceLimits, VideoModel

from .sizes import NANOBANANA_PRO_SIZES_4K, SIZES_1K, SIZES_2K, SIZES_4K, SizeTable

CN = frozenset({"cn"})
ASIA = frozenset({"hk", "jp", "sg"})
ABROAD = ASIA | {"us"}
CN_ASIA = CN | ASIA
EVERYWHERE = CN | ABROAD

NANOBANANA_KEY = "external_model_gemini_flash_image_v25"

MAX_IMAGE_PROMPT = 2000
MAX_VIDEO_PROMPT = 800
MAX_REFERENCES = 10

ImageRow = tuple[str, frozenset[str], tuple[str, ...]]

SERIES_4: tuple[ImageRow, ...] = (
    ("high_aes_general_v50", CN_ASIA, ("jimeng-5.0", "jimeng-image-5.0-lite")),
    ("high_aes_general_v43", CN, ("jimeng-image-4.7",)),
    ("high_aes_general_v42", CN_ASIA, ("jimeng-4.6", "jimeng-image-4.6")),
    ("high_aes_general_v40l", EVERYWHERE, ("jimeng-4.5", "jimeng-image-4.5")),
    ("high_aes_general_v41", EVERYWHERE, ("jimeng-4.1", "jimeng-image-4.1")),
    ("high_aes_general_v40", EVERYWHERE, ("jimeng-4.0", "jimeng-image-4.0")),
)
SERIES_3: tuple[ImageRow, ...] = (
    ("high_aes_general_v30l_art_fangzhou:general_v3.0_18b", CN, ("jimeng-3.1", "jimeng-image-3.1")),
    ("high_aes_general_v30l:general_v3.0_18b", EVERYWHERE, ("jimeng-3.0", "jimeng-image-3.0")),
)
OLD_SERIES: tuple[ImageRow, ...] = (
    ("high_aes_general_v21_L:general_v2.1_L", CN, ("jimeng-2.1",)),
    ("high_aes_general_v20_L:general_v2.0_L", CN, ("jimeng-2.0-pro", "jimeng-image-2.0-pro")),
    ("high_aes_general_v20:general_v2.0", CN, ("jimeng-2.0",)),
    ("high_aes_general_v14:general_v1.4", CN, ("jimeng-1.4",)),
    ("text2img_xl_sft", CN, ("jimeng-xl-pro",)),
)
NANOBANANA: tuple[ImageRow, ...] = ((NANOBANANA_KEY, ABROAD, ("nanobanana",)),)
NANOBANANA_PRO: tuple[ImageRow, ...] = (("dreamina_image_lib_1", ABROAD, ("nanobananapro",)),)

ALL_SIZES = {"1k": SIZES_1K, "2k": SIZES_2K, "4k": SIZES_4K}


def _images(
    rows: Iterable[ImageRow],
    sizes: Mapping[str, SizeTable],
    default_resolution: str,
    *,
    max_images: int = 4,
    max_references: int = MAX_REFERENCES,
) -> dict[str, ImageModel]:
    return {
        name: ImageModel(
            name=name,
            key=key,
            regions=regions,
            sizes=sizes,
            default_resolution=default_resolution,
            max_prompt=MAX_IMAGE_PROMPT,
            max_references=max_references,
            max_images=max_images,
        )
        for key, regions, names in rows
        for name in names
    }


IMAGE_MODELS = (
    _images(SERIES_4, ALL_SIZES, "2k", max_images=8)
    | _images(SERIES_3, ALL_SIZES, "2k")
    | _images(OLD_SERIES, {"1k": SIZES_1K}, "1k", max_references=1)
    | _images(NANOBANANA, {"1k": SIZES_1K}, "1k")
    | _images(NANOBANANA_PRO, ALL_SIZES | {"4k": NANOBANANA_PRO_SIZES_4K}, "2k")
)

VGFM = "dreamina_ic_generate_video_model_vgfm"
BASIC_BENEFIT = "basic_video_operation_vgfm_v_three"
FIVE_TEN = (5, 10)
FOUR_TO_FIFTEEN = (5, 4, *range(6, 16))
HD = ("720p",)
SENT = ("720p", "480p", "1080p")
VIDEO_RATIOS = ("16:9", "9:16", "1:1", "4:3", "3:4", "21:9")

VideoRow = tuple[str, str, frozenset[str], str, tuple[int, ...], tuple[str, ...]]

# name, key, regions, benefit type, seconds (default first), resolutions (default first)
VIDEO_ROWS: tuple[VideoRow, ...] = (
    (
        "jimeng-video-seedance-2.0",
        "dreamina_seedance_40_pro",
        CN,
        "dreamina_video_seedance_20_pro",
        FOUR_TO_FIFTEEN,
        HD,
    ),
    ("jimeng-video-seedance-2.0-fast", "dreamina_seedance_40", CN, "dreamina_seedance_20_fast", FOUR_TO_FIFTEEN, HD),
    ("jimeng-video-3.5-pro", f"{VGFM}_3.5_pro", EVERYWHERE, "dreamina_video_seedance_15_pro", (5, 10, 12), HD),
    ("jimeng-video-seedance-1.5-pro", f"{VGFM}_3.5_pro", CN, "dreamina_video_seedance_15_pro", FIVE_TEN, HD),
    ("jimeng-video-3.0-pro", f"{VGFM}_3.0_pro", CN_ASIA, BASIC_BENEFIT, FIVE_TEN, ("1080p", "720p")),
    ("jimeng-video-3.0", f"{VGFM}_3.0", EVERYWHERE, BASIC_BENEFIT, FIVE_TEN, SENT),
    ("jimeng-video-3.0-fast", f"{VGFM}_3.0_fast", CN_ASIA, BASIC_BENEFIT, FIVE_TEN, SENT),
    ("jimeng-video-2.0", f"{VGFM}_lite", CN_ASIA, BASIC_BENEFIT, FIVE_TEN, HD),
    ("jimeng-video-s2.0", f"{VGFM}_lite", CN, BASIC_BENEFIT, (5,), HD),
    ("jimeng-video-2.0-pro", f"{VGFM}1.0", CN_ASIA, BASIC_BENEFIT, FIVE_TEN, HD),
    ("jimeng-video-veo3", "dreamina_veo3_generate_video", ASIA, "generate_video_veo3", (8,), HD),
    ("jimeng-video-veo3.1", "dreamina_veo3.1_generate_video", ASIA, "generate_video_veo3.1", (8,), HD),
    ("jimeng-video-sora2", "dreamina_sora2_generate_video", ASIA, "generate_video_sora2", (4, 8, 12), HD),
    (
        "jimeng-video-seedance-2.0-mini",
        "dreamina_seedance_40_mini",
        CN,
        "seedance_20_mini_{resolution}_output",
        FIVE_TEN,
        HD,
    ),
    (
        "jimeng-video-seedance-2.0-pro",
        "dreamina_seedance_40_pro_vision",
        CN,
        "seedance_20_pro_{resolution}_output",
        FIVE_TEN,
        ("720p", "1080p", "4k"),
    ),
)
"""``{resolution}`` in a benefit type stands for the asked one: those models have a price for each."""

SENDS_RESOLUTION = frozenset(
    {f"{VGFM}_3.0", f"{VGFM}_3.0_fast", "dreamina_seedance_40_mini", "dreamina_seedance_40_pro_vision"}
)
"""Keys whose drafts name a resolution; for the others the site chooses it (jimeng-wire 4.10)."""


def _video(row: VideoRow) -> VideoModel:
    name, key, regions, benefit_type, seconds, resolutions = row
    return VideoModel(
        name=name,
        key=key,
        regions=regions,
        benefit_type=benefit_type,
        durations=tuple(1000 * second for second in seconds),
        resolutions=resolutions,
        sends_resolution=key in SENDS_RESOLUTION,
        ratios=VIDEO_RATIOS,
        default_ratio="16:9",
        max_prompt=MAX_VIDEO_PROMPT,
        max_frames=2,
        is_pro=name.endswith("-pro"),
    )


CATALOG = Catalog(
    image_models=IMAGE_MODELS,
    video_models={row[0]: _video(row) for row in VIDEO_ROWS},
    default_image_model="jimeng-4.5",
    default_video_model="jimeng-video-3.0",
    default_pro_video_model="jimeng-video-3.5-pro",
    references=ReferenceLimits(
        formats=frozenset({"jpeg", "png", "webp"}),
        max_bytes=4 * 1024 * 1024 + 700 * 1024,
        min_side=15,
        max_side=4096,
        max_pixels=4096 * 4096,
    ),
)
"""The defaults are offered in every region. Reference limits: volcengine-wire A.2 and A.7, the strictest of them,
because the site itself documents none."""
