"""Audits of dealt cards: exact chances, honest decks pass, swapped cards are noticed."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from jrr import DRR, JRR, MRR, OLH, OUE, RR, SeededRandom
from jrr.errors import JrrError
from jrr.mechanisms.base import Mechanism
from jrr.survey.card_audit import (
    FALSE_ALARM,
    audit_cards,
    cards_for,
    caught,
    lying_dealer,
    moved_by_a_card,
    not_auditable,
)
from jrr.survey.dealer_kinds import ContributorGroups
from tests.survey.test_promises import campaign


def law(size: int, cards: int, audited: int) -> list[Fraction]:
    """The hypergeometric law, by counting."""
    every = math.comb(size, audited)
    return [
        Fraction(math.comb(cards, x) * math.comb(size - cards, audited - x), every)
        for x in range(audited + 1)
    ]


def accepted(size: int, cards: int, audited: int, alarm: Fraction) -> range:
    """The counts that an honest deck keeps to: half of the alarm on each side."""
    chances = law(size, cards, audited)
    low, high = 0, audited
    while sum(chances[: low + 1]) <= alarm / 2:
        low += 1
    while sum(chances[high:]) <= alarm / 2:
        high -= 1
    return range(low, high + 1)


@pytest.mark.parametrize("size", [10, 20, 31])
@pytest.mark.parametrize("faces", [2, 3])
def test_chances_are_those_of_counting(size: int, faces: int) -> None:
    alarm = Fraction(1, 10) / (1 if faces == 2 else faces)
    for cards in (size // 3, size // 2):
        for audited in (1, size // 3, size // 2, size):
            fits = accepted(size, cards, audited, alarm)
            honest = law(size, cards, audited)
            assert 1 - sum(honest[x] for x in fits) <= alarm
            for swapped in (0, 1, size // 4):
                lying = law(size, cards + swapped, audited)
                expected = float(1 - sum(lying[x] for x in fits))
                found = caught(size, cards, swapped, audited, faces=faces, false_alarm=0.1)
                assert found == pytest.approx(expected, abs=1e-12)


def test_all_cards_audited_find_every_swap() -> None:
    assert caught(40, 20, 1, 40) == pytest.approx(1.0)
    assert caught(40, 20, 0, 40) == 0.0
    assert caught(40, 20, 20, 0) == 0.0
    for wrong in ({"swapped": 21}, {"swapped": -1}, {"audited": 41}):
        with pytest.raises(JrrError):
            caught(**({"size": 40, "cards": 20, "swapped": 1, "audited": 4} | wrong))


def test_more_audited_cards_and_more_swaps_are_noticed_more_often() -> None:
    """But for the steps of whole numbers."""
    by_cards = [caught(10_000, 5_000, 1_000, audited) for audited in (100, 300, 500, 1_000)]
    assert by_cards == sorted(by_cards)
    by_swaps = [caught(10_000, 5_000, swapped, 500) for swapped in (0, 500, 1_000, 2_000)]
    assert by_swaps == sorted(by_swaps)
    assert by_swaps[0] <= FALSE_ALARM
    assert caught(10_000, 5_000, 1_000, 500, decks=3) <= by_swaps[2]  # never more is promised


MECHANISMS: list[Mechanism] = [
    DRR(2_000, truth=0.5, own=0.1),
    DRR(2_000, truth=0.4, own=0.1, k=4),
    JRR(2_000, p=0.7, s=0.2),
    JRR(2_001, p=0.7, s=0.2),
]


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_honest_decks_pass_and_a_third_swapped_do_not(mechanism: Mechanism) -> None:
    rng, source = SeededRandom(5), np.random.default_rng(5)
    deck = np.asarray(mechanism.deal(rng=rng))
    taken = source.choice(len(deck), 600, replace=False)
    assert audit_cards(mechanism, deck[taken]).passed
    faces = np.unique(deck)
    swapped = deck.copy()
    away = np.flatnonzero(deck == faces[0])
    swapped[away[: int(0.3 * len(away))]] = faces[-1]
    found = audit_cards(mechanism, swapped[taken])
    assert not found.passed
    assert sum(found.faces.values()) == found.audited == 600


def test_a_swapped_card_moves_a_count_by_what_the_estimator_makes_of_it() -> None:
    """The largest difference between two cards, in expected support, over the gain."""
    dealt = DRR(2_000, truth=0.5, own=0.1)
    assert moved_by_a_card(dealt) == pytest.approx(0.4 / 0.5, rel=1e-9)
    joint = JRR(2_000, p=0.7, s=0.2)
    lies = [one.reports[0][1] for one in joint.card_laws()]
    assert moved_by_a_card(joint) == pytest.approx((max(lies) - min(lies)) / 0.4, rel=1e-6)


def test_what_is_said_beside_an_estimate() -> None:
    mechanism = DRR(10_000, truth=0.5, own=0.1)
    asked = campaign(mechanism, capacity=10_000)
    unaudited = lying_dealer(asked, mechanism, 0, 1)
    assert {size["caught"] for size in unaudited["sizes"]} == {0.0}
    facts = lying_dealer(asked, mechanism, 500, 1)
    (ten,) = [size for size in facts["sizes"] if size["cards"] == 500]
    assert ten["caught"] == caught(10_000, 5_000, 500, 500)
    assert ten["people"] == pytest.approx(500 * moved_by_a_card(mechanism))
    needed = cards_for(mechanism, 500)
    assert needed is not None
    assert caught(10_000, 5_000, 500, needed) >= 0.95


@pytest.mark.parametrize(
    ("mechanism", "more", "words"),
    [
        (RR(2, 1.0), {}, "no cards"),
        (MRR(50, p=0.9, card_rate=0.7, total_rate=0.5), {}, "audit-deck"),
        (OUE(12, q=0.2, s=0.1, coupling="dealt", n=20), {}, "a bit for every answer"),
        (OLH(50, p=0.5, g=8, s=0.3, coupling="joint", n=40), {}, "own hash"),
        (DRR(8, truth=0.5, own=0.1), {"dealer": ContributorGroups(), "colluders": 0}, "themselves"),
    ],
    ids=["rr", "mrr", "oue", "olh", "groups"],
)
def test_where_cards_cannot_be_audited_it_is_said_why(
    mechanism: Mechanism, more: dict[str, Any], words: str
) -> None:
    asked = campaign(mechanism, **more)
    reason = not_auditable(asked, mechanism)
    assert reason is not None
    assert words in reason
    assert lying_dealer(asked, mechanism, 10, 1) == {"audited": 0, "reason": reason}
