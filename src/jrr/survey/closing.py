"""What goes between collector and dealers at the end of a survey.

The collector names the cards that came back by their serial numbers, for every question
(`ClosingRequest`), and a dealer tells the noisy sums of exactly those cards (`ClosingSums`). Each
announcement that was planned (`Survey.announcements`, usually one) is made once, and both documents
say which it is. The operator carries both. Cards may be in disjoint cells, the combinations of
answers to some open questions (jrr.survey.grouping): then every cell has a sum of its own, and
results by any of these questions can be shown. Both documents say which cells they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jrr._base import checks
from jrr.dealing.serials import serial_from_hex
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.estimation.told_sums import CardSum, CardSums
from jrr.protocol.documents import canonical_json, hash_of
from jrr.survey.grouping import CardGrouping
from jrr.survey.other_waves import AFTER

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

T = TypeVar("T")
_FIELDS = frozenset(("survey", "announcement", "by", "questions"))


@dataclass(frozen=True, kw_only=True)
class _ByGroup(Generic[T]):
    """What goes between collector and one dealer: something of the cards of every cell."""

    survey: str  # its hash
    announcement: int = 1  # which of those that were planned
    grouping: CardGrouping
    questions: Mapping[str, Mapping[str, T]]  # question -> cell -> it

    @staticmethod
    def _written(one: T) -> Any:
        """Of one group, as JSON."""
        raise NotImplementedError

    @staticmethod
    def _cards(one: T) -> int:
        """Of how many cards it is."""
        raise NotImplementedError

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "survey": self.survey,
            "announcement": self.announcement,
            **self.grouping.to_document(),
            "questions": self._each(self._written),
        }

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """Question -> group -> cards."""
        return self._each(self._cards)

    def _each(self, told: Callable[[T], Any]) -> dict[str, dict[str, Any]]:
        return {
            name: {group: told(one) for group, one in groups.items()}
            for name, groups in self.questions.items()
        }


class ClosingRequest(_ByGroup[tuple[bytes, ...]]):
    """The serial numbers of one dealer's cards that reports came with."""

    @staticmethod
    def _written(one: tuple[bytes, ...]) -> list[str]:
        return [serial.hex() for serial in sorted(one)]  # the same names are the same bytes

    @staticmethod
    def _cards(one: tuple[bytes, ...]) -> int:
        return len(one)

    @property
    def digest(self) -> str:
        """By which a dealer knows the same request again."""
        return hash_of(canonical_json(self.to_document()))

    @property
    def is_empty(self) -> bool:
        """Whether no card is named."""
        return not any(size for groups in self.sizes.values() for size in groups.values())

    @classmethod
    def from_document(cls, survey: "Survey", document: object) -> "ClosingRequest":
        """The request that `to_document` wrote.

        Raises:
            DamagedError: It is none, or of another survey.
            ArgumentError: A serial number is named twice.
        """
        announcement, grouping, named = _read(survey, document, lambda _, some: _serials(some))
        # Of verified cards a person has one serial number for all questions.
        by_card = survey.dealing.is_verified
        everything = [
            (question if by_card else "", serial)
            for question, groups in named.items()
            for names in groups.values()
            for serial in names
        ]
        doubled = len(everything) - len(set(everything))
        if doubled:
            raise ArgumentError(f"serials must be named once each, got {doubled} named again")
        return cls(
            survey=survey.hash, announcement=announcement, grouping=grouping, questions=named
        )


class ClosingSums(_ByGroup[CardSum]):
    """What one dealer announced of its cards in one announcement, once and for all."""

    @staticmethod
    def _written(one: CardSum) -> Any:
        return one.to_document()

    @staticmethod
    def _cards(one: CardSum) -> int:
        return one.cards

    @classmethod
    def from_document(cls, survey: "Survey", document: object) -> "ClosingSums":
        """The sums that `to_document` wrote.

        Raises:
            DamagedError: It is none, or of another survey.
        """
        announcement, grouping, sums = _read(
            survey, document, lambda name, one: _card_sum(survey, name, one)
        )
        return cls(survey=survey.hash, announcement=announcement, grouping=grouping, questions=sums)


@dataclass(frozen=True, kw_only=True)
class ToldSums:
    """All that dealers told: announced sums, and what is left of closed decks.

    Attributes:
        announced: of each announcement so far one `ClosingSums` from each dealer.
        undealt: question -> of closed decks: the cards nobody fetched.
        decks: from how many decks was dealt.
    """

    announced: tuple[tuple[ClosingSums, ...], ...] = ()
    undealt: Mapping[str, CardSum] = field(default_factory=dict)
    decks: int | None = None

    @property
    def grouping(self) -> CardGrouping:
        """In which cells there were sums at the end of the survey."""
        return self.announced[0][0].grouping if self.announced else CardGrouping()

    def of(self, question: str, announcement: int = 1) -> CardSums:
        """What was told of the cards of one question, in one announcement."""
        undealt = self.undealt.get(question)
        if not self.announced:
            return CardSums(undealt=undealt)
        dealers = self.announced[announcement - 1]
        grouping = dealers[0].grouping
        announced: dict[str, tuple[CardSum, ...]] = {}
        for cell in {cell for one in dealers for cell in one.questions.get(question, ())}:
            announced[cell] = tuple(
                one.questions.get(question, {}).get(cell, CardSum(0, None)) for one in dealers
            )
        return CardSums(
            by=grouping.by, merged=grouping.merged, announced=announced, undealt=undealt
        )

    def for_groups(self, question: str, by: Sequence[str]) -> CardSums:
        """The sums from which groups by these questions follow; those of the end if none do."""
        everybody = [
            self.of(question, number)
            for number, dealers in enumerate(self.announced, 1)
            if AFTER not in dealers[0].grouping.by
        ]
        return next((one for one in everybody if one.covers(by)), self.of(question))

    def of_next_wave(self, question: str) -> CardSums:
        """The sums of those who answered the next wave too; none where none were announced."""
        for number, dealers in enumerate(self.announced, 1):
            if AFTER in dealers[0].grouping.by:
                return self.of(question, number)
        return CardSums()

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "announced": [[one.to_document() for one in dealers] for dealers in self.announced],
            "undealt": {name: one.to_document() for name, one in self.undealt.items()},
            "decks": self.decks,
        }

    @classmethod
    def from_document(cls, survey: "Survey", document: object) -> "ToldSums":
        """What `to_document` wrote.

        Raises:
            DamagedError: It is not what the dealers of this survey tell.
        """
        if not isinstance(document, Mapping) or set(document) != {"announced", "undealt", "decks"}:
            raise DamagedError("sums must be of announced, undealt and decks")
        announced, undealt, decks = (document[name] for name in ("announced", "undealt", "decks"))
        return cls(
            announced=tuple(_from_dealers(survey, one) for one in _list("announced", announced)),
            undealt=_undealt(survey, undealt),
            decks=_decks(decks),
        )

    def adding(self, survey: "Survey", document: object) -> "ToldSums":
        """What was told before, and one announcement more: what every dealer told just now.

        The same again changes nothing. What is left of closed decks is told with the first.

        Raises:
            DamagedError: It is not what the dealers of this survey tell.
            ProtocolError: Other sums are here already, or the one before is missing.
        """
        if not isinstance(document, Mapping) or set(document) != {"announced", "undealt", "decks"}:
            raise DamagedError("sums must be of announced, undealt and decks")
        more = _list("announced", document["announced"])
        told = _from_dealers(survey, more) if survey.announces else ()
        if more and not told:
            raise DamagedError("announced must be empty: no sums of cards are announced")
        number = told[0].announcement if told else 1
        if number == 1:
            first = ToldSums(
                announced=(told,) if told else (),
                undealt=_undealt(survey, document["undealt"]),
                decks=_decks(document["decks"]),
            )
            if self != ToldSums() and replace(self, announced=self.announced[:1]) != first:
                raise ProtocolError("other sums are here already")
            return self if self.announced else first
        before = self.announced[number - 1 : number]
        if before:
            if before[0] != told:
                raise ProtocolError("other sums are here already")
            return self
        if len(self.announced) != number - 1:
            raise ProtocolError(f"announcement {len(self.announced) + 1} must come first")
        return replace(self, announced=(*self.announced, told))


def announced_questions(survey: "Survey") -> list[Any]:
    """The questions whose card sums are announced."""
    return [one for one in survey.dealt if one.mechanism.announced]


def closed_decks(survey: "Survey") -> list[Any]:
    """The questions whose cards are masks that cancel, but for those that nobody fetched."""
    return [one for one in survey.dealt if one.mechanism.masked and not one.mechanism.announced]


def _read(
    survey: "Survey", document: object, read: Callable[[str, object], T]
) -> tuple[int, CardGrouping, dict[str, dict[str, T]]]:
    if not isinstance(document, Mapping) or set(document) - {"merged"} != _FIELDS:
        raise DamagedError(
            "a closing request, or sums, must be of survey, announcement, by and questions"
        )
    if document["survey"] != survey.hash:
        raise DamagedError("a closing request, or sums, must be of this survey, got another's")
    announcement = document["announcement"]
    if type(announcement) is not int or not 1 <= announcement <= survey.announcements:
        allowed = f"1 to {survey.announcements}, as many as were planned"
        raise checks.refusal("announcement", announcement, allowed)
    grouping, questions = CardGrouping.from_document(survey, document), document["questions"]
    expected = {one.name for one in announced_questions(survey)}
    if not isinstance(questions, Mapping) or set(questions) != expected:
        raise DamagedError(f"questions must be exactly {sorted(expected)}")
    known = set(grouping.names(survey))
    for groups in questions.values():
        if not isinstance(groups, Mapping) or not set(groups) <= known:
            raise DamagedError("questions must have the groups of the grouping and no others")
    return (
        announcement,
        grouping,
        {
            name: {group: read(name, one) for group, one in groups.items()}
            for name, groups in questions.items()
        },
    )


def _list(name: str, given: object) -> list[Any]:
    if not isinstance(given, list):
        raise DamagedError(f"{name} must be a list")
    return given


def _from_dealers(survey: "Survey", documents: object) -> tuple[ClosingSums, ...]:
    """One announcement: sums from every dealer."""
    expected = len(survey.dealing.addresses) if survey.announces else 0
    if not isinstance(documents, list) or len(documents) != expected:
        raise DamagedError(f"announced must be a list of {expected}, one from each dealer")
    found = tuple(ClosingSums.from_document(survey, one) for one in documents)
    if len({(one.announcement, one.grouping) for one in found}) > 1:
        raise DamagedError("dealers must announce sums of the same cells")
    return found


def _undealt(survey: "Survey", document: object) -> dict[str, CardSum]:
    closed = {one.name for one in closed_decks(survey)}
    if not isinstance(document, Mapping) or not set(document) <= closed:
        raise DamagedError("undealt must be of questions with closed decks of whole numbers")
    return {name: _card_sum(survey, name, one) for name, one in document.items()}


def _decks(number: object) -> int | None:
    if number is not None and (type(number) is not int or not 1 <= number <= 10**12):
        raise DamagedError("decks must be a whole number above 0, or null")
    return number


def _serials(names: object) -> tuple[bytes, ...]:
    if not isinstance(names, list | tuple):
        raise DamagedError("serials of a group must be a list")
    return tuple(serial_from_hex(name) for name in names)


def _card_sum(survey: "Survey", name: str, document: object) -> CardSum:
    mechanism = survey.by_name[name].mechanism
    try:
        return CardSum.from_document(document, 1 if mechanism.k == 2 else mechanism.k)
    except ArgumentError as error:
        raise DamagedError(f"an announced sum must be one of this survey: {error}") from None
