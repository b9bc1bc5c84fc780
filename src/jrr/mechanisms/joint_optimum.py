"""The most accurate joint mechanism under a request (docs/theory-jrr.md, Theorem 10).

Of a given deck all constraints are linear in p and s, and along every edge of what they allow the
variance is a quadratic in one parameter, so few points can be optimal. Which decks can be is known
from p: then plus cards should tell the truth as often, minus cards as seldom as is allowed, and how
many there are of each follows. The optimum is checked against the exact privacy of the mechanism
that would run, and moved to the private side of rounding.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from jrr._base.exact import private_side
from jrr.estimation.moments import spread_parts
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.informed_search import (
    certified_delta,
    keeps_everything,
    largest,
    likely_delta,
    search,
)
from jrr.mechanisms.request import Request, least
from jrr.mechanisms.shifts import truth_probability

Make = Callable[[float, float, int], Mechanism]  # p, s and plus cards -> the mechanism
Line = tuple[float, float]  # (a, b) allows s <= (a - p)/b or, with b < 0, s <= (p - a)/-b
# Where between guessing and the largest p the search in the view "everything" begins, and with
# which shares of plus cards.
_STEPS = (0.87, 0.97, 0.995)
_DECKS = (0.35, 0.6, 0.7, 0.8, 0.9)
_FEW = 16  # cards of a deck up to which every number of plus cards is tried


def best_joint(
    request: Request, rr: Mechanism, make: Make, decks: list[int] | None = None
) -> Mechanism:
    """Plain RR, or of every deck that may be best a corner of the edges s(p) that privacy allows.

    decks: numbers of plus cards; None: whichever are best.
    """
    found = [rr]
    for plus in decks_to_try(request) if decks is None else decks:
        deck = _Deck(request, plus)
        points = [(p, s) for p, s in deck.points() if s > 0]
        if points:
            p, s = min(points, key=lambda point: deck.worth(*point))
            found += _private(deck, p, s, make)
    worthwhile = request.expected_variance(rr) * (1 - 1e-9)  # for less no cards are dealt
    kept = [m for m in found[1:] if request.expected_variance(m) < worthwhile]
    return least([rr, *kept], request)


def best_informed_joint(request: Request, delta: float, rr: Mechanism, make: Make) -> Mechanism:
    """For some decks and each p the largest lean that is kept: the law is exact."""
    n, k = request.n, request.k
    guess, top = 1 / k, truth_probability(request.budget, k)
    even = n // 2
    last = 0.0  # the lean that was found last: where the next search begins

    def best_at(p: float, deck: _Deck) -> Mechanism | None:
        nonlocal last
        most = deck.uncertain(p)
        if most <= 0:
            return None
        last = largest(lambda s: likely_delta(make(p, s, deck.plus), request), delta, most, last)
        return make(p, last, deck.plus) if last else None

    points = [guess + (top - guess) * step for step in _STEPS]
    likely: dict[int, Mechanism] = {}
    for plus in dict.fromkeys([even, *(min(max(1, round(w * n)), n - 1) for w in _DECKS)]):
        found = search(partial(best_at, deck=_Deck(request, plus)), points, request, rounds=0)
        if found is not None:
            likely[plus] = found
    if not likely:
        return rr
    plus = min(likely, key=lambda plus: request.expected_variance(likely[plus]))
    more = [guess + (top - guess) * step for step in (0.7, *_STEPS, 1 - 1e-6)]
    best = search(partial(best_at, deck=_Deck(request, plus)), more, request, rounds=3)
    assert best is not None  # it was there before
    p, s = best.to_dict()["p"], best.to_dict()["s"]
    kept = largest(lambda s: certified_delta(make(p, s, plus), request), delta, s, 0.99 * s)
    best = make(p, kept, plus) if kept else rr
    return least([rr, best], request) if keeps_everything(best, request, delta) else rr


def decks_to_try(request: Request) -> list[int]:
    """Numbers of plus cards that may be best: the even deck first, then by Theorem 10c."""
    n, m = request.n, request.colluders
    if n <= _FEW:
        return [n // 2, *(plus for plus in range(1, n) if plus != n // 2)]
    # Where colluders can hold all cards of one kind the theorem does not speak: the nearest decks.
    found = [n // 2, m, m - 1, n - m, n - m + 1]
    for share in _best_shares(request):
        found += [math.floor(share * n), math.ceil(share * n)]
    return [plus for plus in dict.fromkeys(found) if 1 <= plus <= n - 1]


def _best_shares(request: Request) -> Iterator[float]:
    """Theorem 10c: for each p that may be best, the share of plus cards."""
    n, k = request.n, request.k
    known = min(request.colluders, n - 1) / (n - min(request.colluders, n - 1))
    cap = request.dealer_epsilon
    top, low = truth_probability(request.budget, k), _least_true(request.budget, k)
    best, worst = (1.0, 0.0) if cap is None else (truth_probability(cap, k), _least_true(cap, k))

    def truths(p: float) -> tuple[float, float]:
        if not known:
            return best, worst
        return (
            min(best, (p * (1 + known) - low) / known),
            max(worst, (p * (1 + known) - top) / known),
        )

    def worth(p: float) -> float:
        plus, minus = truths(p)
        lean = math.sqrt(max(0.0, plus - p) * max(0.0, p - minus))
        return _worth(request, p, lean, n)

    # Where one of the two bounds gives way to the other.
    turns = ((low + known * best) / (1 + known), (top + known * worst) / (1 + known))
    inside = sorted({p for p in (*turns, top) if 1 / k < p <= top})
    candidates = set(inside)
    for start, end in zip([1 / k, *inside], inside, strict=False):
        candidates.update(_inner_minimum(start, end, request, worth))
    for p in candidates:
        plus, minus = truths(p)
        if plus > p > minus:
            yield (p - minus) / (plus - minus)


@dataclass(frozen=True)
class _Deck:
    """The p and s that a request allows with so many plus cards."""

    request: Request
    plus: int

    @property
    def signed(self) -> int:
        """Cards that are not blank."""
        n = self.request.n
        return n - n % 2 if self.plus == n // 2 else n

    @property
    def share(self) -> float:
        """Of plus cards."""
        return self.plus / self.signed

    @cached_property
    def top(self) -> float:
        """The largest p of a report."""
        return truth_probability(self.request.budget, self.request.k)

    @cached_property
    def lines(self) -> list[Line]:
        """What bounds s: probabilities, what colluders' cards tell, and the cap on the dealer."""
        k, budget, cap = self.request.k, self.request.budget, self.request.dealer_epsilon
        rise, fall = 2 * (self.signed - self.plus) / self.signed, 2 * self.plus / self.signed
        lines = [(1.0, rise), (0.0, -fall)]
        known = min(self.request.colluders, self.signed - 1)
        if known > 0:
            unseen = self.signed - known
            lines += [
                (self.top, min(rise, 2 * self.plus * known / (unseen * self.signed))),
                (
                    _least_true(budget, k),
                    -min(fall, 2 * (self.signed - self.plus) * known / (unseen * self.signed)),
                ),
            ]
        if cap is not None:
            lines += [(truth_probability(cap, k), rise), (_least_true(cap, k), -fall)]
        return lines

    def limit(self, p: float) -> float:
        """The lean at which a plus card always or a minus card never tells the truth."""
        if self.plus == self.request.n // 2:
            return min(p, 1 - p)
        return min((a - p) / b for a, b in self.lines[:2])

    def most(self, p: float) -> float:
        """The largest lean that is allowed."""
        limit = self.limit(p)
        lean = max(0.0, min(min((a - p) / b for a, b in self.lines), limit))
        return limit if lean > limit * (1 - 2.0**-50) else lean

    def uncertain(self, p: float) -> float:
        """The largest lean that the cap on the dealer allows, whatever colluders see."""
        cap, k = self.request.dealer_epsilon, self.request.k
        limit = self.limit(p)
        if cap is None:
            return limit
        (_, rise), (_, fall) = self.lines[:2]
        held = min((truth_probability(cap, k) - p) / rise, (_least_true(cap, k) - p) / fall)
        return max(0.0, min(limit, held * (1 - 1e-12)))

    def worth(self, p: float, s: float) -> float:
        """The criterion."""
        lean = 2 * s * math.sqrt(self.share * (1 - self.share))
        return _worth(self.request, p, lean, self.signed)

    def points(self) -> list[tuple[float, float]]:
        """Where the criterion can be least."""
        points = [(p, self.most(p)) for p in self._edge_points()]
        if isinstance(self.request.frequency, tuple) and self.request.k > 2:
            # At the largest p the worst frequency may call for a lean between none and the most.
            lean = _golden(lambda s: self.worth(self.top, s), 0.0, self.most(self.top))
            points.append((self.top, lean))
        return points

    def _worth_of_most(self, p: float) -> float:
        return self.worth(p, self.most(p))

    def _edge_points(self) -> set[float]:
        """Corners of the edges, and where between them the criterion is least."""
        k = self.request.k
        corners = {self.top}
        for i, (a, b) in enumerate(self.lines):
            for c, d in self.lines[:i]:
                if b != d:
                    corners.add((a * d - c * b) / (d - b))
        inside = sorted(p for p in corners if 1 / k < p <= self.top)
        points = set(inside)
        if k == 2 and self.plus == self.request.n // 2:
            return points  # on an edge the criterion is monotone or concave: least at an end
        for low, high in zip([1 / k, *inside], inside, strict=False):
            points.update(_inner_minimum(low, high, self.request, self._worth_of_most))
        return points


def _worth(request: Request, p: float, lean: float, signed: int) -> float:
    """The criterion for JRR as its parameters say, with so many cards that are not blank."""
    k, n, reporters = request.k, request.n, request.reporters
    q = (1 - p) / (k - 1)
    tied = signed / (n * (n - 1))
    leans = (lean, -lean / (k - 1))
    constant, linear, square, held = spread_parts(p, q, p - q, *leans, tied, reporters, reporters)
    return request.criterion(constant, linear + held, square)


def _inner_minimum(
    low: float, high: float, request: Request, worth: Callable[[float], float]
) -> list[float]:
    """The least point of one edge, which is smooth in w = 1/(kp - 1)."""
    k = request.k

    def position(w: float) -> float:
        return min((1 + 1 / w) / k, high)

    near = 1 / (k * high - 1)
    far = min(1 / max(k * low - 1, 1e-12), 64 * near)  # further down the noise only grows
    if not far > near:
        return []
    if isinstance(request.frequency, tuple):  # the worst of several quadratics
        return [position(_golden(lambda w: worth(position(w)), near, far))]
    lowest = _vertex(near, far, lambda w: worth(position(w)))
    return [] if lowest is None else [position(lowest)]


def _vertex(low: float, high: float, quadratic: Callable[[float], float]) -> float | None:
    """Where a quadratic is least, if that is inside."""
    middle = (low + high) / 2
    at_low, at_middle, at_high = quadratic(low), quadratic(middle), quadratic(high)
    bend = at_low - 2 * at_middle + at_high
    if not bend > 0:
        return None
    lowest = middle - (high - low) / 4 * (at_high - at_low) / bend
    return lowest if low < lowest < high else None


def _private(deck: _Deck, best_p: float, best_s: float, make: Make) -> list[Mechanism]:
    """The mechanism nearest to the best one, towards guessing, that rounding leaves private."""
    request, guess = deck.request, 1 / deck.request.k
    # Without a cap the corner, but for rounding, is the largest lean there is.
    free = request.dealer_epsilon is None
    at_limit = free and best_s > deck.limit(best_p) * (1 - 1e-9)

    def shrunk(p: float) -> Mechanism:
        limit = deck.limit(p)
        lean = best_s * (p - guess) / (best_p - guess)
        return make(p, limit if at_limit else min(lean, limit), deck.plus)

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
