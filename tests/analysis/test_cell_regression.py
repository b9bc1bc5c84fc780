"""Regression on shares of groups: agrees with single answers, and makes masked reports useful."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

import jrr
from jrr.analysis import Regression, SensitiveItem, cells_of, regress, regress_cells
from jrr.errors import ArgumentError
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

TRUE = np.array([-1.0, 0.8, 0.5])
CELLS = {
    f"{age} × {member}": {"age": age, "member": member}
    for age, member in itertools.product((-1, 0, 1), (0, 1))
}
NUMBERS = {"age": {"-1": -1, "0": 0, "1": 1}, "member": {"0": 0, "1": 1}}
SIZE = 400


def people(rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.int64]]:
    names = np.repeat(list(CELLS), SIZE)
    eta = [TRUE @ [1, row["age"], row["member"]] for row in CELLS.values()]
    truth = rng.random(len(names)) < expit(np.repeat(eta, SIZE))
    return names, truth.astype(np.int64)


def columns(names: NDArray[Any]) -> dict[str, list[int]]:
    return {key: [CELLS[name][key] for name in names] for key in ("age", "member")}


def one_deck(mechanism: jrr.Mechanism, rng: np.random.Generator) -> Regression:
    names, truth = people(rng)
    item = SensitiveItem(mechanism, mechanism.respond(truth, mechanism.deal(rng), rng))
    return regress_cells(cells_of(item, columns(names)), NUMBERS)


def a_sum_for_each(mechanism: jrr.MRR, rng: np.random.Generator) -> Regression:
    """Every group has a deck and an announced sum of its own."""
    names, truth = people(rng)
    reports, sums = [], {}
    for name in CELLS:
        cards = mechanism.deal(rng)
        reports.append(mechanism.respond(truth[names == name], cards, rng))
        sums[name] = mechanism.announce(cards, rng=rng)
    item = SensitiveItem(mechanism, np.concatenate(reports))
    return regress_cells(cells_of(item, columns(names), announced=sums), NUMBERS)


ALL = SIZE * len(CELLS)
MASKED = jrr.MRR.for_epsilon(1.0, n=SIZE, announced=True)
ONE_DECK: dict[str, jrr.Mechanism] = {
    "RR": jrr.RR(epsilon=1.0),
    "DRR": jrr.DRR(ALL, truth=0.4, own=0.05),
    "MRR closed": jrr.MRR(ALL, own=3.0, card_rate=1.0, total_rate=0.2),
}


@pytest.mark.parametrize("name", ["RR", "DRR"])
def test_nearly_what_single_reports_say(name: str) -> None:
    """Where single reports say much, both ways have the same errors and are close together."""
    mechanism, rng = ONE_DECK[name], np.random.default_rng(1)
    names, truth = people(rng)
    item = SensitiveItem(mechanism, mechanism.respond(truth, mechanism.deal(rng), rng))
    of_groups = regress_cells(cells_of(item, columns(names)), NUMBERS)
    single = regress(item, columns(names))
    assert of_groups.stderr == pytest.approx(single.stderr, rel=0.1)
    assert (np.abs(of_groups.coefficients - single.coefficients) < 0.5 * single.stderr).all()
    assert of_groups.method == "shares of cells"
    assert of_groups.to_dict()["log_likelihood"] is None


def test_as_many_groups_as_coefficients_give_the_shares_themselves() -> None:
    mechanism, rng = jrr.RR(epsilon=2.0), np.random.default_rng(2)
    item = SensitiveItem(mechanism, mechanism.respond([0, 1, 1, 0, 0] * 400, rng=rng))
    cells = cells_of(item, {"group": ["a"] * 1_000 + ["b"] * 1_000})
    shares = [group.estimate.frequencies[1] for group in cells.groups()]
    for link in ("logit", "identity"):
        fit = regress_cells(cells, link=link)
        assert fit.predict({"group": ["a", "b"]}).shares == pytest.approx(shares, abs=1e-7)


@pytest.mark.slow_variants("RR]")
@pytest.mark.statistical
@pytest.mark.parametrize(
    "name",
    [
        "RR",
        "MRR announced",
        pytest.param("DRR", marks=pytest.mark.slow),
        pytest.param("MRR closed", marks=pytest.mark.slow),
    ],
)
def test_coefficients_are_where_and_as_far_as_they_say(name: str) -> None:
    rng = np.random.default_rng(3)
    fits = [
        a_sum_for_each(MASKED, rng) if name == "MRR announced" else one_deck(ONE_DECK[name], rng)
        for _ in range(100)
    ]
    scores = np.array([(fit.coefficients - TRUE) / fit.stderr for fit in fits]).ravel()
    accepts_only(lambda mean: mean_test(scores, mean, 1.0), 0.0, OFF)
    accepts_only(lambda sd: spread_test(scores, sd), 1.0, 1 - OFF)


def test_sums_of_groups_beat_randomized_response_and_single_masked_reports() -> None:
    """At the same ε = 1 and the same people."""
    rng = np.random.default_rng(4)
    masked, plain = a_sum_for_each(MASKED, rng), one_deck(jrr.RR(epsilon=1.0), rng)
    assert MASKED.epsilon("everything", colluders=SIZE - 1) <= 1.0
    assert (masked.stderr < 0.5 * plain.stderr).all()
    # A single report is worth that of plain RR at a small ε: its information goes with the square.
    law, rr = MASKED.reading.law, jrr.RR(epsilon=1.0).moments
    assert ((law[1, 1] - law[0, 1]) / rr.gain[0]) ** 2 < 0.15


def test_refusals() -> None:
    mechanism = jrr.RR(epsilon=1.0)
    rng = np.random.default_rng(5)
    item = SensitiveItem(mechanism, mechanism.respond([0, 1] * 50, rng=rng))
    cells = cells_of(item, {"group": ["a", "b"] * 50})
    with pytest.raises(ArgumentError, match="covariates must be of 'b' too"):
        regress_cells(cells, {"group": {"a": 1}})
    with pytest.raises(ArgumentError, match=r"by must be one of \['group'\]"):
        regress_cells(cells, {"age": {"a": 1, "b": 2}})
    with pytest.raises(ArgumentError, match="must not follow from each other"):
        regress_cells(cells, {"x": [1, 3] * 50, "y": [2, 6] * 50})
    with pytest.raises(ArgumentError, match="as many coefficients as there are cells"):
        regress_cells(cells, {"x": [1, 3] * 50, "y": [1, 1, 0, 0] * 25})
    never = SensitiveItem(mechanism, [0] * 50 + [0, 1] * 25)
    with pytest.raises(ArgumentError, match="finite coefficients"):
        regress_cells(cells_of(never, {"group": ["a"] * 50 + ["b"] * 50}))


@pytest.mark.slow
@pytest.mark.statistical
def test_intervals_hold_for_masked_reports_with_a_sum_for_each_group() -> None:
    rng = np.random.default_rng(6)
    inside = []
    for _ in range(2_000):
        low, high = a_sum_for_each(MASKED, rng).interval()
        inside.append((low <= TRUE) & (high >= TRUE))
    share = np.mean(inside, axis=0)
    assert (share >= 0.935).all(), share
    assert (share <= 0.97).all(), share
