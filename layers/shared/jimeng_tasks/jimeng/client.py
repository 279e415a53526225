"""The Jimeng web API as a `Provider`: one method per thing a task needs, the wire behind it."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import requests

from jimeng_tasks.domain.catalog import Catalog
from jimeng_tasks.domain.provider import Credits, Picture, Prepared, Progress
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.exceptions import LoginRejected, OutcomeUnknown, RequestError, ServerRefused
from jimeng_tasks.settings import Settings

from .answers import Answer, first_text, mapping_of, parse_object, text_of
from .connections import new_session, public_session
from .drafts import Job, Submission, image_submission, video_submission
from .models import CATALOG
from .orders import image_order, video_order
from .quality import BestQuality
from .records import history_id_of, named_id, records_by_history_id, records_by_submit_id
from .regions import ALL_REGIONS, Account, parse_token
from .results import progress_of
from .site import CREDIT_PATH, GENERATE_PATH, HISTORY_PATH, Site
from .transport import Transport
from .uploads import Uploads

MS_PER_SECOND = 1000
MAX_DIGITS = 16
CREDIT_KINDS = ("gift_credit", "purchase_credit", "vip_credit")


class JimengWeb:
    """Generates through the sites that jimeng.jianying.com and dreamina.capcut.com use themselves.

    Safe for many threads. ``now`` gives epoch seconds. A ``session`` of the caller's is used as it is; ours keeps no
    cookies, retries nothing, and opens a fresh connection for each paid call.
    """

    def __init__(
        self, settings: Settings, session: requests.Session | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._now = now
        used = session or new_session(_paid_addresses(settings))
        transport = Transport(used, settings.jimeng_timeout, now)
        self._site = Site(settings, transport, now)
        stores = session or (used if settings.allow_private_urls else public_session())
        self._uploads = Uploads(settings, self._site, transport, Transport(stores, settings.jimeng_timeout, now), now)

    @property
    def catalog(self) -> Catalog:
        """Models, sizes and limits of every region."""
        return CATALOG

    def region(self, account: str) -> str:
        """The region of an account: cn, us, hk, jp or sg.

        Raises:
            LoginMissing: the token is malformed.
            RegionUnknown: it has an unknown region prefix; the known ones are listed.
        """
        return parse_token(account).region.name

    def upload_reference(self, account: str, picture: Picture) -> str:
        """Hand a reference picture over, free of charge; returns its uri.

        Raises:
            SurelyNotAccepted: the upload failed and may be tried again.
            ContentRejected: the site's check refused the picture.
        """
        try:
            return self._uploads.upload(_login(account), picture.data)
        except OutcomeUnknown as error:
            raise ServerRefused(f"the upload failed: {error}", log_id=error.log_id) from error

    def prepare(
        self,
        account: str,
        submit_id: str,
        task_type: TaskType,
        params: Mapping[str, Any],
        references: Sequence[str],
    ) -> Prepared:
        """Translate stored parameters into a complete generate call, without making any.

        Raises:
            ParameterRejected: the parameters name something that the catalog does not have.
        """
        region = _login(account).region
        job = Job(
            submit_id=submit_id,
            app_id=self._site.app_id(region),
            draft_version=self._settings.jimeng_draft_version,
            created_ms=round(self._now() * MS_PER_SECOND),
        )
        if task_type is TaskType.IMAGE:
            picture = image_order(CATALOG, region, params, len(references))
            key, submission = picture.model.key, image_submission(picture, references, job)
        else:
            video = video_order(CATALOG, region, params, len(references))
            key, submission = video.model.key, video_submission(video, references, job)
        return Prepared(mapped_model=key, component_id=submission.component_id, request=submission)

    def submit(self, account: str, prepared: Prepared) -> str:
        """Make the paid call, once; returns the history id of the accepted job (jimeng-wire 4.12).

        Raises:
            SurelyNotAccepted: nothing was started; the same submission may be made again.
            Refused: final for this input or account.
            OutcomeUnknown: a job may have been started; `find` tells.
        """
        login = _login(account)
        submission: Submission = prepared.request
        referer = f"{login.region.generate_page}?type={submission.page}"
        answer = self._site.call(login, GENERATE_PATH, submission.body, referer=referer)
        history_id = _accepted_id(answer)
        if not history_id:
            raise OutcomeUnknown("the site took the call but named no history_record_id", log_id=answer.log_id)
        return history_id

    def poll(self, account: str, history_ids: Sequence[str]) -> Mapping[str, Progress]:
        """Progress by history id, in one request; finished videos in the best quality the site has.

        Raises:
            LoginRejected: the account is dead.
            ProviderError: the request as a whole failed; it says nothing about the jobs.
        """
        login = _login(account)
        answer = self._site.call(login, HISTORY_PATH, {"history_ids": list(history_ids)})
        quality = BestQuality(self._site, login)
        return {
            history_id: quality.improve(record, progress_of(record, history_id, answer.log_id, login))
            for history_id, record in records_by_history_id(answer.body, history_ids).items()
        }

    def find(self, account: str, submit_ids: Sequence[str]) -> Mapping[str, Progress]:
        """Progress by submit id, in one request; ids the site does not know, or does not show yet, are missing.

        A job that the site knows without naming its history id has an empty one.

        Raises:
            ProviderError: the look-up failed; it says nothing about the jobs.
        """
        login = _login(account)
        answer = self._site.call(login, HISTORY_PATH, {"submit_ids": list(submit_ids)})
        if not _holds_records(answer.data):
            raise OutcomeUnknown("the look-up was answered without records", log_id=answer.log_id)
        return {
            submit_id: progress_of(record, history_id_of(record), answer.log_id, login)
            for submit_id, record in records_by_submit_id(answer.body, submit_ids).items()
        }

    def credits(self, account: str) -> Credits:
        """What the account can spend (jimeng-wire 7); also the dependable test of a token (jimeng-wire 8.1).

        Raises:
            LoginRejected: the token is dead.
            ProviderError: nobody knows; OutcomeUnknown if the answer holds no credits.
        """
        login = _login(account)
        answer = self._site.call(login, CREDIT_PATH, {}, referer=login.region.credit_page)
        gift, purchase, vip = _credit_numbers(answer)
        return Credits(gift=gift, purchase=purchase, vip=vip)


def _paid_addresses(settings: Settings) -> list[str]:
    bases = {settings.jimeng_base_url or region.api for region in ALL_REGIONS}
    return [base + GENERATE_PATH for base in bases]


def _login(account: str) -> Account:
    """The account for a call; a malformed token is as final as a dead one."""
    try:
        return parse_token(account)
    except RequestError as error:
        raise LoginRejected(str(error)) from error


def _holds_records(data: Any) -> bool:
    """Whether a look-up really answered: only then does a missing job prove anything."""
    return isinstance(data, list) or (isinstance(data, dict) and None not in data.values())


def _accepted_id(answer: Answer) -> str:
    data = mapping_of(answer.data)
    places = (data.get("aigc_data"), data, answer.body.get("aigc_data"))
    return next(
        (found for found in (named_id(mapping_of(place), "history_record_id") for place in places) if found), ""
    )


def _credit_numbers(answer: Answer) -> list[int]:
    copy = parse_object(text_of(answer.body.get("response")).encode()) or {}
    for source in (mapping_of(answer.data), copy):
        credit = mapping_of(source.get("credit"))
        texts = [first_text(credit, kind) for kind in CREDIT_KINDS]
        if any(texts):
            return [int(text) if text.isdecimal() and len(text) < MAX_DIGITS else 0 for text in texts]
    raise OutcomeUnknown("the site's answer holds no credits", log_id=answer.log_id)
