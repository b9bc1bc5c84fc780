"""Weights that bring the people who answered to known margins of the population."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.contrasts import Sampling
from jrr.estimation.estimates import Estimate
from jrr.estimation.moments import Floats

Answers = tuple[str, ...]  # one to each of some questions
# question, or several -> answer, or one to each -> how many people, or what share of them
Margins = Mapping[Any, Mapping[Any, float]]

Member = TypeVar("Member")
_MOST_ROUNDS = 10_000
_CLOSE = 1e-12  # relative distance from all margins


class Raked(NamedTuple):
    """Weights, and what they were fitted to.

    Attributes:
        weights: of everybody in each cell; on average over all people 1.
        columns: for each cell whether it is in each group of each margin.
        merged: groups of a margin that a merged cell made one.
    """

    weights: Floats
    columns: Floats
    merged: tuple[tuple[str, ...], ...] = ()


def rake(
    by: Sequence[str],
    cells: Sequence[Mapping[Answers, int]],
    amounts: Sequence[float],
    margins: Margins,
) -> Raked:
    """Iterative proportional fitting; of one margin it is poststratification.

    Args:
        by: the questions that cells are crossed by.
        cells: of each cell how many people gave each combination of answers.
        amounts: what the people of each cell weigh before.
        margins: for a question, or for several crossed, how many people of the population gave
            each answer, or what share of them. Every answer that somebody gave must be there.
            Answers that share a merged cell are taken together.

    Returns:
        The weights.

    Raises:
        ArgumentError: for margins of other questions, answers that are missing, that nobody gave
            or that nobody has in the population, or margins that contradict each other.

    Example:
        >>> cells = [{("a", "f"): 10}, {("a", "m"): 30}, {("b", "f"): 30}, {("b", "m"): 10}]
        >>> margins = {"place": {"a": 50, "b": 50}, "gender": {"f": 0.6, "m": 0.4}}
        >>> rake(("place", "gender"), cells, [10, 30, 30, 10], margins).weights.round(3).tolist()
        [1.452, 0.849, 1.116, 0.652]
    """
    if not questions_of(margins):
        raise ArgumentError("margins must hold at least one table, got none")
    sizes = np.asarray(amounts, np.float64)
    tables, merged = [], []
    for questions, table in margins.items():
        groups, targets = _targets(by, cells, questions, table)
        merged += [
            tuple(sorted(" × ".join(key) for key in group)) for group in targets if len(group) > 1
        ]
        column = np.array([[group == other for other in targets] for group in groups], np.float64)
        tables.append((column, np.array(list(targets.values()))))
    weights = np.ones(len(sizes))
    for _ in range(_MOST_ROUNDS):
        for column, target in tables:
            have = (weights * sizes) @ column
            weights = weights * (column @ (target / have))
        apart = max(
            float(np.abs(((weights * sizes) @ column) / target - 1).max())
            for column, target in tables
        )
        if apart < _CLOSE:
            scale = sizes.sum() / (weights @ sizes)
            columns = np.hstack([column for column, _ in tables])
            return Raked(weights * scale, columns, tuple(dict.fromkeys(merged)))
    raise ArgumentError(
        f"margins must be such that weights fit them all, got {list(margins)}, which these answers "
        f"miss by {100 * apart:.2g}% after {_MOST_ROUNDS:,} rounds: nobody gave some combination "
        "of answers that they ask for. Merge answers, or leave out a margin"
    )


def questions_of(margins: object) -> tuple[str, ...]:
    """The questions that margins are of.

    Raises:
        ArgumentError: they are no tables by question.
    """
    if not isinstance(margins, Mapping) or not all(
        isinstance(key, str | tuple) and isinstance(table, Mapping)
        for key, table in margins.items()
    ):
        raise checks.refusal("margins", margins, "question -> answer -> people")
    names = [one for key in margins for one in ((key,) if isinstance(key, str) else key)]
    return tuple(dict.fromkeys(names))


def _targets(
    by: Sequence[str],
    cells: Sequence[Mapping[Answers, int]],
    questions: str | tuple[str, ...],
    table: Mapping[Any, float],
) -> tuple[list[frozenset[Answers]], dict[frozenset[Answers], float]]:
    """The group of a margin that each cell is in, and the share of every group."""
    names = (questions,) if isinstance(questions, str) else tuple(questions)
    for name in names:
        if name not in by:
            raise checks.refusal("margins", name, f"questions among {list(by)}")
    places = [list(by).index(name) for name in names]
    amounts: dict[Answers, float] = {}
    for answers, people in table.items():
        key = (answers,) if isinstance(answers, str) else tuple(answers)
        said = f"people of {' × '.join(key)}"
        amounts[key] = checks.real(said, people, "a number in 1e-9..1e15", 1e-9, 1e15)
    groups = hang_together(
        [{tuple(answers[at] for at in places) for answers in cell} for cell in cells]
    )
    given = {key for group in groups for key in group}
    for key in sorted(given - set(amounts)):
        raise ArgumentError(
            f"margins of {' × '.join(names)} must say how many people are {' × '.join(key)}, as "
            "some who answered are"
        )
    for key in sorted(set(amounts) - given):
        raise ArgumentError(
            f"margins of {' × '.join(names)} must be of answers that somebody gave, got "
            f"{' × '.join(key)}, which nobody did: add it to another one"
        )
    total = sum(amounts.values())
    targets = {group: sum(amounts[key] for key in group) / total for group in dict.fromkeys(groups)}
    return groups, targets


def hang_together(sets: Sequence[set[Member]]) -> list[frozenset[Member]]:
    """For each of some sets the union of all that hang together with it by common members.

    Example:
        >>> [sorted(some) for some in hang_together([{"a"}, {"b", "c"}, {"c", "d"}])]
        [['a'], ['b', 'c', 'd'], ['b', 'c', 'd']]
    """
    unions: list[set[Member]] = []
    for some in sets:
        joined = set(some)
        for other in [union for union in unions if union & some]:
            unions.remove(other)
            joined |= other
        unions.append(joined)
    return [frozenset(next(union for union in unions if union & some)) for some in sets]


def calibrated(
    whole: Estimate, cells: Sequence[Estimate], columns: Floats, sampling: Sampling | None
) -> Estimate:
    """An estimate with weights, of the population whose margins they were fitted to.

    Drawing people is noise only in what the margins do not explain: within cells, and between cells
    in what is left of a regression of their shares on the margins (docs/theory-uses.md,
    Theorem A4).

    Args:
        whole: the weighted estimate of all cells together.
        cells: the weighted estimates of the cells.
        columns: for each cell whether it is in each group of each margin.
        sampling: how people were drawn, without weights; None: they are all that is asked about.
    """
    if sampling is None:
        return Estimate(whole.strata)
    weight = np.array([cell.weight for cell in cells])
    squares = np.array([sum(s.weight_squares for s in cell.strata) for cell in cells])
    shares = np.array([cell.frequencies for cell in cells])
    noise = np.array([cell.stderr**2 for cell in cells])  # of perturbation
    root = np.sqrt(weight)[:, None]
    rest = np.eye(len(cells)) - columns @ np.linalg.pinv(root * columns) * root.T
    # What is squared has noise, whose expectation is taken off or added again.
    within = shares * (1 - shares) + noise
    effective = np.array([cell.effective_n for cell in cells])[:, None]
    drawn = noise + np.clip(within, 0.0, 0.25) / effective
    between = (rest @ shares) ** 2 - rest**2 @ drawn
    unexplained = np.maximum(squares @ within + np.maximum(squares @ between, 0.0), 0.0)
    share = np.clip(whole.frequencies, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = unexplained / (squares.sum() * share * (1 - share))
    return Estimate(whole.strata, replace(sampling, left=np.where(np.isfinite(left), left, 1.0)))
