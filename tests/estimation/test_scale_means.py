"""Means of scales: errors against enumeration, and intervals that hold."""

import itertools
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.estimation.scale_means import scale_mean, variance_of_report

SLOPES = np.array([-1.5, 0.2, 0.7, 3.0])


def told(kind: str, held: int, p: float, q: float) -> list[tuple[float, tuple[int, ...]]]:
    """Every set of marks that a report may be, with its chance."""
    found = []
    for marks in itertools.product((0, 1), repeat=4):
        if kind == "bits":
            each: Any = [(p if v == held else q) for v in range(4)]
            chance = float(np.prod([c if m else 1 - c for c, m in zip(each, marks, strict=True)]))
        else:
            size = int(kind)
            if sum(marks) != size:
                continue
            others = {1: 3, 2: 3, 3: 1}[size], {1: 1, 2: 3, 3: 3}[size]  # sets without it, with it
            chance = float(
                p / (1 if size == 1 else others[1]) if marks[held] else (1 - p) / others[0]
            )
        found.append((float(chance), marks))
    assert sum(chance for chance, _ in found) == pytest.approx(1)
    return found


@pytest.mark.parametrize("kind", ["1", "2", "3", "bits"])
def test_the_variance_of_one_report_is_that_of_all_it_may_be(kind: str) -> None:
    p = 0.8
    q = 0.3 if kind == "bits" else (int(kind) - p) / 3
    marks = None if kind == "bits" else int(kind)
    found = variance_of_report(p, q, SLOPES, marks)
    for held in range(4):
        every = told(kind, held, p, q)
        mean = sum(chance * (SLOPES @ marked) for chance, marked in every)
        expected = sum(chance * (SLOPES @ marked - mean) ** 2 for chance, marked in every)
        assert found[held] == pytest.approx(expected)


PEOPLE = 2_000
MECHANISMS = {
    "RR": jrr.RR(k=5, epsilon=1.0),
    "OUE": jrr.OUE(k=5, epsilon=1.0),
    "MRR": jrr.plan(PEOPLE, 1.0, k=5, mechanism="mrr").mechanism,
    "subset": jrr.MRR(PEOPLE, own=2.0, card_rate=0.3, announced_rate=0.6, k=5, coin=("subset", 2)),
    "DRR": jrr.DRR(PEOPLE, truth=0.3, own=0.1, k=5),
}


def mean_of(mechanism: Any, held: Any, rng: Any, numbers: Any = range(1, 6)) -> Any:
    cards = mechanism.deal(rng)
    reports = mechanism.respond(held, cards, rng)
    more = {"announced": mechanism.announce(cards, rng=rng)} if mechanism.masked else {}
    found = mechanism.estimate(reports, **more)
    return scale_mean(found.for_population("sample"), numbers, mechanism.marks)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_intervals_hold(kind: str) -> None:
    """Where it is not known how shares hang together (DRR), they are wider than they need be."""
    rng = np.random.default_rng(5)
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    true, found = float(shares @ range(1, 6)), []
    for _ in range(150):
        held = rng.choice(5, PEOPLE, p=shares)
        found.append(mean_of(MECHANISMS[kind], held, rng))
    inside = np.mean([low <= true <= high for low, high in (one.interval() for one in found)])
    spread = np.std([one.mean for one in found])
    error = np.mean([one.stderr for one in found])
    assert abs(np.mean([one.mean for one in found]) - true) < 4 * error / np.sqrt(len(found))
    assert inside >= 0.9
    if kind == "DRR":
        assert spread < error
    else:
        assert error == pytest.approx(spread, rel=0.2)


def test_those_who_would_not_say_are_left_out() -> None:
    rng = np.random.default_rng(6)
    shares, numbers = np.array([0.3, 0.2, 0.1, 0.4]), [1.0, 2.0, 3.0, None]
    m = jrr.RR(k=4, epsilon=2.0)
    true = 1 * 0.5 + 2 * 0.2 / 0.6 + 3 * 0.1 / 0.6
    found = [mean_of(m, rng.choice(4, PEOPLE, p=shares), rng, numbers) for _ in range(150)]
    assert np.mean([one.mean for one in found]) == pytest.approx(true, abs=0.02)
    error = np.mean([one.stderr for one in found])
    assert error == pytest.approx(np.std([one.mean for one in found]), rel=0.2)
    assert found[0].minus(found[1]).stderr == pytest.approx(np.sqrt(2) * error, rel=0.1)
    document = found[0].to_dict()
    assert document["interval"] == list(found[0].interval())
    assert found[0].to_rows()[0]["mean"] == document["mean"]
    with pytest.raises(ArgumentError, match="numbers must be one for each of 4 answers"):
        scale_mean(m.estimate([0, 1]), [1.0])
    with pytest.raises(ArgumentError, match="at least one number"):
        scale_mean(m.estimate([0, 1]), [None] * 4)


def test_two_answers_have_one_mask() -> None:
    """A scale of two is a share."""
    m: Any = jrr.plan(PEOPLE, 1.0, mechanism="mrr").mechanism
    rng = np.random.default_rng(7)
    cards = m.deal(rng)
    reports = m.respond(np.arange(PEOPLE) % 2, cards, rng)
    found = m.estimate(reports, announced=m.announce(cards, rng=rng))
    mean = scale_mean(found, [1.0, 4.0], m.marks)
    assert mean.mean == pytest.approx(1 + 3 * found.frequencies[1])
    assert mean.stderr == pytest.approx(3 * found.stderr[1])
