"""A card in several announced sums, against enumeration: whichever sets are named, and when."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr.errors import ArgumentError
from tests.mechanisms.masked_oracle import independent, seen

A, E, OWN = 0.3, 0.45, 2.0
SUMS = range(-4, 5)


def mechanism(n: int, announcements: int) -> jrr.MRR:
    return jrr.MRR(
        n, own=OWN, card_rate=A, announced_rate=E, announcements=announcements, alone=0.6
    )


def formula(c: float) -> float:
    return 2 * math.atanh(math.tanh(OWN / 2) * math.tanh(c / 2))


def loss_of(m: jrr.MRR, named: tuple[tuple[int, ...], ...], told: tuple[int, ...]) -> float:
    """The worst over reports and the others' answers, of one list of sets and what was told."""
    lie, others = 1 / (1 + math.exp(OWN)), itertools.product((0, 1), repeat=m.n - 1)

    def weight(z: Any) -> float:
        off = sum(
            abs(total - sum(z[i] for i in some)) for some, total in zip(named, told, strict=True)
        )
        return independent(A)(z) * math.exp(-E * off)

    worst = 0.0
    for other in others:
        for reports in itertools.product(range(-2, 4), repeat=m.n):
            no, yes = (seen(weight, lie, (x, *other), reports, ()) for x in (0, 1))
            worst = max(worst, abs(math.log(yes / no)))
    return worst


def subsets(n: int) -> list[tuple[int, ...]]:
    everybody = range(n)
    return [some for size in range(n + 1) for some in itertools.combinations(everybody, size)]


@pytest.mark.parametrize(("n", "announcements"), [(2, 2), (2, 3), (3, 2)])
@pytest.mark.slow_variants("2-3", "3-2")
def test_every_list_of_sets_tells_at_most_the_formula(n: int, announcements: int) -> None:
    """Of a card in j sums the loss is that of c = a + j e, exactly; j at most what was planned."""
    m = mechanism(n, announcements)
    for named in itertools.combinations_with_replacement(subsets(n), announcements):
        grid = itertools.product(SUMS if n == 2 else (-4, -1, 0, 4), repeat=announcements)
        worst = max(loss_of(m, named, told) for told in grid)
        counted = sum(0 in some for some in named)
        assert worst <= formula(A + counted * E) + 1e-12
        assert worst <= m.epsilon("cards") + 1e-12
        if all(0 in some for some in named):
            assert worst == pytest.approx(m.epsilon("cards"), abs=1e-9)


def test_sets_chosen_after_seeing_what_was_told_tell_no_more() -> None:
    """Every way to choose the second set by the first sum: what is seen has the same weight."""
    n = 2
    m, choices = mechanism(n, 2), subsets(n)
    single = mechanism(n, 1).epsilon("cards")
    worst = 0.0
    for first in choices:
        for below, above in itertools.product(choices, repeat=2):
            for one, two in itertools.product((-3, 0, 3), repeat=2):
                named = (first, below if one < 0 else above)
                worst = max(worst, loss_of(m, named, (one, two)))
    assert single + 0.1 < worst <= m.epsilon("cards") + 1e-12  # one promised would not hold


def test_documents_and_decks_count_announcements() -> None:
    m = mechanism(10, 2)
    assert m.to_dict()["announcements"] == 2
    assert "announcements" not in mechanism(10, 1).to_dict()
    assert jrr.from_dict(m.to_dict()) == m
    cards = m.deal()
    m.announce(cards)
    m.announce_cells(cards[:4], ["a", "a", "b", "b"])
    with pytest.raises(ArgumentError, match="as often as planned, 2 times"):
        m.announce(cards)
    with pytest.raises(ArgumentError, match="announcements must be 1 for a closed deck"):
        jrr.MRR(10, own=2.0, card_rate=0.3, total_rate=0.3, announcements=2)
    with pytest.raises(ArgumentError, match=r"announcements must be a whole number in 1\.\.16"):
        jrr.MRR(10, own=2.0, card_rate=0.3, announced_rate=0.3, announcements=17)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_plans_for_two_announcements_keep_epsilon_and_cost_little(k: int) -> None:
    once = jrr.plan(1_000, 1.0, k=k, mechanism="mrr")
    twice = jrr.plan(1_000, 1.0, k=k, mechanism="mrr", announced=2)
    m: Any = twice.mechanism
    assert m.announcements == 2
    assert m.epsilon("everything") <= 1.0
    assert 1 < (twice.stderr(0.3) / once.stderr(0.3)) ** 2 < (1.12 if k == 2 else 1.5)
    # With half the rate for each sum, one promised for one sum does not hold for two.
    reused = jrr.MRR(
        m.n, p=m.p, card_rate=m.card_rate, announced_rate=2 * m.announced_rate, k=k,
        coin=m.coin, announcements=2, alone=m.alone,
    )  # fmt: skip
    assert reused.epsilon("everything") > 1.05


def test_blocks_and_numbers_have_them_too() -> None:
    from jrr.planning.blocks import plan_block
    from jrr.planning.numbers import plan_number

    block = plan_block(2_000, 2.0, [2, 2, 3], ask="all", announced=2)
    assert block.mechanism.announcements == block.item(2).announcements == 2
    assert block.mechanism.item(0).announcements == 2
    assert block.mechanism.epsilon("cards") <= 2.0
    number: Any = plan_number(2_000, 1.0, 0.0, 10.0, announced=2).mechanism
    assert number.announcements == 2
    assert number.epsilon("everything") <= 1.0
    with pytest.raises(ArgumentError, match=r"announced must be True, False, or a number"):
        jrr.plan(100, 1.0, announced=0)


@pytest.mark.parametrize(("n", "more"), [(100, "84%"), (1_000, "11%"), (10_000, "1%")])
def test_what_a_second_announcement_costs_is_what_the_theory_says(n: int, more: str) -> None:
    once, twice = (jrr.plan(n, 1.0, announced=times).stderr() ** 2 for times in (True, 2))
    assert f"{twice / once - 1:.0%}" == more
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text("utf-8")
    line = next(one for one in page.splitlines() if one.startswith("Two announcements"))
    assert f"{more} " in line
