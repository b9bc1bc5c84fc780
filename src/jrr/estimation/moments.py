"""Moments: mean and variance of every mechanism's counts in one formula (theory-jrr.md, Theorem 4).

I_v is the number of reports that support value v: one with probability p_v from a holder of
v, q_v from anybody else. Cards tie the reports together: contributor i leans by d_i, and two
contributors of one deck have covariance -pair_weight * d_i * d_j. Hence

    E[I_v]   = n_v p_v + (n - n_v) q_v
    Var[I_v] = n_v p_v(1-p_v) + (n - n_v) q_v(1-q_v) - pair_weight * [(Σd)² - Σd²]

which is a quadratic in n_v. Everything about accuracy is derived from these lines.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr.errors import ArgumentError
from jrr.estimation.masks import MaskedSum, Masks

Floats = NDArray[np.float64]
_ARRAYS = ("p", "q", "gain", "lean_holder", "lean_other", "card_skew")  # fields of Moments


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """Support probabilities and leans: one entry per value, or one entry for all of them.

    Attributes:
        p: Pr[report supports v | holder of v].
        q: Pr[report supports v | anybody else].
        gain: p - q, given apart because a difference of near numbers loses digits.
        lean_holder: d of a holder of v.
        lean_other: d of anybody else.
        deck: contributors per deck; None where no cards are dealt.
        signed: cards of the deck that are not blank.
        card_skew: E[ξ³] of a standardised card ξ; 0 where plus and minus cards are as many.
        exclusive: whether every report supports exactly one value.
        base: what every report adds to the support beside that, on average.
        masks: the whole numbers that cards add to reports; None where they add none.
        cardless: the moments of those without a card, where they are others.

    Example:
        >>> fair = Moments.same_for_all(p=0.75, q=0.25, gain=0.5)  # plain RR
        >>> fair.estimate(np.array([60.0, 40.0]), 100).tolist()
        [70.0, 30.0]
        >>> fair.variance(np.array([70.0, 30.0]), 100, decks=1).tolist()
        [75.0, 75.0]
    """

    p: Floats
    q: Floats
    gain: Floats
    lean_holder: Floats
    lean_other: Floats
    deck: int | None = None
    signed: int | None = None
    card_skew: Floats = field(default_factory=lambda: np.zeros(1))
    exclusive: bool = False
    base: float = 0.0
    masks: Masks | None = None
    cardless: "Moments | None" = None

    @classmethod
    def same_for_all(
        cls,
        *,
        p: float,
        q: float,
        gain: float,
        lean_holder: float = 0.0,
        lean_other: float = 0.0,
        card_skew: float = 0.0,
        **more: Any,
    ) -> "Moments":
        """Moments of a mechanism that treats all values alike."""
        numbers = (p, q, gain, lean_holder, lean_other, card_skew)
        for name, number in zip(_ARRAYS, numbers, strict=True):
            more[name] = np.array([number], np.float64)
        return cls(**more)

    def pair_weight(self, decks: int) -> float:
        """Minus the correlation of two random contributors' cards, with `decks` decks.

        Two of the n slots of a deck have correlation -N/(n(n-1)), N of them not blank, and
        two random contributors share a deck with probability (n-1)/(n·decks - 1).
        """
        if self.deck is None or self.signed is None:
            return 0.0
        return self.signed / (self.deck * (self.deck * decks - 1))

    def triple_weight(self, decks: int) -> Floats:
        """E[ξ_i ξ_j ξ_l] of three contributors' cards, with `decks` decks.

        All ξ of the decks add up to 0, and so do those that two others leave over.
        """
        cards = 0 if self.deck is None else self.deck * decks
        if cards < 3:
            return np.zeros(1)
        weight: Floats = 2 * self.card_skew / ((cards - 1) * (cards - 2))
        return weight

    def card_values(self) -> tuple[Floats, Floats]:
        """The two values of ξ, where there are two kinds of cards: above 0 and below."""
        root = np.sqrt(self.card_skew**2 + 4)
        return (self.card_skew + root) / 2, (self.card_skew - root) / 2

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            getattr(self, name).setflags(write=False)  # mechanisms keep and share them

    def same_as(self, other: "Moments") -> bool:
        """Whether both describe the same mechanism."""
        mine = (self.p, self.q, self.lean_holder, self.lean_other)
        theirs = (other.p, other.q, other.lean_holder, other.lean_other)
        alike = all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
        mine_too = (self.deck, self.signed, self.base, self.masks)
        return alike and mine_too == (other.deck, other.signed, other.base, other.masks)

    def some(self, values: slice) -> "Moments":
        """The same for some of the values."""
        if self.p.size == 1:
            return self
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return replace(self, **{k: a[values] if a.size > 1 else a for k, a in arrays.items()})

    def without_cards(self) -> "Moments":
        """The same marginals for contributors who hold no card, unless they have others."""
        if self.cardless is not None:
            return self.cardless
        nothing = np.zeros_like(self.p)
        leans: dict[str, Any] = {"lean_holder": nothing, "lean_other": nothing}
        return Moments(p=self.p, q=self.q, gain=self.gain, **leans, exclusive=self.exclusive)

    def estimate(self, support: Floats, n: float) -> Floats:
        """The unbiased estimate of the true counts."""
        estimated: Floats = (support - n * (self.q + self.base)) / self.gain
        return estimated

    def variance(self, counts: Floats, n: float, decks: int) -> Floats:
        """Variance of the estimated counts, where `counts` are true."""
        # A variance of 0 may come out a rounding error below it.
        return np.maximum(self.quadratic(n, decks).at(counts), 0.0)

    def mean_variance(self) -> float:
        """Variance of an estimated frequency, times n, on average over all frequencies 0..1.

        One full deck reports; without cards any n gives the same.
        """
        n = 1 if self.deck is None else self.deck
        a, b, c = self.quadratic(n, 1)
        return float(np.mean(a + b * n / 2 + c * n**2 / 3)) / n

    def quadratic(self, n: float, decks: int) -> "Quadratic":
        """Variance of the estimated count of v as a quadratic in the true count n_v."""
        return self.spread(n, n, decks).along(0.0, 1.0)  # a weight of 1 is its own square

    def spread(self, total: float, squares: float, decks: int) -> "Spread":
        """Variance of an estimated weighted count; all weights add up to `total`.

        The formula above with weights: Var = Σ w² p(1-p) - pair_weight [(Σ w d)² - Σ w² d²],
        where the squares of all weights add up to `squares`.
        """
        lean = (self.lean_holder, self.lean_other)
        tied = self.pair_weight(decks)
        masked = self._masked(total, squares, decks)
        parts = spread_parts(self.p, self.q, self.gain, *lean, tied, total, squares, masked)
        return Spread(*parts)

    def _masked(self, total: float, squares: float, decks: int) -> Floats:
        if self.masks is None:
            return np.zeros(1)
        return self.masks.variance([MaskedSum(np.ones(1), total, squares)], decks)

    def check_total(self, argument: str, n: float, decks: int) -> None:
        """Refuse more contributors than cards."""
        rounding = 1 + 1e-12  # expected counts may be fractions
        if self.deck is not None and n > self.deck * decks * rounding:
            raise ArgumentError(
                f"{argument} must add up to at most n*decks = {self.deck * decks}, "
                f"got a sum of {n:g}"
            )


def spread_parts(
    p: Any,
    q: Any,
    gain: Any,
    d1: Any,
    d0: Any,
    tied: float,
    total: float,
    squares: float,
    masked: Any = 0.0,
) -> tuple[Any, Any, Any, Any]:
    """The parts of a Spread, of arrays or, where a search compares thousands, of numbers."""
    holder, other = p * (1 - p), q * (1 - q)
    scale = 1 / (gain * gain)
    apart = d1 - d0
    return (
        scale * (other * squares - tied * (d0 * d0) * (total**2 - squares)) + scale * masked,
        -2 * scale * tied * total * d0 * apart,
        -scale * tied * (apart * apart),
        scale * (holder - other + tied * (d1 * d1 - d0 * d0)),
    )


class Spread(NamedTuple):
    """constant + linear x + square x² + held y: x weight of the holders of v, y its squares."""

    constant: Floats
    linear: Floats
    square: Floats
    held: Floats

    def along(self, start: Floats | float, slope: Floats | float) -> "Quadratic":
        """The same where y = start + slope x."""
        return Quadratic(
            self.constant + self.held * start, self.linear + self.held * slope, self.square
        )


class Quadratic(NamedTuple):
    """constant + linear x + square x², one per value."""

    constant: Floats
    linear: Floats
    square: Floats

    def at(self, x: Floats) -> Floats:
        """The values at x."""
        result: Floats = self.constant + x * (self.linear + x * self.square)
        return result
