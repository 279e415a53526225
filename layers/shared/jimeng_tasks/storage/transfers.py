"""boto3's transfer managers: each runs one upload at a time, so that one that hangs holds up no other.

It imports the AWS SDK, so it is itself imported late.
"""

import traceback
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from s3transfer.manager import TransferConfig, TransferManager
from s3transfer.subscribers import BaseSubscriber

from .digest import PART_BYTES, DigestingReader

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PARTS_ON_THEIR_WAY = 2


class Transfers:
    """Uploads from readers; threads may share it. ``client`` is used by all of them.

    A manager waits for its next upload once it has none: new threads for each would keep more and more memory.
    """

    def __init__(self, client: "S3Client") -> None:
        self.client = client
        self._idle: deque[TransferManager] = deque()

    def upload(
        self, reader: DigestingReader, bucket: str, key: str, content_type: str, on_progress: Callable[[], None]
    ) -> None:
        """Send an object in parts of ``PART_BYTES``; the next one is read while others are on their way.

        Whatever fails, the reader's own errors included, comes through; then no parts are left at the storage.
        """
        manager = self._take_manager()
        try:
            extra, watchers = {"ContentType": content_type}, [_Progress(on_progress)]
            upload = manager.upload(reader, bucket, key, extra, watchers)  # type: ignore[arg-type]  # it is only read
            reader.is_over = upload.done  # without this the rest of the file would be read after a part was refused
            upload.result()
        except BaseException as error:
            _forget_frames(error)
            raise
        finally:
            self._idle.append(manager)

    def _take_manager(self) -> TransferManager:
        # Asking first whether one is idle would let two threads see the same one.
        try:
            return self._idle.pop()
        except IndexError:
            return self._new_manager()

    def _new_manager(self) -> TransferManager:
        config = TransferConfig(
            multipart_threshold=PART_BYTES,
            multipart_chunksize=PART_BYTES,
            max_request_concurrency=PARTS_ON_THEIR_WAY,
            max_in_memory_upload_chunks=PARTS_ON_THEIR_WAY,
            max_submission_concurrency=1,
        )
        return TransferManager(self.client, config)


class _Progress(BaseSubscriber):
    """Calls a function whenever bytes were sent."""

    def __init__(self, on_progress: Callable[[], None]) -> None:
        self._on_progress = on_progress

    def on_progress(self, *_: Any, **__: Any) -> None:
        self._on_progress()


def _forget_frames(error: BaseException | None) -> None:
    """Drop the variables of the frames that an error came through: they hold parts, and the library keeps them long."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
