"""Regression with a sensitive answer as a predictor: does an outcome differ for who says yes?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from jrr._base import checks
from jrr._base.shown import Row, ShownDocument
from jrr.analysis.formulas import AnyColumns, Columns, WithSensitive, model_of
from jrr.analysis.items import ReportsOfOne, SensitiveItem
from jrr.analysis.latent import HiddenPairs
from jrr.analysis.model_columns import INTERCEPT, Covariates
from jrr.analysis.regression import LINKS, WORKING, Link, Method, Regression, check_rank
from jrr.analysis.shared_coins import check_shared, joint_correction
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats
from jrr.estimation.tally import weights_or_ones

Outcome = ArrayLike | SensitiveItem


@dataclass(frozen=True, eq=False, kw_only=True)
class OutcomeRegression(ShownDocument):
    """What explains an outcome, the sensitive answer among it; made by `regress_outcome`.

    Attributes:
        outcome: the regression of the outcome; its last coefficient is the sensitive answer's.
        sensitive: with the link "logit" the regression of the sensitive answer on the same
            covariates, which is fitted together with it; None with "identity", which needs none.
    """

    outcome: Regression
    sensitive: Regression | None

    shown_value = "coefficient"

    def _heading(self) -> str:
        return self.outcome.heading

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of the regression of the outcome, and of that of the sensitive answer."""
        both = {"outcome": self.outcome, "sensitive answer": self.sensitive}
        return [
            {"explained": what} | row
            for what, fit in both.items()
            if fit is not None
            for row in fit.to_rows(level)
        ]

    @property
    def effect(self) -> tuple[float, float]:
        """The coefficient of the sensitive answer, and its standard error."""
        return float(self.outcome.coefficients[-1]), float(self.outcome.stderr[-1])

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document of plain numbers, with the intervals of one level.

        Args:
            level: the chance with which an interval holds.
            simultaneous: whether all intervals hold at once with this chance.
        """
        of_sensitive = self.sensitive
        wish: dict[str, Any] = {"level": level, "simultaneous": simultaneous}
        return {
            "outcome": self.outcome.to_dict(**wish),
            "sensitive": None if of_sensitive is None else of_sensitive.to_dict(**wish),
        }

    def __repr__(self) -> str:
        return f"OutcomeRegression(outcome={self.outcome!r})"


def regress_outcome(
    outcome: Outcome,
    item: SensitiveItem,
    covariates: Covariates | str | None = None,
    *,
    data: Columns | None = None,
    name: str = "sensitive",
    value: int = 1,
    outcome_value: int = 1,
    link: Link = "logit",
    weights: ArrayLike | None = None,
    intercept: bool = True,
) -> OutcomeRegression:
    """Explain an outcome by a sensitive answer and open covariates, person by person.

    The outcome may be open, or another sensitive question: with a coin of its own, or with the coin
    that both items name. With the link "logit" both answers are modelled at once (Blair, Imai and
    Zhou 2015), as `rrreg.predictor` of R's package rr does; with "identity" least squares is
    corrected for the noise of the reports, which asks for no law of the outcome.

    Args:
        outcome: one number per person, 0 or 1 with "logit"; or the reports of another question.
        item: the reports of the sensitive question that explains it.
        covariates: as for `regress`; None: only the sensitive answer.
        data: as for `regress`.
        name: of the sensitive answer, in results.
        value: the answer that counts as yes.
        outcome_value: of a sensitive outcome the answer that is explained.
        link: "logit" or "identity".
        weights: survey weights, one per person; standard errors then come from residuals.
        intercept: whether there is a constant.

    Returns:
        The regression of the outcome, and that of the sensitive answer.

    Raises:
        ArgumentError: as `regress`, or for an outcome that is not of these people or not 0 and 1.

    Example:
        >>> import jrr, numpy as np
        >>> rng = np.random.default_rng(7)
        >>> truth = rng.integers(0, 2, 20_000)
        >>> outcome = (rng.random(20_000) < np.where(truth == 1, 0.6, 0.3)).astype(int)
        >>> m = jrr.RR(epsilon=2.0)
        >>> reports = SensitiveItem(m, m.respond(truth, rng=jrr.SeededRandom(7)))
        >>> found = regress_outcome(outcome, reports, link="identity")
        >>> found.outcome.names, round(found.effect[0], 1)
        (('(intercept)', 'sensitive'), 0.3)
    """
    checks.one_of("link", link, LINKS)
    model, x = _columns(covariates, data, len(item), intercept)
    w = weights_or_ones(weights, len(item))
    scale = check_rank(x, model.names)
    sensitive = ReportsOfOne.of(item, value)
    other = None
    if isinstance(outcome, SensitiveItem):
        if len(outcome) != len(item):
            raise ArgumentError(
                f"outcome must be of the same people as item ({len(item)}), got {len(outcome)}"
            )
        check_shared(item, outcome)
        other = ReportsOfOne.of(outcome, outcome_value)
        seen: Floats = np.zeros(0)
    else:
        seen = check_outcome(outcome, len(item), link)
    observed = _Observed(x / scale, w, sensitive, other, seen)
    fit = _by_least_squares if link == "identity" else _by_likelihood
    found, covariance, height = fit(observed, model, by_residuals=weights is not None)
    exact = weights is None and all(one.independent for one in observed.reports)
    method: Method = "exact likelihood" if exact else WORKING
    both = found.size > x.shape[1] + 1
    sizes = np.concatenate([scale, scale, [1.0]] if both else [scale, [1.0]])
    found, covariance = found / sizes, covariance / np.outer(sizes, sizes)
    common: dict[str, Any] = {
        "n": len(item),
        "effective_n": float(w.sum() ** 2 / (w**2).sum()),
        "log_likelihood": height,
        "method": "moments" if link == "identity" else method,
        "weighted": weights is not None,
        "link": link,
    }
    return joined(found, covariance, model, name, common, both=both)


def joined(
    found: Floats,
    covariance: Floats,
    model: AnyColumns,
    name: str,
    common: dict[str, Any],
    *,
    both: bool,
) -> OutcomeRegression:
    """The result, of all coefficients at once: those of the sensitive answer first if of both."""
    if name in model.names:
        raise checks.refusal("name", name, f"none of the covariates {list(model.names)}")
    first = len(model.names) if both else 0
    whole = WithSensitive(model, name)
    outcome = Regression(
        names=whole.names,
        coefficients=found[first:],
        covariance=covariance[first:, first:],
        columns=whole,
        **common,
    )
    if not both:
        return OutcomeRegression(outcome=outcome, sensitive=None)
    sensitive = Regression(
        names=model.names,
        coefficients=found[:first],
        covariance=covariance[:first, :first],
        columns=model,
        **common,
    )
    return OutcomeRegression(outcome=outcome, sensitive=sensitive)


def check_outcome(outcome: Any, people: int, link: Link) -> Floats:
    """An open outcome as numbers.

    Raises:
        ArgumentError: it is not one finite number per person, or not 0 and 1 with "logit".
    """
    column = checks.array_of("outcome", outcome, "one number per person")
    if column.ndim != 1 or column.dtype.kind not in "biuf":
        raise checks.refusal("outcome", outcome, "one number per person")
    checks.same_length("outcome", column, "reports", people)
    numbers: Floats = column.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ArgumentError("outcome must be finite numbers: leave out those who lack one")
    if link == "logit" and not np.isin(numbers, (0.0, 1.0)).all():
        raise ArgumentError(
            "outcome must be 0 and 1 with link='logit'; link='identity' takes any numbers"
        )
    return numbers


def _columns(
    covariates: Covariates | str | None, data: Columns | None, people: int, intercept: bool
) -> tuple[AnyColumns, Floats]:
    return model_of({} if covariates is None else covariates, data, people, intercept=intercept)


class _Observed:
    """What is known of everybody: covariates, the reports of one or two questions, an outcome."""

    def __init__(
        self,
        x: Floats,
        w: Floats,
        sensitive: ReportsOfOne,
        other: ReportsOfOne | None,
        seen: Floats,
    ) -> None:
        self.x, self.w, self.seen = x, w, seen
        self.reports: Sequence[ReportsOfOne] = (sensitive,) if other is None else (sensitive, other)
        if other is not None:
            self.joint = [
                joint_correction(sensitive.item, other.item, bool(c)) for c in (False, True)
            ]
            self.shares_coin = sensitive.item.shared is not None and (
                sensitive.item.shared == other.item.shared
            )

    def said(self) -> list[Floats]:
        """The reports of each question, as they are."""
        return [one.said for one in self.reports]

    def chances(self, said: Sequence[Floats]) -> Floats:
        """Of these reports and outcomes, by both true answers: people × 2 × 2."""
        first = self.reports[0].chances(said[0])
        if len(self.reports) == 1:
            second = np.stack([1 - self.seen, self.seen], axis=1)
            return first[:, :, None] * second[:, None, :]
        second = self.reports[1].chances(said[1])
        pairs = first[:, :, None] * second[:, None, :]
        if not self.shares_coin:
            return pairs
        flat = pairs.reshape(-1, 4)
        carded = self.reports[0].item.with_card
        both = np.where(carded[:, None], flat @ self.joint[1].T, flat @ self.joint[0].T)
        return np.asarray(both.reshape(-1, 2, 2))

    def answers(self, said: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
        """Unbiased for the sensitive answer, the outcome, and the product of both."""
        first = self.reports[0].answers(said[0])
        if len(self.reports) == 1:
            return first, self.seen, first * self.seen
        second = self.reports[1].answers(said[1])
        if not self.shares_coin:
            return first, second, first * second
        one = np.stack([1 - first, first], axis=1)
        two = np.stack([1 - second, second], axis=1)
        pairs = (one[:, :, None] * two[:, None, :]).reshape(-1, 4)
        carded = self.reports[0].item.with_card
        back = [np.linalg.inv(matrix) for matrix in self.joint]
        both = np.where(carded[:, None], pairs @ back[1], pairs @ back[0])
        return first, second, np.asarray(both[:, 3])

    def score_variance(self, score: Any, shares: Sequence[Floats]) -> Floats:
        """The covariance matrix of a score, in which the cards of a deck tie people together.

        Args:
            score: from the reports of each question to a row for each person.
            shares: of each question the chances that people hold the answer.
        """
        rows = self.w[:, None] * score(self.said())
        variance: Floats = rows.T @ rows
        for at, one in enumerate(self.reports):
            if one.item.independent:
                continue
            ends = []
            for end in (0.0, 1.0):
                said = self.said()
                said[at] = np.full_like(said[at], end)
                ends.append(score(said))
            moved = self.w[:, None] * (ends[1] - ends[0])
            for lean in one.leans(shares[at]):
                pull = moved * lean[:, None]
                total = pull.sum(axis=0)
                variance = variance - one.item.tie * (np.outer(total, total) - pull.T @ pull)
        return variance


def _by_likelihood(
    observed: _Observed, model: AnyColumns, *, by_residuals: bool
) -> tuple[Floats, Floats, float | None]:
    x, w = observed.x, observed.w
    people = HiddenPairs(x, observed.chances(observed.said()), w)
    start = np.zeros(2 * x.shape[1] + 1)
    if model.intercept:
        at = model.names.index(INTERCEPT)
        held, outcome, _ = observed.answers(observed.said())
        for place, column in ((at, held), (x.shape[1] + at, outcome)):
            start[place] = logit(np.clip(np.average(column, weights=w), 0.02, 0.98))
    found = people.maximum(start)
    bread = inverse(people.information(found)[0])
    likely = people.likely(found)
    covariance = bread
    if by_residuals or not all(one.item.independent for one in observed.reports):

        def score(said: Sequence[Floats]) -> Floats:
            return HiddenPairs(x, observed.chances(said), w).scores(found)

        shares = (likely.of_yes, likely.pairs[:, :, 1].sum(axis=1))
        covariance = bread @ observed.score_variance(score, shares) @ bread
    return found, covariance, float(w @ likely.height)


def _by_least_squares(
    observed: _Observed, _model: AnyColumns, *, by_residuals: bool
) -> tuple[Floats, Floats, float | None]:
    """Moments of answers that reports stand for without bias; a yes is its own square.

    Standard errors come from residuals in any case.
    """
    del by_residuals
    x, w = observed.x, observed.w
    held, outcome, both = observed.answers(observed.said())
    matrix = moments_matrix(x, w, held)
    right = np.append(x.T @ (w * outcome), w @ both)
    if not np.linalg.cond(matrix) < 1e13 or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise ArgumentError(
            "item must vary among people with the same covariates: by these reports hardly anybody "
            "says yes, or nobody else"
        )
    found: Floats = np.asarray(np.linalg.solve(matrix, right), np.float64)

    def score(said: Sequence[Floats]) -> Floats:
        z, o, zo = observed.answers(said)
        fitted = x @ found[:-1]
        left = (o - fitted - found[-1] * z)[:, None] * x
        return np.column_stack([left, zo - z * fitted - found[-1] * z])

    people = len(x)
    shares = [
        np.full(people, np.clip(np.average(column, weights=w), 0.0, 1.0))
        for column in (held, outcome)
    ]
    bread = inverse(matrix)
    return found, bread @ observed.score_variance(score, shares) @ bread, None


def inverse(matrix: Floats) -> Floats:
    """Of a matrix that has been checked."""
    return np.asarray(np.linalg.inv(matrix), np.float64)


def moments_matrix(x: Floats, w: Floats, held: Floats) -> Floats:
    """What least squares divides by, of columns and of a yes or no which is its own square."""
    cross = x.T @ (w * held)
    matrix: Floats = np.block([[x.T @ (w[:, None] * x), cross[:, None]], [cross[None], w @ held]])
    return matrix
