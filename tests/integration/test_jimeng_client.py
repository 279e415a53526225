"""The adapter against the simulated Jimeng: every kind of job in every region, uploads, credits."""

import logging
import zlib
from dataclasses import replace
from uuid import uuid4

import pytest
import requests

from jimeng_tasks.domain.provider import Credits
from jimeng_tasks.exceptions import (
    ContentRejected,
    LoginRejected,
    ProviderError,
    RateLimited,
    ServerRefused,
    SurelyNotAccepted,
)
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.jimeng.models import CATALOG
from tests.integration.jimeng_jobs import (
    SUCCEEDED,
    VIDEO,
    account_of,
    generated,
    picture,
    submit,
)
from tests.integration.simulator_site import Json, Site

REGIONS = ("cn", "us", "hk", "jp", "sg")


# -- every kind of job, in every region


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("references", [0, 1, 2])
def test_pictures_from_text_and_from_pictures(web: JimengWeb, token: str, region: str, references: int) -> None:
    progress = generated(
        web, account_of(region, token), {"prompt": "a road [[sim step_seconds=0.01]]"}, references=references
    )
    assert progress.state is SUCCEEDED
    assert len(progress.urls) == (1 if references else 4)
    assert requests.get(progress.urls[0], timeout=5).content.startswith(b"\x89PNG")


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("frames", [0, 1, 2])
def test_videos_from_text_and_from_frames(web: JimengWeb, token: str, region: str, frames: int) -> None:
    params = {"prompt": "a boat [[sim step_seconds=0.01]]"}
    progress = generated(web, account_of(region, token), params, kind=VIDEO, references=frames)
    assert progress.state is SUCCEEDED
    assert len(progress.urls) == 1
    assert requests.get(progress.urls[0], timeout=5).content[4:8] == b"ftyp"


@pytest.mark.parametrize("name", sorted(CATALOG.image_models))
def test_every_image_model_is_accepted_in_its_regions_and_sizes(web: JimengWeb, token: str, name: str) -> None:
    model = CATALOG.image_models[name]
    for region in model.regions:
        assert submit(web, account_of(region, token), {"prompt": "x", "model": name})
    account = account_of(min(model.regions), token)
    for resolution, sizes in model.sizes.items():
        for ratio in sizes:
            assert submit(web, account, {"prompt": "x", "model": name, "ratio": ratio, "resolution": resolution})


@pytest.mark.parametrize("name", sorted(CATALOG.video_models))
def test_every_video_model_is_accepted_in_its_regions_and_forms(web: JimengWeb, token: str, name: str) -> None:
    model = CATALOG.video_models[name]
    for region in model.regions:
        assert submit(web, account_of(region, token), {"prompt": "x", "model": name}, kind=VIDEO)
    choices: list[Json] = [{"duration": one} for one in model.durations]
    choices += [{"ratio": one} for one in model.ratios] + [{"resolution": one} for one in model.resolutions]
    for choice in choices:
        params = {"prompt": "x", "model": name, **choice}
        assert submit(web, account_of(min(model.regions), token), params, kind=VIDEO)


@pytest.mark.parametrize("count", [1, 4, 6, 8])
def test_as_many_pictures_as_asked_for(web: JimengWeb, token: str, count: int) -> None:
    assert len(generated(web, token, {"prompt": "x", "n": count}).urls) == count


def test_a_prepared_submission_is_the_same_job_when_it_is_sent_again(web: JimengWeb, token: str, site: Site) -> None:
    submit_id = str(uuid4())
    params = {"prompt": "[[sim dedupe]] x"}
    first, second = (submit(web, token, params, submit_id=submit_id) for _ in range(2))
    assert first == second
    assert site.admin("GET", "submissions")[submit_id] == {"received": 2, "accepted": 1}


# -- uploads


@pytest.mark.parametrize("form", ["list", "single"])
def test_both_forms_of_the_upload_host(web: JimengWeb, token: str, site: Site, form: str) -> None:
    site.script({"apply_host_form": form})
    assert generated(web, token, {"prompt": "x"}, references=1).state is SUCCEEDED


def test_a_checksum_that_begins_with_zero(web: JimengWeb, token: str) -> None:
    plain = picture()
    variants = (plain.data + str(number).encode() for number in range(10_000))
    data = next(variant for variant in variants if zlib.crc32(variant) < 1 << 24)
    assert web.upload_reference(token, replace(plain, data=data))


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ({"upload_token_ret": "1015"}, LoginRejected),
        ({"upload_token_ret": "2002"}, ServerRefused),
        ({"apply_error": "InternalError"}, ServerRefused),
        ({"store_code": 4008}, ServerRefused),
        ({"store_http": 503}, ServerRefused),
        ({"store_http": 429}, RateLimited),
        ({"store_drop": True}, ServerRefused),
        ({"commit_error": "InternalError"}, ServerRefused),
        ({"commit_status": 2001}, ServerRefused),
        ({"algo_ret": "2003"}, ContentRejected),
    ],
)
def test_an_upload_that_fails(web: JimengWeb, token: str, site: Site, script: Json, error: type[ProviderError]) -> None:
    site.script(script)
    with pytest.raises(error) as fault:
        web.upload_reference(token, picture())
    assert type(fault.value) is error
    assert isinstance(fault.value, SurelyNotAccepted) or error in (LoginRejected, ContentRejected)


def test_a_content_check_that_is_out_of_order_stops_nothing(web: JimengWeb, token: str, site: Site) -> None:
    site.script({"algo_ret": "1014"})
    assert web.upload_reference(token, picture())


def test_abroad_there_is_no_content_check(web: JimengWeb, token: str, site: Site) -> None:
    site.script({"algo_ret": "2003"})
    assert web.upload_reference(f"hk-{token}", picture())


# -- credits, secrets


def test_credits(web: JimengWeb, token: str, site: Site) -> None:
    site.admin("POST", "tokens", {"token": token, "credits": 40, "purchase": 5, "vip": 2})
    assert web.credits(token) == Credits(gift=40, purchase=5, vip=2)


def test_nothing_secret_is_logged(web: JimengWeb, token: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="jimeng_tasks.jimeng"):
        generated(web, token, {"prompt": "the secret plan [[sim fail=30]]"}, references=1)
        web.credits(token)

    told = "\n".join(record.getMessage() for record in caplog.records if record.name == "jimeng_tasks.jimeng")
    assert "/mweb/v1/aigc_draft/generate" in told
    for secret in (token, "secret plan", "x-signature", "Signature=", "sessionid", "webId"):
        assert secret not in told
