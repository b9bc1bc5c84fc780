"""One way to JSON: to_dict and to_json on everything, and back where there is a way back."""

import json
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.estimation.tally import WeightedTally, WeightSums

RR3 = jrr.RR(3, p=0.5)
DEALT = jrr.DRR(n=10, truth=0.3, own=0.1, k=3, deck=[5, 3, 2])
OUE = jrr.OUE(12, epsilon=1.0)
OLH = jrr.OLH(50, epsilon=2.0)
every_mechanism = pytest.mark.parametrize("m", [RR3, DEALT, OUE, OLH], ids=repr)


def answered(m: jrr.Mechanism, n: int = 200) -> Any:
    rng = np.random.default_rng(1)
    return np.asarray(m.respond(rng.integers(0, m.k, n), None, rng))  # carded or not


def weights(n: int = 200) -> Any:
    return np.random.default_rng(2).gamma(2.0, size=n)


@every_mechanism
def test_tallies_come_back_from_both_forms(m: jrr.Mechanism) -> None:
    tally = m.tally(answered(m), carded=False)
    assert jrr.Tally.from_dict(tally.to_dict()) == tally
    assert json.loads(tally.to_json()) == tally.to_dict()
    assert jrr.Tally.from_json(tally.to_json()) == tally


@every_mechanism
def test_weighted_tallies_come_back_to_the_last_digit(m: jrr.Mechanism) -> None:
    tally = m.tally(answered(m), carded=False, weights=weights())
    text = tally.to_json()
    assert "\n" not in text
    assert json.loads(text) == tally.to_dict()
    again = WeightedTally.from_json(text)
    assert again.to_json() == text
    assert WeightedTally.from_dict(tally.to_dict()).to_json() == text
    assert m.estimate(again).to_json() == m.estimate(tally).to_json()
    assert (again + tally).n == 400


def test_cards_and_decks_come_back_too() -> None:
    carded = np.arange(30) % 3 > 0
    tally = DEALT.tally(answered(DEALT, 30), carded, "b", weights=weights(30))
    again = WeightedTally.from_json((tally + DEALT.tally([0], True, "a", weights=[2])).to_json())
    assert (again.decks, again.n_carded, again.n_cardless) == (("a", "b"), 21, 10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weighted_tally": 2}, "weighted_tally version must be 1"),
        ({"weighted_tally": True}, "weighted_tally version must be 1"),
        ({"tally": 1}, "weighted_tally fields"),
        ({"mechanism": "RR"}, "mechanism"),
        ({"decks": "ab"}, "decks must be a list of names"),
        ({"decks": [1]}, "decks must be a list of names"),
        ({"carded": []}, "weight sums must be an object"),
        ({"carded": {"n": 0}}, "weight sums must be an object"),
    ],
    ids=str,
)
def test_other_documents_are_refused(change: dict[str, Any], words: str) -> None:
    document = RR3.tally([0, 1, 2], weights=[1, 2, 3]).to_dict()
    with pytest.raises(ArgumentError, match=words):
        WeightedTally.from_json(json.dumps(document | change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": -1}, "n must be"),
        ({"n": 1.5}, "n must be"),
        ({"weight": -1.0}, "weight must be"),
        ({"weight": "6"}, "weight must be"),
        ({"support": 1}, "support must be a list"),
        ({"support": [1, 2]}, "one sum per value"),
        ({"support": [1, 2, 7]}, "support must be numbers in 0..weight"),
        ({"support": [1, 2, -1]}, "support must be numbers in 0..weight"),
        ({"support_squares": [1, 4, 99]}, "support_squares must be numbers"),
        ({"support": [1, 2, float("nan")]}, "support must be numbers"),
    ],
    ids=str,
)
def test_sums_that_no_weights_have_are_refused(change: dict[str, Any], words: str) -> None:
    document = RR3.tally([0, 1, 2], weights=[1, 2, 3]).to_dict()
    document["cardless"] |= change
    with pytest.raises(ArgumentError, match=words):
        WeightedTally.from_dict(document)


TWICE, DEEP = '{"tally": 1, "tally": 1}', "[" * 100_000


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", TWICE, DEEP], ids=lambda t: t[:20])
def test_texts_that_are_no_tally_are_refused(text: str) -> None:
    for kind in (jrr.Tally, WeightedTally):
        with pytest.raises(ArgumentError, match="tally"):
            kind.from_json(text)


def test_sums_add_field_by_field() -> None:
    tally = RR3.tally([0, 1, 2], weights=[1, 2, 3]).cardless
    twice = tally + tally
    assert isinstance(twice, WeightSums)
    assert (twice.n, twice.weight, twice.weight_squares) == (6, 12.0, 28.0)
    assert twice.support.tolist() == [2.0, 4.0, 6.0]
    assert WeightSums.from_dict(tally.to_dict()).to_dict() == tally.to_dict()


@every_mechanism
def test_estimates_and_differences_are_result_documents(m: jrr.Mechanism) -> None:
    estimate = m.estimate(m.tally(answered(m), carded=False))
    assert json.loads(estimate.to_json(0.9)) == estimate.to_dict(0.9)
    assert estimate.to_dict(0.9)["level"] == 0.9
    gap = jrr.difference(estimate, estimate, same_deck=False)
    assert json.loads(gap.to_json(0.9)) == gap.to_dict(0.9)
    for kind in (jrr.Estimate, jrr.Difference):
        assert not hasattr(kind, "from_dict")
