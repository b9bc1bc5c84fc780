"""The paper's Algorithm 1: the library's search against the paper's own nested loops."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jrr
from jrr.mechanisms.paper_search import _repeated_sum
from jrr.research.paper.literal import algorithm1_as_printed, respond_in_pairs
from tests.literal_algorithm1 import literal_search

N = 10_000
ONES_AT_ONE_TENTH = (9_000, 1_000)

Setting = tuple[int, float, int, float, float]
"""n, epsilon, colluders, step_p, step_rho."""


def assert_same_result(setting: Setting) -> None:
    found = literal_search(*setting)
    if found is None:
        with pytest.raises(jrr.JrrError, match="returns Null"):
            jrr.algorithm1(*setting)
        return
    printed = algorithm1_as_printed(*setting)
    assert (printed.p, printed.rho) == pytest.approx(found, rel=1e-12, abs=1e-12)
    if found[1] > 0:
        with pytest.raises(jrr.JrrError, match="step_rho must be small enough"):
            jrr.algorithm1(*setting)
    else:
        mechanism = jrr.algorithm1(*setting)
        assert mechanism.p == pytest.approx(found[0], rel=1e-14)
        assert mechanism.rho == pytest.approx(found[1], rel=1e-12, abs=1e-12)


# The same grid point ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 3, 20, 10_000, 2_000_000])
def test_same_grid_point_at_the_default_steps(n: int, epsilon: float) -> None:
    for colluders in sorted({0, 1, min(5, n - 1), n // 10, n // 2, n - 2, n - 1}):
        assert_same_result((n, epsilon, colluders, 1e-4, 1e-4))


@pytest.mark.parametrize("step_rho", [1e-5, 3e-4, 0.01, 0.3, 0.7, 1.9])
@pytest.mark.parametrize("step_p", [1e-5, 3e-4, 0.01, 0.02])
def test_same_grid_point_at_other_steps(step_p: float, step_rho: float) -> None:
    for epsilon in (0.1, 1.0):
        for colluders in (0, 1, 5, 900, 999):
            assert_same_result((1_000, epsilon, colluders, step_p, step_rho))


@given(
    n=st.integers(2, 10**6),
    epsilon=st.floats(1e-3, 6.0),
    share=st.floats(0, 1, exclude_max=True),
    step_p=st.floats(1e-3, 0.3),
    step_rho=st.floats(1e-3, 2.0),
)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_same_result_anywhere(
    n: int, epsilon: float, share: float, step_p: float, step_rho: float
) -> None:
    assert_same_result((n, epsilon, int(share * n), step_p, step_rho))


def test_coarse_grid_steps_over_the_window_until_p_is_small_enough() -> None:
    coarse = (20, 0.1, 5, 0.001, 0.3)
    first_p = jrr.RR(epsilon=0.1).p - 0.001
    assert jrr.algorithm1(*coarse).p < first_p - 0.0005
    assert_same_result(coarse)


def test_coarse_grid_lands_on_a_positive_rho_which_decks_cannot_have() -> None:
    coarse = (100, 2.0, 10, 0.001, 0.2)
    found = literal_search(*coarse)
    assert found is not None
    assert found[1] > 0
    assert_same_result(coarse)
    printed = algorithm1_as_printed(*coarse)
    assert printed.epsilon(100, 10) <= 2.0
    reports = respond_in_pairs([1] * 60 + [0] * 40, printed.p, printed.rho, jrr.SeededRandom(1))
    assert abs(printed.estimate(reports) - 60) < 4 * printed.variance(100, 60) ** 0.5


def test_null_where_the_grid_steps_over_the_window_at_every_p() -> None:
    coarse = (1_000, 0.1, 500, 0.001, 0.7)
    assert literal_search(*coarse) is None
    assert_same_result(coarse)


def test_null_where_p_starts_at_one_half_or_below() -> None:
    margin = jrr.RR(epsilon=0.1).p - 0.5
    assert literal_search(100, 0.1, 5, margin * 1.001, 1e-4) is None
    with pytest.raises(jrr.JrrError, match=r"step_p must be below .* 0\.025 .*, got step_p=0\.03"):
        jrr.algorithm1(100, 0.1, 5, step_p=0.03)
    assert jrr.algorithm1(100, 0.1, 5, step_p=margin * 0.999).p > 0.5


# The closed form --------------------------------------------------------------------------------


@pytest.mark.parametrize("colluders", [1, 5, 50, 5_000, 9_999])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_result_is_the_closed_form_rounded_up_to_the_grid(epsilon: float, colluders: int) -> None:
    mechanism = jrr.algorithm1(N, epsilon, colluders, step_rho=1e-5)
    p, q = mechanism.p, mechanism.q
    bound = -(N - 1) * (math.exp(epsilon) * q - p) / (colluders * p * (1 + math.exp(epsilon)))
    smallest = max(1 - 1 / p, bound)
    assert smallest - 1e-12 <= mechanism.rho < smallest + 1e-5


def test_without_colluders_rho_is_extreme() -> None:
    mechanism = jrr.algorithm1(N, 0.1, 0)
    assert mechanism.rho == pytest.approx(1 - 1 / mechanism.p, rel=1e-12)


# What the result is worth -----------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "first"), [(0.01, 17), (0.1, 152), (1.0, 775)])
def test_worse_than_plain_randomized_response_from_some_number_of_colluders(
    epsilon: float, first: int
) -> None:
    plain = jrr.RR(epsilon=epsilon).variance(ONES_AT_ONE_TENTH)[1]

    def worse(colluders: int) -> bool:
        found = jrr.algorithm1(N, epsilon, colluders).variance(ONES_AT_ONE_TENTH)[1]
        return bool(found > plain)

    assert not any(worse(colluders) for colluders in range(first))
    assert all(worse(colluders) for colluders in [*range(first, first + 50), *range(first, N, 97)])


@pytest.mark.parametrize(
    ("epsilon", "colluders", "cards"),
    [
        (0.1, 0, 0.09960),
        (0.1, 1, 0.09979),
        (0.1, 5, 0.10022),
        (0.1, 50, 0.10156),
        (0.1, 150, 0.10302),
        (0.1, 1_000, 0.10930),
        (0.1, 9_000, 0.12796),
        (1.0, 5, 1.00008),
        (1.0, 1_000, 1.00877),
        (1.0, 9_000, 1.01797),
    ],
)
def test_result_keeps_the_paper_s_bound_but_not_the_cards_view(
    epsilon: float, colluders: int, cards: float
) -> None:
    mechanism = jrr.algorithm1(N, epsilon, colluders)
    assert mechanism.epsilon("paper", colluders) <= epsilon
    assert mechanism.epsilon("cards", colluders) == pytest.approx(cards, abs=5e-6)
    assert (mechanism.epsilon("cards", colluders) > epsilon) == (colluders >= 2)


def test_result_breaks_even_the_truths_view_by_a_little() -> None:
    excess = jrr.algorithm1(N, 0.1, 5).epsilon("truths", 5) - 0.1
    assert excess == pytest.approx(6.58e-8, rel=1e-2)


# Refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n", 1),
        ("n", 10.0),
        ("n", True),
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", math.nan),
        ("epsilon", math.inf),
        ("epsilon", "0.1"),
        ("colluders", -1),
        ("colluders", 10),
        ("colluders", 1.5),
        ("step_p", 0.0),
        ("step_p", math.nan),
        ("step_rho", -1e-4),
        ("step_rho", math.inf),
    ],
)
def test_refusals_name_the_argument_its_value_and_what_is_allowed(
    argument: str, value: object
) -> None:
    arguments: dict[str, object] = {"n": 10, "epsilon": 0.1, "colluders": 2, argument: value}
    with pytest.raises(jrr.JrrError) as refused:
        jrr.algorithm1(**arguments)  # type: ignore[arg-type]
    assert str(refused.value).startswith(f"{argument} must be a")
    assert f"got {argument}={value!r}" in str(refused.value)


@given(start=st.floats(-1.0, -0.0), step=st.floats(1e-6, 0.1), count=st.integers(0, 3_000))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_the_grid_is_rounded_as_the_loop_rounds_it(start: float, step: float, count: int) -> None:
    looped = start
    for _ in range(count):
        looped = looped + step
    assert _repeated_sum(start, step, count) == looped
