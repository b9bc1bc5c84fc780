"""Tests of surveys: the documents that they share."""

from typing import Any

from jrr import Mechanism
from jrr.dealing.kinds import Dealers, Nobody
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft, one_question
from jrr.survey.survey import Survey

DEALER, COLLECTOR = "https://dealer.example", "https://collector.example:8443/here"


def survey_by(mechanism: Mechanism, **more: Any) -> Survey:
    """A survey of one question, "answer", by a mechanism."""
    asked = one_question(
        more.pop("question", "Do you?"),
        labels=tuple(f"answer {value}" for value in range(mechanism.k)),
        groups=more.pop("groups", None),
    )
    settings: dict[str, Any] = {
        "title": asked.title,
        "languages": asked.languages,
        "questions": tuple(question.as_asked for question in asked.questions),
        "mechanisms": {"answer": mechanism},
        "dealing": Dealers((DEALER,)) if mechanism.deals else Nobody(),
        "collector": COLLECTOR,
        "capacity": 1_000,
        "colluders": 2 if mechanism.deals else 0,
        "consent": {"en": "{cost}"},
    }
    return Survey(**(settings | more))


def asked(*questions: dict[str, Any], **more: Any) -> Draft:
    """A draft of these questions."""
    return Draft.from_dict({"title": "T", "questions": list(questions)} | more)


def survey_of(draft: Draft, people: int = 200, **more: Any) -> Survey:
    """The survey that is planned for a draft."""
    dealers = more.pop("dealers", (DEALER,))
    options: dict[str, Any] = {"dealing": Dealers(dealers) if dealers else Nobody()} | more
    return SurveyRequest(draft=draft, people=people, collector=COLLECTOR, **options).survey()
