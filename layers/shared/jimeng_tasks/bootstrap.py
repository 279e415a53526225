"""Puts the parts together, each when it is first needed: a handler imports what it uses and nothing else."""

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .domain.lifecycle import Policy
from .domain.ports import Clock, Kick, MediaSource, MediaStorage, TaskStore
from .domain.provider import Provider
from .domain.task import Task, TaskType
from .observability import EmfMetrics, configure_logging
from .secrets import resolve
from .service.accounts import Accounts
from .service.inline_media import INLINE_SECONDS, InlinePictures
from .service.monitor import TaskMonitor
from .service.query import QueryTask
from .service.submit import SubmitTask
from .service.uploads import UploadPictures
from .settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pymongo import MongoClient

    from .poller.handler import PollerHandler
    from .service.validation import Validator
    from .service.work.context import JobContext
    from .store.tokens import TokenVault

QUERY_SECONDS = 20  # what one query may spend on advancing a task in memory mode
API_CALL_SECONDS = 20  # the most that one call to the provider may take while a client waits: the gateway waits 29


def new_id() -> str:
    """A fresh uuid4 as text."""
    return str(uuid.uuid4())


class Container:
    """The objects of one process, made from the settings on first use and then kept."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = EmfMetrics(settings.powertools_service_name)
        configure_logging(settings.log_level)

    # -- adapters

    @cached_property
    def _mongo_client(self) -> "MongoClient[dict[str, Any]]":
        from .store.mongo import connect

        return connect(self.settings.mongodb_uri)

    @property
    def _vault(self) -> "TokenVault":
        from .store.tokens import PLAIN, EncryptedTokens

        keys = self.settings.token_encryption_key
        return EncryptedTokens(keys) if keys else PLAIN

    @cached_property
    def store(self) -> TaskStore:
        """MongoDB, or this process's memory when ``USE_DATABASE_MODE`` is false."""
        if self.settings.use_database_mode:
            from .store.mongo import MongoTaskStore

            return MongoTaskStore(self._mongo_client, self.settings.mongodb_database, new_id, self._vault)
        from .store.memory import MemoryTaskStore

        return MemoryTaskStore(new_id)

    @cached_property
    def clock(self) -> Clock:
        """The database's clock, which all hosts share; in memory mode this host's."""
        from .store.clock import DatabaseClock, SystemClock

        return DatabaseClock(self._mongo_client) if self.settings.use_database_mode else SystemClock()

    @cached_property
    def provider(self) -> Provider:
        """The Jimeng web API."""
        from .jimeng.client import JimengWeb

        return JimengWeb(self.settings)

    @cached_property
    def source(self) -> MediaSource:
        """Reads references and media behind the SSRF guard."""
        return self._source()

    def _source(self, **bounds: Any) -> MediaSource:
        from .media.source import GuardedSource

        limits, settings = self.provider.catalog.references, self.settings
        return GuardedSource(settings.allow_private_urls, limits, settings.jimeng_timeout, **bounds)

    @cached_property
    def storage(self) -> MediaStorage | None:
        """TOS, or None when no bucket is configured."""
        from .storage.tos import TosStorage

        return TosStorage.from_settings(self.settings)

    @cached_property
    def kick(self) -> Kick | None:
        """The asynchronous invocation of a poller, or None when no prefix is configured."""
        if not self.settings.poller_function_prefix:
            return None
        from .kick import LambdaKick

        return LambdaKick(self.settings.poller_function_prefix)

    # -- use cases of the API

    @cached_property
    def validator(self) -> "Validator":
        """Turns requests into orders."""
        from .service.validation import Validator

        return Validator(self.provider.catalog, self.provider.region)

    @cached_property
    def submit(self) -> SubmitTask:
        """Takes orders."""
        settings = self.settings
        return SubmitTask(
            store=self.store,
            clock=self.clock,
            metrics=self.metrics,
            services=settings.known_services,
            timeouts={TaskType.IMAGE: settings.image_task_timeout, TaskType.VIDEO: settings.video_task_timeout},
            new_id=lambda: uuid.uuid4().hex,
            kick=self.kick,
        )

    @cached_property
    def query(self) -> QueryTask:
        """Answers what became of a task."""
        return QueryTask(store=self.store, clock=self.clock, grace=self.settings.result_grace_seconds)

    @cached_property
    def monitor(self) -> TaskMonitor:
        """Numbers for operators."""
        return TaskMonitor(store=self.store, clock=self.clock)

    @cached_property
    def accounts(self) -> Accounts:
        """Token checks and credits."""
        return Accounts(provider=self.provider)

    @cached_property
    def inline(self) -> InlinePictures:
        """Gives the pictures of a result themselves."""
        return InlinePictures(source=self._source(media_timeout=INLINE_SECONDS))

    @cached_property
    def uploads(self) -> UploadPictures:
        """Stores uploaded pictures."""
        return UploadPictures(storage=self.storage, prefix=self.settings.tos_prefix)

    # -- the poller

    def new_job_context(self) -> "JobContext":
        """The collaborators of one poller invocation, with fresh counters."""
        from .service.work.context import JobContext

        return JobContext(
            store=self.store,
            provider=self.provider,
            source=self.source,
            storage=self.storage,
            clock=self.clock,
            metrics=self.metrics,
            policy=self.policy,
            key_prefix=self.settings.tos_prefix,
        )

    @cached_property
    def policy(self) -> Policy:
        """The life cycle's limits; a lease outlasts every single call to the provider."""
        longest_call = 2 * self.settings.jimeng_timeout + 30
        return Policy(
            lease=max(120, longest_call), submit_lease=longest_call, result_expire=self.settings.result_expire_time
        )

    def poller(self, server_id: str) -> "PollerHandler":
        """The poller of one service."""
        from .poller.handler import PollerHandler
        from .poller.loop import PollerConfig
        from .service.work.upkeep import Housekeeping

        settings = self.settings
        config = PollerConfig(
            server_id=server_id,
            capacity=settings.max_concurrent_tasks,
            interval=settings.task_poll_interval,
            margin=settings.jimeng_timeout + 10,
        )
        return PollerHandler(
            config=config,
            new_job_context=self.new_job_context,
            housekeeping=Housekeeping(self.store, self.clock, settings.task_retention),
            new_id=new_id,
            flush=self.metrics.flush,
        )


class _Deadline:
    """A Lambda context of our own, for work inside a query."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._until - time.monotonic()) * 1000))


class SelfAdvancingContainer(Container):
    """For the in-memory mode on Lambda: no poller sees the process's tasks, so a query advances its task."""

    @cached_property
    def query(self) -> QueryTask:
        """Advances an active task, then answers."""
        grace = self.settings.result_grace_seconds
        return QueryTask(store=self.store, clock=self.clock, grace=grace, advance=self._advance)

    def _advance(self, task: Task) -> None:
        self.poller(task.server_id)({"task_ids": [task.task_id], "ticks": 1}, _Deadline(QUERY_SECONDS))


def _settings() -> Settings:
    """The settings of a Lambda function, whose secrets the environment only refers to."""
    return Settings.from_environ(resolve(os.environ))


def create_api(container: Container, *groups: str) -> "FastAPI":
    """The API with the named groups of routes, or with all of them."""
    from .http.app import create_app

    return create_app(container, *groups)


def api_handler(group: str) -> Callable[[Any, Any], Any]:
    """The Lambda handler of one group of routes.

    Raises:
        SettingsError: the environment is wrong; the start stops with every fault named.
    """
    from .http.handler import make_handler

    settings = _settings()
    settings = replace(settings, jimeng_timeout=min(settings.jimeng_timeout, API_CALL_SECONDS))
    container = Container(settings) if settings.use_database_mode else SelfAdvancingContainer(settings)
    answer = make_handler(create_api(container, group), settings)

    def handler(event: Any, context: Any) -> Any:
        try:
            return answer(event, context)
        finally:
            container.metrics.flush()

    return handler


def poller_handler() -> "PollerHandler":
    """The Lambda handler of the poller of ``SERVICE_ID``.

    Raises:
        SettingsError: the environment is wrong, or names no service.
    """
    settings = _settings()
    return Container(settings).poller(settings.require_service_id())
