"""One rule for every test that decides on random samples.

Each such test computes a p-value. It must accept what is right and, as a negative control,
reject what is wrong by 30%: a test that cannot tell the two apart shows nothing. Seeds are
fixed, so a test never fails by bad luck. Servers and devices draw coins that nobody can seed;
there what is right is rejected only below `UNSEEDED`.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

P_VALUE = 1e-6  # below this a test rejects
UNSEEDED = 1e-9  # instead of it, where coins cannot be seeded
SURE = 1 - UNSEEDED  # the level of intervals that must hold the truth with coins nobody can seed
SAMPLES = 200_000  # reports, shuffles or words in one test
SURVEYS = 20_000  # simulated surveys where estimates are tested
OFF = 0.3  # how wrong the negative controls are

T = TypeVar("T")


def accepts_only(p_value: Callable[[T], float], right: T, wrong: T, least: float = P_VALUE) -> None:
    """The test that `p_value` is accepts `right`, from `least` on, and rejects `wrong`."""
    assert p_value(right) > least, "rejects what is right"
    assert p_value(wrong) < P_VALUE, "accepts what is off by 30%: the test has no power"


def chi_square(observed: ArrayLike, chances: ArrayLike) -> float:
    """p-value of counts against the chances they should have; what is impossible must be absent."""
    counts = np.asarray(observed, np.float64)
    expected = np.asarray(chances, np.float64) * counts.sum()
    if counts[expected == 0].any():
        return 0.0
    possible = expected > 0
    if np.count_nonzero(possible) == 1:
        return 1.0
    counts, expected = counts[possible], expected[possible]
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(counts) - 1))


def skewed(chances: ArrayLike) -> list[float]:
    """A wrong law for negative controls: the likeliest outcome loses 30% of its chance."""
    law = [float(chance) for chance in np.asarray(chances, np.float64)]
    likeliest = law.index(max(law))
    lost = OFF * law[likeliest]
    wrong = [chance + lost / (len(law) - 1) for chance in law]
    wrong[likeliest] = law[likeliest] - lost
    return wrong


def mean_test(samples: ArrayLike, mean: float, sd: float) -> float:
    """p-value of the sample mean, where the standard deviation of one sample is known."""
    values = np.asarray(samples, np.float64)
    z = (values.mean() - mean) / (sd / np.sqrt(len(values)))
    return float(2 * stats.norm.sf(abs(z)))


def spread_test(samples: ArrayLike, sd: float) -> float:
    """p-value of the sample variance of about normal samples with this standard deviation."""
    values = np.asarray(samples, np.float64)
    degrees = len(values) - 1
    z = (values.var(ddof=1) / sd**2 - 1) / np.sqrt(2 / degrees)
    return float(2 * stats.norm.sf(abs(z)))
