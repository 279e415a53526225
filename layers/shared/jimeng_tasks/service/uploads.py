"""Use case: keep pictures that a client uploads, for use as references."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

from jimeng_tasks.domain.keys import upload_key
from jimeng_tasks.domain.ports import MediaStorage
from jimeng_tasks.domain.provider import Picture
from jimeng_tasks.exceptions import StorageMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One stored picture; ``size`` in bytes."""

    url: str
    width: int
    height: int
    format: str
    size: int


@dataclass(frozen=True, kw_only=True)
class UploadPictures:
    """Stores pictures under the hash of their bytes, so the same picture twice is one object."""

    storage: MediaStorage | None
    prefix: str

    def __call__(self, pictures: Sequence[Picture]) -> list[Upload]:
        """Store every picture, in order.

        Raises:
            StorageMissing: no bucket is configured.
            StorageError: the object storage failed.
        """
        if self.storage is None:
            raise StorageMissing("uploads need a bucket: set TOS_BUCKET, TOS_ENDPOINT_URL and the TOS keys")
        return [self._store(self.storage, picture) for picture in pictures]

    def _store(self, storage: MediaStorage, picture: Picture) -> Upload:
        key = upload_key(self.prefix, hashlib.sha256(picture.data).hexdigest(), picture.format)
        url = storage.store(key, f"image/{picture.format}", io.BytesIO(picture.data))
        return Upload(
            url=url, width=picture.width, height=picture.height, format=picture.format, size=len(picture.data)
        )
