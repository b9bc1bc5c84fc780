"""Regression on the shares of groups: for covariates that put people into few groups.

Single masked reports say next to nothing, but the sum of a group says much. Where covariates are
discrete, the shares of all combinations hold what a regression needs (docs/analysis.md).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit, logit

from jrr._base import checks
from jrr.analysis.model_columns import INTERCEPT, ModelColumns
from jrr.analysis.regression import Regression, check_rank
from jrr.errors import ArgumentError
from jrr.estimation.contrasts import Component, Held, cumulants
from jrr.estimation.differences import difference
from jrr.estimation.estimates import Estimate
from jrr.estimation.groups import GroupEstimates
from jrr.estimation.moments import Floats

_MOST_STEPS = 200
_CLOSE = 1e-10  # squared distance from the solution, in standard errors
_LARGEST_STEP = 2.0  # of any linear predictor


def regress_groups(
    groups: GroupEstimates,
    covariates: Mapping[str, Mapping[str, Any]],
    *,
    value: int = 1,
    intercept: bool = True,
) -> Regression:
    """Explain the shares of groups by open covariates that all members of a group have in common.

    Generalised least squares: the share of group g is 1/(1 + e^-η), and its error is that of the
    mechanism at that share plus that of drawing the members. It works for every mechanism, and
    for MRR it is the one that is accurate: give every group its own announced sum.

    Args:
        groups: the estimates, as `by_group` or `estimate_groups` makes them.
        covariates: group -> name -> number or word, for every group that is shown.
        value: the answer whose odds are explained.
        intercept: whether there is a constant.

    Returns:
        As `regress`; intervals speak of the population whom the members were drawn from.

    Raises:
        ArgumentError: for groups without covariates, fewer groups than coefficients, columns that
            depend on each other, or shares that no finite coefficients fit.

    Example:
        >>> import jrr
        >>> from jrr.analysis import SensitiveItem, by_group
        >>> m = jrr.RR(p=0.9)
        >>> item = SensitiveItem(m, m.respond([0, 1, 1] * 600, rng=jrr.SeededRandom(7)))
        >>> shares = by_group(item, ["young", "old", "older"] * 600)
        >>> ages = {"young": {"age": 2.0}, "old": {"age": 5.0}, "older": {"age": 7.0}}
        >>> regress_groups(shares, ages).names
        ('(intercept)', 'age')
    """
    names = [group.name for group in groups]
    missing = sorted(set(names) - set(covariates))
    if missing:
        raise checks.refusal("covariates", sorted(covariates), f"of {missing[0]!r} too")
    columns = _by_name([covariates[name] for name in names])
    model = ModelColumns.of(columns, intercept=intercept)
    x = model.matrix(columns) if model.terms else np.ones((len(names), int(intercept)))
    scale = check_rank(x, model.names)
    x = x / scale
    estimates = [group.estimate.for_population("sample") for group in groups]
    value = checks.integer("value", value, 0, len(estimates[0].counts) - 1)
    observed = np.array([estimate.frequencies[value] for estimate in estimates])
    noise = _Noise(estimates, value, same_deck=groups.same_deck)
    beta = np.zeros(x.shape[1])
    if intercept:
        beta[model.names.index(INTERCEPT)] = logit(np.clip(observed.mean(), 0.02, 0.98))
    for _ in range(_MOST_STEPS):
        shares = expit(x @ beta)
        slopes = (shares * (1 - shares))[:, None] * x
        sides = np.column_stack([slopes, observed - shares])
        solved = np.linalg.solve(noise.covariance(shares), sides)
        information, score = slopes.T @ solved[:, :-1], slopes.T @ solved[:, -1]
        if not np.linalg.cond(information) < 1e13:
            break
        step = np.linalg.solve(information, score)
        if abs(float(step @ score)) < _CLOSE:
            return Regression(
                names=model.names,
                coefficients=beta / scale,
                covariance=np.linalg.inv(information) / np.outer(scale, scale),
                n=sum(estimate.n for estimate in estimates),
                effective_n=sum(estimate.effective_n for estimate in estimates),
                log_likelihood=None,
                method="shares of groups",
                weighted=any(part.weighted for e in estimates for part in e.parts),
                columns=model,
            )
        beta = beta + step * min(1.0, _LARGEST_STEP / float(np.abs(x @ step).max()))
    raise ArgumentError(
        "covariates must leave finite coefficients: with these shares some go to infinity, as they "
        "do where hardly anybody of a group says yes; merge groups or leave out covariates"
    )


class _Noise:
    """The covariance matrix of the groups' estimated shares, where the true shares are given."""

    def __init__(self, estimates: Sequence[Estimate], value: int, *, same_deck: bool) -> None:
        self.value, self.size = value, len(estimates)
        self.own = [[[part] for part in estimate.parts] for estimate in estimates]
        tied = same_deck and _tied(estimates)
        self.pairs = {
            (g, h): difference(estimates[g], estimates[h], same_deck=True).pools
            for g, h in (combinations(range(self.size), 2) if tied else ())
        }

    def covariance(self, shares: Floats) -> Floats:
        """Of all shares at once."""
        each = [self._variance(own, s, s) for own, s in zip(self.own, shares, strict=True)]
        matrix = np.diag(each)
        for (g, h), pools in self.pairs.items():
            apart = self._variance(pools, shares[g], shares[h])
            matrix[g, h] = matrix[h, g] = (matrix[g, g] + matrix[h, h] - apart) / 2
        return matrix

    def _variance(self, pools: Sequence[Sequence[Component]], first: float, second: float) -> float:
        """Of a contrast; parts that are subtracted have the second share."""
        held = [
            [self._held(part, first if part.factor > 0 else second) for part in parts]
            for parts in pools
        ]
        variance = cumulants(pools, held).variance
        return float(np.broadcast_to(variance, np.shape(pools[0][0].counts))[self.value])

    @staticmethod
    def _held(part: Component, share: float) -> Held:
        return Held(np.array([part.weight * share]), np.array([part.squares * share]))


def _tied(estimates: Sequence[Estimate]) -> bool:
    """Whether people of one deck depend on each other; those with announced sums do not."""
    parts = [part for estimate in estimates for part in estimate.parts]
    by_cards = any(part.moments.pair_weight(part.decks) for part in parts)
    masks = [part.moments.masks for part in parts]
    return by_cards or any(mask is not None and mask.tie(1) for mask in masks)


def _by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    if not rows:
        raise ArgumentError("groups must hold at least one group that is shown, got none")
    names = list(rows[0])
    if any(set(row) != set(names) for row in rows):
        raise ArgumentError(f"covariates must be the same for every group: {sorted(names)}")
    return {name: [row[name] for row in rows] for name in names}
