"""Laws of the loss against an adversary who has everything but the target, checked and bounded."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.privacy import loss
from jrr.privacy.binomial import ULP
from jrr.privacy.informed.dealt import losses_of_dealt
from jrr.privacy.informed.distribution import LossDistribution, Losses, least_epsilon
from jrr.privacy.informed.joint import cases_of_joint
from jrr.privacy.informed.prior import Beta, check_frequency
from jrr.privacy.loss import DealtLaw, IndependentLaw, JointLaw

_MOST = 10_000_000  # contributors; beyond, laws are slow, and bounded by smaller ones
_MOST_TABLE = 200_000  # contributors of a composition with both values
_MOST_SCANNED = 5_000  # contributors for a scan of all compositions

Frequency = float | Beta | None


class Informed(Protocol):
    """What is needed of a mechanism here."""

    def losses(
        self, colluders: int = 0, *, ones: int | None = None, frequency: Frequency = None
    ) -> Losses | None:
        """The law of the loss; None where it is not known."""

    def compositions(self, colluders: int) -> Iterator[LossDistribution] | None:
        """That law for all that the others may hold, one by one."""

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        """The loss in a view."""


def loss_distribution(
    mechanism: Informed,
    ones: int | None = None,
    colluders: int = 0,
    frequency: Frequency = None,
) -> Losses:
    """Losses of the target against an adversary with all reports and everybody else's value.

    One full deck, everybody reported, every report attributable. ones: how many of the others,
    colluders aside, hold 1; without it the worst number counts, for DRR by a bound unless there
    are few people. colluders show their cards; the worst cards count. frequency: the others'
    values are not known but independent, 1 with this chance (0.5: a uniform prior), or with a
    chance that has a Beta prior.
    """
    law = mechanism.losses(colluders, ones=ones, frequency=frequency)
    if law is None:
        raise checks.refusal("mechanism", mechanism, "RR, JRR or DRR: no law is known for others")
    return law


def everything(
    mechanism: Informed,
    delta: float,
    ones: int | None = None,
    colluders: int = 0,
    frequency: Frequency = None,
    scan: bool = False,
) -> float:
    """The smallest ε, rounded up, that this adversary's view keeps at δ; δ = 0: the largest loss.

    Arguments as for `loss_distribution`; at δ = 0 a frequency in (0, 1) or a prior changes
    nothing, and the bound for known values is given. Where no law is known (unary encodings and
    OLH with cards) it is the view `dealer`, which has more. scan: compute every composition
    where `losses` is a bound, as for binary DRR: exact, and slow.
    """
    delta = checks.real("delta", delta, "in 0..1", 0.0, 1.0, open_high=True)
    if scan and ones is None and frequency is None:
        cases = mechanism.compositions(colluders)
        if cases is not None:
            reached = 0.0
            for case in cases:
                reached = least_epsilon(case, delta, reached)
            return reached
    law = mechanism.losses(colluders, ones=ones, frequency=frequency)
    return mechanism.epsilon("dealer") if law is None else law.epsilon(delta)


def check_scan(law: DealtLaw) -> None:
    """Refuse a scan of all compositions that has no end, or that no law is known for."""
    if law.k > 2 or law.n > _MOST_SCANNED:
        raise checks.refusal("scan", True, f"False for k > 2 or n > {_MOST_SCANNED}")


def independent_losses(law: IndependentLaw, colluders: int, frequency: Frequency) -> Losses:
    """Others' reports are independent of the target's: two atoms, and one that tells nothing."""
    check_frequency(frequency)
    checks.integer("colluders", colluders, 0)
    lie = Fraction(law.lie, SCALE)
    true, each = float(1 - lie), float(lie / (law.k - 1))
    rest = (law.k - 2) * each
    case = LossDistribution(
        np.array([true, each, rest]),
        np.array([each, true, rest]),
        8 * ULP,
        0.0,
        loss.independent(*law),
    )
    return Losses((case,), (case,), "all")


def joint_losses(law: JointLaw, ones: int | None, colluders: int, frequency: Frequency) -> Losses:
    """JRR and k-JRR: what the others hold does not matter."""
    prior, _ = _checked(law, ones, colluders, frequency)
    whole = law.n <= _MOST
    cases = tuple(cases_of_joint(law, colluders, prior, whole))
    if not whole:
        return Losses(cases, (), "bounded")
    return Losses(cases, cases, "all" if prior is None else "unknown, by the prior")


def dealt_losses(law: DealtLaw, ones: int | None, colluders: int, frequency: Frequency) -> Losses:
    """DRR: exact for a given composition or few people, otherwise a bound."""
    prior, ones = _checked(law, ones, colluders, frequency)
    if ones not in (None, 0, law.n - colluders - 1) and law.n > _MOST_TABLE:
        raise checks.refusal("n", law.n, f"at most {_MOST_TABLE} for these ones")
    return losses_of_dealt(law, ones, colluders, prior)


def _checked(
    law: JointLaw | DealtLaw, ones: int | None, colluders: int, frequency: Frequency
) -> tuple[Frequency, int | None]:
    """A prior and a number of ones that fit together and the deck, or a refusal."""
    prior = check_frequency(frequency)
    n = law.n
    checks.integer("colluders", colluders, 0, n - 1)
    if n > _MOST and (prior is not None or ones is not None):
        raise checks.refusal("n", n, f"at most {_MOST} with ones or a frequency")
    if (prior is not None or ones is not None) and law.k > 2:
        raise checks.refusal("k", law.k, "2 where ones or a frequency is given")
    if ones is None:
        return prior, None
    if prior is not None:
        raise checks.refusal("ones", ones, "None where a frequency is given")
    return prior, checks.integer("ones", ones, 0, n - colluders - 1)
