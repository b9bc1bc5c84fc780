"""Tallies: how many reports support each value, with and without a card; they can be added.

A WeightedTally counts reports by survey weights.
"""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.documents import read_json, read_version
from jrr._base.wording import ShortRepr
from jrr.errors import ArgumentError
from jrr.estimation.masks import NOTHING_KNOWN, Known

VERSION = 1
_MOST = 1 << 62  # of people, and of what masks may add to a sum
_MASKED = 1e150  # more than any sum of masked reports
_ROUNDING = 1 + 1e-9  # sums in another order may differ by that much
_Floats = NDArray[np.float64]


class CountedReports(ShortRepr):
    """What plain and weighted tallies share."""

    mechanism: Mapping[str, Any]
    decks: tuple[str, ...]
    _words: ClassVar[str]  # what it is called in refusals

    def _check_origin(self, n_carded: int) -> None:
        """Check and set what made the reports, and the decks of those with a card."""
        if not isinstance(self.mechanism, Mapping):
            raise checks.refusal("mechanism", self.mechanism, "a mechanism's to_dict()")
        decks = checks.names("decks", self.decks)
        # Whoever holds no card comes from no deck.
        object.__setattr__(self, "decks", tuple(sorted(set(decks))) if n_carded else ())

    def _check_same(self, other: "CountedReports", *, same_values: bool) -> None:
        if self.mechanism != other.mechanism or not same_values:
            raise ArgumentError(
                "tallies to add must be of one mechanism, "
                f"got {dict(self.mechanism)} and {dict(other.mechanism)}"
            )

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""

    @classmethod
    @abstractmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote."""

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The tally that `to_json` wrote.

        Raises:
            ArgumentError: for any other text.
        """
        return cls.from_dict(read_json("text", text, f"a {cls._words} in JSON"))


@dataclass(frozen=True, repr=False)
class Tally(CountedReports):
    """How many reports support each value, apart for those with and those without a card.

    Tallies add. Parts of one deck bear one name (by default none); tallies of decks that were
    dealt separately must bear different ones, because noise cancels only within a deck.

    Attributes:
        mechanism: `to_dict()` of the mechanism that made the reports.
        carded: how many reports made with a card support each value.
        cardless: how many reports made without one support each value.
        n_carded: contributors with a card.
        n_cardless: contributors without one.
        decks: names of the decks that the cards came from; none where nobody had a card.
        masked: whether counts are sums of masked or noisy reports, which may be any whole numbers.
        known: what the dealer told of the masks, and what has been taken off `carded` for it.

    Raises:
        ArgumentError: where counts are negative, larger than the number of contributors, or of
            different lengths.

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=2, p=0.75)
        >>> monday, tuesday = m.tally([0, 1, 1]), m.tally([1, 0, 0])
        >>> (monday + tuesday).cardless
        (3, 3)
        >>> jrr.Tally.from_json(monday.to_json()) == monday
        True
    """

    mechanism: Mapping[str, Any]
    _: KW_ONLY
    carded: tuple[int, ...]
    cardless: tuple[int, ...]
    n_carded: int
    n_cardless: int
    decks: tuple[str, ...] = ("",)
    masked: bool = False
    known: Known = NOTHING_KNOWN
    _words = "tally"

    def __post_init__(self) -> None:
        for name in ("carded", "cardless"):
            n = checks.integer(f"n_{name}", getattr(self, f"n_{name}"), 0, 1 << 62)
            object.__setattr__(self, f"n_{name}", n)
            low, high = (-_MOST, _MOST) if self.masked else (0, n)
            object.__setattr__(self, name, _check_counts(name, getattr(self, name), low, high))
        if not isinstance(self.masked, bool):
            raise checks.refusal("masked", self.masked, "true or false")
        object.__setattr__(self, "known", _check_known(self.known))
        self._check_origin(self.n_carded)
        if len(self.carded) != len(self.cardless):
            raise ArgumentError(
                "carded and cardless must have one count per value each, "
                f"got {len(self.carded)} and {len(self.cardless)}"
            )

    @property
    def n(self) -> int:
        """All reports."""
        return self.n_carded + self.n_cardless

    def __add__(self, other: object) -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        self._check_same(other, same_values=len(self.carded) == len(other.carded))
        return Tally(
            self.mechanism,
            carded=tuple(a + b for a, b in zip(self.carded, other.carded, strict=True)),
            cardless=tuple(a + b for a, b in zip(self.cardless, other.cardless, strict=True)),
            n_carded=self.n_carded + other.n_carded,
            n_cardless=self.n_cardless + other.n_cardless,
            decks=self.decks + other.decks,
            masked=self.masked or other.masked,
            known=_added(self.known, other.known),
        )

    def scaled(self, weight: float) -> "WeightedTally":
        """The same reports, each of which weighs so much.

        Args:
            weight: of every report.
        """
        carded, cardless = (
            WeightSums.of_ones(n, support).scaled(weight)
            for n, support in ((self.n_carded, self.carded), (self.n_cardless, self.cardless))
        )
        return WeightedTally(
            self.mechanism,
            carded=carded,
            cardless=cardless,
            decks=self.decks,
            masked=self.masked,
            known=self.known.scaled(weight),
        )

    def __hash__(self) -> int:
        return hash((self.carded, self.cardless, self.n_carded, self.n_cardless))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        of_masks = {"masked": True, "known": list(self.known[:3])} if self.masked else {}
        return of_masks | {
            "tally": VERSION,
            "mechanism": dict(self.mechanism),
            "carded": list(self.carded),
            "cardless": list(self.cardless),
            "n_carded": self.n_carded,
            "n_cardless": self.n_cardless,
            "decks": list(self.decks),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Tally":
        """The tally that `to_dict` wrote.

        Args:
            document: what `to_dict` returned.

        Raises:
            ArgumentError: for anything else: another version, other fields, impossible counts.
        """
        names = set(cls.__dataclass_fields__)
        given: object = document  # perhaps no document at all, which is refused below
        if not isinstance(given, Mapping) or "masked" not in given:
            names -= {"masked", "known"}
        return cls(**read_version(document, kind="tally", version=VERSION, names=names))


def _check_counts(argument: str, counts: object, low: int, high: int) -> tuple[int, ...]:
    if not isinstance(counts, tuple | list):
        raise checks.refusal(argument, counts, "a list of counts, one per value")
    if set(map(type, counts)) == {int} and low <= min(counts) and max(counts) <= high:
        return tuple(counts)  # as nearly always; one by one a million takes seconds
    return tuple(checks.integer(f"{argument} counts", count, low, high) for count in counts)


def _check_known(known: object) -> Known:
    if not isinstance(known, tuple | list) or len(known) not in (3, 4):
        raise checks.refusal("known", known, "the numbers of undealt cards, announcements, reports")
    undealt, announcements, covered = (
        checks.integer("known", number, 0, _MOST) for number in known[:3]
    )
    squares = checks.real("known squares", [*known, 0.0][3], "a number >= 0", 0.0)
    return Known(undealt, announcements, covered, squares)


def _added(first: Known, second: Known) -> Known:
    return Known._make(a + b for a, b in zip(first, second, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WeightSums(ShortRepr):
    """Some contributors' reports: what weighs in for each value, and in all.

    Attributes:
        n: contributors.
        support: for each value, the weights of the reports that support it, added up.
        support_squares: the same for the squares of the weights.
        weight: the weights of all reports, added up.
        weight_squares: the same for their squares.
        weight_cubes: the same for their cubes, which say how unequal they are.
        heaviest: the largest weight.
    """

    n: int
    support: _Floats
    support_squares: _Floats
    weight: float
    weight_squares: float
    weight_cubes: float
    heaviest: float

    def __add__(self, other: object) -> "WeightSums":
        if not isinstance(other, WeightSums):
            return NotImplemented
        names = [field.name for field in fields(self) if field.name != "heaviest"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return WeightSums(**sums, heaviest=max(self.heaviest, other.heaviest))

    @classmethod
    def of_ones(cls, n: int, support: tuple[int, ...]) -> "WeightSums":
        """The sums of n reports that each weigh 1."""
        counts, whole = np.array(support, np.float64), float(n)
        return cls(
            n=n,
            support=counts,
            support_squares=counts,
            weight=whole,
            weight_squares=whole,
            weight_cubes=whole,
            heaviest=float(n > 0),
        )

    def scaled(self, weight: float) -> "WeightSums":
        """The same where everybody weighs so many times as much."""
        return WeightSums(
            n=self.n,
            support=weight * self.support,
            support_squares=weight**2 * self.support_squares,
            weight=weight * self.weight,
            weight_squares=weight**2 * self.weight_squares,
            weight_cubes=weight**3 * self.weight_cubes,
            heaviest=weight * self.heaviest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        lists = {name: getattr(self, name).tolist() for name in ("support", "support_squares")}
        return asdict(self) | lists

    @classmethod
    def from_dict(cls, document: object, *, masked: bool = False) -> "WeightSums":
        """The sums that `to_dict` wrote; those of masked reports may be any numbers.

        Raises:
            ArgumentError: for anything else, or for sums that no weights have.
        """
        names = set(cls.__dataclass_fields__)
        if not isinstance(document, Mapping) or set(document) != names:
            raise checks.refusal("weight sums", document, f"an object of {sorted(names)}")
        sums: dict[str, Any] = {"n": checks.integer("n", document["n"], 0, 1 << 62)}
        for total, part in (("weight", "support"), ("weight_squares", "support_squares")):
            sums[total] = checks.real(total, document[total], "a number >= 0", 0.0)
            values = document[part]
            if not isinstance(values, list):
                raise checks.refusal(part, values, "a list of numbers, one per value")
            most = sums[total] * _ROUNDING
            allowed = f"numbers in 0..{total}"
            low, high = (-_MASKED, _MASKED) if masked else (0.0, most)
            numbers = [checks.real(part, value, allowed, low, high) for value in values]
            sums[part] = np.array(numbers, np.float64)
        for name, power in (("weight_cubes", 1.5), ("heaviest", 0.5)):
            most = sums["weight_squares"] ** power * _ROUNDING
            allowed = f"in 0..weight_squares**{power}"
            sums[name] = checks.real(name, document[name], allowed, 0.0, most)
        return cls(**sums)


@dataclass(frozen=True, eq=False, repr=False)
class WeightedTally(CountedReports):
    """As a Tally, each report counted by its contributor's weight.

    Weights must be known beforehand and public: they may depend on neither answer nor card.

    Attributes:
        mechanism: `to_dict()` of the mechanism that made the reports.
        carded: the sums of reports made with a card.
        cardless: the sums of reports made without one.
        decks: names of the decks that the cards came from; none where nobody had a card.
        masked: whether `carded` holds sums of masked reports, which may be any numbers.
        known: what the dealer told of the masks, and what has been taken off `carded` for it.

    Example:
        >>> import jrr
        >>> tally = jrr.RR(k=2, p=0.75).tally([0, 1, 1], weights=[1.0, 0.5, 2.0])
        >>> tally.cardless.support.tolist(), tally.weight
        ([1.0, 2.5], 3.5)
        >>> WeightedTally.from_json(tally.to_json()).to_dict() == tally.to_dict()
        True
    """

    mechanism: Mapping[str, Any]
    _: KW_ONLY
    carded: WeightSums
    cardless: WeightSums
    decks: tuple[str, ...] = ("",)
    masked: bool = False
    known: Known = NOTHING_KNOWN
    _words = "weighted tally"

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", _check_known(self.known))
        self._check_origin(self.carded.n)
        lengths = {len(sums.support) for sums in (self.carded, self.cardless)}
        lengths |= {len(sums.support_squares) for sums in (self.carded, self.cardless)}
        if len(lengths) > 1:
            raise ArgumentError(
                f"carded and cardless must have one sum per value each, got {sorted(lengths)}"
            )

    @property
    def n(self) -> int:
        """All reports."""
        return self.carded.n + self.cardless.n

    @property
    def n_carded(self) -> int:
        """Reports made with a card."""
        return self.carded.n

    @property
    def n_cardless(self) -> int:
        """Reports made without one."""
        return self.cardless.n

    @property
    def weight(self) -> float:
        """The weights of all reports, added up."""
        return self.carded.weight + self.cardless.weight

    def __add__(self, other: object) -> "WeightedTally":
        if not isinstance(other, WeightedTally):
            return NotImplemented
        values = len(self.carded.support), len(other.carded.support)
        self._check_same(other, same_values=values[0] == values[1])
        return WeightedTally(
            self.mechanism,
            carded=self.carded + other.carded,
            cardless=self.cardless + other.cardless,
            decks=self.decks + other.decks,
            masked=self.masked or other.masked,
            known=_added(self.known, other.known),
        )

    def scaled(self, weight: float) -> "WeightedTally":
        """The same where everybody weighs so many times as much.

        Args:
            weight: by which all weights are multiplied.
        """
        carded, cardless = self.carded.scaled(weight), self.cardless.scaled(weight)
        return replace(self, carded=carded, cardless=cardless, known=self.known.scaled(weight))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        of_masks = {"masked": True, "known": list(self.known)} if self.masked else {}
        return of_masks | {
            "weighted_tally": VERSION,
            "mechanism": dict(self.mechanism),
            "carded": self.carded.to_dict(),
            "cardless": self.cardless.to_dict(),
            "decks": list(self.decks),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "WeightedTally":
        """The tally that `to_dict` wrote.

        Args:
            document: what `to_dict` returned.

        Raises:
            ArgumentError: for anything else: another version, other fields, impossible sums.
        """
        names = set(cls.__dataclass_fields__)
        masked = isinstance(document, dict) and document.get("masked") is True
        if not masked:
            names -= {"masked", "known"}
        parts = read_version(document, kind="weighted_tally", version=VERSION, names=names)
        for name in ("carded", "cardless"):
            parts[name] = WeightSums.from_dict(parts[name], masked=masked and name == "carded")
        return cls(**parts)


def weights_or_ones(weights: object, length: int) -> _Floats:
    """The same, or 1 for each report where none are given; they must not all be 0."""
    array = np.ones(length) if weights is None else check_weights(weights, length)
    if not array.any():
        raise ArgumentError("weights must not all be 0")
    return array


def check_weights(weights: object, length: int) -> _Floats:
    """One finite weight >= 0 for each report, not all of them 0."""
    try:
        array = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"weights must be {length} numbers >= 0, got {weights!r:.80}") from None
    if array.shape != (length,):
        raise ArgumentError(f"weights must be {length} numbers, got shape {array.shape}")
    # Beyond these, squares and their sums would leave the range of floating point.
    strange = ~((array == 0) | ((array >= 1e-50) & (array <= 1e50)))
    if strange.any():
        at = int(np.argmax(strange))
        raise ArgumentError(f"weights must be 0 or in 1e-50..1e50, got {array[at]} at place {at}")
    return array
