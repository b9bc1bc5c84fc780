"""Regression through a perturbation: the likelihood, its maximum, its errors; least squares.

With the linear predictor η a person says yes with probability π = 1/(1 + e^-η), and a report says
yes with probability μ = q + (p - q) π. Reports are 0 and 1 (docs/theory-uses.md, Theorem A2).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats

_MOST_STEPS = 200
_CLOSE = 1e-14  # how far below its maximum the likelihood may be left
_FLAT = 1e13  # by how much directions may differ in curvature before one leads to infinity
_LARGEST_STEP = 4.0  # of any linear predictor


@dataclass(frozen=True, eq=False, kw_only=True)
class PerturbedAnswers:
    """Reports of yes and no beside covariates, one row per person.

    Attributes:
        said: 1 where the report says yes.
        x: the columns of the covariates.
        p: chance that the report says yes of somebody who holds yes, person by person.
        q: the same of anybody else.
        weights: survey weights.
        linear: whether the linear predictor is the share of yes itself, π = η.
    """

    said: Floats
    x: Floats
    p: Floats
    q: Floats
    weights: Floats
    linear: bool = False


class _Chances(NamedTuple):
    yes: Floats  # π
    report: Floats  # μ
    no_report: Floats  # 1 - μ, on its own because differences lose digits
    slope: Floats  # dμ/dη
    weight: Floats  # of the residual of a report in the score

    @property
    def information(self) -> Floats:
        """Of one report about its linear predictor; of a likelihood μ'²/(μ(1-μ))."""
        return self.slope * self.weight


def chances(data: PerturbedAnswers, coefficients: Floats) -> _Chances:
    """What the coefficients say of every person."""
    eta = data.x @ coefficients
    gain = data.p - data.q
    if data.linear:  # each report is turned into an unbiased answer, (report - q) / (p - q)
        mean: Floats = data.q + gain * eta
        return _Chances(np.clip(eta, 0.0, 1.0), mean, 1 - mean, gain, 1 / gain)
    yes, no = expit(eta), expit(-eta)
    tiny = np.finfo(np.float64).tiny
    report = np.maximum(data.q + gain * yes, tiny)
    no_report = np.maximum((1 - data.p) + gain * no, tiny)
    slope = gain * yes * no
    return _Chances(yes, report, no_report, slope, slope / (report * no_report))


def least_squares(data: PerturbedAnswers) -> Floats:
    """The coefficients of a linear regression, unbiased."""
    answers = (data.said - data.q) / (data.p - data.q)
    weighted = data.weights[:, None] * data.x
    return np.linalg.solve(data.x.T @ weighted, weighted.T @ answers).astype(np.float64)


def log_likelihood(data: PerturbedAnswers, coefficients: Floats) -> float:
    """The logarithm of the chance of all reports, as if people were independent."""
    at = chances(data, coefficients)
    return float(data.weights @ np.log(np.where(data.said > 0, at.report, at.no_report)))


def maximise(data: PerturbedAnswers, start: Floats) -> Floats:
    """The coefficients at which the likelihood is largest, by Fisher's scoring.

    Raises:
        ArgumentError: where columns depend on each other, or no finite coefficients are best.
    """
    beta, height = start, log_likelihood(data, start)
    for _ in range(_MOST_STEPS):
        at = chances(data, beta)
        score = data.x.T @ (data.weights * at.weight * (data.said - at.report))
        curvature = information(data, at)
        if not np.linalg.cond(curvature) < _FLAT:
            break
        step = np.linalg.solve(curvature, score)
        if abs(float(step @ score)) < _CLOSE * max(1.0, float(data.weights.mean())):
            return beta
        step = step * min(1.0, _LARGEST_STEP / max(1e-300, float(np.abs(data.x @ step).max())))
        for _ in range(60):
            risen = log_likelihood(data, beta + step)
            if risen > height:
                break
            step = step / 2
        else:  # as high as floating point can tell
            return beta
        beta, height = beta + step, risen
    raise ArgumentError(
        "covariates must leave finite coefficients: with these reports some go to infinity, as "
        "they do where hardly anybody of a group says yes, or nobody else; leave out or merge "
        "covariates, or ask more people"
    )


def information(data: PerturbedAnswers, at: _Chances) -> Floats:
    """Fisher's information of the coefficients, by the model."""
    matrix: Floats = data.x.T @ ((data.weights * at.information)[:, None] * data.x)
    return matrix


def score_variance(
    data: PerturbedAnswers,
    at: _Chances,
    *,
    leans: NDArray[np.float64],
    tie: float,
    empirical: bool,
) -> Floats:
    """The covariance matrix of the score, in which cards tie people together.

    Args:
        data: the reports.
        at: what the coefficients say of them.
        leans: for every kind of card and person the lean of somebody without and with a yes:
            shape (kinds, people, 2); 0 where there was no card.
        tie: minus the factor of the product of two people's leans in their covariance.
        empirical: whether squares of residuals are used instead of what the model says.
    """
    squares = (data.said - at.report) ** 2 if empirical else at.report * at.no_report
    each = data.weights * at.weight
    variance: Floats = data.x.T @ ((each**2 * squares)[:, None] * data.x)
    if tie:
        expected = leans[:, :, 0] * (1 - at.yes) + leans[:, :, 1] * at.yes
        for lean in expected:
            pull = data.x * (each * lean)[:, None]
            total = pull.sum(axis=0)
            variance = variance - tie * (np.outer(total, total) - pull.T @ pull)
    return variance
