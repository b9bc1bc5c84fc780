"""What each dealer's operator has to do for a survey, and how far they are.

How far is asked of the dealers themselves, by the route that answer pages use: no token is needed.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from starlette.responses import Response

from jrr.console.operators import known_tokens
from jrr.console.pages import PageRequest, page, read
from jrr.console.silent_dealers import UNOPENED, told_by
from jrr.console.snapshots import counts_of
from jrr.console.surveys import PATH, survey_of
from jrr.protocol.states import CLOSED
from jrr.survey.survey import Survey


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
