"""Many decks at once: balanced, every order equally likely, decks independent of each other."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.mechanisms.draws import balanced_bits
from tests.statistics_rules import accepts_only, chi_square, skewed


def unpacked(cards: int, decks: int, seed: int) -> np.ndarray:
    packed = balanced_bits(cards, decks, jrr.SeededRandom(seed))
    assert packed.shape == (cards, -(-decks // 8))
    whole = np.unpackbits(packed, axis=1, bitorder="little")
    assert not whole[:, decks:].any()
    return whole[:, :decks]


@pytest.mark.parametrize("cards", [2, 4, 6, 100, 1_000, 10_000])
@pytest.mark.parametrize("decks", [1, 3, 8, 9, 64])
def test_every_deck_is_balanced(cards: int, decks: int) -> None:
    for seed in range(5):
        assert (unpacked(cards, decks, seed).sum(axis=0) == cards // 2).all()


@pytest.mark.statistical
def test_every_order_of_two_decks_is_equally_likely() -> None:
    orders = [bits for bits in product((0, 1), repeat=4) if sum(bits) == 2]
    pairs = dict.fromkeys(product(orders, repeat=2), 0)
    source = jrr.SeededRandom(11)
    for _ in range(20_000):
        bits = np.unpackbits(balanced_bits(4, 2, source), axis=1, count=2, bitorder="little")
        pairs[tuple(bits[:, 0].tolist()), tuple(bits[:, 1].tolist())] += 1
    uniform = [1 / len(pairs)] * len(pairs)
    half_of_all = [1.3 if at < len(pairs) // 2 else 0.7 for at in range(len(pairs))]
    wrong = [share / len(pairs) for share in half_of_all]
    accepts_only(lambda law: chi_square(list(pairs.values()), law), uniform, wrong)
    first = [sum(n for (a, _), n in pairs.items() if a == order) for order in orders]
    accepts_only(lambda law: chi_square(first, law), [1 / 6] * 6, skewed([1 / 6] * 6))


class CountedWords:
    """Random words, counted."""

    def __init__(self, seed: int) -> None:
        self._source, self.drawn = jrr.SeededRandom(seed), 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.drawn += count
        return self._source.words(count)

    def word(self) -> int:
        self.drawn += 1
        return self._source.word()


@pytest.mark.parametrize("decks", [8, 64, 1_000])
@pytest.mark.parametrize("cards", [10_000, 100_000])
def test_a_card_takes_a_bit_where_a_shuffle_takes_a_word(cards: int, decks: int) -> None:
    """What makes dealing fast on every machine: at least 20 times fewer random words."""
    if cards * decks > 10_000_000:
        cards = 10_000
    source = CountedWords(5)
    balanced_bits(cards, decks, source)
    assert source.drawn < cards * decks / 20
    assert source.drawn >= cards * decks / 64  # or the order would not be random
