"""The table of two questions that were asked as one, with an answer for each pair of answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.analysis.two_way import TwoWayTable, plausible
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Stratum, quantile
from jrr.estimation.masks import MaskedSum
from jrr.estimation.moments import Floats


def crossed_table(estimate: Estimate, rows: int, columns: int) -> TwoWayTable:
    """The joint distribution of two answers, from an estimate of all their pairs.

    Such is the question that a draft with `cross` makes of two. The table has the shares of both
    (`contrast`), of the second among those with an answer to the first, and the dependence.

    Args:
        estimate: of all pairs, the answers to the second question varying fastest; a last value
            beside them, such as "prefer not to say", is left out of the table.
        rows: answers to the first question.
        columns: answers to the second one.

    Returns:
        Shares of all pairs among those who reported, with their covariance.

    Raises:
        ArgumentError: for an estimate of another number of values, or of reports that do not tell
            one value each (MRR with the coins "oue" and "subset", cards of JRR and DRR).

    Example:
        >>> import jrr
        >>> m = jrr.MRR.for_epsilon(1.0, n=2_000, k=4)
        >>> cards, rng = m.deal(jrr.SeededRandom(3)), jrr.SeededRandom(4)
        >>> reports = m.respond([0] * 1_400 + [1] * 200 + [2] * 100 + [3] * 300, cards, rng)
        >>> table = crossed_table(m.estimate(reports, announced=m.announce(cards, rng=rng)), 2, 2)
        >>> share, error = table.contrast([[0, 0], [1, 1]])  # yes to the first: 20%
        >>> abs(share - 0.2) < 3 * error < 0.05
        True
    """
    cells = checks.integer("rows", rows, 2) * checks.integer("columns", columns, 2)
    values = len(estimate.counts)
    if values not in (cells, cells + 1):
        allowed = f"what makes {values} pairs of answers, or {values - 1} and one value beside them"
        raise checks.refusal("rows, columns", (rows, columns), allowed)
    covariance: Floats = np.sum([_covariance(one, values) for one in estimate.strata], axis=0)
    if estimate.sampling is not None:
        shares = plausible(estimate.counts, estimate.weight) / estimate.weight
        squares = sum(stratum.weight_squares for stratum in estimate.strata)
        drawn = np.diag(shares) - np.outer(shares, shares)
        covariance = covariance + squares * estimate.sampling.second * drawn
    return TwoWayTable(
        shares=estimate.frequencies[:cells].reshape(rows, columns),
        covariance=(covariance / estimate.weight**2)[:cells, :cells],
        n=estimate.n,
        weight=estimate.weight,
        population=estimate.population,
    )


def parts_of(
    estimate: Estimate, crossed: Sequence[tuple[str, int]], level: float = 0.95
) -> dict[str, dict[str, Any]]:
    """The shares of each of two questions that were asked as one; of then and now, the change.

    Args:
        estimate: of all pairs, as for `crossed_table`.
        crossed: the names of both and how many answers each has.
        level: of the intervals.

    Returns:
        Name -> value, stderr and interval of each answer; "change" is now minus then.

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=4, p=1.0)
        >>> estimate = m.estimate(m.respond([0] * 50 + [1] * 30 + [2] * 5 + [3] * 15))
        >>> parts = parts_of(estimate, (("then", 2), ("now", 2)))
        >>> [round(parts[name]["value"][1], 3) for name in ("then", "now", "change")]
        [0.2, 0.45, 0.25]
    """
    (first, rows), (second, columns) = crossed
    table = crossed_table(estimate, rows, columns)
    of_row = [np.outer(one, np.ones(columns)) for one in np.eye(rows)]
    of_column = [np.outer(np.ones(rows), one) for one in np.eye(columns)]
    wanted = {first: of_row, second: of_column}
    if (first, second) == ("then", "now"):
        wanted["change"] = [now - then for now, then in zip(of_column, of_row, strict=True)]
    return {name: _told(table, some, level) for name, some in wanted.items()}


def _told(table: TwoWayTable, weights: Sequence[Floats], level: float) -> dict[str, Any]:
    found = [table.contrast(one) for one in weights]
    wide = quantile(level)
    return {
        "value": [value for value, _ in found],
        "stderr": [error for _, error in found],
        "interval": [[value - wide * error, value + wide * error] for value, error in found],
    }


def _covariance(stratum: Stratum, values: int) -> Floats:
    """Of the estimated counts: everybody tells one of the values, and each has masks of its own."""
    moments = stratum.moments
    p, q = float(moments.p[0]), float(moments.q[0])
    tells_one = abs(p + (values - 1) * q - 1) < 1e-9 and not moments.base
    if not tells_one or moments.lean_holder.any() or moments.lean_other.any():
        raise ArgumentError("estimate must be of RR, or of MRR whose coin tells one of the values")
    squares = stratum.counts if stratum.squares is None else stratum.squares
    held = plausible(squares, stratum.weight_squares)
    laws = np.full((values, values), q) + (p - q) * np.eye(values)
    told = np.diag(held @ laws) - laws.T @ (held[:, None] * laws)
    if moments.masks is not None:
        masked = MaskedSum(np.ones(1), stratum.weight, stratum.weight_squares, stratum.known)
        told += float(moments.masks.variance([masked], stratum.decks)[0]) * np.eye(values)
    covariance: Floats = told / float(moments.gain[0]) ** 2
    return covariance
