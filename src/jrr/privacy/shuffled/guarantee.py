"""What is offered: (ε, δ) of shuffled reports, and the mechanism that keeps a wanted (ε, δ)."""

import math
from collections.abc import Callable

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.rr import RR
from jrr.privacy.binomial import LARGEST, ULP, Progress
from jrr.privacy.shuffled.binary import view_of_rr, views_of_rr
from jrr.privacy.shuffled.question import View, check_delta, check_scan, survey


def amplified_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """ε at δ of n shuffled, independent ε0-private reports, by a published closed form.

    Feldman, McMillan, Talwar, "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of
    Privacy Amplification by Shuffling" (FOCS 2021, arXiv:2012.12803), Theorem 3.1. Outside its
    range the reports are at least as private as they were: ε0. It speaks of reports made
    independently: not of JRR, DRR or any other mechanism that deals cards.
    """
    if isinstance(epsilon0, Mechanism):
        raise checks.refusal(
            "epsilon0", epsilon0, "a number, the epsilon of reports that are made independently"
        )
    local = checks.epsilon("epsilon0", epsilon0)
    n = checks.integer("n", n, 1)
    delta = check_delta(delta)
    if local > math.log(n / (16 * math.log(2 / delta))):
        return local
    grown = math.exp(local)
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / n) + 8 * grown / n
    amplified = math.log1p(math.tanh(local / 2) * spread)  # tanh(x/2) = (e^x - 1)/(e^x + 1)
    return min(local, amplified * (1 + 16 * ULP))


def shuffled_delta(
    mechanism: Mechanism,
    epsilon: float,
    n: int | None = None,
    ones: int | None = None,
    colluders: int = 0,
    progress: Progress | None = None,
) -> float:
    """δ at ε of the counts of shuffled reports, never too small.

    n: contributors, for RR; JRR and DRR know theirs (one full deck, everybody reports). ones: how
    many of the others, colluders aside, hold 1; without it the worst number counts. colluders
    tell the adversary their own reports and cards; the worst cards count.
    """
    epsilon = checks.real("epsilon", epsilon, "in 0..700", 0.0, LARGEST)
    asked = survey(mechanism, n, ones, colluders)
    if epsilon >= asked.pure:
        return 0.0
    return max(view.delta(epsilon) for view in asked.views(progress))


def shuffled_epsilon(
    mechanism: Mechanism,
    delta: float,
    n: int | None = None,
    ones: int | None = None,
    colluders: int = 0,
    progress: Progress | None = None,
) -> float:
    """The smallest ε, to nine digits and rounded up, at which δ is at most this.

    Arguments as for `shuffled_delta`. math.inf where no ε can be shown: for JRR and DRR a δ below
    some 1e-11 drowns in what rounding may have lost.
    """
    delta = check_delta(delta)
    asked = survey(mechanism, n, ones, colluders)
    epsilon = 0.0
    for view in asked.views(progress):
        if view.delta(epsilon) > delta:
            epsilon = _least_epsilon(view, delta, epsilon)
        if epsilon >= asked.pure:
            break
    return min(epsilon, asked.pure)


def shuffled_rr(
    n: int,
    epsilon: float,
    delta: float,
    k: int = 2,
    bound: str = "exact",
    progress: Progress | None = None,
    ones: int | None = None,
) -> RR:
    """Randomized response with the largest local ε0 that is (ε, δ)-private once shuffled.

    bound: "exact" by the law of the counts (k = 2) or its bound (k > 2), "closed form" by
    `amplified_epsilon`. ones: how many of the others hold 1, for more people than can be scanned;
    without it (ε, δ) holds for every number.
    """
    epsilon, delta = checks.epsilon("epsilon", epsilon), check_delta(delta)
    n, k = checks.integer("n", n, 1), checks.domain(k)
    bound = checks.one_of("bound", bound, ("exact", "closed form"))
    if ones is not None and (bound == "closed form" or k > 2):
        raise checks.refusal("ones", ones, "None: this bound holds for all")
    if bound == "closed form":
        return RR(k, _largest(epsilon, lambda local: amplified_epsilon(local, n, delta) <= epsilon))
    if k > 2:
        return RR(k, _largest(epsilon, lambda e: shuffled_delta(RR(k, e), epsilon, n) <= delta))
    alone = check_scan(n, ones)
    # A few compositions choose, all of them check, and one that fails joins the few. For each of
    # them δ grows with ε0, because answers can be made more random after the fact.
    few = {0, n // 2, n - 1} if alone is None else {alone, n - 1 - alone}
    nearly = delta * (1 - 1e-9)  # so that rounding cannot make one of the few fail the check
    while True:

        def keeps(local: float) -> bool:
            made = RR(2, local)
            return all(view_of_rr(made, n, held).delta(epsilon) <= nearly for held in few)

        made = RR(2, _largest(epsilon, keeps))
        if alone is not None or epsilon >= made.epsilon():
            return made
        views = views_of_rr(made, n, progress)
        reached, worst = max((view.delta(epsilon), view.ones) for view in views)
        if reached <= delta:
            return made
        few.add(worst)


def _least_epsilon(view: View, delta: float, failed: float) -> float:
    """The least ε above one that failed; δ falls with ε, but what rounding may add grows."""
    low, high = failed, max(2 * failed, 1e-3)
    while view.delta(high) > delta:
        low, high = high, 2 * high
        if high > LARGEST:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if view.delta(middle) <= delta else (middle, high)
    return high


def _largest(certain: float, keeps: Callable[[float], bool]) -> float:
    """The largest number, to nine digits and rounded down, that keeps; `certain` does."""
    low, high = certain, 2 * certain
    while high < LARGEST and keeps(high):
        low, high = high, 2 * high
    high = min(high, LARGEST)
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low
