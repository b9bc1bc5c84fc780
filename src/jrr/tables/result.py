"""What files of reports say: shares and means, of everybody and of groups, as tables and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr._base.documents import csv_text
from jrr._base.files import write_whole
from jrr._base.shown import Shown
from jrr.estimation import postprocess
from jrr.estimation.differences import Differences
from jrr.estimation.estimates import BlockEstimate, Estimate
from jrr.estimation.groups import (
    MOST_COMPARED_GROUPS,
    AnsweredShare,
    GroupEstimate,
    GroupEstimates,
    among_answered,
)
from jrr.estimation.means import MeanDifference, MeanEstimate
from jrr.mechanisms.rr import RR
from jrr.privacy.shuffled import MOST_SCANNED, amplified_epsilon, shuffled_epsilon
from jrr.tables.header import Header


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Shown):
    """What files of reports say.

    Attributes:
        header: what holds of all files together.
        files: how many there are.
        estimate: of everybody.
        n_carded: how many reports were made with a card.
        by: the column of the groups, where groups were asked for.
        groups: the groups, a sequence with `hidden` and `differences()`.
        losses: of a survey's answer, view -> its ε, of all that share its coin.
    """

    header: Header
    files: int
    estimate: Estimate
    n_carded: int
    by: str | None = None
    groups: GroupEstimates = field(default_factory=GroupEstimates)
    losses: Mapping[str, float] | None = None

    @property
    def shown_value(self) -> str:  # type: ignore[override] # what is asked for decides
        """The column that a picture draws."""
        return "share" if self.header.number is None else "mean"

    def to_frame(self, level: float = 0.95) -> Any:
        """The rows of `to_rows` as a data frame of pandas; groups are called as their column."""
        frame = super().to_frame(level)
        return frame if self.by is None else frame.rename(columns={"group": self.by})

    def _heading(self) -> str:
        return f"{self.header.question or 'Shares'}, {self.estimate.n:,} reports"

    @property
    def mean(self) -> MeanEstimate | None:
        """Mean and sum of everybody's number; None where answers are no numbers."""
        return self._mean(self.estimate)

    @property
    def items(self) -> dict[str, "Result"]:
        """Item -> its result, where one coin answered several (`jrr.Block`); empty otherwise."""
        if not isinstance(self.estimate, BlockEstimate):
            return {}
        block: Any = self.header.mechanism
        found = {}
        for at, estimate in enumerate(self.estimate.items):
            header = replace(self.header, mechanism=block.item(at))
            groups: Any = [(group.name, group.estimate) for group in self.groups]
            shown = tuple(GroupEstimate(name=name, estimate=of.items[at]) for name, of in groups)
            here = replace(self.groups, shown=shown)
            found[f"item {at}"] = replace(self, header=header, estimate=estimate, groups=here)
        return found

    @property
    def _estimates(self) -> dict[str, Estimate]:
        return {"": self.estimate} | {group.name: group.estimate for group in self.groups}

    def _mean(self, estimate: Estimate) -> MeanEstimate | None:
        question = self.header.numbers
        return None if question is None else question.estimate_from(estimate)

    def means(self) -> dict[str, MeanEstimate]:
        """Group -> mean and sum of its number; everybody has no name. Empty without numbers."""
        found = {name: self._mean(estimate) for name, estimate in self._estimates.items()}
        return {name: mean for name, mean in found.items() if mean is not None}

    def mean_differences(self) -> Differences[tuple[str, str, MeanDifference]]:
        """Every pair of groups and the first mean minus the second, where answers are numbers."""
        return _mean_differences(self.means(), self.groups)

    def answered(self, level: float = 0.95) -> dict[str, AnsweredShare] | None:
        """Label -> share among those who did not decline; None where nobody could.

        Args:
            level: of the intervals.
        """
        if self.header.declined is None:
            return None
        names = self.header.names
        shares = among_answered(self.estimate, names.index(self.header.declined), level)
        return {names[value]: share for value, share in shares.items()}

    def epsilon_behind_shuffler(self, delta: float) -> float | None:
        """ε at δ of plain RR to whoever sees nothing but these reports, in their random order.

        Args:
            delta: chance with which the loss may be larger.

        Returns:
            By the law of the counts or, for very many reports, by the closed form, which is
            larger. None where the reports are not shuffled, where they are in several files,
            each of which hides its own reports only, or where no law is used here.
        """
        m, n = self.header.mechanism, self.estimate.n
        if not (self.header.shuffled and self.files == 1 and isinstance(m, RR)):
            return None
        if n <= MOST_SCANNED:
            return shuffled_epsilon(m, delta, n)
        return amplified_epsilon(m.epsilon(), n, delta)

    def to_rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One row for each answer, of everybody and then of each group, for tables and CSV files.

        Args:
            level: of the intervals.

        Returns:
            Rows with group (empty: everybody), answer, share, stderr, low, high, level, count,
            count_stderr and reports. Of a number: one row for everybody and each group, with
            group, mean, stderr, low, high, level, sum, sum_stderr and reports.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        if self.header.number is not None:
            return _mean_rows(self.means(), level)
        if self.items:
            return [
                {"item": at} | row for at, of in self.items.items() for row in of.to_rows(level)
            ]
        names = self.header.names
        return [
            _in_order(_SHARES, row | {"answer": names[row["value"]]}, name, estimate.n, level)
            for name, estimate in self._estimates.items()
            for row in estimate.to_rows(level)
        ]

    def write_csv(self, path: str | Path, level: float = 0.95, *, force: bool = False) -> None:
        """Write the rows of `to_rows` into a CSV file, whole or not at all.

        Args:
            path: a name that ends in .csv.
            level: of the intervals.
            force: overwrite an existing file.

        Raises:
            ArgumentError: where the file exists, or the name ends otherwise.
        """
        _write_rows(check_results_file(path, force), self.to_rows(level))

    def to_dict(
        self,
        level: float = 0.95,
        *,
        step: str | None = None,
        delta: float | None = None,
        simultaneous: bool = False,
    ) -> dict[str, Any]:
        """A result document: plain values, as `jrr file estimate --json` prints them.

        Args:
            level: of all intervals.
            step: a step of jrr.postprocess.STEPS that is applied to the shares of everybody.
            delta: where ε behind a shuffler is wanted too (`epsilon_behind_shuffler`), its δ.
            simultaneous: whether the intervals of all answers hold at once with the chance
                `level`; by default each one does.

        Raises:
            ArgumentError: where there is no such step, or level is not in (0, 1).
        """
        header = self.header
        if self.items:
            return {
                "items": {
                    name: one.to_dict(level, step=step, delta=delta, simultaneous=simultaneous)
                    for name, one in self.items.items()
                }
            }
        if header.number is not None:
            if step is not None:
                raise checks.refusal("postprocess", step, "None: a mean is no share")
            return self._about_reports() | _mean_document(
                self.means(), level, self.groups if self.by is not None else None
            )
        document: dict[str, Any] = {
            **self._about_reports(),
            "labels": list(header.names),
            "estimate": self.estimate.to_dict(level, simultaneous=simultaneous),
        }
        answered = self.answered(level)
        if answered is not None:
            document["answered"] = {
                name: {"share": share, "interval": [low, high]}
                for name, (share, low, high) in answered.items()
            }
        if step is not None:
            checks.one_of("postprocess", step, tuple(postprocess.STEPS))
            shares = postprocess.STEPS[step](self.estimate.frequencies)
            document["postprocessed"] = {step: shares.tolist()}
        if self.by is not None:
            document |= self.groups.to_dict(level, simultaneous=simultaneous)
        epsilon = None if delta is None else self.epsilon_behind_shuffler(delta)
        if epsilon is not None:
            document["behind_shuffler"] = {"epsilon": epsilon, "delta": delta}
        return document

    def _about_reports(self) -> dict[str, Any]:
        header = self.header
        return {
            "question": header.question,
            "mechanism": header.asked.to_dict(),
            "shuffled": header.shuffled,
            "guarantees": header.guarantees if self.losses is None else dict(self.losses),
            "colluders": header.colluders,
            "reports": self.estimate.n,
            "carded": self.n_carded,
        }


def write_several(found: Mapping[str, Result], out: Path, level: float) -> None:
    """Write the rows of all results, each with the name of its source, whole or not at all.

    Args:
        found: source -> its result.
        out: a .csv file that may be written.
        level: of the intervals.
    """
    rows = [
        {"source": name, "question": result.header.question, **row}
        for name, result in found.items()
        for row in result.to_rows(level)
    ]
    _write_rows(out, rows)


def _write_rows(out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    write_whole(out, csv_text(columns, rows))


def check_results_file(path: str | Path, force: bool) -> Path:
    """Where results are written: a .csv file that does not exist yet, unless `force`."""
    out = Path(path)
    if out.suffix.lower() != ".csv":
        raise checks.refusal("out", str(path), "a name that ends in .csv")
    if out.exists() and not force:
        raise checks.refusal("out", str(path), "a file that does not exist yet (or give --force)")
    return out


_SHARES = ("answer", "share", "stderr", "low", "high", "level", "count", "count_stderr")
_MEANS = ("mean", "stderr", "low", "high", "level", "sum", "sum_stderr")


def _in_order(
    columns: Sequence[str], row: Mapping[str, Any], name: str, n: int, level: float
) -> dict[str, Any]:
    """A row with the columns of a file, of everybody, whose group has no name, or of a group."""
    found = {**row, "level": level}
    return {"group": name} | {column: found[column] for column in columns} | {"reports": n}


def _mean_rows(means: Mapping[str, MeanEstimate], level: float) -> list[dict[str, Any]]:
    rows = []
    for name, mean in means.items():
        told = mean.to_dict(level)  # without a sum where there is none
        low, high = told["interval"]
        rows.append(_in_order(_MEANS, {**told, "low": low, "high": high}, name, mean.n, level))
    return rows


def _mean_differences(
    means: Mapping[str, MeanEstimate], groups: GroupEstimates
) -> Differences[tuple[str, str, MeanDifference]]:
    """Every pair of groups, the first minus the second; none without numbers, or of too many."""
    if not means or len(groups) > MOST_COMPARED_GROUPS:
        return Differences()
    return Differences(
        (a.name, b.name, means[a.name].minus(means[b.name], same_deck=groups.same_deck))
        for a, b in combinations(groups, 2)
    )


def _mean_document(
    means: Mapping[str, MeanEstimate], level: float, groups: GroupEstimates | None
) -> dict[str, Any]:
    """What a result document says of means: of everybody and, where asked for, of groups."""
    everybody = means[""]
    document: dict[str, Any] = {
        "number": [everybody.low, everybody.high],
        "estimate": everybody.to_dict(level),
    }
    if groups is None:
        return document
    return document | {
        "groups": [{"name": group.name} | means[group.name].to_dict(level) for group in groups],
        "groups_too_small": groups.hidden,
        "differences": [
            {"first": first, "second": second} | gap.to_dict(level)
            for first, second, gap in _mean_differences(means, groups)
        ],
    }
