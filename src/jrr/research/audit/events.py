"""Which event tells two values apart best, judged by a first part of the trials.

By the lemma of Neyman and Pearson the best events are those of all observations whose
likelihood ratio is above a threshold. One half of these trials ranks the observations by that
ratio, the other half sets the threshold, and the event is measured elsewhere: what looked good
by chance alone looks so only once.
"""

from collections.abc import Hashable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr.research.audit.subject import Subject
from jrr.research.audit.team import Counts

_CAUTION = 3.9  # standard errors that a promising ratio is discounted by: a chance of 1 in 20,000


class Event(NamedTuple):
    """A set of observations that speak for one value against another."""

    value: Any
    other: Any
    observations: frozenset[Hashable]
    promise: float  # the discounted log-ratio per ε that is allowed between the two


def best_event(
    subject: Subject,
    ranking: Mapping[Any, Counts],
    judging: Mapping[Any, Counts],
    delta: float = 0.0,
) -> Event:
    """The most promising event of any two values, in either direction, where δ is allowed."""
    pairs = permutations(subject.values, 2)
    candidates = (_best_of_pair(subject, pair, ranking, judging, delta) for pair in pairs)
    return max(candidates, key=lambda event: event.promise)


def hits(event: Event, counts: Counts) -> int:
    """How many observations belong to the event."""
    return sum(counts.get(seen, 0) for seen in event.observations)


def _best_of_pair(
    subject: Subject,
    pair: tuple[Any, Any],
    ranking: Mapping[Any, Counts],
    judging: Mapping[Any, Counts],
    delta: float,
) -> Event:
    kinds = sorted(ranking[pair[0]].keys() | ranking[pair[1]].keys(), key=repr)
    here, there = (_numbers(ranking[value], kinds) for value in pair)
    order = np.argsort((there + 1) / (here + 1), kind="stable")
    here, there = (np.cumsum(_numbers(judging[value], kinds)[order]) for value in pair)
    promise = _discounted(here, there, delta * sum(judging[pair[0]].values()))
    size = int(np.argmax(promise)) + 1
    chosen = frozenset(kinds[at] for at in order[:size])
    return Event(*pair, chosen, float(promise[size - 1]) / subject.times(*pair))


def _numbers(counts: Counts, kinds: Sequence[Hashable]) -> NDArray[np.float64]:
    return np.array([counts.get(kind, 0) for kind in kinds], np.float64)


def _discounted(
    here: NDArray[np.float64], there: NDArray[np.float64], allowed: float
) -> NDArray[np.float64]:
    """Log-ratios of counts, the first brought down and the second up by standard errors.

    allowed: how many of the first δ gives away.

    The ends of the score interval of a Poisson law, which stay sensible where a count is 0.
    """
    z = _CAUTION
    low = here + z * z / 2 - z * np.sqrt(here + z * z / 4)
    high = there + z * z / 2 + z * np.sqrt(there + z * z / 4)
    ratio: NDArray[np.float64] = np.log(np.maximum(low - allowed, 1e-9) / high)
    return ratio
