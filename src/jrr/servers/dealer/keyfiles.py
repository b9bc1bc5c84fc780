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
from jrr.errors import ArgumentError, DamagedError

KEY = 32


class KeyFiles:
    """A directory with one key file per campaign, and what must outlive the database.

    HASH.key is the wrapping key; HASH.seats says how many seats were given away, so that a database
    from an older backup is noticed; HASH.burned is left of a key that was destroyed, so that one
    that is merely missing is not taken for it.
    """

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._made: set[str] = set()  # by this process: a second try may make them again
        self._given: dict[str, int] = {}  # seats, as far as this process has read or noted them

    def path(self, campaign: str) -> Path:
        """Where the campaign's wrapping key lies."""
        return self._directory / f"{campaign}.key"

    def create(self, campaign: str) -> tuple[bytes, bytes]:
        """A fresh campaign key, and the same wrapped by a fresh key file."""
        wrapping, key, nonce = secrets.token_bytes(KEY), secrets.token_bytes(KEY), os.urandom(12)
        path = self.path(campaign)
        if campaign not in self._made and (path.exists() or self._burned(campaign).exists()):
            raise ArgumentError(
                f"keys must have no file of a new campaign, but {path.with_suffix('.*')} is there: "
                "do two dealers share the directory, or was the database lost?"
            )
        self._made.add(campaign)
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
            if self._burned(campaign).exists():
                return None
            raise DamagedError(f"the key file {self.path(campaign)} is missing") from None
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

    def seats(self, campaign: str) -> int:
        """How many seats were given away, at the least."""
        if campaign not in self._given:
            try:
                self._given[campaign] = int(self._seats(campaign).read_text("ascii"))
            except FileNotFoundError:  # none, or by an earlier version
                self._given[campaign] = 0
            except ValueError:
                raise DamagedError(f"{self._seats(campaign)} must be a number") from None
        return self._given[campaign]

    def note_seats(self, campaign: str, seats: int) -> None:
        """So many seats are given away; on the disk when this returns."""
        seats = max(seats, self.seats(campaign))  # it never goes back
        descriptor = os.open(self._seats(campaign), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(descriptor, b"%020d" % seats, 0)  # of one length: never half of a number
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._given[campaign] = seats

    def check(self) -> None:
        """Refuse to go on without the directory."""
        if not self._directory.is_dir():
            raise DamagedError(f"the key directory {self._directory} is missing")

    def _seats(self, campaign: str) -> Path:
        return self._directory / f"{campaign}.seats"

    def _burned(self, campaign: str) -> Path:
        return self._directory / f"{campaign}.burned"

    def burn(self, campaign: str) -> None:
        """Overwrite the key file, then remove it."""
        self._burned(campaign).touch(mode=0o600)
        path = self.path(campaign)
        try:
            descriptor = os.open(path, os.O_WRONLY)
        except FileNotFoundError:
            pass
        else:
            try:
                os.write(descriptor, secrets.token_bytes(KEY))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            path.unlink()
            self._sync()
        self._seats(campaign).unlink(missing_ok=True)  # last: while there is a key, it guards it
        self._given.pop(campaign, None)

    def _sync(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
