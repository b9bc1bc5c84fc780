"""Two sensitive questions whose answers one coin changed together: the joint law of their reports.

With the chance `keep` the device told all true answers, otherwise all of them were drawn evenly.
So what was told of two questions depends on both answers, and no product of two laws says it.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats

if TYPE_CHECKING:
    from jrr.analysis.items import SensitiveItem


class SharedCoin(NamedTuple):
    """The coin that changed a person's answers to several questions.

    Attributes:
        questions: whose answers it changed together.
        keep: the chance that it told all of them truly, of people with cards.
        alone: the same of people without.
    """

    questions: tuple[str, ...]
    keep: float
    alone: float


def told_by(keep: float, k: int) -> Floats:
    """The chance of each answer that is told (column), by the true one (row)."""
    return keep * np.eye(k) + (1 - keep) / k


def joint_correction(first: "SensitiveItem", second: "SensitiveItem", carded: bool) -> Floats:
    """What makes of the product of two questions' laws the joint law of their reports.

    Masks are of each question alone, so only the coin is to be exchanged: the correction is the law
    of the shared coin times the inverse of that of two coins.

    Args:
        first: the reports of one question.
        second: those of another, of the same people.
        carded: whether the people have cards.

    Returns:
        A matrix to multiply the product from the left: rows and columns are pairs of answers.
    """
    pairs = first.k * second.k
    if first.shared is None or first.shared != second.shared:
        return np.eye(pairs)
    keep = first.shared.keep if carded else first.shared.alone
    apart = np.kron(told_by(keep, first.k), told_by(keep, second.k))
    return told_by(keep, pairs) @ np.linalg.inv(apart)


def check_shared(first: "SensitiveItem", second: "SensitiveItem") -> None:
    """Refuse people who have a card for one of two questions that share a coin, and not for both.

    Raises:
        ArgumentError: there are such people.
    """
    together = first.shared is not None and first.shared == second.shared
    if together and (first.with_card != second.with_card).any():
        raise ArgumentError(
            "carded must be the same of both questions, which one coin changed together: everybody "
            "has cards for both or for none"
        )
