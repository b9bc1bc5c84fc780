"""Regression: what open covariates say of a sensitive yes or no (docs/analysis.md).

With the linear predictor η a person says yes with probability π = 1/(1 + e^-η), and a report says
yes with probability μ = q + (p - q) π. Reports are 0 and 1 (docs/theory-uses.md, Theorem A2).
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr

from jrr._base import checks
from jrr._base.shown import Row, ShownDocument, value_rows
from jrr.analysis.formulas import AnyColumns, Columns, WithSensitive, model_of
from jrr.analysis.items import ReportsOfOne, SensitiveItem
from jrr.analysis.model_columns import INTERCEPT, Covariates
from jrr.errors import ArgumentError
from jrr.estimation.estimates import quantile
from jrr.estimation.moments import Floats
from jrr.estimation.tally import weights_or_ones

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
    data: PerturbedAnswers, at: _Chances, *, leans: NDArray[np.float64], tie: float, empirical: bool
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
