"""Estimate: shares with standard errors and intervals (docs/theory-jrr.md, section on intervals).

An interval keeps every share that the reports do not contradict. The noise is that of the
hypothesised share, not of the estimate, because a joint mechanism's variance depends strongly on
the true share and an estimate near 0 would understate it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from jrr._base import checks
from jrr._base.shown import Row, ShownDocument, value_rows
from jrr._base.wording import MOST
from jrr.errors import ArgumentError
from jrr.estimation.contrasts import Component, Held, Sampling, cumulants
from jrr.estimation.intervals import interval
from jrr.estimation.masked_intervals import exact_interval, invertible
from jrr.estimation.masks import NOTHING_KNOWN, Known
from jrr.estimation.moments import Floats, Moments

Population = Literal["respondents", "sample"]
POPULATIONS: tuple[Population, ...] = ("respondents", "sample")
FEWEST_EFFECTIVE = 20  # an effective sample size below which intervals are not promised to hold


@dataclass(frozen=True, eq=False, kw_only=True)
class Stratum:
    """Contributors who are estimated on their own: those with a card, those without.

    Counts may be weighted: then holders of v have weight counts[v], whose squares add up to
    squares[v]. Everybody weighs 1 by default.
    """

    moments: Moments
    n: int
    counts: Floats  # estimated, unbiased
    decks: int
    weight: float = math.nan  # of everybody together; set to n where there are no weights
    weight_squares: float = math.nan
    weight_cubes: float = math.nan
    heaviest: float = 1.0  # the largest weight
    squares: Floats | None = None  # estimated, unbiased
    known: Known = NOTHING_KNOWN  # what the collector was told of masks

    def __post_init__(self) -> None:
        if self.squares is None:
            for name in ("weight", "weight_squares", "weight_cubes"):
                object.__setattr__(self, name, float(self.n))

    def part(self, factor: float, sampling: Sampling | None = None) -> Component:
        """These contributors in a contrast that their estimated counts enter by a factor."""
        return Component(
            moments=self.moments,
            n=self.n,
            decks=self.decks,
            weight=self.weight,
            squares=self.weight_squares,
            cubes=self.weight_cubes,
            heaviest=self.heaviest,
            counts=self.counts,
            held_squares=self.counts if self.squares is None else self.squares,
            factor=factor,
            sampling=sampling,
            known=self.known,
        )


class Estimate(ShownDocument):
    """Estimated counts and frequencies of every value; unbiased, so they may leave 0..1.

    Made by `Mechanism.estimate`. `jrr.postprocess` has steps that bring shares into 0..1.

    Args:
        strata: contributors who are estimated apart, with a card and without; their counts add.
        sampling: where they are a sample of the people that errors and intervals speak of.

    Raises:
        ArgumentError: where nobody reported.

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=2, p=0.75)
        >>> reports = m.respond([1] * 300 + [0] * 700, rng=jrr.SeededRandom(7))
        >>> estimate = m.estimate(reports)
        >>> estimate.frequencies.round(3).tolist()
        [0.688, 0.312]
        >>> low, high = estimate.interval(level=0.9)
        >>> bool(low[1] < 0.3 < high[1])
        True
    """

    def __init__(self, strata: Sequence[Stratum], sampling: Sampling | None = None) -> None:
        self.strata = tuple(stratum for stratum in strata if stratum.n)
        self.sampling = sampling
        if not self.strata:
            raise ArgumentError("reports must hold at least one report, got none")

    @property
    def items(self) -> "tuple[Estimate, ...]":
        """Of a block the estimates of its items; otherwise this one alone."""
        return (self,)

    @property
    def n(self) -> int:
        """Contributors who reported."""
        return sum(stratum.n for stratum in self.strata)

    @property
    def weight(self) -> float:
        """What all contributors weigh together; n where no weights were given."""
        return sum(stratum.weight for stratum in self.strata)

    @property
    def effective_n(self) -> float:
        """Contributors of equal weight that would be as many (Kish): (Σw)²/Σw².

        Below 20 (`jrr.estimation.estimates.FEWEST_EFFECTIVE`) intervals are not promised to hold.
        """
        return self.weight**2 / sum(stratum.weight_squares for stratum in self.strata)

    @property
    def counts(self) -> Floats:
        """How many hold each value, or what they weigh; with and without a card are added."""
        total: Floats = np.sum([stratum.counts for stratum in self.strata], axis=0)
        return total

    @property
    def frequencies(self) -> Floats:
        """The share that holds each value."""
        return self.counts / self.weight

    @property
    def count_stderr(self) -> Floats:
        """Standard errors of the counts, the variance taken at the estimate."""
        return self.stderr * self.weight

    @property
    def stderr(self) -> Floats:
        """Standard errors of the frequencies, the variance taken at the estimate."""
        return plug_in_stderr([[part] for part in self.parts])

    @property
    def design_effect(self) -> Floats:
        """The variance of each share by that without weights, of as many people.

        Of "respondents" that is the noise of perturbation only; for that of a sample see
        `for_population`.
        """
        part = max(self.strata, key=lambda stratum: stratum.n)
        share = np.clip(self.frequencies, 0.0, 1.0)
        drawn = None if self.sampling is None else replace(self.sampling, left=1.0)
        plain = Estimate([replace(part, n=self.n, counts=share * self.n, squares=None)], drawn)
        effect: Floats = (self.stderr / plain.stderr) ** 2
        return effect

    @property
    def population(self) -> Population:
        """Whom errors and intervals speak of: see `for_population`."""
        drawn = self.sampling
        return "respondents" if drawn is None or drawn.of_respondents else "sample"

    @property
    def asked(self) -> float:
        """The share of those who answered that were asked this, as was told."""
        return 1.0 if self.sampling is None else self.sampling.asked

    @property
    def population_size(self) -> int | None:
        """How many people the respondents were drawn from, where that was told."""
        if self.sampling is None or math.isinf(self.sampling.size) or self.sampling.of_respondents:
            return None
        return round(self.sampling.size)

    def for_population(
        self,
        population: Population | str = "sample",
        size: float | None = None,
        asked: float | None = None,
    ) -> "Estimate":
        """The same estimate of other people: standard errors and intervals change, shares do not.

        Args:
            population: "respondents": those who answered; the only noise is that of
                perturbation and, where only some of them were asked, of who was. "sample": all
                those whom they are a random sample of, so that drawing them is noise too; weights
                count with their design effect (Kish).
            size: people in that population. Without it there is no end of them.
            asked: the share of those who answered that were asked this, drawn whatever they
                answer; None: as the estimate says, or all.

        Returns:
            A new estimate.

        Raises:
            ArgumentError: for another word, a size below the number of respondents, or one that
                is given with "respondents".

        Example:
            >>> import jrr
            >>> estimate = jrr.RR(p=0.75).estimate([0] * 50 + [1] * 50)
            >>> estimate.stderr.round(4).tolist()
            [0.0866, 0.0866]
            >>> estimate.for_population("sample").stderr.round(4).tolist()
            [0.1, 0.1]
            >>> estimate.for_population("sample", size=110).stderr.round(4).tolist()
            [0.0879, 0.0879]
        """
        share = self.asked if asked is None else asked
        return Estimate(self.strata, sampling_of(population, self.n, size, share))

    def interval(
        self,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        population: Population | str | None = None,
        population_size: float | None = None,
    ) -> tuple[Floats, Floats]:
        """Confidence intervals of the frequencies.

        Every level from 0.8 to 0.999 holds (docs/theory-jrr.md, section on intervals).

        Args:
            level: how often such an interval holds the true share, in (0, 1).
            simultaneous: whether all intervals are to hold at once with that chance; by default
                each one does.
            population: "respondents" or "sample", as for `for_population`; None: as the
                estimate says.
            population_size: people in the population, with "sample".

        Returns:
            Lower and upper ends, one per value.

        Raises:
            ArgumentError: where level is not in (0, 1), or as `for_population` does.

        Example:
            >>> import jrr
            >>> low, high = jrr.RR(k=2, p=0.75).estimate([0, 1, 1, 1] * 100).interval()
            >>> low.round(2).tolist(), high.round(2).tolist()
            ([-0.09, 0.91], [0.09, 1.09])
        """
        level = checks.level(level)
        if population is not None or population_size is not None:
            word = self.population if population is None else population
            return self.for_population(word, population_size).interval(
                level, simultaneous=simultaneous
            )
        each = level_of_each(self, level) if simultaneous else level
        return contrast_interval([[part] for part in self.parts], each)

    @cached_property
    def parts(self) -> tuple[Component, ...]:
        """The strata as parts of the share of each value."""
        return tuple(
            stratum.part(1 / self.weight, self.sampling)
            for stratum in self.strata
            if stratum.weight > 0
        )

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document: plain numbers, with the intervals of one level.

        There is no way back from it, since it has no variances at other shares. What is kept
        for later is the tally (`Tally.to_json`), from which `Mechanism.estimate` makes the
        same estimate again.

        Args:
            level: of the intervals.
            simultaneous: whether all of them hold at once with that chance.

        Returns:
            n, effective_n, weight, counts, count_stderr, frequencies, stderr, level,
            simultaneous, population, population_size, interval.
        """
        low, high = self.interval(level, simultaneous=simultaneous)
        return {
            "n": self.n,
            "effective_n": self.effective_n,
            "weight": self.weight,
            "counts": self.counts.tolist(),
            "count_stderr": self.count_stderr.tolist(),
            "frequencies": self.frequencies.tolist(),
            "stderr": self.stderr.tolist(),
            "level": level,
            "simultaneous": simultaneous,
            "population": self.population,
            "population_size": self.population_size,
            "interval": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        }

    shown_heading = "Shares of {0.n:,} reports"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each value: share, stderr, low, high, count, count_stderr."""
        low, high = self.interval(level)
        return value_rows(
            {
                "value": range(len(self.frequencies)),
                "share": self.frequencies,
                "stderr": self.stderr,
                "low": np.asarray(low),
                "high": np.asarray(high),
                "count": self.counts,
                "count_stderr": self.count_stderr,
            }
        )

    def __repr__(self) -> str:
        low, high = self.interval()
        shares = self.frequencies
        shown = len(shares) if len(shares) <= MOST else MOST // 2
        rows = ", ".join(
            f"{v}: {shares[v]:.4f} [{low[v]:.4f}, {high[v]:.4f}]" for v in range(shown)
        )
        more = f", ... {len(shares)} values" if shown < len(shares) else ""
        return f"Estimate(n={self.n}, 95%: {rows}{more})"


class BlockEstimate(Estimate):
    """The estimates of items that were answered together: `items[0]`, `items[1]` and so on.

    Args:
        items: the estimate of each.
    """

    def __init__(self, items: Iterable[Estimate]) -> None:
        self._items = tuple(items)

    @property
    def items(self) -> tuple[Estimate, ...]:
        """The estimate of each item."""
        return self._items

    @property
    def n(self) -> int:
        """How many answered: each of them all items."""
        return self._items[0].n

    @property
    def strata(self) -> Any:  # type: ignore[override]  # all that one item's estimate is made of
        """Refused: there is one for each item."""
        raise ArgumentError(
            f"an estimate of a block must be read item by item: items[0] to "
            f"items[{len(self._items) - 1}]"
        )

    def _heading(self) -> str:
        return f"Shares of {len(self.items)} items"

    def for_population(self, *of_whom: Any, **more: Any) -> "BlockEstimate":
        """The same of other people, item by item; arguments as for `Estimate.for_population`."""
        return BlockEstimate(item.for_population(*of_whom, **more) for item in self._items)

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of all items, each with the number of its item."""
        return [
            {"item": at} | row for at, item in enumerate(self.items) for row in item.to_rows(level)
        ]

    def __repr__(self) -> str:
        return f"BlockEstimate({', '.join(map(repr, self._items))})"


def contrast_interval(pools: Sequence[Sequence[Component]], level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends of an interval of a contrast, one per value."""
    return exact_interval(pools, level) if invertible(pools) else interval(pools, level)


def sampling_of(
    population: Population | str, n: int, size: float | None, asked: float = 1.0
) -> Sampling | None:
    """How n respondents were drawn from the population; None: they are all that is asked about.

    Raises:
        ArgumentError: for another word, or a size below n or given with "respondents".
    """
    word = checks.one_of("population", population, POPULATIONS)
    if word == "respondents":
        if size is not None:
            raise checks.refusal("population_size", size, "given with population='sample' only")
        if checks.real("asked", asked, "in (0, 1]", 0.0, 1.0, open_low=True) == 1:
            return None
        return Sampling(fraction=asked, size=n / asked, asked=asked, of_respondents=True)
    if size is None:
        return Sampling(asked=asked)
    people = checks.real("population_size", size, f"at least the {n:,} who reported", float(n))
    return Sampling(fraction=n / people, size=people, asked=asked)


def quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches.

    Raises:
        ArgumentError: where level is not in (0, 1).

    Example:
        >>> round(quantile(0.95), 2)
        1.96
    """
    return NormalDist().inv_cdf(0.5 + checks.level(level) / 2)


def level_of_each(estimate: Estimate, level: float) -> float:
    """The level of single intervals that all hold at once with the chance `level` (Bonferroni).

    Where every report supports one of two values, both intervals hold or fail together.
    """
    values = len(estimate.counts)
    one = values == 2 and all(stratum.moments.exclusive for stratum in estimate.strata)
    return 1 - (1 - level) / (1 if one else values)


def plug_in_stderr(pools: Sequence[Sequence[Component]]) -> Floats:
    """Standard error of a contrast, at the estimates brought into what is possible."""
    law = cumulants(
        pools, [[Held(part.plausible, part.plausible_squares) for part in parts] for parts in pools]
    )
    shape = np.shape(pools[0][0].counts)
    error: Floats = np.broadcast_to(np.sqrt(law.variance), shape).copy()
    return error
