"""A tree of noisy shares made consistent: parents are the sums of their children.

Least squares on a tree in two passes (Hay et al., 2010), here with other variances at each level,
and backwards: which weight each noisy share has in a weighted sum of leaves, so that the error of
such a sum is known exactly. The root, everybody, is known to be 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jrr.estimation.contrasts import masked_variance
from jrr.estimation.estimates import Stratum
from jrr.estimation.moments import Floats
from jrr.estimation.scale_means import moved_by_masks, variance_of_report
from jrr.mechanisms.base import Mechanism


def own_weights(variances: Sequence[float], branching: int) -> list[float]:
    """Of each level: the weight of a node's own share, against the sum of its children."""
    weights = [1.0] * len(variances)  # leaves have no children
    below = variances[-1]
    for level in range(len(variances) - 2, -1, -1):
        own, children = 1 / variances[level], 1 / (branching * below)
        weights[level] = own / (own + children)
        below = 1 / (own + children)
    return weights


def consistent_leaves(
    shares: Sequence[Floats], variances: Sequence[float], branching: int
) -> Floats:
    """Shares of the leaves by least squares.

    Args:
        shares: of each level below the root, from the top; every node has `branching` children.
        variances: of a share of each level.
        branching: children of a node.
    """
    weights = own_weights(variances, branching)
    best = [shares[-1]]
    for own, weight in zip(shares[-2::-1], weights[-2::-1], strict=True):
        best.append(weight * own + (1 - weight) * best[-1].reshape(-1, branching).sum(axis=1))
    above: Floats = np.ones(1)
    for level in reversed(best):
        children = level.reshape(-1, branching)
        missing = (above - children.sum(axis=1)) / branching
        above = (children + missing[:, None]).ravel()
    return above


def weights_of(
    leaves: Floats, variances: Sequence[float], branching: int
) -> tuple[list[Floats], Floats]:
    """The weight of every noisy share in weighted sums of consistent leaves.

    Args:
        leaves: leaves[query, leaf]: the weights of the leaves, one row per sum.
        variances: of a share of each level.
        branching: children of a node.

    Returns:
        Of each level weights[query, node], and what the known root adds to each sum.
    """
    own = own_weights(variances, branching)
    direct = []
    above = leaves
    for _ in variances:
        children = above.reshape(len(leaves), -1, branching)
        mean = children.mean(axis=2)
        direct.append((children - mean[:, :, None]).reshape(len(leaves), -1))
        above = mean
    direct.reverse()
    found = []
    from_above: Floats = np.zeros((len(leaves), branching))
    for level, weight in enumerate(own):
        total = direct[level] + from_above
        found.append(weight * total)
        from_above = np.repeat((1 - weight) * total, branching, axis=1)
    return found, above[:, 0]


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
