"""The most accurate mechanism of each family that keeps (ε, δ) in the view `everything`.

A quick sight of the likely worst case chooses; the guarantee for every case then decides, and what
does not keep it gives up some truth until it does.
"""

import math
from collections.abc import Callable

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR, truth_probability
from jrr.planning.optimum import Request, best_rr, least
from jrr.privacy.informed.dealt import all_compositions
from jrr.privacy.informed.guarantee import loss_distribution

_SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)  # of one's own decoys
_TRIES = 8
_SCANNED = 1_000  # people, over all decks, for whom every composition is computed
_LEAST = 2.0**-40  # truth; less is not worth a survey


def keeps_everything(mechanism: Mechanism, request: Request, delta: float) -> bool:
    """Whether (ε, δ) holds in this view, and the cap on the dealer in its own."""
    cap = request.dealer_epsilon
    if cap is not None and mechanism.epsilon("dealer") > cap:
        return False
    return _certain(mechanism, request, delta) <= delta


def best_everything(request: Request, delta: float, kind: str = "auto") -> Mechanism:
    """RR, JRR or DRR, or the best of them; none is worse than RR."""
    delta = checks.real("delta", delta, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    kind = checks.one_of("kind", kind, ("auto", "rr", "jrr", "drr"))
    rr = best_rr(request)
    candidates: list[Mechanism] = [rr]
    if kind in ("auto", "jrr"):
        candidates += _best_joint(request, delta)
    if kind in ("auto", "drr"):
        candidates += _best_dealt(request, delta)
    return least(candidates, request)


def _best_joint(request: Request, delta: float) -> list[Mechanism]:
    """For each p the largest lean that is kept: the law is exact, so this is the guarantee."""
    guess, top = 1 / request.k, truth_probability(request.budget, request.k)

    def made(p: float) -> JRR | None:
        limit = min(p, 1 - p)
        lean = _largest(
            lambda s: keeps_everything(JRR(request.n, p, s=s, k=request.k), request, delta), limit
        )
        return JRR(request.n, p, s=lean, k=request.k) if lean else None

    found = _search(made, [guess + (top - guess) * share for share in _STEPS], request)
    return [] if found is None else [found]


_STEPS = (0.2, 0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1 - 1e-6)


def _best_dealt(request: Request, delta: float) -> list[Mechanism]:
    cap = request.dealer_epsilon
    ratio = 0.0 if cap is None else request.k / math.expm1(cap) * (1 + 1e-12)  # own >= ratio*truth
    top = 1 - 1e-9

    def made(share: float, aim: float) -> DRR | None:
        """The most truth, of `share` decoys of one's own, that is kept in the quick sight."""
        most = top if not ratio else min(top, share / (share + ratio))
        if most < _LEAST:
            return None

        def keeps(truth: float) -> bool:
            mechanism = DRR(request.n, truth, share * (1 - truth), request.k)
            return _quick(mechanism, request) <= aim

        truth = _largest(keeps, most)
        return DRR(request.n, truth, share * (1 - truth), request.k) if truth >= _LEAST else None

    chosen = _search(lambda share: made(share, delta), list(_SHARES), request)
    if not isinstance(chosen, DRR):
        return []
    share, aim = chosen.own / (1 - chosen.truth), delta
    for _ in range(_TRIES):
        if chosen is None:
            return []
        reached = _certain(chosen, request, delta)
        if reached <= delta:
            capped = cap is None or chosen.epsilon("dealer") <= cap
            return [chosen] if capped else []
        aim *= 0.9 * (delta / reached) ** 1.1  # δ falls a little faster in the quick sight
        chosen = made(share, aim)
    return []


def _certain(mechanism: Mechanism, request: Request, enough: float) -> float:
    """δ at the budget, of every composition where that does not take too long, or a bound.

    More than `enough` need not be the worst.
    """
    known = _known(mechanism, request)
    few = mechanism.k == 2 and request.n * (known + 1) <= _SCANNED
    if isinstance(mechanism, DRR) and few:
        worst = 0.0
        for case in all_compositions(mechanism, known):
            worst = max(worst, case.delta(request.budget, once=True))
            if worst > enough:
                break
        return worst
    return loss_distribution(mechanism, colluders=known).delta(request.budget)


def _quick(mechanism: DRR, request: Request) -> float:
    """δ where all others hold 0 and colluders as many cards 1 as they can: likely the worst."""
    known = _known(mechanism, request)
    if mechanism.k > 2:
        return loss_distribution(mechanism, colluders=known).delta(request.budget)
    left = loss_distribution(mechanism, ones=0, colluders=known).cases
    return left[-1].delta(request.budget)


def _known(mechanism: Mechanism, request: Request) -> int:
    return 0 if isinstance(mechanism, RR) else request.colluders


def _largest(keeps: Callable[[float], bool], most: float) -> float:
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


def _search(
    made: Callable[[float], Mechanism | None], points: list[float], request: Request
) -> Mechanism | None:
    """The best over a few points and, five times, halfway between the best and its neighbours."""
    known: dict[float, Mechanism] = {}

    def look(point: float) -> None:
        found = made(point)
        if found is not None:
            known[point] = found

    for point in points:
        look(point)
    for _ in range(5):
        if not known:
            return None
        best = min(known, key=lambda point: request.expected_variance(known[point]))
        places = sorted(known)
        at = places.index(best)
        for near in (at - 1, at + 1):
            if 0 <= near < len(places):
                look((best + places[near]) / 2)
    return least(list(known.values()), request)
