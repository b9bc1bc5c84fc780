"""How often confidence intervals hold, computed and not simulated: their coverage over a grid.

The law of the reports that support a value is known exactly: holders get a hypergeometric number
of marked cards, and given their cards people report independently. So the chance that an interval
holds the true share is a finite sum, with no chance left in it.

    python -m jrr.research.interval_coverage docs/coverage-of-intervals.png
"""

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from jrr.estimation.differences import difference
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.intervals import kept
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import truth_probability
from jrr.reporting.plots import new_figure, save

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Waves = NDArray[np.complex128]
LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)
SIZES = (5, 6, 10, 20, 50, 100, 300, 1000, 10_000)
EPSILONS = (0.02, 0.1, 0.5, 1.0, 4.0)
SHARES = (0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0)
WAVES = ((6, 6), (10, 20), (20, 20), (50, 50), (100, 100))
PAIRS = ((0.0, 0.0), (0.5, 0.1), (0.5, 0.5), (0.9, 0.1), (1.0, 0.3))
LIMIT = 1.3  # the most that is missed, by what may be: 93.5% hold where 95% are meant
_COLOURS = {"RR": RR.colour, "JRR": JRR.colour, "DRR": DRR.colour}
_NEGLIGIBLE = 1e-15  # chances below it are left out
_DEVIATIONS = 12  # standard deviations from the mean beyond which counts are left out
_RARE = 1e-9  # the same for pairs of counts


# Exact laws -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Cards that are alike for one value, and how often their holders support it."""

    cards: int
    holder: float
    other: float


def kinds_of(mechanism: Mechanism, value: int) -> list[Kind]:
    """The kinds of cards in a deck, as far as one value goes; the most frequent first."""
    stranger = (value + 1) % mechanism.k
    deck = mechanism.moments.deck or 1
    counts: dict[tuple[float, float], int] = {}
    for law in mechanism.card_laws():
        chances = float(law.reports[value, value]), float(law.reports[stranger, value])
        counts[chances] = counts.get(chances, 0) + round(law.share * deck)
    kinds = [Kind(cards, *chances) for chances, cards in counts.items()]
    return sorted(kinds, key=lambda kind: -kind.cards)


def count_law(mechanism: Mechanism, holders: int, n: int, value: int = 1) -> tuple[Ints, Floats]:
    """The law of the number of reports that support a value, where `holders` of n hold it.

    Args:
        mechanism: one without cards, or with a deck of n cards of two kinds and a blank one.
        holders: how many hold the value.
        n: people who report.
        value: the value.

    Returns:
        Numbers of reports, and the chance of each; what is left out has a chance of nearly 0.
    """
    kinds = kinds_of(mechanism, value)
    moments = mechanism.moments.some(slice(value, value + 1))
    gain, q = float(moments.gain[0]), float(moments.q[0])
    sd = gain * float(moments.variance(np.array([float(holders)]), n, 1)[0]) ** 0.5
    width = min(n + 1, 2 * int(_DEVIATIONS * sd + 20))
    first = min(max(0, int(n * q + holders * gain) - width // 2), n + 1 - width)
    waves = np.exp(2j * np.pi * np.arange(width) / width)
    if len(kinds) == 3 and kinds[2].cards == 1:  # the blank card lies with a holder, or not
        turned = np.zeros(width, np.complex128)
        for chance, held, blank in (
            (holders / n, holders - 1, kinds[2].holder),
            (1 - holders / n, holders, kinds[2].other),
        ):
            if chance > 0:
                own = 1 - blank + blank * waves
                turned += chance * own * _turned(kinds[:2], held, n - 1, waves)
    else:
        turned = _turned(kinds, holders, n, waves)
    # Counts that differ by the width fall together, but all of them but one are out of reach.
    folded = np.fft.fft(turned).real / width
    law: Floats = np.maximum(np.roll(folded, -first), 0.0)
    return np.arange(first, first + width), law


def _turned(kinds: Sequence[Kind], holders: int, n: int, waves: _Waves) -> _Waves:
    """E[waves^count]: a sum over how many marked cards the holders have."""
    factors = [
        1 - chance + chance * waves for kind in kinds for chance in (kind.holder, kind.other)
    ]
    if len(kinds) == 1:
        return _product(factors, (holders, n - holders))
    marked, rest = kinds[0].cards, kinds[1].cards
    most = np.arange(max(0, holders - rest), min(holders, marked) + 1)
    chances = stats.hypergeom.pmf(most, n, marked, holders) if holders else np.ones(1)
    total = np.zeros(len(waves), np.complex128)
    for held, chance in zip(most.tolist(), chances.tolist(), strict=True):
        if chance > _NEGLIGIBLE:
            powers = (held, marked - held, holders - held, rest - (holders - held))
            total += chance * _product(factors, powers)
    return total


def _product(factors: Sequence[_Waves], powers: Sequence[int]) -> _Waves:
    product = np.ones_like(factors[0])
    for factor, power in zip(factors, powers, strict=True):
        product = product * factor**power
    return product


# Coverage -------------------------------------------------------------------------------------


def estimate_of(
    mechanism: Mechanism, reports: NDArray[np.int64], n: int, value: int = 1, *, cards: bool = True
) -> Estimate:
    """One estimate that holds those of many surveys, as if each were a value."""
    moments = mechanism.moments.some(slice(value, value + 1))
    if not cards:
        moments = moments.without_cards()
    counts = moments.estimate(reports.astype(np.float64), n)
    return Estimate([Stratum(moments=moments, n=n, counts=counts, decks=1)])


def coverage(
    mechanism: Mechanism, holders: int, n: int, levels: Sequence[float] = LEVELS, value: int = 1
) -> list[float]:
    """The chance that the interval of a share holds it, at each level.

    Example:
        >>> [round(share, 3) for share in coverage(RR(epsilon=1.0), 10, 100, (0.95, 0.99))]
        [0.969, 0.993]
    """
    counts, law = count_law(mechanism, holders, n, value)
    pools = [[part] for part in estimate_of(mechanism, counts, n, value).parts]
    truth = np.full(len(counts), holders / n)
    return [float(law[kept(pools, truth, level)].sum()) for level in levels]


def coverage_of_waves(
    first: tuple[Mechanism, int, int],
    second: tuple[Mechanism, int, int],
    levels: Sequence[float] = LEVELS,
) -> list[float]:
    """The same for the difference of two surveys, each with a mechanism, holders and people."""
    return _coverage_of_two(first, second, levels, together=False)


def coverage_of_latecomers(
    mechanism: Mechanism,
    carded: tuple[int, int],
    late: tuple[int, int],
    levels: Sequence[float] = LEVELS,
) -> list[float]:
    """The same for the share among people with and without a card, (holders, people) each."""
    return _coverage_of_two(
        (mechanism, *carded),
        (RR(mechanism.k, p=float(mechanism.moments.p[0])), *late),
        levels,
        together=True,
    )


def _coverage_of_two(
    first: tuple[Mechanism, int, int],
    second: tuple[Mechanism, int, int],
    levels: Sequence[float],
    *,
    together: bool,
) -> list[float]:
    (a, holders, n), (b, others, m) = first, second
    (here, law), (there, second_law) = count_law(a, holders, n), count_law(b, others, m)
    both = np.outer(law, second_law)
    likely = np.nonzero(both > _RARE)
    one, two = estimate_of(a, here[likely[0]], n), estimate_of(b, there[likely[1]], m)
    if together:
        parts = [replace(part, factor=1 / (n + m)) for part in (*one.parts, *two.parts)]
        pools = [[part] for part in parts]
        truth = (holders + others) / (n + m)
    else:
        pools = [list(pool) for pool in difference(one, two, same_deck=False).pools]
        truth = holders / n - others / m
    truths = np.full(len(likely[0]), truth)
    missed = [float(both[likely][~kept(pools, truths, level)].sum()) for level in levels]
    return [1 - share for share in missed]


# The grid -------------------------------------------------------------------------------------


def mechanisms(n: int, epsilons: Sequence[float] = EPSILONS) -> Iterator[Mechanism]:
    """Mechanisms for n people: cards that lean a little, half and fully; two and four values."""
    for epsilon, k in itertools.product(epsilons, (2, 4)):
        p = truth_probability(epsilon, k)
        yield RR(k, epsilon=epsilon)
        for lean in (1.0, 0.8, 0.3):
            yield JRR(n, p, s=lean * min(p, 1 - p), k=k)
        truth = (p * k - 1) / (k - 1)
        for own in (0.0, 0.3):
            yield DRR(n, truth, own * (1 - truth), k)


@dataclass(frozen=True)
class Point:
    """One setting and what was missed in it, by what may be missed, at each level."""

    mechanism: Mechanism
    people: tuple[int, ...]
    holders: tuple[int, ...]
    missed: dict[float, float]


def _point(
    mechanism: Mechanism,
    people: tuple[int, ...],
    holders: tuple[int, ...],
    covered: Sequence[float],
    levels: Sequence[float],
) -> Point:
    missed = {
        level: (1 - share) / (1 - level) for level, share in zip(levels, covered, strict=True)
    }
    return Point(mechanism, people, holders, missed)


def shares(
    sizes: Sequence[int] = SIZES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of a share."""
    for n in sizes:
        for mechanism, share in itertools.product(mechanisms(n, epsilons), SHARES):
            holders = round(share * n)
            covered = coverage(mechanism, holders, n, levels)
            yield _point(mechanism, (n,), (holders,), covered, levels)


def waves(
    sizes: Sequence[tuple[int, int]] = WAVES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of the difference between two surveys."""
    for n, m in sizes:
        both = zip(mechanisms(n, epsilons), mechanisms(m, epsilons), strict=True)
        for (first, second), (one, two) in itertools.product(both, PAIRS):
            holders = round(one * n), round(two * m)
            covered = coverage_of_waves((first, holders[0], n), (second, holders[1], m), levels)
            yield _point(first, (n, m), holders, covered, levels)


def latecomers(
    sizes: Sequence[tuple[int, int]] = WAVES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of a share among people with and without a card."""
    for n, m in sizes:
        carded = (one for one in mechanisms(n, epsilons) if one.name == "JRR")
        for mechanism, (one, two) in itertools.product(carded, PAIRS):
            holders = round(one * n), round(two * m)
            covered = coverage_of_latecomers(mechanism, (holders[0], n), (holders[1], m), levels)
            yield _point(mechanism, (n, m), holders, covered, levels)


def draw_coverage(path: str | Path, epsilons: Sequence[float] = EPSILONS) -> Path:
    """What intervals miss at every point of the grid, by what they may miss."""
    figure = new_figure(9.0, 6.0)
    panels = figure.subplots(2, 3, sharey=True).ravel()
    grid = list(shares(epsilons=epsilons))
    rows = [(grid, level, f"a share, {100 * level:g}%") for level in (0.8, 0.95, 0.99, 0.999)]
    few = WAVES[:-1]
    rows.append((list(waves(few, epsilons, (0.95,))), 0.95, "a difference of two waves, 95%"))
    rows.append((list(latecomers(few, epsilons, (0.95,))), 0.95, "with and without a card, 95%"))
    for axes, (points, level, title) in zip(panels, rows, strict=True):
        sizes = sorted({sum(point.people) for point in points})
        for at, (name, colour) in enumerate(_COLOURS.items()):
            found = [point for point in points if point.mechanism.name == name]
            places = [sizes.index(sum(point.people)) + 0.22 * (at - 1) for point in found]
            missed = [point.missed[level] for point in found]
            axes.plot(places, missed, ".", color=colour, markersize=3, label=name)
        axes.axhline(1.0, color="black", linewidth=1)
        axes.axhline(LIMIT, color="black", linewidth=1, linestyle=":")
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes], fontsize=7)
        axes.set_title(title, fontsize=9)
        axes.set_ylim(0, 1.5)
    panels[0].legend(frameon=False, fontsize=8, markerscale=3)
    for axes in panels[3:]:
        axes.set_xlabel("people", fontsize=8)
    figure.supylabel("missed, by what may be missed", fontsize=9)
    figure.suptitle(
        "Exact coverage: a point is a setting, at 1 its interval is just as sure as it says",
        fontsize=10,
    )
    return save(figure, path)


if __name__ == "__main__":
    draw_coverage(sys.argv[1])
