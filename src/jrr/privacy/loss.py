"""What each adversary can learn: law and view (jrr.privacy.views) -> ε, exact, rounded outward.

Losses are computed in whole numbers of random words (`jrr._base.exact`), so they hold for the
mechanism that runs, not for an idealisation of it.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jrr._base.exact import SCALE, log_ratio_up
from jrr.errors import ArgumentError

_MOST = 4_000_000  # beyond this many cards in play, sums would fill the memory
_EXACT = 32  # up to this many cards in play, expectations are exact rationals


class IndependentLaw(NamedTuple):
    """Plain randomized response in words: how often a contributor lies."""

    k: int
    lie: int

    def epsilon(self, view: str, colluders: int) -> float:
        """There are no cards, so every view is that of the report alone."""
        return independent(self.k, self.lie)


class JointLaw(NamedTuple):
    """A joint mechanism in words: how often a holder of each card lies."""

    k: int
    n: int  # cards in the deck
    signed: int  # plus and minus cards in the deck
    plus: int  # plus cards in the deck
    lie_plus: int
    lie_minus: int
    lie_blank: int

    def epsilon(self, view: str, colluders: int) -> float:
        """Theorem 7: JRR and k-JRR. Only the chance that the target holds a plus card matters."""
        plus, minus = self.lie_plus, self.lie_minus
        # All colluders were truthful, or all lied; whoever holds the blank card tells nothing.
        told = [(_truth(plus), _truth(minus)), (Fraction(plus), Fraction(minus))]
        believed = _beliefs(view, self.signed, self.plus, colluders, told)
        words = list(zip(_parts(self.k, plus), _parts(self.k, minus), strict=True))
        losses = (_loss(*(_mixed(a, b, chance) for a, b in words)) for chance in believed)
        return max(independent(self.k, self.lie_blank), *losses)


class DealtLaw(NamedTuple):
    """A dealt mechanism in words."""

    truth: int
    dealt: int
    own: int
    deck: tuple[int, ...]  # cards of each value
    alone: tuple[int, ...]  # `dealt` words of each value for somebody without a card

    @property
    def k(self) -> int:
        """Values."""
        return len(self.deck)

    @property
    def n(self) -> int:
        """Cards in the deck."""
        return sum(self.deck)

    def epsilon(self, view: str, colluders: int) -> float:
        """Theorem 8: DRR. Only the chance that the target's card equals its report matters."""
        plain = Fraction(self.own, self.k)
        told = [(self.dealt + plain, plain)]  # all colluders reported that value
        least = (_beliefs(view, self.n, cards, colluders, told)[0] for cards in set(self.deck))
        losses = (self._loss(c.numerator * self.dealt, c.denominator) for c in least)
        return max(self._loss(min(self.alone)), *losses)

    def _loss(self, decoy_words: int, scale: int = 1) -> float:
        """Loss of a report that a card makes by so many words, which are given times `scale`."""
        decoy = self.k * decoy_words + scale * self.own
        return log_ratio_up(self.k * scale * self.truth + decoy, decoy)


class Bit(NamedTuple):
    """Words that report a bit as 1, by the bit's card."""

    minus: int
    none: int
    plus: int


class UnaryLaw(NamedTuple):
    """A unary encoding in words."""

    deck: int  # cards of each bit's deck, half plus and half minus; one is left over at odd n
    holder: Bit  # a bit that is 1
    other: Bit  # a bit that is 0

    def epsilon(self, view: str, colluders: int) -> float:
        """Theorem 13: unary encodings, every bit with a deck of its own.

        Two values differ in two bits; each adds the largest loss that a belief about its own
        card allows, and losses are monotone in that belief.
        """
        told = [  # what a colluder's bit and its report tell of its card
            (Fraction(plus), Fraction(minus))
            for bit in (self.holder, self.other)
            for plus, minus in ((bit.plus, bit.minus), (SCALE - bit.plus, SCALE - bit.minus))
        ]
        believed = _beliefs(view, self.deck, self.deck // 2, colluders, told)
        return max(self._loss(None, None), self._loss(*believed))

    def _loss(self, least: Fraction | None, most: Fraction | None) -> float:
        """Loss of two bits whose cards are believed to be plus with least..most; None: no cards."""
        held, unheld = [], []
        for plus in (least, most):
            if plus is None:
                whole, ones = SCALE, (self.holder.none, self.other.none)
            else:
                whole = SCALE * plus.denominator
                ones = (
                    _mixed(self.holder.plus, self.holder.minus, plus),
                    _mixed(self.other.plus, self.other.minus, plus),
                )
            for holder, other in (ones, (whole - ones[0], whole - ones[1])):
                held.append(log_ratio_up(holder, other))
                unheld.append(log_ratio_up(other, holder))
        return math.nextafter(max(held) + max(unheld), math.inf)


def independent(k: int, lie: int) -> float:
    """Theorem 6: one report of plain (k-ary) randomized response, whatever else is known."""
    return _loss(*_parts(k, lie))


def theorem2(n: int, p: Fraction, s: Fraction, colluders: int) -> float:
    """The paper's Theorem 2 as printed, for a negative correlation ρ = -s²/(pq)."""
    q = 1 - p
    if q == 0:
        return math.inf
    m = min(colluders, n - 1)
    p_max, p_min = p + s * s / q, q - s * s / q
    return log_ratio_up(m * p_max + (n - m - 1) * p, m * p_min + (n - m - 1) * q)


def no_paper_view(mechanism: str) -> ArgumentError:
    """The refusal where the paper states no theorem."""
    return ArgumentError(
        "view='paper' is the paper's Theorem 2, which speaks of binary JRR only; "
        f"got {mechanism}; allowed here: 'report', 'truths', 'cards', 'dealer'"
    )


def _parts(k: int, lie: int) -> tuple[int, int, int]:
    """Words of the truth, of the likeliest other value and of the least likely one.

    Lies are k-1 equal parts, but "always lie" rounded up to equal parts has more words than
    there are: then the last part is short.
    """
    part = lie // (k - 1)
    return max(0, SCALE - lie), part, max(0, min(lie, SCALE) - (k - 2) * part)


def _loss(truth: int, most: int, least: int) -> float:
    """Loss of a report whose chances are these, of the truth and of other values."""
    chances = (truth, most, least)
    return log_ratio_up(max(chances), min(chances))


def _truth(lie: Fraction | int) -> Fraction:
    """The words left for the truth; "always lie", rounded up to equal parts, leaves none."""
    return max(Fraction(0), Fraction(SCALE - lie))


def _mixed(with_plus: int, with_minus: int, plus: Fraction) -> int:
    """Words on average over a card that is plus with this chance, times its denominator."""
    return plus.numerator * with_plus + (plus.denominator - plus.numerator) * with_minus


class _Bounds(NamedTuple):
    low: Fraction
    high: Fraction


def _beliefs(
    view: str, total: int, marked: int, colluders: int, told: list[tuple[Fraction, Fraction]]
) -> _Bounds:
    """What the chance that the target holds a marked card is believed to be, least and most.

    told: what colluders may all show in the view `truths`: its chance with a marked card, and
    with another one.
    """
    if view == "dealer":
        return _Bounds(Fraction(0), Fraction(1))
    if view == "report":
        return _Bounds(*[Fraction(marked, total)] * 2)
    known = min(colluders, total - 1)
    unseen = total - known
    fewest, most = Fraction(max(0, known - (total - marked))), Fraction(min(known, marked))
    if view == "truths":
        seen = [_expected_marked(total, marked, known, *chances) for chances in told]
        fewest = max(fewest, min(bounds.low for bounds in seen))
        most = min(most, max(bounds.high for bounds in seen))
    return _Bounds((marked - most) / unseen, (marked - fewest) / unseen)


def _expected_marked(
    total: int, marked: int, drawn: int, weight: Fraction, other_weight: Fraction
) -> _Bounds:
    """Expected number of marked cards among the drawn, if all holders showed the same.

    A holder of a marked card shows it with chance ~ weight, of another card with
    ~ other_weight: Fisher's noncentral hypergeometric law. Few cards are summed in whole
    numbers, many outward from the law's mode, where the bounds include rounding.
    """
    least, most = max(0, drawn - (total - marked)), min(drawn, marked)
    if weight == 0 or least == most:
        return _Bounds(Fraction(least), Fraction(least))
    if other_weight == 0:
        return _Bounds(Fraction(most), Fraction(most))
    if most - least > _MOST:
        return _Bounds(Fraction(least), Fraction(most))  # not summed: a bound, not exact
    odds = weight / other_weight
    if most - least <= _EXACT:
        law = {
            a: math.comb(marked, a) * math.comb(total - marked, drawn - a) * odds ** (a - least)
            for a in range(least, most + 1)
        }
        exact = sum(a * chance for a, chance in law.items()) / Fraction(sum(law.values()))
        return _Bounds(exact, exact)
    a = np.arange(least, most, dtype=np.float64)
    rise = (
        np.log((marked - a) * (drawn - a))
        - np.log((a + 1) * (total - marked - drawn + a + 1))
        + math.log(odds)
    )
    mode = int(np.count_nonzero(rise > 0))  # the ratio of neighbours falls with a
    log_weight = np.concatenate(
        (-np.cumsum(rise[:mode][::-1])[::-1], [0.0], np.cumsum(rise[mode:]))
    )
    weights = np.exp(log_weight)
    mean = least + mode + float(np.dot(weights, np.arange(len(weights)) - mode) / weights.sum())
    slack = (len(weights) + 8) * (most - least) * 2.0**-46
    return _Bounds(
        max(Fraction(least), Fraction(mean - slack)), min(Fraction(most), Fraction(mean + slack))
    )
