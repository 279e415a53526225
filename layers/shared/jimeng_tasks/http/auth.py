"""Who is calling: API keys of this service, and session tokens of the provider."""

import hmac
import re
from typing import Annotated

from fastapi import Request, Security
from fastapi.openapi.models import APIKey as KeyScheme
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.security.base import SecurityBase

from jimeng_tasks.domain.task import SEALED
from jimeng_tasks.exceptions import ApiKeyInvalid, LoginMissing

from .services import services_of

HOW = "send Authorization: Bearer TOKEN[,TOKEN...] with session tokens of the site"


class _KeyCheck(SecurityBase):
    """Refuses a request without a key when keys are set; every key is compared, in constant time."""

    def __init__(self) -> None:
        self.model = KeyScheme.model_validate(
            {"in": "header", "name": "X-API-Key", "description": "Only when API_KEYS is set."}
        )
        self.scheme_name = "ApiKey"

    async def __call__(self, request: Request) -> None:
        """Check the header.

        Raises:
            ApiKeyInvalid: no key, or none of ours.
        """
        keys = (await services_of(request)).settings.api_keys
        offered = request.headers.get("X-API-Key", "").strip().encode("latin-1", "replace")
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


class _KnownTokens(_SessionTokens):
    """Reads the tokens, whose regions must be known."""

    async def __call__(self, request: Request) -> tuple[str, ...]:
        tokens = bearer_tokens(request.headers.get("Authorization"))
        validator = (await services_of(request)).validator
        for token in tokens:
            validator.region(token)
        return tokens


class _AskingTokens(_SessionTokens):
    """Reads the tokens of the accounts whose tasks a query may see; None for all."""

    async def __call__(self, request: Request) -> tuple[str, ...] | None:
        """Read them.

        Raises:
            LoginMissing: malformed, or none where ``REQUIRE_QUERY_AUTH`` is true.
        """
        header = request.headers.get("Authorization", "").strip()
        if header:
            return bearer_tokens(header)
        if (await services_of(request)).settings.require_query_auth:
            raise LoginMissing(f"Authorization is missing: {HOW}; a query answers about their own tasks")
        return None


Tokens = Annotated[tuple[str, ...], Security(_KnownTokens())]
Asking = Annotated[tuple[str, ...] | None, Security(_AskingTokens())]
ApiKey = Security(_KeyCheck())
