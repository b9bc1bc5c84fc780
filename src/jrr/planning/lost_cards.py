"""What lost cards cost: error against the share of cards that are dealt and never reported with.

Noise that cards were to cancel stays where a card is lost. Each mechanism is planned for the share
that the request expects, and looked at where another share is lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.registry import families
from jrr.planning.plans import Plan, stderr

SHARES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3)
COMPARED = ("rr", "jrr", "drr")  # beside both ways of MRR


@dataclass(frozen=True, kw_only=True)
class LostCards:
    """Expected standard errors where one share of the cards is lost."""

    lost: float
    stderr: Mapping[str, float]  # by the mechanism's name


def lost_cards(plan: Plan, shares: Sequence[float] = SHARES) -> list[LostCards]:
    """One row for each share that is lost.

    Example:
        >>> import jrr
        >>> row = lost_cards(jrr.plan(10_000, 1.0), [0.1])[0]
        >>> row.stderr["MRR, announced"] < 0.3 * row.stderr["RR"]
        True
    """
    request = plan.request
    known = families()
    made: dict[str, Mechanism] = {
        known[key].label: known[key].best(request) for key in COMPARED if key in known
    }
    for name, announced in (("MRR, closed deck", False), ("MRR, announced", True)):
        made[name] = known["mrr"].best(replace(request, announced=announced))
    return [
        LostCards(
            lost=share,
            stderr={
                name: stderr(mechanism, replace(request, lost=share))
                for name, mechanism in made.items()
            },
        )
        for share in shares
    ]
