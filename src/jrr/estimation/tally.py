"""Tally: how many reports support each value, with and without a card. Tallies can be added."""

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from jrr._base import checks
from jrr._base.documents import read_json, read_version
from jrr._base.short_repr import ShortRepr
from jrr.errors import ArgumentError
from jrr.estimation.masks import NOTHING_KNOWN, Known

VERSION = 1
_MOST = 1 << 62  # of people, and of what masks may add to a sum


@dataclass(frozen=True, repr=False)
class Tally(ShortRepr):
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

    def __post_init__(self) -> None:
        for name in ("carded", "cardless"):
            n = checks.integer(f"n_{name}", getattr(self, f"n_{name}"), 0, 1 << 62)
            object.__setattr__(self, f"n_{name}", n)
            low, high = (-_MOST, _MOST) if self.masked else (0, n)
            object.__setattr__(self, name, _check_counts(name, getattr(self, name), low, high))
        if not isinstance(self.masked, bool):
            raise checks.refusal("masked", self.masked, "true or false")
        object.__setattr__(self, "known", _check_known(self.known))
        if not isinstance(self.mechanism, Mapping):
            raise checks.refusal("mechanism", self.mechanism, "a mechanism's to_dict()")
        decks = checks.names("decks", self.decks)
        # Whoever holds no card comes from no deck.
        object.__setattr__(self, "decks", tuple(sorted(set(decks))) if self.n_carded else ())
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
        if self.mechanism != other.mechanism or len(self.carded) != len(other.carded):
            raise ArgumentError(
                "tallies to add must be of one mechanism, "
                f"got {dict(self.mechanism)} and {dict(other.mechanism)}"
            )
        return Tally(
            self.mechanism,
            carded=tuple(a + b for a, b in zip(self.carded, other.carded, strict=True)),
            cardless=tuple(a + b for a, b in zip(self.cardless, other.cardless, strict=True)),
            n_carded=self.n_carded + other.n_carded,
            n_cardless=self.n_cardless + other.n_cardless,
            decks=self.decks + other.decks,
            masked=self.masked or other.masked,
            known=Known(*(a + b for a, b in zip(self.known, other.known, strict=True))),
        )

    def __radd__(self, other: object) -> "Tally":
        return self if other == 0 else NotImplemented  # so that sum() works

    def __hash__(self) -> int:
        return hash((self.carded, self.cardless, self.n_carded, self.n_cardless))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        of_masks = {"masked": True, "known": list(self.known)} if self.masked else {}
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

        Raises:
            ArgumentError: for anything else: another version, other fields, impossible counts.
        """
        names = set(cls.__dataclass_fields__)
        given: object = document  # perhaps no document at all, which is refused below
        if not isinstance(given, Mapping) or "masked" not in given:
            names -= {"masked", "known"}
        fields = read_version(document, kind="tally", version=VERSION, names=names)
        return cls(**fields)

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Tally":
        """The tally that `to_json` wrote.

        Raises:
            ArgumentError: for any other text.
        """
        return cls.from_dict(read_json("text", text, "a tally in JSON"))


def _check_counts(argument: str, counts: object, low: int, high: int) -> tuple[int, ...]:
    if not isinstance(counts, tuple | list):
        raise checks.refusal(argument, counts, "a list of counts, one per value")
    return tuple(checks.integer(f"{argument} counts", count, low, high) for count in counts)


def _check_known(known: object) -> Known:
    if not isinstance(known, tuple | list) or len(known) != len(Known._fields):
        raise checks.refusal("known", known, "the numbers of undealt cards, announcements, reports")
    return Known(*(checks.integer("known", number, 0, _MOST) for number in known))
