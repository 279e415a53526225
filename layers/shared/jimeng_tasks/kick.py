"""Wakes a service's poller by an asynchronous Lambda invocation."""

import json
import logging
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

logger = logging.getLogger(__name__)

TIMEOUT = 1  # seconds to connect, and to be answered


class LambdaKick:
    """Invokes ``prefix`` + service id with ``{"kick": task_id}``; a failure is logged, the schedule makes up for it."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    @cached_property
    def _client(self) -> "LambdaClient":
        import boto3
        from botocore.config import Config

        config = Config(connect_timeout=TIMEOUT, read_timeout=TIMEOUT, retries={"total_max_attempts": 1})
        return boto3.client("lambda", config=config)

    def __call__(self, server_id: str, task_id: str) -> None:
        """Ask the poller of ``server_id`` to look at its pending tasks now."""
        payload = json.dumps({"kick": task_id}).encode()
        try:
            self._client.invoke(FunctionName=f"{self._prefix}{server_id}", InvocationType="Event", Payload=payload)
        except Exception as error:  # best effort: a submit must not fail for want of a kick
            logger.warning("kick failed: %s", type(error).__name__, extra={"server_id": server_id, "task_id": task_id})
