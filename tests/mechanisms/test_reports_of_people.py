"""Reports one by one, as devices make them: lists of them are tallied, JSON and back."""

import json
from typing import Any

import numpy as np
import pytest

import jrr
from jrr import DRR, JRR, OLH, OUE, RR, SUE, Mechanism, SeededRandom
from jrr.errors import ArgumentError

MECHANISMS: list[Mechanism] = [
    RR(2, 1.0),
    RR(5, 1.0),
    JRR(40, p=0.6, s=0.2),
    JRR(40, p=0.6, s=0.2, k=3),
    DRR(40, truth=0.4, own=0.1, k=3),
    SUE(3, 1.0),
    SUE(8, 1.0),
    OUE(9, 1.0),
    OUE(17, q=0.2, s=0.1, coupling="dealt", n=40),
    OUE(17, q=0.2, s=0.1, coupling="joint", n=40),
    OLH(100, 1.0),
    OLH(100, p=0.5, g=8, s=0.3, coupling="joint", n=40),
]


def reports_of(mechanism: Mechanism, people: int) -> tuple[list[Any], list[int]]:
    rng = SeededRandom(3)
    values = [at % mechanism.k for at in range(people)]
    cards = mechanism.deal(rng)
    dealt: list[Any] = [None] * people
    if cards is not None:  # a row of bytes is one card
        dealt = [card.tobytes() if card.ndim else card for card in np.asarray(cards)]
    pairs = zip(values, dealt, strict=True)
    return [mechanism.respond_one(value, card, rng) for value, card in pairs], values


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("people", [1, 2, 7, 8, 40])
def test_a_list_of_reports_is_tallied_as_the_array_of_them(
    mechanism: Mechanism, people: int
) -> None:
    made, _ = reports_of(mechanism, 40)
    made = made[:people]
    form = mechanism.report_format
    rows = np.frombuffer(
        b"".join(form.from_json(form.to_json(report)) for report in made), np.uint8
    ).reshape(people, form.width)
    array = form.unpack(rows)
    for kind in (list, tuple):
        assert mechanism.tally(kind(made)) == mechanism.tally(array, mechanism.deals)
    weights = np.arange(1, people + 1)
    weighted = mechanism.tally(made, weights=weights)
    expected = mechanism.tally(array, mechanism.deals, weights=weights)
    assert weighted.to_dict() == expected.to_dict()
    assert mechanism.estimate(made).n == people


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_reports_go_through_json(mechanism: Mechanism) -> None:
    """As telemetry sends them: a line each, read at the other end, counted."""
    made, _ = reports_of(mechanism, 40)
    lines = [json.dumps(mechanism.report_to_json(report)) for report in made]
    read = [mechanism.report_from_json(json.loads(line)) for line in lines]
    assert read == made
    assert mechanism.tally(read) == mechanism.tally(made)


@pytest.mark.parametrize(
    ("mechanism", "wrong"),
    [
        (RR(2, 1.0), [2]),
        (RR(2, 1.0), [b"x"]),
        (RR(2, 1.0), [[0], [1, 2]]),
        (SUE(8, 1.0), [b""]),
        (SUE(8, 1.0), [b"a", b"bc"]),
        (SUE(3, 1.0), [b"\xff"]),
        (SUE(8, 1.0), [1, 2]),
        (SUE(8, 1.0), [b"a", 1]),
        (OLH(100, 1.0), [1]),
        (OLH(100, 1.0), [(1, 2, 3)]),
        (OLH(100, 1.0), [(-1, 0)]),
        (OLH(100, 1.0), [(1 << 64, 0)]),
        (OLH(100, 1.0), [(1, 10**6)]),
        (OLH(100, 1.0), [("a", 0)]),
        *((mechanism, []) for mechanism in MECHANISMS),
    ],
    ids=str,
)
def test_what_nobody_reports_is_refused(mechanism: Mechanism, wrong: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="reports"):
        mechanism.tally(wrong)


# -- more reports than cards, cards twice, and reports without cards -----------------------

CARDED = [mechanism for mechanism in MECHANISMS if mechanism.deals]


def answers(mechanism: Mechanism, people: int = 40) -> Any:
    return np.arange(people) % mechanism.k


@pytest.mark.parametrize("mechanism", CARDED, ids=str)
def test_the_same_reports_twice_do_not_narrow_an_interval(mechanism: Mechanism) -> None:
    reports = mechanism.respond(answers(mechanism), mechanism.deal())
    twice = np.concatenate([reports, reports])
    plain = mechanism.tally(np.asarray(twice), carded=True)
    for many in (twice, plain, mechanism.tally(reports) + mechanism.tally(reports)):
        with pytest.raises(ArgumentError, match="at most 40 for one deck, got 80: is one there"):
            mechanism.estimate(many)
    assert mechanism.estimate(twice, decks=2).n == 80
    named = mechanism.tally(reports, deck="a") + mechanism.tally(reports, deck="b")
    assert mechanism.estimate(named).n == 80
    three = named + mechanism.tally(reports, deck="b")
    with pytest.raises(ArgumentError, match="each of the 2 decks named"):
        mechanism.estimate(three)


@pytest.mark.parametrize("mechanism", CARDED, ids=str)
def test_reports_without_cards_are_not_tallied_as_carded(mechanism: Mechanism) -> None:
    without = mechanism.respond(answers(mechanism))
    kinds = {
        "whole": without,
        "slice": without[3:20],
        "selection": without[[1, 2, 3]],
        "flags": without[np.arange(40) % 2 == 0],
        "copy": without.copy(),
        "joined": np.concatenate([without[:4], without[4:]]),
    }
    for reports in kinds.values():
        tally = mechanism.tally(reports)
        assert (tally.n_carded, tally.n_cardless) == (0, len(reports))
        assert mechanism.estimate(reports).n == len(reports)
        assert mechanism.tally(reports, weights=np.ones(len(reports))).n_carded == 0
        for wrong in (True, np.ones(len(reports), np.bool_)):
            with pytest.raises(ArgumentError, match="carded must be False for these reports"):
                mechanism.tally(reports, wrong)
    carded = mechanism.respond(answers(mechanism), mechanism.deal())
    assert mechanism.tally(carded).n_cardless == 0
    with pytest.raises(ArgumentError, match="carded must be True for these reports"):
        mechanism.tally(carded, carded=False)
    both = np.concatenate([carded, without])
    with pytest.raises(ArgumentError, match="some of them were made with a card, and some without"):
        mechanism.tally(both)
    flags = np.arange(80) < 40
    assert mechanism.tally(both, flags).n_carded == 40


@pytest.mark.parametrize("mechanism", CARDED, ids=str)
def test_a_deck_is_spent_once(mechanism: Mechanism) -> None:
    values = answers(mechanism)
    cards = mechanism.deal()
    assert cards is not None
    # Part by part, in any order, all of it.
    order = np.random.default_rng(1).permutation(40)
    mechanism.respond(values[:7], cards[:7])
    mechanism.respond(values[7:20], cards[7:20])
    rest = cards[20:]
    shuffled = order[order >= 20] - 20
    mechanism.respond(values[20:25], rest[shuffled][:5])
    mechanism.respond(values[25:40], rest[shuffled[5:]])
    again = (cards, cards[:1], cards[5:9], cards[::-1], cards[[30, 31]], cards.copy(), rest[3:4])
    for used in again:
        with pytest.raises(ArgumentError, match="cards must be fresh"):
            mechanism.respond(values[: len(used)], used)
    # Fresh cards, and plain arrays, which nobody watches.
    mechanism.respond(values, mechanism.deal())
    mechanism.respond(values, np.asarray(cards))


def test_what_is_refused_spends_nothing() -> None:
    mechanism = JRR(10, p=0.6, s=0.2)
    cards = mechanism.deal()
    for values in ([2] * 10, [1] * 9, [0.5] * 10):
        with pytest.raises(ArgumentError):
            mechanism.respond(values, cards)
    mechanism.respond([1] * 10, cards)


def test_marked_arrays_are_arrays() -> None:
    mechanism = JRR(10, p=0.6, s=0.2)
    cards = mechanism.deal()
    reports = mechanism.respond([1] * 10, cards)
    for array in (cards, reports):
        assert isinstance(array, np.ndarray)
        for computed in (array + 1, array == 1, np.sort(np.asarray(array)), -array):
            assert type(computed) is np.ndarray
        assert isinstance(array.sum(), np.integer)
    import pickle

    assert mechanism.tally(pickle.loads(pickle.dumps(reports[:5]))).n_carded == 5
    alone = pickle.loads(pickle.dumps(mechanism.respond([1] * 10)))
    assert mechanism.tally(alone).n_cardless == 10
    assert np.array_equal(pickle.loads(pickle.dumps(cards)), cards)
    assert np.array_equal(jrr.RR(2, 1.0).respond([1, 0], rng=SeededRandom(1)).shape, (2,))
