"""Estimates by group: who is shown, who is only counted, and from how many decks all draw."""

import json
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.estimation.groups import (
    MIN_CELL,
    MOST_COMPARED_GROUPS,
    GroupEstimates,
    add_tallies,
    among_answered,
    estimate_groups,
)
from jrr.estimation.tally import WeightedTally

PLAIN = jrr.RR(3, epsilon=1.0)
DEALT = jrr.DRR(50, truth=0.5, own=0.1)


def tallies_of(mechanism: Any, sizes: dict[str, int], **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        name: mechanism.tally(
            np.asarray(mechanism.respond(rng.integers(0, mechanism.k, n), None, rng)),
            **{"carded": mechanism.deals} | more,
        )
        for name, n in sizes.items()
    }


@pytest.mark.parametrize("mechanism", [PLAIN, DEALT], ids=repr)
def test_a_group_is_shown_from_the_smallest_cell_on_and_otherwise_only_counted(
    mechanism: jrr.Mechanism,
) -> None:
    sizes = {"north": MIN_CELL, "sea": MIN_CELL - 1, "east": 1, "ocean": 40}
    tallies = tallies_of(mechanism, sizes, carded=False)
    groups = estimate_groups(mechanism, tallies)
    assert [group.name for group in groups] == ["north", "ocean"]
    assert groups.hidden == 2
    said = json.dumps(groups.to_dict())
    assert "sea" not in said
    assert "east" not in said
    assert [group.name for group in estimate_groups(mechanism, tallies, min_cell=1)] == [
        *("east", "north", "ocean", "sea")
    ]
    for group in groups:
        direct = mechanism.estimate(tallies[group.name])
        assert group.estimate.to_dict() == direct.to_dict()


def test_all_groups_draw_from_the_decks_of_everybody() -> None:
    tallies = tallies_of(DEALT, {"a": 40, "b": 30, "c": 30})  # two decks of 50 hold them
    for decks, dealt in ((None, 2), (1, 2), (2, 2), (5, 5)):
        for group in estimate_groups(DEALT, tallies, decks=decks):
            direct = DEALT.estimate(tallies[group.name], dealt)
            assert group.estimate.to_dict() == direct.to_dict()


def test_differences_are_those_of_groups_that_share_decks() -> None:
    tallies = tallies_of(DEALT, {"a": 20, "b": 20, "c": 10})
    groups = estimate_groups(DEALT, tallies, min_cell=10)
    pairs = groups.differences()
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    direct = jrr.difference(groups[0].estimate, groups[1].estimate, same_deck=True)
    assert pairs[0].difference.to_dict() == direct.to_dict()
    apart = jrr.difference(groups[0].estimate, groups[1].estimate, same_deck=False)
    assert (direct.stderr > apart.stderr).all()
    assert groups.to_dict(0.9)["differences"][0] == {"first": "a", "second": "b"} | direct.to_dict(
        0.9
    )


def test_too_many_groups_are_not_compared_in_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_COMPARED_GROUPS == 50
    most = 8  # for speed
    monkeypatch.setattr("jrr.estimation.groups.MOST_COMPARED_GROUPS", most)
    sizes = {f"group {number:02}": 20 for number in range(most + 1)}
    tallies = tallies_of(PLAIN, sizes)
    assert estimate_groups(PLAIN, tallies).to_dict()["differences"] == []
    del tallies["group 00"]
    pairs = most * (most - 1) // 2
    assert len(estimate_groups(PLAIN, tallies).to_dict()["differences"]) == pairs


def test_a_group_that_weighs_nothing_is_not_shown() -> None:
    first = PLAIN.tally([0, 1, 2] * 10, weights=[1.0] * 30)
    second = PLAIN.tally([0, 1, 2] * 10, weights=[0.0] * 30)
    groups = estimate_groups(PLAIN, {"a": first, "b": second})
    assert ([group.name for group in groups], groups.hidden) == (["a"], 1)
    whole = add_tallies([first, second])
    assert isinstance(whole, WeightedTally)
    assert (whole.n, whole.weight) == (60, 30.0)


def test_no_groups_and_arguments_that_are_refused() -> None:
    groups = estimate_groups(PLAIN, {})
    assert isinstance(groups, GroupEstimates)
    assert (list(groups), groups.hidden, groups.differences()) == ([], 0, [])
    with pytest.raises(ArgumentError, match="min_cell must be a whole number >= 1"):
        estimate_groups(PLAIN, {}, min_cell=0)
    with pytest.raises(ArgumentError, match="at least one report"):
        add_tallies([])
    with pytest.raises(ArgumentError, match="one mechanism"):
        estimate_groups(PLAIN, tallies_of(PLAIN, {"a": 30}) | tallies_of(DEALT, {"b": 30}))


# Among those who answered ---------------------------------------------------------------------


def test_shares_among_those_who_answered_are_ratios_of_both_ends() -> None:
    estimate = PLAIN.estimate([0] * 300 + [1] * 400 + [2] * 300)
    low, high = estimate.interval(0.95)
    shares = among_answered(estimate, declined=2, level=0.9)
    assert list(shares) == [0, 1]
    for value, (share, least, most) in shares.items():
        f = estimate.frequencies
        assert share == pytest.approx(f[value] / (1 - f[2]))
        assert least == pytest.approx(low[value] / (1 - low[2]))
        assert most == pytest.approx(high[value] / (1 - high[2]))
        assert least < share < most


def test_an_end_below_0_moves_away_from_0() -> None:
    estimate = PLAIN.estimate([0] * 150 + [1] * 400 + [2] * 200)
    low, high = estimate.interval(0.95)
    assert low[0] < 0 < 1 - high[2]
    assert among_answered(estimate, 2, 0.9)[0].low == pytest.approx(low[0] / (1 - high[2]))


def test_nothing_is_said_where_everybody_may_have_declined() -> None:
    estimate = PLAIN.estimate([2] * 20)
    assert estimate.interval()[1][2] >= 1
    assert among_answered(estimate, 2) == {}
    for wrong in (-1, 3, 1.5, True):
        with pytest.raises(ArgumentError, match=r"declined must be a whole number in 0\.\.2"):
            among_answered(estimate, wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="level"):
        among_answered(estimate, 2, 1.0)
