"""A sensitive answer as a predictor, where sums of cells are known and not the answers of people.

The outcome and the covariates are open, so everybody's are known. What is hidden is who says yes,
and of that the cells tell shares (docs/theory-uses.md, Theorem A7).
"""

from typing import Any

import numpy as np
from scipy.special import expit, logit

from jrr._base import checks
from jrr.analysis.cell_regression import (
    CellCovariates,
    Noise,
    PeopleOfCells,
    outcome_of,
    people_of,
    possible,
)
from jrr.analysis.formulas import AnyColumns, Columns
from jrr.analysis.model_columns import INTERCEPT
from jrr.analysis.outcomes import OutcomeRegression, check_outcome, inverse, joined, moments_matrix
from jrr.analysis.regression import LINKS, Link, check_rank
from jrr.errors import ArgumentError
from jrr.estimation.cell_tallies import Cells
from jrr.estimation.moments import Floats

_MOST_STEPS = 300
_CLOSE = 1e-10  # squared distance from the solution, in standard errors
_LARGEST_STEP = 1.0  # of any linear predictor


def regress_outcome_cells(
    cells: Cells,
    outcome: str,
    covariates: CellCovariates | None = None,
    *,
    data: Columns | None = None,
    name: str = "sensitive",
    value: int = 1,
    outcome_value: Any = None,
    link: Link = "logit",
    intercept: bool = True,
) -> OutcomeRegression:
    """Explain an open outcome by a sensitive answer and open covariates, from the sums of cells.

    With "logit" the likelihood of everybody's outcome is joined with the shares of cells, whose
    means follow from everybody's outcome and covariates; cells need not be of one outcome each, but
    say most if they are. With "identity" least squares is corrected for the noise of the sums;
    every cell must then be of one outcome and the same covariates.

    Args:
        cells: the reports by cell, as `cells_of` makes them; crossed by the outcome too.
        outcome: its name, in `data` or among the questions that cells are crossed by.
        covariates: as for `regress_cells`; None: only the sensitive answer.
        data: as for `regress_cells`, with the outcome.
        name: of the sensitive answer, in results.
        value: the answer that counts as yes.
        outcome_value: the answer to the outcome that is explained, as 1 against 0; None: outcomes
            are numbers.
        link: "logit" or "identity".
        intercept: whether there is a constant.

    Returns:
        As `regress_outcome`.

    Raises:
        ArgumentError: as `regress_cells`, or for an outcome that is not there or cannot be used.

    Example:
        >>> import jrr
        >>> from jrr.analysis import SensitiveItem, cells_of
        >>> m, rng = jrr.MRR.for_epsilon(1.0, n=4_000), jrr.SeededRandom(7)
        >>> truth = [0, 1] * 2_000
        >>> happy = [1, 1, 1, 0, 0, 1, 1, 0] * 500
        >>> cards = m.deal(rng)
        >>> sums = m.announce_cells(cards, list(map(str, happy)), rng=rng)
        >>> item = SensitiveItem(m, m.respond(truth, cards, rng))
        >>> cells = cells_of(item, {"happy": happy}, announced=sums)
        >>> found = regress_outcome_cells(cells, "happy", link="identity")
        >>> effect, error = found.effect
        >>> found.outcome.names, abs(effect + 0.25) < 4 * error < 0.1
        (('(intercept)', 'sensitive'), True)
    """
    checks.one_of("link", link, LINKS)
    given: Any = {} if covariates is None else covariates
    rows, model, x = people_of(cells, given, data, intercept=intercept)
    of_rows = outcome_of(cells, outcome, data)
    y = _numbers(of_rows, outcome, outcome_value, link)
    scale = check_rank(x, model.names)
    x = x / scale
    estimates = [cells.mechanism.estimate(cell.tally, cells.dealt) for cell in cells.cells]
    value = checks.integer("value", value, 0, len(estimates[0].counts) - 1)
    shares = np.array([estimate.frequencies[value] for estimate in estimates])
    if link == "identity":
        noise = Noise(estimates, value, same_deck=cells.mechanism.deals)
        found, covariance = _by_least_squares(rows, x, y, shares, noise)
        sizes = np.append(scale, 1.0)
    else:
        sample = [estimate.for_population("sample") for estimate in estimates]
        noise = Noise(sample, value, same_deck=cells.mechanism.deals)
        found, covariance = _by_likelihood(rows, x, y, shares, noise, model)
        sizes = np.concatenate([scale, scale, [1.0]])
    people = sum(estimate.n for estimate in estimates)
    common: dict[str, Any] = {
        "n": people,
        "effective_n": sum(estimate.effective_n for estimate in estimates),
        "log_likelihood": None,
        "method": "shares of cells",
        "weighted": any(part.weighted for one in estimates for part in one.parts),
        "link": link,
    }
    return joined(
        found / sizes,
        covariance / np.outer(sizes, sizes),
        model,
        name,
        common,
        both=link == "logit",
    )


def _numbers(column: Any, outcome: str, outcome_value: Any, link: Link) -> Floats:
    given = np.asarray(column)
    if outcome_value is not None:
        held = given.astype(str) == str(outcome_value)
        if not held.any() or held.all():
            known = sorted(set(given.astype(str)))
            allowed = f"an answer to {outcome} that some give and not all, of {known}"
            raise checks.refusal("outcome_value", outcome_value, allowed)
        return np.asarray(held, np.float64)
    try:
        numbers = given.astype(np.float64)
    except ValueError:
        allowed = f"given, for the answers to {outcome} are words: {sorted(set(given.astype(str)))}"
        raise checks.refusal("outcome_value", None, allowed) from None
    return check_outcome(numbers, len(numbers), link)


def _by_likelihood(
    rows: PeopleOfCells, x: Floats, y: Floats, observed: Floats, noise: Noise, model: AnyColumns
) -> tuple[Floats, Floats]:
    """The outcomes' likelihood and the cells' shares at once, by Gauss and Newton."""
    columns, people = x.shape[1], rows.people
    b = np.zeros(2 * columns + 1)
    if model.intercept:
        at = model.names.index(INTERCEPT)
        b[at] = logit(np.clip(np.average(observed, weights=rows.totals), 0.02, 0.98))
        b[columns + at] = logit(np.clip(np.average(y, weights=people), 0.02, 0.98))
    for _ in range(_MOST_STEPS):
        yes = expit(x @ b[:columns])
        linear = x @ b[columns:-1]
        without, with_ = expit(linear), expit(linear + b[-1])
        # The outcome of everybody, whatever the sensitive answer is.
        mean = possible(yes * with_ + (1 - yes) * without)
        rise = np.hstack(
            [
                ((with_ - without) * yes * (1 - yes))[:, None] * x,
                (yes * with_ * (1 - with_) + (1 - yes) * without * (1 - without))[:, None] * x,
                (yes * with_ * (1 - with_))[:, None],
            ]
        )
        weight = people / (mean * (1 - mean))
        score = rise.T @ (weight * (y - mean))
        information = rise.T @ (weight[:, None] * rise)
        # The shares of cells, given everybody's outcome.
        likely = [np.where(y > 0, one, 1 - one) for one in (without, with_)]
        held = yes * likely[1] / (yes * likely[1] + (1 - yes) * likely[0])
        turn = np.hstack([x, (without - with_)[:, None] * x, (y - with_)[:, None]])
        slopes = rows.mean((held * (1 - held))[:, None] * turn)
        means = rows.mean(held)
        spread = noise.covariance(possible(means)) - np.diag(rows.spread(possible(held)))
        pulled = np.linalg.solve(spread, slopes)
        score = score + pulled.T @ (observed - means)
        information = information + slopes.T @ pulled
        if not np.linalg.cond(information) < 1e13:
            break
        step = np.linalg.solve(information, score)
        if abs(float(step @ score)) < _CLOSE:
            return b, inverse(information)
        far = max(
            np.abs(x @ step[:columns]).max(), np.abs(x @ step[columns:-1]).max(), abs(step[-1])
        )
        b = b + step * min(1.0, _LARGEST_STEP / max(1e-300, float(far)))
    raise ArgumentError(
        "covariates must leave finite coefficients that the cells determine: with these shares "
        "some go to infinity, as they do where hardly anybody of a cell says yes, or nobody else; "
        "cross cells by the outcome, merge answers, or leave out covariates"
    )


def _by_least_squares(
    rows: PeopleOfCells, x: Floats, y: Floats, shares: Floats, noise: Noise
) -> tuple[Floats, Floats]:
    """Moments of sums of cells, each of people with one outcome and the same covariates."""
    size = len(rows.totals)
    first = np.zeros(size, np.intp)
    first[rows.cell[::-1]] = np.arange(len(y))[::-1]
    if (y != y[first][rows.cell]).any() or (x != x[first][rows.cell]).any():
        raise ArgumentError(
            "cells must be of people with one outcome and the same covariates for link='identity': "
            "leave out covariates, or use link='logit'"
        )
    n, x, y = rows.totals, x[first], y[first]
    matrix = moments_matrix(x, n, shares)
    right = np.append(x.T @ (n * y), (n * shares) @ y)
    if not np.linalg.cond(matrix) < 1e13 or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise ArgumentError(
            "cells must be such that people with the same covariates differ in the sensitive answer"
        )
    found: Floats = np.asarray(np.linalg.solve(matrix, right), np.float64)
    left = y - x @ found[:-1]
    base = np.column_stack([left[:, None] * x, np.zeros(size)])  # of somebody who says no
    turn = np.column_stack([-found[-1] * x, left - found[-1]])  # what a yes adds
    both = base + turn
    middle = base.T @ ((n * (1 - shares))[:, None] * base) + both.T @ ((n * shares)[:, None] * both)
    pull = n[:, None] * turn
    middle = middle + pull.T @ noise.covariance(possible(shares)) @ pull
    bread = inverse(matrix)
    return found, bread @ middle @ bread
