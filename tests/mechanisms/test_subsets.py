"""Subset selection: enumeration, golden vectors, files, plans, and what it is better than."""

import itertools
import json
import math
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jrr
from jrr import tables
from jrr.errors import ArgumentError
from jrr.mechanisms.request import Request
from tests.golden import make_subsets
from tests.golden.make_encodings import Recorder
from tests.statistics_rules import OFF, accepts_only, chi_square, mean_test, skewed, spread_test

GRID = [(k, d, p) for k in (2, 3, 4, 6) for d in range(1, k) for p in (0.9, d / k + 0.05)]


def enumerated(k: int, d: int, p: float, value: int) -> dict[frozenset[int], float]:
    """The law of a report, from the definition."""
    others = [v for v in range(k) if v != value]
    law = {}
    for subset in itertools.combinations(others, d - 1):
        law[frozenset((value, *subset))] = p / math.comb(k - 1, d - 1)
    for subset in itertools.combinations(others, d):
        law[frozenset(subset)] = (1 - p) / math.comb(k - 1, d)
    return law


@pytest.mark.parametrize(("k", "d", "p"), GRID)
def test_loss_and_moments_are_enumerated(k: int, d: int, p: float) -> None:
    mechanism = jrr.SS(k, d=d, p=p)
    laws = [enumerated(k, d, p, value) for value in range(k)]
    worst = max(
        abs(math.log(a[subset] / b[subset])) for a in laws for b in laws for subset in laws[0]
    )
    for view in ("report", "truths", "cards", "dealer", "everything"):
        assert mechanism.epsilon(view, 2) == pytest.approx(worst, rel=1e-12)
        assert mechanism.epsilon(view) >= worst * (1 - 1e-13)
    counts = np.arange(1, k + 1)
    for v in range(k):
        named = [sum(c for subset, c in law.items() if v in subset) for law in laws]
        support = sum(c * chance for c, chance in zip(counts, named, strict=True))
        spread = sum(c * chance * (1 - chance) for c, chance in zip(counts, named, strict=True))
        other = named[v - 1]
        estimated = (support - counts.sum() * other) / (named[v] - other)
        assert estimated == pytest.approx(counts[v], rel=1e-9)
        expected = spread / (named[v] - other) ** 2
        assert mechanism.variance(counts)[v] == pytest.approx(expected, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "d", "p", "value"), [(5, 2, 0.6, 1), (4, 3, 0.9, 3), (3, 1, 0.5, 0)])
def test_reports_follow_the_enumerated_law(k: int, d: int, p: float, value: int) -> None:
    mechanism = jrr.SS(k, d=d, p=p)
    law = enumerated(k, d, p, value)
    source = jrr.SeededRandom(19)
    by_array = mechanism.respond(np.full(20_000, value), rng=source)[:, 0].tolist()
    one_by_one = [mechanism.respond_one(value, rng=source)[0] for _ in range(20_000)]
    for reports in (by_array, one_by_one):
        seen = Counter(frozenset(v for v in range(k) if report >> v & 1) for report in reports)
        assert set(seen) <= set(law)
        observed = [seen[subset] for subset in law]
        chances = list(law.values())
        accepts_only(partial(chi_square, observed), chances, skewed(chances))


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "d"), [(6, 2), (40, 12)])  # subsets listed, and person by person
def test_simulated_surveys_agree_with_the_variance(k: int, d: int) -> None:
    mechanism = jrr.SS(k, epsilon=1.0, d=d)
    counts = np.full(k, 20)
    runs = 1_000
    found = jrr.simulate(mechanism, counts, runs, np.random.default_rng(7))
    sd = math.sqrt(mechanism.variance(counts)[0])
    accepts_only(partial(mean_test, found[:, 0], sd=sd), 20.0, 20.0 + OFF * sd)
    accepts_only(partial(spread_test, found[:, 0]), sd, sd * (1 + OFF))
    assert found.sum(axis=1) == pytest.approx(np.full(runs, counts.sum()))


def test_golden_vectors() -> None:
    assert make_subsets.PATH.read_text() == make_subsets.text()
    for case in json.loads(make_subsets.PATH.read_text()):
        mechanism = jrr.from_dict(case["mechanism"])
        for vector in case["vectors"]:
            words = iter([int(word) for word in vector["words"]])
            source = Recorder(words)
            assert mechanism.respond_one(vector["value"], None, source).hex() == vector["report"]
            assert next(words, None) is None


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("k", [2, 3, 8, 100, 1_000])
def test_promises_are_kept_and_met(k: int, epsilon: float) -> None:
    mechanism = jrr.SS(k, epsilon=epsilon)
    assert epsilon * (1 - 1e-9) <= mechanism.epsilon() <= epsilon
    assert jrr.from_json(mechanism.to_json()) == mechanism


@pytest.mark.parametrize("frequency", [None, 0.0, 0.3, (0.1, 0.4)])
@pytest.mark.parametrize("k", [3, 8, 30])
def test_no_other_number_of_values_is_better(
    k: int, frequency: float | tuple[float, float] | None
) -> None:
    for epsilon in (0.1, 1.0, 2.5):
        request = Request(1_000, epsilon, 0, k, frequency=frequency)
        planned = jrr.plan(1_000, epsilon, 0, k, mechanism="ss", frequency=frequency).mechanism
        best = request.expected_variance(planned)
        for d in range(1, k):
            other = jrr.SS(k, epsilon=epsilon, d=d)
            assert best <= request.expected_variance(other) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "share"), [(0.5, 0.753), (1.0, 0.802)])
def test_better_than_everything_else_without_cards(epsilon: float, share: float) -> None:
    """At k = 8 in the worst population."""
    request = Request(10_000, epsilon, 0, 8)
    others = [
        jrr.plan(10_000, epsilon, 0, 8, mechanism=word).mechanism
        for word in ("rr", "sue", "oue", "olh")
    ]
    found = jrr.plan(10_000, epsilon, 0, 8, mechanism="ss").mechanism
    best = min(request.expected_variance(other) for other in others)
    assert request.expected_variance(found) / best == pytest.approx(share, abs=2e-3)


def test_one_value_in_a_report_is_randomized_response() -> None:
    for k in (2, 5):
        ss, rr = jrr.SS(k, d=1, p=0.7), jrr.RR(k, p=0.7)
        counts = range(1, k + 1)
        assert ss.epsilon() == pytest.approx(rr.epsilon())
        assert ss.variance(counts) == pytest.approx(rr.variance(counts))


def test_files_messages_and_tallies(tmp_path: Path) -> None:
    mechanism = jrr.SS(10, epsilon=1.0)
    reports = mechanism.respond(np.arange(200) % 10, rng=jrr.SeededRandom(4))
    one = mechanism.respond_one(3, rng=jrr.SeededRandom(5))
    assert mechanism.report_from_json(mechanism.report_to_json(one)) == one
    a, b = mechanism.tally(reports[:50]), mechanism.tally(reports[50:])
    whole = mechanism.estimate(a + b)
    assert whole.counts == pytest.approx(mechanism.estimate(reports).counts)
    assert whole.counts.sum() == pytest.approx(200)
    answers = tmp_path / "answers.csv"
    answers.write_text("answer\n" + "".join(f"{v}\n" for v in np.arange(200) % 10))
    out = tmp_path / "reports.csv"
    header = tables.perturb(answers, "answer", out, epsilon=1.0, mechanism="ss")
    assert isinstance(header.mechanism, jrr.SS)
    assert tables.estimate(out).estimate.n == 200
    assert f"{mechanism.d} answers of the 10" in mechanism.instructions()


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: jrr.SS(8), "exactly one of epsilon and p"),
        (lambda: jrr.SS(8, p=0.5), "d must be given together with p"),
        (lambda: jrr.SS(8, d=8, p=0.9), "d must be a whole number in 1..7"),
        (lambda: jrr.SS(8, d=4, p=0.5), "p must be in"),
        (lambda: jrr.SS(1 << 17, epsilon=1.0), "k must be at most 65536"),
        (lambda: jrr.SS(8, 1.0).respond([0], [1]), "deals no cards"),
        (lambda: jrr.SS(8, 1.0, d=2).tally(np.array([[7]], np.uint8)), "exactly d=2 values"),
        (lambda: jrr.SS(10, 1.0).tally(np.array([[0, 255]], np.uint8)), "bits after bit 9"),
        (lambda: jrr.plan(100, 1.0, 0, 2_000, mechanism="ss"), "OUE is as accurate and cheaper"),
    ],
)
def test_refusals(ask, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ArgumentError, match=words.replace(".", r"\.")):
        ask()
