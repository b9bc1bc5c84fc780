"""Regression through cells: where sums of cells are known, not the answers of single people.

Single masked reports say next to nothing, but the sum of a cell says much. The mean of a cell is
the mean of what the coefficients say of its people, whose open answers are known one by one
(docs/theory-uses.md, Theorem A5).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from jrr._base import checks
from jrr.analysis.formulas import AnyColumns, Columns, model_of
from jrr.analysis.model_columns import INTERCEPT, Covariates
from jrr.analysis.regression import LINKS, Link, Regression, check_rank
from jrr.errors import ArgumentError
from jrr.estimation.cell_tallies import Cells
from jrr.estimation.contrasts import Component, Held, cumulants
from jrr.estimation.differences import difference
from jrr.estimation.estimates import Estimate
from jrr.estimation.moments import Floats
from jrr.estimation.tally import check_weights

CellCovariates = Covariates | str | Mapping[str, Mapping[Any, float]]
_MOST_STEPS = 200
_CLOSE = 1e-10  # squared distance from the solution, in standard errors
_LARGEST_STEP = 2.0  # of any linear predictor
_LEAST = 0.002  # of a share whose variance is computed, where a linear predictor leaves 0..1


def regress_cells(
    cells: Cells,
    covariates: CellCovariates | None = None,
    *,
    data: Columns | None = None,
    value: int = 1,
    link: Link = "logit",
    weights: ArrayLike | None = None,
    intercept: bool = True,
) -> Regression:
    """Explain a sensitive answer by open ones, from the sums of cells.

    Generalised least squares: the share of a cell is the mean of what the coefficients say of its
    people, and its error is that of the mechanism plus that of drawing the people. It works for
    every mechanism, and for MRR it is the one that is accurate.

    Args:
        cells: the reports by cell, as `cells_of` makes them.
        covariates: a formula of open answers ("age + gender"); or name -> answer -> number, for
            questions that cells are crossed by; or name -> column with one entry per person, in
            the order of the people that `cells_of` was given. None: all questions that cells are
            crossed by, as words. What differs within cells only by chance is told from little, and
            from whatever else differs between them.
        data: with a formula: open answers by name, one per person. Without it a formula speaks of
            the questions that cells are crossed by.
        value: the answer that is explained.
        link: "logit": coefficients are of the logarithm of odds; "identity": of the share.
        weights: of cells, such as `WeightedShares.weights`; standard errors then hold for the
            population that the weights stand for.
        intercept: whether there is a constant.

    Returns:
        As `regress`; intervals speak of the population whom the people were drawn from.

    Raises:
        ArgumentError: for covariates that are not known, fewer cells than coefficients, columns
            that depend on each other, or shares that no finite coefficients fit.

    Example:
        >>> import jrr
        >>> from jrr.analysis import SensitiveItem, cells_of
        >>> m = jrr.RR(p=0.9)
        >>> item = SensitiveItem(m, m.respond([0, 1, 1] * 600, rng=jrr.SeededRandom(7)))
        >>> cells = cells_of(item, {"age": ["young", "old", "older"] * 600})
        >>> regress_cells(cells, {"age": {"young": 2.0, "old": 5.0, "older": 7.0}}).names
        ('(intercept)', 'age')
        >>> regress_cells(cells).names
        ('(intercept)', 'age=older', 'age=young')
    """
    checks.one_of("link", link, LINKS)
    rows, model, x = people_of(cells, covariates, data, intercept=intercept)
    scale = check_rank(x, model.names)
    x = x / scale
    estimates = [
        cells.mechanism.estimate(cell.tally, cells.dealt).for_population("sample")
        for cell in cells.cells
    ]
    if len(model.names) > len(estimates):
        raise ArgumentError(
            f"covariates must have at most as many coefficients as there are cells "
            f"({len(estimates)}), got {len(model.names)}: {list(model.names)}"
        )
    value = checks.integer("value", value, 0, len(estimates[0].counts) - 1)
    observed = np.array([estimate.frequencies[value] for estimate in estimates])
    w = None if weights is None else check_weights(weights, len(estimates))
    noise = Noise(estimates, value, same_deck=cells.mechanism.deals)
    beta = np.zeros(x.shape[1])
    if model.intercept and link == "logit":
        middle = np.average(observed, weights=rows.totals)
        beta[model.names.index(INTERCEPT)] = logit(np.clip(middle, 0.02, 0.98))
    for _ in range(_MOST_STEPS):
        share = expit(x @ beta) if link == "logit" else x @ beta
        rise = share * (1 - share) if link == "logit" else np.ones(len(share))
        means, slopes = rows.mean(share), rows.mean(rise[:, None] * x)
        spread = noise.covariance(possible(means)) - np.diag(rows.spread(possible(share)))
        score, information, middle_part = _solved(spread, slopes, observed - means, w)
        if not np.linalg.cond(information) < 1e13:
            break
        step = np.linalg.solve(information, score)
        if abs(float(step @ score)) < _CLOSE:
            bread = np.linalg.inv(information)
            return Regression(
                names=model.names,
                coefficients=beta / scale,
                covariance=(bread @ middle_part @ bread) / np.outer(scale, scale),
                n=sum(estimate.n for estimate in estimates),
                effective_n=sum(estimate.effective_n for estimate in estimates),
                log_likelihood=None,
                method="shares of cells",
                weighted=w is not None or any(p.weighted for e in estimates for p in e.parts),
                columns=model,
                link=link,
            )
        most = float(np.abs(x @ step).max())
        beta = beta + step * (1.0 if link == "identity" else min(1.0, _LARGEST_STEP / most))
    raise ArgumentError(
        "covariates must leave finite coefficients that the cells determine: with these shares "
        "some go to infinity, as they do where hardly anybody of a cell says yes, or where cells "
        "do not differ in some covariate; merge answers or leave out covariates"
    )


def _solved(
    spread: Floats, slopes: Floats, residuals: Floats, w: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """The score, its slope, and its variance; with weights of cells on both sides."""
    root = np.ones(len(residuals)) if w is None else np.sqrt(w / w.mean())
    inverse = root[:, None] * np.linalg.inv(spread) * root
    pulled = inverse @ slopes
    information = slopes.T @ pulled
    middle = information if w is None else pulled.T @ spread @ pulled
    return pulled.T @ residuals, information, middle


def possible(shares: Floats) -> Floats:
    """Shares whose variance can be computed, where a linear predictor leaves 0..1."""
    within: Floats = np.clip(shares, _LEAST, 1 - _LEAST)
    return within


class PeopleOfCells(NamedTuple):
    """People with the same covariates in one cell, or single people."""

    cell: Any  # the number of each row's cell
    people: Floats  # how many people the row stands for
    totals: Floats  # people in each cell

    def mean(self, values: Floats) -> Floats:
        """The means of cells."""
        weighted = values * (self.people if values.ndim == 1 else self.people[:, None])
        sums = np.zeros((len(self.totals), *values.shape[1:]))
        np.add.at(sums, self.cell, weighted)
        means: Floats = sums / (self.totals if values.ndim == 1 else self.totals[:, None])
        return means

    def spread(self, shares: Floats) -> Floats:
        """By how much less the mean of a cell varies than if all its people had the same share."""
        apart = (shares - self.mean(shares)[self.cell]) ** 2
        less: Floats = self.mean(apart) / self.totals
        return less


def people_of(
    cells: Cells, covariates: Any, data: Columns | None, *, intercept: bool = True
) -> tuple[PeopleOfCells, AnyColumns, Floats]:
    """The people of cells, and their covariates as columns; arguments as for `regress_cells`."""
    totals = np.array([cell.tally.n for cell in cells.cells], np.float64)
    by_person = data is not None or (
        isinstance(covariates, Mapping)
        and not all(isinstance(column, Mapping) for column in covariates.values())
    )
    if by_person:
        if cells.people is None:
            raise ArgumentError(
                "data must be left out for cells that do not know their people one by one: make "
                "them by `cells_of`"
            )
        people = len(cells.people)
        model, x = model_of(covariates, data, people, intercept=intercept)
        return PeopleOfCells(cells.people, np.ones(people), totals), model, x
    atoms = _atoms(cells)
    columns = {
        name: [answers[place] for _, answers, _ in atoms] for place, name in enumerate(cells.by)
    }
    if isinstance(covariates, str):
        model, x = model_of(covariates, columns, len(atoms), intercept=intercept)
    else:
        used = columns if covariates is None else _numbers(cells, covariates, columns)
        model, x = model_of(used, None, len(atoms), intercept=intercept)
    rows = PeopleOfCells(
        np.array([at for at, _, _ in atoms]),
        np.array([float(count) for _, _, count in atoms]),
        totals,
    )
    return rows, model, x


def outcome_of(cells: Cells, outcome: str, data: Columns | None) -> Any:
    """An open question's answers in the order of the rows of `people_of`.

    Raises:
        ArgumentError: it is neither in the data nor among what cells are crossed by.
    """
    if data is None:
        (place,) = cells.places([outcome])
        return [answers[place] for _, answers, _ in _atoms(cells)]
    names = list(getattr(data, "columns", data))
    if outcome not in names:
        raise checks.refusal("outcome", outcome, f"one of the columns {names}")
    return np.asarray(data[outcome])


def _atoms(cells: Cells) -> list[tuple[int, tuple[str, ...], int]]:
    """Of each cell the combinations of answers in it, and how many people gave each."""
    return [
        (at, answers, count)
        for at, cell in enumerate(cells.cells)
        for answers, count in cell.members.items()
    ]


def _numbers(
    cells: Cells, covariates: Any, columns: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    """Covariates that the answers to some questions stand for."""
    found = {}
    for name, table in covariates.items():
        (at,) = cells.places([name])
        missing = sorted(set(columns[cells.by[at]]) - set(map(str, table)))
        if missing:
            raise checks.refusal("covariates", sorted(map(str, table)), f"of {missing[0]!r} too")
        numbers = {str(answer): number for answer, number in table.items()}
        found[name] = [numbers[answer] for answer in columns[name]]
    return found


class Noise:
    """The covariance matrix of the cells' estimated shares, where the true shares are given."""

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
