"""The estimates of many rounds: a series of shares, and changes between rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jrr._base import checks
from jrr._base.shown import Row, Shown
from jrr.estimation.differences import Difference, difference, difference_rows
from jrr.estimation.estimates import Estimate, level_of_each, quantile
from jrr.estimation.moments import Floats


class Series(Shown):
    """Shares of every value in every round, with intervals. Made by `Longitudinal.series`.

    Rounds are numbered from 0. Arrays have one row per round and one column per value.

    Example:
        >>> import jrr
        >>> daily = jrr.Longitudinal(jrr.RR(p=0.75), jrr.RR(p=0.9))
        >>> series = daily.series([[0] * 60 + [1] * 40, [0] * 50 + [1] * 50])
        >>> series.frequencies.round(2).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
        >>> series.change(0, 1).frequencies.round(2).tolist()
        [-0.25, 0.25]
    """

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        self.estimates = tuple(estimates)
        if not self.estimates:
            raise checks.refusal("rounds", [], "at least one round of reports")

    def __len__(self) -> int:
        return len(self.estimates)

    def _heading(self) -> str:
        return f"Shares of {len(self)} rounds"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of every round, each with its number."""
        rounds = enumerate(self.estimates)
        return [{"round": at} | row for at, told in rounds for row in told.to_rows(level)]

    @property
    def frequencies(self) -> Floats:
        """The share that holds each value, unbiased."""
        return np.array([estimate.frequencies for estimate in self.estimates])

    @property
    def stderr(self) -> Floats:
        """Standard errors of the shares, those of permanent responses included.

        Where responses are remembered, errors of different rounds are not independent: noise that
        is remembered is the same in all of them, and no average over rounds removes it.
        """
        return np.array([estimate.stderr for estimate in self.estimates])

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Intervals of the shares.

        Args:
            level: how often an interval holds the true share of its round.
            simultaneous: whether all intervals of all rounds are to hold at once with that
                chance.

        Returns:
            Lower and upper ends.
        """
        level = checks.level(level)
        ends = []
        for estimate in self.estimates:
            each = level
            if simultaneous:
                each = level_of_each(estimate, 1 - (1 - level) / len(self))
            ends.append(estimate.interval(each))
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def change(self, first: int, second: int) -> Difference:
        """The shares of the second round minus those of the first, with intervals.

        Remembered noise that both rounds have in common would cancel; how much there is depends
        on how many changed, which counts do not tell. Rounds are therefore treated as
        independent, and intervals hold at least as often as they say. Where the collector knows
        which reports come from the same device, `Longitudinal.change` is more accurate.

        Args:
            first: the number of a round.
            second: the number of another.
        """
        last = len(self) - 1
        first = checks.integer("first", first, 0, last)
        second = checks.integer("second", second, 0, last)
        return difference(self.estimates[second], self.estimates[first], same_deck=False)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers: the result document of every round.

        Args:
            level: the chance with which an interval holds.
        """
        return {"rounds": [estimate.to_dict(level) for estimate in self.estimates]}


@dataclass(frozen=True, eq=False)
class PairedChange(Shown):
    """How shares changed between two rounds of the same devices. Made by `Longitudinal.change`.

    Attributes:
        frequencies: the second round's shares minus the first's, one per value.
        stderr: standard errors, from the spread of the differences of single devices.
    """

    frequencies: Floats
    stderr: Floats

    shown_value = "difference"
    shown_heading = "Change of shares between two rounds of the same devices"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each value: difference, stderr, low, high."""
        return difference_rows(self.frequencies, self.stderr, self.interval(level))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Intervals of the changes, as of normal errors: for some hundred devices and more.

        Args:
            level: the chance with which an interval holds.
        """
        far = quantile(level) * self.stderr
        return self.frequencies - far, self.frequencies + far
