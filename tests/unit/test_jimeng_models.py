"""The model tables, row by row (jimeng-wire 4.7 to 4.9)."""

import pytest

from jimeng_tasks.jimeng.models import CATALOG

CN = frozenset({"cn"})
ASIA = frozenset({"hk", "jp", "sg"})
ALL = CN | ASIA | {"us"}
VGFM = "dreamina_ic_generate_video_model_vgfm"
BASIC = "basic_video_operation_vgfm_v_three"


@pytest.mark.parametrize(
    ("names", "key", "regions"),
    [
        ("jimeng-5.0 jimeng-image-5.0-lite", "high_aes_general_v50", CN | ASIA),
        ("jimeng-image-4.7", "high_aes_general_v43", CN),
        ("jimeng-4.6 jimeng-image-4.6", "high_aes_general_v42", CN | ASIA),
        ("jimeng-4.5 jimeng-image-4.5", "high_aes_general_v40l", ALL),
        ("jimeng-4.1 jimeng-image-4.1", "high_aes_general_v41", ALL),
        ("jimeng-4.0 jimeng-image-4.0", "high_aes_general_v40", ALL),
        ("jimeng-3.1 jimeng-image-3.1", "high_aes_general_v30l_art_fangzhou:general_v3.0_18b", CN),
        ("jimeng-3.0 jimeng-image-3.0", "high_aes_general_v30l:general_v3.0_18b", ALL),
        ("nanobanana", "external_model_gemini_flash_image_v25", ALL - CN),
        ("nanobananapro", "dreamina_image_lib_1", ALL - CN),
        ("jimeng-2.1", "high_aes_general_v21_L:general_v2.1_L", CN),
        ("jimeng-2.0-pro jimeng-image-2.0-pro", "high_aes_general_v20_L:general_v2.0_L", CN),
        ("jimeng-2.0", "high_aes_general_v20:general_v2.0", CN),
        ("jimeng-1.4", "high_aes_general_v14:general_v1.4", CN),
        ("jimeng-xl-pro", "text2img_xl_sft", CN),
    ],
)
def test_image_model(names: str, key: str, regions: frozenset[str]) -> None:
    for name in names.split():
        model = CATALOG.image_models[name]
        assert (model.name, model.key, model.regions) == (name, key, regions)


@pytest.mark.parametrize(
    ("name", "key", "regions", "benefit_type", "seconds"),
    [
        (
            "jimeng-video-seedance-2.0",
            "dreamina_seedance_40_pro",
            CN,
            "dreamina_video_seedance_20_pro",
            [5, 4, *range(6, 16)],
        ),
        (
            "jimeng-video-seedance-2.0-fast",
            "dreamina_seedance_40",
            CN,
            "dreamina_seedance_20_fast",
            [5, 4, *range(6, 16)],
        ),
        ("jimeng-video-3.5-pro", f"{VGFM}_3.5_pro", ALL, "dreamina_video_seedance_15_pro", [5, 10, 12]),
        ("jimeng-video-3.0-pro", f"{VGFM}_3.0_pro", CN | ASIA, BASIC, [5, 10]),
        ("jimeng-video-3.0", f"{VGFM}_3.0", ALL, BASIC, [5, 10]),
        ("jimeng-video-3.0-fast", f"{VGFM}_3.0_fast", CN | ASIA, BASIC, [5, 10]),
        ("jimeng-video-2.0", f"{VGFM}_lite", CN | ASIA, BASIC, [5, 10]),
        ("jimeng-video-2.0-pro", f"{VGFM}1.0", CN | ASIA, BASIC, [5, 10]),
        ("jimeng-video-veo3", "dreamina_veo3_generate_video", ASIA, "generate_video_veo3", [8]),
        ("jimeng-video-veo3.1", "dreamina_veo3.1_generate_video", ASIA, "generate_video_veo3.1", [8]),
        ("jimeng-video-sora2", "dreamina_sora2_generate_video", ASIA, "generate_video_sora2", [4, 8, 12]),
        (
            "jimeng-video-seedance-2.0-mini",
            "dreamina_seedance_40_mini",
            CN,
            "seedance_20_mini_{resolution}_output",
            [5, 10],
        ),
        (
            "jimeng-video-seedance-2.0-pro",
            "dreamina_seedance_40_pro_vision",
            CN,
            "seedance_20_pro_{resolution}_output",
            [5, 10],
        ),
        ("jimeng-video-seedance-1.5-pro", f"{VGFM}_3.5_pro", CN, "dreamina_video_seedance_15_pro", [5, 10]),
        ("jimeng-video-s2.0", f"{VGFM}_lite", CN, BASIC, [5]),
    ],
)
def test_video_model(name: str, key: str, regions: frozenset[str], benefit_type: str, seconds: list[int]) -> None:
    model = CATALOG.video_models[name]
    assert (model.name, model.key, model.regions) == (name, key, regions)
    assert model.benefit_type == benefit_type
    assert model.durations == tuple(1000 * second for second in seconds)


@pytest.mark.parametrize("name", sorted(CATALOG.image_models))
def test_every_size_has_the_shape_of_its_ratio(name: str) -> None:
    for sizes in CATALOG.image_models[name].sizes.values():
        for ratio, size in sizes.items():
            width, height = map(int, ratio.split(":"))
            assert size.width / size.height == pytest.approx(width / height, rel=0.03)


CODES = {"1:1": 1, "3:4": 2, "16:9": 3, "4:3": 4, "9:16": 5, "2:3": 6, "3:2": 7, "21:9": 8}


@pytest.mark.parametrize(
    ("name", "tier", "offset"),
    [
        ("jimeng-4.5", "1k", 0),
        ("jimeng-4.5", "2k", 0),
        ("jimeng-4.5", "4k", 100),
        ("jimeng-3.0", "4k", 100),
        ("nanobanana", "1k", 0),
        ("nanobananapro", "4k", 0),
    ],
)
def test_ratio_codes(name: str, tier: str, offset: int) -> None:
    sizes = CATALOG.image_models[name].sizes[tier]
    assert {ratio: size.ratio_code for ratio, size in sizes.items()} == {k: v + offset for k, v in CODES.items()}


def test_the_defaults_are_offered_in_every_region() -> None:
    assert CATALOG.image_models[CATALOG.default_image_model].regions == ALL
    assert CATALOG.video_models[CATALOG.default_video_model].regions == ALL
    pro = CATALOG.video_models[CATALOG.default_pro_video_model]
    assert pro.regions == ALL
    assert pro.is_pro
    assert not CATALOG.video_models[CATALOG.default_video_model].is_pro
