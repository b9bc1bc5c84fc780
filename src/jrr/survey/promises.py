"""What an answer costs its contributor, as a survey promises it, and all answers as one table.

The collector of a real survey has all reports. Whatever is called "against the collector" is
therefore the view "everything", with its δ; the view "cards" is of somebody who has one report.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from jrr.mechanisms.informed_search import losses_of_everything
from jrr.privacy.cost_table import CostRow, CostTable, cost_row
from jrr.survey.study import WaveLoss

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey


DELTA = 1e-6  # of the view "everything", unless a survey or a contributor says otherwise
EVERYTHING = "everything"
COST = "{cost}"  # the gap in a consent text, which whoever shows it fills


@lru_cache(maxsize=256)
def informed_epsilon(mechanism: "Mechanism", colluders: int, delta: float) -> float:
    """ε at δ against a collector that has all reports and knows everybody else's answer.

    Never too small. Without cards nobody else matters, and what one report loses holds outright;
    so does what masked reports lose.
    """
    if mechanism.pure:
        return mechanism.epsilon("cards", colluders if mechanism.deals else 0)
    law = losses_of_everything(mechanism, colluders)
    return mechanism.epsilon("dealer") if law is None else law.epsilon(delta)


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
