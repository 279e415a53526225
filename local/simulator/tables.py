"""The site's own tables: hosts, models, sizes and prices, from the wire contract and from nowhere else.

They are kept apart from the product's tables on purpose, so a wrong row on either side shows in a test.
"""

from dataclasses import dataclass, field

CN = "cn"
ALL = frozenset({"cn", "us", "hk", "jp", "sg"})
ASIA = frozenset({"hk", "jp", "sg"})
CN_ONLY = frozenset({"cn"})
ABROAD = frozenset({"us"}) | ASIA

AIDS = {"cn": 513695, "us": 513641, "hk": 513641, "jp": 513641, "sg": 513641}
"""Application id of each region (jimeng-wire 1.1)."""

SIGV4_REGIONS = {
    "cn": "cn-north-1",
    "us": "us-east-1",
    "hk": "ap-southeast-1",
    "jp": "ap-southeast-1",
    "sg": "ap-southeast-1",
}
"""Region name inside the upload signature (jimeng-wire 1.1)."""

SERVICE_IDS = {
    "cn": "tb4s082cfz",
    "us": "wopfjsm1ax",
    "hk": "wopfjsm1ax",
    "jp": "wopfjsm1ax",
    "sg": "wopfjsm1ax",
}
"""ImageX service of each region (jimeng-wire 1.1)."""

STORE_PREFIXES = {
    "cn": "tos-cn-i",
    "us": "tos-useast5-i",
    "hk": "tos-alisg-i",
    "jp": "tos-alisg-i",
    "sg": "tos-alisg-i",
}
"""How a stored image's uri begins (jimeng-wire 6.5; abroad an assumption)."""

IMAGE_MODELS: dict[str, frozenset[str]] = {
    "high_aes_general_v50": CN_ONLY | ASIA,
    "high_aes_general_v43": CN_ONLY,
    "high_aes_general_v42": CN_ONLY | ASIA,
    "high_aes_general_v40l": ALL,
    "high_aes_general_v41": ALL,
    "high_aes_general_v40": ALL,
    "high_aes_general_v30l_art_fangzhou:general_v3.0_18b": CN_ONLY,
    "high_aes_general_v30l:general_v3.0_18b": ALL,
    "external_model_gemini_flash_image_v25": ABROAD,
    "dreamina_image_lib_1": ABROAD,
    "high_aes_general_v21_L:general_v2.1_L": CN_ONLY,
    "high_aes_general_v20_L:general_v2.0_L": CN_ONLY,
    "high_aes_general_v20:general_v2.0": CN_ONLY,
    "high_aes_general_v14:general_v1.4": CN_ONLY,
    "text2img_xl_sft": CN_ONLY,
}
"""Internal image model key to the regions that offer it (jimeng-wire 4.7)."""

NANOBANANA = "external_model_gemini_flash_image_v25"
NANOBANANA_PRO = "dreamina_image_lib_1"
INTELLIGENT_RATIO_MODELS = frozenset(
    {
        "high_aes_general_v50",
        "high_aes_general_v42",
        "high_aes_general_v40l",
        "high_aes_general_v41",
        "high_aes_general_v40",
    }
)
"""Models that may choose the ratio themselves (jimeng-wire 4.4)."""

BENEFIT_COUNT_MODELS = INTELLIGENT_RATIO_MODELS - {"high_aes_general_v50"}
"""4.x keys whose 2k jobs are refused as unpaid when no `benefitCount` is sent (jimeng-wire 4.6)."""

Size = tuple[int, int]

IMAGE_SIZES: dict[tuple[str, int], frozenset[Size]] = {
    ("1k", 1): frozenset({(1024, 1024), (1328, 1328)}),
    ("1k", 2): frozenset({(1024, 768), (768, 1024), (1104, 1472)}),
    ("1k", 3): frozenset({(1024, 576), (1664, 936)}),
    ("1k", 4): frozenset({(768, 1024), (1024, 768), (1472, 1104)}),
    ("1k", 5): frozenset({(576, 1024), (936, 1664)}),
    ("1k", 6): frozenset({(682, 1024), (1056, 1584)}),
    ("1k", 7): frozenset({(1024, 682), (1584, 1056)}),
    ("1k", 8): frozenset({(1195, 512), (2016, 846)}),
    ("2k", 1): frozenset({(2048, 2048)}),
    ("2k", 2): frozenset({(1728, 2304)}),
    ("2k", 3): frozenset({(2560, 1440)}),
    ("2k", 4): frozenset({(2304, 1728)}),
    ("2k", 5): frozenset({(1440, 2560)}),
    ("2k", 6): frozenset({(1664, 2496)}),
    ("2k", 7): frozenset({(2496, 1664)}),
    ("2k", 8): frozenset({(3024, 1296)}),
    ("4k", 101): frozenset({(4096, 4096)}),
    ("4k", 102): frozenset({(3456, 4608)}),
    ("4k", 103): frozenset({(5120, 2880)}),
    ("4k", 104): frozenset({(4608, 3456)}),
    ("4k", 105): frozenset({(2880, 5120)}),
    ("4k", 106): frozenset({(3328, 4992)}),
    ("4k", 107): frozenset({(4992, 3328)}),
    ("4k", 108): frozenset({(6048, 2592)}),
    ("4k", 1): frozenset({(4096, 4096)}),
    ("4k", 2): frozenset({(3520, 4693)}),
    ("4k", 3): frozenset({(5404, 3040)}),
    ("4k", 4): frozenset({(4693, 3520)}),
    ("4k", 5): frozenset({(3040, 5404)}),
    ("4k", 6): frozenset({(3328, 4992)}),
    ("4k", 7): frozenset({(4992, 3328)}),
    ("4k", 8): frozenset({(6197, 2656)}),
}
"""(tier, ratio code) to the pixel sizes seen with it; two published 1k and 4k columns exist (jimeng-wire 4.8)."""

RATIO_NAMES = {1: "1:1", 2: "3:4", 3: "16:9", 4: "4:3", 5: "9:16", 6: "2:3", 7: "3:2", 8: "21:9"}

VIDEO_RATIOS: dict[str, Size] = {
    "1:1": (1, 1),
    "4:3": (4, 3),
    "3:4": (3, 4),
    "16:9": (16, 9),
    "9:16": (9, 16),
    "21:9": (21, 9),
    "427:240": (427, 240),
    "240:427": (240, 427),
}
"""Accepted `video_aspect_ratio` values (jimeng-wire 4.10); the odd two are 480p reduced by its divisor."""

VIDEO_HEIGHTS = {"480p": 480, "720p": 720, "1080p": 1080, "4k": 2160}
"""Short side in pixels of each `resolution` value."""

VGFM = "dreamina_ic_generate_video_model_vgfm_"
BASIC_BENEFIT = "basic_video_operation_vgfm_v_three"


@dataclass(frozen=True)
class VideoModel:
    """One video model: where it is offered, what it may cost and how long it may run (jimeng-wire 4.9)."""

    regions: frozenset[str]
    benefits: frozenset[str]
    seconds: frozenset[int]
    resolutions: frozenset[str] = frozenset({"480p", "720p", "1080p"})
    omni_benefits: frozenset[str] = frozenset()
    resolution_required: bool = False
    resolution_benefits: dict[str, str] = field(default_factory=dict)


FIVE_TEN = frozenset({5, 10})
FOUR_TO_FIFTEEN = frozenset(range(4, 16))
CN_ASIA = CN_ONLY | ASIA


def _benefits(*names: str) -> frozenset[str]:
    return frozenset(names)


def _vision(family: str, *resolutions: str) -> VideoModel:
    prices = {resolution: f"seedance_20_{family}_{resolution}_output" for resolution in resolutions}
    return VideoModel(
        CN_ONLY,
        frozenset(prices.values()),
        FIVE_TEN,
        frozenset(resolutions),
        resolution_benefits=prices,
        resolution_required=True,
    )


VIDEO_MODELS: dict[str, VideoModel] = {
    "dreamina_seedance_40_pro": VideoModel(
        CN_ONLY,
        _benefits("dreamina_video_seedance_20_pro"),
        FOUR_TO_FIFTEEN,
        omni_benefits=_benefits("dreamina_video_seedance_20_video_add", "dreamina_video_seedance_20_pro_with_video"),
    ),
    "dreamina_seedance_40": VideoModel(
        CN_ONLY,
        _benefits("dreamina_seedance_20_fast"),
        FOUR_TO_FIFTEEN,
        omni_benefits=_benefits("dreamina_seedance_20_fast_with_video"),
    ),
    f"{VGFM}3.5_pro": VideoModel(ALL, _benefits("dreamina_video_seedance_15_pro"), frozenset({5, 10, 12})),
    f"{VGFM}3.0_pro": VideoModel(CN_ASIA, _benefits(BASIC_BENEFIT, f"{BASIC_BENEFIT}_pro"), FIVE_TEN),
    f"{VGFM}3.0": VideoModel(ALL, _benefits(BASIC_BENEFIT), FIVE_TEN, resolution_required=True),
    f"{VGFM}3.0_fast": VideoModel(
        CN_ASIA, _benefits(BASIC_BENEFIT, f"{BASIC_BENEFIT}_1080"), FIVE_TEN, resolution_required=True
    ),
    f"{VGFM}lite": VideoModel(CN_ASIA, _benefits(BASIC_BENEFIT), FIVE_TEN),
    "dreamina_ic_generate_video_model_vgfm1.0": VideoModel(CN_ASIA, _benefits(BASIC_BENEFIT), FIVE_TEN),
    "dreamina_veo3_generate_video": VideoModel(ASIA, _benefits("generate_video_veo3"), frozenset({8})),
    "dreamina_veo3.1_generate_video": VideoModel(ASIA, _benefits("generate_video_veo3.1"), frozenset({8})),
    "dreamina_sora2_generate_video": VideoModel(ASIA, _benefits("generate_video_sora2"), frozenset({4, 8, 12})),
    "dreamina_seedance_40_mini": _vision("mini", "720p"),
    "dreamina_seedance_40_vision": _vision("fast", "720p"),
    "dreamina_seedance_40_pro_vision": _vision("pro", "720p", "1080p", "4k"),
}
"""Internal video model key to its rules (jimeng-wire 4.9)."""
