"""Session tokens at rest: encrypted where ``TOKEN_ENCRYPTION_KEY`` is set, else as they came."""

from collections.abc import Sequence
from typing import Protocol

from jimeng_tasks.domain.task import SEALED

VERSION_1 = f"{SEALED}v1:"


class TokenVault(Protocol):
    """Turns a session token into what is stored, and back."""

    def seal(self, token: str, task_id: str) -> str:
        """What is stored for ``token``; one that is sealed already stays as it is."""

    def unseal(self, stored: str, task_id: str) -> str:
        """The token in ``stored``; ``stored`` itself where it is plain or no key fits it."""


class PlainTokens(TokenVault):
    """Stores tokens as they are."""

    def seal(self, token: str, task_id: str) -> str:  # noqa: ARG002 - plain is plain in every task
        """The token."""
        return token

    def unseal(self, stored: str, task_id: str) -> str:  # noqa: ARG002
        """What is stored."""
        return stored


class EncryptedTokens(TokenVault):
    """Encrypts with the first of ``keys`` (32 bytes each) and decrypts with whichever fits: that is how keys rotate.

    The cipher is XChaCha20-Poly1305. It authenticates the task id, too, so a token that was copied into another task's
    document is not accepted there.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        from nacl.secret import Aead  # here, so that only who has a key pays for the import

        self._boxes = [Aead(key) for key in keys]

    def seal(self, token: str, task_id: str) -> str:
        """`VERSION_1` and base64 of nonce, ciphertext and tag; different each time."""
        from nacl.encoding import URLSafeBase64Encoder

        if not token or token.startswith(SEALED):
            return token
        return (
            VERSION_1 + self._boxes[0].encrypt(token.encode(), task_id.encode(), encoder=URLSafeBase64Encoder).decode()
        )

    def unseal(self, stored: str, task_id: str) -> str:
        """The decrypted token."""
        from nacl.encoding import URLSafeBase64Encoder
        from nacl.exceptions import CryptoError

        if not stored.startswith(VERSION_1):
            return stored
        sealed = stored.removeprefix(VERSION_1).encode()
        for box in self._boxes:
            try:
                return box.decrypt(sealed, task_id.encode(), encoder=URLSafeBase64Encoder).decode()
            except (CryptoError, ValueError):
                continue
        return stored


PLAIN = PlainTokens()
