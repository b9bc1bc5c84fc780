"""Binary RR: the exact law of the count by positive arithmetic (docs/theory-jrr.md, Theorem 17)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from jrr._base.exact import SCALE
from jrr.privacy.binomial import FAINT, ULP, Floats, Progress, binomial, trimmed
from jrr.privacy.loss import IndependentLaw


@dataclass(frozen=True)
class Tails:
    """One composition of binary RR, where the best events are "at least t ones".

    δ = max over t of (p - e^ε q) Pr[S = t-1] - (e^ε - 1) Pr[S >= t], S the others' ones.
    """

    p: float
    q: float
    at: Floats  # Pr[S = t-1]
    beyond: Floats  # Pr[S >= t]
    ones: int  # how many of the others hold 1

    def delta(self, epsilon: float) -> float:
        """The largest δ of "1 against 0", never too small."""
        grown = math.exp(epsilon)
        # Sums of positive terms: relative errors add up, a few for each entry and convolution.
        loose = (16 * len(self.at) + 1024) * ULP
        gain = self.p - grown * self.q + 8 * ULP * (self.p + grown * self.q)
        best = gain * (1 + loose) * self.at - math.expm1(epsilon) * (1 - loose) * self.beyond
        return min(1.0, max(0.0, float(best.max())) + 128 * len(self.at) * FAINT)


def _tails(rr: IndependentLaw, law: Floats, ones: int) -> Tails:
    q = rr.lie / SCALE
    beyond = np.zeros_like(law)
    beyond[:-1] = np.cumsum(law[:0:-1])[::-1]
    return Tails(1 - q, q, law, beyond, ones)


def view_of_rr(rr: IndependentLaw, n: int, ones: int) -> Tails:
    """One composition, on its own."""
    q = Fraction(rr.lie, SCALE)
    law = np.convolve(binomial(ones, 1 - q).law, binomial(n - 1 - ones, q).law)
    return _tails(rr, trimmed(law), ones)


def views_of_rr(rr: IndependentLaw, n: int, progress: Progress | None) -> Iterator[Tails]:
    """Every composition, the extremes first: after them few are worse.

    Laws are only ever convolved, never divided: what a range of compositions has in common is
    computed once, then halves of the range add what they have in common, and so on.
    """
    q = Fraction(rr.lie, SCALE)

    @cache
    def adder(people: int, hold: bool) -> Floats:
        return binomial(people, 1 - q if hold else q).law

    def added(law: Floats, people: int, hold: bool) -> Floats:
        return trimmed(np.convolve(law, adder(people, hold)))

    def within(law: Floats, low: int, high: int) -> Iterator[Tails]:
        """Compositions low..high; the law is of `low` holders and of others for `high`."""
        if low == high:
            yield _tails(rr, law, low)
            return
        middle = (low + high) // 2
        yield from within(added(law, high - middle, False), low, middle)
        yield from within(added(law, middle + 1 - low, True), middle + 1, high)

    for ones in {0, n // 2, n - 1}:
        yield view_of_rr(rr, n, ones)
    for done, view in enumerate(within(np.ones(1), 0, n - 1)):
        if progress is not None and done % 256 == 0:
            progress(done, n)
        yield view
    if progress is not None:
        progress(n, n)
