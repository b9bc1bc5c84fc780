"""What can be audited: anything that makes observations of a value."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.randomness import RandomSource

Observations = NDArray[Any]  # one number or text per trial, or one row of whole numbers
Observe = Callable[[Any, int, RandomSource], Observations]


class Subject(ABC):
    """A black box: value in, observations out. Trials must be independent of each other."""

    name: str  # for people
    values: tuple[Any, ...]  # the values that are compared, two by two
    chunk: ClassVar[int] = 1 << 18  # trials made at a time

    @abstractmethod
    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """What the adversary sees of `value`, so many times.

        Args:
            value: what the target holds.
            trials: how many times.
            rng: where random words come from.
        """

    def times(self, value: Any, other: Any) -> int:
        """How many times the claimed ε is allowed between two values: once.

        Args:
            value: what the target may hold.
            other: what it may hold instead.
        """
        return 1


class Function(Subject):
    """A function (value, trials, rng) -> observations as a subject."""

    def __init__(self, function: Observe, values: Sequence[Any] = (0, 1)) -> None:
        if not callable(function):
            raise checks.refusal("subject", function, "a Subject or a function")
        self.function = function
        self.values = checked_values(values)
        self.name = getattr(function, "__name__", "function")

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """What the function returns."""
        return self.function(value, trials, rng)


def checked_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """At least two different values."""
    distinct = tuple(values)
    if len(distinct) < 2 or len(set(distinct)) != len(distinct):
        raise checks.refusal("values", values, "at least two different values")
    return distinct
