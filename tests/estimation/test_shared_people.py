"""Differences of the same people in two waves: right for every correlation."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import jrr
from jrr.errors import ArgumentError
from jrr.estimation.scale_means import scale_mean

OPEN = jrr.RR(p=1.0)


def coverage(n: int, f: float, *, shared: int) -> float:
    """Exactly, where everybody answers the opposite in wave 2: correlation -1."""
    found = 0.0
    for yes in range(n + 1):
        chance = float(binom.pmf(yes, n, f))
        if chance < 1e-9:
            continue
        before, now = (
            OPEN.estimate([1] * count + [0] * (n - count)).for_population("sample")
            for count in (yes, n - yes)
        )
        low, high = jrr.difference(now, before, same_deck=False, shared=shared).interval()
        found += chance * bool(low[1] <= 1 - 2 * f <= high[1])
    return found


@pytest.mark.parametrize("f", [0.5, 0.3, 0.1])
def test_the_same_people_who_all_change_their_minds_are_covered(f: float) -> None:
    n = 101
    assert coverage(n, f, shared=n) >= (0.95 if f == 0.5 else 0.9499)
    assert coverage(n, f, shared=0) < 0.9  # as if other people had been asked


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_noise_of_drawing_grows_with_those_in_both(share: float) -> None:
    n = 1_000
    before, now = (OPEN.estimate([1] * 500 + [0] * 500).for_population("sample") for _ in "12")
    gap = jrr.difference(now, before, same_deck=False, shared=round(share * n))
    worst = (0.25 / n + 0.25 / n) + 2 * share * 0.25 / n
    np.testing.assert_allclose(gap.stderr**2, worst, rtol=1e-9)
    alone = jrr.difference(OPEN.estimate([1, 0]), OPEN.estimate([0, 1]), same_deck=False, shared=2)
    np.testing.assert_allclose(alone.stderr, 0.0)  # of respondents, nobody is drawn
    with pytest.raises(ArgumentError, match="shared must be at most 1000"):
        jrr.difference(now, before, same_deck=False, shared=1_001)


@pytest.mark.parametrize("kind", ["scale", "number"])
def test_means_of_the_same_people_who_all_say_the_opposite_are_covered(kind: str) -> None:
    """Every one of 100 people answers 6 - x, or the other end, in wave 2."""
    rng, held, apart, runs, n = np.random.default_rng(8), 0, 0, 400, 100
    whole = jrr.RR(k=5, p=1.0) if kind == "scale" else jrr.Numbers(1, 5, OPEN)
    for _ in range(runs):
        answers = rng.integers(0, 5, n) if kind == "scale" else 1 + 4 * rng.integers(0, 2, n)
        waves = (answers, 4 - answers) if kind == "scale" else (answers, 6 - answers)
        before, now = (_mean(whole, some) for some in waves)
        more: Any = {} if kind == "scale" else {"same_deck": False}
        low, high = now.minus(before, **more, shared=n).interval()
        held += low <= 0 <= high
        low, high = now.minus(before, **more).interval()
        apart += low <= 0 <= high
    assert held / runs >= 0.94 - 3 * (0.94 * 0.06 / runs) ** 0.5
    assert apart / runs < 0.9  # as if other people had been asked


def _mean(whole: Any, answers: Any) -> Any:
    if isinstance(whole, jrr.RR):
        return scale_mean(whole.estimate(answers).for_population("sample"), range(1, 6))
    found = whole.respond(answers, rng=np.random.default_rng(1))
    return whole.estimate(found, population="sample")
