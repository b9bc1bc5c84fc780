"""Others' values that the adversary does not know but has a prior of."""

from fractions import Fraction

import numpy as np

from jrr._base import checks
from jrr.privacy.binomial import FAINT
from jrr.privacy.informed.distribution import Beta
from jrr.privacy.informed.evidence import Cards, Evidence, located, of_one_group

_MOST_MIXED = 5_000  # contributors for a Beta prior: half as many laws are averaged
_NODES = 1e-12  # what nodes and weights of the quadrature may be off by, in sum


def averaged(
    cards: Cards,
    of_one: tuple[Fraction, Fraction],
    of_zero: tuple[Fraction, Fraction],
    frequency: float | Beta,
) -> Evidence:
    """What reports alone tell; rates (plus, minus) of a report 1, by those who hold 1 and 0.

    With a share f each report is 1 with chance f·(rate of holders) + (1-f)·(rate of others), by
    card, so all others are alike. A Beta prior averages over f; the chances are polynomials in f
    of degree N-1, which Gauss and Jacobi's nodes average exactly.
    """
    if not isinstance(frequency, Beta):
        return of_one_group(cards, *_mixed(of_one, of_zero, Fraction(frequency)))
    if cards.total > _MOST_MIXED:
        raise checks.refusal(
            "frequency", frequency, f"a number: a Beta prior takes at most {_MOST_MIXED} people"
        )
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(cards.total // 2 + 1, frequency.b - 1, frequency.a - 1)
    shares, weights = (nodes + 1) / 2, weights / weights.sum()
    plus, minus = np.zeros(cards.total), np.zeros(cards.total)
    error = missing = 0.0
    for share, weight in zip(shares, weights, strict=True):
        if weight < FAINT:
            continue
        rates = _mixed(of_one, of_zero, Fraction(min(1.0, max(0.0, float(share)))))
        start, seen = located(cards, *rates)
        plus[start : start + len(seen.plus)] += weight * seen.plus
        minus[start : start + len(seen.plus)] += weight * seen.minus
        error, missing = max(error, seen.error), missing + weight * seen.missing
    return Evidence(plus, minus, error + _NODES, missing + _NODES)


def _mixed(
    of_one: tuple[Fraction, Fraction], of_zero: tuple[Fraction, Fraction], share: Fraction
) -> tuple[Fraction, Fraction]:
    plus, minus = (
        share * one + (1 - share) * zero for one, zero in zip(of_one, of_zero, strict=True)
    )
    return plus, minus
