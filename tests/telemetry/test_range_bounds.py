"""Published bounds for ranges hold for every range of small domains, and nearly with equality."""

import math

import numpy as np
import pytest

from benchmarks.range_bounds import haar_bound, haar_squares, tree_bound
from jrr.telemetry.range_estimates import weights_of

pytestmark = pytest.mark.heavy


def all_ranges(bins: int) -> tuple[np.ndarray, np.ndarray]:
    ends = np.array([(a, b) for a in range(bins) for b in range(a + 1, bins + 1)])
    every = np.arange(bins)
    inside = (every >= ends[:, :1]) & (every < ends[:, 1:])
    return ends, inside.astype(np.float64)


@pytest.mark.parametrize(("bins", "branching"), [(16, 4), (64, 4), (64, 8), (81, 3)])
def test_bound_of_consistent_trees(bins: int, branching: int) -> None:
    """Noise of variance V times the number of levels in every node, as each level has its group."""
    ends, inside = all_ranges(bins)
    levels = round(math.log(bins, branching))
    weights, _ = weights_of(inside, [1.0] * levels, branching)
    variance = levels * sum((one**2).sum(axis=1) for one in weights)
    share = variance / tree_bound(ends, bins, branching)
    assert share.max() <= 1
    assert share.max() > 0.7  # half as much would be wrong


@pytest.mark.parametrize("bins", [2, 8, 64])
def test_bound_of_haar_wavelets(bins: int) -> None:
    """Against the transform, coefficient by coefficient."""
    ends, inside = all_ranges(bins)
    levels = round(math.log2(bins))
    squares = np.zeros(len(ends))
    for level in range(1, levels + 1):
        size = 1 << level
        halves = inside.reshape(len(ends), -1, 2, size // 2).sum(axis=3)
        squares += (((halves[:, :, 0] - halves[:, :, 1]) / size) ** 2).sum(axis=1)
    assert np.allclose(haar_squares(ends, bins), squares, atol=1e-12)
    share = levels * squares / haar_bound(bins)
    assert share.max() <= 1
    assert share.max() > (0.4 if bins > 2 else 0.45)
