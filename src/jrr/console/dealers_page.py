"""What each dealer's operator has to do for a survey, and how far they are.

How far is asked of the dealers themselves, by the route that answer pages use: no token is needed.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from jrr.client.http import Http
from jrr.console.counts import counts_of
from jrr.console.pages import PageRequest, page
from jrr.console.surveys import PATH, known_tokens, read, survey_of
from jrr.protocol.states import CLOSED, NEW
from jrr.protocol.steps import Call
from jrr.survey.survey import Survey

PATIENCE = 4.0  # seconds that a dealer has to say how far it is
SILENT, ABSENT = "no answer", "not there yet"
UNOPENED = (SILENT, ABSENT, NEW)  # states in which nobody is dealt a card, as far as we know


@dataclass(frozen=True, kw_only=True)
class DealerSteps:
    """One dealer, and which steps are done there."""

    address: str
    state: str  # as it says itself, or that it does not
    is_open: bool  # or was
    is_burned: bool
    is_extended: bool | None  # as here; None: nothing was extended
    is_token_here: bool  # whether the researcher typed its token in: then these pages do all this


@page(f"{PATH}/dealers")
def _dealers(request: PageRequest) -> Response:
    survey = survey_of(request)
    return request.page(
        "dealers.html",
        survey=survey,
        tab="dealers",
        rows=_steps(request, survey),
        known=known_tokens(request, survey),
        counts=read(request.console, counts_of, survey),
    )


def _steps(request: PageRequest, survey: Survey) -> list[DealerSteps]:
    with ThreadPoolExecutor(max(1, len(survey.dealing.addresses))) as pool:
        found = pool.map(lambda address: told_by(address, survey), survey.dealing.addresses)
        states = [(str(told["state"])[:20], told.get("closes")) for told in found]
    here = read(request.console, counts_of, survey).closes
    return [
        DealerSteps(
            address=address,
            state=state,
            is_open=state not in UNOPENED,
            is_burned=state == CLOSED,
            is_extended=None if here == survey.closes else closes == here,
            is_token_here=address in request.session.dealer_tokens,
        )
        for address, (state, closes) in zip(survey.dealing.addresses, states, strict=True)
    ]


def state_at(address: str, survey: Survey) -> str:
    """How far a dealer says that a survey is."""
    return str(told_by(address, survey)["state"])[:20]


def told_by(address: str, survey: Survey) -> dict[str, Any]:
    """What a dealer says of a survey to anybody; of its state in any case something."""
    reply = Http(timeout=PATIENCE).call(Call(f"{address}{survey.path}/status"))
    if reply.status == 404:
        return {"state": ABSENT}
    try:
        told = json.loads(reply.body) if reply.status == 200 else {}
    except (ValueError, RecursionError):
        told = {}
    return {"state": SILENT} | told if isinstance(told, dict) else {"state": SILENT}
