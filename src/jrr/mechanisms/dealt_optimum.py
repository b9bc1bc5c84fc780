"""The most accurate dealt mechanism under a request (docs/theory.md, Theorem 11)."""

import math
from collections.abc import Callable

from jrr._base.exact import private_side
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.informed_search import delta_of_everything, largest, search
from jrr.mechanisms.request import Request, least

Make = Callable[[float, float], Mechanism]  # truth and own -> the mechanism
_SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)  # of one's own decoys
_TRIES = 8
_LEAST = 2.0**-40  # truth; less is not worth a survey


def best_dealt(request: Request, rr: Mechanism, make: Make) -> Mechanism:
    """Plain RR, or as few decoys of one's own as the cap allows."""
    n, k, m = request.n, request.k, request.colluders
    cap = request.dealer_epsilon
    if cap is not None and cap <= request.epsilon:
        return rr
    gain = math.expm1(request.budget)
    hidden = max(0, n // k - m) / (n - m)  # of the rarest card in an even deck
    ratio = 0.0 if cap is None else k / math.expm1(cap)  # own >= ratio * truth
    truth = gain * hidden / (1 + gain * (hidden * (1 + ratio) - ratio / k))
    own = ratio * truth
    if not (truth > 0 and truth + own <= 1):
        return rr

    def shrunk(kept: float) -> Mechanism:
        # What the truth loses, one's own decoys gain; with no cap there are none of these.
        return make(kept, own and own + (truth - kept))

    floor = 2.0**-52
    kept = private_side(truth, floor, lambda t: request.allows(shrunk(t)))
    return least([rr, shrunk(kept)] if kept > floor else [rr], request)


def best_informed_dealt(request: Request, delta: float, rr: Mechanism, make: Make) -> Mechanism:
    """The same against a collector that knows everybody else's answer."""
    cap = request.dealer_epsilon
    ratio = 0.0 if cap is None else request.k / math.expm1(cap) * (1 + 1e-12)  # own >= ratio*truth
    top = 1 - 1e-9
    shares: dict[Mechanism, float] = {}  # of one's own decoys among all

    def most_truthful(share: float, aim: float) -> Mechanism | None:
        """The most truth, of `share` decoys of one's own, that is kept in the quick sight."""
        most = top if not ratio else min(top, share / (share + ratio))
        if most < _LEAST:
            return None

        def keeps(truth: float) -> bool:
            return _quick_delta(make(truth, share * (1 - truth)), request) <= aim

        truth = largest(keeps, most)
        if truth < _LEAST:
            return None
        mechanism = make(truth, share * (1 - truth))
        shares[mechanism] = share
        return mechanism

    chosen = search(lambda share: most_truthful(share, delta), list(_SHARES), request)
    if chosen is None:
        return rr
    share, aim = shares[chosen], delta
    for _ in range(_TRIES):
        if chosen is None:
            return rr
        reached = delta_of_everything(chosen, request, delta)
        if reached <= delta:
            capped = cap is None or chosen.epsilon("dealer") <= cap
            return least([rr, chosen], request) if capped else rr
        aim *= 0.9 * (delta / reached) ** 1.1  # δ falls a little faster in the quick sight
        chosen = most_truthful(share, aim)
    return rr


def _quick_delta(mechanism: Mechanism, request: Request) -> float:
    """δ where all others hold 0 and colluders as many cards 1 as they can: likely the worst."""
    known = request.colluders
    law = mechanism.losses(known, ones=0 if mechanism.k == 2 else None)
    assert law is not None  # a dealt mechanism's law is known
    return law.delta(request.budget) if mechanism.k > 2 else law.cases[-1].delta(request.budget)
