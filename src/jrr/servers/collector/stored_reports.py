"""Estimates from the collector's own tables in PostgreSQL, which counts them itself.

For analysts who may read the database. Only campaigns that are closed: before, the collector says
what may be shown and how often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.report_formats import Column
from jrr.servers.collector.report_header import header_of
from jrr.servers.collector.store import CollectorCampaign, CollectorStore
from jrr.servers.common.database import READS, connect
from jrr.survey.states import CLOSED
from jrr.survey.told import ToldSums
from jrr.tables.engines.database_table import quoted
from jrr.tables.engines.postgres import PostgreSQL
from jrr.tables.names import CARDED
from jrr.tables.reports import ReportFiles


@dataclass(frozen=True, kw_only=True)
class StoredCampaign:
    """A closed campaign whose reports can be counted.

    Attributes:
        name: its hash.
        files: its reports, as `jrr.tables.estimating.estimate_opened` takes them.
    """

    name: str
    files: ReportFiles


def open_stored(
    url: str, engine: PostgreSQL, wanted: Sequence[str] = ()
) -> Iterator[StoredCampaign]:
    """Closed campaigns of a collector's database, one after another.

    Args:
        url: of the database.
        engine: counts the reports.
        wanted: hashes of campaigns, or how they begin; none: all that are closed.

    Raises:
        ArgumentError: where the database is none of a collector, or a campaign is not there or
            not closed.
        UnreachableError: where nobody answers.
    """
    engine.table(url, "reports")  # says what is wrong with the address, without showing it
    for held in _closed(url, wanted):
        table = engine.table(url, f"campaign {held.name[:12]}", _definition(held))
        told = None
        if held.sums is not None:
            told = ToldSums.from_document(held.campaign, held.sums).by_group
        header = header_of(held, told)
        files = ReportFiles(header=header, tables=((table, header),))
        yield StoredCampaign(name=held.name, files=files)


def _closed(url: str, wanted: Sequence[str]) -> list[CollectorCampaign]:
    database = connect(url)
    try:
        with database.connect().execution_options(**{READS: True}) as connection:
            store = CollectorStore(connection)
            columns = (CollectorStore.campaigns.c.campaign, CollectorStore.campaigns.c.state)
            states = {row.campaign: row.state for row in connection.execute(select(*columns))}
            names = sorted(name for name, state in states.items() if state == CLOSED)
            if wanted:
                names = [_one(start, states) for start in wanted]
            return [store.find(name) for name in names]
    finally:
        database.dispose()


def _one(start: str, states: dict[str, str]) -> str:
    """The one closed campaign whose hash begins so."""
    found = [name for name in states if name.startswith(start)]
    if len(found) != 1 or not start:
        raise checks.refusal("campaign", start, "the beginning of one campaign's hash")
    if states[found[0]] != CLOSED:
        raise ArgumentError(
            f"campaign must be closed, got {start!r}, which is {states[found[0]]}: until then ask "
            "the collector (jrr campaign show)"
        )
    return found[0]


def _definition(held: CollectorCampaign) -> str:
    """Its rows with the columns of a file of reports."""
    columns = [*_report_columns(held.mechanism), f"carded AS {quoted(CARDED)}"]
    columns += [
        f"covariates::json ->> {_text(name)} AS {quoted(name)}" for name in held.campaign.covariates
    ]
    return f"SELECT {', '.join(columns)} FROM reports WHERE campaign = {_text(held.name)}"


def _report_columns(mechanism: Mechanism) -> list[str]:
    """A report's bytes (jrr.mechanisms.report_formats) as columns."""
    form = mechanism.report_format
    first, written = 0, []
    for column in form.columns:
        written.append(f"{_read(column, first, form.width)} AS {quoted(column.name)}")
        first += 8 if column.name == "seed" else 0
    return written


def _read(column: Column, first: int, width: int) -> str:
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
