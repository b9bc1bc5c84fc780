"""A sensitive question by open ones: the reports of single people, counted by cell."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.analysis.items import SensitiveItem
from jrr.errors import ArgumentError
from jrr.estimation.cell_tallies import Cell, Cells
from jrr.estimation.groups import MIN_CELL
from jrr.estimation.raking import Answers
from jrr.estimation.tally import check_weights
from jrr.estimation.told_sums import crossed
from jrr.mechanisms.base import Mechanism


def cells_of(
    item: SensitiveItem,
    by: Mapping[str, ArrayLike],
    *,
    weights: ArrayLike | None = None,
    announced: Mapping[str, Any] | None = None,
    merged: Mapping[str, Sequence[str]] | None = None,
    min_cell: int = MIN_CELL,
) -> Cells:
    """Count the reports of a sensitive question by the crossing of open ones.

    Args:
        item: the reports, one per person.
        by: open question -> everybody's answer.
        weights: survey weights, one per person; not for announced sums, which have none
            (`Cells.weighted` gives weights to cells).
        announced: for MRR with announced sums: name of a cell -> what the dealer announced for
            it. A cell is named by its answers, as "north × f".
        merged: name of a cell of several combinations of answers -> those combinations.
        min_cell: reports in the smallest group that is shown.

    Returns:
        The cells: `groups`, `total`, `weighted`; `regress_cells` takes them.

    Raises:
        ArgumentError: for columns of another length, or sums of cells that there are not.

    Example:
        >>> import jrr
        >>> m = jrr.RR(p=0.75)
        >>> item = SensitiveItem(m, m.respond([0, 1] * 100, rng=jrr.SeededRandom(7)))
        >>> cells = cells_of(item, {"region": ["north", "south"] * 100})
        >>> " ".join(group.name for group in cells.groups())
        'north south'
    """
    reports = Reports(item.mechanism, item.reports, item.with_card, item.decks, item.asked)
    return cells_of_reports(
        reports, by, weights=weights, announced=announced, merged=merged, min_cell=min_cell
    )


class Reports(NamedTuple):
    """Reports of one question by any mechanism, one per person; single ones need not be readable.

    Attributes:
        mechanism: which made them.
        reports: as `respond` makes them.
        carded: whose reports were made with a card.
        decks: how many decks those with a card were dealt from.
        asked: the share of those who answered that were asked this.
    """

    mechanism: Mechanism
    reports: ArrayLike
    carded: NDArray[np.bool_]
    decks: int | None
    asked: float = 1.0


def cells_of_reports(
    told: Reports,
    by: Mapping[str, ArrayLike],
    *,
    weights: ArrayLike | None = None,
    announced: Mapping[str, Any] | None = None,
    merged: Mapping[str, Sequence[str]] | None = None,
    min_cell: int = MIN_CELL,
) -> Cells:
    """The same as `cells_of`, also of reports that say nothing one by one."""
    reports = np.asarray(told.reports)
    if not by:
        raise ArgumentError("by must hold at least one open question, got none")
    columns = []
    for name, column in by.items():
        given = checks.array_of(name, column, "one answer per person").astype(str)
        checks.same_length(name, given, "reports", len(reports))
        columns.append(given.tolist())
    cell_of = {one: name for name, some in (merged or {}).items() for one in some}
    rows: dict[str, list[int]] = defaultdict(list)
    members: dict[str, Counter[Answers]] = defaultdict(Counter)
    for place, answers in enumerate(zip(*columns, strict=True)):
        name = crossed(answers)
        name = cell_of.get(name, name)
        rows[name].append(place)
        members[name][answers] += 1
    strangers = sorted(set(announced or ()) - set(rows))
    if strangers:
        raise checks.refusal("announced", strangers[0], f"of the cells {sorted(rows)}")
    w = None if weights is None else check_weights(weights, len(reports))
    cells: list[Cell] = []
    people = np.zeros(len(reports), np.intp)
    for name in sorted(rows):
        some = np.array(rows[name])
        people[some] = len(cells)
        more = {} if w is None else {"weights": w[some]}
        tally = told.mechanism.tally(reports[some], told.carded[some], **more)
        if announced is not None and name in announced:
            tally = told.mechanism.settle(tally, announced=announced[name])
        cells.append(Cell(tally, members[name]))
    return Cells(
        mechanism=told.mechanism,
        by=tuple(by),
        cells=tuple(cells),
        decks=told.decks,
        min_cell=checks.integer("min_cell", min_cell, 1),
        people=people,
        asked=told.asked,
    )
