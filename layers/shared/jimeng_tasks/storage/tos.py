"""The object storage: TOS through its S3-compatible endpoint, or any other S3 server (volcengine-wire C)."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlsplit

from jimeng_tasks.domain.ports import ChunkReader
from jimeng_tasks.endpoints import is_tos
from jimeng_tasks.exceptions import StorageError
from jimeng_tasks.settings import Settings

from .digest import Digest, DigestingReader, digest_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from .transfers import Transfers

logger = logging.getLogger(__name__)

FORBIDDEN = 403
_CONNECT_SECONDS = 5
_READ_SECONDS = 60
_ATTEMPTS = 3
_CONNECTIONS = 16


class TosStorage:
    """The `MediaStorage` of the product; threads may share it. It connects on first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._public_base = settings.tos_public_base_url or _bucket_url(settings)
        self._transfers: Transfers | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """The configured storage; None where no bucket is configured."""
        return cls(settings) if settings.tos_bucket else None

    def store(
        self, key: str, content_type: str, chunks: ChunkReader, on_progress: Callable[[], None] = lambda: None
    ) -> str:
        """Stream one object to ``key`` in parts of 5 MiB, few of which are in memory; returns its public address.

        A source that fails leaves no object behind and no parts; its own error comes through. What the storage kept
        is compared with what was sent, and removed if it differs.

        Raises:
            StorageError: the storage refused or failed: its code and status.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # here, to keep it out of a cold start

        transfers = self._connected()
        reader = DigestingReader(chunks, on_progress)
        try:
            transfers.upload(reader, self._settings.tos_bucket, key, content_type, on_progress)
            self._check(transfers.client, key, reader.digest)
        except (BotoCoreError, ClientError) as error:
            # Without the cause: its text and its request hold the key and the signature.
            raise StorageError(f"the object storage did not take the file: {_reason(error)}") from None
        except KeyError as missing:
            raise StorageError(f"the object storage answered without {missing}") from None
        return self.public_url(key)

    def _check(self, client: "S3Client", key: str, sent: Digest) -> None:
        """Compare what the storage kept with what was sent, if the key may read it.

        Raises:
            StorageError: the object differs; it is removed.
        """
        from botocore.exceptions import ClientError

        bucket = self._settings.tos_bucket
        try:
            is_same = _is_same(client, bucket, key, sent)
        except ClientError as error:
            if _status(error) != FORBIDDEN:
                raise
            logger.warning("a stored file was not compared: let the key of the object storage read objects, too")
            return
        if not is_same:
            client.delete_object(Bucket=bucket, Key=key)
            raise StorageError("the object storage kept other bytes than it was sent")

    def public_url(self, key: str) -> str:
        """The public address of an object: ``TOS_PUBLIC_BASE_URL``, or the bucket's own, and the encoded key."""
        return f"{self._public_base}/{quote(key)}"

    def _connected(self) -> "Transfers":
        from .transfers import Transfers

        with self._lock:
            if self._transfers is None:
                self._transfers = Transfers(s3_client(self._settings))
            return self._transfers


def _is_same(client: "S3Client", bucket: str, key: str, sent: Digest) -> bool:
    """By size and ETag; an ETag of a form of its own, as encryption at rest gives, is settled by reading back."""
    kept = client.head_object(Bucket=bucket, Key=key)
    if kept["ContentLength"] != sent.size:
        return False
    if kept["ETag"].strip('"') in sent.etags():
        return True
    return digest_of(client.get_object(Bucket=bucket, Key=key)["Body"]).parts() == sent.parts()


def s3_client(settings: Settings) -> "S3Client":
    """A client for the configured endpoint.

    TOS answers only to virtual-hosted addresses; other servers are asked by path, which needs no name for the bucket.
    boto3's own default checksums would send aws-chunked bodies, which S3 look-alikes refuse (volcengine-wire C.2).
    Bodies are signed only where no TLS protects them on their way; their MD5 is compared with what was kept anyhow.
    """
    from boto3.session import Session  # here, to keep it out of a cold start
    from botocore.config import Config

    config = Config(
        signature_version="s3v4",
        s3={
            "addressing_style": "virtual" if is_tos(settings.tos_endpoint_url) else "path",
            "payload_signing_enabled": settings.tos_endpoint_url.startswith("http://"),
        },
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_CONNECTIONS,
    )
    return Session().client(
        "s3",
        endpoint_url=settings.tos_endpoint_url,
        region_name=settings.tos_region,
        aws_access_key_id=settings.tos_access_key,
        aws_secret_access_key=settings.tos_secret_key,
        config=config,
    )


def _bucket_url(settings: Settings) -> str:
    endpoint = urlsplit(settings.tos_endpoint_url)
    if not is_tos(settings.tos_endpoint_url):
        return f"{settings.tos_endpoint_url}/{settings.tos_bucket}"
    # Clients are outside: they reach a bucket that we write to over the intranet by its public name.
    host = endpoint.netloc.replace(".ivolces.com", ".volces.com")
    return f"{endpoint.scheme}://{settings.tos_bucket}.{host}"


def _reason(error: Exception) -> str:
    answer = getattr(error, "response", None)
    if not isinstance(answer, dict):
        return type(error).__name__
    return f"{answer.get('Error', {}).get('Code', 'unknown')} (status {_status(error)})"


def _status(error: Exception) -> Any:
    answer: dict[str, Any] = getattr(error, "response", {})
    return answer.get("ResponseMetadata", {}).get("HTTPStatusCode", "unknown")
