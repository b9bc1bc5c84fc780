"""Real columns from the command line: errors as large as the intervals say, a hundred times.

The truth is read from the raw column with the csv module. One repetition runs on the command
line and must be, to the last digit, what the library makes of the same seeds; a hundred others
run in the library.
"""

import csv
import gzip
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import jrr
from jrr import from_dict
from jrr.cli.app import run
from jrr.mechanisms.base import Mechanism
from jrr.tables.perturbing import alone
from tests.statistics_rules import OFF, P_VALUE, accepts_only, spread_test

SHARED = Path(os.environ.get("JRR_SHARED", Path(__file__).parents[3] / "shared"))
DATA = SHARED / "data"
RUNS = 100
LEVEL = 0.95
UNDERSTATED = 2 * NormalDist().cdf((1 - OFF) * NormalDist().inv_cdf(0.5 + LEVEL / 2)) - 1
TOP = 1000  # pages of Kosarak that have a label of their own

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the raw data in {DATA}")


@dataclass(frozen=True)
class Question:
    """A column, its possible answers, and how its cells are read."""

    file: str
    column: str
    labels: tuple[str, ...]
    missing: str | None = None  # the label of empty cells
    skip_missing: bool = False
    other: str | None = None  # the label of all other cells
    mechanism: str | None = None  # without cards; None: with cards

    @property
    def path(self) -> Path:
        return DATA / f"{self.file}.csv.gz"

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.labels, *(name for name in (self.other, self.missing) if name is not None))


@cache
def pages() -> tuple[str, ...]:
    """The most clicked pages, from all clicks rather than from the sample."""
    rows = cells("kosarak_first100k_item_counts", "item")
    return tuple(rows[:TOP])


@cache
def cells(file: str, column: str) -> list[str]:
    with gzip.open(DATA / f"{file}.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        return [row[column] for row in csv.DictReader(lines)]


def questions() -> dict[str, Question]:
    departments = ("Bottoms", "Dresses", "Intimate", "Jackets", "Tops", "Trend")
    found = {
        "recommended": Question("ecommerce_reviews", "recommended_ind", ("0", "1")),
        "department": Question(
            "ecommerce_reviews", "department", departments, missing="not stated"
        ),
        "disability": Question("acs_employment_10336", "DIS", ("1", "2"), skip_missing=True),
        "memory": Question("acs_employment_10336", "DREM", ("1", "2"), skip_missing=True),
    }
    if DATA.is_dir():
        for name, kind in (("clicks", "auto"), ("clicks by OLH", "olh")):
            found[name] = Question(
                "kosarak_sample_20000_clicks", "item", pages(), other="other", mechanism=kind
            )
    return found


QUESTIONS = questions()


def values_of(question: Question) -> NDArray[np.int64]:
    """The true answers as numbers, without those that are skipped."""
    number = {name: at for at, name in enumerate(question.names)}
    found = []
    for cell in cells(question.file, question.column):
        if not cell:
            if question.missing is not None:
                found.append(number[question.missing])
            else:
                assert question.skip_missing
        elif cell in number or question.other is None:
            found.append(number[cell])
        else:
            found.append(number[question.other])
    return np.array(found)


def on_the_command_line(
    question: Question, folder: Path, seeds: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> tuple[Mechanism, dict[str, Any]]:
    """Deal at ε = 1 where cards are used, perturb, shuffle, estimate."""
    people, k = len(values_of(question)), len(question.names)
    labels = folder / "labels.txt"
    labels.write_text("\n".join(question.labels))
    perturb = ["file", "perturb", str(question.path), "--column", question.column]
    perturb += ["--labels-file", str(labels), "--epsilon", "1", "--seed", str(seeds[1])]
    for option, value in (("--missing", question.missing), ("--other", question.other)):
        perturb += [] if value is None else [option, value]
    perturb += ["--skip-missing"] if question.skip_missing else []
    if question.mechanism is None:
        cards = folder / "cards.parquet"
        deal = ["file", "deal", "-n", str(people), "-k", str(k), "-e", "1", "--closed-deck"]
        deal += ["--seed", str(seeds[0])]
        assert run([*deal, "-o", str(cards)]) == 0
        perturb += ["--cards", str(cards)]
    else:
        perturb += ["--mechanism", question.mechanism]
    reports, mixed = folder / "reports.parquet", folder / "mixed.csv"
    assert run([*perturb, "-o", str(reports)]) == 0
    assert run(["file", "shuffle", str(reports), "-o", str(mixed)]) == 0
    capsys.readouterr()
    assert run(["file", "estimate", str(mixed), "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return from_dict(document["mechanism"]), document


def in_the_library(m: Mechanism, values: NDArray[np.int64], seeds: tuple[int, int]) -> jrr.Estimate:
    cards = m.deal(jrr.SeededRandom(seeds[0]))
    rng = jrr.SeededRandom(seeds[1])
    return m.estimate(m.tally(m.respond(values, cards, rng)))


@dataclass(frozen=True)
class Outcome:
    """All repetitions of one question: a row per run, a column per value."""

    errors: NDArray[np.float64]  # in stated standard errors
    covered: dict[float, NDArray[np.bool_]]  # by level

    def one_each(self, what: NDArray[Any]) -> list[Any]:
        """One value of each run, in turn: runs are independent, values of one run are not."""
        return [what[at, (at * 7) % what.shape[1]] for at in range(len(what))]


def mechanism_of(question: Question) -> Mechanism:
    """What the command line must choose."""
    people, k = len(values_of(question)), len(question.names)
    if question.mechanism is None:
        return jrr.plan(people, 1.0, 5, k, dealer_epsilon=3.0, announced=False).mechanism
    return alone(question.mechanism, k, 1.0, people)


@cache
def repeated(name: str) -> Outcome:
    m, values = mechanism_of(QUESTIONS[name]), values_of(QUESTIONS[name])
    truth = np.bincount(values, minlength=m.k) / len(values)
    errors = np.empty((RUNS, m.k))
    covered = {level: np.empty((RUNS, m.k), bool) for level in (LEVEL, UNDERSTATED)}
    first = 1000 * (1 + list(QUESTIONS).index(name))  # no two runs share a seed
    for at in range(RUNS):
        estimate = in_the_library(m, values, (first + 2 * at, first + 2 * at + 1))
        errors[at] = (estimate.frequencies - truth) / estimate.stderr
        for level, hits in covered.items():
            low, high = estimate.interval(level)
            hits[at] = (low <= truth) & (truth <= high)
    return Outcome(errors, covered)


def short_of(hits: Sequence[bool] | NDArray[np.bool_]) -> float:
    """p-value of an interval that holds its level, given how often it did."""
    return float(stats.binom.cdf(np.count_nonzero(hits), np.size(hits), LEVEL))


@pytest.mark.slow_variants("department]", "recommended]", "clicks by OLH")
@pytest.mark.statistical
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "clicks" else name
        for name in QUESTIONS
    ],
)
def test_a_real_column(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = QUESTIONS[name]
    values = values_of(question)
    m, document = on_the_command_line(question, tmp_path, (1, 2), capsys)
    assert document["labels"] == list(question.names)
    assert document["reports"] == len(values)
    assert document["shuffled"] is True
    assert document["guarantees"]["cards"] <= 1
    dealt = question.mechanism is None
    assert document["carded"] == (len(values) if dealt else 0)
    assert document["mechanism"]["mechanism"] == ("MRR" if dealt else type(m).__name__)
    direct = in_the_library(m, values, (1, 2))
    assert document["estimate"] == direct.to_dict(LEVEL)

    assert m == mechanism_of(question)
    outcome = repeated(name)
    hits = outcome.covered[LEVEL]
    assert all(short_of(hits[:, v]) > P_VALUE for v in range(m.k))
    assert stats.kstest(outcome.one_each(outcome.errors), "norm").pvalue > P_VALUE
    if isinstance(m, jrr.OUE):
        # Every bit is perturbed on its own: all values of all runs are independent.
        accepts_only(lambda level: short_of(outcome.covered[level].ravel()), LEVEL, UNDERSTATED)
        flat = outcome.errors.ravel()
        accepts_only(lambda sd: spread_test(flat, sd), 1.0, 1.0 - OFF)


@pytest.mark.slow
@pytest.mark.statistical
def test_all_columns_together() -> None:
    """One value of each run of each column but the slow one: 500 independent intervals.

    The negative controls: intervals shorter, and standard errors larger, by 30%.
    """
    outcomes = [repeated(name) for name in QUESTIONS if name != "clicks"]
    accepts_only(
        lambda level: short_of(
            [hit for outcome in outcomes for hit in outcome.one_each(outcome.covered[level])]
        ),
        LEVEL,
        UNDERSTATED,
    )
    errors = [error for outcome in outcomes for error in outcome.one_each(outcome.errors)]
    accepts_only(lambda sd: spread_test(errors, sd), 1.0, 1.0 + OFF)
    accepts_only(lambda sd: spread_test(errors, sd), 1.0, 1.0 - OFF)


def test_the_raw_columns_are_the_ones_described() -> None:
    assert Counter(cells("ecommerce_reviews", "recommended_ind")) == {"1": 19_314, "0": 4_172}
    assert Counter(cells("ecommerce_reviews", "department"))[""] == 14
    assert Counter(cells("acs_employment_10336", "DIS")) == {"2": 8_702, "1": 1_634}
    assert Counter(cells("acs_employment_10336", "DREM"))[""] > 0  # not asked
    assert len(cells("kosarak_sample_20000_clicks", "item")) == 20_000
    assert len(set(pages())) == TOP
