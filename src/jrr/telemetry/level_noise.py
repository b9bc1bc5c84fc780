"""The noise of one level of a tree: how much single reports vary in weighted sums of its shares.

Sums of shares are not sums of independent numbers: how the shares of one mechanism vary together is
written down in jrr.estimation.scale_means (docs/theory-uses.md, section 3).
"""

from typing import NamedTuple

import numpy as np

from jrr.estimation.contrasts import masked_variance
from jrr.estimation.estimates import Stratum
from jrr.estimation.moments import Floats
from jrr.estimation.scale_means import moved_by_masks, variance_of_report
from jrr.mechanisms.base import Mechanism

TAKEN = ("RR", "OUE", "OLH", "MRR")  # mechanisms of a tree, by name


class LevelNoise(NamedTuple):
    """What a level adds to the variances of weighted sums of its shares.

    Attributes:
        of_holders: [sum, value]: the variance of what the report of one holder of the value weighs.
        masks: [sum]: what masks add to the variance of the whole sum.
    """

    of_holders: Floats
    masks: Floats


def noise_of(mechanism: Mechanism, weights: Floats, people: Stratum) -> LevelNoise:
    """The noise of reports by one mechanism of those in TAKEN.

    What masks leave depends on how many decks and announcements there were; the level's own
    estimate knows that, and its errors are made of the same number.
    """
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    own = variance_of_report(p, q, weights, mechanism.marks) / gain**2
    if of.masks is None:
        return LevelNoise(own, np.zeros(len(weights)))
    of_one_share = float(masked_variance([people.part(1 / people.n)])[0])
    return LevelNoise(own, of_one_share * moved_by_masks(weights))
