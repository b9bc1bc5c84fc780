"""How sure a measured ratio is: Clopper-Pearson bounds, and what they make of false alarms.

Two values are told apart by an event: ln(Pr[event | value] / Pr[event | other]) is at most ε.
Each of both chances is bounded at half of the error, so the bound on their ratio is too large
with chance `error` at most, whatever the chances are: no approximation is involved.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

ERROR = 1e-4  # how often a correct mechanism may be accused, at most
_TAIL = 1e-12  # outcomes that are left out where a false-alarm chance is summed, and added to it


class Hits(NamedTuple):
    """How often the event was seen with each of two values."""

    with_value: int
    of_value: int
    with_other: int
    of_other: int

    def ratio(self) -> float:
        """The logarithm of the two measured rates' ratio."""
        if not self.with_value:
            return -math.inf
        if not self.with_other:
            return math.inf
        rates = self.with_value / self.of_value, self.with_other / self.of_other
        return math.log(rates[0] / rates[1])


def lower_chance(hits: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """The largest chance that so many hits rule out from below (Clopper-Pearson)."""
    seen = np.asarray(hits, np.float64)
    least = np.maximum(seen, 1)
    bound = np.asarray(special.betaincinv(least, trials - least + 1, error), np.float64)
    return np.where(seen > 0, bound, 0.0)


def upper_chance(hits: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """The smallest chance that so many hits rule out from above (Clopper-Pearson)."""
    seen = np.asarray(hits, np.float64)
    most = np.minimum(seen, trials - 1)
    bound = np.asarray(special.betaincinv(most + 1, trials - most, 1 - error), np.float64)
    return np.where(seen < trials, bound, 1.0)


def epsilon_at_least(hits: Hits, error: float = ERROR, delta: float = 0.0) -> float:
    """A lower bound on ε at δ that is wrong with chance `error` at most; never below 0.

    (ε, δ)-differential privacy lets an event have the chance e^ε·(that with the other value) + δ.

    Args:
        hits: how often an event occurred under both values.
        error: the chance with which the bound may be wrong.
        delta: δ of the claim.
    """
    low = float(lower_chance(hits.with_value, hits.of_value, error / 2)) - delta
    high = float(upper_chance(hits.with_other, hits.of_other, error / 2))
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def false_alarm_rate(
    chance: float, other_chance: float, trials: int, claimed: float, error: float = ERROR
) -> float:
    """The exact chance that an audit refutes `claimed`, where the event has these two chances.

    Summed over all outcomes of two binomial laws; what is left out is added.

    Args:
        chance: of the event under one value.
        other_chance: under the other.
        trials: of each.
        claimed: the ε that is refuted.
        error: the chance with which a bound may be wrong.
    """
    kept, weight = _likely(trials, chance)
    other_kept, other_weight = _likely(trials, other_chance)
    low = lower_chance(kept, trials, error / 2)
    high = upper_chance(other_kept, trials, error / 2)
    # An alarm is low > e^claimed·high, so for each low every high below a limit raises it.
    below = np.searchsorted(high, low * math.exp(-claimed), side="left")
    reached = np.concatenate(([0.0], np.cumsum(other_weight)))
    return min(1.0, float(weight @ reached[below]) + 4 * _TAIL)


def _likely(trials: int, chance: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from scipy import stats  # slow to load, and auditing processes do without

    law = stats.binom(trials, chance)
    kept = np.arange(int(law.ppf(_TAIL)), int(law.isf(_TAIL)) + 1, dtype=np.int64)
    return kept, np.asarray(law.pmf(kept), np.float64)
