"""Searching for the most accurate mechanism that keeps (ε, δ) in the view "everything".

A quick sight of the likely worst case chooses; the guarantee for every case then decides, and what
does not keep it gives up some truth until it does. Laws take milliseconds, bounds tenths of a
second, all compositions seconds: so the search asks for few of each.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from jrr.mechanisms.request import Request, least
from jrr.privacy.informed.distribution import Losses

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

_SCANNED = 1_000  # people, over all decks, for whom every composition is computed on request
_SCANNED_IN_PLANS = 120  # people, over all decks, for whom a plan computes every composition


@lru_cache(maxsize=8)  # large decks take seconds
def losses_of_everything(mechanism: "Mechanism", colluders: int) -> Losses | None:
    """The law of the loss of one person; None where it is not known.

    Kept for all who ask for it; without cards nobody else matters.
    """
    return mechanism.losses(colluders if mechanism.deals else 0)


@lru_cache(maxsize=256)  # what was just chosen is held against its request once more
def keeps_everything(mechanism: "Mechanism", request: Request, delta: float) -> bool:
    """Whether (ε, δ) holds in this view, and the cap on the dealer in its own."""
    cap = request.dealer_epsilon
    if cap is not None and mechanism.epsilon("dealer") > cap:
        return False
    if mechanism.pure:
        return mechanism.epsilon("cards", request.colluders) <= request.budget
    if delta == 0:
        return _delta_by_dealer(mechanism, request) == 0
    if certified_delta(mechanism, request) <= delta:
        return True
    return delta_of_everything(mechanism, request, delta, _SCANNED) <= delta


def certified_delta(mechanism: "Mechanism", request: Request) -> float:
    """δ at the budget, never too small: of every composition for few people, else a quick bound."""
    colluders = request.colluders if mechanism.deals else 0
    if mechanism.k == 2 and request.n * (colluders + 1) <= _SCANNED_IN_PLANS:
        return delta_of_everything(mechanism, request, math.inf, _SCANNED_IN_PLANS)
    law = mechanism.quick_losses(colluders)
    return _delta_by_dealer(mechanism, request) if law is None else _delta_once(law, request)


def likely_delta(mechanism: "Mechanism", request: Request) -> float:
    """δ at the budget in a case that is likely the worst."""
    colluders = request.colluders if mechanism.deals else 0
    return _delta_once(mechanism.likely_worst(colluders), request)


def _delta_by_dealer(mechanism: "Mechanism", request: Request) -> float:
    """Where no law is known: the dealer's view has more, and holds outright."""
    return 0.0 if mechanism.epsilon("dealer") <= request.budget else 1.0


def _delta_once(law: Losses | None, request: Request) -> float:
    """δ at the budget of a law that is asked nothing else."""
    assert law is not None  # a family without a law has no choice in this view
    return max(case.delta(request.budget, once=True) for case in law.cases)


def delta_of_everything(
    mechanism: "Mechanism", request: Request, enough: float, scanned: int
) -> float:
    """δ at the budget, of every composition of so many people, or the tightest bound.

    More than `enough` need not be the worst.
    """
    colluders = request.colluders if mechanism.deals else 0
    few = mechanism.k == 2 and request.n * (colluders + 1) <= scanned
    cases = mechanism.compositions(colluders) if few else None
    if cases is not None:
        worst = 0.0
        for case in cases:
            worst = max(worst, case.delta(request.budget, once=True))
            if worst > enough:
                break
        return worst
    law = mechanism.losses(colluders)
    if law is None:
        return _delta_by_dealer(mechanism, request)
    return _delta_once(law, request)


def largest(
    delta_of: Callable[[float], float], aim: float, most: float, start: float = 0.0
) -> float:
    """The largest number up to `most` at which δ is at most `aim`, but for a part in 3,000.

    δ grows with the number. Its logarithm is about a line in the number's logarithm, so that a
    few steps suffice (regula falsi, the Illinois variant); always on the private side.

    start: a guess; 0: none.
    """
    if delta_of(most) <= aim:
        return most
    low, high = 0.0, most  # δ is kept at low, not at high
    below, above = 0.0, 0.0  # how far ln δ is from its aim there; 0: not known

    def excess(number: float) -> float:
        delta = delta_of(number)
        return math.log(delta / aim) if delta > 0 else -50.0

    guess = start if 0 < start < most else most / 4
    for _ in range(60):
        found = excess(guess)
        if found <= 0:
            low, below = guess, found
            above /= 2
        else:
            high, above = guess, found
            below /= 2
        if high - low <= 3e-4 * high or high < 1e-9 * most:
            break
        if low and below and above:
            line = (math.log(low) * above - math.log(high) * below) / (above - below)
            guess = min(max(math.exp(line), low * 1.00005), high / 1.00005)
            # A step to the private side of the guess usually ends the search.
            guess = guess / 1.0001 if guess / 1.0001 > low else guess
        else:
            guess = math.sqrt(low * high) if low else high / 4
    return low


def search(
    best_at: "Callable[[float], Mechanism | None]",
    points: list[float],
    request: Request,
    rounds: int = 5,
) -> "Mechanism | None":
    """The best over a few points and, in rounds, halfway between the best and its neighbours."""
    best_by_point: dict[float, Mechanism] = {}

    def look(point: float) -> None:
        mechanism = best_at(point)
        if mechanism is not None:
            best_by_point[point] = mechanism

    for point in points:
        look(point)
    for _ in range(rounds):
        if not best_by_point:
            return None
        best = min(best_by_point, key=lambda x: request.expected_variance(best_by_point[x]))
        places = sorted(best_by_point)
        at = places.index(best)
        for near in (at - 1, at + 1):
            if 0 <= near < len(places):
                look((best + places[near]) / 2)
    return least(list(best_by_point.values()), request) if best_by_point else None
