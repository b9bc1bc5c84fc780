"""Searching for the most accurate mechanism that keeps (ε, δ) in the view "everything".

A quick sight of the likely worst case chooses; the guarantee for every case then decides, and what
does not keep it gives up some truth until it does.
"""

from collections.abc import Callable
from functools import lru_cache

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.request import Request, least

_SCANNED = 1_000  # people, over all decks, for whom every composition is computed


def keeps_everything(mechanism: Mechanism, request: Request, delta: float) -> bool:
    """Whether (ε, δ) holds in this view, and the cap on the dealer in its own."""
    cap = request.dealer_epsilon
    if cap is not None and mechanism.epsilon("dealer") > cap:
        return False
    return delta_of_everything(mechanism, request, delta) <= delta


@lru_cache(maxsize=256)  # what was just chosen is held against its request once more
def delta_of_everything(mechanism: Mechanism, request: Request, enough: float) -> float:
    """δ at the budget, of every composition where that does not take too long, or a bound.

    More than `enough` need not be the worst.
    """
    colluders = request.colluders if mechanism.deals else 0
    few = mechanism.k == 2 and request.n * (colluders + 1) <= _SCANNED
    cases = mechanism.compositions(colluders) if few else None
    if cases is not None:
        worst = 0.0
        for case in cases:
            worst = max(worst, case.delta(request.budget, once=True))
            if worst > enough:
                break
        return worst
    law = mechanism.losses(colluders)
    if law is None:  # bounded by the dealer's view, which has more
        return 0.0 if mechanism.epsilon("dealer") <= request.budget else 1.0
    return law.delta(request.budget)


def largest(keeps: Callable[[float], bool], most: float) -> float:
    """The largest number, to six digits, that keeps; 0 if none was found."""
    if keeps(most):
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2 if low else high / 4
        if keeps(middle):
            low = middle
        else:
            high = middle
        if high - low <= 1e-6 * high or high < 1e-9 * most:
            break
    return low


def search(
    best_at: Callable[[float], Mechanism | None], points: list[float], request: Request
) -> Mechanism | None:
    """The best over a few points and, five times, halfway between the best and its neighbours."""
    best_by_point: dict[float, Mechanism] = {}

    def look(point: float) -> None:
        mechanism = best_at(point)
        if mechanism is not None:
            best_by_point[point] = mechanism

    for point in points:
        look(point)
    for _ in range(5):
        if not best_by_point:
            return None
        best = min(best_by_point, key=lambda x: request.expected_variance(best_by_point[x]))
        places = sorted(best_by_point)
        at = places.index(best)
        for near in (at - 1, at + 1):
            if 0 <= near < len(places):
                look((best + places[near]) / 2)
    return least(list(best_by_point.values()), request)
