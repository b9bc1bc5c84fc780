"""What somebody's answers can tell about them: one answer, one wave, the whole study.

Two adversaries are told apart, in two columns: the collector by itself, and the collector together
with whoever deals the cards. Plans, consent texts, reports, the console and `jrr plan explain` take
their figures from here; the answer page computes the same table in clients/js/src/costs.js.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

PRIOR = 0.1  # the guess whose change illustrates an ε
_MOST_DECIMALS = 6  # of a share: 99.9999% is the largest belief that is not shown as certain


def added(losses: Iterable[float]) -> float:
    """The smallest float that is not below the sum of these losses."""
    listed = list(losses)
    total = math.fsum(listed)
    if math.isinf(total) or Fraction(total) >= sum(map(Fraction, listed)):
        return total
    return math.nextafter(total, math.inf)


def belief(epsilon: float, prior: float = PRIOR) -> float:
    """The strongest belief that somebody who thought `prior` likely can come to."""
    if epsilon > 700:  # e^ε is more than a float holds
        return 1.0
    odds = prior / (1 - prior) * math.exp(epsilon)
    return odds / (1 + odds)


def rounded_belief(epsilon: float, prior: float = PRIOR) -> float:
    """The strongest belief as a share to show: rounded up, and 1 only where it is all but certain.

    Example:
        >>> rounded_belief(1.0), rounded_belief(12.0)
        (0.232, 0.99995)
    """
    share = belief(epsilon, prior)
    for decimals in range(3, _MOST_DECIMALS + 1):
        scale = 10.0**decimals
        shown = math.ceil(scale * share) / scale
        if shown < 1:
            return shown
    return 1.0


def people_of_100(epsilon: float) -> int:
    """Of 100 people who sent the same, how many may hold what 10 of 100 hold; rounded up.

    Example:
        >>> people_of_100(0.0), people_of_100(1.0), people_of_100(math.inf)
        (10, 24, 100)
    """
    return math.ceil(100 * belief(epsilon))


@dataclass(frozen=True)
class CostCell:
    """What one adversary can learn at most."""

    epsilon: float
    delta: float  # at which it holds; 0: always
    view: str  # what the adversary has, as in Mechanism.epsilon
    certain: float  # a loss that is never exceeded: from it beliefs are computed

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        unbounded = math.isinf(self.epsilon)
        return {
            "epsilon": "unbounded" if unbounded else self.epsilon,
            "delta": self.delta,
            "view": self.view,
            "prior": PRIOR,
            "belief": self.belief,
        }

    @property
    def belief(self) -> float:
        """What a guess of `PRIOR` can become, as it is shown: never too small."""
        return rounded_belief(self.certain)

    @property
    def people(self) -> int:
        """The same as a number of people, of 100 who sent the same."""
        return people_of_100(self.certain)


@dataclass(frozen=True)
class CostRow:
    """What some of a person's answers tell the collector alone, and with the dealers' help."""

    collector: CostCell
    together: CostCell


def cost_row(epsilon: float, delta: float, view: str, dealer_epsilon: float | None) -> CostRow:
    """A row of the table.

    Args:
        epsilon: What the collector learns.
        delta: At which that holds; 0: always.
        view: What the collector has.
        dealer_epsilon: What dealers and collector learn together; None: nobody deals cards.

    Returns:
        The row; in it the stronger adversary never has the smaller figure.
    """
    if dealer_epsilon is None:
        alone = CostCell(epsilon, delta, view, epsilon)
        return CostRow(alone, alone)
    most = max(epsilon, dealer_epsilon)
    # A loss that holds at a δ bounds no belief; what is learnt with the card known does.
    collector = CostCell(epsilon, delta, view, most if delta else epsilon)
    return CostRow(collector, CostCell(most, 0.0, "dealer", most))


@dataclass(frozen=True, kw_only=True)
class CostTable:
    """The whole table."""

    answer: CostRow  # of the question that tells most
    wave: CostRow  # all answers of this wave
    study: CostRow  # all waves
    questions: int  # whose answers are changed
    wave_number: int = 1
    waves: int = 1

    @property
    def deals(self) -> bool:
        """Whether cards matter in any row, so that two adversaries differ."""
        return self.study.together.view == "dealer"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: all three rows."""
        rows = {"answer": self.answer, "wave": self.wave, "study": self.study}
        cells = ("collector", "together")
        return {
            name: {cell: getattr(row, cell).to_dict() for cell in cells}
            for name, row in rows.items()
        }

    @property
    def rows(self) -> dict[str, CostRow]:
        """The rows that say different things: `answer`, `wave`, `study` or, of one wave, `all`."""
        found = {"answer": self.answer}
        if self.waves > 1:
            if self.questions > 1:
                found["wave"] = self.wave
            found["study"] = self.study
        elif self.questions > 1:
            found["all"] = self.study
        return found


def same_in_every_wave(answer: CostRow, wave: CostRow, questions: int, waves: int = 1) -> CostTable:
    """The table where every wave costs what this one does."""
    collector, together = wave.collector, wave.together
    study = cost_row(
        added([collector.epsilon] * waves),
        added([collector.delta] * waves),
        collector.view,
        added([together.epsilon] * waves) if together.view == "dealer" else None,
    )
    return CostTable(answer=answer, wave=wave, study=study, questions=questions, waves=waves)
