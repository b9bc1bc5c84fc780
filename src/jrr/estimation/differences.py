"""Difference: one estimate's shares minus another's, for two groups or two waves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from jrr._base import checks
from jrr._base.shown import Row, Shown, ShownDocument, value_rows
from jrr.errors import ArgumentError
from jrr.estimation.contrasts import Component
from jrr.estimation.estimates import Estimate, contrast_interval, level_of_each, plug_in_stderr
from jrr.estimation.moments import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference(ShownDocument):
    """Frequencies of one estimate minus those of another.

    Made by `jrr.difference`, which has an example.

    Attributes:
        frequencies: the difference of the shares, one per value.
        stderr: its standard error, one per value.
        pools: whose counts enter it, those together that share decks.
    """

    frequencies: Floats
    stderr: Floats
    pools: Sequence[Sequence[Component]]
    _first: Estimate

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Confidence intervals of the differences.

        A difference is kept if there are two shares so far apart that neither group's own
        reports rule out and that the difference observed does not contradict. The noise is that
        of these shares, not of the estimates (docs/theory-jrr.md, section on intervals).

        Args:
            level: how often such an interval holds the true difference, in (0, 1).
            simultaneous: whether the intervals of all values are to hold at once with that
                chance; by default each one does.

        Returns:
            Lower and upper ends, one per value.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        level = checks.level(level)
        return contrast_interval(
            self.pools, level_of_each(self._first, level) if simultaneous else level
        )

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document: plain numbers, with the intervals of one level.

        There is no way back from it; see `Estimate.to_dict`.

        Args:
            level: of the intervals.
            simultaneous: whether those of all values hold at once with that chance.

        Returns:
            difference, stderr, interval.
        """
        low, high = self.interval(level, simultaneous=simultaneous)
        return {
            "difference": self.frequencies.tolist(),
            "stderr": self.stderr.tolist(),
            "interval": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        }

    def __repr__(self) -> str:
        ends = enumerate(zip(self.frequencies, *self.interval(), strict=True))
        rows = (f"{v}: {gap:+.4f} [{low:+.4f}, {high:+.4f}]" for v, (gap, low, high) in ends)
        return f"Difference(95%: {', '.join(rows)})"

    shown_value = "difference"
    shown_heading = "Difference of shares, the first minus the second"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each value: difference, stderr, low, high."""
        return difference_rows(self.frequencies, self.stderr, self.interval(level))


def difference_rows(
    differences: Floats, stderr: Floats, interval: tuple[Floats, Floats]
) -> list[Row]:
    """A row for each value: difference, stderr, low, high.

    Args:
        differences: one per value.
        stderr: theirs.
        interval: lower and upper ends.
    """
    low, high = interval
    columns = {"difference": differences, "stderr": stderr, "low": low, "high": high}
    return value_rows({"value": range(len(differences))} | columns)


_Pair = TypeVar("_Pair", bound=tuple[str, str, Shown])


class Differences(list[_Pair], Shown):
    """Pairs of groups: the names of both, and the first minus the second."""

    shown_value = "difference"

    def _heading(self) -> str:
        return f"{len(self)} differences of groups, the first minus the second"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of every difference, each with the names of both groups."""
        return [
            {"first": first, "second": second} | row
            for first, second, gap in self
            for row in gap.to_rows(level)
        ]


def difference(
    first: Estimate, second: Estimate, *, same_deck: bool, shared: int = 0
) -> Difference:
    """Compare two disjoint groups or two waves.

    Two groups that drew from one deck are tied: the deck's noise cancels in their sum, not in
    their difference. Their covariance is negative for DRR, and for JRR where both groups lie on
    the same side of 1/2, so that the difference is less certain than two separate surveys would
    suggest.

    Args:
        first: the estimate to subtract from.
        second: the estimate to subtract.
        same_deck: True for groups of one survey, False for waves or groups with decks of their
            own.
        shared: how many people are in both. What they answered then and now may go together in
            any way, and where the estimates speak of a population (`for_population`), the noise
            of drawing people counts the worst way (docs/theory-uses.md, Theorem A8).

    Returns:
        The first minus the second, with standard errors and intervals.

    Raises:
        ArgumentError: where the two have different numbers of values, same_deck is True of
            estimates by two mechanisms, or one is of its respondents and the other of the
            population they were drawn from.

    Example:
        >>> import jrr
        >>> m, rng = jrr.RR(k=2, p=0.75), jrr.SeededRandom(7)
        >>> north = m.estimate(m.respond([1] * 300 + [0] * 700, rng=rng))
        >>> south = m.estimate(m.respond([1] * 500 + [0] * 500, rng=rng))
        >>> gap = jrr.difference(south, north, same_deck=False)
        >>> gap.frequencies.round(3).tolist()
        [-0.19, 0.19]
        >>> gap.interval()[0].round(2).tolist()
        [-0.27, 0.11]
    """
    for name, value in (("first", first), ("second", second)):
        if not isinstance(value, Estimate):
            raise checks.refusal(name, value, "an Estimate")
    if len(first.counts) != len(second.counts):
        raise ArgumentError(
            "first and second must have the same number of values, "
            f"got {len(first.counts)} and {len(second.counts)}"
        )
    if first.population != second.population:
        raise ArgumentError(
            "first and second must be of the same population, "
            f"got {first.population!r} and {second.population!r}"
        )
    most = min(first.n, second.n)
    if checks.integer("shared", shared, 0) > most:
        raise checks.refusal("shared", shared, f"at most {most}, the people of the smaller one")
    parts = [_drawn_together(part, shared / max(second.n, 1)) for part in first.parts]
    others = [_drawn_together(part, shared / max(first.n, 1)) for part in second.parts]
    minus = [replace(part, factor=-part.factor) for part in others]
    pools = _pools(parts, minus, same_deck=same_deck)
    return Difference(
        frequencies=first.frequencies - second.frequencies,
        stderr=plug_in_stderr(pools),
        _first=first,
        pools=pools,
    )


def _drawn_together(part: Component, share: float) -> Component:
    """The same where so large a share of the other side's people is in both.

    Twice a covariance is at most the sum of the variances, so that half of it is counted here.
    """
    if part.sampling is None or not share:
        return part
    left = part.sampling.left * (1 + share)
    return replace(part, sampling=replace(part.sampling, left=left))


def _pools(
    first: Sequence[Component], second: Sequence[Component], *, same_deck: bool
) -> list[list[Component]]:
    """All parts, those together that draw from the same decks."""
    if not same_deck:
        return [[part] for part in (*first, *second)]
    carded = [[part for part in side if part.moments.deck is not None] for side in (first, second)]
    tied = [part for side in carded for part in side]
    pools = [[part] for part in (*first, *second) if part.moments.deck is None]
    if all(carded):
        if not tied[0].moments.same_as(tied[1].moments):
            raise ArgumentError(
                "same_deck=True must be said of estimates by one mechanism, got two"
            )
        deck = tied[0].moments.deck or 1
        fewest = math.ceil(sum(part.n for part in tied) / deck)
        decks = max(fewest, *(part.decks for part in tied))
        return [[replace(part, decks=decks) for part in tied], *pools]
    return [[part] for part in tied] + pools
