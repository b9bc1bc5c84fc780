"""Randomized response chosen for what a shuffler makes of it."""

from collections.abc import Callable

from jrr._base import checks
from jrr.mechanisms.rr import RR
from jrr.privacy.binomial import LARGEST, Progress
from jrr.privacy.shuffled.binary import view_of_rr, views_of_rr
from jrr.privacy.shuffled.guarantee import amplified_epsilon, shuffled_delta
from jrr.privacy.shuffled.question import check_delta, check_scan


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

    Args:
        n: contributors.
        epsilon: what a collector may learn that sees shuffled reports and knows all other answers.
        delta: in (0, 1).
        k: possible answers.
        bound: "exact" by the law of the counts (k = 2) or its bound (k > 2), "closed form" by
            `amplified_epsilon`.
        progress: called with how many compositions are done and how many there are.
        ones: how many of the others hold 1, for more people than can be scanned; without it
            (ε, δ) holds for every number.

    Returns:
        The mechanism.

    Raises:
        ArgumentError: for arguments out of range, or too many people to look at.

    Example:
        >>> shuffled_rr(1_000, 0.5, 1e-6).epsilon() > 1.5
        True
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
            rr = RR(2, local)
            return all(view_of_rr(rr.law, n, held).delta(epsilon) <= nearly for held in few)

        rr = RR(2, _largest(epsilon, keeps))
        if alone is not None or epsilon >= rr.epsilon():
            return rr
        views = views_of_rr(rr.law, n, progress)
        reached, worst = max((view.delta(epsilon), view.ones) for view in views)
        if reached <= delta:
            return rr
        few.add(worst)


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
