"""Cells: counted reports of disjoint groups, from which every coarser result follows.

A cell holds people who gave the same open answers, or several such combinations where a cell was
merged because few people were in it. What a dealer tells of masked reports is a sum for each cell,
so only what can be made of whole cells can be known: groups, their differences, totals and shares
with weights that are the same for everybody in a cell.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.shown import Row, Shown
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Population
from jrr.estimation.groups import MIN_CELL, AnyTally, GroupEstimates, add_tallies, estimate_groups
from jrr.estimation.moments import Floats
from jrr.estimation.raking import Answers, Margins, Raked, calibrated, hang_together, rake
from jrr.estimation.told_sums import MERGED_BY, crossed

if TYPE_CHECKING:
    from jrr.mechanisms.parts.collecting import Collecting


class Cell(NamedTuple):
    """People of whom one sum is known.

    Attributes:
        tally: their reports, with masks taken off.
        members: how many of them gave each combination of open answers.
    """

    tally: AnyTally
    members: Mapping[Answers, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    """A sensitive question by the crossing of open ones; made by `jrr.analysis.cells_of`.

    Attributes:
        mechanism: by which the reports were made.
        by: the open questions.
        cells: the people, everybody in one cell.
        decks: how many decks all of them were dealt from; None: as few as can be.
        min_cell: reports in the smallest group that is shown.
        people: the number of everybody's cell, in the order of the people; None: not known.
        asked: the share of those who answered that were asked this.

    Example:
        >>> import jrr
        >>> m, rng = jrr.RR(p=0.9), jrr.SeededRandom(7)
        >>> answers = {("north", "f"): [1] * 60, ("north", "m"): [0] * 40, ("sea", "m"): [0] * 80}
        >>> cells = Cells(
        ...     mechanism=m,
        ...     by=("region", "gender"),
        ...     cells=tuple(
        ...         Cell(m.tally(m.respond(held, rng=rng)), {open_: len(held)})
        ...         for open_, held in answers.items()
        ...     ),
        ... )
        >>> [(group.name, group.estimate.n) for group in cells.groups("region")]
        [('north', 100), ('sea', 80)]
        >>> [group.name for group in cells.groups()]
        ['north × f', 'north × m', 'sea × m']
        >>> cells.total().n
        180
    """

    mechanism: "Collecting"
    by: tuple[str, ...]
    cells: tuple[Cell, ...]
    decks: int | None = None
    min_cell: int = MIN_CELL
    people: NDArray[np.intp] | None = None
    asked: float = 1.0

    def __post_init__(self) -> None:
        if not self.cells:
            raise ArgumentError("cells must hold at least one cell, got none")
        seen = Counter(answers for cell in self.cells for answers in cell.members)
        twice = [answers for answers, count in seen.items() if count > 1]
        if twice:
            raise checks.refusal("cells", twice[0], "in one cell: nobody may be in two")
        for cell in self.cells:
            strange = [a for a in cell.members if len(a) != len(self.by)]
            if strange:
                raise checks.refusal("members", strange[0], f"answers to {list(self.by)}")
            if sum(cell.members.values()) != cell.tally.n:
                raise checks.refusal("members", dict(cell.members), f"{cell.tally.n} people")

    @cached_property
    def everybody(self) -> AnyTally:
        """The reports of all cells together."""
        return add_tallies([cell.tally for cell in self.cells])

    @cached_property
    def dealt(self) -> int:
        """From how many decks the reports with a card are."""
        whole, mechanism = self.everybody, self.mechanism
        return max(self.decks or 1, len(whole.decks), mechanism.fewest_decks(whole.n_carded))

    def total(
        self,
        *,
        population: Population | str = "respondents",
        population_size: float | None = None,
    ) -> Estimate:
        """The estimate of everybody; arguments as for `Estimate.for_population`.

        Args:
            population: of whom the estimate speaks, as for `Estimate.for_population`.
            population_size: people in it, where it is finite.
        """
        found = self.mechanism.estimate(self.everybody, self.dealt)
        return found.for_population(population, population_size, self.asked)

    def among(self, question: str, answer: str) -> "Cells":
        """The cells of those who gave an answer.

        Args:
            question: by which cells are crossed.
            answer: to it.

        Raises:
            ArgumentError: nobody gave it, or it shares a merged cell with others.
        """
        (place,) = self.places([question])
        given = [{one[place] for one in cell.members} for cell in self.cells]
        kept = tuple(c for c, some in zip(self.cells, given, strict=True) if answer in some)
        if not kept or any(answer in some and len(some) > 1 for some in given):
            raise ArgumentError(
                f"too few people answered {question} with {answer!r}: there is no such cell, or it "
                "was merged with those of others"
            )
        return replace(self, cells=kept, people=None, decks=self.dealt)

    def groups(
        self,
        *by: str,
        population: Population | str = "respondents",
        population_size: float | None = None,
    ) -> GroupEstimates:
        """The estimates of groups, and from them every difference of two (`differences`).

        Groups that share a merged cell can only be told together: they become one, whose name
        has all of theirs.

        Args:
            *by: some of the questions that cells are crossed by; without any, all of them.
            population: as for `Estimate.for_population`.
            population_size: as for `estimate_groups`.

        Raises:
            ArgumentError: for a question that cells are not crossed by.
        """
        tallies: dict[str, AnyTally] = {}
        for cell, name in zip(self.cells, self.names(*by), strict=True):
            tallies[name] = tallies[name] + cell.tally if name in tallies else cell.tally
        return estimate_groups(
            self.mechanism,
            tallies,
            min_cell=self.min_cell,
            decks=self.dealt,
            population=population,
            population_size=population_size,
            asked=self.asked,
        )

    def names(self, *by: str) -> list[str]:
        """The group that each cell is in, by some of the questions; arguments as for `groups`."""
        places = self.places(by or self.by)
        groups = hang_together(
            [{crossed([a[at] for at in places]) for a in cell.members} for cell in self.cells]
        )
        return [MERGED_BY.join(sorted(some)) for some in groups]

    def places(self, by: Sequence[str]) -> list[int]:
        """Where the answers to these questions stand.

        Args:
            by: names of open questions.

        Raises:
            ArgumentError: for a question that cells are not crossed by.
        """
        for name in by:
            if name not in self.by:
                allowed = f"one of {list(self.by)}: the survey was closed on their cells, no others"
                raise checks.refusal("by", name, allowed)
        return [self.by.index(name) for name in by]

    def weighted(
        self,
        margins: Margins,
        *,
        population: Population | str = "sample",
        population_size: float | None = None,
    ) -> "WeightedShares":
        """Shares with the weights that bring the cells to known margins of the population.

        One margin over all questions is poststratification, several are raking, and a margin of
        those who were invited gives weights for non-response. Weights are the same for everybody
        in a cell, so they work with masked questions too. Where people have weights already (the
        tallies are weighted), these are multiplied.

        Args:
            margins: one table or several, as `jrr.estimation.raking.rake` takes them.
            population: as for `Estimate.for_population`; the noise of drawing people is what the
                margins do not explain.
            population_size: as for `Estimate.for_population`.

        Raises:
            ArgumentError: for margins of other questions or answers, or that no weights fit.

        Example:
            >>> import jrr
            >>> m = jrr.RR(p=0.9)
            >>> sizes = {"north": 90, "south": 30}
            >>> cells = Cells(
            ...     mechanism=m,
            ...     by=("region",),
            ...     cells=tuple(
            ...         Cell(m.tally([int(place == "north")] * n), {(place,): n})
            ...         for place, n in sizes.items()
            ...     ),
            ... )
            >>> shares = cells.weighted({"region": {"north": 500, "south": 500}})
            >>> round(float(shares.estimate.frequencies[1]), 3), shares.weights.round(2).tolist()
            (0.5, [0.67, 2.0])
        """
        members = [cell.members for cell in self.cells]
        amounts = [self.mechanism.estimate(cell.tally, self.dealt).weight for cell in self.cells]
        found = rake(self.by, members, amounts, margins)
        tallies = [
            cell.tally.scaled(float(w)) for cell, w in zip(self.cells, found.weights, strict=True)
        ]
        estimates = [self.mechanism.estimate(tally, self.dealt) for tally in tallies]
        whole = self.mechanism.estimate(add_tallies(tallies), self.dealt)
        plain = self.total(population=population, population_size=population_size)
        return WeightedShares(
            estimate=calibrated(whole, estimates, found.columns, plain.sampling),
            weights=found.weights,
            raked=found,
            cells=self,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedShares(Shown):
    """Shares with weights that are the same within a cell; made by `Cells.weighted`.

    Attributes:
        estimate: the shares, with standard errors and intervals.
        weights: of everybody in each cell, on average 1.
        raked: how they were found.
        cells: what was weighted.
    """

    estimate: Estimate
    weights: Floats
    raked: Raked
    cells: Cells

    shown_heading = "Weighted shares of {0.estimate.n:,} reports"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of the estimate."""
        return self.estimate.to_rows(level)

    @property
    def design_effect(self) -> Floats:
        """The variance of every share by that of a sample of as many people without weights."""
        return self.estimate.design_effect

    def groups(self, *by: str) -> GroupEstimates:
        """The same of groups, with the weights that everybody's shares have.

        Args:
            *by: as for `Cells.groups`. Noise of drawing people is counted as for any weights
                (Kish), which is at least what the margins leave of it.
        """
        weighted: dict[str, AnyTally] = {}
        names = self.cells.names(*by)
        for cell, weight, name in zip(self.cells.cells, self.weights, names, strict=True):
            tally = cell.tally.scaled(float(weight))
            weighted[name] = weighted[name] + tally if name in weighted else tally
        sampling = self.estimate.sampling
        drawn: dict[str, Any] = {"population": self.estimate.population}
        if sampling is not None:
            drawn["population_size"] = self.estimate.population_size
            drawn["asked"] = sampling.asked
        cells = self.cells
        return estimate_groups(
            cells.mechanism, weighted, min_cell=cells.min_cell, decks=cells.dealt, **drawn
        )

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document: `Estimate.to_dict`, design_effect and the weights of the cells."""
        return self.estimate.to_dict(level, simultaneous=simultaneous) | {
            "design_effect": self.design_effect.tolist(),
            "merged_margins": [list(some) for some in self.raked.merged],
            "weights": [
                {"cell": name, "n": cell.tally.n, "weight": float(weight)}
                for name, cell, weight in zip(
                    self.cells.names(), self.cells.cells, self.weights, strict=True
                )
            ],
        }
