"""The dealer's own steps, for its operator in a browser: hold a survey, deal, announce, burn.

So that dealer and collector can be in different hands without a command line: what the researcher
gives (the document, names of people, names of cards) is brought here as files, and the sums go back
as one. A committee's party has the same pages.
"""

import json
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from jrr._base import checks
from jrr.client.closing import Ending
from jrr.client.http import Admin
from jrr.client.invitations import invitations_in
from jrr.client.operator import HASHES, Operator
from jrr.client.survey_operator import SurveyOperator
from jrr.console.desk import Desk, Visit, download, goto, page
from jrr.console.held import KIND, AnyOperator, HeldDocument, find_held, read
from jrr.console.names_files import read_names_file
from jrr.console.status import own_store, statuses
from jrr.errors import ArgumentError, DamagedError
from jrr.survey.campaign import read_campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.protocol.states import CLOSED, ENROLLING, NEW, Role
from jrr.survey.surveys import Survey, is_survey, read_survey

PATIENCE = 60.0  # seconds that parties of a committee wait for one another


def routes(desk: Desk) -> list[Route]:
    """Their addresses."""
    base = f"/{KIND}/{{name}}"
    return [
        page(desk, "/bring", _bring, "POST"),
        page(desk, base, _shown),
        page(desk, f"{base}/open", _open, "POST"),
        page(desk, f"{base}/invite", _invite, "POST"),
        page(desk, f"{base}/deal", _deal, "POST"),
        page(desk, f"{base}/close", _close, "POST"),
    ]


def _held(visit: Visit) -> HeldDocument:
    found: HeldDocument = read(
        visit.desk, find_held, visit.path("kind"), visit.path("name"), own_store(visit.desk)
    )
    return found


def _bring(visit: Visit) -> Response:
    """Hold the survey whose document was brought; nothing is dealt before it is opened."""
    body = visit.form.raw("document").strip().encode()
    held = HeldDocument(read_survey(body) if is_survey(body) else read_campaign(body))
    if not held.dealers:
        raise ArgumentError("the survey must have cards to deal: its document names no dealer")
    _operator(visit, held).install()
    visit.session.note("Held here. No card is dealt before you open it.")
    return goto(held.path)


def _shown(visit: Visit) -> Response:
    held = _held(visit)
    row = next(row for row in statuses(visit.desk) if row.path == held.path)
    return visit.page(
        "dealing.html",
        section="",
        held=held,
        row=row,
        is_dealer=visit.desk.settings.role == Role.DEALER,
        own=_own_address(visit, held),
        announces=held.announces,
        is_new=row.state == NEW,
        is_enrolling=row.state == ENROLLING,
        is_closed=row.state == CLOSED,
    )


def _open(visit: Visit) -> Response:
    held = _held(visit)
    _operator(visit, held).open()
    visit.session.note("Open: who has an invitation is dealt a card.")
    return goto(held.path)


def _invite(visit: Visit) -> Response:
    """Accept people: from hashes that are for this server alone, or from their invitations."""
    held, text = _held(visit), visit.form.raw("people").strip()
    operator = _operator(visit, held)
    if text.startswith("{"):
        names = read_names_file(text, held.name, _own_address(visit, held))
        inside = _inside(visit, held)
        for start in range(0, len(names), HASHES):
            some = {"names": names[start : start + HASHES]}
            inside.post(f"{operator.path}/invitations", some)
        count = len(names)
    else:
        invitations = invitations_in(text, "people", "what was pasted or chosen")
        operator.invite(invitations)
        count = len(invitations)
    visit.session.note(f"{count:,} people are accepted.")
    return goto(held.path)


def _deal(visit: Visit) -> Response:
    """End enrolment; parties of a committee must all be told to within a minute."""
    held = _held(visit)
    _check_sure(visit, "dealing ends enrolment")
    operator = _operator(visit, held)
    assert isinstance(operator, Operator)  # surveys of several items have no enrolment
    n = operator.deal(PATIENCE, PATIENCE)
    visit.session.note(f"Dealt to {n:,} people. Tell the collector's operator: n = {n}.")
    return goto(held.path)


def _close(visit: Visit) -> Response:
    """Tell the sum of the cards that are named, if any is announced, and burn the key."""
    held = _held(visit)
    _check_sure(visit, "burning is for good")
    operator = _operator(visit, held)
    if not held.announces:
        told = operator.close()
        words = "Burned."
        if isinstance(operator, Operator):  # a survey has decks of several parts: the most holds
            decks = next(iter(told.values()))["decks"]
            words += f" Tell the collector's operator from how many decks was dealt: {decks}."
        visit.session.note(words)
        return goto(held.path)
    names = _names(visit)
    if isinstance(operator, SurveyOperator):
        closed = operator.close(names=names)
        told = {part: _announced(facts) for part, facts in closed.items()}
        sums = {part: one for part, one in told.items() if one is not None}
    else:
        sums = _announced(operator.close(ending=Ending(names=names)))
    visit.session.note(
        "The sums are told, and the key is burned. The file of sums that you were given goes to "
        "the collector's operator."
    )
    return download(json.dumps(sums), f"sums-{held.name[:8]}.json", "application/json")


def _announced(closed: dict[str, Any]) -> Any:
    """What this dealer told of its cards; None: of a part that is told nothing of."""
    return next((facts["announced"] for facts in closed.values() if "announced" in facts), None)


def _names(visit: Visit) -> dict[str, Any]:
    try:
        names = json.loads(visit.form.raw("names"))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, dict):
        raise DamagedError("names must be the file that the collector's operator gave")
    return names


def _check_sure(visit: Visit, words: str) -> None:
    if visit.form.get("sure") != "yes":
        raise ArgumentError(f"{words}: say that you are sure, by the box above it")


def _own_address(visit: Visit, held: HeldDocument) -> str:
    """Which of the addresses in a document is this server's, as its operator says or sees it."""
    addresses = held.dealers
    wished = visit.form.get("own")
    if wished:
        return checks.one_of("own", wished, addresses)
    return visit.origin if visit.origin in addresses else addresses[0]


def _inside(visit: Visit, held: HeldDocument) -> Admin:
    """This server, by the address that the document has for it."""
    return Admin(_own_address(visit, held), "", sender=visit.desk.sender)


def _operator(visit: Visit, held: HeldDocument) -> AnyOperator:
    """The operator of this server alone."""
    document, campaign = held.document, held.first_dealt
    inside = _inside(visit, held)
    is_alone = isinstance(campaign.dealer, DealerServer)
    mine = Operator(campaign, inside) if is_alone else Operator(campaign, None, None, (inside,))
    return SurveyOperator(document, mine) if isinstance(document, Survey) else mine
