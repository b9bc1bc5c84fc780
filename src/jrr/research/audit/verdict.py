"""An audit: claims of privacy, tried on the mechanism as it runs.

An audit can refute a claim and never prove one: it measures one event, and an ε must hold for
all of them. Two values are told apart by an event: ln(Pr[event | value] / Pr[event | other]) is at
most ε. Each of both chances is bounded at half of the error, so the bound on their ratio is too
large with chance `error` at most, whatever the chances are: no approximation is involved.
"""

import hashlib
import math
import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import permutations
from multiprocessing import get_context
from pathlib import Path
from textwrap import fill
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from jrr._base import checks
from jrr._base.randomness import RandomSource, SecureRandom, SeededRandom
from jrr.errors import ArgumentError
from jrr.reporting.plots import COLOURS, new_axes, save
from jrr.research.audit.subject import Function, Observations, Observe, Subject

Counts = Counter[Hashable]


class Chunk(NamedTuple):
    """Some trials of one value, and where their randomness comes from."""

    value: Any
    trials: int
    seed: int | None


def chunks(subject: Subject, value: Any, trials: int, seed: int | None, part: str) -> list[Chunk]:
    """The trials of one value, cut the same way for any number of processes."""
    work = []
    for number, start in enumerate(range(0, trials, subject.chunk)):
        size = min(subject.chunk, trials - start)
        work.append(Chunk(value, size, _seed_of(seed, part, value, number)))
    return work


def count_chunk(subject: Subject, chunk: Chunk) -> Counts:
    """Make the trials and count what is seen."""
    rng: RandomSource = SecureRandom() if chunk.seed is None else SeededRandom(chunk.seed)
    return tally(subject.observe(chunk.value, chunk.trials, rng), chunk.trials)


def tally(observations: Observations, trials: int) -> Counts:
    """How often each observation occurs; rows become tuples."""
    seen = np.asarray(observations)
    if seen.ndim not in (1, 2) or len(seen) != trials:
        raise ArgumentError(
            f"observations must be one per trial ({trials}), got an array of shape {seen.shape}"
        )
    if seen.ndim == 1:
        kinds, counts = np.unique(seen, return_counts=True)
        return Counter(dict(zip(kinds.tolist(), counts.tolist(), strict=True)))
    # One number per row sorts much faster than rows do.
    low = seen.min(axis=0)
    sizes = [int(size) for size in seen.max(axis=0) - low + 1]
    if np.prod([float(size) for size in sizes]) > 2.0**62:
        rows, counts = np.unique(seen, axis=0, return_counts=True)
    else:
        codes = np.ravel_multi_index(tuple((seen - low).T), sizes)
        kinds, counts = np.unique(codes, return_counts=True)
        rows = np.column_stack(np.unravel_index(kinds, sizes)) + low
    return Counter(dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True)))


def _seed_of(seed: int | None, part: str, value: Any, number: int) -> int | None:
    if seed is None:
        return None
    text = f"jrr audit {seed} {part} {value!r} {number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


MOST_KINDS = 1 << 20  # different observations that are kept apart
_WORTH = 10.0  # seconds of work that are worth starting other processes


class Team:
    """Counts observations of one subject; to be used as a context, which ends the processes.

    workers: so many processes from the start; None takes one per processor as soon as there is
    work for some seconds. The result does not depend on it.
    """

    def __init__(self, subject: Subject, workers: int | None, done: Callable[[int], None]) -> None:
        self._subject = subject
        self._worth = _WORTH if workers is None else 0.0
        self._workers = workers or os.cpu_count() or 1
        if not _can_travel(subject):
            self._workers = 1
        self._done = done
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def count(self, work: Iterable[Chunk]) -> dict[Any, Counts]:
        """Observations of every value."""
        totals: dict[Any, Counts] = {}
        for chunk, counts in self._counted(deque(work)):
            total = totals.setdefault(chunk.value, Counter())
            total.update(counts)
            if len(total) > MOST_KINDS:
                raise ArgumentError(
                    f"observations must be of at most {MOST_KINDS} kinds, got more: make them "
                    "coarser, as jrr.research.audit.views does with long reports"
                )
            self._done(chunk.trials)
        return totals

    def _counted(self, work: deque[Chunk]) -> Iterator[tuple[Chunk, Counts]]:
        while work and self._pool is None:
            chunk = work.popleft()
            begun = time.perf_counter()
            counts = count_chunk(self._subject, chunk)
            seconds = time.perf_counter() - begun
            yield chunk, counts
            if self._workers > 1 and seconds * len(work) > self._worth:
                # Spawned, not forked: a fork would copy the middle of other threads' work.
                self._pool = ProcessPoolExecutor(self._workers, get_context("spawn"))
        if self._pool is not None:
            yield from self._spread(self._pool, work)

    def _spread(
        self, pool: ProcessPoolExecutor, work: deque[Chunk]
    ) -> Iterator[tuple[Chunk, Counts]]:
        waiting: dict[Future[Counts], Chunk] = {
            pool.submit(count_chunk, self._subject, chunk): chunk for chunk in work
        }
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()


def _can_travel(subject: Subject) -> bool:
    """Whether another process can be given the subject; a function inside another cannot."""
    try:
        pickle.dumps(subject)
    except Exception:  # pickle raises whatever the object's own methods raise
        return False
    return True


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
