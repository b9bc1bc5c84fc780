"""Open covariates as columns of numbers: numbers as they are, words as 0 and 1 for each level."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats

INTERCEPT = "(intercept)"
MOST_LEVELS = 50  # of one covariate of words: more are hardly groups
Covariates = ArrayLike | Mapping[str, ArrayLike]


class Term(NamedTuple):
    """One column: a number, or whether a covariate of words has this level."""

    covariate: str
    level: str | None = None

    @property
    def name(self) -> str:
        """As it stands in results: "age", "region=south"."""
        return self.covariate if self.level is None else f"{self.covariate}={self.level}"


@dataclass(frozen=True)
class ModelColumns:
    """Which columns there are, so that other people's covariates become the same ones.

    Of the levels of a covariate of words, in the order of the alphabet, the first has no column:
    the others are compared with it.

    Example:
        >>> design = ModelColumns.of({"age": [30, 50, 40], "region": ["south", "north", "south"]})
        >>> design.names
        ('(intercept)', 'age', 'region=south')
        >>> design.matrix({"age": [20], "region": ["north"]}).tolist()
        [[1.0, 20.0, 0.0]]
    """

    terms: tuple[Term, ...]
    levels: Mapping[str, tuple[str, ...]]
    intercept: bool = True

    @classmethod
    def of(cls, covariates: Covariates, *, intercept: bool = True) -> "ModelColumns":
        """The columns that these covariates need."""
        terms: list[Term] = []
        levels: dict[str, tuple[str, ...]] = {}
        for name, column in _columns(covariates).items():
            if column.dtype.kind != "U":
                terms.append(Term(name))
                continue
            levels[name] = tuple(sorted(set(column.tolist())))
            if len(levels[name]) > MOST_LEVELS:
                raise ArgumentError(
                    f"covariates must have at most {MOST_LEVELS} levels where they are words, got "
                    f"{len(levels[name])} of {name!r}"
                )
            terms += [Term(name, level) for level in levels[name][1:]]
        return cls(tuple(terms), levels, intercept)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        first = (INTERCEPT,) if self.intercept else ()
        return first + tuple(term.name for term in self.terms)

    def matrix(self, covariates: Covariates) -> Floats:
        """The covariates of some people as these columns.

        Raises:
            ArgumentError: for a covariate that is missing, unknown or of another kind, or a level
                that was not there.
        """
        columns = _columns(covariates)
        known = {term.covariate for term in self.terms} | set(self.levels)
        if set(columns) != known:
            raise ArgumentError(f"covariates must be {sorted(known)}, got {sorted(columns)}")
        made = [self._column(term, columns[term.covariate]) for term in self.terms]
        for name, levels in self.levels.items():
            strangers = sorted(set(columns[name].astype(str).tolist()) - set(levels))
            if strangers:
                raise checks.refusal(name, strangers[0], f"one of {list(levels)}")
        n = len(next(iter(columns.values()))) if columns else 0
        if self.intercept:
            made.insert(0, np.ones(n))
        return np.column_stack(made) if made else np.zeros((n, 0))

    def _column(self, term: Term, column: NDArray[Any]) -> Floats:
        is_text = column.dtype.kind == "U"
        if is_text != (term.level is not None):
            raise ArgumentError(
                f"{term.covariate} must be {'numbers' if is_text else 'words'} as before, got "
                f"{'words' if is_text else 'numbers'}"
            )
        wanted: Any = column if term.level is None else column == term.level
        return np.asarray(wanted, np.float64)


def _columns(covariates: Covariates) -> dict[str, NDArray[Any]]:
    if isinstance(covariates, Mapping):
        named: Iterable[tuple[str, Any]] = covariates.items()
    else:
        table = checks.array_of("covariates", covariates, "columns of equal length")
        if table.ndim not in (1, 2):
            raise ArgumentError(
                f"covariates must be a mapping of names to columns, or an array with one row per "
                f"person, got shape {table.shape}"
            )
        table = table.reshape(len(table), -1)
        named = ((f"x{place + 1}", table[:, place]) for place in range(table.shape[1]))
    columns = {str(name): _column(str(name), column) for name, column in named}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise ArgumentError(f"covariates must be equally long, got lengths {sorted(lengths)}")
    return columns


def _column(name: str, values: Any) -> NDArray[Any]:
    column = checks.array_of(name, values, "one number or word per person")
    if column.ndim != 1:
        raise ArgumentError(f"{name} must be one number or word per person, got {column.shape}")
    if column.dtype.kind == "O" and all(isinstance(value, str) for value in column):
        column = column.astype(str)
    if column.dtype.kind == "U":
        return column
    if column.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must be numbers or words, got dtype {column.dtype}")
    numbers = column.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} must be finite numbers: leave out those who lack one")
    return numbers
