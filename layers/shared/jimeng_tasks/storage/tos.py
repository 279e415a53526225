"""The object storage: TOS through its S3-compatible endpoint, or any other S3 server (volcengine-wire C)."""

import threading
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlsplit

from jimeng_tasks.domain.ports import ChunkReader
from jimeng_tasks.exceptions import StorageError
from jimeng_tasks.settings import Settings

from .digest import PART_BYTES, Digest, DigestingReader, digest_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from s3transfer.manager import TransferManager

TOS_DOMAINS = (".volces.com", ".ivolces.com", ".bytepluses.com")
_CONNECT_SECONDS = 5
_READ_SECONDS = 60
_ATTEMPTS = 3
_CONNECTIONS = 16
_PARTS_ON_THEIR_WAY = 4


class TosStorage:
    """The `MediaStorage` of the product; threads may share it. It connects on first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._public_base = settings.tos_public_base_url or _bucket_url(settings)
        self._connection: tuple[S3Client, TransferManager] | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """The configured storage; None where no bucket is configured."""
        return cls(settings) if settings.tos_bucket else None

    def store(self, key: str, content_type: str, chunks: ChunkReader) -> str:
        """Stream one object to ``key`` in parts of 5 MiB; returns its public address.

        The next part is read while others are on their way, so that neither side waits for the other. All transfers
        share ``_PARTS_ON_THEIR_WAY``, which bounds what they hold in memory together.

        A source that fails leaves no object behind and no parts; its own error comes through. What the storage kept
        is compared with what was sent, and removed if it differs.

        Raises:
            StorageError: the storage refused or failed: its code and status.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # here, to keep it out of a cold start

        client, manager = self._connected()
        reader = DigestingReader(chunks)
        extra = {"ContentType": content_type}
        try:
            upload = manager.upload(reader, self._settings.tos_bucket, key, extra)  # type: ignore[arg-type]  # only read
            reader.is_over = upload.done  # without this the rest of the file would be read after a part was refused
            upload.result()
            self._check(client, key, reader.digest)
        except (BotoCoreError, ClientError) as error:
            # Without the cause: its text and its request hold the key and the signature.
            raise StorageError(f"the object storage did not take the file: {_reason(error)}") from None
        return self.public_url(key)

    def _check(self, client: "S3Client", key: str, sent: Digest) -> None:
        """Compare size and ETag; an ETag of a form of its own, as encryption at rest gives, is settled by reading back.

        Raises:
            StorageError: the object differs; it is removed.
        """
        bucket = self._settings.tos_bucket
        kept = client.head_object(Bucket=bucket, Key=key)
        is_whole = kept["ContentLength"] == sent.size
        if is_whole and kept["ETag"].strip('"') in sent.etags():
            return
        if not is_whole or digest_of(client.get_object(Bucket=bucket, Key=key)["Body"]).parts() != sent.parts():
            client.delete_object(Bucket=bucket, Key=key)
            raise StorageError("the object storage kept other bytes than it was sent")

    def public_url(self, key: str) -> str:
        """The public address of an object: ``TOS_PUBLIC_BASE_URL``, or the bucket's own, and the encoded key."""
        return f"{self._public_base}/{quote(key)}"

    def _connected(self) -> tuple["S3Client", "TransferManager"]:
        from s3transfer.manager import TransferConfig, TransferManager

        with self._lock:
            if self._connection is None:
                config = TransferConfig(
                    multipart_threshold=PART_BYTES,
                    multipart_chunksize=PART_BYTES,
                    max_request_concurrency=_PARTS_ON_THEIR_WAY,
                    max_in_memory_upload_chunks=_PARTS_ON_THEIR_WAY,
                )
                client = s3_client(self._settings)
                self._connection = client, TransferManager(client, config)
            return self._connection


def s3_client(settings: Settings) -> "S3Client":
    """A client for the configured endpoint.

    TOS answers only to virtual-hosted addresses; other servers are asked by path, which needs no name for the bucket.
    boto3's own default checksums would send aws-chunked bodies, which S3 look-alikes refuse (volcengine-wire C.2).
    Bodies are not signed: TLS protects them on their way, and their MD5 is compared with what the storage kept.
    """
    from boto3.session import Session  # here, to keep it out of a cold start
    from botocore.config import Config

    config = Config(
        signature_version="s3v4",
        s3={
            "addressing_style": "virtual" if is_tos(settings.tos_endpoint_url) else "path",
            "payload_signing_enabled": False,
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


def is_tos(endpoint: str) -> bool:
    """Whether an endpoint is TOS itself, in the mainland or abroad, public or intranet (volcengine-wire C.1)."""
    return (urlsplit(endpoint).hostname or "").endswith(TOS_DOMAINS)


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
    code = answer.get("Error", {}).get("Code", "unknown")
    return f"{code} (status {answer.get('ResponseMetadata', {}).get('HTTPStatusCode', 'unknown')})"
