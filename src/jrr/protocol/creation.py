"""From a plan to a campaign."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jrr import checks
from jrr.errors import JrrError
from jrr.plan import Plan, plan
from jrr.protocol.campaign import ARRIVAL, ENROL, Campaign


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
    deals = made.mechanism.moments.deck is not None
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


def plan_for(people: int, dealing: str, epsilon: float, **options: Any) -> Plan:
    """A plan for a campaign; see `planned_for`."""
    return plan(planned_for(people, dealing, options.get("k", 2)), epsilon, **options)
