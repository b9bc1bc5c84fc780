"""The first page: every survey of this collector, what became of it, and drafts."""

from starlette.responses import Response
from starlette.routing import Route

from jrr.console.counts import counts_of
from jrr.console.desk import Desk, Visit, page
from jrr.console.drafts import all_drafts
from jrr.console.held import all_held, read
from jrr.protocol.states import CLOSED, OPEN

_ORDER = {OPEN: 0, CLOSED: 2}


def routes(desk: Desk) -> list[Route]:
    """Its address."""
    return [page(desk, "/", _home)]


def _home(visit: Visit) -> Response:
    held = read(visit.desk, all_held)
    found = [(one, read(visit.desk, counts_of, one.document)) for one in held]
    found.sort(key=lambda one: (_ORDER.get(one[1].state, 1), one[0].title.casefold()))
    return visit.page("home.html", found=found, drafts=read(visit.desk, all_drafts))
