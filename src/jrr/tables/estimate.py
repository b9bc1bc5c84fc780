"""Shares with error bars from files of reports: overall, by group, weighted."""

from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from jrr._base import checks
from jrr.errors import JrrError
from jrr.estimation.differences import Difference, difference
from jrr.estimation.estimates import Estimate
from jrr.estimation.moments import Floats
from jrr.estimation.tally import Tally
from jrr.estimation.weights import WeightedTally
from jrr.tables.columns import RESERVED, texts, weights_from_arrow
from jrr.tables.header import Header
from jrr.tables.reports import Progress, Rows, known_total, named, open_together, rows_of, silent

MOST_GROUPS = 10_000
MISSING = "(missing)"
SMALL = "(smaller groups together)"
Counted = Tally | WeightedTally


@dataclass(frozen=True, eq=False)
class Group:
    """Contributors with the same public attribute."""

    name: str
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Result:
    """What files of reports say."""

    header: Header
    estimate: Estimate
    n_carded: int
    groups: tuple[Group, ...] = ()
    hidden: int = 0  # groups with fewer reports than the smallest cell that is shown
    hidden_reports: int = 0

    def differences(self) -> list[tuple[str, str, Difference]]:
        """Every pair of groups, the first minus the second; groups of one survey share decks."""
        deals = self.header.mechanism.deals
        return [
            (a.name, b.name, difference(a.estimate, b.estimate, same_deck=deals))
            for a, b in combinations(self.groups, 2)
        ]


def estimate(
    *paths: str | Path,
    by: str | None = None,
    weight: str | None = None,
    min_cell: int = 20,
    key: str | Path | None = None,
    decks: int | None = None,
    progress: Progress = silent,
) -> Result:
    """Estimate from one or several files, in bounded memory.

    by: a public column; groups with fewer than `min_cell` reports are put together, and left
    out where even together they are fewer. weight: a column of survey weights. key: the
    collector's private key, for sealed reports. decks: as in Mechanism.estimate.
    """
    min_cell = checks.integer("min_cell", min_cell, 1)
    header, opened = open_together(paths)
    extra = [name for name in (by, weight) if name is not None]
    for table, own in opened:
        if extra and own.holds == "sealed reports":
            raise JrrError("by and weight must not be given for sealed reports, which hide both")
        for argument, name in (("by", by), ("weight", weight)):
            if name is not None:
                if name in RESERVED:
                    raise checks.refusal(argument, name, f"another column than {RESERVED}")
                table.require(argument, name)
    total, done = known_total(opened), 0
    counted: dict[str, Counted] = {}
    seen: set[bytes] = set()
    for table, own in opened:
        for rows in rows_of(table, own, extra, key, seen):
            weights = None if weight is None else weights_from_arrow(rows.batch, weight)
            for name, part in _by_group(rows, by):
                tallied = _count(own, rows, part, weights)
                counted[name] = _plus(counted.get(name), tallied)
            if len(counted) > MOST_GROUPS:
                raise checks.refusal("by", by, f"a column with at most {MOST_GROUPS} groups")
            done += len(rows.reports)
            progress(done, total)
    if not counted:
        raise JrrError("reports must hold at least one report, got none")
    everybody: Counted | None = None
    for tallied in counted.values():
        everybody = _plus(everybody, tallied)
    assert everybody is not None  # something was counted
    mechanism = header.mechanism
    whole = mechanism.estimate(everybody, decks)
    if by is None:
        return Result(header, whole, everybody.n_carded)
    # Every group draws from all decks: its error bars count them all.
    used = max(decks or 1, len(everybody.decks), mechanism.fewest_decks(everybody.n_carded))
    shown, small = _split(counted, min_cell)
    groups = tuple(Group(name, mechanism.estimate(one, used)) for name, one in shown)
    return Result(
        header,
        whole,
        everybody.n_carded,
        groups,
        len(small),
        sum(counted[name].n for name in small),
    )


def _split(
    counted: dict[str, Counted], min_cell: int
) -> tuple[list[tuple[str, Counted]], list[str]]:
    """Groups to show, in order of their names, and the names of those that are too small."""
    small = sorted(name for name, one in counted.items() if one.n < min_cell or _weightless(one))
    shown = [(name, counted[name]) for name in sorted(set(counted) - set(small))]
    pooled: Counted | None = None
    for name in small:
        pooled = _plus(pooled, counted[name])
    if pooled is not None and pooled.n >= min_cell and not _weightless(pooled):
        shown.append((SMALL, pooled))
    return shown, small


def _weightless(one: Counted) -> bool:
    """Nobody in it counts."""
    return isinstance(one, WeightedTally) and not one.carded.weight + one.cardless.weight > 0


def _by_group(rows: Rows, by: str | None) -> list[tuple[str, Any]]:
    """Names of the groups in these rows, and which rows they are."""
    if by is None:
        return [("", slice(None))]
    coded = pc.dictionary_encode(pc.fill_null(texts(rows.batch.column(by)), MISSING))
    codes = coded.indices.to_numpy(zero_copy_only=False)
    names = [name or MISSING for name in coded.dictionary.to_pylist()]
    if len(names) > MOST_GROUPS:
        raise checks.refusal("by", by, f"a column with at most {MOST_GROUPS} groups")
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(1, len(names)))
    return list(zip(names, np.split(order, starts), strict=True))


def _count(header: Header, rows: Rows, part: Any, weights: Floats | None) -> Counted:
    carded = rows.carded if isinstance(rows.carded, bool) else rows.carded[part]
    reports = rows.reports[part]
    if weights is None:
        return named(header.mechanism.tally(reports, carded), header)
    tallied = header.mechanism.tally(reports, carded, weights=weights[part])
    return replace(tallied, decks=header.decks)


def _plus(sum_so_far: Counted | None, more: Counted) -> Counted:
    if sum_so_far is None:
        return more
    return sum_so_far + more
