"""Numbers and values as people see them: aligned, never too small, never too long."""

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jrr
from jrr._base.wording import ShortRepr, aligned, percentage_points, short, show_guarantee
from jrr.tables import Labels

NUMBERS = st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=8)


@given(numbers=NUMBERS, digits=st.integers(1, 4))
def test_a_column_has_equally_many_decimals(numbers: list[float], digits: int) -> None:
    shown = aligned(numbers, digits)
    assert len({text.partition(".")[2].__len__() for text in shown}) == 1
    for number, text in zip(numbers, shown, strict=True):
        assert abs(float(text) - number) <= max(0.5 * number * 10 ** (1 - digits), 5e-7) * 1.001


@given(numbers=NUMBERS)
def test_guarantees_are_rounded_up(numbers: list[float]) -> None:
    for number, text in zip(numbers, aligned(numbers, 4, up=True), strict=True):
        assert Decimal(text) >= Decimal(repr(number))


def test_odd_columns() -> None:
    assert aligned([0.0, 0.0]) == ["0.00", "0.00"]
    assert aligned([math.inf, 0.1, 2.1], 4, up=True) == ["unbounded", "0.1000", "2.1000"]
    assert aligned([1e-12]) == ["0.000000"]
    assert aligned([1e-12], up=True) == ["0.000001"]
    assert aligned([]) == []


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("1", "1 percentage point"),
        ("1.0", "1.0 percentage points"),
        ("0.5", "0.5 percentage points"),
    ],
)
def test_one_point_is_one(shown: str, words: str) -> None:
    assert percentage_points(shown) == words


def test_a_guarantee_names_its_delta_where_there_is_one() -> None:
    assert show_guarantee(1.0, 0.0) == "ε = 1"
    assert show_guarantee(1.37501, 1e-6) == "ε = 1.376 at δ = 1e-06"
    assert show_guarantee(math.inf, 1e-6) == "ε unbounded"


@dataclass(frozen=True, repr=False)
class Thing(ShortRepr):
    name: str
    entries: tuple[int, ...]


def test_long_values_are_cut_and_short_ones_are_not() -> None:
    assert repr(Thing("a", (1, 2, 3))) == "Thing(name='a', entries=(1, 2, 3))"
    assert repr(Thing("a", tuple(range(50)))) == (
        "Thing(name='a', entries=(0, 1, 2, 3, 4, ... 50 in all))"
    )
    assert short({str(at): at for at in range(9)}).endswith("'4': 4, ... 9 in all}")
    assert short(np.arange(9)) == "[0, 1, 2, 3, 4, ... 9 in all]"


def test_nothing_that_people_print_is_long() -> None:
    k = 300
    mechanism = jrr.DRR(1_000, truth=0.3, own=0.1, k=k)
    reports = mechanism.respond(np.arange(1_000) % k, mechanism.deal())
    tally = mechanism.tally(reports)
    weighted = mechanism.tally(reports, weights=np.ones(1_000))
    labels = Labels(tuple(f"answer {value}" for value in range(k)))
    for value in (mechanism, tally, weighted, mechanism.estimate(tally), labels):
        assert len(repr(value)) < 900
    small = jrr.DRR(10, truth=0.3, own=0.1)
    assert repr(small) == "DRR(n=10, truth=0.3, own=0.1, k=2, deck=(5, 5))"
