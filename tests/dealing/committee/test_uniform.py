"""Every assignment of the cards is equally likely, and reports follow the dealer's law."""

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jrr import DRR, JRR
from jrr._base.randomness import SeededRandom
from jrr.dealing.committee import field
from jrr.dealing.committee.cards import card_of, deck_of
from jrr.dealing.committee.schedule import groups
from tests import oracle
from tests.dealing.committee.abstract import Coins, Order, run_with
from tests.dealing.committee.memory import assignments, opened
from tests.statistics_rules import (
    OFF,
    P_VALUE,
    SAMPLES,
    accepts_only,
    chi_square,
    mean_test,
    skewed,
)

PARTIES = [(3, 1), (5, 2)]
DECKS = [(1, 1, 2, 2), (1, 2, 3), (1, 1, 2, 3)]


def possible(deck: Sequence[int]) -> list[tuple[int, ...]]:
    return sorted(set(itertools.permutations(deck)))


def counts(found: Sequence[tuple[int, ...]], deck: Sequence[int]) -> list[int]:
    """How often each assignment came; any other would be an error."""
    seen = Counter(found)
    assert set(seen) <= set(possible(deck))
    return [seen[one] for one in possible(deck)]


# Exactly: one group's permutation alone makes the assignment uniform ----------------------------


def of_orders(parties: int, threshold: int, orders: Sequence[Order], deck: Sequence[int]) -> Order:
    ran = run_with(Coins([1] * parties, orders), parties, groups(parties, threshold), deck, 7)
    return opened(ran.dealt, 7)[0]


@pytest.mark.parametrize(("parties", "threshold"), PARTIES)
@pytest.mark.parametrize("deck", DECKS, ids=str)
def test_any_single_uniform_permutation_is_enough(
    parties: int, threshold: int, deck: tuple[int, ...]
) -> None:
    """The others are fixed, as corrupt parties might fix them."""
    schedule, size = groups(parties, threshold), len(deck)
    chosen = range(len(schedule)) if parties == 3 else (0, 7)
    for honest in chosen:
        orders: list[Order] = [
            tuple((at * (size - 1) + other) % size for at in range(size))
            for other in range(len(schedule))
        ]
        found = Counter()  # type: Counter[Order]
        for order in itertools.permutations(range(size)):
            orders[honest] = order
            found[of_orders(parties, threshold, orders, deck)] += 1
        assert set(found) == set(possible(deck))
        assert len(set(found.values())) == 1


def of_all_choices(of: Sequence[Order]) -> Counter[Order]:
    """How often each assignment comes of all triples of these permutations."""
    return Counter(of_orders(3, 1, orders, (1, 2, 3)) for orders in itertools.product(of, repeat=3))


def test_all_choices_of_all_permutations_of_three_cards() -> None:
    found = of_all_choices(list(itertools.permutations(range(3))))
    assert found == dict.fromkeys(possible((1, 2, 3)), 36)


def test_negative_control_permutations_that_leave_out_one_order_are_not_uniform() -> None:
    found = of_all_choices(list(itertools.permutations(range(3)))[1:])
    assert len(set(found.values())) > 1


# What seeds stand for ---------------------------------------------------------------------------


def seed(number: int) -> bytes:
    return number.to_bytes(field.SEED, "little")


@pytest.mark.statistical
@pytest.mark.parametrize("prime", [2, 3, 5, 7])
def test_expanded_elements_are_uniform(prime: int) -> None:
    found = np.bincount(field.expand(seed(prime), (SAMPLES,), prime).astype(np.int64))
    law = [1 / prime] * prime
    accepts_only(lambda chances: chi_square(found, chances), law, skewed(law))


@pytest.mark.statistical
def test_expanded_pairs_of_elements_are_uniform() -> None:
    found = field.expand(seed(1), (SAMPLES, 2), 5).astype(np.int64)
    law = [1 / 25] * 25
    pairs = np.bincount(found[:, 0] * 5 + found[:, 1], minlength=25)
    accepts_only(lambda chances: chi_square(pairs, chances), law, skewed(law))


@pytest.mark.statistical
def test_expanded_elements_of_the_large_field_are_uniform() -> None:
    found = field.expand(seed(2), (SAMPLES,))
    assert int(found.max()) < field.PRIME
    law = [1 / 64] * 64
    for shift in (25, 12, 0):
        pieces = np.bincount((found >> np.uint64(shift)).astype(np.int64) & 63, minlength=64)
        accepts_only(lambda chances, p=pieces: chi_square(p, chances), law, skewed(law))  # type: ignore[misc]


@pytest.mark.statistical
@pytest.mark.parametrize("size", [2, 3, 4])
def test_permutations_of_seeds_are_uniform(size: int) -> None:
    every = list(itertools.permutations(range(size)))
    runs = 20_000 * (1 + (size > 3))
    seen = Counter(tuple(map(int, field.permutation(seed(n), size))) for n in range(runs))
    law = [1 / len(every)] * len(every)
    accepts_only(
        lambda chances: chi_square([seen[one] for one in every], chances), law, skewed(law)
    )


def test_seeds_stand_for_the_same_thing_everywhere() -> None:
    """Fixed forever: parties of different versions must agree."""
    fixed = bytes(range(32))
    large = [906006770, 1352616234, 1788539817, 7810781, 779509232]
    assert field.expand(fixed, (5,)).tolist() == large
    assert field.expand(fixed, (2, 2)).tolist() == [large[:2], large[2:4]]
    assert field.expand(fixed, (8,), 5).tolist() == [2, 2, 1, 0, 2, 0, 0, 0]
    assert field.permutation(fixed, 8).tolist() == [2, 3, 6, 5, 4, 7, 1, 0]


# By sampling: real seeds, the whole protocol ----------------------------------------------------


def biased(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permutations that are the identity 30% too often."""
    plain = field.permutation

    def permutation(seed: bytes, size: int) -> NDArray[np.intp]:
        if seed[0] < 256 * OFF:
            return np.arange(size)
        return plain(seed, size)

    monkeypatch.setattr(field, "permutation", permutation)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("parties", "threshold", "deck", "runs"),
    [(3, 1, (1, 2, 3), 6_000), (3, 1, (1, 2, 3, 4, 5), 12_000), (5, 2, (1, 1, 2, 2), 5_000)],
    ids=["three kinds", "five cards", "five parties"],
)
def test_assignments_are_uniform(
    parties: int,
    threshold: int,
    deck: tuple[int, ...],
    runs: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = [1 / len(possible(deck))] * len(possible(deck))
    right = counts(assignments(parties, deck, threshold, runs, "uniform"), deck)
    biased(monkeypatch)
    # Several passes, each biased, would be almost uniform again.
    monkeypatch.setattr("jrr.dealing.committee.dealing.groups", lambda m, t: groups(m, t)[:1])
    wrong = counts(assignments(parties, deck, threshold, runs, "biased"), deck)
    accepts_only(lambda found: chi_square(found, law), right, wrong)


RUNS = 5_000
P, S, TRUTH, OWN = Fraction(3, 4), Fraction(1, 4), Fraction(3, 5), Fraction(1, 10)
CASES: dict[str, tuple[Any, oracle.Law, oracle.Channel, list[int]]] = {
    "JRR n=4": (
        JRR(4, p=float(P), s=float(S)),
        oracle.one_deck(oracle.sign_deck(4)),
        oracle.joint_channel(P, S, 2),
        [0, 0, 1, 1],
    ),
    "JRR n=5": (
        JRR(5, p=float(P), s=float(S)),
        oracle.one_deck(oracle.sign_deck(5)),
        oracle.joint_channel(P, S, 2),
        [0, 1, 1, 0, 1],
    ),
    "DRR n=4 k=3": (
        DRR(4, truth=float(TRUTH), own=float(OWN), k=3),
        oracle.one_deck(oracle.decoy_deck(oracle.even_counts(4, 3))),
        oracle.dealt_channel(TRUTH, OWN, 3),
        [0, 1, 2, 0],
    ),
}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("case", CASES)
def test_reports_follow_the_law_of_a_dealer_s_deck(case: str) -> None:
    mechanism, card_law, channel, values = CASES[case]
    dealt = assignments(3, deck_of(mechanism), 1, RUNS, case)
    # The cards: every deal of the deck, equally likely.
    hands = [tuple(card_of(mechanism, element) for element in one) for one in dealt]
    seen = Counter(hands)
    assert set(seen) <= set(card_law)
    chances = [float(card_law[hand]) for hand in sorted(card_law)]
    assert chi_square([seen[hand] for hand in sorted(card_law)], chances) > P_VALUE
    if len(card_law) == 6:  # with more deals this many runs cannot tell 30% of one of them
        assert chi_square([seen[hand] for hand in sorted(card_law)], skewed(chances)) < P_VALUE
    # The reports: as enumerated, and not as if everybody were alone.
    random = SeededRandom(5)
    reports = [tuple(map(int, mechanism.respond(values, hand, random))) for hand in hands]
    law = oracle.reports_of_deals(card_law, channel, values)
    singles = [oracle.marginal(law, person) for person in range(len(values))]
    alone = oracle.independent(
        [[one.get(report, Fraction(0)) for report in range(mechanism.k)] for one in singles]
    )
    found = Counter(reports)
    outcomes = sorted(set(law) | set(alone))

    def p_value(chances: oracle.Law) -> float:
        return chi_square(
            [found[one] for one in outcomes], [float(chances.get(one, 0)) for one in outcomes]
        )

    accepts_only(p_value, law, alone)
    wrong = dict(zip(law, map(Fraction, skewed(list(map(float, law.values())))), strict=True))
    assert p_value(wrong) < P_VALUE
    # The estimator: unbiased, with the variance it states.
    true = oracle.counts_of(values, mechanism.k)
    estimated = [mechanism.estimate(one, carded=True).counts[1] for one in reports]
    sd = float(np.sqrt(mechanism.variance(true)[1]))
    assert mean_test(estimated, true[1], sd) > P_VALUE
    assert mean_test(estimated, true[1] * (1 + OFF), sd) < P_VALUE
