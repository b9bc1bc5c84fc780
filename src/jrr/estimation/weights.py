"""Weighted counts of reports, for survey weights: mergeable as tallies are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats


class Weighed(NamedTuple):
    """One group's reports: what weighs in for each value, and in all."""

    n: int  # contributors
    support: Floats  # Σ w of the reports that support each value
    support_squares: Floats  # Σ w²
    weight: float  # Σ w of all reports
    weight_squares: float

    def __add__(self, other: object) -> "Weighed":
        if not isinstance(other, Weighed):
            return NotImplemented
        return Weighed(
            self.n + other.n,
            self.support + other.support,
            self.support_squares + other.support_squares,
            self.weight + other.weight,
            self.weight_squares + other.weight_squares,
        )


@dataclass(frozen=True, eq=False)
class WeightedTally:
    """As a Tally, each report counted by its contributor's weight.

    Weights must be known beforehand and public: they may depend on neither answer nor card.
    """

    mechanism: Mapping[str, Any]
    carded: Weighed
    cardless: Weighed
    decks: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        names = tuple(sorted(set(self.decks))) if self.carded.n else ()
        object.__setattr__(self, "decks", names)

    @property
    def n(self) -> int:
        """All reports."""
        return self.carded.n + self.cardless.n

    @property
    def n_carded(self) -> int:
        """Reports made with a card."""
        return self.carded.n

    def __add__(self, other: object) -> "WeightedTally":
        if not isinstance(other, WeightedTally):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise ArgumentError(
                "tallies to add must be of one mechanism, "
                f"got {dict(self.mechanism)} and {dict(other.mechanism)}"
            )
        return WeightedTally(
            self.mechanism,
            self.carded + other.carded,
            self.cardless + other.cardless,
            self.decks + other.decks,
        )

    def __radd__(self, other: object) -> "WeightedTally":
        return self if other == 0 else NotImplemented  # so that sum() works


def check_weights(weights: object, length: int) -> Floats:
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
