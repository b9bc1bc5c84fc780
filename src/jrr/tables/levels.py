"""HeavyHitters and RangeTree: reports by level as tables, counted where they lie.

A row is `level`, `report` (the bytes of the level's mechanism as the protocol says them, as
hexadecimal digits in CSV) and `carded`. The header has the document of the search or the tree.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.hashed import support_of
from jrr.tables.columns import carded_from_arrow
from jrr.tables.engines import open_engine
from jrr.tables.engines.base import Engine
from jrr.tables.folders import open_table
from jrr.tables.formats import Table, check_output, damage_of, format_of, sidecar, write
from jrr.tables.header import SEARCHED
from jrr.tables.names import CARDED
from jrr.telemetry.asked import Asked, asked_from_dict, is_header
from jrr.telemetry.heavy_hitters import HeavyHitters, of_level
from jrr.telemetry.prefix_search import FrequentStrings
from jrr.telemetry.range_estimates import RangeEstimate
from jrr.telemetry.ranges import RangeTree
from jrr.telemetry.report_lines import (
    damage_in,
    header_of,
    open_lines,
    read_reports,
    write_lines,
)

LEVEL, REPORT = "level", "report"
_LINES = 1 << 16  # of JSON that are read at a time
Levelled = HeavyHitters | RangeTree
A = TypeVar("A", HeavyHitters, RangeTree)


@dataclass(frozen=True)
class LevelHeader:
    """What a file of reports by level says of itself."""

    asked: Levelled
    rows: int | None = None
    holds: str = "reports"

    def with_rows(self, rows: int) -> "LevelHeader":
        """The same header, which says how many rows there are."""
        return replace(self, rows=rows)

    def to_json(self) -> str:
        """One line of JSON that `level_header` reads back."""
        return json.dumps(header_of(self.asked) | {"rows": self.rows}, sort_keys=True)


def write_level_reports(
    path: str | Path, asked: Levelled, reports: Any, *, force: bool = False
) -> int:
    """Write reports of strings or numbers as a Parquet, Arrow or CSV file.

    Args:
        path: the file, by the ending of its name; JSON lines are written by jrr.write_reports.
        asked: the search or the tree.
        reports: as its `respond` makes them, or a list of what `respond_one` returns.
        force: overwrite an existing file.

    Returns:
        How many reports there are.

    Raises:
        ArgumentError: where the file exists, or something else made the reports.
    """
    out = check_output(path, force)
    if format_of(out) == "jsonl":
        raise checks.refusal("path", str(path), "another ending: see jrr.write_reports")
    return _write(out, asked, _by_levels(asked, reports))


def convert_levels(source: str | Path, out: Path) -> LevelHeader | None:
    """Write reports of strings or numbers in another format, some rows at a time, sorted by level.

    Args:
        source: a file of reports.
        out: the file, which may be written.

    Returns:
        Its header; None: the file holds other reports, and nothing was written.

    Raises:
        DamagedError: where the file cannot be read as what it claims to be.
    """
    lines = _all_lines([source])
    table = None if lines else open_table(source)
    text = json.dumps(open_lines(Path(source))[0]) if table is None else table.header_text
    if text is None or not _is_levelled(text):
        return None
    asked: Any = level_header(text, str(source))
    _write(out, asked, _from_lines(asked, source) if table is None else _from_table(asked, table))
    return LevelHeader(asked)


def _is_levelled(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return is_header(document) and document["mechanism"].get("mechanism") in SEARCHED


Group = tuple[int, Any, Any]  # a level, some of its reports, and who of them had a card


def _from_lines(asked: Levelled, source: str | Path) -> Iterator[Group]:
    _, documents = open_lines(Path(source))
    while some := list(islice(documents, _LINES)):
        with damage_in([source], asked):
            yield from _by_levels(asked, asked.reports_from_json(some))


def _from_table(asked: Levelled, table: Table) -> Iterator[Group]:
    for batch in table.batches([LEVEL, REPORT, CARDED]):
        with damage_of(table.path):
            for level, rows, carded in _by_level(batch, _levels(asked)):
                yield level, _reports_of(_mechanism(asked, level), rows), carded


def _mechanism(asked: Levelled, level: int) -> Mechanism:
    return asked.mechanism if isinstance(asked, HeavyHitters) else asked.mechanisms[level]


def _levels(asked: Levelled) -> int:
    return len(asked.levels if isinstance(asked, HeavyHitters) else asked.mechanisms)


def _write(out: Path, asked: Levelled, groups: Iterable[Group]) -> int:
    if format_of(out) == "jsonl":
        documents = (
            [level, document]
            for level, reports, carded in groups
            for document in _mechanism(asked, level).reports_to_json(reports, carded)
        )
        return write_lines(out, asked, documents)
    text = format_of(out) == "csv"
    schema = pa.schema(
        [
            pa.field(LEVEL, pa.uint8(), nullable=False),
            pa.field(REPORT, pa.string() if text else pa.binary(), nullable=False),
            pa.field(CARDED, pa.bool_(), nullable=False),
        ]
    )
    batches = (
        pa.record_batch(
            [
                pa.array(np.full(len(rows), level, np.uint8)),
                pa.array([row.tobytes().hex() if text else row.tobytes() for row in rows]),
                pa.array(np.broadcast_to(carded, len(rows))),
            ],
            schema=schema,
        )
        for level, reports, carded in groups
        for rows in [_mechanism(asked, level).report_format.pack(reports)]
    )
    return write(out, schema, LevelHeader(asked), batches)


def _by_levels(asked: Levelled, reports: Any) -> Iterator[Group]:
    """The reports of each level, and who had a card."""
    if isinstance(asked, HeavyHitters):
        checked = asked.checked(reports)
        for level in range(len(asked.levels)):
            yield level, of_level(checked, level), False
        return
    if any(isinstance(told, tuple) for told in reports):
        reports = asked.by_level(reports)
    for level, (mechanism, told) in enumerate(zip(asked.mechanisms, reports, strict=True)):
        listed = mechanism.report_format.from_list(told) if isinstance(told, list) else told
        array = np.asarray(listed)
        if len(array):
            flags = mechanism.carded_flags(told, len(array), None)
            yield level, array, flags


def find(
    *paths: str | Path,
    top: int | None = None,
    engine: str | None = None,
    header: Levelled | str | Path | None = None,
    table: str | None = None,
) -> FrequentStrings:
    """The most frequent strings in files of reports by a HeavyHitters search.

    Args:
        paths: files of JSON lines, Parquet, Arrow or CSV, or folders of Parquet files; with
            `table` the address of a database.
        top: how many strings, as for `HeavyHitters.find`.
        engine: what reads the rows: "duckdb", "spark" or "postgres"; None: this process.
        header: what was asked, where the reports do not say so themselves: a HeavyHitters, or a
            JSON file of a header.
        table: the table of a database that holds the reports.

    Raises:
        ArgumentError: where files do not belong together, or hold no reports of strings.
        DamagedError: where a file cannot be read as what it claims to be.

    Example:
        >>> import jrr, pathlib, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "reports.parquet")
        >>> search = jrr.HeavyHitters(jrr.Words("0123456789", 2), epsilon=4.0)
        >>> reports = search.respond(["11"] * 3000 + ["7"] * 2000, jrr.SeededRandom(1))
        >>> tables.write_level_reports(path, search, reports)
        5000
        >>> tables.find(path, top=2).strings
        ('11', '7')
        >>> folder.cleanup()
    """
    if engine is None and _all_lines(paths):
        asked, reports = read_reports(*paths)
        return _of_kind(asked, HeavyHitters).find(reports, top)
    search, sources = _opened(paths, HeavyHitters, engine, header, table)
    levels = len(search.levels)
    people = sum(int(counts[0]) for counts in _sums(sources, levels, _counting(search)))

    def count(level: int, values: NDArray[np.uint32]) -> tuple[NDArray[np.int64], int]:
        (found,) = _sums(sources, levels, _supporting(search, level, values), only=level)
        return found[1:], int(found[0])

    return search.search(count, people, top)


def distribution(
    *paths: str | Path,
    announced: Sequence[Any] | None = None,
    engine: str | None = None,
    header: Levelled | str | Path | None = None,
    table: str | None = None,
) -> RangeEstimate:
    """How a number is distributed, from files of reports by a RangeTree.

    Args:
        paths: files of JSON lines, Parquet, Arrow or CSV, or folders of Parquet files; with
            `table` the address of a database.
        announced: as for `RangeTree.estimate`.
        engine: what reads the rows: "duckdb", "spark" or "postgres"; None: this process.
        header: what was asked, where the reports do not say so themselves: a RangeTree, or a JSON
            file of a header.
        table: the table of a database that holds the reports.

    Raises:
        ArgumentError: where files do not belong together, or hold no reports of numbers.
        DamagedError: where a file cannot be read as what it claims to be.
    """
    if engine is None and _all_lines(paths):
        asked, reports = read_reports(*paths)
        return _of_kind(asked, RangeTree).estimate(reports, announced)
    tree, sources = _opened(paths, RangeTree, engine, header, table)
    found: list[Tally | None] = [None] * len(tree.mechanisms)
    for ready, rows in sources:
        for level, text in _mapped(ready, rows, _tallying(tree)):
            tally, before = Tally.from_json(text), found[level]
            found[level] = tally if before is None else before + tally
    for level, told in enumerate(found):
        if told is None:
            raise checks.refusal("reports", level, "of every level: there are none")
    return tree.estimate([told for told in found if told is not None], announced)


Source = tuple[Engine | None, Table]


def _all_lines(paths: Sequence[str | Path]) -> bool:
    return all(Path(path).suffix.lower() in (".jsonl", ".ndjson") for path in paths)


def _of_kind(asked: Asked, kind: type[A]) -> A:
    if not isinstance(asked, kind):
        allowed = f"files of reports by {kind.__name__}"
        raise checks.refusal("reports", type(asked).__name__, allowed)
    return asked


def _opened(
    paths: Sequence[str | Path],
    kind: type[A],
    engine: str | None,
    header: Any,
    table: str | None,
) -> tuple[A, list[Source]]:
    """What was asked, and all tables with what reads them."""
    if not paths:
        raise ArgumentError("reports must name at least one file, got none")
    if engine is None and table is not None:
        raise checks.refusal("table", table, "None without an engine")
    if isinstance(header, str | Path):
        header = level_header(Path(header).read_text("utf-8"), str(header))
    ready = None if engine is None else open_engine(engine)
    reader = open_table if ready is None else ready.reader(table)
    asked: Any = None
    sources: list[Source] = []
    for path in paths:
        if _all_lines([path]):
            allowed = "a Parquet file for an engine (jrr file convert writes it), or no engine"
            raise checks.refusal("reports", str(path), allowed)
        rows = reader(path)
        text = rows.header_text
        own = header if text is None else level_header(text, str(path))
        if own is None:
            beside = f" ({sidecar(rows.path).name} is missing)" if rows.format == "csv" else ""
            raise DamagedError(f"{path} must say what was asked, or header must{beside}")
        if asked is not None and own != asked:
            raise checks.refusal("reports", str(path), "asked the same as the files before it")
        asked = own
        with damage_of(rows.path):
            for name in (LEVEL, REPORT, CARDED):
                rows.require("column", name)
        sources.append((ready, rows))
    return _of_kind(asked, kind), sources


def level_header(text: str, where: str) -> Asked:
    """What was asked, from a header.

    Args:
        text: its JSON.
        where: the file it stands in, for the refusal.

    Raises:
        DamagedError: for anything else.
    """
    try:
        document = json.loads(text)
        if not is_header(document):
            raise ArgumentError("it says nothing of what was asked")
        return asked_from_dict(document["mechanism"])
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{where}: the header cannot be used: {error}") from None


# -- counting: functions of Arrow batches, which engines run where the rows are -----------------

Batches = Iterable[Any]
Counter = Callable[[Batches], Iterator[Any]]


def _counting(search: HeavyHitters) -> Counter:
    """How many reports there are of each level."""

    def count(here: NDArray[Any]) -> list[int]:
        return [len(here)]

    return _summing(search, range(len(search.levels)), count)


def _supporting(search: HeavyHitters, level: int, values: NDArray[np.uint32]) -> Counter:
    """How many reports of one level there are, and how many support each value."""
    g = search.mechanism.g

    def count(here: NDArray[Any]) -> list[int]:
        supported: list[int] = support_of(here, values, g).tolist()
        return [len(here), *supported]

    return _summing(search, (level,), count)


def _summing(
    search: HeavyHitters, levels: Iterable[int], count: Callable[[NDArray[Any]], list[int]]
) -> Counter:
    mechanism, known = search.mechanism, len(search.levels)

    def batches_to_sums(batches: Batches) -> Iterator[Any]:
        found: dict[int, NDArray[np.int64]] = {}
        for batch in batches:
            for level, rows, _ in _by_level(batch, known):
                if level in levels:
                    here = _reports_of(mechanism, rows)
                    checks.symbols("reports", np.ascontiguousarray(here["value"]), mechanism.g)
                    sums = np.array(count(here), np.int64)
                    found[level] = found[level] + sums if level in found else sums
        yield _texts({level: json.dumps(sums.tolist()) for level, sums in found.items()})

    return batches_to_sums


def _tallying(tree: RangeTree) -> Counter:
    """The tally of each level."""
    mechanisms = tree.mechanisms

    def batches_to_tallies(batches: Batches) -> Iterator[Any]:
        found: dict[int, Tally] = {}
        for batch in batches:
            for level, rows, carded in _by_level(batch, len(mechanisms)):
                tally = mechanisms[level].tally(_reports_of(mechanisms[level], rows), carded)
                found[level] = found[level] + tally if level in found else tally
        yield _texts({level: tally.to_json() for level, tally in found.items()})

    return batches_to_tallies


def _texts(found: dict[int, str]) -> Any:
    columns = [pa.array([str(level) for level in found]), pa.array(list(found.values()))]
    return pa.record_batch([one.cast(pa.string()) for one in columns], ["part", "sums"])


def _sums(
    sources: Sequence[Source], levels: int, counter: Counter, only: int | None = None
) -> list[NDArray[np.int64]]:
    """What a counter found in all sources, of every level or of one; each must have reports."""
    found: dict[int, NDArray[np.int64]] = {}
    for ready, rows in sources:
        for level, text in _mapped(ready, rows, counter):
            sums = np.array(json.loads(text), np.int64)
            found[level] = found[level] + sums if level in found else sums
    wanted = range(levels) if only is None else (only,)
    for level in wanted:
        if level not in found:
            allowed = f"of every level 0..{levels - 1}: there are none"
            raise checks.refusal("reports", level, allowed)
    return [found[level] for level in wanted]


def _mapped(ready: Engine | None, rows: Table, counter: Counter) -> Iterator[tuple[int, str]]:
    columns = [LEVEL, REPORT, CARDED]
    with damage_of(rows.path):
        if ready is None:
            found = counter(rows.batches(columns))
        else:
            found = ready.map(rows, columns, counter, "part", "sums")
        for batch in found:
            for part, text in zip(*(one.to_pylist() for one in batch.columns), strict=True):
                yield int(part), text


def _by_level(batch: Any, levels: int) -> Iterator[tuple[int, list[bytes], Any]]:
    """The rows of each level that occurs: their bytes, and who had a card."""
    told = batch.column(LEVEL).cast(pa.int64()).to_numpy(zero_copy_only=False)
    if batch.num_rows and (told.min() < 0 or told.max() >= levels):
        raise DamagedError(f"column {LEVEL} must hold whole numbers in 0..{levels - 1}")
    column = batch.column(REPORT)
    carded = np.broadcast_to(carded_from_arrow(batch.column(CARDED)), batch.num_rows)
    for level in np.unique(told).tolist():
        places = np.flatnonzero(told == level)
        values = column.take(pa.array(places)).to_pylist()
        if any(value is None for value in values):
            raise DamagedError(f"column {REPORT} must have no gaps")
        if values and isinstance(values[0], str):
            values = [_from_hex(value) for value in values]
        yield level, values, carded[places]


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise DamagedError(f"column {REPORT} must hold hexadecimal digits") from None


def _reports_of(mechanism: Mechanism, rows: list[bytes]) -> Any:
    """What `Mechanism.tally` takes, which checks the domain."""
    form = mechanism.report_format
    if any(len(row) != form.width for row in rows):
        raise DamagedError(f"column {REPORT} must hold {form.width} bytes for {mechanism.brief()}")
    return form.unpack(np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), form.width))
