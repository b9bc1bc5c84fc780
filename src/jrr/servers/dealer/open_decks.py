"""The decks of surveys, from their keys: opened when the first card is dealt, burned at the end."""

import logging
from typing import TYPE_CHECKING

from jrr.dealing.decks import SurveyDecks
from jrr.errors import DamagedError, JrrError
from jrr.servers.common.problems import Problem, gone

if TYPE_CHECKING:
    from jrr.servers.dealer.keyfiles import KeyFiles
    from jrr.servers.dealer.store import HeldByDealer

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
            from jrr.dealing.verified.dealer import VerifiedDecks  # needs rbcl

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
