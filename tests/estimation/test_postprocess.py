"""Steps after an estimate: known vectors, properties, and the level of base_cut."""

import itertools
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import jrr
from jrr.estimation.postprocess import base_cut, clip, norm_cut, normalise, project_simplex
from tests.statistics_rules import OFF, SURVEYS, accepts_only, chi_square

Floats = NDArray[np.float64]

vectors = st.lists(st.floats(-1, 1.5), min_size=1, max_size=12)
STEPS: list[Callable[[list[float]], Floats]] = [clip, normalise, project_simplex, norm_cut]


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        (clip, [-0.1, 0.4, 1.2], [0.0, 0.4, 1.0]),
        (clip, [0.0, 1.0], [0.0, 1.0]),
        (normalise, [0.5, -0.1, 1.5], [0.25, 0.0, 0.75]),
        (normalise, [0.2, 0.2], [0.5, 0.5]),
        (normalise, [-3.0, 0.25], [0.0, 1.0]),
        (project_simplex, [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        (project_simplex, [0.6, 0.6, -0.2], [0.5, 0.5, 0.0]),
        (project_simplex, [2.0, 0.0], [1.0, 0.0]),
        (project_simplex, [0.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]),
        (project_simplex, [-1.0, -2.0], [1.0, 0.0]),
        (project_simplex, [0.5, 0.4, 0.3], [0.5 - 0.2 / 3, 0.4 - 0.2 / 3, 0.3 - 0.2 / 3]),
        (project_simplex, [7.0], [1.0]),
        (norm_cut, [0.6, 0.5, 0.1, -0.1], [0.6, 0.5, 0.0, 0.0]),
        (norm_cut, [0.6, 0.3, 0.05, -0.1], [0.6, 0.3, 0.05, 0.0]),
        (norm_cut, [0.75, 0.25, 0.125], [0.75, 0.25, 0.0]),
        (norm_cut, [1.25, 0.5], [1.25, 0.0]),
        (norm_cut, [0.5, 0.5], [0.5, 0.5]),
        (norm_cut, [-0.5, -0.25], [0.0, 0.0]),
    ],
)
def test_known_vectors(
    step: Callable[[list[float]], Floats], before: list[float], after: list[float]
) -> None:
    original = np.array(before)
    found = step(original)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, after, atol=1e-15)
    assert original.tolist() == before  # the argument is left alone


@given(vectors)
@settings(deadline=None)
def test_clip_moves_only_what_is_outside(vector: list[float]) -> None:
    assert clip(vector).tolist() == [min(1.0, max(0.0, x)) for x in vector]


@given(vectors.filter(lambda vector: max(vector) > 1e-6))
@settings(deadline=None)
def test_normalise_keeps_proportions(vector: list[float]) -> None:
    after = normalise(vector)
    assert after.sum() == pytest.approx(1)
    assert (after >= 0).all()
    for i, j in itertools.combinations(range(len(vector)), 2):
        ours, theirs = max(vector[i], 0.0), max(vector[j], 0.0)
        assert after[i] * theirs == pytest.approx(after[j] * ours, abs=1e-12)


@given(vectors, st.integers(0, 2**32))
@settings(deadline=None)
def test_projection_is_the_nearest_point_of_the_simplex(vector: list[float], seed: int) -> None:
    """In the simplex, and no other point of it is nearer: (x - Px)·(y - Px) <= 0 for all y."""
    after = project_simplex(vector)
    assert after.sum() == pytest.approx(1)
    assert (after >= 0).all()
    corners = np.eye(len(vector))
    others = np.vstack((corners, np.random.default_rng(seed).dirichlet([1] * len(vector), 5)))
    assert ((others - after) @ (np.array(vector) - after) <= 1e-12).all()
    np.testing.assert_allclose(project_simplex(after), after, atol=1e-12)


@given(vectors, st.permutations(range(12)))
@settings(deadline=None)
def test_steps_do_not_depend_on_the_order_of_different_values(
    vector: list[float], order: list[int]
) -> None:
    vector = [x + 1e-3 * i for i, x in enumerate(vector)]
    if len(set(vector)) < len(vector) or max(vector) <= 1e-6:
        return
    kept = [i for i in order if i < len(vector)]
    for step in STEPS:
        shuffled = step([vector[i] for i in kept])
        np.testing.assert_allclose(shuffled, step(vector)[kept], atol=1e-12)


@given(vectors)
@settings(deadline=None)
def test_norm_cut_drops_the_smallest_and_keeps_the_rest(vector: list[float]) -> None:
    after = norm_cut(vector)
    kept = after > 0
    for x, y in zip(vector, after, strict=True):
        assert y in (0.0, x)
    if kept.any():
        dropped = [x for x, stays in zip(vector, kept, strict=True) if not stays]
        assert max(dropped, default=-1.0) <= after[kept].min()
    positive = np.maximum(vector, 0.0).sum()
    if positive < 1 - 1e-9:
        assert after.sum() == pytest.approx(positive)
    elif positive > 1 + 1e-9:
        assert after.sum() >= 1 - 1e-9
        assert after.sum() - after[kept].min() < 1 + 1e-9


def test_base_cut_known_vector() -> None:
    """With two values at level 0.05 the quantile is that of 0.975."""
    z = NormalDist().inv_cdf(0.975)
    found = base_cut([0.1, 0.3], [0.1, 0.1], level=0.05)
    assert found.tolist() == [0.0, 0.3]
    assert base_cut([z * 0.1 + 1e-9, 0.0], 0.1).tolist() == [z * 0.1 + 1e-9, 0.0]
    assert base_cut([z * 0.1 - 1e-9, 0.0], 0.1).tolist() == [0.0, 0.0]
    assert base_cut([0.2, -0.2], 0.0).tolist() == [0.2, 0.0]  # certain estimates stay


@given(vectors, st.floats(0, 1), st.floats(0.001, 0.5))
@settings(deadline=None)
def test_base_cut_keeps_or_drops_and_a_stricter_level_keeps_less(
    vector: list[float], stderr: float, level: float
) -> None:
    after = base_cut(vector, stderr, level)
    for x, y in zip(vector, after, strict=True):
        assert y in (0.0, x)
        assert y >= 0
    assert set(np.flatnonzero(base_cut(vector, stderr, level / 2))) <= set(np.flatnonzero(after))


@pytest.mark.statistical
def test_base_cut_keeps_something_of_nothing_as_rarely_as_its_level_says() -> None:
    """Twenty values that nobody holds: at least one stays in 1 - (1 - level/20)^20 of surveys."""
    k, level = 20, 0.05
    noise = np.random.default_rng(11).normal(0, 0.03, (SURVEYS, k))
    alarms = sum(bool(base_cut(row, 0.03, level).any()) for row in noise)

    def law(level: float) -> list[float]:
        chance = 1 - (1 - level / k) ** k
        return [chance, 1 - chance]

    assert law(level)[0] <= level
    accepts_only(
        lambda level: chi_square([alarms, SURVEYS - alarms], law(level)), level, level * (1 + OFF)
    )


@pytest.mark.statistical
def test_base_cut_on_estimates_of_a_real_mechanism() -> None:
    """At most the level, where all but one value are empty."""
    mechanism = jrr.OUE(16, epsilon=1.0)
    source = jrr.SeededRandom(12)
    values = np.zeros(1_000, np.int64)
    surveys, alarms = 1_000, 0
    for _ in range(surveys):
        estimate = mechanism.estimate(mechanism.respond(values, rng=source))
        kept = base_cut(estimate.frequencies, estimate.stderr, 0.2)
        assert kept[0] > 0.5
        alarms += bool(kept[1:].any())
    chance = 1 - (1 - 0.2 / 16) ** 15
    accepts_only(
        lambda chance: chi_square([alarms, surveys - alarms], [chance, 1 - chance]),
        chance,
        0.5 * chance,
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "bad", [[], [float("nan")], [float("inf")], [[0.1, 0.2]], ["a"], 0.5, [None]], ids=str
)
def test_what_is_not_a_vector_of_numbers_is_refused(
    step: Callable[[object], Floats], bad: object
) -> None:
    with pytest.raises(jrr.JrrError, match="frequencies must be a one-dimensional array"):
        step(bad)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: normalise([0.0, -1.0]), "frequencies must be above 0 somewhere"),
        (lambda: base_cut([0.1], [-0.1]), "stderr must be finite and non-negative"),
        (lambda: base_cut([0.1], [float("nan")]), "stderr must be finite"),
        (lambda: base_cut([0.1], 0.1, level=0.0), "level must be .*, got level=0.0"),
        (lambda: base_cut([0.1], 0.1, level=1.0), "level must be .*, got level=1.0"),
        (lambda: base_cut([], 0.1), "frequencies must be"),
    ],
)
def test_refusals(act: Callable[[], object], message: str) -> None:
    with pytest.raises(jrr.JrrError, match=message):
        act()


@pytest.mark.parametrize("stderr", [[0.1, 0.1, 0.1], "a", None])
def test_standard_errors_that_do_not_fit_are_refused(stderr: object) -> None:
    with pytest.raises(jrr.JrrError, match="stderr"):
        base_cut([0.1, 0.2], stderr)  # type: ignore[arg-type]


def test_nothing_is_applied_silently() -> None:
    mechanism = jrr.OUE(8, epsilon=0.1)
    values = np.zeros(50, np.int64)
    estimate = mechanism.estimate(mechanism.respond(values, rng=jrr.SeededRandom(1)))
    assert (estimate.frequencies < 0).any()
    assert estimate.frequencies.sum() != pytest.approx(1)
