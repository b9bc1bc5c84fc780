"""The dealer's own steps, for its operator in a browser: hold a survey, deal, announce, burn.

So that dealer and collector can be in different hands without a command line: what the researcher
gives (the document, whom to accept, the closing request) is brought here as files, and the sums go
back as one. A committee's party has the same pages.
"""

import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, distinct, func, select
from starlette.responses import Response

from jrr._base import checks
from jrr.client.ending import Ending, dealer_sums, read_carried
from jrr.client.http import Admin
from jrr.client.invitations import invitations_in
from jrr.client.operator import HASHES, Operator
from jrr.console.names_files import read_names_file
from jrr.console.pages import (
    Console,
    PageRequest,
    check_sure,
    download,
    goto,
    page,
    read,
    read_closes,
)
from jrr.console.survey_texts import name_of, path_of
from jrr.console.surveys import PATH, find_survey
from jrr.errors import ArgumentError
from jrr.protocol.states import CLOSED, ENROLLING, NEW, Role
from jrr.servers.common.database import READS
from jrr.survey.closing import closed_decks
from jrr.survey.survey import Survey, read_survey


@dataclass(frozen=True, kw_only=True)
class DealingStatus:
    """What somebody who deals knows of a survey."""

    path: str  # of its page below the console
    title: str
    state: str
    invited: int
    enrolled: int  # people who have a place
    dealt: int  # of them, whose cards have left
    decks: int = 0  # from which a dealer dealt
    lost: str  # cards that were dealt and cannot come back, by its own count; "": not known
    is_told: bool = False  # whether the collector has named the cards that came back
    closes: str | None = None  # until when cards are given
    burned: bool  # whether nothing is left from which a card could be found


@page("/")
def _status(request: PageRequest) -> Response:
    rows, is_dealer = statuses(request.console), request.console.settings.role == Role.DEALER
    return request.page("status.html", section="", rows=rows, is_dealer=is_dealer)


def own_store(console: Console) -> Any:
    """The class of the store of a dealer or a party: loaded where one runs."""
    is_dealer = console.settings.role == Role.DEALER
    module, name = ("dealer", "DealerStore") if is_dealer else ("party", "PartyStore")
    return getattr(import_module(f"jrr.servers.{module}.store"), name)


def statuses(console: Console) -> list[DealingStatus]:
    """Of everything that this dealer or party holds; what is over comes last."""
    status_of = dealer_status if console.settings.role == Role.DEALER else party_status
    with console.engine.connect().execution_options(**{READS: True}) as connection:
        store = own_store(console)(connection)
        held = store.find_all(store.kept()).values()
        rows = [status_of(store, connection, stored) for stored in held]
    return sorted(rows, key=lambda row: (row.state == CLOSED, row.title.casefold()))


def dealer_status(store: Any, connection: Connection, stored: Any) -> DealingStatus:
    """Of a survey that a dealer holds: everybody who has a card has one of every question."""
    seats = store.seats
    query = select(
        func.count(),
        func.count(seats.c.pseudonym).filter(seats.c.fetched.is_(True)),
        func.count(distinct(seats.c.block)).filter(seats.c.fetched.is_(True)),
    ).where(seats.c.survey == stored.name)
    places, gone, decks = connection.execute(query).one()
    # Before the end: places whose cards were never fetched. At the end the collector names the
    # cards that came back, where their sums are announced.
    back = stored.announced[0]["people"] if stored.announced else None
    lost: int | None = None
    if back is not None:
        lost = max(0, places - back)
    elif stored.state != CLOSED:
        lost = places - gone
    return DealingStatus(
        path=path_of(stored.survey),
        title=name_of(stored.survey),
        state=str(stored.state),
        invited=store.count(store.invited, stored.name),
        enrolled=places,
        dealt=gone,
        decks=decks,
        lost="" if lost is None else f"{lost:,}",
        is_told=back is not None,
        closes=stored.closes,
        burned=stored.wrapped_key is None,
    )


def party_status(store: Any, connection: Connection, stored: Any) -> DealingStatus:
    """Of a survey that a party of a committee holds."""
    is_kept = bool(store.count(store.envelopes, stored.name))
    complaints = store.count(store.complaints, stored.name)
    return DealingStatus(
        path=path_of(stored.survey),
        title=name_of(stored.survey),
        state=str(stored.state),
        invited=store.count(store.invited, stored.name),
        enrolled=stored.arrivals,  # counted: at the end who they were is forgotten
        dealt=stored.n or 0,
        lost=f"{complaints:,}" if is_kept else "",
        closes=stored.closes,
        burned=stored.state == CLOSED and not is_kept,
    )


PATIENCE = 60.0  # seconds that parties of a committee wait for one another


def _survey(request: PageRequest) -> Survey:
    store = own_store(request.console)
    found: Survey = read(request.console, find_survey, request.path("name"), store)
    return found


@page("/bring", "POST")
def _bring(request: PageRequest) -> Response:
    """Hold the survey whose document was brought; nothing is dealt before it is opened."""
    survey = read_survey(request.form.raw("document").strip().encode())
    if not survey.dealing.addresses:
        raise ArgumentError("the survey must have cards to deal: its document names no dealer")
    _operator(request, survey).install()
    request.session.note("Held here. No card is dealt before you open it.")
    return goto(path_of(survey))


@page(PATH)
def _shown(request: PageRequest) -> Response:
    survey = _survey(request)
    row = next(row for row in statuses(request.console) if row.path == path_of(survey))
    return request.page(
        "dealing.html",
        section="",
        survey=survey,
        row=row,
        is_dealer=request.console.settings.role == Role.DEALER,
        own=_own_address(request, survey),
        gives_sums=_gives_sums(survey),
        is_new=row.state == NEW,
        is_enrolling=row.state == ENROLLING,
        is_closed=row.state == CLOSED,
    )


@page(f"{PATH}/open", "POST")
def _open(request: PageRequest) -> Response:
    survey = _survey(request)
    states = _operator(request, survey).open()
    is_enrolling = ENROLLING in states.values()
    request.session.note(
        "Open: people can enrol." if is_enrolling else "Open: who has an invitation gets a card."
    )
    return goto(path_of(survey))


@page(f"{PATH}/extend", "POST")
def _extend(request: PageRequest) -> Response:
    """Give cards until a later time, as the collector takes answers."""
    survey = _survey(request)
    (closes,) = _operator(request, survey).extend(read_closes(request)).values()
    request.session.note(f"Extended: cards are given until {closes}.")
    return goto(path_of(survey))


@page(f"{PATH}/invite", "POST")
def _invite(request: PageRequest) -> Response:
    """Accept people: from hashes that are for this server alone, or from their invitations."""
    survey, text = _survey(request), request.form.raw("people").strip()
    operator = _operator(request, survey)
    if text.startswith("{"):
        names, revoked = read_names_file(text, survey.hash, _own_address(request, survey))
        (server,) = operator.dealing.values()
        for what, some in (("revoke", revoked), ("invitations", names)):
            for start in range(0, len(some), HASHES):
                server.post(f"{operator.path}/{what}", {"names": some[start : start + HASHES]})
        count = len(names)
        if revoked:
            request.session.note(f"{len(revoked):,} people are accepted no longer.")
    else:
        invitations = invitations_in(text, "accepted")
        operator.invite(invitations)
        count = len(invitations)
    request.session.note(f"{count:,} people are accepted.")
    return goto(path_of(survey))


@page(f"{PATH}/deal", "POST")
def _deal(request: PageRequest) -> Response:
    """End enrolment; parties of a committee must all be told to within a minute."""
    survey = _survey(request)
    check_sure(request, "dealing ends enrolment")
    n = _operator(request, survey).deal(PATIENCE, PATIENCE)
    request.session.note(f"Dealt to {n:,} people. Tell the collector's operator: n = {n}.")
    return goto(path_of(survey))


@page(f"{PATH}/close", "POST")
def _close(request: PageRequest) -> Response:
    """Tell the sum of the cards that came back, if any is announced, and burn the key."""
    survey = _survey(request)
    check_sure(request, "burning is for good")
    ending = Ending()
    gives_up = request.form.get("more") == "none"
    if gives_up:
        row = next(row for row in statuses(request.console) if row.path == path_of(survey))
        if row.state != CLOSED:
            raise ArgumentError("the first sums must be told before the second are given up")
        ending = Ending(without_sum=True)
    elif survey.announces:
        allowed = "request must be the file that the collector's operator gave"
        ending = Ending(request=read_carried(request.form.raw("request"), allowed))
    (reply,) = _operator(request, survey).close(ending).values()
    if gives_up or not _gives_sums(survey):
        request.session.note("Burned.")
        return goto(path_of(survey))
    kept = "burned" if reply.get("burned") else "kept for the next sums"
    request.session.note(
        "The cards are verified: the file that you were given goes to the collector's operator, "
        "and another request comes back, for this page again."
        if "committed" in reply
        else f"The sums are told, and the key is {kept}. The file of sums that you were given, of "
        f"{name_of(survey)}, goes to the collector's operator."
    )
    body = json.dumps(dealer_sums(reply))
    return download(body, f"sums-{survey.hash[:8]}.json", "application/json")


@page(f"{PATH}/delete", "POST")
def _delete(request: PageRequest) -> Response:
    """Delete who had a card, of a survey that is over or was never opened."""
    survey = _survey(request)
    check_sure(request, "deleting is for good")
    _operator(request, survey).delete()
    request.session.note(f"Deleted: {name_of(survey)}.")
    return goto("/")


def _gives_sums(survey: Survey) -> bool:
    """Whether results wait for sums of cards."""
    return survey.announces or bool(closed_decks(survey))


def _own_address(request: PageRequest, survey: Survey) -> str:
    """Which of the addresses in a document is this server's, as its operator says or sees it."""
    addresses = survey.dealing.addresses
    wished = request.form.get("own")
    if wished:
        return checks.one_of("own", wished, addresses)
    return request.origin if request.origin in addresses else addresses[0]


def _operator(request: PageRequest, survey: Survey) -> Operator:
    """The operator of this server alone, by the address that the document has for it."""
    address = _own_address(request, survey)
    number = survey.dealing.addresses.index(address)
    sender = request.console.sender.on_behalf_of(request.session.holder)
    return Operator(survey, {number: Admin(address, "", sender=sender)})
