"""An audit: claims of privacy, tried on the mechanism as it runs.

An audit can refute a claim and never prove one: it measures one event, and an ε must hold for
all of them.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.reporting.plots import COLOURS, new_axes, save
from jrr.research.audit.bounds import ERROR, Hits, epsilon_at_least
from jrr.research.audit.subject import Function, Observe, Subject
from jrr.research.audit.team import Chunk, Counts, Team, chunks

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


CHOOSING = 0.2  # the share of the trials that the event is chosen on
_SHOWN = 20  # observations of an event that are listed
_LEAST = 100  # trials per value below which nothing can be learnt
Progress = Callable[[int, int | None], None]  # is told how much is done, and of how much


@dataclass(frozen=True)
class Audit:
    """What an audit found; the lower bound is wrong with chance `error` at most."""

    subject: str
    claimed: float  # ε that is claimed between the two values
    lower_bound: float  # on the true ε between them
    measured: float  # the ratio as it was seen
    values: tuple[Any, Any]
    event: tuple[Hashable, ...]  # observations that speak for the first value
    hits: Hits
    trials: int  # of both parts
    error: float
    delta: float = 0.0  # at which ε is claimed

    @property
    def violates(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower_bound > self.claimed

    @property
    def verdict(self) -> str:
        """In words."""
        return "violates the claim" if self.violates else "no violation found"

    @property
    def sentence(self) -> str:
        """The finding for people."""
        value, other = self.values
        seen = self.hits
        return (
            f"{self.subject}: {self.verdict}. ε >= {self.lower_bound:.4f}"
            f"{f' at δ = {self.delta:g}' if self.delta else ''} between values {value} "
            f"and {other} (claimed: {self.claimed:.4g}; measured: {self.measured:.4f}); their "
            f"event was seen {seen.with_value:,} of {seen.of_value:,} and {seen.with_other:,} of "
            f"{seen.of_other:,} times. A true claim is refuted with chance {self.error:g} at most."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        lists = {"values": list(self.values), "hits": list(self.hits)}
        event = {"event": list(self.event[:_SHOWN]), "event_size": len(self.event)}
        found = {"verdict": self.verdict, "violates": self.violates}
        return vars(self) | lists | event | found


def audit(
    subject: Subject | Observe,
    claimed: float,
    trials: int = 1_000_000,
    seed: int | None = None,
    *,
    error: float = ERROR,
    delta: float = 0.0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Try to refute that `subject` has a privacy loss of at most `claimed`.

    subject: a Subject, or a function (value, trials, rng) -> observations of the values 0 and
    1. A fifth of the trials choose two values and an event, the others measure it afresh.
    error: how often a true claim may be refuted. delta: where (claimed, delta)-differential
    privacy is the claim. seed: the same result again, with any number
    of `workers` (processes; by default one per processor where that saves time; a script then
    needs the usual `if __name__ == "__main__"`).
    """
    tested = subject if isinstance(subject, Subject) else Function(subject)
    claimed = checks.real("claimed", claimed, "a number >= 0", 0.0)
    trials = checks.integer("trials", trials, _LEAST * len(tested.values))
    error = checks.real("error", error, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    delta = checks.real("delta", delta, "in [0, 1)", 0.0, 1.0, open_high=True)
    if seed is not None:
        checks.integer("seed", seed, 0)
    if workers is not None:
        checks.integer("workers", workers, 1)
    each = round(trials * CHOOSING / 2) // len(tested.values)
    half = trials // 2 - each * len(tested.values)
    with Team(
        tested, workers, _counter(progress, 2 * each * len(tested.values) + 2 * half)
    ) as team:

        def counted(part: str, values: Iterable[Any], number: int) -> dict[Any, Counts]:
            work: list[Chunk] = []
            for value in values:
                work += chunks(tested, value, number, seed, part)
            return team.count(work)

        ranking, judging = (counted(part, tested.values, each) for part in ("rank", "judge"))
        event = best_event(tested, ranking, judging, delta)
        counts = counted("measure", (event.value, event.other), half)
    seen = Hits(hits(event, counts[event.value]), half, hits(event, counts[event.other]), half)
    return Audit(
        subject=tested.name,
        claimed=claimed * tested.times(event.value, event.other),
        lower_bound=epsilon_at_least(seen, error, delta),
        measured=seen.ratio(),
        values=(event.value, event.other),
        event=tuple(sorted(event.observations, key=repr)),
        hits=seen,
        trials=trials,
        error=error,
        delta=delta,
    )


def _counter(progress: Progress | None, total: int) -> Callable[[int], None]:
    done = 0

    def step(trials: int) -> None:
        nonlocal done
        done += trials
        if progress is not None:
            progress(done, total)

    return step


_WIDTH = 100  # characters in a line


def draw_audits(audits: Sequence[Audit], path: str | Path) -> Path:
    """One row per audit: up to the lower bound, on to the measured ratio, beside the claim."""
    figure, axes = new_axes(8.0, 1.9 + 0.75 * len(audits))
    finite = [
        number
        for audit in audits
        for number in (audit.lower_bound, audit.measured, audit.claimed)
        if number < float("inf")
    ]
    end = 1.15 * max(finite, default=1.0) or 1.0
    for row, result in enumerate(audits):
        colour = COLOURS["drr"] if result.violates else COLOURS["jrr"]
        certain, measured = min(result.lower_bound, end), min(result.measured, end)
        axes.barh(row, certain, 0.34, color=colour)
        axes.barh(row, max(0.0, measured - certain), 0.34, left=certain, color=colour, alpha=0.35)
        claimed = min(result.claimed, end)
        axes.plot([claimed, claimed], [row - 0.25, row + 0.25], "k", linewidth=2.5)
        numbers = f"at least {result.lower_bound:.3g}, measured {result.measured:.3g}"
        axes.annotate(
            f"{numbers}, claimed {result.claimed:.3g}",
            (0, row),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            color="white" if certain > end / 2 else "black",
        )
        axes.annotate(
            fill(f"{result.subject}: {result.verdict}", _WIDTH),
            (0, row - 0.25),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=7,
        )
    axes.set_yticks([])
    axes.set_ylim(len(audits) - 0.6, -0.75)
    axes.set_xlim(0, end)
    axes.set_title("A claimed ε, tried by experiment", fontsize=10)
    axes.set_xlabel("ε: certain lower bound (full), measured ratio (pale), claimed (black)")
    return save(figure, path)
