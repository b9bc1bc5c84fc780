"""The noise of one level of a tree: how much single reports vary in weighted sums of its shares.

Sums of shares are not sums of independent numbers: how the shares of one mechanism vary together is
written down here, for each kind of mechanism that a tree takes (docs/theory-uses.md, section 3).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jrr.estimation.contrasts import masked_variance
from jrr.estimation.estimates import Stratum
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.coins.choice import Choice


class LevelNoise(NamedTuple):
    """What a level adds to the variances of weighted sums of its shares.

    Attributes:
        of_holders: [sum, value]: the variance of what the report of one holder of the value weighs.
        masks: [sum]: what masks add to the variance of the whole sum.
    """

    of_holders: Floats
    masks: Floats


def _single_values(mechanism: Mechanism, weights: Floats, people: Stratum) -> LevelNoise:
    """Where a report supports exactly one value (RR)."""
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    total = weights.sum(axis=1, keepdims=True)
    mean = q * total + (p - q) * weights  # what a holder's report weighs on average
    square = q * (weights**2).sum(axis=1, keepdims=True) + (p - q) * weights**2
    return LevelNoise((square - mean**2) / gain**2, np.zeros(len(weights)))


def _single_bits(mechanism: Mechanism, weights: Floats, people: Stratum) -> LevelNoise:
    """Where values are supported independently of each other (OUE, OLH)."""
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    squares = weights**2
    alone = q * (1 - q) * squares.sum(axis=1, keepdims=True)
    spread = alone + (p * (1 - p) - q * (1 - q)) * squares
    return LevelNoise(spread / gain**2, np.zeros(len(weights)))


def _behind_masks(mechanism: Mechanism, weights: Floats, people: Stratum) -> LevelNoise:
    """Behind masks, which are independent for every value (MRR of more than two).

    What they leave depends on how many decks and announcements there were; the level's own
    estimate knows that, and its errors are made of the same number.
    """
    coin = _single_values if isinstance(getattr(mechanism, "coin", None), Choice) else _single_bits
    of_one_share = float(masked_variance([people.part(1 / people.n)])[0])
    masks: Floats = of_one_share * (weights**2).sum(axis=1)
    return LevelNoise(coin(mechanism, weights, people).of_holders, masks)


# By the mechanism's name: mechanism, weights[sum, value], people who reported -> the noise.
NOISE: dict[str, Callable[[Mechanism, Floats, Stratum], LevelNoise]] = {
    "RR": _single_values,
    "OUE": _single_bits,
    "OLH": _single_bits,
    "MRR": _behind_masks,
}
