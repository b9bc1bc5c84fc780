"""The keys of a dealer's surveys: wrapped in the database, their wrapping key in a file apart.

Neither alone gives a card. Burning destroys the file, so that a backup of the database, or a
database seized later, exposes nobody. Decks are opened from keys when the first card is dealt.
"""

import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from jrr._base.files import synced
from jrr._base.randomness import overwrite
from jrr.dealing.decks import SurveyDecks
from jrr.errors import ArgumentError, DamagedError, JrrError
from jrr.servers.common.problems import Problem, gone

if TYPE_CHECKING:
    from jrr.servers.dealer.store import HeldByDealer


KEY = 32


class KeyFiles:
    """A directory with one key file per survey, and what must outlive the database.

    HASH.key is the wrapping key; HASH.seats says how many seats were given away, so that a database
    from an older backup is noticed; HASH.told has the hash of every request whose sums were
    announced, so that there is none too many; HASH.burned is left of a key that was destroyed, so
    that one that is merely missing is not taken for it.
    """

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._made: set[str] = set()  # by this process: a second try may make them again
        self._given: dict[str, int] = {}  # seats, as far as this process has read or noted them

    def path(self, survey: str) -> Path:
        """Where the survey's wrapping key lies."""
        return self._directory / f"{survey}.key"

    def create(self, survey: str) -> tuple[bytes, bytes]:
        """A fresh survey key, and the same wrapped by a fresh key file."""
        wrapping, key, nonce = secrets.token_bytes(KEY), secrets.token_bytes(KEY), os.urandom(12)
        path = self.path(survey)
        if survey not in self._made and (path.exists() or self.is_burned(survey)):
            raise ArgumentError(
                f"keys must have no file of a new survey, but {path.with_suffix('.*')} is there: "
                "do two dealers share the directory, or was the database lost?"
            )
        self._made.add(survey)
        with synced(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            os.write(file, wrapping)
        self.note_seats(survey, 0)  # from now on a missing file is a lost one
        self._sync()
        wrapped = nonce + AESGCM(wrapping).encrypt(nonce, key, survey.encode())
        overwrite(wrapping)
        return key, wrapped

    def unwrap(self, survey: str, wrapped: bytes) -> bytes | None:
        """The survey key; None where it has been burned."""
        try:
            descriptor = os.open(self.path(survey), os.O_RDONLY)
        except FileNotFoundError:
            if self.is_burned(survey):
                return None
            raise DamagedError(f"the key file {self.path(survey)} is missing") from None
        try:
            wrapping = os.read(descriptor, KEY + 1)  # not through a buffer, which would keep it
        finally:
            os.close(descriptor)
        try:
            cipher = AESGCM(wrapping)
            return cipher.decrypt(wrapped[:12], wrapped[12:], survey.encode())
        except (InvalidTag, ValueError):
            raise DamagedError(
                f"the key file {self.path(survey)} is not the one of this database"
            ) from None
        finally:
            overwrite(wrapping)

    def seats(self, survey: str) -> int | None:
        """How many seats were given away, at the least; None where nothing was noted yet."""
        if survey not in self._given:
            try:
                self._given[survey] = int(self._seats(survey).read_text("ascii"))
            except FileNotFoundError:
                return None
            except ValueError:
                raise DamagedError(f"{self._seats(survey)} must be a number") from None
        return self._given[survey]

    def note_seats(self, survey: str, seats: int) -> None:
        """So many seats are given away; on the disk when this returns."""
        seats = max(seats, self.seats(survey) or 0)  # it never goes back
        with synced(self._seats(survey), os.O_WRONLY | os.O_CREAT) as file:
            os.pwrite(file, b"%020d" % seats, 0)  # of one length: never half of a number
        self._given[survey] = seats

    def announced(self, survey: str) -> list[str]:
        """The hashes of the requests whose sums were announced, or were about to be, in order."""
        try:
            text = self._told(survey).read_text("ascii")
        except FileNotFoundError:
            return []
        # Of a line that a crash cut short nothing was announced yet.
        return text.split("\n")[: text.count("\n")]

    def note_announcement(self, survey: str, announcement: int, request: str) -> None:
        """The sums of a request are about to be announced; on the disk when this returns.

        Again with the same request changes nothing.

        Args:
            survey: Its hash.
            announcement: Which of those that were planned, from 1 on.
            request: The hash of the request, in hexadecimal digits.

        Raises:
            ArgumentError: Another request was noted there, or an earlier announcement is missing.
        """
        before = self.announced(survey)
        if before[announcement - 1 : announcement] == [request]:
            return
        if len(before) != announcement - 1:
            allowed = "the next one, or the same request as before"
            raise ArgumentError(f"announcement must be {allowed}, got {announcement}")
        line = request.encode("ascii") + b"\n"
        with synced(self._told(survey), os.O_WRONLY | os.O_CREAT) as file:
            os.pwrite(file, line, len(line) * len(before))
            os.ftruncate(file, len(line) * (len(before) + 1))
        self._sync()

    def is_burned(self, survey: str) -> bool:
        """Whether the survey's key was destroyed, and did not merely get lost."""
        return self._burned(survey).exists()

    def check(self) -> None:
        """Refuse to go on without the directory."""
        if not self._directory.is_dir():
            raise DamagedError(f"the key directory {self._directory} is missing")

    def _seats(self, survey: str) -> Path:
        return self._directory / f"{survey}.seats"

    def _told(self, survey: str) -> Path:
        return self._directory / f"{survey}.told"

    def _burned(self, survey: str) -> Path:
        return self._directory / f"{survey}.burned"

    def burn(self, survey: str) -> None:
        """Overwrite the key file, then remove it."""
        self._burned(survey).touch(mode=0o600)
        path = self.path(survey)
        with suppress(FileNotFoundError):
            with synced(path, os.O_WRONLY) as file:
                os.write(file, secrets.token_bytes(KEY))
            path.unlink()
            self._sync()
        # Last: while there is a key, they guard it.
        self._told(survey).unlink(missing_ok=True)
        self._seats(survey).unlink(missing_ok=True)
        self._given.pop(survey, None)

    def _sync(self) -> None:
        with synced(self._directory, os.O_RDONLY):
            pass


log = logging.getLogger("jrr.servers")


class OpenDecks:
    """What one dealer can deal from; refuses where cards could be dealt twice."""

    def __init__(self, keys: "KeyFiles") -> None:
        self._keys = keys
        self._open: dict[str, SurveyDecks] = {}
        self._said: set[str] = set()  # in the log

    def of(self, held: "HeldByDealer") -> SurveyDecks:
        """A survey's decks; kept open until it is closed."""
        self.check_backup(held)
        decks = self._open.get(held.name)
        if decks is not None and held.n not in (None, decks.block_size):
            decks.forget()  # of a deal to fewer people whose transaction was taken back
            decks = None
        if decks is None:
            decks = self._open[held.name] = self._opened(held)
        return decks

    def _opened(self, held: "HeldByDealer") -> SurveyDecks:
        mechanisms = {one.salt: held.mechanism(one.name) for one in held.survey.dealt}
        names = {one.salt: one.name for one in held.survey.dealt}
        if held.survey.dealing.is_verified:
            from jrr.dealing.verified.sums import VerifiedDecks  # needs rbcl

            return VerifiedDecks(mechanisms, names, self._key(held), held.survey)
        return SurveyDecks(mechanisms, names, self._key(held))

    def burn(self, name: str) -> None:
        """Forget a survey's key, in memory and for good."""
        decks = self._open.pop(name, None)
        if decks is not None:
            decks.forget()
        self._keys.burn(name)

    def check_keys(self) -> None:
        """Refuse unless keys can be read."""
        try:
            self._keys.check()
        except JrrError as error:
            raise self._unusable(error) from None

    def check_backup(self, held: "HeldByDealer") -> None:
        """Refuse to deal from a database that knows of fewer seats than were given away."""
        # Every time: a database may go back under a dealer that runs (a restored PostgreSQL).
        try:
            given = self._keys.seats(held.name)
            if given is None and held.arrivals and not self._keys.is_burned(held.name):
                raise DamagedError(
                    f"the database has {held.arrivals} seats of survey {held.name[:12]}, but the "
                    "file beside its key that counts them is missing: cards could be dealt twice"
                )
            if given is not None and held.arrivals < given:
                raise DamagedError(
                    f"the database has {held.arrivals} seats of survey {held.name[:12]}, but "
                    f"{given} were given away: is it from an older backup? cards would be dealt "
                    "twice"
                )
        except JrrError as error:
            raise self._unusable(error) from None

    def check_not_ended(self, held: "HeldByDealer") -> None:
        """Refuse to deal from a database that does not know that sums were announced."""
        if self._keys.announced(held.name):
            told = f"sums of survey {held.name[:12]} were announced, and the database does not know"
            raise self._unusable(DamagedError(f"{told}: is it from an older backup?"))

    def _key(self, held: "HeldByDealer") -> bytes:
        key = None
        if held.wrapped_key is not None:
            try:
                key = self._keys.unwrap(held.name, held.wrapped_key)
            except JrrError as error:
                raise self._unusable(error) from None
        if key is None:
            raise gone("the cards are burned")
        return key

    def _unusable(self, error: JrrError) -> Problem:
        """Say once in the log why the deck stays closed; people are told to come back."""
        if str(error) not in self._said:
            self._said.add(str(error))
            log.error("%s", error)
        return Problem(503, "no-key", "the dealer cannot open its deck", {"Retry-After": "60"})
