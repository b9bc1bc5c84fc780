"""What the answers to a survey can tell about somebody, as one table."""

from typing import TYPE_CHECKING

from jrr.privacy.cost_table import CostRow, CostTable, cost_row
from jrr.survey.promises import EVERYTHING
from jrr.survey.study import WaveLoss

if TYPE_CHECKING:
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey


def answers_by_question(survey: "Survey") -> dict[str, list["SensitiveQuestion"]]:
    """The perturbed answers of every sensitive question."""
    found: dict[str, list[SensitiveQuestion]] = {}
    for one in survey.sensitive:
        found.setdefault(one.asked.name, []).append(one)
    return found


def answers_by_entry(survey: "Survey") -> dict[tuple[str, ...], list["SensitiveQuestion"]]:
    """The same, with questions that share a coin as one entry of several names."""
    sharing = {name: one.questions for one in survey.together for name in one.questions}
    found: dict[tuple[str, ...], list[SensitiveQuestion]] = {}
    for name, answers in answers_by_question(survey).items():
        found.setdefault(sharing.get(name, (name,)), []).extend(answers)
    return found


def cost_table(survey: "Survey") -> CostTable:
    """What one answer, this wave and all waves can tell, and whom."""
    view, groups = survey.cost_view, list(answers_by_question(survey).values())
    answer = WaveLoss(
        max(survey.loss(EVERYTHING, some) for some in groups),
        max(map(survey.delta_of, groups)),
        max(survey.loss("dealer", some) for some in groups),
    )
    dealt_before = any(one.loss.has_cards for one in survey.earlier)
    study_view = EVERYTHING if view == "report" and dealt_before else view
    return CostTable(
        answer=_row(answer, view, survey.deals),
        wave=_row(survey.losses, view, survey.deals),
        study=_row(survey.whole_study.promised, study_view, survey.deals or dealt_before),
        questions=len(groups),
        wave_number=survey.wave,
        waves=survey.waves,
    )


def _row(loss: WaveLoss, view: str, deals: bool) -> CostRow:
    if not deals:  # nobody else's reports or cards matter
        return cost_row(loss.everything, 0.0, view, None)
    if view != EVERYTHING:  # the collector, or a stranger, may know the card
        return cost_row(loss.dealer, 0.0, view, loss.dealer)
    return cost_row(loss.everything, loss.delta, view, loss.dealer)
