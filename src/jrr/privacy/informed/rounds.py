"""Several rounds: the same people answer again, with fresh cards each time.

Losses of independent rounds add up. They are rounded up to a grid and added by positive
convolutions, so that a figure is never too small.
"""

from dataclasses import dataclass

import numpy as np

from jrr._base import checks
from jrr.privacy.binomial import LARGEST, ULP, Floats
from jrr.privacy.informed.distribution import Losses

_CELLS = 4096  # of the grid that one round's losses are rounded to; an even number
_RARE = 1e-16  # chance of losses that lie beyond the grid


@dataclass(frozen=True)
class ManyRounds:
    """Losses start·step, (start+1)·step, ... with their chances; the rest may be infinite."""

    step: float
    start: int
    chances: Floats
    infinite: float
    error: float  # relative, of every chance
    pure: float  # a loss that is never exceeded

    def delta(self, epsilon: float) -> float:
        """δ at ε, never too small."""
        epsilon = checks.real("epsilon", epsilon, "a number >= 0", 0.0)
        if epsilon >= self.pure:
            return 0.0
        losses = (self.start + np.arange(len(self.chances))) * self.step
        part = np.dot(self.chances, -np.expm1(np.minimum(0.0, epsilon - losses)))
        return min(1.0, float(part) * (1 + self.error + 1e-14) + self.infinite)

    def epsilon(self, delta: float) -> float:
        """The smallest ε, rounded up, at which δ is at most this; math.inf if there is none."""
        delta = checks.delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(self.step, (self.start + len(self.chances)) * self.step)
        if self.delta(high) > delta:
            return self.pure
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return min(high, self.pure)


def composed(losses: Losses, rounds: int) -> ManyRounds:
    """So many rounds with this loss each; cards are fresh, and answers may follow earlier ones.

    Of several cases each round may have another one: the loss of a round is the smallest random
    number that is, in distribution, at least that of every case and direction.

    Args:
        losses: of one round.
        rounds: how many.
    """
    rounds = checks.integer("rounds", rounds, 1, 32)
    one = _one_round(losses)
    result, power = one, rounds - 1
    while power:  # by squaring
        if power % 2:
            result = _added(result, one)
        one, power = (_added(one, one) if power > 1 else one), power // 2
    return result


def _one_round(losses: Losses) -> ManyRounds:
    """On a grid, rounded up, above every case."""
    sides = []
    for case in losses.cases:
        for side, chances in ((1, case.first), (-1, case.second)):
            there = np.flatnonzero(chances > 0)
            falling = there[np.argsort(-side * case.losses[there])]
            # Both chances of an observation may be off: so may their ratio.
            values = side * case.losses[falling] + 2 * case.error
            sides.append((values, np.cumsum(chances[falling]), case))
    # Larger losses together have next to no chance: they count as infinite.
    top = max(_rare(values, reached) for values, reached, _ in sides)
    top = min(max(top, 1e-9), LARGEST) * (1 + 4 / _CELLS)
    step = 2 * top / _CELLS
    grid = (np.arange(_CELLS + 1) - _CELLS // 2) * step
    beyond, infinite, error = np.zeros(len(grid)), 0.0, 0.0
    for values, reached, case in sides:
        heavier = np.concatenate(([0.0], reached))
        # Pr[loss > cell]: what a cell stands for is at most its own loss.
        above = heavier[np.searchsorted(-values, -grid * (1 - 8 * ULP * np.sign(grid)))]
        beyond = np.maximum(beyond, above)
        infinite = max(infinite, float(above[-1]) + case.missing)
        error = max(error, case.error + len(values) * ULP)
    # A cell has the losses between the one below and itself; the lowest all that are smaller.
    chances = -np.diff(beyond, prepend=1.0)
    chances = np.maximum(0.0, chances)
    start = -(_CELLS // 2)
    return ManyRounds(step, start, chances, infinite * (1 + error), error, losses.pure)


def _rare(falling: Floats, reached: Floats) -> float:
    """The largest finite loss but for those that are rare."""
    infinite = int(np.count_nonzero(np.isposinf(falling)))
    if infinite == len(falling):
        return 0.0
    certain = float(reached[infinite - 1]) if infinite else 0.0
    place = int(np.searchsorted(reached, certain + _RARE, side="right"))
    return float(falling[min(place, len(falling) - 1)])


def _added(one: ManyRounds, other: ManyRounds) -> ManyRounds:
    return ManyRounds(
        one.step,
        one.start + other.start,
        np.convolve(one.chances, other.chances),
        one.infinite + other.infinite,
        one.error + other.error + len(one.chances) * ULP,
        (one.pure + other.pure) * (1 + ULP),
    )
