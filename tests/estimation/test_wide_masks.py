"""Sums of masks that span too many places to follow: as good as the exact law, by that law."""

import math

import numpy as np
import pytest

from jrr.estimation import masks
from jrr.estimation.masks import ClosedMasks, WholeLaw


def law_of(n: int, used: int, a: float, b: float, most_places: int) -> WholeLaw:
    """The law of a sum of cards, place by place up to so many places."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masks, "_LARGEST", most_places)
        masks._deck_law.cache_clear()
        law = masks._deck_law(n, used, a, b)
    masks._deck_law.cache_clear()
    return law


def normal_law(n: int, used: int, a: float, b: float) -> WholeLaw:
    """What must not be used for few cards: a normal law with the right variance."""
    variance = ClosedMasks(n, a, b).variance_of(used)
    reach = math.ceil(10 * math.sqrt(variance))
    chances = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    return WholeLaw(-reach, chances / chances.sum())


def compared(true: WholeLaw, wide: WholeLaw) -> tuple[float, float]:
    """Half the sum of differences, and how often a 95% interval by the wide law covers."""
    first = min(true.first, wide.first)
    last = max(law.first + len(law.chances) for law in (true, wide))
    chances = np.zeros((2, last - first))
    for row, law in zip(chances, (true, wide), strict=True):
        row[law.first - first :][: len(law.chances)] = law.chances
    above, below = np.cumsum(chances[1][::-1])[::-1], np.cumsum(chances[1])
    kept = (above >= 0.025) & (below >= 0.025)
    return float(np.abs(chances[0] - chances[1]).sum() / 2), float(chances[0][kept].sum())


N = 30_000
USED = [1, 2, 3, 10, 100, 3_000, N // 2, N - 3_000, N - 100, N - 2, N - 1, N]


@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize(("a", "b"), [(0.1, 0.3), (0.1, 0.005)])
def test_intervals_by_the_wide_law_cover(used: int, a: float, b: float) -> None:
    exact = law_of(N, used, a, b, 1 << 40)
    wide = law_of(N, used, a, b, 1 << 14)
    far, coverage = compared(exact, wide)
    assert far < 5e-4
    assert coverage > 0.9495
    assert wide.variance == pytest.approx(ClosedMasks(N, a, b).variance_of(used), rel=2e-3)


@pytest.mark.parametrize("used", [1, 2, N - 1])
def test_a_normal_law_would_not(used: int) -> None:
    exact = law_of(N, used, 0.1, 0.3, 1 << 40)
    assert compared(exact, normal_law(N, used, 0.1, 0.3))[1] < 0.945


def test_at_full_size() -> None:
    n, a, b = 4_000_000, 0.02, 0.1
    assert 2 * masks._reach(n, a, b) > masks._LARGEST
    for used in (3, n // 2, n - 1):
        exact = law_of(n, used, a, b, 1 << 40)
        far, coverage = compared(exact, law_of(n, used, a, b, masks._LARGEST))
        assert far < 1e-4
        assert coverage > 0.9499
