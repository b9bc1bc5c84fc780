"""What is offered: the loss distribution against an adversary who has everything but the target."""

from fractions import Fraction

import numpy as np

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.privacy.binomial import ULP
from jrr.privacy.informed.dealt import all_compositions, losses_of_dealt
from jrr.privacy.informed.distribution import LossDistribution, Losses, least_epsilon
from jrr.privacy.informed.joint import cases_of_joint
from jrr.privacy.informed.prior import Beta, check_frequency

_MOST = 10_000_000  # contributors; beyond, laws are slow, and bounded by smaller ones
_MOST_TABLE = 200_000  # contributors of a composition with both values
_MOST_SCANNED = 5_000  # contributors for a scan of all compositions


def loss_distribution(
    mechanism: Mechanism,
    ones: int | None = None,
    colluders: int = 0,
    frequency: float | Beta | None = None,
) -> Losses:
    """Losses of the target against an adversary with all reports and everybody else's value.

    One full deck, everybody reported, every report attributable. ones: how many of the others,
    colluders aside, hold 1; without it the worst number counts, for DRR by a bound unless there
    are few people. colluders show their cards; the worst cards count. frequency: the others'
    values are not known but independent, 1 with this chance (0.5: a uniform prior), or with a
    chance that has a Beta prior.
    """
    prior = check_frequency(frequency)
    if isinstance(mechanism, RR):
        checks.integer("colluders", colluders, 0)
        alone = (_of_rr(mechanism),)
        return Losses(alone, alone, "all")
    if not isinstance(mechanism, JRR | DRR):
        raise checks.refusal("mechanism", mechanism, "RR, JRR or DRR: no law is known for others")
    known = checks.integer("colluders", colluders, 0, mechanism.n - 1)
    if mechanism.n > _MOST and (prior is not None or ones is not None):
        raise checks.refusal("n", mechanism.n, f"at most {_MOST} with ones or a frequency")
    if (prior is not None or ones is not None) and mechanism.k > 2:
        raise checks.refusal("k", mechanism.k, "2 where ones or a frequency is given")
    if ones is not None:
        if prior is not None:
            raise checks.refusal("ones", ones, "None where a frequency is given")
        ones = checks.integer("ones", ones, 0, mechanism.n - known - 1)
    if isinstance(mechanism, JRR):
        whole = mechanism.n <= _MOST
        cases = tuple(cases_of_joint(mechanism, known, prior, whole))
        if not whole:
            return Losses(cases, (), "bounded")
        return Losses(cases, cases, "all" if prior is None else "unknown, by the prior")
    if ones not in (None, 0, mechanism.n - known - 1) and mechanism.n > _MOST_TABLE:
        raise checks.refusal("n", mechanism.n, f"at most {_MOST_TABLE} for these ones")
    return losses_of_dealt(mechanism, ones, known, prior)


def everything(
    mechanism: Mechanism,
    delta: float,
    ones: int | None = None,
    colluders: int = 0,
    frequency: float | Beta | None = None,
    scan: bool = False,
) -> float:
    """The smallest ε, rounded up, that this adversary's view keeps at δ; δ = 0: the largest loss.

    Arguments as for `loss_distribution`; at δ = 0 a frequency in (0, 1) or a prior changes
    nothing, and the bound for known values is given. Where no law is known (unary encodings and
    OLH with cards) it is the view `dealer`, which has more. scan: for binary DRR compute every
    composition instead of a bound: exact, and slow.
    """
    delta = checks.real("delta", delta, "in 0..1", 0.0, 1.0, open_high=True)
    if not isinstance(mechanism, RR | JRR | DRR):
        return mechanism.epsilon("dealer")
    if scan and isinstance(mechanism, DRR) and ones is None and frequency is None:
        if mechanism.k > 2 or mechanism.n > _MOST_SCANNED:
            raise checks.refusal("scan", scan, f"False for k > 2 or n > {_MOST_SCANNED}")
        known = checks.integer("colluders", colluders, 0, mechanism.n - 1)
        reached = 0.0
        for case in all_compositions(mechanism, known):
            reached = least_epsilon(case, delta, reached)
        return reached
    return loss_distribution(mechanism, ones, colluders, frequency).epsilon(delta)


def _of_rr(mechanism: RR) -> LossDistribution:
    """Others' reports are independent of the target's: two atoms, and one that tells nothing."""
    lie = Fraction(mechanism.lie_words, SCALE)
    true, each = float(1 - lie), float(lie / (mechanism.k - 1))
    rest = (mechanism.k - 2) * each
    return LossDistribution(
        np.array([true, each, rest]),
        np.array([each, true, rest]),
        8 * ULP,
        0.0,
        mechanism.epsilon(),
    )
