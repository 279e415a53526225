"""Who is calling: API keys of this service, and session tokens of the provider."""

import hmac
import re
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.security import APIKeyHeader
from fastapi.security.base import SecurityBase

from jimeng_tasks.domain.task import SEALED
from jimeng_tasks.exceptions import ApiKeyInvalid, LoginMissing

from .services import Services

HOW = "send Authorization: Bearer TOKEN[,TOKEN...] with session tokens of the site"

_api_key = APIKeyHeader(
    name="X-API-Key", scheme_name="ApiKey", description="Only when API_KEYS is set.", auto_error=False
)


async def require_api_key(services: Services, sent: Annotated[str | None, Security(_api_key)]) -> None:
    """Refuse a request without a key when keys are set; every key is compared, in constant time.

    Raises:
        ApiKeyInvalid: no key, or none of ours.
    """
    keys = services.settings.api_keys
    offered = (sent or "").strip().encode("latin-1", "replace")
    matches = [hmac.compare_digest(offered, key.encode()) for key in keys]
    if keys and not any(matches):
        raise ApiKeyInvalid("X-API-Key is missing or none of the keys of this service")


def bearer_tokens(header: str | None) -> tuple[str, ...]:
    """The session tokens of an Authorization header; the scheme's case and spaces around tokens do not matter.

    Raises:
        LoginMissing: no header, another scheme, an empty token or the same one twice.
    """
    scheme, _, rest = (header or "").strip().partition(" ")
    if not scheme:
        raise LoginMissing(f"Authorization is missing: {HOW}")
    if scheme.lower() != "bearer":
        raise LoginMissing(f"Authorization has another scheme than Bearer: {HOW}")
    tokens = [token.strip() for token in rest.split(",")]
    for faulty, fault in (
        (not all(tokens), "an empty token"),
        (any(re.search(r"\s", token) for token in tokens), "a token with a space in it"),
        (len(set(tokens)) < len(tokens), "the same token twice"),
        (
            any(token.startswith(SEALED) for token in tokens),
            f"a token that begins with {SEALED}, as none does",
        ),
    ):
        if faulty:
            raise LoginMissing(f"Authorization holds {fault}: {HOW}")
    return tuple(tokens)


class _SessionTokens(SecurityBase):
    """Shows the scheme in the OpenAPI document."""

    def __init__(self) -> None:
        self.model = BearerScheme(description="Session tokens, separated by commas; us- hk- jp- sg- name a region.")
        self.scheme_name = "SessionTokens"


class _Bearer(_SessionTokens):
    """Reads the tokens."""

    async def __call__(self, request: Request) -> tuple[str, ...]:
        return bearer_tokens(request.headers.get("Authorization"))


class _OptionalBearer(_SessionTokens):
    """Reads the tokens where there are any."""

    async def __call__(self, request: Request) -> tuple[str, ...] | None:
        header = request.headers.get("Authorization", "").strip()
        return bearer_tokens(header) if header else None


async def _asking(
    tokens: Annotated[tuple[str, ...] | None, Security(_OptionalBearer())], services: Services
) -> tuple[str, ...] | None:
    """The accounts whose tasks a query may see; None for all.

    Raises:
        LoginMissing: no tokens, and ``REQUIRE_QUERY_AUTH`` is true.
    """
    if tokens is None and services.settings.require_query_auth:
        raise LoginMissing(f"Authorization is missing: {HOW}; a query answers about their own tasks")
    return tokens


async def _known_tokens(tokens: Annotated[tuple[str, ...], Security(_Bearer())], services: Services) -> tuple[str, ...]:
    for token in tokens:
        services.validator.region(token)
    return tokens


Tokens = Annotated[tuple[str, ...], Depends(_known_tokens)]
Asking = Annotated[tuple[str, ...] | None, Depends(_asking)]
ApiKey = Depends(require_api_key)
