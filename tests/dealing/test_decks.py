"""The decks of a survey: every block gives every seat once, and a whole deck."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from jrr import DRR, JRR, OUE, Mechanism
from jrr.dealing.decks import SurveyDecks
from tests.statistics_rules import accepts_only, chi_square, skewed

SALT = "5a" * 32


def decks_of(mechanism: Mechanism, key: bytes) -> SurveyDecks:
    return SurveyDecks({SALT: mechanism}, {SALT: "answer"}, key)


def card_at(decks: SurveyDecks, block: int, seat: int) -> Any:
    return decks.cards(block, seat)["answer"]["card"]


@pytest.mark.parametrize(
    "mechanism",
    [
        JRR(21, p=0.7, s=0.2),
        DRR(20, truth=0.5, own=0.1, k=3, deck=(12, 5, 3)),
        OUE(12, q=0.2, s=0.1, coupling="dealt", n=21),
    ],
    ids=str,
)
def test_every_block_gives_every_seat_once_and_a_whole_deck(mechanism: Mechanism) -> None:
    n = mechanism.moments.deck
    assert n is not None
    decks = decks_of(mechanism, b"k" * 32)
    places = [decks.place(arrival) for arrival in range(3 * n)]
    assert [block for block, _ in places] == [at // n for at in range(3 * n)]
    for block in range(3):
        seats = [seat for at, seat in places if at == block]
        assert sorted(seats) == list(range(n))
        assert seats != list(range(n))
        cards = [card_at(decks, block, seat) for seat in range(n)]
        if isinstance(mechanism, OUE):
            rows = np.array([list(bytes.fromhex(card)) for card in cards], np.uint8)
            ones = np.unpackbits(rows, axis=1, bitorder="little")[:, :12].sum(axis=0)
            assert set(ones.tolist()) <= {n // 2, n // 2 + 1}
        else:
            deck = mechanism.deal()
            assert deck is not None
            assert Counter(cards) == Counter(int(card) for card in deck)
    again = decks_of(mechanism, b"k" * 32)
    assert [again.place(arrival) for arrival in range(3 * n)] == places
    assert again.cards(2, 5) == decks.cards(2, 5)
    other = decks_of(mechanism, b"l" * 32)
    assert [other.place(arrival) for arrival in range(3 * n)] != places


@pytest.mark.statistical
def test_seats_tell_nothing_of_who_came_when() -> None:
    """Over many keys the seat of the first to come is uniform."""
    mechanism = DRR(10, truth=0.5)
    first = [
        decks_of(mechanism, number.to_bytes(32, "little")).place(0)[1] for number in range(6_000)
    ]
    counts = np.bincount(first, minlength=10)
    uniform = [0.1] * 10
    accepts_only(lambda law: chi_square(counts, law), right=uniform, wrong=skewed(uniform))
