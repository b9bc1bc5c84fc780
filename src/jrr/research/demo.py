"""A whole survey in one process: plan, deal, respond, tally, estimate, several ways at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jrr._base import checks
from jrr.estimation.estimates import Estimate
from jrr.mechanisms.base import Mechanism, Rng
from jrr.planning.plans import Plan, plan

FAMILIES = ("rr", "jrr", "drr")


@dataclass(frozen=True)
class DemoRun:
    """One mechanism's run of the survey."""

    plan: Plan
    estimate: Estimate

    @property
    def mechanism(self) -> Mechanism:
        """What was run."""
        return self.plan.mechanism


@dataclass(frozen=True)
class DemoSurvey:
    """The same question asked through several mechanisms."""

    n: int
    truth: float  # the true share of yes
    chosen: str  # which outcome the plan would have picked
    outcomes: dict[str, DemoRun]


def run(
    n: int = 10_000,
    yes: float = 0.1,
    epsilon: float = 0.1,
    colluders: int = 5,
    dealer_epsilon: float | None = None,
    mechanism: str = "auto",
    rng: Rng = None,
    progress: Callable[[str], None] = lambda step: None,
) -> DemoSurvey:
    """Ask n people, of whom a share `yes` would truthfully say yes; value 1 is yes."""
    n = checks.integer("n", n, 2)
    yes = checks.real("yes", yes, "in 0..1", 0.0, 1.0)
    values = (np.arange(n) < round(yes * n)).astype(np.uint8)

    def planned(family: str) -> Plan:
        progress(f"planning {family}")
        return plan(n, epsilon, colluders, dealer_epsilon=dealer_epsilon, mechanism=family)

    plans = {family: planned(family) for family in FAMILIES}
    chosen = planned(mechanism).mechanism
    outcomes = {}
    for family, family_plan in plans.items():
        progress(f"dealing {family} cards")
        cards = family_plan.mechanism.deal(rng)
        progress(f"asking {n:,} people by {family}")
        reports = family_plan.mechanism.respond(values, cards, rng)
        outcomes[family] = DemoRun(family_plan, family_plan.mechanism.estimate(reports))
    picked = next(
        family for family, family_plan in plans.items() if family_plan.mechanism == chosen
    )
    return DemoSurvey(n, float(values.mean()), picked, outcomes)
