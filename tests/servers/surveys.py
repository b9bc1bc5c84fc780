"""Small surveys for servers."""

from typing import Any

from jrr.dealing.interface import Dealing
from jrr.dealing.kinds import Dealers
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey

DEALER, COLLECTOR = "https://dealer.example", "https://collector.example"
SECTOR = {
    "name": "sector",
    "kind": "choice",
    "labels": ["office", "workshop"],
    "text": "Where?",
    "sensitive": False,
}


def survey_of(
    questions: int = 1,
    *,
    people: int = 20,
    dealing: Dealing | None = None,
    mechanism: str = "mrr",
    **more: Any,
) -> Survey:
    """So many yes-no questions q0, q1, …, after the open question `sector`; for anybody."""
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"{at}?"} for at in range(questions)]
    draft = {"title": "T", "epsilon": float(questions), "questions": [SECTOR, *asked]}
    given: dict[str, Any] = {
        "colluders": 0,
        "min_cell": 5,
        "invitations": False,
        "collector": COLLECTOR,
        "verified": False,  # reports are made up
    }
    return SurveyRequest(
        draft=Draft.from_dict(draft),
        people=people,
        dealing=Dealers((DEALER,)) if dealing is None else dealing,
        mechanism=mechanism,
        **(given | more),
    ).survey()
