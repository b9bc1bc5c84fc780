"""What a contributor accepts, for all answers together, and what has been spent of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from jrr._base.wording import show_guarantee
from jrr.errors import ProtocolError
from jrr.survey.campaign import Campaign
from jrr.survey.promises import DELTA
from jrr.survey.spending import Expense, Spent, expense_of, total


@dataclass(frozen=True)
class Limits:
    """What a contributor accepts, whatever a campaign says."""

    epsilon: float  # most ε at `delta` against the collector, over all answers
    dealer: float | None = None  # most ε against dealer and collector together, over all answers
    patience: float = 30.0  # seconds to wait for a card, and for the collector
    delta: float = DELTA  # of all answers together


def check_limits(
    campaign: Campaign,
    limits: Limits,
    before: Iterable[Expense] = (),
    answered: bool = False,
) -> Spent:
    """Refuse a campaign that costs more than is left of the contributor's own limits.

    Args:
        campaign: Which would be answered.
        limits: What is accepted.
        before: What was spent, in this and in other campaigns.
        answered: Whether it was answered before, so that the same report is only sent again.

    Returns:
        What will have been spent afterwards.

    Raises:
        ProtocolError: That is more than the limits.
    """
    earlier = list(before)
    if answered:  # nothing is added
        return total(earlier, limits.delta)
    after = total((*earlier, expense_of(campaign)), limits.delta)
    if after.epsilon > limits.epsilon:
        raise ProtocolError(
            f"an answer costs you {campaign.cost_line}{_shown_before(earlier, limits)}: in all "
            f"{show_guarantee(after.epsilon, after.delta)}, more than your limit "
            f"{limits.epsilon:.6g}"
        )
    most = after.pure["dealer"]
    if limits.dealer is not None and most > limits.dealer:
        raise ProtocolError(
            f"the campaign would bring you to {show_guarantee(most, 0.0)} against dealer and "
            f"collector together (view: dealer), over {after.answers} answers: more than your "
            f"limit {limits.dealer:.6g}"
        )
    return after


def _shown_before(earlier: list[Expense], limits: Limits) -> str:
    if not earlier:
        return ""
    spent = total(earlier, limits.delta)
    return f", beside {show_guarantee(spent.epsilon, spent.delta)} that you have spent before"
