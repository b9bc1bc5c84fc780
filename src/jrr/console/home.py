"""The first page: every survey of this collector, how many have answered, and drafts."""

from starlette.responses import Response

from jrr.console.drafts import all_drafts
from jrr.console.pages import PageRequest, page, read
from jrr.console.snapshots import count_invited, counts_of
from jrr.console.survey_texts import name_of
from jrr.console.surveys import all_surveys, deleted_surveys
from jrr.protocol.states import CLOSED, OPEN

_ORDER = {OPEN: 0, CLOSED: 2}


@page("/")
def _home(request: PageRequest) -> Response:
    console = request.console
    rows = [
        (survey, read(console, counts_of, survey), read(console, count_invited, survey))
        for survey in read(console, all_surveys)
    ]
    rows.sort(key=lambda row: (_ORDER.get(row[1].state, 1), name_of(row[0]).casefold()))
    return request.page(
        "home.html",
        rows=rows,
        drafts=read(console, all_drafts),
        deleted=read(console, deleted_surveys),
    )
