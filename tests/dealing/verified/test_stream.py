"""Numbers from a secret: their law, and that they are those of the golden vectors."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from jrr.dealing.verified.keys import Stream
from tests.golden import make_verified
from tests.statistics_rules import P_VALUE

RUNS = 6_000


def counts(rate: float, most: int) -> list[int]:
    stream = Stream("test law", repr(rate).encode())
    drawn = np.clip([stream.laplace(rate) for _ in range(RUNS)], -most, most)
    return [int((drawn == value).sum()) for value in range(-most, most + 1)]


def p_value(seen: list[int], rate: float, most: int) -> float:
    inner = [math.tanh(rate / 2) * math.exp(-rate * abs(value)) for value in range(1 - most, most)]
    tail = (1 - sum(inner)) / 2
    expected = np.array([tail, *inner, tail]) * RUNS
    return float(stats.chisquare(seen, expected).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rate", "most"), [(0.05, 40), (0.2788514030840781, 10), (1.0, 4), (2.5, 2)]
)
def test_the_law_is_that_of_the_masks(rate: float, most: int) -> None:
    seen = counts(rate, most)
    assert p_value(seen, rate, most) > P_VALUE
    assert p_value(seen, 1.3 * rate, most) < P_VALUE  # a law off by 30% is told apart


def test_uniform_numbers_stay_below() -> None:
    stream = Stream("test")
    assert {stream.below(3) for _ in range(100)} == {0, 1, 2}
    assert {stream.below(1) for _ in range(10)} == {0}
    assert Stream("test", b"a").take(100) == b"".join(
        one for stream in [Stream("test", b"a")] for one in (stream.take(3), stream.take(97))
    )


def test_golden_vectors_are_up_to_date() -> None:
    assert make_verified.PATH.read_text("utf-8") == make_verified.text()
    assert json.loads(make_verified.text())["laplace"]
