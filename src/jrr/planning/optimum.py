"""The most accurate mechanism of each family under a privacy request.

Privacy is demanded in the view `cards` (the collector and M colluders who hand over their
cards) and, with a cap, in the view `dealer`. All constraints are linear in a mechanism's
probabilities, and along every edge of what they allow the variance is a quadratic in one
parameter, so few points can be optimal (docs/theory.md, section 7). The optimum found is
checked against the exact privacy of the mechanism that would run, and moved to the private
side of rounding.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from jrr._base import checks
from jrr._base.exact import private_side
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR, truth_probability
from jrr.mechanisms.unary import OUE, SUE

_Some = TypeVar("_Some", bound=Mechanism)
Frequency = float | tuple[float, float] | None


@dataclass(frozen=True)
class Request:
    """What is asked of a plan."""

    n: int
    epsilon: float
    colluders: int = 0
    k: int = 2
    dealer_epsilon: float | None = None
    frequency: Frequency = None

    def __post_init__(self) -> None:
        cap = self.dealer_epsilon
        n = checks.deck_size(self.n)
        for name, value in (
            ("k", checks.domain(self.k)),
            ("n", n),
            ("epsilon", checks.epsilon("epsilon", self.epsilon)),
            ("colluders", checks.integer("colluders", self.colluders, 0, n - 1)),
            ("dealer_epsilon", None if cap is None else checks.epsilon("dealer_epsilon", cap)),
            ("frequency", _check_frequency(self.frequency)),
        ):
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> float:
        """ε that every report must keep; a cap below it binds reports too."""
        cap = self.dealer_epsilon
        return self.epsilon if cap is None else min(self.epsilon, cap)

    def allows(self, mechanism: Mechanism) -> bool:
        """Whether the mechanism that would run keeps what was asked."""
        cap = self.dealer_epsilon
        return mechanism.epsilon("cards", self.colluders) <= self.budget and (
            cap is None or mechanism.epsilon("dealer") <= cap
        )

    def expected_variance(self, mechanism: Mechanism) -> float:
        """The criterion: variance of an estimated frequency, averaged over the values.

        At the given frequency; at the worst one of a given interval; or, with none given, for
        k = 2 on average over all frequencies, for larger domains in the worst population.
        """
        return self.variance_of(mechanism.moments)

    def variance_of(self, moments: Moments) -> float:
        """The criterion for these moments."""
        # Averaged over the values: with an uneven deck they differ a little.
        a, b, c = (float(np.mean(part)) for part in moments.quadratic(self.n, 1))
        b, c = b * self.n, c * self.n**2
        known = self.frequency
        if known is None and self.k > 2:
            known = 1 / self.k  # the worst population: variances are concave in the frequency
        if isinstance(known, tuple):
            low, high = known
            top = min(max(-b / (2 * c), low), high) if c < 0 else high
            return max(0.0, *(a + f * (b + f * c) for f in (low, high, top))) / self.n**2
        first, second = (1 / 2, 1 / 3) if known is None else (known, known**2)
        return max(0.0, a + first * b + second * c) / self.n**2


def best_rr(request: Request) -> RR:
    """Plain randomized response at the whole budget: what no choice may be worse than."""
    return RR(request.k, epsilon=request.budget)


def best_jrr(request: Request) -> Mechanism:
    """Theorem 10: plain RR or a corner of the edges s(p) that privacy allows."""
    n, k, m = request.n, request.k, request.colluders
    rr = best_rr(request)
    signed = n - n % 2
    known = min(m, signed - 1)
    lean = min(1.0, known / (signed - known))
    cap = request.dealer_epsilon
    # Each line (a, b) allows s <= (a - p)/b or, with b < 0, s <= (p - a)/-b.
    lines = [(1.0, 1.0), (0.0, -1.0)]
    if lean > 0:
        lines += [
            (truth_probability(request.budget, k), lean),
            (_least_true(request.budget, k), -lean),
        ]
    if cap is not None:
        lines += [(truth_probability(cap, k), 1.0), (_least_true(cap, k), -1.0)]
    top = truth_probability(request.budget, k)

    def most(p: float) -> float:
        return max(0.0, min(min((a - p) / b for a, b in lines), p, 1 - p))

    points = [(p, most(p)) for p in _edge_points(lines, top, request)]
    if isinstance(request.frequency, tuple) and k > 2:
        # At the largest p the worst frequency may call for a lean between none and the most.
        points.append((top, _golden(lambda s: _worth(request, top, s), 0.0, most(top))))
    candidates = [JRR(n, p, s=s, k=k) for p, s in points if s > 0]
    if not candidates:
        return rr
    made = _private_joint(request, least(candidates, request))
    worth = request.expected_variance(rr) * (1 - 1e-9)  # cards for less are not worth dealing
    return least([rr, *(m for m in made if request.expected_variance(m) < worth)], request)


def _edge_points(lines: Sequence[tuple[float, float]], top: float, request: Request) -> set[float]:
    """Where along the edges the criterion can be least: corners, and inner minima (k > 2)."""
    k = request.k
    corners = {top}
    for i, (a, b) in enumerate(lines):
        for c, d in lines[:i]:
            if b != d:
                corners.add((a * d - c * b) / (d - b))
    inside = sorted(p for p in corners if 1 / k < p <= top)
    if k == 2:  # on an edge the criterion is monotone or concave: least at an end
        return set(inside)
    points = set(inside)
    for low, high in zip([1 / k, *inside], inside, strict=False):
        points.update(_inner_minimum(lines, low, high, request))
    return points


def _inner_minimum(
    lines: Sequence[tuple[float, float]], low: float, high: float, request: Request
) -> list[float]:
    """The least point of one edge, by golden section in 1/(kp - 1), where it is smooth."""
    k = request.k

    def position(w: float) -> float:
        return (1 + 1 / w) / k

    def worth(w: float) -> float:
        p = min(position(w), high)
        s = max(0.0, min((a - p) / b for a, b in lines))
        return _worth(request, p, min(s, p, 1 - p))

    near = 1 / (k * high - 1)
    far = min(1 / max(k * low - 1, 1e-12), 64 * near)  # further down the noise only grows
    if not far > near:
        return []
    return [position(_golden(worth, near, far))]


def _worth(request: Request, p: float, s: float) -> float:
    return request.expected_variance(JRR(request.n, p, s=s, k=request.k))


def _private_joint(request: Request, best: JRR) -> list[Mechanism]:
    """The JRR nearest to the best one, towards guessing, that rounding leaves private."""
    guess = 1 / request.k
    # Without a cap the corner, but for rounding, is the largest lean there is.
    free = request.dealer_epsilon is None
    at_limit = free and best.s > min(best.p, 1 - best.p) * (1 - 1e-9)

    def shrunk(p: float) -> JRR:
        limit = min(p, 1 - p)
        lean = best.s * (p - guess) / (best.p - guess)
        return JRR(request.n, p, s=limit if at_limit else min(lean, limit), k=best.k)

    p = private_side(best.p, guess, lambda p: p > guess and request.allows(shrunk(p)))
    return [shrunk(p)] if p > guess else []


def best_drr(request: Request) -> Mechanism:
    """Theorem 11: plain RR, or as few decoys of one's own as the cap allows."""
    n, k, m = request.n, request.k, request.colluders
    cap = request.dealer_epsilon
    rr = best_rr(request)
    if cap is not None and cap <= request.epsilon:
        return rr
    gain = math.expm1(request.budget)
    hidden = max(0, n // k - m) / (n - m)  # of the rarest card in an even deck
    ratio = 0.0 if cap is None else k / math.expm1(cap)  # own >= ratio * truth
    truth = gain * hidden / (1 + gain * (hidden * (1 + ratio) - ratio / k))
    own = ratio * truth
    if not (truth > 0 and truth + own <= 1):
        return rr

    def shrunk(kept: float) -> DRR:
        # What the truth loses, one's own decoys gain; with no cap there are none of these.
        return DRR(n, kept, own and own + (truth - kept), k)

    floor = 2.0**-52
    kept = private_side(truth, floor, lambda t: request.allows(shrunk(t)))
    return least([rr, shrunk(kept)] if kept > floor else [rr], request)


def best_encoded(
    kind: type[OUE] | type[SUE] | type[OLH], coupling: str, request: Request
) -> Mechanism:
    """An encoding of a large domain with its best lean under the request."""
    if coupling == "none":
        return kind(request.k, epsilon=request.budget)
    return kind.tuned(
        request.k,
        request.budget,
        coupling,
        request.n,
        request.colluders,
        request.dealer_epsilon,
        request.variance_of,
    )


def least(candidates: Sequence[_Some], request: Request) -> _Some:
    """The candidate with the smallest expected variance; the first of equals."""
    return min(candidates, key=request.expected_variance)


def _least_true(epsilon: float, k: int) -> float:
    """The smallest belief in a truthful report that ε allows."""
    return math.exp(-epsilon) / (math.exp(-epsilon) + k - 1)


def _golden(worth: Callable[[float], float], low: float, high: float, rounds: int = 60) -> float:
    ratio = (math.sqrt(5) - 1) / 2
    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    at_c, at_d = worth(c), worth(d)
    for _ in range(rounds):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - ratio * (b - a)
            at_c = worth(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + ratio * (b - a)
            at_d = worth(d)
    return (a + b) / 2


def _check_frequency(frequency: object) -> Frequency:
    allowed = "a number in 0..1, an interval (low, high) in 0..1, or None"
    if frequency is None:
        return None
    if isinstance(frequency, tuple | list):
        if len(frequency) != 2:
            raise checks.refusal("frequency", frequency, allowed)
        low = checks.real("frequency", frequency[0], allowed, 0.0, 1.0)
        high = checks.real("frequency", frequency[1], allowed, 0.0, 1.0)
        if high < low:
            raise checks.refusal("frequency", frequency, allowed)
        return (low, high)
    return checks.real("frequency", frequency, allowed, 0.0, 1.0)
