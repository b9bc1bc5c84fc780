"""A single number is drawn without arrays: the same words make the same number."""

import numpy as np
import pytest

from jrr._base.randomness import SeededRandom, Words
from jrr.mechanisms.masked_deck import geometric


class Fixed:
    """Gives the same words again and again."""

    def __init__(self, words: list[int]) -> None:
        self._words, self._at = words, 0

    def words(self, count: int) -> Words:
        return np.array([self.word() for _ in range(count)], np.uint64)

    def word(self) -> int:
        self._at += 1
        return self._words[(self._at - 1) % len(self._words)]


@pytest.mark.parametrize("rate", [0.00125, 0.03, 0.5, 2.0, 40.0, 700.0])
def test_one_number_is_the_first_of_many(rate: float) -> None:
    source = SeededRandom(4)
    drawn = [source.word() for _ in range(300)]
    edges = [0, 1, (1 << 24) - 1, 1 << 24, 1 << 53, (1 << 63) + 1, (1 << 64) - 1]
    # Ends of intervals, where floating point does not decide.
    edges += [int(float(np.exp(-rate * g)) * 2.0**64) for g in (1, 2, 3) if rate < 20]
    for word in [*drawn, *edges]:
        words = [word, *drawn[:5]]
        alone = geometric(rate, 1, Fixed(words))[0]
        # In an array of two the further words of an unsure first one come third.
        pair = geometric(rate, 2, Fixed([word, drawn[9], *drawn[:5]]))[0]
        assert alone == pair
