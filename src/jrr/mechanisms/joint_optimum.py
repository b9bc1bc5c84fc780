"""The most accurate joint mechanism under a request (docs/theory.md, Theorem 10).

All constraints are linear in p and s, and along every edge of what they allow the variance is a
quadratic in one parameter, so few points can be optimal. The optimum is checked against the exact
privacy of the mechanism that would run, and moved to the private side of rounding.
"""

import math
from collections.abc import Callable, Sequence

from jrr._base.exact import private_side
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.informed_search import keeps_everything, largest, search
from jrr.mechanisms.request import Request, least
from jrr.mechanisms.shifts import truth_probability

Make = Callable[[float, float], Mechanism]  # p and s -> the mechanism
# Where between guessing and the largest p the search in the view "everything" begins.
_STEPS = (0.2, 0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1 - 1e-6)


def best_joint(request: Request, rr: Mechanism, make: Make) -> Mechanism:
    """Plain RR or a corner of the edges s(p) that privacy allows."""
    n, k, m = request.n, request.k, request.colluders
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

    def worth(p: float, s: float) -> float:
        return request.expected_variance(make(p, s))

    def most(p: float) -> float:
        limit = min(p, 1 - p)
        lean = max(0.0, min(min((a - p) / b for a, b in lines), limit))
        return limit if lean > limit * (1 - 2.0**-50) else lean

    points = [(p, most(p)) for p in _edge_points(lines, top, request, worth)]
    if isinstance(request.frequency, tuple) and k > 2:
        # At the largest p the worst frequency may call for a lean between none and the most.
        points.append((top, _golden(lambda s: worth(top, s), 0.0, most(top))))
    candidates = [(make(p, s), p, s) for p, s in points if s > 0]
    if not candidates:
        return rr
    _, p, s = min(candidates, key=lambda one: request.expected_variance(one[0]))
    private = _private(request, p, s, make)
    worthwhile = request.expected_variance(rr) * (1 - 1e-9)  # for less no cards are dealt
    return least([rr, *(m for m in private if request.expected_variance(m) < worthwhile)], request)


def best_informed_joint(request: Request, delta: float, rr: Mechanism, make: Make) -> Mechanism:
    """For each p the largest lean that is kept: the law is exact, so this is the guarantee."""
    guess, top = 1 / request.k, truth_probability(request.budget, request.k)

    def best_at(p: float) -> Mechanism | None:
        lean = largest(lambda s: keeps_everything(make(p, s), request, delta), min(p, 1 - p))
        return make(p, lean) if lean else None

    best = search(best_at, [guess + (top - guess) * share for share in _STEPS], request)
    return rr if best is None else least([rr, best], request)


def _edge_points(
    lines: Sequence[tuple[float, float]],
    top: float,
    request: Request,
    worth: Callable[[float, float], float],
) -> set[float]:
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
        points.update(_inner_minimum(lines, low, high, request.k, worth))
    return points


def _inner_minimum(
    lines: Sequence[tuple[float, float]],
    low: float,
    high: float,
    k: int,
    worth: Callable[[float, float], float],
) -> list[float]:
    """The least point of one edge, by golden section in 1/(kp - 1), where it is smooth."""

    def position(w: float) -> float:
        return (1 + 1 / w) / k

    def worth_at(w: float) -> float:
        p = min(position(w), high)
        s = max(0.0, min((a - p) / b for a, b in lines))
        return worth(p, min(s, p, 1 - p))

    near = 1 / (k * high - 1)
    far = min(1 / max(k * low - 1, 1e-12), 64 * near)  # further down the noise only grows
    if not far > near:
        return []
    return [position(_golden(worth_at, near, far))]


def _private(request: Request, best_p: float, best_s: float, make: Make) -> list[Mechanism]:
    """The mechanism nearest to the best one, towards guessing, that rounding leaves private."""
    guess = 1 / request.k
    # Without a cap the corner, but for rounding, is the largest lean there is.
    free = request.dealer_epsilon is None
    at_limit = free and best_s > min(best_p, 1 - best_p) * (1 - 1e-9)

    def shrunk(p: float) -> Mechanism:
        limit = min(p, 1 - p)
        lean = best_s * (p - guess) / (best_p - guess)
        return make(p, limit if at_limit else min(lean, limit))

    p = private_side(best_p, guess, lambda p: p > guess and request.allows(shrunk(p)))
    return [shrunk(p)] if p > guess else []


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
