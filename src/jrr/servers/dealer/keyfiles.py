"""The dealer's campaign keys: wrapped in the database, their wrapping key in a file apart.

Neither alone gives a card. Burning destroys the file, so that a backup of the database, or a
database seized later, exposes nobody.
"""

import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from jrr._base.forgetting import overwrite
from jrr.errors import DamagedError

KEY = 32


class KeyFiles:
    """A directory with one key file per campaign."""

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, campaign: str) -> Path:
        """Where the campaign's wrapping key lies."""
        return self._directory / f"{campaign}.key"

    def create(self, campaign: str) -> tuple[bytes, bytes]:
        """A fresh campaign key, and the same wrapped by a fresh key file."""
        wrapping, key, nonce = secrets.token_bytes(KEY), secrets.token_bytes(KEY), os.urandom(12)
        path = self.path(campaign)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, wrapping)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._sync()
        wrapped = nonce + AESGCM(wrapping).encrypt(nonce, key, campaign.encode())
        overwrite(wrapping)
        return key, wrapped

    def unwrap(self, campaign: str, wrapped: bytes) -> bytes | None:
        """The campaign key; None where it has been burned."""
        try:
            descriptor = os.open(self.path(campaign), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            wrapping = os.read(descriptor, KEY + 1)  # not through a buffer, which would keep it
        finally:
            os.close(descriptor)
        try:
            cipher = AESGCM(wrapping)
            return cipher.decrypt(wrapped[:12], wrapped[12:], campaign.encode())
        except (InvalidTag, ValueError):
            raise DamagedError(
                f"the key file {self.path(campaign)} is not the one of this database"
            ) from None
        finally:
            overwrite(wrapping)

    def burn(self, campaign: str) -> None:
        """Overwrite the key file, then remove it."""
        path = self.path(campaign)
        try:
            descriptor = os.open(path, os.O_WRONLY)
        except FileNotFoundError:
            return
        try:
            os.write(descriptor, secrets.token_bytes(KEY))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        path.unlink()
        self._sync()

    def _sync(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
