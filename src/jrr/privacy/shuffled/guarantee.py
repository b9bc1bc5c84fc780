"""What is offered: (ε, δ) of shuffled reports, and the mechanism that keeps a wanted (ε, δ)."""

import math
from typing import TYPE_CHECKING

from jrr._base import checks
from jrr.privacy.binomial import LARGEST, ULP, Progress
from jrr.privacy.shuffled.question import ShuffledView, check_delta

if TYPE_CHECKING:
    from jrr.mechanisms.parts.describing import Accounting


def amplified_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """ε at δ of n shuffled, independent ε0-private reports, by a published closed form.

    Feldman, McMillan, Talwar, "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of
    Privacy Amplification by Shuffling" (FOCS 2021, arXiv:2012.12803), Theorem 3.1. Outside its
    range the reports are at least as private as they were: ε0. It speaks of reports made
    independently: not of JRR, DRR or any other mechanism that deals cards.

    Args:
        epsilon0: the privacy loss of one report.
        n: contributors whose reports are shuffled.
        delta: in (0, 1).

    Returns:
        ε, an upper bound, at most epsilon0.

    Raises:
        ArgumentError: for arguments out of range.

    Example:
        >>> round(amplified_epsilon(0.5, 10_000, 1e-6), 3)
        0.094
    """
    allowed = "a number, the epsilon of reports that are made independently, above 0, at most 700"
    local = checks.real("epsilon0", epsilon0, allowed, 0.0, LARGEST, open_low=True)
    n = checks.integer("n", n, 1)
    delta = check_delta(delta)
    if local > math.log(n / (16 * math.log(2 / delta))):
        return local
    grown = math.exp(local)
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / n) + 8 * grown / n
    amplified = math.log1p(math.tanh(local / 2) * spread)  # tanh(x/2) = (e^x - 1)/(e^x + 1)
    return min(local, amplified * (1 + 16 * ULP))


def shuffled_delta(
    mechanism: "Accounting",
    epsilon: float,
    n: int | None = None,
    ones: int | None = None,
    colluders: int = 0,
    progress: Progress | None = None,
) -> float:
    """δ at ε of the counts of shuffled reports, never too small.

    Args:
        mechanism: RR, or JRR or DRR with two answers.
        epsilon: in 0..700.
        n: contributors, for RR; JRR and DRR know theirs (one full deck, everybody reports).
        ones: how many of the others, colluders aside, hold 1; without it the worst number counts.
        colluders: tell the adversary their own reports and cards; the worst cards count.
        progress: called with how many compositions are done and how many there are.

    Returns:
        δ, never too small.

    Raises:
        ArgumentError: where no law is known for the mechanism, or there are too many people to
            look at all they may hold.

    Example:
        >>> import jrr
        >>> shuffled_delta(jrr.RR(epsilon=1.0), 0.5, n=1_000) < 1e-9
        True
    """
    epsilon = checks.real("epsilon", epsilon, "in 0..700", 0.0, LARGEST)
    asked = mechanism.shuffled(n, ones, colluders)
    if epsilon >= asked.pure:
        return 0.0
    return max(view.delta(epsilon) for view in asked.views(progress))


def shuffled_epsilon(
    mechanism: "Accounting",
    delta: float,
    n: int | None = None,
    ones: int | None = None,
    colluders: int = 0,
    progress: Progress | None = None,
) -> float:
    """The smallest ε, to nine digits and rounded up, at which δ is at most this.

    Args:
        mechanism: RR, or JRR or DRR with two answers.
        delta: in (0, 1).
        n: contributors, for RR; JRR and DRR know theirs (one full deck, everybody reports).
        ones: how many of the others, colluders aside, hold 1; without it the worst number counts.
        colluders: tell the adversary their own reports and cards; the worst cards count.
        progress: called with how many compositions are done and how many there are.

    Returns:
        ε; math.inf where none can be shown: for JRR and DRR a δ below some 1e-11 drowns in what
        rounding may have lost.

    Raises:
        ArgumentError: as `shuffled_delta` does.

    Example:
        >>> import jrr
        >>> round(shuffled_epsilon(jrr.RR(epsilon=1.0), 1e-6, n=1_000), 2)
        0.13
    """
    delta = check_delta(delta)
    asked = mechanism.shuffled(n, ones, colluders)
    epsilon = 0.0
    for view in asked.views(progress):
        if view.delta(epsilon) > delta:
            epsilon = _least_epsilon(view, delta, epsilon)
        if epsilon >= asked.pure:
            break
    return min(epsilon, asked.pure)


def _least_epsilon(view: ShuffledView, delta: float, failed: float) -> float:
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
