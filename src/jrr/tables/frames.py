"""Data frames in, data frames out: pandas, polars and Arrow; nothing is written to disk.

A perturbed column carries its header (jrr.tables.header). In Arrow and polars it is the column's
type (jrr.tables.formats.ReportType), which Parquet files keep. In pandas it stands in
`attrs["jrr"]`, which pandas writes into Parquet files and reads again. Where it was lost, nothing
is estimated (docs/decisions/0067-frames.md).
"""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import source
from jrr.errors import DamagedError
from jrr.estimation.told_sums import CROSSED_BY
from jrr.mechanisms.base import Rng
from jrr.mechanisms.coins.block import Block
from jrr.mechanisms.numbers import Bins
from jrr.mechanisms.report_formats import NumberFormat
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import truth_of
from jrr.tables.arrays import arrow_array, plain_column
from jrr.tables.card_file import claimed
from jrr.tables.columns import (
    bytes_from_arrow,
    bytes_to_arrow,
    report_fields,
    reports_from_arrow,
    reports_to_arrow,
)
from jrr.tables.estimating import estimate_opened
from jrr.tables.formats import (
    AGAIN,
    KEY,
    ReportType,
    WholeTable,
    data_frame,
    headers_told,
    perturbed_columns,
    readable,
)
from jrr.tables.grouping import texts
from jrr.tables.header import Header, SharedBudget
from jrr.tables.labels import Labels, NumberAnswers
from jrr.tables.names import CARDED, GROUP
from jrr.tables.perturbing import header_of, read_answers, respond
from jrr.tables.reports import ReportFiles

_OPTIONS = ("labels", "number", "bins", "clip", "skip_missing", "mechanism", "cards", "cardless")
_ESTIMATE_OPTIONS = (
    *("weight", "min_cell", "decks", "announced"),
    *("population", "population_size"),
)
_LOST = (
    "a frame whose columns say which mechanism made them: pandas keeps that in attrs, which "
    "to_csv, to_dict and some joins lose; keep the frame as Parquet, or give headers="
)
_ROUNDING = 1 - 2**-50  # so that the parts of ε, as floating-point numbers, do not exceed the whole
_RESULT = pa.schema(
    [
        *(("question", pa.string()), ("answer", pa.string())),
        *((name, pa.float64()) for name in ("share", "mean", "stderr", "low", "high", "level")),
        ("reports", pa.int64()),
    ]
)


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A column that is to be perturbed."""

    name: str
    answers: Labels | NumberAnswers
    rows: int  # that answer
    options: Mapping[str, Any]  # of the mechanism and its cards


@checks.names_checked
def perturb_frame(
    frame: Any,
    columns: Mapping[str, Any],
    epsilon: float,
    *,
    split: str | Mapping[str, float] = "even",
    keep: str | Sequence[str] | None = None,
    rng: Rng = None,
) -> Any:
    """Perturb columns of a data frame; each row is a person.

    Args:
        frame: of pandas, polars or Arrow.
        columns: column -> how it is asked about: a list of its possible answers (or
            `jrr.tables.Labels`), a pair of the lowest and the highest number for the mean of a
            number, `jrr.Bins` for a histogram, None for the categories that the column declares,
            or a mapping with the options of `jrr.tables.perturb`: labels, number, bins, clip,
            skip_missing, mechanism, cards, cardless. Nothing is taken from the answers.
        epsilon: what all these answers of a person together lose at most.
        split: "even": each column has an equal part of ε and a coin of its own; a mapping of all
            columns to weights: parts by weight; "block": one coin perturbs all of them together,
            which is more accurate, while errors of columns are no longer independent.
        keep: other columns to keep, or the index of pandas by its name; None: all of them. They
            stay readable, so leave out names and the like.
        rng: where randomness comes from; secure by default.

    Returns:
        A frame of the same kind and length in which these columns hold reports. Rows that were
        left out (skip_missing) hold nothing. With cards, a column NAME_carded says who had one.

    Raises:
        ArgumentError: where an argument does not fit the frame.

    Example:
        >>> import jrr, pyarrow
        >>> people = pyarrow.table({"bribe": ["no", "yes"] * 500, "age": [30, 50] * 500})
        >>> asked = {"bribe": ["no", "yes"], "age": (18, 100)}
        >>> reports = jrr.perturb_frame(people, asked, epsilon=2, rng=jrr.SeededRandom(1))
        >>> jrr.estimate_frame(reports).column("reports").to_pylist()
        [1000, 1000, 1000]
    """
    epsilon = checks.epsilon("epsilon", epsilon)
    given: Any = columns
    if not isinstance(given, Mapping) or not given:
        allowed = "at least one column and how it is asked about, such as {'bribe': ['no', 'yes']}"
        raise checks.refusal("columns", columns, allowed)
    if _is_of(frame, "pandas") and hasattr(frame, "columns"):
        _check_names(frame, columns)
    whole = data_frame(frame)
    if found := perturbed_columns(whole.schema):
        raise checks.refusal("frame", found, AGAIN)
    table = WholeTable(whole, Path("data frame"), text=False)
    keep = [keep] if isinstance(keep, str) else keep
    others = [name for name in table.columns if name not in columns] if keep is None else list(keep)
    for name in others:
        table.require("keep", name)
        if name in columns:
            raise checks.refusal("keep", name, "a column that is not perturbed")
    asked = [_column(table, name, how) for name, how in columns.items()]
    make = _block if split == "block" else _separate
    made = make(table, asked, epsilon, split, source(rng))
    reports = _assembled(frame, whole, others, made)
    if keep is None or not _is_of(frame, "pandas") or set(frame.index.names) & set(keep):
        return reports
    return reports.reset_index(drop=True)  # who a row is of may stand there


def estimate_frame(
    frame: Any,
    columns: str | Sequence[str] | None = None,
    *,
    by: str | Sequence[str] = (),
    level: float = 0.95,
    headers: Mapping[str, Header] | None = None,
    **options: Any,
) -> Any:
    """Estimate shares and means from a frame of reports.

    Args:
        frame: what `perturb_frame` made, whole or in part, or a Parquet file or folder of it.
        columns: which of its questions; None: all.
        by: public columns: one estimate for each combination of their values. Groups of fewer than
            `min_cell` reports are left out, with a warning that says how many.
        level: of the intervals.
        headers: column -> header, where the frame lost them (see `headers_of`).
        **options: as for `jrr.tables.estimate`: weight, min_cell, decks, population,
            population_size; of one question announced, whose groups are called as their values,
            several with " × " between.

    Returns:
        A tidy frame of the same kind (of a file: an Arrow table): the columns of `by`, then
        question, answer, share, mean, stderr, low, high, level, reports. Of a number there is one
        row with its mean; of other questions one row per answer with its share.

    Raises:
        ArgumentError: where a column does not say which mechanism made it, or does not exist.
        DamagedError: where a column holds what its mechanism cannot have made.
    """
    for name in [name for name in options if name not in _ESTIMATE_OPTIONS]:
        raise checks.refusal("options", name, f"some of {_ESTIMATE_OPTIONS}")
    whole = read_frame(frame)
    known = known_headers(whole, headers)
    chosen = list(known if columns is None else [columns] if isinstance(columns, str) else columns)
    for name in [name for name in chosen if name not in known]:
        raise checks.refusal("columns", name, f"one of {list(known)}, which say their mechanism")
    groups = [by] if isinstance(by, str) else list(by)
    for name in [name for name in groups if name in known or name not in whole.column_names]:
        raise checks.refusal("by", name, "a column of the frame that holds no reports")
    for name in [name for name in groups if name in _RESULT.names]:
        raise checks.refusal("by", name, f"another name than those of the result, {_RESULT.names}")
    keys, values = _groups(whole, groups)
    if options.get("announced") is not None:
        if len(chosen) > 1:
            raise checks.refusal("columns", chosen, "one question, whose sum was announced")
        options["announced"] = _by_number(options["announced"], values)
    rows: list[dict[str, Any]] = []
    hidden = 0
    for name in chosen:
        files = _reports(whole, name, known[name], keys, options.get("weight"))
        result = estimate_opened(files, by=None if keys is None else GROUP, **options)
        hidden += result.groups.hidden
        of_groups = [row for row in result.to_rows(level) if (row["group"] == "") == (keys is None)]
        rows += [{"question": name, **row} for row in of_groups]
    if hidden:
        warnings.warn(
            f"{hidden} groups have fewer reports than min_cell and are left out", stacklevel=2
        )
    tidy = pa.Table.from_pylist(
        [{name: row.get(name) for name in _RESULT.names} for row in rows], _RESULT
    )
    if values is not None:
        places = [int(row["group"]) for row in rows]
        order = np.argsort(places, kind="stable")
        found = values.take(pa.array(places, pa.int64()))
        tidy = pa.table([*found.columns, *tidy.columns], [*groups, *tidy.column_names]).take(order)
    return _same_kind(frame, tidy)


def headers_of(frame: Any) -> dict[str, Header]:
    """What the columns of a frame of reports say of themselves: column -> header.

    Args:
        frame: what `jrr.perturb_frame` made, or a Parquet file or folder of it.

    Returns:
        Column -> header, with its mechanism, its ε and what a person loses in all (`shared`);
        empty where the frame lost them.

    Raises:
        DamagedError: where what they say cannot be used.
    """
    return _headers_in(read_frame(frame).schema)


def _column(table: WholeTable, name: str, how: Any) -> _Column:
    """How one column is asked about, every refusal before anything is drawn."""
    table.require("columns", name)
    options: dict[str, Any] = dict(how) if isinstance(how, Mapping) else {}
    if isinstance(how, Bins):
        options = {"bins": how.edges, "clip": how.clip}
    elif isinstance(how, tuple) and len(how) == 2 and not any(isinstance(e, str) for e in how):
        options = {"number": how}
    elif how is not None and not isinstance(how, Mapping):
        options = {"labels": how}
    for option in [option for option in options if option not in _OPTIONS]:
        raise checks.refusal(f"columns[{name!r}]", option, f"some of {_OPTIONS}")
    reading = {word: options.pop(word) for word in _OPTIONS[:5] if word in options}
    if pa.types.is_boolean(table.types[name]):
        reading = {"labels": (False, True)} | reading
    if name not in table.declared and not {"labels", "number", "bins"} & set(reading):
        allowed = "its possible answers, since it declares no categories: those in it would tell"
        raise checks.refusal(f"columns[{name!r}]", how, allowed)
    answers, rows = read_answers(table, name, **reading)
    return _Column(name=name, answers=answers, rows=rows, options=options)


def _check_names(frame: Any, columns: Mapping[str, Any]) -> None:
    """Refuse names of pandas that would not be found again among its columns."""
    for name in [name for name in frame.columns if not isinstance(name, str)]:
        raise checks.refusal("frame", name, "one whose columns have texts as names")
    for name in [name for name in columns if name in frame.index.names]:
        allowed = "a column, not the index, which stays as it is: frame.reset_index() makes it one"
        raise checks.refusal("columns", name, allowed)


_Made = list[tuple[Header, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]]


def _separate(
    table: WholeTable, asked: list[_Column], epsilon: float, split: Any, rng: Any
) -> _Made:
    """Each column by a coin of its own: header, reports, who had a card, which rows answer."""
    names = tuple(column.name for column in asked)
    weights = dict.fromkeys(names, 1.0) if split == "even" else split
    if not isinstance(weights, Mapping) or set(weights) != set(names):
        raise checks.refusal("split", split, f"'even', 'block' or a weight for each of {names}")
    positive = {name: checks.positive(f"split[{name!r}]", weights[name]) for name in names}
    total = sum(positive.values())
    shared = SharedBudget(epsilon, names) if len(names) > 1 else None
    prepared = []
    for column in asked:
        part = epsilon if shared is None else epsilon * positive[column.name] / total * _ROUNDING
        header, cards = header_of(column.answers, column.rows, column.name, part, **column.options)
        prepared.append((column, replace(header, shared=shared), cards))
    made: _Made = []
    with ExitStack() as stack:
        for used in [cards.path for _, _, cards in prepared if cards is not None]:
            stack.enter_context(claimed(used, Path("a data frame")))
        for column, header, cards in prepared:
            values, answering = column.answers.encode(arrow_array(table.whole[column.name]))
            made.append((header, *respond(header, values, cards, rng), answering))
    return made


def _block(table: WholeTable, asked: list[_Column], epsilon: float, split: Any, rng: Any) -> _Made:
    """All columns by one coin: all answers are true, or all are one of the other combinations.

    What is told of each column is then randomized response (docs/theory.md, section on blocks).
    """
    for column in asked:
        if column.options or not column.answers.names:
            raise checks.refusal(
                f"columns[{column.name!r}]",
                column.name,
                "a column of labels or bins, without cards "
                "and with no mechanism of its own, in a block",
            )
    sizes = Block(tuple(column.answers.k for column in asked)).sizes  # refuses too many
    coin = RR(math.prod(sizes), epsilon=epsilon)
    encoded = [one.answers.encode(arrow_array(table.whole[one.name])) for one in asked]
    together = np.logical_and.reduce([answering for _, answering in encoded])
    of_all = [values[together[answering]].astype(np.int64) for values, answering in encoded]
    told = np.unravel_index(coin.respond(np.ravel_multi_index(of_all, sizes), None, rng), sizes)
    keep = float(coin.moments.p[0] - coin.moments.q[0])
    shared = SharedBudget(epsilon, tuple(column.name for column in asked), block=True)
    nobody = np.zeros(int(together.sum()), np.bool_)
    return [
        (
            Header(
                "reports",
                RR(one.answers.k, p=truth_of(keep, one.answers.k)),
                question=one.name,
                labels=one.answers.names,
                other=one.answers.other,
                declined=one.answers.declined,
                shared=shared,
            ),
            reports.astype(np.uint32),
            nobody,
            together,
        )
        for one, reports in zip(asked, told, strict=True)
    ]


def _assembled(frame: Any, whole: Any, others: list[str], made: _Made) -> Any:
    """A frame of the same kind as the one given, with reports in place of answers."""
    columns: dict[str, Any] = {}
    headers: dict[str, Header] = {}
    carded: dict[str, Any] = {}
    for header, reports, flags, answering in made:
        # Rows that did not answer hold nothing.
        places = pa.array(np.cumsum(answering) - 1, mask=~answering)
        name = header.question
        headers[name] = header
        columns[name] = _to_column(header, reports).take(places)
        if header.mechanism.deals:
            carded[f"{name}_{CARDED}"] = pa.array(flags).take(places)
    kept = [name for name in whole.column_names if name in others or name in headers]
    clash = set(carded) & set(kept)
    if clash:
        raise checks.refusal("keep", min(clash), "another column: reports need this name")
    if _is_of(frame, "pandas"):
        series = {name: array.to_pandas().array for name, array in {**columns, **carded}.items()}
        # Not by pandas' own alignment: rows stay in their order, whatever their index is.
        out = frame[[name for name in frame.columns if name in kept]].assign(**series)
        out.attrs = {**frame.attrs, KEY: {name: one.to_dict() for name, one in headers.items()}}
        return out
    table = whole.select(kept).replace_schema_metadata(None)
    for name, labelled in columns.items():
        array = plain_column(labelled)  # polars cannot hand over an extension of categories
        typed = ReportType(array.type, headers[name].to_json())
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.ExtensionArray.from_storage(typed, array))
    for name, array in carded.items():
        table = table.append_column(name, array)
    return _same_kind(frame, table)


def _is_of(frame: Any, library: str) -> bool:
    return type(frame).__module__.partition(".")[0] == library


def _same_kind(frame: Any, table: Any) -> Any:
    """An Arrow table as the kind of frame that was given; of anything else, Arrow."""
    if _is_of(frame, "pandas"):
        return table.to_pandas()
    return type(frame)(table) if _is_of(frame, "polars") else table


def read_frame(frame: Any) -> Any:
    """A frame, or a Parquet file or folder of one, as an Arrow table with its metadata."""
    if not isinstance(frame, str | os.PathLike):
        whole = data_frame(frame)
        # What pandas told of an Arrow table is that of the first where several were joined.
        return whole if _is_of(frame, "pandas") else whole.replace_schema_metadata(None)
    path = Path(frame)
    parts = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not parts or not parts[0].is_file() or parts[0].suffix.lower() in (".csv", ".jsonl"):
        allowed = "a data frame, or a Parquet file or folder of Parquet files that exists"
        raise checks.refusal("frame", str(path), allowed)
    told = []
    for part in parts:
        with readable(part):
            told.append(_headers_in(pq.read_schema(part)))
            if told[0] != told[-1]:
                raise checks.refusal("frame", str(part), f"of the same reports as {parts[0]}")
    with readable(path):
        return data_frame(pq.read_table(path))


def known_headers(whole: Any, headers: Mapping[str, Header] | None) -> dict[str, Header]:
    """The headers of a frame, or those given instead; where there are none it is refused."""
    known = _headers_in(whole.schema) if headers is None else dict(headers)
    if not known:
        raise checks.refusal("frame", whole.column_names, _LOST)
    if not all(isinstance(header, Header) for header in known.values()):
        allowed = "column -> header, as jrr.tables.headers_of returns them"
        raise checks.refusal("headers", headers, allowed)
    told = {name for one in known.values() if one.shared for name in one.shared.questions}
    if headers is None and (lost := sorted(told.intersection(whole.column_names) - set(known))):
        raise checks.refusal("frame", lost, _LOST)
    return known


def _headers_in(schema: Any) -> dict[str, Header]:
    """Column -> header."""
    told = headers_told(schema)
    return {name: Header.from_json(text, f"column {name}") for name, text in told.items()}


def _to_column(header: Header, reports: NDArray[Any]) -> Any:
    """Reports as one column: labels, numbers, or bytes."""
    form = header.mechanism.report_format
    if header.labels and isinstance(form, NumberFormat):
        names = pa.array(header.labels, pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(reports.astype(np.int32)), names)
    if len(form.columns) > 1:  # a seed and a number
        return bytes_to_arrow(form.pack(np.asarray(reports)), text=False)
    return reports_to_arrow(header.mechanism, np.asarray(reports), text=False)[0]


def answered(whole: Any, name: str) -> NDArray[np.bool_]:
    """Which rows have a report of a question."""
    column = arrow_array(whole[name])
    asked = pc.is_valid(texts(column)) if pa.types.is_floating(column.type) else column.is_valid()
    found: NDArray[np.bool_] = asked.to_numpy(zero_copy_only=False)
    return found


def reports_of(header: Header, name: str, column: Any) -> NDArray[Any]:
    """The reports that `_to_column` wrote, of rows that have one."""
    form = header.mechanism.report_format
    if header.labels and isinstance(form, NumberFormat):
        codes = pc.index_in(texts(column), pa.array(header.labels, pa.string()))
        if codes.null_count:
            raise DamagedError(
                f"column {name} must hold only the labels {list(header.labels)!r:.200}"
            )
        values: NDArray[Any] = codes.to_numpy(zero_copy_only=False)
        return values
    if len(form.columns) > 1:
        return form.unpack(bytes_from_arrow(column, name, form.width))
    if pa.types.is_floating(column.type):  # as pandas writes whole numbers beside missing ones
        try:
            column = pc.cast(column, pa.int64())
        except pa.ArrowException as error:
            raise DamagedError(f"column {name} must hold whole numbers: {error}") from None
    return reports_from_arrow(header.mechanism, pa.record_batch({"report": column}))


def _groups(whole: Any, by: list[str]) -> tuple[Any, Any]:
    """Of each row the number of its group, as a text; and the values of each group, in order."""
    if not by:
        return None, None
    codes = np.zeros(len(whole), np.int64)
    for name in by:
        column = arrow_array(whole[name])
        column = texts(column) if pa.types.is_dictionary(column.type) else column
        names = pc.unique(column)
        names = names.take(pc.sort_indices(names))
        codes = codes * len(names) + pc.index_in(column, names).to_numpy()
    found = np.sort(pc.unique(pa.array(codes)).to_numpy())
    groups = pc.index_in(pa.array(codes), pa.array(found)).to_numpy()
    first = np.zeros(len(found), np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]  # of several, the last that is assigned
    values = [arrow_array(whole[name]).take(pa.array(first)) for name in by]
    return pc.cast(pa.array(groups), pa.string()), pa.table(values, by)


def _by_number(announced: Any, groups: Any) -> Any:
    """Announced sums of groups, called by their numbers instead of their values."""
    if groups is None or not isinstance(announced, Mapping):
        return announced
    named = [texts(arrow_array(column)).to_pylist() for column in groups.columns]
    numbers = {
        CROSSED_BY.join(map(str, some)): str(at) for at, some in enumerate(zip(*named, strict=True))
    }
    return {numbers.get(name, name): one for name, one in announced.items()}


def _reports(whole: Any, name: str, header: Header, keys: Any, weight: str | None) -> ReportFiles:
    """The reports of one column as a table of their own, as files have them."""
    with_carded = header.mechanism.deals
    needed = [name, *([f"{name}_{CARDED}"] if with_carded else []), *([weight] if weight else [])]
    for column in needed:
        if whole.column_names.count(column) != 1:
            raise checks.refusal("frame", whole.column_names, f"one with the column {column} once")
    asked = pa.array(answered(whole, name))
    reports = reports_of(header, name, arrow_array(whole[name]).filter(asked))
    fields = [field.name for field in report_fields(header.mechanism, text=False)]
    columns = dict(
        zip(fields, reports_to_arrow(header.mechanism, reports, text=False), strict=True)
    )
    flags: Any = pa.array(np.zeros(len(reports), np.bool_))
    if with_carded:
        flags = arrow_array(whole[f"{name}_{CARDED}"]).filter(asked)
    columns[CARDED] = flags
    if keys is not None:
        columns[GROUP] = keys.filter(asked)
    if weight is not None:
        columns[weight] = arrow_array(whole[weight]).filter(asked)
    table = WholeTable(pa.table(columns), Path("data frame"), text=False)
    return ReportFiles(header=header, tables=((table, header),))
