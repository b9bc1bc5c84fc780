"""RR with more than two answers: an upper bound (docs/theory-jrr.md, section 10)."""

import math
from fractions import Fraction

import numpy as np

from jrr._base.exact import SCALE
from jrr.privacy.binomial import FAINT, ULP, Floats, Part, binomial
from jrr.privacy.loss import IndependentLaw

_GROUPS = 24  # numbers of uniform reports that are told apart; fewer is a looser bound


class Blanket:
    """GRR with the others' truthful reports given away.

    Each of the others draws uniformly from all k values with chance kq, else tells the truth. The
    adversary is told who told the truth. Left are u uniform reports and the target's, m = u + 1 in
    all, and a histogram h of them has, with x true, the chance of m uniform reports times
    k (q + (p-q) h_x/m).
    """

    def __init__(self, rr: IndependentLaw, n: int) -> None:
        self.k = rr.k
        q = Fraction(rr.lie, (self.k - 1) * SCALE)
        self.q, self.gain = float(q), float(1 - self.k * q)
        start, law = binomial(n - 1, min(Fraction(1), self.k * q))
        # One uniform report more only hides more: each group counts as its smallest member.
        size = -(-len(law) // _GROUPS)
        first = np.arange(0, len(law), size)
        self.faint = (len(law) + 2) * FAINT
        self.groups = [
            (start + int(u) + 1, float(mass), binomial(start + int(u) + 1, Fraction(2, self.k)))
            for u, mass in zip(first, np.add.reduceat(law, first), strict=True)
        ]

    def delta(self, epsilon: float) -> float:
        """Never too small, for every composition and every two values."""
        if self.gain <= 0:  # rounding left the truth no likelier than a lie
            return -self.gain
        total = sum(
            mass * min(1.0, self._of(m, either, epsilon)) for m, mass, either in self.groups
        )
        return min(1.0, total * (1 + 64 * ULP) + self.faint)

    def _of(self, m: int, either: Part, epsilon: float) -> float:
        """δ given m reports; of c that are x or x', a ~ Bin(c, 1/2) are x."""
        from scipy.special import betainc

        grown = math.exp(epsilon)
        c = either.start + np.arange(len(either.law), dtype=np.float64)
        slope = self.gain * (1 + grown) / m
        offset = self.q * math.expm1(epsilon) + grown * self.gain * c / m
        # a >= least speaks for x; a tie, which adds nothing, is taken in.
        least = np.clip(np.floor(offset / slope * (1 - 8 * ULP)) + 1, 0, c + 1)

        def tail(trials: Floats, low: Floats) -> Floats:
            inside = (low >= 1) & (low <= trials)
            a, b = np.where(inside, low, 1.0), np.where(inside, trials - low + 1, 1.0)
            return np.where(inside, betainc(a, b, 0.5), (low < 1) & (trials >= 0))

        speaks = slope * (c / 2) * tail(c - 1, least - 1)
        against = offset * tail(c, least)
        slack = 1e-12 * (speaks + against)  # the special function is good to some hundred ulps
        part = self.k * np.maximum(0.0, speaks - against + slack)
        return float(np.dot(either.law, part)) + len(c) * FAINT * self.k
