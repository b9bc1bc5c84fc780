"""The consent text of a survey: what people are told before they answer, in every language."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jrr._base import checks
from jrr.reporting.lay import SurveyFacts, consent_text
from jrr.survey.costs import answers_by_question
from jrr.survey.promises import EVERYTHING

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


def consent_of(survey: "Survey", written: Mapping[str, str] | None = None) -> dict[str, str]:
    """The text in every language of a survey.

    Args:
        survey: What is asked and promised.
        written: Texts of one's own by language, to which what it costs is added.

    Raises:
        ArgumentError: A language has no text.
    """
    found = {}
    for language in survey.languages:
        text = consent_text(facts_of(survey, language), language)
        if written is not None:  # who writes their own cannot leave out what it costs
            if language not in written:
                raise checks.refusal("consent", sorted(written), f"with one for {language}")
            text = f"{written[language].rstrip()}\n\n{text}"
        found[language] = text
    return found


def facts_of(survey: "Survey", language: str) -> SurveyFacts:
    """What people are told of a survey's cost, with the texts of one of its languages."""
    texts = {question.name: question.text[language] for question in survey.questions}
    at_delta = survey.cost_view == EVERYTHING
    costs = [
        (
            texts[name],
            survey.loss(survey.cost_view, answers),
            survey.delta_of(answers) if at_delta else 0.0,
        )
        for name, answers in answers_by_question(survey).items()
    ]
    return SurveyFacts(
        costs=survey.costs,
        deals=survey.deals,
        questions=costs,
        open_questions=tuple(question.text[language] for question in survey.open),
        by=None if survey.by is None else survey.by[language],
        contact=None if survey.contact is None else survey.contact[language],
    )
