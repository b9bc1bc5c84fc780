"""What can be looked at behind a shuffler."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from jrr.privacy.binomial import Progress


class ShuffledView(Protocol):
    """What the adversary sees in one or several compositions."""

    def delta(self, epsilon: float) -> float:
        """The largest δ of them, never too small."""


class ShuffledSurvey(NamedTuple):
    """A checked question."""

    views: Callable[[Progress | None], Iterator[ShuffledView]]
    pure: float  # an ε that holds with δ = 0
