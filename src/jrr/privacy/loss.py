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


class JointLaw(NamedTuple):
    """A joint mechanism in words: how often a holder of each card lies."""

    k: int
    n: int  # cards in the deck
    signed: int  # plus and minus cards in the deck
    plus: int  # plus cards in the deck
    lie_plus: int
    lie_minus: int
    lie_blank: int


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


def independent(k: int, lie: int) -> float:
    """Theorem 6: one report of plain (k-ary) randomized response, whatever else is known."""
    return _loss(*_parts(k, lie))


def joint(law: JointLaw, view: str, colluders: int) -> float:
    """Theorem 7: JRR and k-JRR. Only the chance that the target holds a plus card matters."""
    share = Fraction(law.plus, law.signed)
    blank = independent(law.k, law.lie_blank)
    report = max(blank, _joint_worst(law, share, share))
    if view == "report":
        return report
    if view == "dealer":
        return max(report, _joint_worst(law, Fraction(0), Fraction(1)))
    known = min(colluders, law.signed - 1)  # whoever holds the blank card tells nothing
    unseen = law.signed - known
    plus = law.plus
    fewest = Fraction(max(0, plus - known), unseen)  # where colluders show plus cards only
    highest = min(Fraction(1), Fraction(plus, unseen))  # minus cards only
    cards = max(blank, _joint_worst(law, fewest, highest))
    if view == "cards":
        return cards
    if view == "truths":
        all_lied = _expected_marked(
            law.signed, plus, known, Fraction(law.lie_plus), Fraction(law.lie_minus)
        )
        all_true = _expected_marked(
            law.signed, plus, known, _truth(law.lie_plus), _truth(law.lie_minus)
        )
        least = max(Fraction(0), (plus - all_true.high) / unseen)
        most = min(Fraction(1), (plus - all_lied.low) / unseen)
        return min(cards, max(blank, _joint_worst(law, least, most)))
    raise no_paper_view("JRR")


def dealt(law: DealtLaw, view: str, colluders: int) -> float:
    """Theorem 8: DRR. Only the chance that the target's card equals its report matters."""
    n = sum(law.deck)
    if view == "report":
        held = max(_dealt_loss(law, Fraction(cards, n)) for cards in set(law.deck))
        return max(held, _cardless_loss(law))
    if view == "dealer":
        return max(_cardless_loss(law), _dealt_loss(law, Fraction(0)))
    unseen = n - colluders
    left = {cards: Fraction(max(0, cards - colluders), unseen) for cards in set(law.deck)}
    worst = max(_cardless_loss(law), *(_dealt_loss(law, chance) for chance in left.values()))
    if view == "cards":
        return worst
    if view == "truths":
        plain = Fraction(law.own, len(law.deck))
        chances = []
        for cards in left:
            seen = _expected_marked(n, cards, colluders, law.dealt + plain, plain)
            chances.append(max(left[cards], (cards - seen.high) / unseen))
        bare = _cardless_loss(law)
        return min(worst, max(bare, *(_dealt_loss(law, chance) for chance in chances)))
    raise no_paper_view("DRR")


def unary(law: UnaryLaw, view: str, colluders: int) -> float:
    """Theorem 13: unary encodings, every bit with a deck of its own.

    Two values differ in two bits; each adds the largest loss that a belief about its own
    card allows, and losses are monotone in that belief.
    """
    half = Fraction(1, 2)
    bare = _unary_loss(law, None, None)
    if view == "report":
        return max(bare, _unary_loss(law, half, half))
    if view == "dealer":
        return max(bare, _unary_loss(law, Fraction(0), Fraction(1)))
    lean = min(Fraction(1), Fraction(colluders, law.deck - colluders))
    cards = max(bare, _unary_loss(law, (1 - lean) / 2, (1 + lean) / 2))
    if view == "cards":
        return cards
    if view == "truths":
        # What a colluder's bit and its report tell of its card: Pr[report | plus], | minus].
        sights = [
            (Fraction(plus), Fraction(minus))
            for bit in (law.holder, law.other)
            for plus, minus in (
                (bit.plus, bit.minus),
                (SCALE - bit.plus, SCALE - bit.minus),
            )
        ]
        for_plus = max(sights, key=lambda sight: _odds(*sight))
        for_minus = min(sights, key=lambda sight: _odds(*sight))
        unseen, half_deck = law.deck - colluders, law.deck // 2
        most_seen = _expected_marked(law.deck, half_deck, colluders, *for_plus).high
        least_seen = _expected_marked(law.deck, half_deck, colluders, *for_minus).low
        low = max(Fraction(0), (half_deck - most_seen) / unseen)
        high = min(Fraction(1), (half_deck - least_seen) / unseen)
        return min(cards, max(bare, _unary_loss(law, low, high)))
    raise no_paper_view("unary encoding")


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


def _joint_worst(law: JointLaw, least: Fraction, most: Fraction) -> float:
    """The larger loss at both ends of what is believed of Pr[target holds a plus card]."""
    with_plus, with_minus = _parts(law.k, law.lie_plus), _parts(law.k, law.lie_minus)
    return max(
        _loss(*(_mixed(a, b, plus) for a, b in zip(with_plus, with_minus, strict=True)))
        for plus in (least, most)
    )


def _dealt_loss(law: DealtLaw, chance: Fraction) -> float:
    """Loss of a report whose value is the target's card with this chance."""
    k, scale = len(law.deck), chance.denominator
    decoy = k * chance.numerator * law.dealt + scale * law.own
    return log_ratio_up(k * scale * law.truth + decoy, decoy)


def _unary_loss(law: UnaryLaw, least: Fraction | None, most: Fraction | None) -> float:
    """Loss of two bits whose cards are believed to be plus with least..most; None: no cards."""
    held, unheld = [], []
    for plus in (least, most):
        if plus is None:
            whole, ones = SCALE, (law.holder.none, law.other.none)
        else:
            whole = SCALE * plus.denominator
            ones = (
                _mixed(law.holder.plus, law.holder.minus, plus),
                _mixed(law.other.plus, law.other.minus, plus),
            )
        for holder, other in (ones, (whole - ones[0], whole - ones[1])):
            held.append(log_ratio_up(holder, other))
            unheld.append(log_ratio_up(other, holder))
    return math.nextafter(max(held) + max(unheld), math.inf)


def _mixed(with_plus: int, with_minus: int, plus: Fraction) -> int:
    """Words on average over a card that is plus with this chance, times its denominator."""
    return plus.numerator * with_plus + (plus.denominator - plus.numerator) * with_minus


def _odds(weight: Fraction, other_weight: Fraction) -> float:
    if other_weight == 0:
        return math.inf if weight else 1.0  # an observation that cannot occur tells nothing
    return float(weight / other_weight)


def _cardless_loss(law: DealtLaw) -> float:
    """Loss of a report made without a card."""
    k = len(law.deck)
    decoy = k * min(law.alone) + law.own
    return log_ratio_up(k * law.truth + decoy, decoy)


class _Bounds(NamedTuple):
    low: Fraction
    high: Fraction


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
