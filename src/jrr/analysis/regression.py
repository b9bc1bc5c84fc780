"""Regression: what open covariates say of a sensitive yes or no (docs/analysis.md)."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr

from jrr._base import checks
from jrr._base.shown import Row, ShownDocument, value_rows
from jrr.analysis.formulas import AnyColumns, Columns, WithSensitive, model_of
from jrr.analysis.items import ReportsOfOne, SensitiveItem
from jrr.analysis.likelihood import (
    PerturbedAnswers,
    chances,
    information,
    least_squares,
    log_likelihood,
    maximise,
    score_variance,
)
from jrr.analysis.model_columns import INTERCEPT, Covariates
from jrr.errors import ArgumentError
from jrr.estimation.estimates import quantile
from jrr.estimation.moments import Floats
from jrr.estimation.tally import weights_or_ones

Method = Literal["exact likelihood", "working likelihood", "moments", "shares of cells"]
WORKING: Method = "working likelihood"
Link = Literal["logit", "identity"]
LINKS: tuple[Link, ...] = ("logit", "identity")


class Prediction(NamedTuple):
    """Predicted shares of yes among people with given covariates, and intervals of them."""

    shares: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Regression(ShownDocument):
    """What explains an answer; made by `regress`, `regress_cells` and `regress_outcome`.

    Attributes:
        names: of the coefficients.
        coefficients: changes of the logarithm of the odds of yes; with the link "identity" of the
            share of yes, or of the mean of an outcome.
        covariance: of the coefficients.
        n: people.
        effective_n: people of equal weight that would be as many (Kish).
        log_likelihood: at the maximum, weighted where there are weights; None where no likelihood
            was maximised.
        method: "exact likelihood"; "working likelihood", as if reports of one deck did not depend
            on each other, or with weights (standard errors count both); "moments"; or "shares of
            cells".
        weighted: whether there were survey weights.
        columns: how covariates become columns.
        link: "logit" or "identity".
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    n: int
    effective_n: float
    log_likelihood: float | None
    method: Method
    weighted: bool
    columns: AnyColumns | WithSensitive
    link: Link = "logit"

    @property
    def stderr(self) -> Floats:
        """Standard errors of the coefficients."""
        errors: Floats = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        return errors

    @property
    def odds_ratios(self) -> Floats:
        """The factor by which one more of a covariate multiplies the odds of yes."""
        ratios: Floats = np.exp(self.coefficients)
        return ratios

    @property
    def p_values(self) -> Floats:
        """Of the test that a coefficient is 0, two-sided."""
        with np.errstate(divide="ignore"):
            tails: Floats = 2 * ndtr(-np.abs(self.coefficients) / self.stderr)
        return tails

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Confidence intervals of the coefficients.

        Args:
            level: how often such an interval holds the true coefficient, in (0, 1).
            simultaneous: whether all of them are to hold at once with that chance (Bonferroni).

        Returns:
            Lower and upper ends, one per coefficient.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        level = checks.level(level)
        each = 1 - (1 - level) / (len(self.names) if simultaneous else 1)
        reach = quantile(each) * self.stderr
        return self.coefficients - reach, self.coefficients + reach

    def odds_ratio_interval(
        self, level: float = 0.95, *, simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """The same of the odds ratios.

        Args:
            level: the chance with which an interval holds.
            simultaneous: whether all intervals hold at once with this chance.
        """
        low, high = self.interval(level, simultaneous=simultaneous)
        return np.exp(low), np.exp(high)

    shown_value = "coefficient"
    shown_heading = "Regression by {0.method}, {0.n:,} people, {0.link}"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each coefficient: its name, stderr, low, high, p_value."""
        low, high = self.interval(level)
        return value_rows(
            {
                "name": self.names,
                "coefficient": self.coefficients,
                "stderr": self.stderr,
                "low": low,
                "high": high,
                "p_value": self.p_values,
            }
        )

    def predict(self, covariates: Covariates, level: float = 0.95) -> Prediction:
        """The share of yes among people with these covariates, with intervals.

        An interval speaks of the share among all such people, not of one person's answer.

        Args:
            covariates: as for `regress`.
            level: of the intervals.

        Returns:
            shares, low and high, one per row of covariates.

        Raises:
            ArgumentError: for covariates or levels other than those of the regression.
        """
        x = self.columns.matrix(covariates)
        eta = x @ self.coefficients
        variance = np.einsum("ij,jk,ik->i", x, self.covariance, x)
        reach = quantile(level) * np.sqrt(np.maximum(variance, 0.0))
        ends = (eta, eta - reach, eta + reach)
        return Prediction(*(ends if self.link == "identity" else map(expit, ends)))

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document of plain numbers, with the intervals of one level.

        Args:
            level: the chance with which an interval holds.
            simultaneous: whether all intervals hold at once with this chance.
        """
        ends = np.column_stack(self.interval(level, simultaneous=simultaneous))
        return {
            "n": self.n,
            "effective_n": self.effective_n,
            "level": level,
            "simultaneous": simultaneous,
            "method": self.method,
            "link": self.link,
            "log_likelihood": self.log_likelihood,
            "weighted": self.weighted,
            "coefficients": value_rows(
                {
                    "name": self.names,
                    "coefficient": self.coefficients,
                    "stderr": self.stderr,
                    "interval": ends,
                    "odds_ratio": self.odds_ratios,
                    "odds_ratio_interval": np.exp(ends),
                    "p_value": self.p_values,
                }
            ),
            "covariance": self.covariance.tolist(),
        }

    def __repr__(self) -> str:
        low, high = self.interval()
        rows = ", ".join(
            f"{name}: {b:.3f} [{from_:.3f}, {to:.3f}]"
            for name, b, from_, to in zip(self.names, self.coefficients, low, high, strict=True)
        )
        return f"Regression(n={self.n}, 95%: {rows})"


def regress(
    item: SensitiveItem,
    covariates: Covariates | str,
    *,
    data: Columns | None = None,
    value: int = 1,
    link: Link = "logit",
    weights: ArrayLike | None = None,
    intercept: bool = True,
) -> Regression:
    """Explain a sensitive answer by open covariates: regression through the perturbation.

    The likelihood is exact where reports are independent (RR, people without a card, MRR with
    announced sums). Reports of one deck (JRR, DRR, MRR with a closed deck) depend on each other a
    little; then it is a working likelihood, and standard errors count what the deck ties together.
    Of a masked report only its sign is used, which is all, or all but a trace, of what it says of
    one person. That is little: see docs/analysis.md before you plan a regression with MRR.

    Args:
        item: the reports, one per person.
        covariates: name -> column, one number or word per person; or an array with one row per
            person; or a formula ("age + gender + age:gender"). Words become one column for each
            level but the first.
        data: with a formula: name -> column, one entry per person, or a data frame.
        value: the answer that is explained; all others together are the opposite.
        link: "logit": logistic regression, by maximum likelihood; "identity": linear regression
            of the share, by least squares, whose standard errors come from residuals (sandwich).
        weights: survey weights, one per person. Standard errors then come from residuals
            (sandwich), and speak of the population that the weights stand for.
        intercept: whether there is a constant.

    Returns:
        Coefficients with errors and intervals, odds ratios, and `predict`.

    Raises:
        ArgumentError: for covariates of another length, columns that depend on each other, or
            reports that no finite coefficients fit best.

    Example:
        >>> import jrr, numpy as np
        >>> rng = np.random.default_rng(7)
        >>> age = rng.uniform(-1, 1, 20_000)
        >>> truth = (rng.random(20_000) < 1 / (1 + np.exp(1 - age))).astype(int)
        >>> m = jrr.RR(epsilon=1.0)
        >>> reports = m.respond(truth, rng=jrr.SeededRandom(7))
        >>> fit = regress(SensitiveItem(m, reports), {"age": age})
        >>> low, high = fit.interval()
        >>> fit.names, bool((low < [-1, 1]).all() and (high > [-1, 1]).all())
        (('(intercept)', 'age'), True)
    """
    reports = ReportsOfOne.of(item, value)
    checks.one_of("link", link, LINKS)
    model, x = model_of(covariates, data, len(item), intercept=intercept)
    w = weights_or_ones(weights, len(item))
    scale = check_rank(x, model.names)
    said = _perturbed(reports, x / scale, w, link)
    fitted = least_squares(said) if link == "identity" else maximise(said, _start(said, model))
    at = chances(said, fitted)
    bread = np.linalg.inv(information(said, at))
    by_residuals = weights is not None or link == "identity"
    middle = score_variance(said, at, leans=reports.kinds(), tie=item.tie, empirical=by_residuals)
    method: Method = "exact likelihood" if item.independent and weights is None else WORKING
    return Regression(
        names=model.names,
        coefficients=fitted / scale,
        covariance=(bread @ middle @ bread) / np.outer(scale, scale),
        n=len(item),
        effective_n=float(w.sum() ** 2 / (w**2).sum()),
        log_likelihood=None if link == "identity" else log_likelihood(said, fitted),
        method="moments" if link == "identity" else method,
        weighted=weights is not None,
        columns=model,
        link=link,
    )


def of_number(fit: Regression, low: float, high: float) -> Regression:
    """The regression of a number's mean, from that of its place between two ends.

    Args:
        fit: with the link "identity".
        low: the number at 0.
        high: the number at 1.

    Raises:
        ArgumentError: there is no constant, to which the lower end belongs.
    """
    if INTERCEPT not in fit.names:
        raise ArgumentError("covariates must come with a constant where a number is explained")
    coefficients = fit.coefficients * (high - low)
    coefficients[fit.names.index(INTERCEPT)] += low
    covariance = fit.covariance * (high - low) ** 2
    return replace(fit, coefficients=coefficients, covariance=covariance)


def _perturbed(reports: ReportsOfOne, x: Floats, w: Floats, link: Link) -> PerturbedAnswers:
    said, p, q = reports.said, reports.p, reports.q
    return PerturbedAnswers(said=said, x=x, p=p, q=q, weights=w, linear=link == "identity")


def _start(data: PerturbedAnswers, model: AnyColumns) -> Floats:
    """If all other coefficients are 0: the constant that explains the share of yes."""
    start = np.zeros(data.x.shape[1])
    if model.intercept:
        reported = data.weights @ (data.said - data.q)
        share = reported / (data.weights @ (data.p - data.q))
        start[model.names.index(INTERCEPT)] = logit(np.clip(share, 0.02, 0.98))
    return start


def check_rank(x: Floats, names: tuple[str, ...]) -> Floats:
    """The sizes of the columns of a regression.

    Raises:
        ArgumentError: where there are none, one is 0 throughout, or some follow from others.
    """
    if not names:
        raise ArgumentError("covariates must hold at least one column, or an intercept")
    scale: Floats = np.sqrt((x**2).mean(axis=0))
    empty = [name for name, size in zip(names, scale, strict=True) if not size > 0]
    if empty:
        raise ArgumentError(f"covariates must not be 0 for everybody, got {empty[0]!r}")
    if np.linalg.matrix_rank(x / scale) < len(names):
        raise ArgumentError(
            f"covariates must not follow from each other, got columns that do among {list(names)} "
            f"in {len(x)} rows"
        )
    return scale
