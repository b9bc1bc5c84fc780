"""The draft of a survey that exists, to ask the same again or something like it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from jrr.survey.draft import Draft
from jrr.survey.promises import answers_by_question

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

_VIEW = "cards"  # in which a draft's ε is planned unless something else is said
# The editor shows weights with six digits, and a wave must not lose more than the one before it:
# where weights split the budget, a little less than all of it is planned.
_LESS = 1 - 1e-4


def draft_of(survey: "Survey") -> Draft:
    """What a survey asks, with the ε that it promises and that part of it for each question.

    A survey does not say which margins were wished for; the parts of the budget are its weights.
    """
    losses = {
        name: _rounded(survey.loss(_VIEW, answers))
        for name, answers in answers_by_question(survey).items()
    }
    is_even = len(set(losses.values())) == 1 or bool(survey.together)
    return Draft(
        title=survey.title,
        languages=survey.languages,
        questions=tuple(
            question
            if is_even or not question.sensitive
            else replace(question, weight=losses[question.name])
            for question in survey.questions
        ),
        epsilon=_rounded(survey.guarantee(_VIEW) * (1.0 if is_even else _LESS)),
        split="together" if survey.together else "even" if is_even else "weight",
        ask=survey.together[0].ask if survey.together else "auto",
        waves=survey.waves,
        cells=survey.cells,
        analyses=survey.analyses,
        by=survey.by,
        contact=survey.contact,
    )


def _rounded(loss: float) -> float:
    """Without what computing has added in the last digits."""
    return float(f"{loss:.6g}")
