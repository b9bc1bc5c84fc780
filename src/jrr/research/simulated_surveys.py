"""Many simulated surveys of one mechanism, and how they compare with theory."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism, Rng
from jrr.mechanisms.dealt import even_deck
from jrr.mechanisms.simulation import as_generator, simulate
from jrr.research.paper.catalogue import DATA_SETS, SENSITIVE

LEVELS = (0.025, 0.5, 0.975)  # quantiles of the estimates
CELLS = 2_000_000  # counts simulated at a time: a fraction of a second
Progress = Callable[[int, int | None], None]  # surveys done, surveys in all


def silent(done: int, total: int | None) -> None:
    """Show no progress."""


@dataclass(frozen=True, kw_only=True)
class SimulatedSurveys:
    """The estimated shares of answer 1 over many surveys.

    Attributes:
        mechanism: the one that was simulated.
        runs: how many surveys.
        people: how many reported in each.
        truth: the true share.
        mean: of the estimates.
        stderr_theory: the standard error that theory states.
        stderr_simulated: the root mean square error of the estimates.
        quantiles: level -> quantile of the estimates.
    """

    mechanism: Mechanism
    runs: int
    people: int
    truth: float
    mean: float
    stderr_theory: float
    stderr_simulated: float
    quantiles: dict[float, float]

    def to_dict(self) -> dict[str, Any]:
        """A result document: plain values."""
        quantiles = {str(level): value for level, value in self.quantiles.items()}
        return vars(self) | {"mechanism": self.mechanism.to_dict(), "quantiles": quantiles}


def simulate_surveys(
    mechanism: Mechanism,
    counts: Sequence[int],
    runs: int,
    *,
    rng: Rng = None,
    progress: Progress = silent,
) -> SimulatedSurveys:
    """Simulate whole surveys, exactly in distribution, and sum up how answer 1 came out.

    Args:
        mechanism: the one to simulate.
        counts: how many report each value; fewer than a deck has cards are drop-outs.
        runs: how many surveys.
        rng: where randomness comes from; seeded by the system by default.
        progress: is told how many surveys are done.

    Returns:
        Mean, quantiles and error of the estimated shares of answer 1, beside theory.

    Raises:
        ArgumentError: where the counts do not fit the mechanism, or there are no runs.

    Example:
        >>> import jrr
        >>> mechanism = jrr.RR(k=2, epsilon=1.0)
        >>> result = simulate_surveys(mechanism, [900, 100], 2_000, rng=jrr.SeededRandom(7))
        >>> result.truth, round(result.mean, 2)
        (0.1, 0.1)
    """
    runs = checks.integer("runs", runs, 1)
    estimates = _estimates(mechanism, counts, runs, rng=rng, progress=progress)
    people = sum(counts)
    quantiles = np.quantile(estimates, LEVELS) / people
    return SimulatedSurveys(
        mechanism=mechanism,
        runs=runs,
        people=people,
        truth=counts[1] / people,
        mean=float(estimates.mean()) / people,
        stderr_theory=math.sqrt(float(mechanism.variance(counts)[1])) / people,
        stderr_simulated=math.sqrt(float(np.mean((estimates - counts[1]) ** 2))) / people,
        quantiles={level: float(value) for level, value in zip(LEVELS, quantiles, strict=True)},
    )


def counts_with_share(yes: float, n: int, k: int) -> list[int]:
    """True counts of n people: a share of answer 1, all other answers alike.

    Raises:
        ArgumentError: where the share is not in 0..1.

    Example:
        >>> counts_with_share(0.1, 1000, 3)
        [450, 100, 450]
    """
    ones = round(checks.real("yes", yes, "in 0..1", 0.0, 1.0) * n)
    first, *others = even_deck(n - ones, k - 1)
    return [first, ones, *others]


def counts_of_question(name: str) -> list[int]:
    """True counts of a real question: those of the paper's data sets, and sensitive ones.

    Raises:
        ArgumentError: for a question that is not listed.
    """
    questions = {question.name: question for question in (*SENSITIVE, *DATA_SETS)}
    question = questions[checks.one_of("question", name, tuple(questions))]
    return [question.n - question.ones, question.ones]


def _estimates(
    mechanism: Mechanism, counts: Sequence[int], runs: int, *, rng: Rng, progress: Progress
) -> Floats:
    """Estimated counts of answer 1, some surveys at a time: numpy cannot be interrupted."""
    generator = as_generator(rng)
    each = max(1, CELLS // mechanism.k)
    parts = []
    for done in range(0, runs, each):
        parts.append(simulate(mechanism, counts, min(each, runs - done), generator)[:, 1].copy())
        progress(min(done + each, runs), runs)
    return np.concatenate(parts)
