"""Laws of counts by positive arithmetic: sums of two binomials, cards that fall to a group.

Products and sums of positive numbers only, so relative errors add up and nothing cancels. What is
dropped at the ends of a law is below FAINT per entry and is accounted for by whoever uses it.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from jrr.privacy.binomial import FAINT, Floats, Part, binomial, reach


class Reporters(NamedTuple):
    """People whose sight is 1 or 0, with a chance of 1 that depends on the card."""

    size: int
    plus: Fraction  # chance of 1 with a plus card
    minus: Fraction  # chance of 1 with a minus card


class Rows(NamedTuple):
    """Laws of a group's number of 1s, one row for each number low, low+1, ... of plus cards."""

    low: int
    start: int
    laws: Floats


_cached = lru_cache(maxsize=8192)(binomial)


def ones_of(group: Reporters, plus: int) -> Part:
    """The law of a group's number of 1s when so many of it hold plus cards."""
    first, second = _cached(plus, group.plus), _cached(group.size - plus, group.minus)
    law = np.convolve(first.law, second.law)
    loud = np.flatnonzero(law > FAINT)
    begin = int(loud[0])
    return Part(first.start + second.start + begin, law[begin : loud[-1] + 1])


def rows_of(group: Reporters, low: int, high: int) -> Rows:
    """The laws for low..high plus cards, side by side."""
    parts = [ones_of(group, plus) for plus in range(low, high + 1)]
    return Rows(low, *side_by_side(parts))


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
    law = np.concatenate((fall[::-1], [1.0], rise))
    law /= law.sum()
    loud = np.flatnonzero(law > FAINT)
    return Part(mode - len(fall) + int(loud[0]), law[loud[0] : loud[-1] + 1])
