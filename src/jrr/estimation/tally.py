"""Counts of reports: mergeable, serialisable, carded and card-less kept apart."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError

VERSION = 1


@dataclass(frozen=True)
class Tally:
    """How many reports support each value, apart for those with and those without a card.

    Tallies add. Parts of one deck bear one name (by default none); tallies of decks that were
    dealt separately must bear different ones, because noise cancels only within a deck.
    """

    mechanism: Mapping[str, Any]  # Mechanism.to_dict() of the mechanism that made the reports
    carded: tuple[int, ...]  # support counts of reports made with a card
    cardless: tuple[int, ...]  # support counts of reports made without one
    n_carded: int  # contributors with a card
    n_cardless: int  # contributors without one
    decks: tuple[str, ...] = ("",)  # names of the decks that cards came from, if there are any

    def __post_init__(self) -> None:
        for name in ("carded", "cardless"):
            n = checks.integer(f"n_{name}", getattr(self, f"n_{name}"), 0, 1 << 62)
            object.__setattr__(self, f"n_{name}", n)
            object.__setattr__(self, name, _counts(name, getattr(self, name), n))
        names: object = self.decks
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            raise checks.refusal("decks", names, "a list of names")
        # Whoever holds no card comes from no deck.
        object.__setattr__(self, "decks", tuple(sorted(set(names))) if self.n_carded else ())
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
            tuple(a + b for a, b in zip(self.carded, other.carded, strict=True)),
            tuple(a + b for a, b in zip(self.cardless, other.cardless, strict=True)),
            self.n_carded + other.n_carded,
            self.n_cardless + other.n_cardless,
            self.decks + other.decks,
        )

    def __radd__(self, other: object) -> "Tally":
        return self if other == 0 else NotImplemented  # so that sum() works

    def __hash__(self) -> int:
        return hash((self.carded, self.cardless, self.n_carded, self.n_cardless))

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        return json.dumps(
            {
                "tally": VERSION,
                "mechanism": dict(self.mechanism),
                "carded": list(self.carded),
                "cardless": list(self.cardless),
                "n_carded": self.n_carded,
                "n_cardless": self.n_cardless,
                "decks": list(self.decks),
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> "Tally":
        """The tally that `to_json` wrote; anything else is refused."""
        try:
            document = json.loads(text, object_pairs_hook=_once)
        except RecursionError:
            raise ArgumentError("text must be a tally in JSON, got too many brackets") from None
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"text must be a tally in JSON, got {error}") from None
        version = document.get("tally") if isinstance(document, dict) else None
        if version != VERSION or type(version) is not int:
            found = document.get("tally") if isinstance(document, dict) else document
            raise checks.refusal("tally version", found, f"{VERSION}")
        fields = {"mechanism", "carded", "cardless", "n_carded", "n_cardless", "decks"}
        if set(document) != fields | {"tally"}:
            raise checks.refusal("tally fields", sorted(document), f"{sorted(fields)} and tally")
        if not isinstance(document["mechanism"], dict):
            raise checks.refusal("mechanism", document["mechanism"], "an object")
        return cls(**{name: document[name] for name in fields})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key that occurs twice")
    return found


def _counts(argument: str, counts: object, n: int) -> tuple[int, ...]:
    if not isinstance(counts, tuple | list):
        raise checks.refusal(argument, counts, "a list of counts, one per value")
    return tuple(checks.integer(f"{argument} counts", count, 0, n) for count in counts)
