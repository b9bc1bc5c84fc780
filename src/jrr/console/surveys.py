"""The surveys that this server holds."""

from typing import Any

from sqlalchemy import Connection, select

from jrr.console.pages import PageRequest, not_here, read
from jrr.servers.collector.store import CollectorStore
from jrr.survey.survey import Survey, read_survey

PATH = "/surveys/{name}"  # of a route


def all_surveys(connection: Connection) -> list[Survey]:
    """Everything that is at the collector."""
    table = CollectorStore.surveys
    rows = connection.execute(select(table.c.document).where(table.c.deleted.is_(None)))
    return [read_survey(bytes(row.document)) for row in rows]


def deleted_surveys(connection: Connection) -> list[tuple[Survey, str]]:
    """Those whose data were deleted, and when; the last one first."""
    table = CollectorStore.surveys
    query = select(table.c.document, table.c.deleted).where(table.c.deleted.is_not(None))
    rows = sorted(connection.execute(query), key=lambda row: row.deleted, reverse=True)
    return [(read_survey(bytes(row.document)), row.deleted) for row in rows]


def find_survey(connection: Connection, name: str, store: Any = CollectorStore) -> Survey:
    """One of them; refused where this server does not hold it.

    store: The class of the server's own.
    """
    table = store.surveys
    query = select(table.c.document).where(table.c.survey == name, table.c.deleted.is_(None))
    document = connection.execute(query).scalar_one_or_none()
    if document is None:
        raise not_here(f"this {store.role} holds no such survey")
    return read_survey(bytes(document))


def survey_of(request: PageRequest) -> Survey:
    """The one that the address of a request names."""
    found: Survey = read(request.console, find_survey, request.path("name"))
    return found
