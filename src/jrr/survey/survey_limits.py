"""What a contributor accepts of a survey: all its answers count together with those before."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jrr._base.wording import show_guarantee
from jrr.errors import ProtocolError
from jrr.survey.spending import Expense, Spent, expense_of, total
from jrr.survey.surveys import SurveyPart

if TYPE_CHECKING:
    from jrr.survey.limits import Limits


def check_survey_limits(
    parts: Iterable[SurveyPart], limits: "Limits", before: Iterable[Expense] = ()
) -> Spent:
    """Refuse answers that cost more than is left of the contributor's own limits.

    Args:
        parts: Which would be answered.
        limits: What is accepted.
        before: What was spent, on other surveys and campaigns.

    Returns:
        What will have been spent afterwards.

    Raises:
        ProtocolError: That is more than the limits; the message says what each item costs.
    """
    asked, earlier = list(parts), list(before)
    after = total((*earlier, *(expense_of(part.campaign) for part in asked)), limits.delta)
    if not asked:
        return after
    costs = ", ".join(
        f"{part.name} {show_guarantee(part.campaign.cost, part.campaign.cost_delta)}"
        for part in asked
    )
    if after.epsilon > limits.epsilon:
        already = ""
        if earlier:
            spent = total(earlier, limits.delta)
            already = f", beside {show_guarantee(spent.epsilon, spent.delta)} spent before"
        raise ProtocolError(
            f"the survey would bring you to {show_guarantee(after.epsilon, after.delta)} against "
            f"the collector, who has all reports (view: everything), more than your limit "
            f"{limits.epsilon:.6g}{already}; its items cost: {costs}"
        )
    most = after.pure["dealer"]
    if limits.dealer is not None and most > limits.dealer:
        raise ProtocolError(
            f"the survey would bring you to {show_guarantee(most, 0.0)} against dealer and "
            f"collector together (view: dealer), more than your limit {limits.dealer:.6g}; against "
            f"the collector alone its items cost: {costs}"
        )
    return after
