"""Weighted estimates beside R's package survey, which linearises for any statistic of a sample.

Its standard error of the mean of (report - q) / (p - q) is that of a share estimated from plain RR
reports. It takes the variance from the sample, ours from the mechanism and the share: so they agree
up to a few percent of sampling error, and exactly where every report is the answer but for the
factor n/(n-1).
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis import SensitiveItem, cells_of

SCRIPT = """
suppressMessages(library(survey))
d <- read.csv("weighted.csv")
m <- svymean(~z, svydesign(ids = ~1, weights = ~w, data = d), deff = "replace")
cat(format(c(coef(m), SE(m), deff(m)), digits = 12), "\\n")
"""
CALIBRATED = """
suppressMessages(library(survey))
d <- read.csv("weighted.csv")
for (name in c("dept", "gender")) d[[name]] <- factor(d[[name]])
d0 <- svydesign(ids = ~1, weights = ~w, data = d)
dept <- data.frame(dept = factor(0:2), Freq = c(500, 300, 200))
gender <- data.frame(gender = factor(0:1), Freq = c(450, 550))
cells <- data.frame(dept = factor(c(0, 1, 2, 0, 1, 2)), gender = factor(c(0, 0, 0, 1, 1, 1)),
                    Freq = c(200, 150, 100, 300, 150, 100))
raked <- rake(d0, list(~dept, ~gender), list(dept, gender), control = list(epsilon = 1e-9))
for (design in list(raked, postStratify(d0, ~dept + gender, cells))) {
  m <- svymean(~z, design, deff = "replace")
  cat(format(c(coef(m), SE(m), deff(m)), digits = 12), "\\n")
}
"""
MARGINS: dict[str, dict[Any, Any]] = {
    "raked": {"dept": {"0": 500, "1": 300, "2": 200}, "gender": {"0": 450, "1": 550}},
    "poststratified": {
        ("dept", "gender"): {
            **{("0", "0"): 200, ("1", "0"): 150, ("2", "0"): 100},
            **{("0", "1"): 300, ("1", "1"): 150, ("2", "1"): 100},
        }
    },
}
PEOPLE = 4_000
MASKED = jrr.MRR.for_epsilon(1.0, n=PEOPLE)


def r_survey(folder: Path, columns: dict[str, Any], script: str = SCRIPT) -> list[list[float]]:
    """Mean, standard error and design effect by R, a row for each that it prints."""
    file, header = folder / "weighted.csv", ",".join(columns)
    rows = np.column_stack(list(columns.values()))
    np.savetxt(file, rows, "%.17g", delimiter=",", header=header, comments="")
    command = ["Rscript", "-e", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [[float(number) for number in line.split()] for line in done.stdout.splitlines()]


def has_r_survey() -> bool:
    if shutil.which("Rscript") is None:
        return False
    found = subprocess.run(
        ["Rscript", "-e", "library(survey)"], capture_output=True, check=False
    ).returncode
    return found == 0


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.7, 0.999999])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_weighted_shares_errors_and_design_effects(tmp_path: Path, p: float, spread: float) -> None:
    if not has_r_survey():
        pytest.skip("R with the package survey is not here: apt-get install r-cran-survey")
    rng = np.random.default_rng(11)
    answers = (rng.random(PEOPLE) < 0.3).astype(np.int64)
    weights = np.exp(spread * rng.standard_normal(PEOPLE))
    mechanism = jrr.RR(k=2, p=p)
    reports = mechanism.respond(answers, rng=jrr.SeededRandom(11))
    found = mechanism.estimate(mechanism.tally(reports, weights=weights), population="sample")
    answers_back = (reports - (1 - p)) / (2 * p - 1)
    ((mean, error, effect),) = r_survey(tmp_path, {"z": answers_back, "w": weights})
    assert found.frequencies[1] == pytest.approx(mean, abs=1e-9)
    assert found.stderr[1] == pytest.approx(error, rel=0.05)
    assert PEOPLE / found.effective_n == pytest.approx(effect, rel=0.05)
    # What ignores unequal weights would be noticed.
    plain = mechanism.estimate(reports, population="sample").stderr[1]
    assert (abs(plain / error - 1) < 0.05) == (spread == 0.0)


def linearised(
    columns: dict[str, Any], questions: list[tuple[str, ...]], raked: Any
) -> list[float]:
    """What R's package computes, written anew: mean, standard error, design effect of one design.

    Weights are fitted margin by margin; the error is that of what is left of everybody's distance
    from the mean once its weighted mean is taken off in each group of each margin, as in svyrecvar.
    """
    z, w, n = columns["z"], columns["w"].copy(), PEOPLE
    groups = [
        np.unique(np.column_stack([columns[name] for name in some]), axis=0, return_inverse=True)[1]
        for some in questions
    ]
    for _ in range(200):
        for group, targets in zip(groups, raked, strict=True):
            w *= (np.array(targets) / np.bincount(group, w))[group]
    mean = float(w @ z / w.sum())
    left = z - mean
    for _ in range(200):
        for group in groups:
            left = left - (np.bincount(group, w * left) / np.bincount(group, w))[group]
    variance = n / (n - 1) * float(np.sum((w * left) ** 2)) / w.sum() ** 2
    plain = float(w @ (z - mean) ** 2) / w.sum() / n
    return [mean, variance**0.5, variance / plain]


def weighted_survey(mechanism: Any) -> tuple[Any, dict[str, Any]]:
    """Cells, and the columns from which R computes the same.

    R is given answers whose noise is that of the mechanism: of a masked one, of its coin.
    """
    rng = np.random.default_rng(12)
    dept, gender = rng.choice(3, PEOPLE, p=[0.3, 0.3, 0.4]), rng.choice(2, PEOPLE, p=[0.7, 0.3])
    yes = rng.random(PEOPLE) < 0.15 + 0.2 * dept + 0.25 * gender * (dept == 1)
    cards = mechanism.deal(rng)
    reports = mechanism.respond(yes.astype(int), cards, rng)
    by = {"dept": dept, "gender": gender}
    sums = None
    if mechanism.masked:
        names = [f"{d} × {g}" for d, g in zip(dept, gender, strict=True)]
        sums = mechanism.announce_cells(cards, names, rng=rng)
    cells = cells_of(SensitiveItem(mechanism, reports), by, announced=sums)
    said = reports - cards if mechanism.masked else reports
    p, q = float(mechanism.moments.p[0]), float(mechanism.moments.q[0])
    return cells, {"z": (said - q) / (p - q), "w": np.ones(PEOPLE)} | by


def agree(cells: Any, theirs: list[list[float]]) -> None:
    for (mean, error, effect), margins in zip(theirs, MARGINS.values(), strict=True):
        found = cells.weighted(margins)
        told = (
            6 * found.estimate.effective_n**-1 if cells.mechanism.masked else 0.0
        )  # noise of sums
        assert found.estimate.frequencies[1] == pytest.approx(mean, abs=1e-6 + told)
        assert found.estimate.stderr[1] == pytest.approx(error, rel=0.05)
        assert found.design_effect[1] == pytest.approx(effect, rel=0.05)
        # What takes these for any weights, and not for margins that explain a part, is noticed.
        kish = found.estimate.for_population("sample").stderr[1]
        assert kish > 1.05 * error or cells.mechanism.epsilon() < 2


MECHANISMS = pytest.mark.parametrize(
    "mechanism", [jrr.RR(p=0.999999), jrr.RR(p=0.75), MASKED], ids=str
)


@MECHANISMS
def test_raked_and_poststratified_shares_are_those_of_linearisation(mechanism: Any) -> None:
    cells, columns = weighted_survey(mechanism)
    designs: list[tuple[list[tuple[str, ...]], list[list[int]]]] = [
        ([("dept",), ("gender",)], [[500, 300, 200], [450, 550]]),
        ([("gender", "dept")], [[200, 150, 100, 300, 150, 100]]),
    ]
    agree(cells, [linearised(columns, *one) for one in designs])


@pytest.mark.slow
@MECHANISMS
def test_raked_and_poststratified_shares(tmp_path: Path, mechanism: Any) -> None:
    if not has_r_survey():
        pytest.skip("R with the package survey is not here: apt-get install r-cran-survey")
    cells, columns = weighted_survey(mechanism)
    agree(cells, r_survey(tmp_path, columns, CALIBRATED))
