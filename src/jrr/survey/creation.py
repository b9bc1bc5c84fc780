"""From a plan to a campaign."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jrr._base import checks
from jrr.errors import JrrError
from jrr.planning.plans import Plan, plan
from jrr.survey.campaign import ARRIVAL, ENROL, Campaign

_DOUBLINGS, _MOST = 10, 10**12  # how far to look for a number of people that has cards


def planned_for(people: int, dealing: str, k: int = 2) -> int:
    """The n to plan for, so that the guarantee holds for the decks that will be dealt.

    Enrolment fixes n later. A deck that does not come out even (an odd number of signs, or of
    decoys that k does not divide) hides a little less than its neighbours, and larger decks more
    than smaller ones. Planning for the largest n at or below the fewest people that is one short
    of even in both ways makes the promise hold for every larger n.
    """
    people = checks.integer("n", people, 2)
    if dealing != ENROL:
        return people
    period = math.lcm(2, k)
    least = max(period - 1, 3)
    if people < least:
        raise checks.refusal("n", people, f"at least {least} where enrolment fixes it")
    return max(least, people - (people + 1) % period)


def campaign_from(
    made: Plan,
    question: str,
    labels: Sequence[str],
    collector: str,
    dealer: str | Mapping[str, Any] | None = None,
    dealing: str = ARRIVAL,
    capacity: int | None = None,
    covariates: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> Campaign:
    """The campaign that asks a question by a plan's mechanism."""
    deals = made.mechanism.deals
    if deals and dealer is None:
        raise JrrError("dealer must be an address or a committee: the mechanism deals cards")
    who = {"kind": "server", "url": dealer} if isinstance(dealer, str) else dealer
    if len(labels) != made.request.k:
        raise checks.refusal("labels", list(labels), f"{made.request.k} labels, one per answer")
    least = made.request.n
    if capacity is None:
        capacity = least if dealing == ARRIVAL else 10 * least
    return Campaign(
        question,
        tuple(labels),
        made.mechanism,
        (who or {}) if deals else {"kind": "none"},
        collector,
        made.request.colluders if deals else 0,
        dealing,
        capacity,
        covariates={name: tuple(values) for name, values in (covariates or {}).items()},
        **more,
    )


def more_people(people: int, dealing: str, epsilon: float, **options: Any) -> int | None:
    """A number of people, larger than this one, whose plan deals cards; None where none is found.

    Between a number that has them and half of it, the search takes cards to be for all larger
    numbers; decks that do not come out even may spoil that, but never what is returned.
    """

    def deals(n: int) -> bool:
        made = plan_for(n, dealing, epsilon, **options)
        return made.mechanism.deals

    tried = (people << times for times in range(1, _DOUBLINGS + 1))
    found = next((n for n in tried if n <= _MOST and deals(n)), None)
    if found is None:
        return None
    without = max(people, found // 2)
    while found - without > 1:
        middle = (found + without) // 2
        found, without = (middle, without) if deals(middle) else (found, middle)
    return found


def plan_for(people: int, dealing: str, epsilon: float, **options: Any) -> Plan:
    """A plan for a campaign; see `planned_for`."""
    return plan(planned_for(people, dealing, options.get("k", 2)), epsilon, **options)
