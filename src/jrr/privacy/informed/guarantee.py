"""What is offered for any mechanism: the law of its loss in this view, and ε at δ."""

from typing import TYPE_CHECKING

from jrr._base import checks
from jrr.privacy.informed.distribution import Frequency, Losses, least_epsilon

if TYPE_CHECKING:
    from jrr.mechanisms.parts.describing import Accounting


def loss_distribution(
    mechanism: "Accounting",
    ones: int | None = None,
    colluders: int = 0,
    frequency: Frequency = None,
) -> Losses:
    """Losses of the target against an adversary with all reports and everybody else's value.

    One full deck, everybody reported, every report attributable.

    Args:
        mechanism: whose reports the adversary has.
        ones: how many of the others, colluders aside, hold 1; without it the worst number counts,
            for DRR by a bound unless there are few people.
        colluders: who show their cards; the worst cards count.
        frequency: the others' values are not known but independent, 1 with this chance (0.5: a
            uniform prior), or with a chance that has a Beta prior; None: they are known.
    """
    law = mechanism.losses(colluders, ones=ones, frequency=frequency)
    if law is None:
        raise checks.refusal("mechanism", mechanism, "RR, JRR or DRR: no law is known for others")
    return law


def everything(
    mechanism: "Accounting",
    delta: float,
    ones: int | None = None,
    colluders: int = 0,
    frequency: Frequency = None,
    scan: bool = False,
) -> float:
    """The smallest ε, rounded up, that this adversary's view keeps at δ; δ = 0: the largest loss.

    At δ = 0 a frequency in (0, 1) or a prior changes nothing, and the bound for known values is
    given. Where no law is known (unary encodings and OLH with cards) it is the view `dealer`, which
    has more.

    Args:
        mechanism: whose reports the adversary has.
        delta: the chance that is left out.
        ones: as for `loss_distribution`.
        colluders: as for `loss_distribution`.
        frequency: as for `loss_distribution`.
        scan: compute every composition where `losses` is a bound, as for binary DRR: exact, and
            slow.
    """
    delta = checks.delta(delta)
    if scan and ones is None and frequency is None:
        cases = mechanism.compositions(colluders)
        if cases is not None:
            reached = 0.0
            for case in cases:
                reached = least_epsilon(case, delta, reached)
            return reached
    law = mechanism.losses(colluders, ones=ones, frequency=frequency)
    return mechanism.epsilon("dealer") if law is None else law.epsilon(delta)
