"""The dealer's part in verified cards, from the survey's key: promise, cards, sums."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jrr.dealing.decks import SurveyDecks
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.cards import VerifiedCard, cards_of, deal
from jrr.dealing.verified.keys import Promise, Secrets
from jrr.dealing.verified.noise import NoiseSeeds
from jrr.dealing.verified.questions import card_laws, sums_of
from jrr.protocol.documents import plain

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.survey import Survey


class VerifiedDecks(SurveyDecks):
    """Deals verified cards; a seat only says how many people have come.

    Args:
        mechanisms: As of `SurveyDecks`.
        names: As there.
        key: As there.
        survey: Whose cards they are.
    """

    def __init__(
        self,
        mechanisms: "Mapping[str, Mechanism]",
        names: Mapping[str, str],
        key: bytes,
        survey: "Survey",
    ) -> None:
        super().__init__(mechanisms, names, key)
        self._survey = survey
        self._laws = card_laws(survey)
        self.secrets = Secrets(key)

    @cached_property
    def seeds(self) -> NoiseSeeds:
        """Of the noise of closing sums."""
        survey = bytes.fromhex(self._survey.hash)
        return NoiseSeeds(self.secrets.noise, survey, sums_of(self._survey))

    @cached_property
    def _promised(self) -> Promise:
        return self.secrets.promise(self.seeds.root)

    @cached_property
    def _context(self) -> bytes:
        return self._promised.context(self._survey.hash)

    def promise(self) -> dict[str, Any]:
        """What everybody may know."""
        found: dict[str, Any] = plain(self._promised)
        return found

    def given(self, block: int, seat: int, asked: SerialNonce) -> dict[str, Any]:
        """What is replied to a device: no mask is in it."""
        dealt = deal(self.secrets, self._context, asked, self._laws)
        return {
            "evaluation": dealt.evaluation.to_bytes().hex(),
            "signatures": {name: one.hex() for name, one in dealt.signatures.items()},
        }

    def cards_again(self, asked: SerialNonce) -> dict[str, VerifiedCard]:
        """What was given to whoever asked so."""
        return cards_of(self.secrets, self._context, asked, self._laws)
