"""perturb: a column of labels or numbers into a file of reports."""

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import source
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism, Rng
from jrr.mechanisms.numbers import Bins, NumberRange
from jrr.mechanisms.request import Request
from jrr.planning.choice import AUTO, cardless_words, check_word, choose_cardless
from jrr.planning.numbers import plan_number
from jrr.tables import seal as sealing
from jrr.tables.card_file import CardFile, claimed
from jrr.tables.columns import report_batch, report_schema
from jrr.tables.formats import Table, check_output, damage_of, format_of, open_data, write
from jrr.tables.header import Header
from jrr.tables.labels import ColumnContents, Labels, NumberAnswers
from jrr.tables.names import RESERVED
from jrr.tables.progress import Progress, silent, watched
from jrr.tables.reports import open_reports

_MAX_BYTES = 128  # of a report in an automatic choice: a file has one for every row


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What is read, how it is perturbed, and what is written beside the reports."""

    table: Table
    column: str
    keep: tuple[str, ...]
    answers: Labels | NumberAnswers
    header: Header
    cards: CardFile | None
    text: bool  # whether the output is CSV
    public_key: str | Path | None  # to seal with

    @property
    def schema(self) -> Any:
        """The columns of the output."""
        mechanism = self.header.mechanism
        if self.public_key is not None:
            return pa.schema([sealing.sealed_field(mechanism)])
        in_csv = self.table.format == "csv"  # whose columns are all texts
        types = {name: pa.string() if in_csv else self.table.types[name] for name in self.keep}
        kept = (pa.field(name, types[name]) for name in self.keep)
        return report_schema(mechanism, self.text, *kept)

    def batches(self, rng: Any) -> Iterator[Any]:
        """The rows of the output, one for each row that answers, in the same order."""
        mechanism, schema = self.header.mechanism, self.schema
        seal = None
        if self.public_key is not None:
            seal = sealing.sealer(self.public_key, mechanism, self.header.binding())
        for batch in self.table.batches([self.column, *self.keep]):
            values, answering = self.answers.encode(batch.column(0))
            if not len(values):
                continue
            reports, carded = respond(self.header, values, self.cards, rng)
            if seal is not None:
                yield pa.record_batch([seal(reports, carded)], schema=schema)
                continue
            mask = pa.array(answering)
            public = (batch.column(1 + at).filter(mask) for at in range(len(self.keep)))
            yield report_batch(schema, mechanism, reports, carded, *public, text=self.text)


def perturb(
    data: Any,
    column: str,
    out: str | Path | None = None,
    *,
    epsilon: float | None = None,
    labels: Labels | Sequence[str] | None = None,
    number: tuple[float, float] | None = None,
    bins: Sequence[float] | None = None,
    clip: bool = False,
    skip_missing: bool = False,
    mechanism: str = "auto",
    cards: str | Path | None = None,
    cardless: bool = False,
    keep: Sequence[str] = (),
    seal: str | Path | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    rng: Rng = None,
    force: bool = False,
    progress: Progress = silent,
) -> Header:
    r"""Perturb every row of a column, with the cards of a file or, without one, by plain RR.

    Args:
        data: a CSV, Parquet, Arrow, .xlsx, .sav or .dta file, by the ending of its name, or a
            data frame of pandas, polars or Arrow.
        column: the column with the true answers.
        out: the file of reports; by default `default_output(data)`, beside a file.
        epsilon: ε of each report; with cards, the most that their mechanism may lose in the
            view "cards".
        labels: the possible answers; without them the categories of the column, if it has any
            (pandas, polars, Arrow), or those in the data, which then are not protected.
        number: for a column of numbers whose mean is asked for: the lowest and the highest number
            possible. Choose them without looking at the data.
        bins: for a column of numbers whose histogram is asked for: the edges of the bins.
        clip: with number or bins: numbers beyond an end count as the end; otherwise refused.
        skip_missing: leave empty cells out; then it shows who left them empty.
        mechanism: without cards: "auto" (the most accurate), "rr", "ss", "sue", "oue", "olh" or
            another without cards that registered, in any case; of a number "rr" or
            "piecewise".
        cards: a file that `deal` wrote; its cards serve once.
        cardless: whether rows beyond the last card answer without one.
        keep: columns to copy, for groups and weights; they must be public.
        seal: the collector's public key, a file: each report is encrypted to it.
        delimiter: between the columns of a CSV file; None: found in its first line.
        encoding: of a CSV file; None: UTF-8, or by the mark at its start.
        rng: where randomness comes from; secure by default.
        force: overwrite an existing file.
        progress: is told how many rows are done.

    Returns:
        The header of the file of reports.

    Raises:
        ArgumentError: where an argument does not fit the data or the cards, or the file exists.
        DamagedError: where the data or the cards cannot be read as what they claim to be.

    Example:
        >>> import jrr, pathlib, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> data, reports = f"{folder.name}/data.csv", f"{folder.name}/reports.csv"
        >>> _ = pathlib.Path(data).write_text("smokes\n" + "no\nyes\n" * 50)
        >>> header = tables.perturb(data, "smokes", reports, epsilon=1.0, labels=["no", "yes"])
        >>> header.mechanism.name, header.labels
        ('RR', ('no', 'yes'))
        >>> folder.cleanup()
    """
    is_file = isinstance(data, str | os.PathLike)
    if out is None and not is_file:
        raise ArgumentError("out must be given where the data is a data frame")
    path = default_output(data) if out is None else Path(out)
    inputs = [Path(data)] if is_file else []
    check_output(path, force, *inputs, *([] if cards is None else [cards]))
    if len(set(keep)) < len(keep):
        raise checks.refusal("keep", list(keep), "all different")
    if seal is not None and not Path(seal).is_file():
        raise checks.refusal("seal", str(seal), "a public key that exists")
    table = open_data(data, delimiter=delimiter, encoding=encoding)
    table.require("column", column)
    for name in keep:
        table.require("keep", name)
        if name in (column, *RESERVED):
            raise checks.refusal("keep", name, f"another column than {(column, *RESERVED)}")
    if seal is not None and keep:
        raise ArgumentError("keep must be empty for sealed reports: it would tell them apart")
    answers, rows = read_answers(
        table, column, labels, number, bins, clip=clip, skip_missing=skip_missing
    )
    header, card_file = header_of(
        answers, rows, column, epsilon, mechanism=mechanism, cards=cards, cardless=cardless
    )
    text = format_of(path) == "csv"
    if seal is not None and text:
        raise checks.refusal("out", str(path), "a Parquet or Arrow file for sealed reports")
    work = _Work(
        table=table,
        column=column,
        keep=tuple(keep),
        answers=answers,
        header=header if seal is None else replace(header, holds="sealed reports"),
        cards=card_file,
        text=text,
        public_key=seal,
    )

    with claimed(cards, path):
        batches = watched(work.batches(source(rng)), rows, progress)
        write(path, work.schema, work.header, batches)
    return work.header


def read_answers(
    table: Table,
    column: str,
    labels: Labels | Sequence[str] | None = None,
    number: tuple[float, float] | None = None,
    bins: Sequence[float] | None = None,
    *,
    clip: bool = False,
    skip_missing: bool = False,
) -> tuple[Labels | NumberAnswers, int]:
    """How a column is asked about, and how many of its rows answer; arguments as for `perturb`."""
    numeric = _numeric(column, labels, number, bins, clip=clip, skip_missing=skip_missing)
    return (
        _first_pass(table, column, labels, skip_missing)
        if numeric is None
        else (numeric, numeric.count(table))
    )


def header_of(
    answers: Labels | NumberAnswers,
    rows: int,
    column: str,
    epsilon: float | None,
    *,
    mechanism: str = AUTO,
    cards: str | Path | None = None,
    cardless: bool = False,
) -> tuple[Header, CardFile | None]:
    """What the reports of so many answers will be, and the cards; arguments as for `perturb`."""
    ends = answers.number if isinstance(answers, NumberAnswers) else None
    card_file = None
    if cards is None:
        chosen = (
            alone(mechanism, answers.k, epsilon, rows)
            if ends is None
            else alone_number(mechanism, ends, epsilon, rows)
        )
        header = Header("reports", chosen)
    else:
        if str(mechanism).lower() != AUTO:
            raise checks.refusal("mechanism", mechanism, "auto: cards bring their mechanism")
        card_file = CardFile(*open_reports(cards, "cards"))
        header = card_file.header_for(rows, k=answers.k, epsilon=epsilon, cardless=cardless)
    made = replace(
        header,
        holds="reports",
        question=column,
        labels=answers.names,
        other=answers.other,
        declined=answers.declined,
        number=ends,
        rows=None,
    )
    return made, card_file


def respond(
    header: Header, values: NDArray[Any], card_file: CardFile | None, rng: Any
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The reports of some answers, with the next cards of a file, and which had a card."""
    answer = header.mechanism.respond if header.numbers is None else header.numbers.respond
    cards = None if card_file is None else card_file.take(len(values))
    card_count = 0 if cards is None else len(cards)
    # Values are in the domain by now: what is refused is a card that no deck has.
    with nullcontext() if card_file is None else damage_of(card_file.path):
        with_card = answer(values[:card_count], cards, rng)
    without = answer(values[card_count:], None, rng)
    return np.concatenate((with_card, without)), np.arange(len(values)) < card_count


def default_output(data: str | Path) -> Path:
    """Where reports go that nobody said a place for: beside the data, as NAME.reports.parquet."""
    path = Path(data)
    return path.with_name(path.name.split(".")[0] + ".reports.parquet")


def alone(kind: str, k: int, epsilon: float | None, n: int) -> Mechanism:
    """A mechanism without cards; "auto" takes the most accurate.

    Raises:
        ArgumentError: where ε is not given, or the kind is unknown or deals cards.
    """
    check_word(kind, (AUTO, *cardless_words()))
    if epsilon is None:
        raise ArgumentError("epsilon must be given where there are no cards")
    return choose_cardless(Request(max(n, 2), epsilon, 0, k, None, None), kind, _MAX_BYTES)


def alone_number(kind: str, ends: NumberRange, epsilon: float | None, n: int) -> Mechanism:
    """The same for the mean of a number: rounded to a yes or no, or in steps."""
    words = ("rr", "piecewise")
    checks.one_of("mechanism", kind, ("auto", *words))
    if epsilon is None:
        raise ArgumentError("epsilon must be given where there are no cards")
    plans = [
        plan_number(max(n, 2), epsilon, ends.low, ends.high, mechanism=word)
        for word in words
        if kind in ("auto", word)
    ]
    return min(plans, key=lambda plan: plan.stderr()).mechanism


def _numeric(
    column: str,
    labels: object,
    number: tuple[float, float] | None,
    bins: Sequence[float] | None,
    *,
    clip: bool,
    skip_missing: bool,
) -> NumberAnswers | None:
    """How a column of numbers is asked about; None where it is one of labels."""
    if sum(given is not None for given in (labels, number, bins)) > 1:
        raise ArgumentError("only one of labels, number and bins must be given")
    if number is None and bins is None:
        if clip:
            raise ArgumentError("clip must be given together with number or bins")
        return None
    if bins is not None:
        made = Bins(tuple(bins), clip=clip)
        return NumberAnswers(column=column, bins=made, skip_missing=skip_missing)
    if not isinstance(number, tuple | list) or len(number) != 2:
        raise checks.refusal("number", number, "the lowest and the highest number")
    ends = NumberRange.checked(*number, clip)
    return NumberAnswers(column=column, number=ends, skip_missing=skip_missing)


def _first_pass(
    table: Table, column: str, listed: Labels | Sequence[str] | None, skip_missing: bool
) -> tuple[Labels, int]:
    """The labels, and how many rows will answer; every refusal comes before anything is written."""
    if listed is None and column in table.declared:
        listed = table.declared[column]
    if listed is not None and not isinstance(listed, Labels):
        listed = Labels(tuple(listed))
    contents = ColumnContents(listed=listed.names if listed else ())
    for batch in table.batches([column]):
        contents.add(batch.column(0))
    if not contents.rows:
        raise ArgumentError(f"{table.path} must have at least one row, got none")
    labels = listed
    if labels is None:
        labels = Labels(contents.labels(column))
        contents = ColumnContents(listed=labels.names, rows=contents.rows, missing=contents.missing)
    if skip_missing:
        labels = replace(labels, skip_missing=True)
    labels.check(contents, column)
    answering = contents.rows - contents.missing * labels.skip_missing
    if not answering:
        raise ArgumentError(f"column {column} must have at least one answer, got none")
    return labels, answering
