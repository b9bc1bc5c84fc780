"""A sensitive answer as a predictor: EM written anew, R's rr, enumeration, coverage."""

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit

import jrr
from jrr.analysis import (
    SensitiveItem,
    SharedCoin,
    cells_of,
    regress,
    regress_outcome,
    regress_outcome_cells,
    two_way,
)
from jrr.analysis.items import ReportsOfOne
from jrr.analysis.outcomes import _Observed
from jrr.analysis.shared_coins import told_by
from jrr.errors import ArgumentError

Floats = NDArray[np.float64]
SENSITIVE, OUTCOME = np.array([-0.8, 0.5]), np.array([-0.3, 0.4, 0.9])
N = 2_000
STORED = Path(__file__).parents[1] / "golden" / "rr_package.json"
FORCED = jrr.RR(p=5 / 6)  # forced response: 2/3 answer truly, 1/6 are forced to each answer
SCRIPT = """
library(rr)
d <- read.csv("rr.csv")
design <- list(p = 2/3, p1 = 1/6, p0 = 1/6, design = "forced-known")
f <- do.call(rrreg, c(list(y ~ age + g, data = d), design))
h <- do.call(rrreg.predictor, c(list(o ~ age + g + y, data = d, rr.item = "y", fit.sens = "glm",
             fit.outcome = "glm", em.converge = 1e-9, optim = TRUE), design))
for (row in list(f$est, f$se, h$est.b, h$se.b, h$est.t, h$se.t)) {
  cat(format(row, digits = 12), "\\n")
}
"""


def people(rng: np.random.Generator, n: int = N, link: str = "logit") -> tuple[Any, Any, Any]:
    """A group, a sensitive answer and an outcome."""
    group = rng.integers(0, 2, n)
    held = (rng.random(n) < expit(SENSITIVE[0] + SENSITIVE[1] * group)).astype(int)
    if link == "identity":
        return group, held, 2.0 + 0.5 * group - 0.7 * held + rng.normal(size=n)
    eta = OUTCOME[0] + OUTCOME[1] * group + OUTCOME[2] * held
    return group, held, (rng.random(n) < expit(eta)).astype(int)


def without_chance() -> dict[str, NDArray[Any]]:
    """1,500 people by a rule, the same for every program: columns of a table."""
    i = np.arange(1, 1_501)
    draws = [(i * root) % 1 for root in (2**0.5, 3**0.5, 5**0.5, 7**0.5, 11**0.5)]
    age = (6 * draws[0] - 3).round(3)
    g = (draws[1] < 0.5).astype(int)
    held = (draws[2] < expit(-0.5 + 0.6 * age + 0.4 * g)).astype(int)
    o = (draws[3] < expit(-0.2 + 0.5 * age - 0.3 * g + held)).astype(int)
    y = np.where(draws[4] < 2 / 3, held, (draws[4] > 5 / 6).astype(int))
    return {"y": y, "o": o, "age": age, "g": g}


def minus_log_likelihood(b: Floats, x: Floats, chances: Floats) -> float:
    """Written anew: the chance of what was seen of everybody, by both true answers."""
    columns, whole = x.shape[1], np.zeros(len(x))
    yes = 1 / (1 + np.exp(-x @ b[:columns]))
    for z, o in itertools.product((0, 1), repeat=2):
        has = 1 / (1 + np.exp(-(x @ b[columns:-1]) - b[-1] * z))
        whole += chances[:, z, o] * (yes if z else 1 - yes) * (has if o else 1 - has)
    return -float(np.log(whole).sum())


def errors_at(b: Floats, x: Floats, chances: Floats, step: float = 1e-3) -> Floats:
    """Standard errors by second differences of the likelihood."""
    size = len(b)
    hessian = np.zeros((size, size))
    for i, j in itertools.product(range(size), repeat=2):
        for one, two in itertools.product((1, -1), repeat=2):
            at = b.copy()
            at[i] += one * step
            at[j] += two * step
            hessian[i, j] += one * two * minus_log_likelihood(at, x, chances) / (4 * step**2)
    errors: Floats = np.sqrt(np.diag(np.linalg.inv(hessian)))
    return errors


def weighted_logit(x: Floats, y: Floats, w: Floats) -> Floats:
    b = np.zeros(x.shape[1])
    for _ in range(50):
        share = expit(x @ b)
        bend = x.T @ ((w * share * (1 - share))[:, None] * x)
        b = b + np.asarray(np.linalg.solve(bend, x.T @ (w * (y - share))), np.float64)
    return b


def by_em(x: Floats, o: Floats, law: Floats) -> Floats:
    """The EM algorithm of Blair, Imai and Zhou (2015), section 3.2, written anew."""
    columns, n = x.shape[1], len(x)
    b, t = np.zeros(columns), np.zeros(columns + 1)
    doubled = np.vstack([np.hstack([x, np.full((n, 1), z)]) for z in (0.0, 1.0)])
    for _ in range(3_000):
        yes = expit(x @ b)
        has = [expit(np.hstack([x, np.full((n, 1), z)]) @ t) for z in (0.0, 1.0)]
        fits = [np.where(o == 1, one, 1 - one) for one in has]
        post = yes * fits[1] * law[:, 1]
        post = post / (post + (1 - yes) * fits[0] * law[:, 0])
        new_b = weighted_logit(np.vstack([x, x]), np.repeat([0.0, 1.0], n), np.r_[1 - post, post])
        new_t = weighted_logit(doubled, np.r_[o, o], np.r_[1 - post, post])
        moved = max(np.abs(new_b - b).max(), np.abs(new_t - t).max())
        b, t = new_b, new_t
        if moved < 1e-9:
            break
    return np.concatenate([b, t])


def of_all(found: Any) -> tuple[Floats, Floats]:
    sensitive, outcome = found.sensitive, found.outcome
    return (
        np.concatenate([sensitive.coefficients, outcome.coefficients]),
        np.concatenate([sensitive.stderr, outcome.stderr]),
    )


def test_the_same_as_the_em_algorithm_written_anew() -> None:
    table = without_chance()
    item = SensitiveItem(FORCED, table["y"])
    found = regress_outcome(table["o"], item, "age + g", data=table, name="y")
    x = np.column_stack([np.ones(1_500), table["age"], table["g"]])
    law = np.where(table["y"][:, None] == 1, [1 / 6, 5 / 6], [5 / 6, 1 / 6])
    coefficients, errors = of_all(found)
    assert coefficients == pytest.approx(by_em(x, table["o"], law), abs=1e-5)
    seen = law[:, :, None] * np.where(table["o"][:, None, None] == 1, [0.0, 1.0], [1.0, 0.0])
    assert errors == pytest.approx(errors_at(coefficients, x, seen), rel=1e-3)
    assert found.outcome.method == "exact likelihood"
    assert found.outcome.names == ("(intercept)", "age", "g", "y")


def test_the_same_as_the_r_package_rr(tmp_path: Path) -> None:
    """Its numbers (1.4.2) for `without_chance`, stored; and anew where the package is installed.

    `rrreg.predictor` ends up to a tenth of a standard error beside the maximum of its own
    likelihood: its steps leave out what forced answers say of the outcome.
    """
    rows = [np.array(row) for row in json.loads(STORED.read_text("utf-8"))["rows"]]
    table = without_chance()
    header = ",".join(table)
    np.savetxt(
        tmp_path / "rr.csv",
        np.column_stack(list(table.values())),
        "%.17g",
        delimiter=",",
        header=header,
        comments="",
    )
    if shutil.which("Rscript") is not None:
        done = subprocess.run(
            ["Rscript", "-e", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            anew = [np.array(line.split(), np.float64) for line in done.stdout.splitlines()]
            # Another version of R stops elsewhere, 1e-6 of a standard error beside.
            assert all(a == pytest.approx(b, rel=1e-4) for a, b in zip(anew, rows, strict=True))
    item = SensitiveItem(FORCED, table["y"])
    alone = regress(item, "age + g", data=table)
    both = regress_outcome(table["o"], item, "age + g", data=table, name="y")
    assert both.sensitive is not None
    fits = (alone, both.sensitive, both.outcome)
    for fit, theirs, errors, apart in zip(
        fits, rows[::2], rows[1::2], (1e-3, 0.1, 0.1), strict=True
    ):
        assert np.abs((fit.coefficients - theirs) / errors).max() < apart
        assert fit.stderr == pytest.approx(errors, rel=0.005)
    x = np.column_stack([np.ones(1_500), table["age"], table["g"]])
    law = np.where(table["y"][:, None] == 1, [1 / 6, 5 / 6], [5 / 6, 1 / 6])
    seen = law[:, :, None] * np.where(table["o"][:, None, None] == 1, [0.0, 1.0], [1.0, 0.0])
    ours, stopped = (
        minus_log_likelihood(b, x, seen) for b in (of_all(both)[0], np.r_[rows[2], rows[4]])
    )
    assert ours < stopped < ours + 0.02


@pytest.mark.parametrize("shared", [False, True])
def test_a_second_sensitive_question_as_the_outcome(shared: bool) -> None:
    rng = np.random.default_rng(4)
    group, held, outcome = people(rng, 600)
    keep = 0.8
    m = jrr.RR(p=(1 + keep) / 2)
    x = np.column_stack([np.ones(600), group])
    if shared:
        drawn = rng.random(600) < keep
        pairs = np.where(drawn, 2 * held + outcome, rng.integers(0, 4, 600))
        law = told_by(keep, 4)
        coin = SharedCoin(("a", "b"), keep, keep)
        one, two = (SensitiveItem(m, some, shared=coin) for some in (pairs // 2, pairs % 2))
    else:
        reports = [m.respond(some, rng=rng) for some in (held, outcome)]
        pairs = 2 * reports[0] + reports[1]
        law = np.asarray(np.kron(told_by(keep, 2), told_by(keep, 2)))
        one, two = (SensitiveItem(m, some) for some in reports)
    found = regress_outcome(two, one, {"group": group})
    chances = law[:, pairs].T.reshape(-1, 2, 2)
    best = optimize.minimize(
        minus_log_likelihood, np.zeros(5), args=(x, chances), method="BFGS", options={"gtol": 1e-4}
    )
    assert of_all(found)[0] == pytest.approx(best.x, abs=2e-3)
    assert of_all(found)[1] == pytest.approx(errors_at(best.x, x, chances), rel=0.01)


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_one_coin_for_two_questions_by_enumeration(keep: float) -> None:
    """Every report of every pair of answers: what is read from them is right on average."""
    m, coin = jrr.RR(p=(1 + keep) / 2), SharedCoin(("a", "b"), keep, keep)
    law = told_by(keep, 4)
    wrong = []
    for truth in range(4):
        mean, without = np.zeros((2, 2)), np.zeros((2, 2))
        square = np.zeros((4, 4))
        for told in range(4):
            reports = [told // 2], [told % 2]
            items = [SensitiveItem(m, report, shared=coin) for report in reports]
            table = two_way(*items)
            mean += law[truth, told] * table.shares
            square += law[truth, told] * np.outer(table.shares, table.shares)
            without += law[truth, told] * two_way(*(SensitiveItem(m, r) for r in reports)).shares
            one, two = (ReportsOfOne.of(item, 1) for item in items)
            observed = _Observed(np.ones((1, 1)), np.ones(1), one, two, np.zeros(0))
            z, o, both = observed.answers(observed.said())
            assert table.shares[1] == pytest.approx([z[0] - both[0], both[0]])
            assert table.shares[:, 1].sum() == pytest.approx(o[0])
        expected = np.zeros(4)
        expected[truth] = 1
        assert mean.ravel() == pytest.approx(expected)
        wrong.append(np.abs(without.ravel() - expected).max())
        variance = square - np.outer(expected, expected)
        many = _table_of_many(m, coin, law[truth])
        assert many.covariance * many.n == pytest.approx(variance, abs=1e-6)
    assert min(wrong) > 0.01  # reading it as two coins is noticed


def _table_of_many(m: Any, coin: SharedCoin, chances: Floats) -> Any:
    """People with the same answers, whose reports are exactly as often as they should be."""
    counts = (chances * 4_000).round().astype(int)
    told = np.repeat(np.arange(4), counts)
    return two_way(*(SensitiveItem(m, some, shared=coin) for some in (told // 2, told % 2)))


def _of_cells(mechanism: Any, group: Any, held: Any, outcome: Any, rng: Any) -> Any:
    cards = mechanism.deal(rng)
    names = [f"{a} × {b}" for a, b in zip(group, outcome, strict=True)]
    sums = mechanism.announce_cells(cards, names, rng=rng)
    item = SensitiveItem(mechanism, mechanism.respond(held, cards, rng))
    return cells_of(item, {"group": group, "outcome": outcome}, announced=sums)


def holds(fit: Any, truth: Any, level: float = 0.95) -> Any:
    low, high = fit.interval(level)
    return (low <= truth) & (truth <= high)


def test_cells_say_nearly_what_open_answers_say() -> None:
    rng = np.random.default_rng(6)
    group, held, outcome = people(rng)
    masked = jrr.MRR.for_epsilon(1.0, n=N)
    cells = _of_cells(masked, group, held, outcome, rng)
    by = {"group": {"0": 0, "1": 1}}
    open_ = regress_outcome(outcome, SensitiveItem(jrr.RR(p=1.0), held), {"group": group})
    for covariates, data in ((by, None), ("group", {"group": group, "outcome": outcome})):
        found = regress_outcome_cells(cells, "outcome", covariates, data=data, name="held")
        assert found.outcome.names == ("(intercept)", "group", "held")
        assert holds(found.outcome, OUTCOME, 0.999).all()
        assert (found.outcome.stderr < 1.25 * open_.outcome.stderr).all()
        predicted = found.outcome.predict({"group": [0, 1], "held": [0, 1]})
        assert predicted.shares == pytest.approx(expit([-0.3, 1.0]), abs=0.1)
    linear = regress_outcome_cells(cells, "outcome", by, link="identity", outcome_value="1")
    _, effect = linear.effect[0], linear.outcome.stderr[-1]
    x = np.column_stack([np.ones(N), group, held])
    plain = np.linalg.lstsq(x, outcome, rcond=None)[0]
    assert abs(linear.effect[0] - plain[-1]) < 4 * effect < 0.2


@pytest.mark.parametrize(
    "mechanism",
    [jrr.RR(epsilon=1.0), jrr.DRR(N, truth=0.45, own=0.1), jrr.MRR.for_epsilon(1.0, n=N)],
    ids=["RR", "DRR", "MRR"],
)
@pytest.mark.parametrize("link", ["logit", "identity"])
def test_intervals_hold(mechanism: Any, link: Any) -> None:
    """A few surveys, so that coverage far below 95% is noticed; more of them in the slow test."""
    assert _coverage(mechanism, link, 12, seed=3) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("kind", ["RR", "DRR", "MRR"])
@pytest.mark.parametrize("link", ["logit", "identity"])
def test_coverage_on_a_grid(kind: str, epsilon: float, link: Any) -> None:
    """At least 94% in truth: all intervals of 400 surveys, less three times the chance error."""
    made: dict[str, Any] = {"RR": lambda: jrr.RR(epsilon=epsilon)}
    made["DRR"] = lambda: jrr.plan(N, epsilon, mechanism="drr").mechanism
    made["MRR"] = lambda: jrr.MRR.for_epsilon(epsilon, n=N)
    runs = 400
    held = _coverage(made[kind](), link, runs, seed=round(10 * epsilon))
    assert held > 0.94 - 3 * np.sqrt(0.94 * 0.06 / (runs * 3))


def _coverage(mechanism: Any, link: Any, runs: int, seed: int) -> float:
    rng, inside = np.random.default_rng(seed), []
    truth = OUTCOME if link == "logit" else np.array([2.0, 0.5, -0.7])
    for _ in range(runs):
        group, held, outcome = people(rng, link=link)
        by: dict[str, Any] = {"group": {"0": 0, "1": 1}}
        if mechanism.masked:
            if link == "identity":  # a cell has one outcome: numbers in three classes
                chances = [0.3 + 0.2 * group - 0.2 * held, 0.2 + 0 * group]
                drawn = rng.random(N)
                outcome = np.where(
                    drawn < chances[0], 2.0, np.where(drawn < chances[0] + chances[1], 1.0, 0.0)
                )
                truth = np.array([0.8, 0.4, -0.4])
            cells = _of_cells(mechanism, group, held, outcome, rng)
            found = regress_outcome_cells(cells, "outcome", by, link=link)
        else:
            reports = mechanism.respond(held, mechanism.deal(rng), rng)
            item = SensitiveItem(mechanism, reports)
            found = regress_outcome(outcome, item, {"group": group}, link=link)
        inside.append(holds(found.outcome, truth))
    return float(np.mean(inside))


def test_refusals() -> None:
    item = SensitiveItem(jrr.RR(p=0.75), [0, 1] * 50)
    with pytest.raises(ArgumentError, match="outcome must be 0 and 1 with link='logit'"):
        regress_outcome(np.arange(100.0), item)
    with pytest.raises(ArgumentError, match="outcome must"):
        regress_outcome([0, 1], item)
    with pytest.raises(ArgumentError, match="finite numbers"):
        regress_outcome([0.0, float("nan")] * 50, item, link="identity")
    with pytest.raises(ArgumentError, match="of the same people as item"):
        regress_outcome(SensitiveItem(jrr.RR(p=0.75), [1, 0]), item)
    with pytest.raises(ArgumentError, match="name must be none of the covariates"):
        regress_outcome([0, 1] * 50, item, {"sensitive": range(100)}, link="identity")
    with pytest.raises(ArgumentError, match="some go to infinity"):
        regress_outcome([0, 1] * 50, SensitiveItem(jrr.RR(p=0.75), [0] * 100))
    rng = np.random.default_rng(6)
    group, held, outcome = people(rng)
    cells = _of_cells(jrr.MRR.for_epsilon(1.0, n=N), group, held, outcome, rng)
    with pytest.raises(ArgumentError, match="outcome_value must be an answer to outcome"):
        regress_outcome_cells(cells, "outcome", outcome_value="often")
    with pytest.raises(ArgumentError, match="closed on their cells, no others"):
        regress_outcome_cells(cells, "income")
    data = {"age": rng.normal(size=N), "outcome": outcome}
    with pytest.raises(ArgumentError, match="one outcome and the same covariates"):
        regress_outcome_cells(cells, "outcome", "age", data=data, link="identity")
    with pytest.raises(ArgumentError, match="one of the columns"):
        regress_outcome_cells(cells, "income", "age", data=data)
