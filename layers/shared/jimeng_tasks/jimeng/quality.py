"""Finished videos in better quality than the history record offers (jimeng-wire 5.7)."""

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.exceptions import NotSent, OutcomeUnknown, ProviderError

from .answers import mapping_of
from .media_urls import best_url, is_video, item_id, preview_url
from .records import Record
from .regions import Account
from .results import items_of
from .site import LOCAL_ITEMS_PATH, Site

BUDGET_SECONDS = 20.0


class BestQuality:
    """Look-ups for the videos of one poll, one after another.

    They end with the first fault of the connection, or ``BUDGET_SECONDS`` after the first: the previews are good
    results too, and the tasks' leases must outlast the poll.
    """

    def __init__(self, site: Site, account: Account) -> None:
        self._site = site
        self._account = account
        self._until = monotonic() + BUDGET_SECONDS

    def improve(self, record: Record, progress: Progress) -> Progress:
        """Replace the preview of each finished video by its original where the site tells it; other progress is
        returned as it is."""
        items = items_of(record)
        if progress.state is not ProgressState.SUCCEEDED or not all(is_video(item) for item in items):
            return progress
        found = [self._best_url(item_id(item)) or preview_url(item) for item in items]
        return replace(progress, urls=tuple(url for url in found if url) or progress.urls)

    def _best_url(self, wanted: str) -> str | None:
        if not wanted or monotonic() >= self._until:
            return None
        body = {
            "item_id_list": [wanted],
            "pack_item_opt": {"scene": 1, "need_data_integrity": True},
            "is_for_video_download": True,
        }
        try:
            data = mapping_of(self._site.call(self._account, LOCAL_ITEMS_PATH, body).data)
        except (OutcomeUnknown, NotSent):
            self._until = 0.0
            return None
        except ProviderError:
            return None
        return _url_of(data, wanted)


def _url_of(data: Mapping[str, Any], wanted: str) -> str | None:
    listed = data.get("item_list") or data.get("local_item_list")
    item = mapping_of(listed[0]) if isinstance(listed, list) and listed else {}
    return best_url(item) if item_id(item) in ("", wanted) else None
