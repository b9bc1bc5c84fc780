"""Weighted estimates beside R's package survey, which linearises for any statistic of a sample.

Its standard error of the mean of (report - q) / (p - q) is that of a share estimated from plain RR
reports. It takes the variance from the sample, ours from the mechanism and the share: so they agree
up to a few percent of sampling error, and exactly where every report is the answer but for the
factor n/(n-1).
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jrr

SCRIPT = """
suppressMessages(library(survey))
d <- read.csv("weighted.csv")
m <- svymean(~z, svydesign(ids = ~1, weights = ~w, data = d), deff = "replace")
cat(format(c(coef(m), SE(m), deff(m)), digits = 12), "\\n")
"""
PEOPLE = 4_000


def r_survey(folder: Path, values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Mean, standard error and design effect by R."""
    rows = np.c_[values, weights]
    file = folder / "weighted.csv"
    np.savetxt(file, rows, "%.17g", delimiter=",", header="z,w", comments="")
    command = ["Rscript", "-e", SCRIPT]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    mean, error, effect = map(float, done.stdout.split())
    return mean, error, effect


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
    mean, error, effect = r_survey(tmp_path, (reports - (1 - p)) / (2 * p - 1), weights)
    assert found.frequencies[1] == pytest.approx(mean, abs=1e-9)
    assert found.stderr[1] == pytest.approx(error, rel=0.05)
    assert PEOPLE / found.effective_n == pytest.approx(effect, rel=0.05)
    # What ignores unequal weights would be noticed.
    plain = mechanism.estimate(reports, population="sample").stderr[1]
    assert (abs(plain / error - 1) < 0.05) == (spread == 0.0)
