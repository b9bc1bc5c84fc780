"""Laws of counts by positive arithmetic: sums of two binomials, cards that fall to a group.

Products and sums of positive numbers only, so relative errors add up and nothing cancels. What is
dropped at the ends of a law is below FAINT per entry and is accounted for by whoever uses it.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from jrr.privacy.binomial import FAINT, Floats, Part, binomial, outward, reach

BLOCK = 128  # laws that follow from one of them
_TINY = 1e-280  # smaller numbers are no longer right to a relative error


class Reporters(NamedTuple):
    """People who show 1 or 0; the chance of 1 depends on the card."""

    size: int
    plus: Fraction  # chance of 1 with a plus card
    minus: Fraction  # chance of 1 with a minus card


class Rows(NamedTuple):
    """Laws side by side, one row for each number low, low+1, ...; each with a range of its own."""

    low: int
    start: int  # what the first column stands for
    laws: Floats
    begins: tuple[int, ...]  # of each row: its first column that is not 0
    ends: tuple[int, ...]  # and the one after its last


class LawRows(NamedTuple):
    """Neighbouring laws as rows over one range, which start stands at."""

    start: int
    laws: Floats


@lru_cache(maxsize=1 << 14)
def _binomial(trials: int, chance: Fraction) -> Part:
    return binomial(trials, chance)


@lru_cache(maxsize=1 << 13)
def ones_of(group: Reporters, plus: int) -> Part:
    """The law of a group's number of 1s when so many of it hold plus cards."""
    return _sum(_binomial(plus, group.plus), _binomial(group.size - plus, group.minus))


def _sum(first: Part, second: Part) -> Part:
    """The law of a sum of two independent numbers."""
    law = np.convolve(first.law, second.law)
    loud = np.flatnonzero(law > FAINT)
    begin = int(loud[0])
    return Part(first.start + second.start + begin, law[begin : loud[-1] + 1])


def rows_of(group: Reporters, low: int, high: int) -> Rows:
    """The laws for low..high plus cards, side by side."""
    parts = [ones_of(group, plus) for plus in range(low, high + 1)]
    start, laws = side_by_side(parts)
    begins = tuple(part.start - start for part in parts)
    ends = tuple(begin + len(part.law) for begin, part in zip(begins, parts, strict=True))
    return Rows(low, start, laws, begins, ends)


class Mixtures(NamedTuple):
    """Several laws over one range, each a mixture."""

    start: int
    laws: Floats  # a row for each
    terms: int  # how many numbers were added to one another, for the error


def mixtures_of(group: Reporters, deals: list[Part]) -> Mixtures:
    """The laws of a group's number of 1s where its number of plus cards has each of these laws.

    Who holds the card that says 1 more often says 1 by a first coin, as all others do, or else by a
    second one. So the second coin's 1s are counted, and then the 0s of everybody else, who are all
    alike: two sums over two numbers instead of one over three (docs/theory-jrr.md, Lemma F).
    """
    start, weights = side_by_side(deals)
    if group.plus < group.minus:  # the two kinds of cards change their names
        start = group.size - (start + weights.shape[1] - 1)
        weights, group = weights[:, ::-1], Reporters(group.size, group.minus, group.plus)
    if group.minus == 1:
        return Mixtures(group.size, weights.sum(axis=1, keepdims=True), weights.shape[1])
    second_coin = (group.plus - group.minus) / (1 - group.minus)
    first, marked = _thinned(weights, start, second_coin)
    last = first + marked.shape[1] - 1
    fewest, zeros = _thinned(marked[:, ::-1], group.size - last, 1 - group.minus)
    terms = weights.shape[1] + marked.shape[1] + zeros.shape[1]
    return Mixtures(group.size - (fewest + zeros.shape[1] - 1), zeros[:, ::-1], terms)


def _thinned(weights: Floats, low: int, chance: Fraction) -> tuple[int, Floats]:
    """The laws of a binomial whose number of trials is low, low+1, ... with these chances.

    Of each block of numbers of trials the largest has its law from `binomial`. That of one trial
    less follows by a product of positive numbers, for all values at once.
    """
    count = weights.shape[1]
    if chance == 1:
        return low, weights
    if chance == 0:
        return 0, weights.sum(axis=1, keepdims=True)
    high = low + count - 1
    tops = [*range(high, low - 1, -BLOCK)]
    blocks = [_fewer_trials(top, min(BLOCK, top - low + 1), chance) for top in tops]
    start = min(begin for begin, _ in blocks)
    end = max(begin + laws.shape[1] for begin, laws in blocks)
    mixed = np.zeros((len(weights), end - start))
    for top, (begin, laws) in zip(tops, blocks, strict=True):
        mine = weights[:, top - low - len(laws) + 1 : top - low + 1]
        mixed[:, begin - start : begin - start + laws.shape[1]] += mine[:, ::-1] @ laws
    loud = np.flatnonzero(mixed.max(axis=0) > FAINT)
    return start + int(loud[0]), mixed[:, loud[0] : loud[-1] + 1]


def _fewer_trials(top: int, count: int, chance: Fraction) -> LawRows:
    """The laws of binomials of top, top-1, ... trials, so many of them, as rows; where they start.

    With one trial less the chance of v is (trials - v) / (trials * (1 - chance)) times as large.
    """
    start, law = _binomial(top, chance)
    lower = np.arange(start, max(0, start - count), -1, dtype=np.float64)
    odds = float(chance / (1 - chance))
    with np.errstate(under="ignore"):
        below = law[0] * np.cumprod(lower / ((top - lower + 1) * odds))
    if len(below) and below[-1] < _TINY:  # its neighbours cannot follow from it
        parts = [_binomial(trials, chance) for trials in range(top, top - count, -1)]
        return LawRows(*side_by_side(parts))
    values = start - len(below) + np.arange(len(below) + len(law), dtype=np.float64)
    trials = np.arange(top, top - count + 1, -1, dtype=np.float64)[:, None]
    factors = np.maximum(0.0, trials - values) / (trials * float(1 - chance))
    return _following(start - len(below), np.concatenate((below[::-1], law)), factors)


def side_by_side(parts: list[Part]) -> tuple[int, Floats]:
    """Laws as rows over one common range, and where it starts."""
    start = min(part.start for part in parts)
    end = max(part.start + len(part.law) for part in parts)
    laws = np.zeros((len(parts), end - start))
    for row, part in zip(laws, parts, strict=True):
        begin = part.start - start
        row[begin : begin + len(part.law)] = part.law
    return start, laws


def hypergeometric(total: int, marked: int, drawn: int) -> Part:
    """How many of `drawn` cards are marked ones, outward from the mode."""
    least, most = max(0, drawn - (total - marked)), min(drawn, marked)
    if least == most:
        return Part(least, np.ones(1))
    mode = min(most, max(least, (drawn + 1) * (marked + 1) // (total + 2)))
    share = marked / total
    # Drawing without replacement strays no further than with it (Hoeffding), hence Bernstein.
    far = reach(drawn * share * (1 - share), 76.0) + 2
    up = np.arange(mode, min(most, mode + far), dtype=np.float64)
    down = np.arange(mode, max(least, mode - far), -1, dtype=np.float64)
    apart = float(total - marked - drawn)
    rise = np.cumprod((marked - up) * (drawn - up) / ((up + 1) * (apart + up + 1)))
    fall = np.cumprod(down * (apart + down) / ((marked - down + 1) * (drawn - down + 1)))
    return outward(mode, fall, rise)


def fewer_marked(total: int, marked: int, count: int, drawn: int) -> LawRows:
    """The laws of `hypergeometric` for marked, marked-1, ... cards, so many of them.

    With one marked card less, and others more by one, the chance of v is (marked - v) / marked
    times others / (others - drawn + v) times as large.
    """
    if drawn == total:  # all are drawn
        return LawRows(marked - count + 1, np.eye(count)[::-1])
    start, law = hypergeometric(total, marked, drawn)
    least = max(0, drawn - (total - (marked - count + 1)))
    lower = np.arange(start, max(least, start - count), -1, dtype=np.float64)
    apart = total - marked - drawn
    # A value that is impossible with as many marked cards is one of its neighbours' all the same.
    steps = lower * (apart + lower) / ((marked - lower + 1) * (drawn - lower + 1))
    with np.errstate(under="ignore"):
        below = law[0] * np.cumprod(steps)
    if len(below) and below[-1] < _TINY:  # its neighbours cannot follow from it
        parts = [hypergeometric(total, marked - less, drawn) for less in range(count)]
        return LawRows(*side_by_side(parts))
    values = start - len(below) + np.arange(len(below) + len(law), dtype=np.float64)
    number = np.arange(marked, marked - count + 1, -1, dtype=np.float64)[:, None]
    others = total - number + 1
    factors = np.maximum(0.0, number - values) / number * (others / (others - drawn + values))
    return _following(start - len(below), np.concatenate((below[::-1], law)), factors)


def _following(start: int, law: Floats, factors: Floats) -> LawRows:
    """A law, and others each of which has so many times the chances of the one before."""
    laws = np.empty((len(factors) + 1, len(law)))
    laws[0] = law
    np.multiply(law, np.cumprod(factors, axis=0), out=laws[1:])
    return LawRows(start, laws)
