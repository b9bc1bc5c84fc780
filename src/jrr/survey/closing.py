"""What goes between collector and dealers at the end of a survey.

The collector names the cards that came back by their serial numbers, for every question
(`ClosingRequest`), and a dealer tells the noisy sums of exactly those cards (`ClosingSums`), once.
The operator carries both. Cards may be in disjoint groups, the values of one open question or
several of them together (jrr.survey.grouping): then every group has a sum of its own, and results
by group can be shown. Both documents say which grouping it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jrr.dealing.serials import serial_from_hex
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.told_sums import CardSum, CardSums
from jrr.protocol.documents import canonical_json, hash_of
from jrr.survey.grouping import CardGrouping

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

T = TypeVar("T")
_FIELDS = frozenset(("survey", "by", "questions"))


@dataclass(frozen=True, kw_only=True)
class _ByGroup(Generic[T]):
    """What goes between collector and one dealer: something of the cards of every group."""

    survey: str  # its hash
    grouping: CardGrouping
    questions: Mapping[str, Mapping[str, T]]  # question -> group -> it

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
        grouping, named = _read(survey, document, lambda name, serials: _serials(serials))
        everything = [
            serial for groups in named.values() for names in groups.values() for serial in names
        ]
        doubled = len(everything) - len(set(everything))
        if doubled:
            raise ArgumentError(f"serials must be named once each, got {doubled} named again")
        return cls(survey=survey.hash, grouping=grouping, questions=named)


class ClosingSums(_ByGroup[CardSum]):
    """What one dealer announced of its cards, once and for all."""

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
        grouping, sums = _read(survey, document, lambda name, one: _card_sum(survey, name, one))
        return cls(survey=survey.hash, grouping=grouping, questions=sums)


@dataclass(frozen=True, kw_only=True)
class ToldSums:
    """All that dealers told: announced sums, one from each, and what is left of closed decks."""

    announced: tuple[ClosingSums, ...] = ()
    undealt: Mapping[str, CardSum] = field(default_factory=dict)  # question -> cards nobody fetched
    decks: int | None = None  # from how many decks was dealt

    def __post_init__(self) -> None:
        if any(one.grouping != self.announced[0].grouping for one in self.announced):
            raise DamagedError("dealers must announce sums of the same groups")

    @property
    def grouping(self) -> CardGrouping:
        """In which groups there are sums."""
        return self.announced[0].grouping if self.announced else CardGrouping()

    def of(self, question: str) -> CardSums:
        """What was told of the cards of one question."""
        grouping = self.grouping
        announced: dict[str, tuple[CardSum, ...]] = {}
        for group in {g for one in self.announced for g in one.questions.get(question, ())}:
            announced[group] = tuple(
                one.questions.get(question, {}).get(group, CardSum(0, None))
                for one in self.announced
            )
        return CardSums(
            by=grouping.by,
            merged=grouping.merged,
            announced=announced,
            undealt=self.undealt.get(question),
        )

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "announced": [one.to_document() for one in self.announced],
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
        expected = len(survey.dealing.addresses) if survey.announces else 0
        if not isinstance(announced, list) or len(announced) != expected:
            raise DamagedError(f"announced must be a list of {expected}, one from each dealer")
        closed = {one.name for one in closed_decks(survey)}
        if not isinstance(undealt, Mapping) or not set(undealt) <= closed:
            raise DamagedError("undealt must be of questions with closed decks of whole numbers")
        if decks is not None and (type(decks) is not int or not 1 <= decks <= 10**12):
            raise DamagedError("decks must be a whole number above 0, or null")
        return cls(
            announced=tuple(ClosingSums.from_document(survey, one) for one in announced),
            undealt={name: _card_sum(survey, name, one) for name, one in undealt.items()},
            decks=decks,
        )


def announced_questions(survey: "Survey") -> list[Any]:
    """The questions whose card sums are announced."""
    return [one for one in survey.dealt if one.mechanism.announced]


def closed_decks(survey: "Survey") -> list[Any]:
    """The questions whose cards are masks that cancel, but for those that nobody fetched."""
    return [one for one in survey.dealt if one.mechanism.masked and not one.mechanism.announced]


def _read(
    survey: "Survey", document: object, read: Callable[[str, object], T]
) -> tuple[CardGrouping, dict[str, dict[str, T]]]:
    if not isinstance(document, Mapping) or set(document) - {"merged"} != _FIELDS:
        raise DamagedError("a closing request, or sums, must be of survey, by and questions")
    if document["survey"] != survey.hash:
        raise DamagedError("a closing request, or sums, must be of this survey, got another's")
    grouping, questions = CardGrouping.from_document(survey, document), document["questions"]
    expected = {one.name for one in announced_questions(survey)}
    if not isinstance(questions, Mapping) or set(questions) != expected:
        raise DamagedError(f"questions must be exactly {sorted(expected)}")
    known = set(grouping.names(survey))
    for groups in questions.values():
        if not isinstance(groups, Mapping) or not set(groups) <= known:
            raise DamagedError("questions must have the groups of the grouping and no others")
    return grouping, {
        name: {group: read(name, one) for group, one in groups.items()}
        for name, groups in questions.items()
    }


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
