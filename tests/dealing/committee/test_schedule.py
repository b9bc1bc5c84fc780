"""Whichever t parties are corrupt, some group that permutes has none of them."""

from collections.abc import Sequence
from itertools import combinations

import pytest

from jrr.dealing.committee.schedule import MOST_PASSES, default_threshold, groups
from jrr.errors import JrrError

SMALL = [(m, t) for m in range(2, 10) for t in range((m - 1) // 2 + 1)]
LARGE = [(10, 3), (11, 3), (12, 3), (13, 4), (14, 4), (15, 4), (16, 1), (16, 2), (16, 3), (16, 5)]


def an_honest_group_always(found: Sequence[tuple[int, ...]], parties: int, threshold: int) -> bool:
    """By trying every set of corrupt parties."""
    return all(
        any(not set(group) & set(corrupt) for group in found)
        for corrupt in combinations(range(parties), threshold)
    )


@pytest.mark.parametrize(("parties", "threshold"), SMALL + LARGE)
def test_some_group_is_honest_whoever_is_corrupt(parties: int, threshold: int) -> None:
    found = groups(parties, threshold)
    assert an_honest_group_always(found, parties, threshold)
    for group in found:
        assert len(group) == len(set(group)) == threshold + 1
        assert set(group) <= set(range(parties))
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("parties", "threshold"), [(m, t) for m, t in SMALL if t > 0])
def test_the_check_notices_a_group_that_is_missing(parties: int, threshold: int) -> None:
    """Negative control: of as few groups as needed, none is superfluous where all matter."""
    found = groups(parties, threshold)
    dropped = [
        an_honest_group_always(found[:at] + found[at + 1 :], parties, threshold)
        for at in range(len(found))
    ]
    if parties == 2 * threshold + 1:
        assert not any(dropped)  # every honest majority is exactly one group
    # One group alone never does, nor do all groups of too small a club.
    assert not an_honest_group_always(found[:1], parties, threshold)
    assert not an_honest_group_always(
        list(combinations(range(2 * threshold), threshold + 1)), parties, threshold
    )


def test_three_parties_by_hand() -> None:
    assert groups(3, 1) == [(0, 1), (0, 2), (1, 2)]
    assert groups(4, 1) == [(0, 1), (2, 3)]
    assert len(groups(5, 2)) == 10


def test_groups_are_never_more_than_all_sets() -> None:
    from math import comb

    for parties, threshold in SMALL + LARGE:
        assert 1 <= len(groups(parties, threshold)) <= comb(parties, threshold + 1)


@pytest.mark.parametrize("parties", range(2, 17))
def test_the_default_threshold_is_a_minority_that_can_be_dealt(parties: int) -> None:
    threshold = default_threshold(parties)
    assert 2 * threshold < parties
    assert threshold >= 1 or parties == 2
    assert len(groups(parties, threshold)) <= MOST_PASSES


@pytest.mark.parametrize(("parties", "threshold"), [(3, 2), (4, 2), (5, 3), (3, -1), (2, 1)])
def test_half_or_more_corrupt_parties_are_refused(parties: int, threshold: int) -> None:
    with pytest.raises(JrrError, match="threshold"):
        groups(parties, threshold)


def test_too_many_passes_are_refused_with_their_number() -> None:
    with pytest.raises(JrrError, match=r"2000 permutations.*threshold=7 of 15 parties.*6435"):
        groups(15, 7)
