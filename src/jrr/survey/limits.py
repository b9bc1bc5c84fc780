"""What a contributor accepts, for all answers together, and what has been spent of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from jrr._base.wording import show_guarantee
from jrr.errors import ProtocolError
from jrr.survey.promises import DELTA
from jrr.survey.sensitive import SensitiveQuestion, counted
from jrr.survey.spending import Expense, Spent, expenses_of, total


@dataclass(frozen=True)
class Limits:
    """What a contributor accepts, whatever a survey says."""

    epsilon: float  # most ε at `delta` against the collector, over all answers
    dealer: float | None = None  # most ε against dealer and collector together, over all answers
    patience: float = 30.0  # seconds to wait for a card, and for the collector
    delta: float = DELTA  # of all answers together


def check_limits(
    answers: Iterable[SensitiveQuestion], limits: Limits, before: Iterable[Expense] = ()
) -> Spent:
    """Refuse answers that cost more than is left of the contributor's own limits.

    Args:
        answers: Which would be given.
        limits: What is accepted.
        before: What was spent, on this and on other surveys.

    Returns:
        What will have been spent afterwards.

    Raises:
        ProtocolError: That is more than the limits; the message says what each answer costs.
    """
    asked, earlier = list(answers), list(before)
    after = total((*earlier, *expenses_of(asked)), limits.delta)
    if not asked:  # nothing is added: what was made before is only sent again
        return after
    costs = ", ".join(
        f"{one.name} {show_guarantee(one.cost, one.cost_delta)}" for one in counted(asked)
    )
    already = ""
    if earlier:
        spent = total(earlier, limits.delta)
        already = f", beside {show_guarantee(spent.epsilon, spent.delta)} spent before"
    if after.epsilon > limits.epsilon:
        raise ProtocolError(
            f"the survey would bring you to {show_guarantee(after.epsilon, after.delta)} against "
            f"the collector, who has all reports (view: everything), more than your limit "
            f"{limits.epsilon:.6g}{already}; its answers cost: {costs}"
        )
    most = after.pure["dealer"]
    if limits.dealer is not None and most > limits.dealer:
        raise ProtocolError(
            f"the survey would bring you to {show_guarantee(most, 0.0)} against dealer and "
            f"collector together (view: dealer), more than your limit {limits.dealer:.6g}{already}"
            f"; against the collector alone its answers cost: {costs}"
        )
    return after
