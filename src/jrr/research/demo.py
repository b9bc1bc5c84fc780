"""A whole survey in one process: plan, deal, respond, tally, estimate, several ways at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.estimation.estimates import Estimate
from jrr.mechanisms.base import Cards, Mechanism, Rng
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.request import LOST
from jrr.planning.plans import Plan, plan

FAMILIES = ("rr", "jrr", "drr", "mrr")
VANISHING = LOST  # the share of people who take a card and never report: what plans expect


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
    truth: float  # the true share of yes among those who report
    vanished: int  # people who took a card and never reported
    chosen: str  # which outcome the plan would have picked
    outcomes: dict[str, DemoRun]


def run(
    n: int = 10_000,
    yes: float = 0.1,
    epsilon: float = 1.0,
    colluders: int = 5,
    dealer_epsilon: float | None = None,
    mechanism: str = "auto",
    vanishing: float = VANISHING,
    rng: Rng = None,
    progress: Callable[[str], None] = lambda step: None,
) -> DemoSurvey:
    """Ask n people, of whom a share `yes` would truthfully say yes; value 1 is yes.

    A share `vanishing` of them takes a card and is never heard of again.
    """
    n = checks.integer("n", n, 2)
    yes = checks.real("yes", yes, "in 0..1", 0.0, 1.0)
    vanishing = checks.real("vanishing", vanishing, "in 0..0.9", 0.0, 0.9)
    reporters = n - round(vanishing * n)
    values = (np.arange(reporters) < round(yes * reporters)).astype(np.uint8)

    def planned(family: str) -> Plan:
        progress(f"planning {family}")
        return plan(
            n,
            epsilon,
            colluders,
            dealer_epsilon=dealer_epsilon,
            mechanism=family,
            lost=vanishing,
        )

    plans = {family: planned(family) for family in FAMILIES}
    chosen = planned(mechanism).mechanism
    outcomes = {}
    for family, family_plan in plans.items():
        progress(f"dealing {family} cards")
        cards = family_plan.mechanism.deal(rng)
        progress(f"asking {reporters:,} people by {family}")
        outcomes[family] = DemoRun(family_plan, _asked(family_plan.mechanism, cards, values, rng))
    picked = next(
        family for family, family_plan in plans.items() if family_plan.mechanism == chosen
    )
    return DemoSurvey(n, float(values.mean()), n - reporters, picked, outcomes)


def _asked(
    mechanism: Mechanism, cards: Cards | None, values: NDArray[np.uint8], rng: Rng
) -> Estimate:
    """Those who report answer; of masked reports the dealer then announces the sum of the masks."""
    reports = mechanism.respond(values, None if cards is None else cards[: len(values)], rng)
    if isinstance(mechanism, MRR) and mechanism.announced and cards is not None:
        announced = mechanism.announce(cards, np.arange(len(values)), rng)
        return mechanism.estimate(reports, announced=announced)
    return mechanism.estimate(reports)
