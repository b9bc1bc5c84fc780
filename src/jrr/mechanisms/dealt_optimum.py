"""The most accurate dealt mechanism under a request (docs/theory-jrr.md, Theorem 11)."""

import math
from collections.abc import Callable

from jrr._base.exact import private_side
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.informed_search import (
    certified_delta,
    delta_of_everything,
    largest,
    likely_delta,
    search,
)
from jrr.mechanisms.request import Request, least

Make = Callable[[float, float], Mechanism]  # truth and own -> the mechanism
_SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)  # of one's own decoys
_POLISHED = 1_000  # people for whom the slower, tighter bound of the view "everything" is asked
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
    last = 0.0  # the truth that was found last: where the next search begins

    def most(share: float) -> float:
        return top if not ratio else min(top, share / (share + ratio))

    def most_truthful(share: float) -> Mechanism | None:
        """The most truth, of `share` decoys of one's own, that is kept in the likely worst case."""
        nonlocal last
        limit = most(share)
        if limit < _LEAST:
            return None

        def delta_of(truth: float) -> float:
            return likely_delta(make(truth, share * (1 - truth)), request)

        truth = largest(delta_of, delta, limit, last)
        last = truth
        return make(truth, share * (1 - truth)) if truth >= _LEAST else None

    shares: dict[Mechanism, float] = {}  # of one's own decoys among all

    def remembered(share: float) -> Mechanism | None:
        found = most_truthful(share)
        if found is not None:
            shares[found] = share
        return found

    likely = search(remembered, list(_SHARES), request, rounds=3)
    if likely is None:
        return rr
    share = shares[likely]

    def certified(truth: float) -> float:
        return certified_delta(make(truth, share * (1 - truth)), request)

    def tight(truth: float) -> float:
        mechanism = make(truth, share * (1 - truth))
        return delta_of_everything(mechanism, request, math.inf, 0)

    truth = float(likely.to_dict()["truth"])
    kept = largest(certified, delta, truth, 0.97 * truth)
    if kept < _LEAST:
        return rr
    if request.k == 2 and request.n <= _POLISHED:
        kept = _polished(kept, truth, certified, tight, delta)
    chosen = make(kept, share * (1 - kept))
    capped = cap is None or chosen.epsilon("dealer") <= cap
    return least([rr, chosen], request) if capped else rr


def _polished(
    kept: float,
    most: float,
    quick: Callable[[float], float],
    tight: Callable[[float], float],
    delta: float,
) -> float:
    """A little more truth where a tighter bound, which takes longer, allows it."""
    reached = tight(kept)
    if not 0 < reached < delta:
        return kept
    aim = delta * (delta / reached) ** 0.75  # the two bounds keep nearly the same ratio
    more = largest(quick, aim, most, kept * 1.02)
    return more if more > kept and tight(more) <= delta else kept
