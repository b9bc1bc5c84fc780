"""Tables of two sensitive questions: exact by enumeration, and in simulation."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.analysis import SensitiveItem, TwoWayTable, two_way
from jrr.analysis.two_way import _strata, _tied
from jrr.errors import ArgumentError
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test


def reports_of_all(mechanism: jrr.Mechanism, values: list[int]) -> dict[tuple[int, ...], float]:
    """The chance of every list of reports, over all decks."""
    laws = {law.card: law for law in mechanism.card_laws()}
    n = mechanism.moments.deck
    if n is None:
        hands: list[Any] = [(None,) * len(values)]
    else:
        deck = [card for card, law in laws.items() for _ in range(round(law.share * n))]
        hands = list(itertools.permutations(deck, len(values)))
    found = {}
    for reports in itertools.product(range(mechanism.k), repeat=len(values)):
        given = [
            np.prod([laws[c].reports[v, r] for c, v, r in zip(hand, values, reports, strict=True)])
            for hand in hands
        ]
        found[reports] = float(np.mean(given))
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (jrr.RR(p=0.8), jrr.RR(epsilon=1.0)),
        (jrr.DRR(4, truth=0.5, own=0.1), jrr.DRR(3, truth=0.6)),
        (jrr.DRR(4, truth=0.5, deck=[1, 3]), jrr.JRR(3, p=0.75, s=0.2)),
        (jrr.RR(p=0.8), jrr.JRR(4, p=0.75, s=0.25)),
        (jrr.JRR(4, p=0.7, s=0.25, k=3), jrr.DRR(3, truth=0.5)),
        (jrr.DRR(4, truth=0.5, k=3), jrr.RR(k=2, p=0.8)),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_and_covariance_are_what_enumeration_finds(
    first: jrr.Mechanism, second: jrr.Mechanism, weighted: bool
) -> None:
    a, b = [0, 1, first.k - 1], [1, 1, 0]
    w = np.array([1.0, 2.0, 0.5]) if weighted else np.ones(3)
    cells = first.k * second.k
    pairs = np.array(a) * second.k + np.array(b)
    true = np.bincount(pairs, w, cells).astype(np.float64)
    mean, square = np.zeros(cells), np.zeros((cells, cells))
    of_second = reports_of_all(second, b)
    for one, chance in reports_of_all(first, a).items():
        for two, other in of_second.items():
            items = (
                SensitiveItem(first, list(one), first.deals),
                SensitiveItem(second, list(two), second.deals),
            )
            counts = two_way(*items, weights=w).counts.ravel()
            mean += chance * other * counts
            square += chance * other * np.outer(counts, counts)
    assert mean == pytest.approx(true, abs=1e-9)
    squares = np.bincount(pairs, w**2, cells).astype(np.float64)
    strata = [s._replace(held=true, held_squares=squares) for s in _strata(*items, w)]
    formula = strata[0].spread() + _tied(*items, strata)
    assert formula == pytest.approx(square - np.outer(true, true), abs=1e-9)


COUNTS = np.array([[900, 500], [200, 400]])
MIXTURES: dict[str, tuple[jrr.Mechanism, jrr.Mechanism]] = {
    "RR RR": (jrr.RR(epsilon=1.0), jrr.RR(epsilon=2.0)),
    "DRR DRR": (jrr.DRR(2_000, truth=0.4, own=0.05), jrr.DRR(2_000, truth=0.5)),
    "RR DRR": (jrr.RR(epsilon=1.0), jrr.DRR(2_000, truth=0.4)),
    "JRR DRR": (jrr.JRR(2_000, p=0.75, s=0.2), jrr.DRR(2_000, truth=0.4)),
    "MRR DRR": (
        jrr.MRR(2_000, own=3.0, card_rate=1.5, announced_rate=0.2),
        jrr.DRR(2_000, truth=0.5),
    ),
}


def one_item(
    mechanism: jrr.Mechanism, values: NDArray[np.int64], cardless: float, rng: np.random.Generator
) -> SensitiveItem:
    cards = mechanism.deal(rng)
    reports = np.asarray(mechanism.respond(values, cards, rng)).copy()
    flags = np.full(len(values), cards is not None)
    if cards is not None and cardless:
        left = rng.random(len(values)) < cardless
        reports[left], flags[left] = mechanism.respond(values[left], None, rng), False
    return SensitiveItem(mechanism, reports, flags)


def tables(name: str, runs: int, seed: int, cardless: float = 0.0) -> list[TwoWayTable]:
    rng = np.random.default_rng(seed)
    pairs = np.repeat(np.arange(4), COUNTS.ravel())
    first, second = MIXTURES[name]
    return [
        two_way(
            one_item(first, pairs // 2, cardless, rng), one_item(second, pairs % 2, cardless, rng)
        )
        for _ in range(runs)
    ]


@pytest.mark.slow_variants("JRR DRR", "RR DRR")
@pytest.mark.statistical
@pytest.mark.parametrize("name", sorted(MIXTURES))
def test_tables_are_where_and_as_far_as_they_say(name: str) -> None:
    true = COUNTS / COUNTS.sum()
    found = tables(name, 300, seed=2, cardless=0.2)
    for cell in ((0, 0), (1, 1)):
        scores = [(t.shares[cell] - true[cell]) / t.stderr[cell] for t in found]
        accepts_only(lambda mean, s=scores: mean_test(s, mean, 1.0), 0.0, 2 * OFF)  # type: ignore[misc]
        accepts_only(lambda sd, s=scores: spread_test(s, sd), 1.0, 1 - OFF)  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", sorted(MIXTURES))
@pytest.mark.parametrize("cardless", [0.0, 0.3])
def test_intervals_hold(name: str, cardless: float) -> None:
    true = COUNTS / COUNTS.sum()
    inside = []
    for table in tables(name, 2_000, seed=3, cardless=cardless):
        low, high = table.interval()
        inside.append((low <= true) & (true <= high))
    share = np.mean(inside, axis=0)
    assert (share >= 0.935).all(), share
    assert (share <= 0.97).all(), share


@pytest.mark.parametrize("name", ["RR RR", "DRR DRR", "JRR DRR"])
def test_margins_are_the_estimates_of_each_question(name: str) -> None:
    rng = np.random.default_rng(4)
    pairs = np.repeat(np.arange(4), COUNTS.ravel())
    first, second = MIXTURES[name]
    items = [one_item(first, pairs // 2, 0.0, rng), one_item(second, pairs % 2, 0.0, rng)]
    table = two_way(*items)
    for axis, item in enumerate(items):
        alone = item.mechanism.estimate(np.asarray(item.reports), carded=item.mechanism.deals)
        assert table.shares.sum(axis=1 - axis) == pytest.approx(alone.frequencies, abs=1e-9)
        factors = np.zeros((2, 2))
        factors[(1, slice(None)) if axis == 0 else (slice(None), 1)] = 1
        share, error = table.contrast(factors)
        assert share == pytest.approx(alone.frequencies[1])
        assert error == pytest.approx(alone.stderr[1], rel=0.02)


def test_conditional_shares_and_dependence() -> None:
    table = two_way(
        SensitiveItem(jrr.RR(p=1.0), [0] * 60 + [1] * 40),
        SensitiveItem(jrr.RR(p=1.0), [0] * 45 + [1] * 15 + [0] * 10 + [1] * 30),
        population="sample",
    )
    assert table.shares.tolist() == [[0.45, 0.15], [0.1, 0.3]]
    share, error = table.conditional(1, 1)
    assert share == pytest.approx(0.75)
    assert error == pytest.approx((0.75 * 0.25 / 40) ** 0.5)
    excess, _ = table.dependence(1, 1)
    assert excess == pytest.approx(0.3 - 0.4 * 0.45)
    assert table.stderr[0, 0] == pytest.approx((0.45 * 0.55 / 100) ** 0.5)
    document = table.to_dict()
    assert document["population"] == "sample"
    assert np.shape(document["interval"]) == (2, 2, 2)
    wide, narrow = table.interval(simultaneous=True), table.interval()
    assert (wide[0] < narrow[0]).all()
    assert "TwoWayTable(n=100" in repr(table)


def test_refusals() -> None:
    item = SensitiveItem(jrr.RR(p=0.75), [0, 1, 1])
    with pytest.raises(ArgumentError, match="of the same people as first"):
        two_way(item, SensitiveItem(jrr.RR(p=0.75), [0, 1]))
    with pytest.raises(ArgumentError, match="at most 400 pairs"):
        two_way(item, SensitiveItem(jrr.RR(k=300, epsilon=1.0), [0, 1, 2]))
    with pytest.raises(ArgumentError, match="weights must not all be 0"):
        two_way(item, item, weights=[0, 0, 0])
    with pytest.raises(ArgumentError, match="factors must be of shape"):
        two_way(item, item).contrast([1.0])
    with pytest.raises(ArgumentError, match="row must be"):
        two_way(item, item).dependence(2, 0)
    with pytest.raises(ArgumentError, match="at least one report"):
        SensitiveItem(jrr.RR(p=0.75), np.array([], np.uint8))
    with pytest.raises(ArgumentError, match="mechanism must be"):
        SensitiveItem("RR", [0, 1])  # type: ignore[arg-type]
