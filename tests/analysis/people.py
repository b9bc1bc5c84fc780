"""People with covariates and answers, and what they report: for the tests of analyses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

import jrr
from jrr.analysis import Regression, SensitiveItem, regress

TRUE = np.array([-1.0, 0.8, 0.5])
N = 2_000


def answers(rng: np.random.Generator, n: int = N) -> tuple[dict[str, Any], NDArray[np.int64]]:
    covariates = {"score": rng.normal(size=n), "member": rng.integers(0, 2, n)}
    eta = TRUE[0] + TRUE[1] * covariates["score"] + TRUE[2] * covariates["member"]
    return covariates, (rng.random(n) < expit(eta)).astype(np.int64)


def surveys(mechanism: jrr.Mechanism, runs: int, seed: int, n: int = N) -> list[Regression]:
    rng = np.random.default_rng(seed)
    fits = []
    for _ in range(runs):
        covariates, truth = answers(rng, n)
        reports = mechanism.respond(truth, mechanism.deal(rng), rng)
        fits.append(regress(SensitiveItem(mechanism, reports), covariates))
    return fits


def coverage(fits: list[Regression], level: float = 0.95) -> NDArray[np.float64]:
    inside = []
    for fit in fits:
        low, high = fit.interval(level)
        inside.append((low <= TRUE) & (high >= TRUE))
    share: NDArray[np.float64] = np.mean(inside, axis=0)
    return share
