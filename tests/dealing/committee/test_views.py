"""What t parties see together has the same law whatever the cards are: enumerated, not sampled."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from jrr.dealing.committee.schedule import groups
from tests.dealing.committee.abstract import (
    Coins,
    Label,
    Order,
    Ran,
    Residues,
    Vectors,
    draws,
    echelon,
    reduced,
    run_with,
    view,
)
from tests.dealing.committee.memory import opened

Groups = Sequence[tuple[int, ...]]
Laws = dict[tuple[int, ...], Counter[tuple[object, ...]]]  # assignment -> cosets


def laws_of_the_view(
    parties: int,
    schedule: Groups,
    prime: int,
    deck: Sequence[int],
    corrupt: Sequence[int],
    known: Sequence[Order],
    parts: Sequence[Sequence[int]],
    reuse: bool = False,
) -> list[Laws]:
    """For each choice of the parts of α: the view's law given each assignment of the cards.

    A law is a multiset of cosets: given the permutations the view is uniform over one coset.
    known: the permutations of groups with a corrupt party; the others are enumerated.
    reuse: a broken protocol in which every party draws one seed only and uses it always.
    """
    choices = [
        [order] if set(group) & set(corrupt) else list(itertools.permutations(range(len(deck))))
        for group, order in zip(schedule, known, strict=True)
    ]

    def saw(
        parts: Sequence[int], orders: Sequence[Order], vectors: Vectors
    ) -> tuple[Ran, Residues]:
        coins = Coins(parts, orders, vectors, alias)
        ran = run_with(coins, parties, schedule, deck, prime)
        return ran, view(ran, coins, corrupt, prime)

    def alias(label: Label) -> Label:
        return (label[0], 0) if reuse else label

    found: list[Laws] = [defaultdict(Counter) for _ in parts]
    size = 2 * len(deck)
    for orders in itertools.product(*choices):
        bases: dict[int, Residues] = {}
        for at, given in enumerate(parts):
            ran, offset = saw(given, orders, {})
            alpha = ran.dealt[0].alpha
            if alpha not in bases:
                linear = np.array(
                    [
                        saw(given, orders, {label: unit})[1] - offset
                        for label in ran.drawn
                        for unit in np.eye(size, dtype=np.uint64)
                    ]
                )
                bases[alpha] = echelon(linear, prime)
                # The premise, tried on random vectors: the view is this affine function of them.
                values = np.random.default_rng(1).integers(0, prime, (len(ran.drawn), size))
                vectors = dict(zip(ran.drawn, values.astype(np.uint64), strict=True))
                expected = (offset + values.ravel() @ linear) % prime
                assert np.array_equal(saw(given, orders, vectors)[1], expected)
            cards, tags = opened(ran.dealt, prime)
            assert tags == tuple(alpha * card % prime for card in cards)
            point = reduced(offset, bases[alpha], prime)
            found[at][cards][bases[alpha].tobytes(), point] += 1
    return found


def independent(laws: list[Laws], assignments: int) -> bool:
    """Whether, whatever α, the view's law is the same given each assignment."""
    for given in laws:
        assert len(given) == assignments
        ways = [(law, law.total()) for law in given.values()]
        first, total = ways[0]
        for law, other in ways[1:]:
            if {k: v * other for k, v in first.items()} != {k: v * total for k, v in law.items()}:
                return False
    return True


def every_part(prime: int, parties: int) -> list[tuple[int, ...]]:
    return list(itertools.product(draws(prime), repeat=parties))


def turned(schedule: Groups, count: int) -> list[Order]:
    """Some permutation for every group: none of them the identity."""
    return [tuple((at + 1 + one) % count for at in range(count)) for one in range(len(schedule))]


def plain(schedule: Groups, count: int) -> list[Order]:
    return [tuple(range(count))] * len(schedule)


@pytest.mark.slow_variants(
    "turned-1]",
    "modulo 5-1]",
    "modulo 5-2]",
    "three cards-0]",
    "three cards-2]",
    "identity-0",
    "identity-2",
    "turned-2",
)
@pytest.mark.parametrize("corrupt", [0, 1, 2])
@pytest.mark.parametrize(
    ("prime", "deck", "known", "parts"),
    [
        (3, (1, 2), plain, every_part(3, 3)),
        (3, (1, 2), turned, every_part(3, 3)),
        (5, (1, 4), turned, [(1, 2, 3), (3, 3, 3), (2, 2, 1)]),
        (3, (1, 2, 2), turned, [(0, 1, 1), (1, 1, 1)]),
    ],
    ids=["identity", "turned", "modulo 5", "three cards"],
)
def test_one_of_three_parties_learns_nothing_of_the_cards(
    prime: int,
    deck: tuple[int, ...],
    known: Callable[[Groups, int], list[Order]],
    parts: list[tuple[int, ...]],
    corrupt: int,
) -> None:
    schedule = groups(3, 1)
    laws = laws_of_the_view(3, schedule, prime, deck, [corrupt], known(schedule, len(deck)), parts)
    assert independent(laws, len(set(itertools.permutations(deck))))


@pytest.mark.parametrize("corrupt", [0, 1, 2, 3])
def test_one_of_four_parties_in_two_clubs_learns_nothing(corrupt: int) -> None:
    schedule = groups(4, 1)
    laws = laws_of_the_view(4, schedule, 3, (1, 2), [corrupt], turned(schedule, 2), [(1, 1, 0, 1)])
    assert independent(laws, 2)


@pytest.mark.slow
@pytest.mark.parametrize("corrupt", list(itertools.combinations(range(5), 2)), ids=str)
def test_two_of_five_parties_learn_nothing(corrupt: tuple[int, int]) -> None:
    schedule = groups(5, 2)
    laws = laws_of_the_view(5, schedule, 3, (1, 2), corrupt, turned(schedule, 2), [(1, 0, 1, 1, 0)])
    assert independent(laws, 2)


def test_negative_control_a_party_in_every_group_knows_the_cards() -> None:
    """Without the only group that has no party 2, it can tell."""
    schedule = [(0, 2), (1, 2)]
    known = [(1, 0), (0, 1)]
    laws = laws_of_the_view(3, schedule, 3, (1, 2), [2], known, every_part(3, 3))
    assert all(len(given) == 1 for given in laws)  # there is one possible assignment only


def test_negative_control_two_of_three_parties_know_the_cards() -> None:
    schedule = groups(3, 1)
    for corrupt in itertools.combinations(range(3), 2):
        known = turned(schedule, 2)
        laws = laws_of_the_view(3, schedule, 3, (1, 2), corrupt, known, [(1, 1, 0)])
        assert all(len(given) == 1 for given in laws)


def test_negative_control_seeds_that_are_used_again_tell_the_cards() -> None:
    """Party 2, the last of every group, is sent whole vectors besides seeds."""
    schedule = groups(3, 1)
    laws = laws_of_the_view(
        3, schedule, 3, (1, 2), [2], turned(schedule, 2), [(1, 1, 0)], reuse=True
    )
    assert not independent(laws, 2)
