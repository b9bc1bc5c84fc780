"""Tables of two questions: two sensitive ones, or a sensitive one by an open group."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks
from jrr._base.shown import Row, ShownDocument, value_rows
from jrr.analysis.items import SensitiveItem
from jrr.analysis.shared_coins import check_shared, joint_correction
from jrr.errors import ArgumentError
from jrr.estimation.estimates import POPULATIONS, Population, quantile, sampling_of
from jrr.estimation.moments import Floats
from jrr.estimation.tally import weights_or_ones

MOST_CELLS = 400  # the covariance matrix has the square of it


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoWayTable(ShownDocument):
    """The joint distribution of two sensitive answers; made by `two_way`.

    Unbiased, so single cells may leave 0..1; rows and columns add up to the shares that
    `Mechanism.estimate` gives for each question alone.

    Attributes:
        shares: of people who hold each pair of answers; rows: the first question.
        covariance: of the shares, cells in the order of `shares.ravel()`.
        n: people.
        weight: what they weigh together.
        population: whom errors speak of, as for `Estimate.for_population`.
    """

    shares: Floats
    covariance: Floats
    n: int
    weight: float
    population: str

    @property
    def counts(self) -> Floats:
        """How many people hold each pair, or what they weigh."""
        return self.shares * self.weight

    @property
    def stderr(self) -> Floats:
        """Standard errors of the shares."""
        errors: Floats = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        return errors.reshape(self.shares.shape)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Confidence intervals of the shares.

        Args:
            level: how often such an interval holds the true share, in (0, 1).
            simultaneous: whether those of all cells are to hold at once with that chance.

        Returns:
            Lower and upper ends, in the shape of the table.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        level = checks.level(level)
        each = 1 - (1 - level) / (self.shares.size if simultaneous else 1)
        reach = quantile(each) * self.stderr
        return self.shares - reach, self.shares + reach

    shown_heading = "Both answers of {0.n:,} people"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each pair of answers: share, stderr, low, high."""
        low, high = self.interval(level)
        first, second = np.indices(self.shares.shape)
        columns: dict[str, Any] = {"first": first, "second": second, "share": self.shares}
        columns |= {"stderr": self.stderr, "low": low, "high": high}
        return value_rows({name: cells.ravel() for name, cells in columns.items()})

    def contrast(self, factors: ArrayLike) -> tuple[float, float]:
        """A weighted sum of cells, such as a margin or a difference, and its standard error.

        Args:
            factors: one number for each cell, in the shape of the table.

        Returns:
            The sum and its standard error.

        Raises:
            ArgumentError: for factors of another shape.
        """
        weights = np.asarray(factors, np.float64)
        if weights.shape != self.shares.shape:
            raise checks.refusal("factors", factors, f"of shape {self.shares.shape}")
        flat = weights.ravel()
        return float(flat @ self.shares.ravel()), math.sqrt(
            max(0.0, float(flat @ self.covariance @ flat))
        )

    def conditional(self, row: int, column: int) -> tuple[float, float]:
        """The share of an answer to the second question among those with one to the first.

        Args:
            row: the answer to the first question.
            column: the answer to the second one.

        Returns:
            The share and its standard error (delta method).

        Raises:
            ArgumentError: for answers that do not exist, or where nobody seems to hold the first.
        """
        row, column = self._cell(row, column)
        whole = float(self.shares[row].sum())
        if not whole > 0:
            raise checks.refusal("row", row, "an answer that somebody seems to hold")
        share = float(self.shares[row, column]) / whole
        factors = np.zeros(self.shares.shape)
        factors[row] = -share / whole
        factors[row, column] += 1 / whole
        return share, self.contrast(factors)[1]

    def dependence(self, row: int, column: int) -> tuple[float, float]:
        """How much oftener a pair is held than if the answers had nothing to do with each other.

        Args:
            row: the answer to the first question.
            column: the answer to the second one.

        Returns:
            The share of the pair minus the product of both shares, and its standard error (delta
            method).

        Raises:
            ArgumentError: for answers that do not exist.
        """
        row, column = self._cell(row, column)
        of_row, of_column = float(self.shares[row].sum()), float(self.shares[:, column].sum())
        factors = np.zeros(self.shares.shape)
        factors[row] -= of_column
        factors[:, column] -= of_row
        factors[row, column] += 1
        return float(self.shares[row, column]) - of_row * of_column, self.contrast(factors)[1]

    def _cell(self, row: int, column: int) -> tuple[int, int]:
        rows, columns = self.shares.shape
        return checks.integer("row", row, 0, rows - 1), checks.integer(
            "column", column, 0, columns - 1
        )

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document of plain numbers, with the intervals of one level.

        Args:
            level: the chance with which an interval holds.
            simultaneous: whether all intervals hold at once with this chance.
        """
        low, high = self.interval(level, simultaneous=simultaneous)
        return {
            "n": self.n,
            "weight": self.weight,
            "population": self.population,
            "shares": self.shares.tolist(),
            "stderr": self.stderr.tolist(),
            "level": level,
            "simultaneous": simultaneous,
            "interval": np.stack([low, high], axis=-1).tolist(),
            "covariance": self.covariance.tolist(),
        }

    def __repr__(self) -> str:
        low, high = self.interval()
        cells = (
            f"{at}: {self.shares[at]:.4f} [{low[at]:.4f}, {high[at]:.4f}]"
            for at in list(np.ndindex(*self.shares.shape))[:12]
        )
        return f"TwoWayTable(n={self.n}, 95%: {', '.join(cells)})"


def two_way(
    first: SensitiveItem,
    second: SensitiveItem,
    *,
    weights: ArrayLike | None = None,
    population: Population | str = "respondents",
    population_size: float | None = None,
) -> TwoWayTable:
    """The joint distribution of two sensitive answers of the same people.

    Both questions must have been perturbed each with its own coins and its own deck, or by one coin
    that both items name (`SensitiveItem.shared`). Where you know beforehand that you want the
    pairs, ask for them in one question: it costs one ε instead of two and is more accurate
    (docs/analysis.md).

    Args:
        first: the reports of one question.
        second: those of another one, of the same people in the same order.
        weights: survey weights, one per person.
        population: "respondents" or "sample", as for `Estimate.for_population`.
        population_size: people in that population; None: no end of them.

    Returns:
        Shares of all pairs with their covariance, errors and intervals.

    Raises:
        ArgumentError: for items of different lengths, or of which different shares of the people
            were asked, or more than 400 cells.

    Example:
        >>> import jrr
        >>> m, rng = jrr.RR(p=0.75), jrr.SeededRandom(7)
        >>> a, b = [0, 1] * 5_000, [0, 1, 1, 1] * 2_500
        >>> reports = [SensitiveItem(m, m.respond(values, rng=rng)) for values in (a, b)]
        >>> table = two_way(*reports)
        >>> low, high = table.interval(0.99)
        >>> true = [[0.25, 0.25], [0.0, 0.5]]
        >>> bool((low < true).all() and (true < high).all())
        True
    """
    if len(first) != len(second):
        raise ArgumentError(
            f"second must be of the same people as first ({len(first)}), got {len(second)} reports"
        )
    shape = (first.k, second.k)
    if first.k * second.k > MOST_CELLS:
        raise ArgumentError(f"items must have at most {MOST_CELLS} pairs of answers, got {shape}")
    check_shared(first, second)
    w = weights_or_ones(weights, len(first))
    sampling = sampling_of(population, len(first), population_size, _asked_both(first, second))
    strata = list(_strata(first, second, w))
    counts: Floats = np.sum([stratum.counts for stratum in strata], axis=0)
    weight, squares = float(w.sum()), float((w**2).sum())
    variance = _tied(first, second, strata)
    for stratum in strata:
        variance = variance + stratum.spread()
    if sampling is not None:
        held = plausible(counts, 1.0)
        drawn = np.diag(held) - np.outer(held, held)
        variance = variance + squares * sampling.second * drawn
    return TwoWayTable(
        shares=(counts / weight).reshape(shape),
        covariance=variance / weight**2,
        n=len(first),
        weight=weight,
        population=checks.one_of("population", population, POPULATIONS),
    )


def _asked_both(first: SensitiveItem, second: SensitiveItem) -> float:
    """The share of those who answered that were asked both questions."""
    if first.asked != second.asked:
        raise ArgumentError(
            f"asked must be the share of people who were asked both questions, in both items, got "
            f"{first.asked:g} and {second.asked:g}"
        )
    return first.asked


class _Stratum(NamedTuple):
    """People who have the same kinds of cards; cells are pairs of answers in one row."""

    with_cards: tuple[bool, bool]
    laws: tuple[Floats, Floats]  # of the two items
    joint: Floats  # what a shared coin makes of the product of both
    inverse: Floats  # from counts of pairs of reports to counts of pairs of answers
    counts: Floats  # estimated
    held: Floats  # the same, brought into what is possible
    held_squares: Floats  # the same of the squares of weights

    def spread(self) -> Floats:
        """The variance of the estimated counts, as if people were independent."""
        reports = self.joint @ np.kron(*self.laws)
        each = np.diag(self.held_squares @ reports)
        each = each - reports.T @ (self.held_squares[:, None] * reports)
        spread: Floats = self.inverse @ each @ self.inverse.T
        return spread

    def pull(self, first: Floats, second: Floats) -> Floats:
        """What cards add to the estimated counts, by the answers of somebody who holds them."""
        moved: Floats = self.joint @ np.kron(first, second) @ self.inverse.T
        return moved


def _strata(first: SensitiveItem, second: SensitiveItem, w: Floats) -> Iterator[_Stratum]:
    cells = first.k * second.k
    pairs = first.symbols * second.k + second.symbols
    for one in (True, False):
        for two in (True, False):
            members = (first.with_card == one) & (second.with_card == two)
            if not members.any():
                continue
            laws = tuple(
                item.reading.law if carded else item.reading.alone
                for item, carded in ((first, one), (second, two))
            )
            joint = joint_correction(first, second, one)
            inverse = np.linalg.inv(joint @ np.kron(*laws)).T
            sums = [
                np.bincount(pairs[members], w[members] ** power, cells).astype(np.float64)
                for power in (1, 2)
            ]
            counts, squares = (inverse @ amount for amount in sums)
            held, held_squares = (
                plausible(estimated, float(amount.sum()))
                for estimated, amount in zip((counts, squares), sums, strict=True)
            )
            yield _Stratum(
                (one, two), (laws[0], laws[1]), joint, inverse, counts, held, held_squares
            )


def plausible(counts: Floats, total: float) -> Floats:
    """Estimated counts brought into what is possible: none below 0, in all as many as there are."""
    positive = np.maximum(counts, 0.0)
    return positive * (total / positive.sum()) if positive.sum() > 0 else positive


def _tied(first: SensitiveItem, second: SensitiveItem, strata: list[_Stratum]) -> Floats:
    """What cards of common decks add to the variance (docs/theory-uses.md, Theorem A3).

    Two people's chances of a pair of reports are products of both items', so their covariance has
    a term for the cards of each item and one for both.
    """
    total = np.zeros((first.k * second.k,) * 2)
    if first.tie:
        for lean in first.reading.leans:
            pulls = [(s, s.pull(lean, s.laws[1])) if s.with_cards[0] else None for s in strata]
            total -= first.tie * _pairs(pulls)
    if second.tie:
        for lean in second.reading.leans:
            pulls = [(s, s.pull(s.laws[0], lean)) if s.with_cards[1] else None for s in strata]
            total -= second.tie * _pairs(pulls)
    if first.tie and second.tie:
        for lean in first.reading.leans:
            for other in second.reading.leans:
                pulls = [(s, s.pull(lean, other)) if all(s.with_cards) else None for s in strata]
                total += first.tie * second.tie * _pairs(pulls)
    return total


def _pairs(pulls: list[tuple[_Stratum, Floats] | None]) -> Floats:
    """Sum over pairs of different people of the product of their pulls."""
    present = [pull for pull in pulls if pull is not None]
    if not present:
        return np.zeros((1, 1))
    together = np.sum([stratum.held @ pull for stratum, pull in present], axis=0)
    own = np.sum([p.T @ (stratum.held_squares[:, None] * p) for stratum, p in present], axis=0)
    pairs: Floats = np.outer(together, together) - own
    return pairs
