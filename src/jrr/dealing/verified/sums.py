"""The closing sums of verified cards: what dealers commit to and open, and how it is checked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from jrr.dealing.decks import SurveyDecks
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.cards import VerifiedCard, cards_of, deal, signed_card
from jrr.dealing.verified.group import number_bytes, read_number, read_point
from jrr.dealing.verified.keys import Promise, Secrets, check_signature, hex_bytes
from jrr.dealing.verified.noise import (
    SEED,
    NoiseRequest,
    NoiseSeeds,
    Opening,
    check_opening,
    check_sum,
)
from jrr.dealing.verified.proving import SignedCommitments
from jrr.dealing.verified.questions import card_laws, noise_laws, sums_of
from jrr.errors import ArgumentError, IntegrityError, JrrError
from jrr.protocol.documents import plain

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.survey import Survey

T = TypeVar("T")
BySum = Mapping[str, Mapping[str, T]]  # question -> group -> something of that sum


@dataclass(frozen=True)
class NamedCards:
    """What fixes the noise of one dealer's closing sums.

    Args:
        survey: Whose cards they are.
        serials: That came back with reports.
        request: A hash of all that the collector says beside the nonce.
        nonce: Of the collector.
        announcement: Which of those that were planned, from 1 on.
    """

    survey: "Survey"
    serials: BySum[Sequence[bytes]]
    request: bytes
    nonce: bytes
    announcement: int = 1

    def each(self) -> Iterator[tuple[str, str, NoiseRequest]]:
        """Every sum of some cards, with what fixes its noise.

        Raises:
            ArgumentError: There are more groups than a dealer has promised noise for.
        """
        sums, survey = sums_of(self.survey), bytes.fromhex(self.survey.hash)
        for at, question in enumerate(one.name for one in self.survey.dealt):
            groups = self.serials.get(question, {})
            if len(groups) > sums.cells:
                raise ArgumentError(
                    f"groups must be at most {sums.cells}, for which dealers promise noise, got "
                    f"{len(groups)}: merge some"
                )
            for cell, group in enumerate(sorted(groups)):
                if groups[group]:
                    number = sums.number(self.announcement - 1, at, cell)
                    yield question, group, NoiseRequest(survey, self.nonce, self.request, number)


def commit_noise(decks: "VerifiedDecks", named: NamedCards) -> dict[str, dict[str, str]]:
    """The dealer's first reply: a hash of the noise commitments of all slots, of each sum."""
    laws = noise_laws(named.survey)
    found: dict[str, dict[str, str]] = {}
    for question, group, request in named.each():
        found.setdefault(question, {})[group] = decks.seeds.commit(request, laws[question]).hex()
    return found


def tell_sums(
    decks: "VerifiedDecks", named: NamedCards, slots: BySum[int], asked: Mapping[bytes, SerialNonce]
) -> tuple[dict[str, dict[str, list[int]]], dict[str, dict[str, Any]]]:
    """The dealer's second reply, which it gives once: the sums, and what opens all other slots.

    Args:
        decks: The dealer's.
        named: The cards.
        slots: Which the collector drew.
        asked: What devices asked with, by serial number.

    Raises:
        ArgumentError: The slots are not of exactly the sums.
    """
    laws = noise_laws(named.survey)
    told: dict[str, dict[str, list[int]]] = {}
    opened: dict[str, dict[str, Any]] = {}
    drawn = {
        serial: decks.cards_again(asked[serial])
        for serial in {
            one for groups in named.serials.values() for some in groups.values() for one in some
        }
    }
    for question, group, request in named.each():
        slot = slots.get(question, {}).get(group)
        if type(slot) is not int or not 0 <= slot < decks.seeds.slots:
            raise ArgumentError(f"slots must be given of each sum, below {decks.seeds.slots}")
        law = laws[question]
        noise = decks.seeds.noise(request, slot, law)
        sums, blindings = list(noise.values), list(noise.blindings)
        for serial in named.serials[question][group]:
            card = drawn[serial][question]
            for at in range(law.numbers):
                sums[at] += card.masks[at]
                blindings[at] += card.blindings[at]
        told.setdefault(question, {})[group] = sums
        opening = decks.seeds.open(request, slot, law)
        opened.setdefault(question, {})[group] = _written(opening, blindings)
    return told, opened


def check_sums(
    named: NamedCards,
    promise: Promise,
    committed: BySum[str],
    slots: BySum[int],
    cards: BySum[Sequence[SignedCommitments]],
    told: BySum[Sequence[int]],
    opened: BySum[Any],
) -> None:
    """Refuse what one dealer told, unless it is the sum of the cards that it signed.

    Args:
        named: The cards that were named to it.
        promise: Its promise.
        committed: Its first reply.
        slots: That were drawn then.
        cards: What it has signed, in the order of the serial numbers.
        told: The sums, a list of numbers each.
        opened: What came with them.

    Raises:
        IntegrityError: It is not; the message says what is wrong.
    """
    laws, sums = noise_laws(named.survey), sums_of(named.survey)
    context = promise.context(named.survey.hash)
    for question, group, request in named.each():
        where = f"{question}, {group}" if group else question
        law = laws[question]
        try:
            slot = slots[question][group]
            first = hex_bytes("committed", committed[question][group], 32)
            opening, blindings = _read(opened[question][group])
            check_opening(promise, sums, request, slot, law, first, opening)
            if len(blindings) != law.numbers or len(told[question][group]) != law.numbers:
                raise IntegrityError("the sum is not of as many numbers as the cards")
            serials = named.serials[question][group]
            for serial, card in zip(serials, cards[question][group], strict=True):
                check_signature(
                    promise,
                    signed_card(context, question, serial, card.commitments),
                    card.signature,
                )
            for at, number in enumerate(told[question][group]):
                points = [card.commitments[at] for card in cards[question][group]]
                check_sum(number, blindings[at], points, opening.commitments[at])
        except JrrError as error:
            raise IntegrityError(f"{where}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise IntegrityError(f"{where}: what was told is incomplete or damaged") from None


def _written(opening: Opening, blindings: Sequence[int]) -> dict[str, Any]:
    return {
        "blindings": [number_bytes(one).hex() for one in blindings],
        "seeds": b"".join(opening.seeds).hex(),
        "kept": opening.kept.hex(),
        "path": [one.hex() for one in opening.path],
        "commitments": [one.hex() for one in opening.commitments],
    }


def _read(document: Any) -> tuple[Opening, list[int]]:
    seeds = bytes.fromhex(document["seeds"])
    opening = Opening(
        seeds=tuple(seeds[at : at + SEED] for at in range(0, len(seeds), SEED)),
        kept=hex_bytes("kept", document["kept"], 32),
        path=tuple(hex_bytes("path", one, 32) for one in document["path"]),
        commitments=tuple(
            read_point(hex_bytes("commitments", one, 32)) for one in document["commitments"]
        ),
    )
    return opening, [read_number(hex_bytes("blindings", one, 32)) for one in document["blindings"]]


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
