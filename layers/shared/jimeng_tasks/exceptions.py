"""Every error of the product, each class with the answer that HTTP clients get.

::

    JimengTasksError                 500 -1000 internal_error
    ├── SettingsError                500 -1000 settings_invalid      stops the start
    ├── RequestError                 400 -2000 invalid_request       the caller's fault, nothing was written
    │   ├── LoginMissing             401 -2002 login_required
    │   ├── ApiKeyInvalid            401 -2002 api_key_invalid
    │   ├── RegionUnknown            400 -2000 unknown_region        a token's prefix names no known region
    │   ├── NotFound                 404 -1002 not_found
    │   ├── MethodNotAllowed         405 -1002 method_not_allowed
    │   ├── TaskConflict             409 -2000 task_conflict
    │   ├── TooLarge                 413 -2004 too_large
    │   ├── UnsupportedMedia         415 -2003 unsupported_media
    │   └── UrlForbidden             400 -2003 url_forbidden
    ├── FetchFailed                  400 -2003 reference_unavailable an address could not be read
    ├── StoreUnavailable             503 -1000 store_unavailable     MongoDB does not answer
    ├── StorageError                 502 -1000 storage_error         the object storage refused or failed
    │   └── StorageMissing           503 -1000 storage_not_configured
    ├── ClaimLost                    500 -1000 claim_lost            another poller owns the task now
    ├── TaskFailure                  500 -2007 generation_failed     ends a task for a reason of our own
    └── ProviderError                502 -2001 provider_error        what Jimeng said or did
        ├── SurelyNotAccepted                                        safe to submit again
        │   ├── NotSent              503 -2001 provider_unreachable
        │   ├── RateLimited          429 -2001 rate_limited
        │   ├── TokenUnreadable      401 -2002 login_rejected        no key decrypts the stored session token
        │   └── ServerRefused        502 -2007 provider_failed
        ├── OutcomeUnknown           504 -2001 outcome_unknown       perhaps accepted: look it up, never resend
        └── Refused                                                  final for this input or account
            ├── LoginRejected        401 -2002 login_rejected
            ├── QuotaExhausted       402 -2009 quota_exhausted
            ├── ContentRejected      400 -2006 content_rejected
            ├── ParameterRejected    400 -2000 parameter_rejected
            ├── VersionRejected      502 -2001 client_version_rejected
            ├── AccessDenied         403 -2001 access_denied
            ├── RegionMismatch       403 -2001 region_mismatch
            └── ProviderBlocked      403 -2001 provider_blocked      the site suspects automation

A message says what was wrong, what is allowed and what to do. It never holds a token, a key, a signed URL
or a provider's whole answer.
"""

from typing import ClassVar


class JimengTasksError(Exception):
    """Base of all errors of this package.

    ``http_status``, ``code`` and ``name`` are what an HTTP client gets; ``retry_after`` (seconds) becomes the
    Retry-After header when it is set.
    """

    http_status: ClassVar[int] = 500
    code: ClassVar[int] = -1000
    name: ClassVar[str] = "internal_error"
    retry_after: int | None = None


class SettingsError(JimengTasksError):
    """A variable of the environment is missing or wrong: its name, the fault, what is allowed."""

    name = "settings_invalid"


class RequestError(JimengTasksError):
    """The request is wrong: which field, why, and the allowed values."""

    http_status = 400
    code = -2000
    name = "invalid_request"


class LoginMissing(RequestError):
    """No usable session token came with the request."""

    http_status = 401
    code = -2002
    name = "login_required"


class ApiKeyInvalid(RequestError):
    """``API_KEYS`` is set and the request carries none of them."""

    http_status = 401
    code = -2002
    name = "api_key_invalid"


class RegionUnknown(RequestError):
    """A token has a region prefix that no known region has; the known ones are listed."""

    name = "unknown_region"


class NotFound(RequestError):
    """No such route."""

    http_status = 404
    code = -1002
    name = "not_found"


class MethodNotAllowed(RequestError):
    """The route exists, for other methods."""

    http_status = 405
    code = -1002
    name = "method_not_allowed"


class TaskConflict(RequestError):
    """The id or idempotency key belongs to a task with another body or account."""

    http_status = 409
    name = "task_conflict"


class TooLarge(RequestError):
    """A body, file or picture is over its limit: the limit and the actual size."""

    http_status = 413
    code = -2004
    name = "too_large"


class UnsupportedMedia(RequestError):
    """The bytes are no supported kind, or the body has another content type than the route takes."""

    http_status = 415
    code = -2003
    name = "unsupported_media"


class UrlForbidden(RequestError):
    """An address is malformed or points where this service does not go."""

    code = -2003
    name = "url_forbidden"


class FetchFailed(JimengTasksError):
    """An address that is allowed could not be read: status, time-out, cut off."""

    http_status = 400
    code = -2003
    name = "reference_unavailable"


class StoreUnavailable(JimengTasksError):
    """MongoDB does not answer in time, has no primary, or lacks the index that a submit rests on."""

    http_status = 503
    name = "store_unavailable"
    retry_after = 5


class StorageError(JimengTasksError):
    """The object storage refused or failed a call."""

    http_status = 502
    name = "storage_error"


class StorageMissing(StorageError):
    """The call needs a bucket and none is configured."""

    http_status = 503
    name = "storage_not_configured"


class ClaimLost(JimengTasksError):
    """The claim on a task ran out and another poller owns the task: drop the work, write nothing."""

    name = "claim_lost"


class TaskFailure(JimengTasksError):
    """Ends a task as failed for a reason of our own; ``fail_code`` is its stable name."""

    code = -2007
    name = "generation_failed"

    def __init__(self, message: str, fail_code: str) -> None:
        super().__init__(message)
        self.fail_code = fail_code


class ProviderError(JimengTasksError):
    """What the provider said or did.

    ``fail_code`` is the provider's own code as text (``jimeng-wire 3.4, 3.5``), or ``name`` where it gave none;
    ``log_id`` its handle for support.
    """

    http_status = 502
    code = -2001
    name = "provider_error"

    def __init__(
        self,
        message: str,
        *,
        fail_code: str | None = None,
        log_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.fail_code = fail_code or self.name
        self.log_id = log_id
        self.retry_after = retry_after


class SurelyNotAccepted(ProviderError):
    """The call surely started no paid job, so the same submission may be made again."""


class NotSent(SurelyNotAccepted):
    """The request never left: name look-up, connection or TLS failed."""

    http_status = 503
    name = "provider_unreachable"


class RateLimited(SurelyNotAccepted):
    """Too many requests or too many running jobs of this account."""

    http_status = 429
    name = "rate_limited"


class TokenUnreadable(SurelyNotAccepted):
    """The stored session token cannot be decrypted: a key is missing, which a deployment may bring back."""

    http_status = 401
    code = -2002
    name = "login_rejected"


class ServerRefused(SurelyNotAccepted):
    """The provider answered with a fault of its own (``ret`` 2002, 5001, 5002)."""

    code = -2007
    name = "provider_failed"


class OutcomeUnknown(ProviderError):
    """The request may or may not have been carried out: time-out, reset, 5xx, unreadable answer."""

    http_status = 504
    name = "outcome_unknown"


class Refused(ProviderError):
    """A final no for this input or this account: never tried again."""


class LoginRejected(Refused):
    """The session token is dead, or of another region than its prefix says."""

    http_status = 401
    code = -2002
    name = "login_rejected"


class QuotaExhausted(Refused):
    """The account has no credits, or used up its daily allowance."""

    http_status = 402
    code = -2009
    name = "quota_exhausted"


class ContentRejected(Refused):
    """Moderation refused the prompt, an input picture or the output."""

    http_status = 400
    code = -2006
    name = "content_rejected"


class ParameterRejected(Refused):
    """The provider does not accept the request's parameters or model."""

    http_status = 400
    code = -2000
    name = "parameter_rejected"


class VersionRejected(Refused):
    """The client versions in the settings are too old for the provider (``ret`` 3018)."""

    name = "client_version_rejected"


class AccessDenied(Refused):
    """The account may not use this model or feature."""

    http_status = 403
    name = "access_denied"


class RegionMismatch(Refused):
    """The provider does not serve this region, address or token prefix (``ret`` 3000)."""

    http_status = 403
    name = "region_mismatch"


class ProviderBlocked(Refused):
    """The provider's automation checks refused the account (``jimeng-wire 3.6``); nothing tries to get round them."""

    http_status = 403
    name = "provider_blocked"
