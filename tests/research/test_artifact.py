"""The settings and results published with the paper, recomputed.

Each row of the table is one stored setting. The number of colluders and the grid are not stored;
p follows from the spacing of the stored estimates, and rho from the stored variance (both are
columns). Rows whose step is 0 did not come from Algorithm 1 and are left out.
"""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import jrr

SHARED = Path(os.environ.get("JRR_SHARED", Path(__file__).parents[3] / "shared"))
FILE = SHARED / "data" / "jrr_artifact_results.csv"
COLLUDERS = 5  # the paper's default; no other number fits, see the test below


@dataclass(frozen=True)
class Stored:
    """One stored setting."""

    n: int
    n1: float
    epsilon: float
    variance_rr: float
    variance_jrr: float
    p: float
    step: float
    rho: float

    @property
    def counts(self) -> tuple[float, float]:
        """True counts of zeros and ones."""
        return (self.n - self.n1, self.n1)

    def search(self, colluders: int = COLLUDERS) -> jrr.JRR:
        """Algorithm 1 with the step that was really used, for p and for rho."""
        return jrr.algorithm1(self.n, self.epsilon, colluders, self.step, self.step)


def read(row: Mapping[str, str]) -> Stored:
    """One row; 1% of 20 contributors is a fractional number of ones, which the table rounds."""
    n, n1 = int(row["n"]), float(row["n1"])
    if n == 20 and row["source"].endswith("_f001.mat"):
        n1 = 0.2
    return Stored(
        n=n,
        n1=n1,
        epsilon=float(row["epsilon"]),
        variance_rr=float(row["var_rr_theory"]),
        variance_jrr=float(row["var_jrr_theory"]),
        p=float(row["p_recovered"]),
        step=float(row["pmax_minus_p"]),
        rho=float(row["rho_recovered"]),
    )


@pytest.fixture(scope="module")
def settings() -> list[Stored]:
    if not FILE.exists():
        pytest.skip(f"{FILE.name} is not here; set JRR_SHARED to the folder above its data folder")
    with FILE.open(newline="") as lines:
        rows = [read(row) for row in csv.DictReader(lines)]
    return [row for row in rows if row.step > 0]


def test_all_settings_are_read(settings: list[Stored]) -> None:
    assert len(settings) == 114
    assert {row.step for row in settings} == {0.0001, 0.0003}


def test_plain_randomized_response_to_six_digits(settings: list[Stored]) -> None:
    computed = [jrr.RR(epsilon=row.epsilon).variance(row.counts)[1] for row in settings]
    np.testing.assert_allclose(computed, [row.variance_rr for row in settings], rtol=1e-6)


def test_algorithm1_finds_the_recovered_p(settings: list[Stored]) -> None:
    difference = [row.search().p - row.p for row in settings]
    assert np.abs(difference).max() < 5.1e-9  # the column has eight decimals


def test_algorithm1_finds_the_recovered_rho(settings: list[Stored]) -> None:
    steps = [(row.search().rho - row.rho) / row.step for row in settings]
    assert np.abs(steps).max() < 0.02  # far below one grid step: the column has six decimals


def test_variance_at_the_recovered_parameters_to_three_digits(settings: list[Stored]) -> None:
    computed = [
        jrr.JRR(row.n, row.p, rho=max(row.rho, 1 - 1 / row.p)).variance(row.counts)[1]
        for row in settings
    ]
    np.testing.assert_allclose(computed, [row.variance_jrr for row in settings], rtol=5e-4)


def test_variance_of_algorithm1_to_six_digits(settings: list[Stored]) -> None:
    computed = [row.search().variance(row.counts)[1] for row in settings]
    np.testing.assert_allclose(computed, [row.variance_jrr for row in settings], rtol=1e-6)


def test_fractional_number_of_ones_fits_and_a_whole_one_does_not(settings: list[Stored]) -> None:
    """0.2 ones among 20 give the stored variance to 1e-6; 0 ones miss it by 2e-5 or more."""
    fractional = [row for row in settings if row.n1 % 1]
    assert [(row.n, row.n1) for row in fractional] == [(20, 0.2)] * 3
    for row in fractional:
        whole = row.search().variance((20, 0))[1]
        assert abs(whole / row.variance_jrr - 1) > 1.5e-5


def test_no_other_number_of_colluders_fits(settings: list[Stored]) -> None:
    def misses(colluders: int) -> int:
        return sum(abs(row.search(colluders).rho - row.rho) > row.step for row in settings)

    assert misses(COLLUDERS) == 0
    assert all(misses(colluders) > 20 for colluders in (0, 1, 4, 6, 10))
