"""In which cells the cards of a survey are summed at its end, and which are too small for that.

A cell is a combination of answers to the open questions that the survey is closed on. A dealer
tells no sum of few cards. So cells are looked at before anything is closed, and those that are too
small can be merged by one rule, question by question from the last to the first (`merge_small`).
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.estimation.raking import Answers
from jrr.estimation.told_sums import CROSSED_BY, MERGED_BY, Merged, crossed

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

EVERYBODY = ""  # the only cell where there is no grouping
MOST_CELLS = 2_000
MERGE_RULE = (
    "cells that are too small become one with those that differ in the last question only; while "
    "that is too small, the smallest other of these joins it; then the same in the question before"
)

Sizes = Mapping[str, int]  # cell -> cards


@dataclass(frozen=True, kw_only=True)
class CardGrouping:
    """One sum for all cards, or for each cell, some cells together.

    Attributes:
        by: the open questions whose crossing makes the cells; none: everybody is one cell.
        merged: name of a merged cell -> the cells in it.
    """

    by: tuple[str, ...] = ()
    merged: Merged = field(default_factory=dict, hash=False)

    def names(self, survey: "Survey") -> list[str]:
        """All cells, in the order of the questions' answers."""
        return list(dict.fromkeys(map(self.merged_cell, cells_of(survey, self.by))))

    def cell_of(self, covariates: Mapping[str, str]) -> str:
        """The cell of somebody with these answers to open questions."""
        return self.merged_cell(crossed([covariates[name] for name in self.by]))

    def merged_cell(self, cell: str) -> str:
        """The merged cell that one is in, or itself."""
        return self._merged_into.get(cell, cell)

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored; without `merged` where every cell is one combination."""
        more = {name: list(cells) for name, cells in self.merged.items()}
        return {"by": list(self.by)} | ({"merged": more} if more else {})

    @cached_property
    def _merged_into(self) -> Mapping[str, str]:
        return {cell: name for name, cells in self.merged.items() for cell in cells}

    @classmethod
    def from_document(cls, survey: "Survey", document: Mapping[str, Any]) -> "CardGrouping":
        """What `to_document` wrote; other fields are left alone.

        Raises:
            ArgumentError: The survey has no such open question.
            DamagedError: Cells are merged that it does not have.
        """
        by, merged = checked_by(survey, document["by"]), document.get("merged", {})
        cells = set(cells_of(survey, by)) if by else set()
        if not isinstance(merged, Mapping) or not all(
            isinstance(some, list) and len(some) > 1 for some in merged.values()
        ):
            raise DamagedError("merged must be lists of several cells, by the names of merged ones")
        together = Counter(cell for some in merged.values() for cell in map(str, some))
        if not set(together) <= cells or any(count > 1 for count in together.values()):
            raise DamagedError("merged must have cells of these questions, each once at most")
        if set(merged) & cells:
            raise DamagedError("merged must give cells names that are none of the others'")
        return cls(by=by, merged={name: tuple(some) for name, some in merged.items()})


def checked_by(survey: "Survey", by: object) -> tuple[str, ...]:
    """The open questions to close on.

    Raises:
        ArgumentError: One is none whose answers make groups, stands twice, or there would be more
            cells than anybody reads.
    """
    if not isinstance(by, list | tuple):
        raise checks.refusal("by", by, "a list of open questions")
    names = tuple(checks.one_of("by", name, tuple(survey.cell_answers)) for name in by)
    if len(set(names)) < len(names):
        raise checks.refusal("by", list(names), "each question once")
    cells = math.prod(len(survey.cell_answers[name]) for name in names)
    if cells > MOST_CELLS:
        raise checks.refusal("by", list(names), f"with at most {MOST_CELLS} cells, not {cells}")
    if len(cells_of(survey, names)) < cells:
        raise checks.refusal("by", list(names), f"whose answers do not hold {CROSSED_BY!r} alike")
    return names


def split_by(text: str) -> tuple[str, ...]:
    """Open questions as an address names them, with commas between; none in an empty text."""
    return tuple(filter(None, text.split(",")))


def cells_of(survey: "Survey", by: Sequence[str]) -> Mapping[str, Answers]:
    """Every combination of answers to some questions, by its name."""
    every = itertools.product(*(survey.cell_answers[name] for name in by))
    return {crossed(answers): answers for answers in every}


def too_small(sizes: Iterable[Sizes], fewest: int) -> set[str]:
    """Cells of which some dealer could tell no sum: of a few cards, though not of none.

    Args:
        sizes: Of each question and each dealer: cell -> cards.
        fewest: Cards in the smallest sum that is told.
    """
    return {name for one in sizes for name, size in one.items() if 0 < size < fewest}


def summed(grouping: CardGrouping, sizes: Sequence[Sizes]) -> list[Sizes]:
    """The sizes of merged cells, from those of single ones."""
    found: list[Sizes] = []
    for one in sizes:
        counts: Counter[str] = Counter()
        for cell, size in one.items():
            counts[grouping.merged_cell(cell)] += size
        found.append(dict(counts))
    return found


def merge_small(survey: "Survey", by: Sequence[str], sizes: Sequence[Sizes]) -> CardGrouping:
    """The cells of some questions, those that are too small merged.

    Cells that differ in the last question only are looked at together: those of them that are too
    small become one, and while that is too small, the smallest other of them joins it. What is too
    small then is looked at together with what differs in the last two questions, and so on. So
    the first question is kept apart the longest.

    Args:
        survey: Whose open questions they are.
        by: Their names.
        sizes: Of each question and each dealer: cell -> cards.

    Returns:
        The grouping; where all cards together are too few, one that has a cell too small.
    """
    cells = cells_of(survey, by)
    groups: list[tuple[str, ...]] = [(name,) for name in cells]
    for kept in reversed(range(len(by))):
        alike: dict[Answers, list[tuple[str, ...]]] = defaultdict(list)
        for group in groups:
            alike[cells[group[0]][:kept]].append(group)
        groups = [one for some in alike.values() for one in _merged(some, sizes, survey)]
    merged: dict[str, tuple[str, ...]] = {}
    for group in groups:
        if len(group) > 1:
            members = tuple(name for name in cells if name in group)
            name = MERGED_BY.join(members)
            while name in cells or name in merged:
                name = f"({name})"
            merged[name] = members
    return CardGrouping(by=tuple(by), merged=merged)


def _merged(
    groups: list[tuple[str, ...]], sizes: Sequence[Sizes], survey: "Survey"
) -> list[tuple[str, ...]]:
    """Those that are too small in one, with as many others as that needs."""

    def is_small(cells: Iterable[str]) -> bool:
        some = list(cells)
        totals = [{EVERYBODY: sum(one.get(cell, 0) for cell in some)} for one in sizes]
        return bool(too_small(totals, survey.smallest_group))

    def cards(group: tuple[str, ...]) -> int:
        return sum(one.get(cell, 0) for one in sizes for cell in group)

    small = [group for group in groups if is_small(group)]
    if not small:
        return groups
    others = sorted((one for one in groups if one not in small and cards(one)), key=cards)
    while others and is_small(cell for group in small for cell in group):
        small.append(others.pop(0))
    together = tuple(cell for group in small for cell in group)
    return [together, *(group for group in groups if group not in small)]


def small_words(survey: "Survey", sizes: Sequence[Sizes]) -> str:
    """Why no sum is told of some cells: how many cards there must be, and how many there are."""
    fewest = survey.smallest_group
    least: dict[str, int] = {}
    for one in sizes:
        for name in too_small([one], fewest):
            least[name] = min(one[name], least.get(name, fewest))
    got = ", ".join(
        f"{count} in the group {name!r:.80}" if name != EVERYBODY else str(count)
        for name, count in sorted(least.items())
    )
    return (
        f"answers made with a card must be at least {fewest} (the survey's min_cell and "
        f"min_batch) in each group for a result, or none, got {got}"
    )
