"""Questions that were asked of some of the people: errors have the noise of who was asked.

Who is asked is drawn without replacement among those who answered, whatever they answer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis import (
    Cells,
    SensitiveItem,
    cells_of,
    regress,
    regress_cells,
    regress_outcome_cells,
    two_way,
)
from jrr.errors import ArgumentError
from tests.statistics_rules import accepts_only, spread_test

PEOPLE, ASKED, DRAWS = 400, 160, 600
SHARE = ASKED / PEOPLE
COIN = jrr.RR(p=0.95)
REGION = np.where(np.arange(PEOPLE) % 4 == 0, "north", "south")
FIRST = np.where(np.arange(PEOPLE) % 8 < 3, 1, 0)
SECOND = np.where(np.arange(PEOPLE) % 8 < 2, FIRST, 1 - FIRST)
SIZES = {"region": {"north": 100, "south": 300}}


def item_of(values: Any, rng: Any, share: float = SHARE) -> SensitiveItem:
    return SensitiveItem(COIN, COIN.respond(values, rng=rng), asked=share)


def draws(
    of_one: Callable[[np.ndarray, Any, float], tuple[float, float]], share: float
) -> tuple[list[float], float]:
    """Estimates for many draws of who is asked, and the root of the mean stated variance."""
    rng = np.random.default_rng(29)
    found = [of_one(rng.permutation(PEOPLE)[:ASKED], rng, share) for _ in range(DRAWS)]
    estimates, errors = zip(*found, strict=True)
    return list(estimates), float(np.sqrt(np.mean(np.square(errors))))


def by_region(some: np.ndarray, rng: Any, share: float) -> Cells:
    return cells_of(item_of(FIRST[some], rng, share), {"region": REGION[some]}, min_cell=1)


def total(some: np.ndarray, rng: Any, share: float) -> tuple[float, float]:
    one = by_region(some, rng, share).total()
    return one.frequencies[1], one.stderr[1]


def weighted(some: np.ndarray, rng: Any, share: float) -> tuple[float, float]:
    one = by_region(some, rng, share).weighted(SIZES, population="respondents").estimate
    return one.frequencies[1], one.stderr[1]


def of_pairs(some: np.ndarray, rng: Any, share: float) -> tuple[float, float]:
    items = [item_of(values[some], rng, share) for values in (FIRST, SECOND)]
    table = two_way(*items)
    return table.shares[1, 1], table.stderr[1, 1]


@pytest.mark.statistical
@pytest.mark.parametrize("of_one", [total, weighted, of_pairs])
def test_errors_count_who_was_asked(of_one: Any) -> None:
    """They are those of all who answered; without `asked` they would be of those asked alone."""
    estimates, stated = draws(of_one, SHARE)
    _, of_those_asked = draws(of_one, 1.0)
    accepts_only(lambda sd: spread_test(estimates, sd), stated, of_those_asked)


@pytest.mark.statistical
@pytest.mark.parametrize("person_by_person", [False, True])
def test_regressions_speak_of_whom_people_are_drawn_from(*, person_by_person: bool) -> None:
    """Then those who were asked are a sample as any other: errors need no more."""

    def slope(some: np.ndarray, rng: Any, share: float) -> tuple[float, float]:
        values = (rng.random(PEOPLE) < np.where(REGION == "north", 0.6, 0.2))[some].astype(int)
        item, region = item_of(values, rng, share), {"region": REGION[some]}
        if person_by_person:
            found = regress(item, region, link="identity")
        else:
            found = regress_cells(cells_of(item, region, min_cell=1), link="identity")
        return found.coefficients[1], found.stderr[1]

    estimates, stated = draws(slope, SHARE)
    assert abs(np.mean(estimates) + 0.4) < 5 * stated / np.sqrt(DRAWS)
    accepts_only(lambda sd: spread_test(estimates, sd), stated, 0.7 * stated)


@pytest.mark.statistical
def test_as_a_predictor_through_cells() -> None:
    def effect(some: np.ndarray, rng: Any, share: float) -> tuple[float, float]:
        values = rng.integers(0, 2, PEOPLE)
        happy = (rng.random(PEOPLE) < np.where(values == 1, 0.2, 0.7)).astype(int)
        cells = cells_of(item_of(values[some], rng, share), {"happy": happy[some]}, min_cell=1)
        return regress_outcome_cells(cells, "happy", link="identity").effect

    estimates, stated = draws(effect, SHARE)
    assert abs(np.mean(estimates) + 0.5) < 5 * stated / np.sqrt(DRAWS)
    accepts_only(lambda sd: spread_test(estimates, sd), stated, 0.7 * stated)


def test_cells_know_the_share_of_their_reports() -> None:
    rng = np.random.default_rng(3)
    item = item_of(FIRST[:ASKED], rng)
    cells = cells_of(item, {"region": REGION[:ASKED]}, min_cell=1)
    assert cells.asked == SHARE
    direct = COIN.estimate(item.reports, asked=SHARE)
    assert cells.total().to_dict() == direct.to_dict()
    weights = cells.weighted(SIZES, population="respondents")
    assert weights.estimate.asked == SHARE
    assert {group.estimate.asked for group in weights.groups()} == {SHARE}


@pytest.mark.parametrize("share", [0, 1.2, float("nan"), "half"])
def test_shares_that_cannot_be(share: Any) -> None:
    with pytest.raises(ArgumentError, match=r"asked must be in \(0, 1\]"):
        SensitiveItem(COIN, [0, 1], asked=share)


def test_pairs_are_of_people_who_were_asked_both() -> None:
    one, two = SensitiveItem(COIN, [0, 1], asked=0.5), SensitiveItem(COIN, [0, 1], asked=0.25)
    with pytest.raises(
        ArgumentError, match=r"share of people who were asked both.* 0\.5 and 0\.25"
    ):
        two_way(one, two)
    assert two_way(two, two).population == "respondents"
    assert two_way(two, two, population="sample").population == "sample"
