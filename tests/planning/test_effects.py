"""Power: against surveys that are run, and against the textbook where answers are open."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import jrr
from jrr.analysis import SensitiveItem, cells_of, regress_cells
from jrr.errors import ArgumentError
from jrr.planning.effects import effect_stderr, group_stderr

FIRST, SECOND = 0.2, 0.3


def found(scale: str, n: int, mechanism: Any, rng: np.random.Generator) -> bool:
    """Whether one survey of two groups leaves out 0."""
    held = np.r_[rng.random(n // 2) < FIRST, rng.random(n - n // 2) < SECOND].astype(int)
    group = np.repeat(["a", "b"], [n // 2, n - n // 2])
    cards = mechanism.deal(rng) if mechanism.deals else None
    sums = mechanism.announce_cells(cards, group, rng=rng) if mechanism.masked else None
    item = SensitiveItem(mechanism, mechanism.respond(held, cards, rng))
    cells = cells_of(item, {"group": group}, announced=sums)
    if scale == "log odds":
        fit = regress_cells(cells, "group")
        return bool(abs(fit.coefficients[1] / fit.stderr[1]) > 1.96)
    (pair,) = cells.groups(population="sample").differences()
    gap = pair.difference
    return bool(abs(gap.frequencies[1] / gap.stderr[1]) > 1.96)


@pytest.mark.slow_variants("log odds", "difference-rr")
@pytest.mark.parametrize("word", ["auto", "rr"])
@pytest.mark.parametrize("scale", ["difference", "log odds"])
def test_with_the_required_people_effects_are_found_as_often_as_wanted(
    scale: Any, word: str
) -> None:
    n = jrr.required_n_for_effect(1.0, FIRST, SECOND, scale=scale, mechanism=word)
    assert jrr.power_of_effect(n, 1.0, FIRST, SECOND, scale=scale, mechanism=word) >= 0.8
    assert jrr.power_of_effect(n - 2, 1.0, FIRST, SECOND, scale=scale, mechanism=word) < 0.8
    mechanism = jrr.plan(n, 1.0, mechanism=word).mechanism
    rng, runs = np.random.default_rng(7), 400
    share = np.mean([found(scale, n, mechanism, rng) for _ in range(runs)])
    error = (0.8 * 0.2 / runs) ** 0.5
    assert abs(share - 0.8) < 4 * error
    # With two thirds of the people it would be 0.63: that is noticed.
    assert abs(0.63 - 0.8) > 8 * error


def test_without_perturbation_it_is_the_textbook() -> None:
    """At ε = 30 answers are open: power of the test of two shares with unpooled variances."""
    n = 800
    wish: dict[str, Any] = {"mechanism": "rr", "share": 0.25, "lost": 0.0}
    error = (FIRST * 0.8 / (0.75 * n) + SECOND * 0.7 / (0.25 * n)) ** 0.5
    expected = stats.norm.sf(1.96 - 0.1 / error)
    assert jrr.power_of_effect(n, 30.0, FIRST, SECOND, **wish) == pytest.approx(expected, abs=1e-4)
    logit = np.log(SECOND / 0.7) - np.log(FIRST / 0.8)
    error = (1 / (FIRST * 0.8 * 0.75 * n) + 1 / (SECOND * 0.7 * 0.25 * n)) ** 0.5
    expected = stats.norm.sf(1.96 - logit / error * 0.7**0.5)
    found = jrr.power_of_effect(n, 30.0, FIRST, SECOND, scale="log odds", explained=0.3, **wish)
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    "wish", [{"announced": False}, {"mechanism": "drr"}, {"mechanism": "jrr"}, {"mechanism": "rr"}]
)
def test_what_cancels_in_a_deck_does_not_in_a_part_of_it(wish: dict[str, Any]) -> None:
    """Groups of a closed deck were planned at a fifth of the error that they have."""
    people = np.arange(1_200)
    chosen = jrr.plan(1_200, 1.0, lost=0.0, **wish)
    mechanism, rng = chosen.mechanism, np.random.default_rng(3)
    reports = mechanism.respond(people % 2, mechanism.deal(rng), rng)
    item = SensitiveItem(mechanism, reports)
    cells = cells_of(item, {"group": (people // 2 % 6).astype(str)})
    for group in cells.groups():
        planned = group_stderr(chosen, 200, frequency=0.5)
        assert planned == pytest.approx(group.estimate.stderr[1], rel=0.02)
    gap = cells.groups().differences()[0].difference
    compared = group_stderr(chosen, 200, frequency=0.5, compared=True)
    assert 2**0.5 * compared == pytest.approx(gap.stderr[1], rel=0.02)
    drawn = 2 * 0.25 / 200
    error = effect_stderr(chosen, (0.5, 0.5), (200, 200))
    assert (error**2 - drawn) ** 0.5 == pytest.approx(gap.stderr[1], rel=0.02)
    assert group_stderr(chosen, 1_200, frequency=0.5) == pytest.approx(chosen.stderr(0.5))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"first": 0.0}, "first must be in"),
        ({"share": 1.0}, "share must be in"),
        ({"scale": "odds"}, "scale must be one of"),
        ({"explained": 1.0}, "explained must be in"),
        ({"power": 1.0}, "power must be in"),
        ({"second": FIRST}, "power must be reachable"),
    ],
)
def test_refusals(wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"first": FIRST, "second": SECOND, "most": 10_000} | wrong
    with pytest.raises(ArgumentError, match=words):
        jrr.required_n_for_effect(1.0, **given)
