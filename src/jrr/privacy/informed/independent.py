"""RR: the others' reports tell nothing of the target's."""

from fractions import Fraction

import numpy as np

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.privacy.binomial import ULP
from jrr.privacy.informed.distribution import LossDistribution, Losses
from jrr.privacy.informed.frequency import Frequency, check_frequency
from jrr.privacy.loss import IndependentLaw


def independent_losses(
    law: IndependentLaw, ones: int | None, colluders: int, frequency: Frequency
) -> Losses:
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
        law.epsilon("report", 0),
    )
    return Losses((case,), (case,), "all")
