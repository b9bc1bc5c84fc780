"""Who knows which permutation, so that no few parties together know them all.

The deck is permuted several times. Each time a group of t+1 parties holds it in shares and all
of them know the permutation. t corrupt parties learn no card as long as one group has none of
them. Which groups are needed is a covering problem; the parties are split into clubs, and the
groups are all sets of t+1 parties inside one club. Some club has more than t honest parties
exactly if the sizes satisfy Σ max(0, size - t) > t: otherwise the corrupt parties could be
spread so as to leave at most t honest ones in each.
"""

from itertools import combinations, pairwise
from math import comb

from jrr._base import checks
from jrr.errors import ArgumentError

MOST_PASSES = 2_000


def groups(parties: int, threshold: int) -> list[tuple[int, ...]]:
    """The groups that permute one after another, as few as clubs allow."""
    checks.integer("parties", parties, 2, 64)
    most = (parties - 1) // 2
    checks.integer("threshold", threshold, 0, most)
    plans = [_clubs(parties, count) for count in range(1, parties + 1)]
    allowed = [clubs for clubs in plans if _covers([len(club) for club in clubs], threshold)]
    best = min(allowed, key=lambda clubs: sum(comb(len(club), threshold + 1) for club in clubs))
    chosen = [group for club in best for group in combinations(club, threshold + 1)]
    if len(chosen) > MOST_PASSES:
        raise ArgumentError(
            f"threshold must be such that {MOST_PASSES} permutations are enough, got "
            f"threshold={threshold} of {parties} parties, which takes {len(chosen)}"
        )
    return chosen


def default_threshold(parties: int) -> int:
    """An honest majority for committees of up to 7; above, fewer than a third, as SMPS has."""
    return (parties - 1) // 2 if parties <= 7 else (parties - 1) // 3


def _clubs(parties: int, count: int) -> list[range]:
    """As equal as possible."""
    edges = [number * parties // count for number in range(count + 1)]
    return [range(low, high) for low, high in pairwise(edges)]


def _covers(sizes: list[int], threshold: int) -> bool:
    return sum(max(0, size - threshold) for size in sizes) > threshold
