"""The surveys that this server holds, and their operator."""

from typing import Any

from sqlalchemy import Connection, select

from jrr.client.http import Admin
from jrr.client.operator import Operator
from jrr.console.pages import Console, PageRequest, not_here
from jrr.console.sessions import Session
from jrr.errors import ArgumentError, ProtocolError
from jrr.protocol.addresses import admin_path
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.database import READS
from jrr.survey.survey import Survey, read_survey

PATH = "/surveys/{name}"  # of a route


def read(console: Console, job: Any, *args: Any) -> Any:
    """Ask the database, without locking anything."""
    with console.engine.connect().execution_options(**{READS: True}) as connection:
        return job(connection, *args)


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


def operator_of(
    console: Console, survey: Survey, session: Session | None = None, *, deals: bool = True
) -> Operator:
    """The operator of this collector, and of those who deal whose tokens the session has.

    deals: False leaves those who deal alone.
    """
    typed = session.dealer_tokens if session is not None and deals else {}
    dealing = {
        number: Admin(address, typed[address])
        for number, address in enumerate(survey.dealing.addresses)
        if address in typed
    }
    sender = console.sender if session is None else console.sender.on_behalf_of(session.holder)
    return Operator(survey, dealing, Admin(survey.collector, "", sender=sender))


def known_tokens(request: PageRequest, survey: Survey) -> list[bool]:
    """Of each who deals, whether the session has its token."""
    return [address in request.session.dealer_tokens for address in survey.dealing.addresses]


def take_tokens(request: PageRequest, survey: Survey) -> None:
    """Tokens that were typed in, by the numbers of those who deal; each is tried first."""
    for number, address in enumerate(survey.dealing.addresses):
        token = request.form.get(f"token{number}")
        if token:
            try:
                Admin(address, token).get(admin_path(survey.hash))
            except ProtocolError as error:
                if any(code in str(error) for code in ("(401)", "(403)")):
                    raise ArgumentError(
                        f"the {survey.dealing.word} at {address} refuses this token: is it the one "
                        "that `jrr serve token` printed for that server, and not this collector's?"
                    ) from None
                if "(404)" not in str(error):  # the token is right, the survey not there yet
                    raise
            request.session.dealer_tokens[address] = token
