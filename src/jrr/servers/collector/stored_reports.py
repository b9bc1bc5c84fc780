"""Estimates from the collector's own tables in PostgreSQL, which counts them itself.

For analysts who may read the database. Only surveys that are closed: before, the collector says
what may be shown and how often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.protocol.states import CLOSED
from jrr.servers.collector.export import header_of
from jrr.servers.collector.store import CollectorStore, CollectorSurvey
from jrr.servers.common.database import READS, connect
from jrr.tables.engines.base import quoted
from jrr.tables.names import CARDED
from jrr.tables.reports import ReportFiles

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.mechanisms.report_formats import Column
    from jrr.tables.engines.postgres import PostgreSQL


@dataclass(frozen=True, kw_only=True)
class StoredQuestion:
    """A question of a closed survey whose reports can be counted.

    Attributes:
        survey: its hash.
        question: which one.
        questions: how many the survey has.
        files: its reports, as `jrr.tables.estimating.estimate_opened` takes them.
    """

    survey: str
    question: str
    questions: int
    files: ReportFiles


def open_stored(
    url: str, engine: "PostgreSQL", wanted: Sequence[str] = ()
) -> Iterator[StoredQuestion]:
    """Closed surveys of a collector's database, one question after another.

    Args:
        url: of the database.
        engine: counts the reports.
        wanted: hashes of surveys, or how they begin; none: all that are closed.

    Raises:
        ArgumentError: where the database is none of a collector, or a survey is not there or not
            closed.
        UnreachableError: where nobody answers.
    """
    engine.table(url, "reports")  # says what is wrong with the address, without showing it
    for held in _closed(url, wanted):
        for name in held.numbers:
            table = engine.table(url, f"survey {held.name[:12]}", _definition(held, name))
            header = header_of(held, name)
            files = ReportFiles(header=header, tables=((table, header),))
            yield StoredQuestion(
                survey=held.name, question=name, questions=len(held.numbers), files=files
            )


def _closed(url: str, wanted: Sequence[str]) -> list[CollectorSurvey]:
    database = connect(url)
    try:
        with database.connect().execution_options(**{READS: True}) as connection:
            store, table = CollectorStore(connection), CollectorStore.surveys
            query = select(table.c.survey, table.c.state).where(table.c.deleted.is_(None))
            states = {row.survey: row.state for row in connection.execute(query)}
            names = sorted(name for name, state in states.items() if state == CLOSED)
            if wanted:
                names = [_one(start, states) for start in wanted]
            return [store.find(name) for name in names]
    finally:
        database.dispose()


def _one(start: str, states: dict[str, str]) -> str:
    """The one closed survey whose hash begins so."""
    found = [name for name in states if name.startswith(start)]
    if len(found) != 1 or not start:
        raise checks.refusal("survey", start, "the beginning of one survey's hash")
    if states[found[0]] != CLOSED:
        raise ArgumentError(
            f"survey must be closed, got {start!r}, which is {states[found[0]]}: until then ask "
            "the collector (jrr survey show)"
        )
    return found[0]


def _definition(held: CollectorSurvey, name: str) -> str:
    """Its rows with the columns of a file of reports."""
    columns = [*_report_columns(held.mechanism(name)), f"carded AS {quoted(CARDED)}"]
    columns += [
        f"covariates::json ->> {_text(one)} AS {quoted(one)}" for one in held.survey.covariates
    ]
    return (
        f"SELECT {', '.join(columns)} FROM reports JOIN people USING (survey, pseudonym) "
        f"WHERE survey = {_text(held.name)} AND question = {held.numbers[name]}"
    )


def _report_columns(mechanism: "Mechanism") -> list[str]:
    """A report's bytes (jrr.mechanisms.report_formats) as columns."""
    form = mechanism.report_format
    first, written = 0, []
    for column in form.columns:
        written.append(f"{_read(column, first, form.width)} AS {quoted(column.name)}")
        first += 8 if column.name == "seed" else 0
    return written


def _read(column: "Column", first: int, width: int) -> str:
    """A number, least significant byte first, or the bytes themselves."""
    if column.stored is None:
        return "report"
    size = 8 if column.name == "seed" else width - first
    number = " + ".join(
        f"get_byte(report, {first + at})::numeric * {256**at}" for at in range(size)
    )
    if column.stored.kind == "i":
        half = 256**size // 2
        return f"(({number} + {half}) % {2 * half} - {half})::bigint"
    return number if size == 8 else f"({number})::bigint"


def _text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
