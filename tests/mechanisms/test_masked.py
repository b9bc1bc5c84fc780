"""Masked randomized response against enumeration: laws, losses in every view, traps, words."""

import copy
import itertools
import json
import math
import pickle
from decimal import Decimal, getcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import jrr
from jrr._base.randomness import Words
from jrr.errors import ArgumentError
from jrr.mechanisms.masked_deck import (
    closed_deck,
    discrete_laplace,
    geometric,
    happens,
    kept,
    uniform_piles,
)
from jrr.mechanisms.request import Request
from jrr.mechanisms.token_laws import PileTokens
from tests.golden import make_masked_decks
from tests.mechanisms.masked_oracle import closed, independent, seen, worst_loss
from tests.statistics_rules import (
    OFF,
    SURVEYS,
    accepts_only,
    chi_square,
    mean_test,
    skewed,
    spread_test,
)

CLOSED = jrr.MRR(3, own=2.0, card_rate=0.7, total_rate=0.4)
ANNOUNCED = jrr.MRR(3, own=2.0, card_rate=0.3, announced_rate=0.9)


def formula(own: float, c: float) -> float:
    """The one formula of yes and no: tanh(ε/2) = tanh(own/2) tanh(c/2)."""
    return 2 * math.atanh(math.tanh(own / 2) * math.tanh(c / 2))


# Laws -----------------------------------------------------------------------------------------


class Given:
    """A source that gives the words that a test chose."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int) -> Words:
        return np.array([self._words.pop(0) for _ in range(count)], np.uint64)

    def word(self) -> int:
        return self._words.pop(0)


@pytest.mark.parametrize("rate", [0.00125, 0.3, 1.7])
def test_words_make_geometric_numbers_with_exactly_their_chances(rate: float) -> None:
    """The words that make at least j are those below 2^64 e^(-rate j), to the last word."""
    getcontext().prec = 80
    for j in (1, 2, 7, 40, int(30 / rate)):
        threshold = (Decimal(2) ** 64) * (-Decimal(rate) * j).exp()
        word = int(threshold)
        if word < 1_000:
            continue  # so few words are not told apart by their first 64 bits
        assert geometric(rate, 1, Given(word - 1))[0] >= j
        if word + 1 < 1 << 64:
            assert geometric(rate, 1, Given(word + 1))[0] < j
        # In between further words decide, again to the last one.
        second = int((threshold - word) * 2**64)
        if 0 < second < (1 << 64) - 1:
            assert geometric(rate, 1, Given(word, second - 1, 0, 0))[0] >= j
            assert geometric(rate, 1, Given(word, second + 1, 0, 0))[0] < j


def test_floating_point_and_decimals_agree() -> None:
    words = jrr.SeededRandom(5).words(2_000).tolist()
    getcontext().prec = 60
    for rate in (0.02, 0.9):
        found = geometric(rate, len(words), Given(*words))
        exact = [int(-((Decimal(w) + Decimal("0.5")) / 2**64).ln() / Decimal(rate)) for w in words]
        assert found.tolist() == exact


def test_chances_that_are_exact() -> None:
    getcontext().prec = 60
    x = Decimal("-1.25")
    word = int(Decimal(2) ** 64 * x.exp())
    assert happens(-1.25, 1e-15, lambda: x, Given(word - 1))
    assert not happens(-1.25, 1e-15, lambda: x, Given(word + 1))
    second = int((Decimal(2) ** 64 * x.exp() - word) * 2**64)
    assert happens(-1.25, 1e-15, lambda: x, Given(word, second - 1))
    assert not happens(-1.25, 1e-15, lambda: x, Given(word, second + 1))


@pytest.mark.slow_variants("4]")
@pytest.mark.parametrize("n", [2, 3, 4])
def test_totals_and_piles_make_the_weights_of_a_deck(n: int) -> None:
    """Step by step in closed form: piles, closing, acceptance, spreading = the weight."""
    a, b, reach = 0.8, 0.5, 5
    r = math.exp(-a)
    weight = closed(a, b)
    ratios = []
    for z in itertools.product(range(-reach, reach + 1), repeat=n):
        total = 0.0
        for low in itertools.product(range(40 if n == 2 else 14 if n == 3 else 8), repeat=n):
            minus = [g + max(0, -x) for g, x in zip(low, z, strict=True)]  # no pile below 0
            plus = [g + x for g, x in zip(minus, z, strict=True)]
            drawn = math.prod((1 - r) * r**g for g in minus)
            tokens = sum(plus)
            closing = math.exp(-b * abs(tokens - sum(minus)))
            accepted = math.comb(tokens + n - 1, n - 1) * r**tokens
            spread = 1 / math.comb(tokens + n - 1, n - 1)
            total += drawn * closing * accepted * spread
        ratios.append(total / weight(z))
        if len(ratios) > 60:
            break
    assert max(ratios) / min(ratios) - 1 < (1e-12 if n == 2 else 1e-3)


@pytest.mark.parametrize(("n", "rate"), [(2, 0.3), (3, 1.0), (40, 0.05), (7, 3.0)])
def test_acceptance_is_by_the_likeliest_number_of_tokens(n: int, rate: float) -> None:
    def worth(g: int) -> float:
        return math.lgamma(g + n) - math.lgamma(g + 1) - rate * g

    law = PileTokens(n, rate)
    mode = law.mode
    assert worth(mode) >= max(worth(g) for g in range(3 * mode + 20)) - 1e-12
    for tokens in (mode, mode + 1, mode + 9):
        expected = math.exp(worth(tokens) - worth(mode))
        word = round(expected * 2**64)
        assert kept(law, tokens, Given(min(word - (1 << 34), (1 << 64) - 1)))
        if word + (1 << 34) < 1 << 64:
            assert not kept(law, tokens, Given(word + (1 << 34)))


@pytest.mark.parametrize(("tokens", "n"), [(3, 3), (6, 2), (1, 4)])
def test_tokens_are_spread_in_every_way_alike(tokens: int, n: int) -> None:
    ways = [w for w in itertools.product(range(tokens + 1), repeat=n) if sum(w) == tokens]
    source = jrr.SeededRandom(3)
    drawn = [tuple(uniform_piles(tokens, n, source).tolist()) for _ in range(6_000)]
    counts = [drawn.count(way) for way in ways]
    assert sum(counts) == len(drawn)
    even = [1 / len(ways)] * len(ways)
    accepts_only(lambda law: chi_square(counts, law), even, skewed(even))


@pytest.mark.parametrize("n", [2, 3])
def test_dealt_decks_have_their_law(n: int) -> None:
    a, b, reach = 1.1, 0.4, 9
    weight = closed(a, b)
    law = {z: weight(z) for z in itertools.product(range(-reach, reach + 1), repeat=n)}
    total = sum(law.values())
    source = jrr.SeededRandom(11)
    drawn: dict[tuple[int, ...], int] = {}
    for _ in range(5_000):
        z = tuple(closed_deck(n, a, b, source).tolist())
        drawn[z] = drawn.get(z, 0) + 1
    likely = [z for z in law if 5_000 * law[z] / total > 8]
    counts = [drawn.get(z, 0) for z in likely]
    chances = [law[z] / total for z in likely]
    counts.append(5_000 - sum(counts))
    chances.append(1 - sum(chances))
    accepts_only(lambda right: chi_square(counts, right), chances, skewed(chances))


def test_noise_of_announcements_has_its_law() -> None:
    drawn = discrete_laplace(0.8, 100_000, jrr.SeededRandom(2))
    numbers = np.arange(-9, 10)
    chances = np.exp(-0.8 * np.abs(numbers)) * math.tanh(0.4)
    counts = [int((drawn == z).sum()) for z in numbers]
    counts.append(len(drawn) - sum(counts))
    law = [*chances, 1 - chances.sum()]
    accepts_only(lambda right: chi_square(counts, right), law, skewed(law))


def test_large_decks_nearly_cancel_and_spread_as_they_should() -> None:
    m = jrr.MRR(200_000, own=3.0, card_rate=0.5, total_rate=0.6)
    cards = np.asarray(m.deal(jrr.SeededRandom(1))).astype(np.int64)
    assert abs(cards.sum()) < 60
    accepts_only(
        lambda sd: spread_test(cards, sd * 1.6),  # the cards' kurtosis is 6, not 3
        math.sqrt(m.masks.single) / 1.6,
        math.sqrt(m.masks.single * (1 + OFF)) / 1.6,
    )


def test_golden_decks() -> None:
    assert make_masked_decks.text() == make_masked_decks.PATH.read_text("utf-8")


@pytest.mark.slow_variants("10000-1500")
@pytest.mark.parametrize(("n", "decks"), [(100, 3_000), (1_000, 1_500), (10_000, 1_500)])
def test_what_lost_cards_leave_in_a_sum(n: int, decks: int) -> None:
    """Dealt decks, a tenth of each lost, against the closed form."""
    m = jrr.MRR.for_epsilon(1.0, n=n, lost=0.1, announced=False)
    source = jrr.SeededRandom(n)
    kept = n - n // 10
    sums = [int(np.asarray(m.deal(source))[:kept].astype(np.int64).sum()) for _ in range(decks)]
    sd = math.sqrt(m.masks.variance_of(kept))
    assert math.sqrt(m.masks.law(kept, 1).variance) == pytest.approx(sd, rel=1e-6)
    accepts_only(lambda wide: spread_test(sums, wide), sd, sd * math.sqrt(1 + OFF))


# Losses ---------------------------------------------------------------------------------------


@pytest.mark.slow_variants("4-0", "4-1")
@pytest.mark.parametrize(
    ("n", "told"), [(n, told) for n in (2, 3, 4) for told in range(3) if told < n]
)
def test_everything_is_the_formula_and_is_attained(n: int, told: int) -> None:
    """All reports, all other answers, and the cards of `told` others."""
    a, b, own = 0.7, 0.4, 2.0
    m = jrr.MRR(n, own=own, card_rate=a, total_rate=b)
    lie = 1 / (1 + math.exp(own))
    weight = closed(a, b)
    span = range(-3, 5) if n < 4 else range(-2, 4)
    worst = 0.0
    for others in itertools.product((0, 1), repeat=n - 1):
        for known in itertools.product((0, 1), repeat=told):
            pairs = [
                (
                    seen(weight, lie, (0, *others), reports, known),
                    seen(weight, lie, (1, *others), reports, known),
                )
                for reports in itertools.product(span, repeat=n)
            ]
            worst = max(worst, worst_loss(pairs))
    assert m.epsilon("everything", told) == pytest.approx(formula(own, a + b), rel=1e-14)
    assert worst == pytest.approx(m.epsilon("everything", told), rel=1e-12)
    assert m.epsilon("cards", told) == m.epsilon("everything", told)


@pytest.mark.parametrize("named", [(0, 1), (0, 1, 2), (1, 2)])
def test_announced_sums_are_the_formula_for_every_named_set(named: tuple[int, ...]) -> None:
    a, e, own, n = 0.3, 0.9, 2.0, 3
    lie = 1 / (1 + math.exp(own))

    def weight(announced: int) -> Any:
        return lambda z: (
            independent(a)(z) * math.exp(-e * abs(announced - sum(z[i] for i in named)))
        )

    worst = 0.0
    for others in itertools.product((0, 1), repeat=n - 1):
        for announced in range(-4, 5):
            pairs = [
                (
                    seen(weight(announced), lie, (0, *others), reports, ()),
                    seen(weight(announced), lie, (1, *others), reports, ()),
                )
                for reports in itertools.product(range(-3, 5), repeat=n)
            ]
            worst = max(worst, worst_loss(pairs))
    expected = formula(own, a + e if 0 in named else a)  # who is not named has the card alone
    assert worst == pytest.approx(expected, rel=1e-12)
    assert expected <= ANNOUNCED.epsilon("everything", 2) + 1e-14
    assert ANNOUNCED.epsilon("everything", 2) == pytest.approx(formula(own, a + e), rel=1e-14)


def test_the_undealt_sum_tells_no_more() -> None:
    """Four cards, two of them undealt: their sum is published."""
    a, b, own, reach = 0.9, 0.5, 2.0, 25
    lie = 1 / (1 + math.exp(own))
    weight = closed(a, b)
    worst = 0.0
    for undealt in range(-3, 4):

        def published(z: Any, total: int = undealt) -> float:
            return sum(weight((*z, u, total - u)) for u in range(-reach, reach + 1))

        pairs = [
            (seen(published, lie, (0, x), reports, ()), seen(published, lie, (1, x), reports, ()))
            for reports in itertools.product(range(-3, 5), repeat=2)
            for x in (0, 1)
        ]
        worst = max(worst, worst_loss(pairs))
    assert worst <= formula(own, a + b) + 1e-9


@pytest.mark.parametrize(("a", "b"), [(0.7, 0.4), (0.3, 1.2)])
def test_a_single_report_tells_at_most_what_is_said(a: float, b: float) -> None:
    own, n, reach = 2.0, 3, 40
    m = jrr.MRR(n, own=own, card_rate=a, total_rate=b)
    lie = 1 / (1 + math.exp(own))
    spread: dict[int, float] = {}
    for z in itertools.product(range(-reach, reach + 1), repeat=n - 1):
        spread[sum(z)] = spread.get(sum(z), 0.0) + math.exp(-a * sum(map(abs, z)))

    def card(z: int) -> float:
        return sum(w * math.exp(-a * abs(z) - b * abs(s + z)) for s, w in spread.items())

    pairs = [
        (
            (1 - lie) * card(y) + lie * card(y - 1),
            lie * card(y) + (1 - lie) * card(y - 1),
        )
        for y in range(-12, 14)
    ]
    assert worst_loss(pairs) <= m.epsilon("report") + 1e-12
    assert m.epsilon("report") <= m.epsilon("cards")


@pytest.mark.parametrize("k", [3, 4])
def test_more_values_by_one_coin_of_k_faces(k: int) -> None:
    """n = 2: k independent decks, the coin tells one value."""
    a, b, own = 0.6, 0.5, 1.5
    m = jrr.MRR(2, own=own, card_rate=a, total_rate=b, k=k)
    lie = float(m.moments.q[0])
    weight = closed(a, b)
    span = range(-1, 3) if k == 3 else range(0, 2)

    def likelihood(values: tuple[int, int], reports: tuple[tuple[int, ...], ...]) -> float:
        total = 0.0
        for coins in itertools.product(range(k), repeat=2):
            chance = math.prod(
                1 - (k - 1) * lie if c == v else lie for c, v in zip(coins, values, strict=True)
            )
            decks = (
                [row[v] - (c == v) for row, c in zip(reports, coins, strict=True)] for v in range(k)
            )
            total += chance * math.prod(weight(deck) for deck in decks)
        return total

    rows = list(itertools.product(span, repeat=k))
    far = [(3 if v == 0 else -3 if v == 1 else 0) for v in range(k)]
    pairs = [
        (likelihood((0, 2), (row, other)), likelihood((1, 2), (row, other)))
        for row in (*rows, tuple(far))
        for other in (tuple(far), tuple([0] * k))
    ]
    assert worst_loss(pairs) == pytest.approx(m.epsilon("everything", 1), rel=1e-12)


def test_more_values_by_a_coin_for_each() -> None:
    a, b, own, k = 0.6, 0.5, 1.5, 3
    m = jrr.MRR(2, own=own, card_rate=a, total_rate=b, k=k, coin="oue")
    lie = 1 / (1 + math.exp(own))
    weight = closed(a, b)

    def one(bits: tuple[bool, bool], reports: tuple[int, ...]) -> float:
        """One value's deck: the target's bit and the other's."""
        total = 0.0
        for coins in itertools.product((0, 1), repeat=2):
            chance = math.prod(
                0.5 if held else lie if coin else 1 - lie
                for held, coin in zip(bits, coins, strict=True)
            )
            total += chance * weight([y - c for y, c in zip(reports, coins, strict=True)])
        return total

    worst = 0.0
    for pair in itertools.product(itertools.product(range(-3, 5), repeat=2), repeat=2):
        first = one((True, False), pair[0]) * one((False, False), pair[1])
        second = one((False, False), pair[0]) * one((True, False), pair[1])
        worst = max(worst, abs(math.log(first / second)))
    assert worst == pytest.approx(m.epsilon("everything", 1), rel=1e-12)
    assert m.epsilon("everything", 1) == pytest.approx(formula(own, a + b), rel=1e-12)


def test_the_dealer_sees_the_coin() -> None:
    for m in (CLOSED, ANNOUNCED):
        assert m.epsilon("dealer") == pytest.approx(2.0, rel=1e-15)
        assert m.epsilon("dealer") <= 2.0
        assert m.own == m.epsilon("dealer")


def test_a_pure_guarantee_bounds_every_delta() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=1_000, announced=False)
    pure = m.epsilon("everything", 5)
    assert pure <= 1.0
    deltas = [m.epsilon("everything", 5, delta) for delta in (1e-9, 1e-6, 1e-3)]
    assert pure >= deltas[0] >= deltas[1] >= deltas[2] > 0.9
    law = m.losses(5)
    assert law.epsilon(0.0) >= pure - 1e-9


# Traps: what each would cost ---------------------------------------------------------------------


def test_trap_one_card_with_two_coins() -> None:
    a, b, own = 0.7, 0.4, 2.0
    lie = 1 / (1 + math.exp(own))
    weight = closed(a, b)

    def both(x: int, first: int, second: int, other: int) -> float:
        total = 0.0
        for c1, c2, c3 in itertools.product((0, 1), repeat=3):
            if first - c1 != second - c2:
                continue  # it is one card
            chance = math.prod(1 - lie if c == v else lie for c, v in ((c1, x), (c2, x), (c3, 0)))
            total += chance * weight([first - c1, other - c3])
        return total

    pairs = [
        (both(0, y1, y2, y3), both(1, y1, y2, y3))
        for y1, y2, y3 in itertools.product(range(-3, 5), repeat=3)
        if abs(y1 - y2) <= 1
    ]
    told = worst_loss(pairs)
    doubled = 2 * math.atanh(math.tanh(own) * math.tanh((a + b) / 2))
    assert told == pytest.approx(doubled, rel=1e-9)
    assert told > 1.2 * formula(own, a + b)


def test_trap_who_reports_depends_on_the_card() -> None:
    """Sending only cards z >= 0: a report of 0 must be the coin's 0, so the coin is bare."""
    a, b, own = 0.7, 0.4, 2.0
    lie = 1 / (1 + math.exp(own))
    plain = closed(a, b)

    def weight(z: Any) -> float:
        return plain(z) if z[0] >= 0 else 0.0

    pairs = [
        (seen(weight, lie, (0, 0), y, ()), seen(weight, lie, (1, 0), y, ()))
        for y in itertools.product(range(0, 4), range(-3, 4))
    ]
    assert worst_loss(pairs) == pytest.approx(own, rel=1e-12)


def test_trap_two_announcements() -> None:
    """With and without the target: together they tell its card better than c does."""
    a, e, own = 0.3, 0.9, 2.0
    lie = 1 / (1 + math.exp(own))

    def weight(first: int, second: int) -> Any:
        return lambda z: (
            independent(a)(z)
            * math.exp(-e * abs(first - z[0] - z[1]))
            * math.exp(-e * abs(second - z[1]))
        )

    pairs = [
        (
            seen(weight(s, t), lie, (0, 0), y, ()),
            seen(weight(s, t), lie, (1, 0), y, ()),
        )
        for s, t in itertools.product(range(-4, 5), repeat=2)
        for y in itertools.product(range(-3, 5), repeat=2)
    ]
    one = formula(own, a + e)
    assert worst_loss(pairs) <= one + 1e-9  # the target's card is in one of them only

    def doubled(s: int, t: int) -> Any:
        return lambda z: independent(a)(z) * math.exp(-e * abs(s - z[0] - z[1]) - e * abs(t - z[0]))

    lost = worst_loss(
        (
            seen(doubled(s, t), lie, (0, 0), y, ()),
            seen(doubled(s, t), lie, (1, 0), y, ()),
        )
        for s, t in itertools.product(range(-4, 5), repeat=2)
        for y in itertools.product(range(-3, 5), repeat=2)
    )
    assert lost > 1.2 * one  # in both: c is a + 2e
    assert lost == pytest.approx(formula(own, a + 2 * e), rel=1e-9)


@pytest.mark.parametrize("kind", ["clamped cards", "truncated tail", "exact zero sum"])
def test_trap_cards_that_are_not_as_weighted(kind: str) -> None:
    """Clamped or cut cards leave reports that only one coin can have made."""
    a, b, own, most = 0.7, 0.4, 2.0, 2
    lie = 1 / (1 + math.exp(own))
    plain = closed(a, b)

    def weight(z: Any) -> float:
        if kind == "exact zero sum":
            return math.exp(-a * sum(map(abs, z))) if sum(z) == 0 else 0.0
        if max(map(abs, z)) > most:
            return 0.0
        if kind == "clamped cards":
            ends = [
                range(x, x + 30) if x == most else range(x - 29, x + 1) if x == -most else (x,)
                for x in z
            ]
            return sum(plain(full) for full in itertools.product(*ends))
        return plain(z)

    pairs = []
    for y in itertools.product(range(-most, most + 2), repeat=2):
        known = (0,)  # the other's coin is known: a colluder
        low, high = (seen(weight, lie, (x, 0), y, known) for x in (0, 1))
        if low and high:
            pairs.append((low, high))
    assert worst_loss(pairs) == pytest.approx(own, rel=1e-9)
    assert own > 1.5 * formula(own, a + b)


def test_clamping_reports_is_harmless_and_rare() -> None:
    m = jrr.MRR(10, own=2.0, card_rate=0.5, total_rate=0.4)
    most = m.limit + 1
    assert m.respond_one(1, most, Given(1 << 63)) == most  # most + 1, clamped
    assert m.respond_one(0, -most, Given((1 << 64) - 1)) == -m.limit
    assert 10 * math.exp(-0.5 * most) < 1e-6  # any card of the deck


# Reports and estimates ---------------------------------------------------------------------------


MECHANISMS = [
    jrr.MRR.for_epsilon(1.0, n=50, announced=False),
    jrr.MRR.for_epsilon(1.0, n=50, announced=True),
    jrr.MRR(50, own=3.0, card_rate=0.3, total_rate=0.8, k=4),
    jrr.MRR(50, own=3.0, card_rate=0.3, announced_rate=0.8, k=4, coin="oue"),
]


@pytest.mark.parametrize("m", MECHANISMS, ids=lambda m: f"k={m.k} {m.coin} {m.announced}")
def test_round_trips(m: jrr.MRR) -> None:
    assert jrr.from_json(m.to_json()) == m
    deck, rng = m.deal(jrr.SeededRandom(4)), jrr.SeededRandom(6)
    values = np.arange(50) % m.k
    reports = m.respond(values, deck, rng)
    form = m.report_format
    assert np.array_equal(form.unpack(form.pack(np.asarray(reports))), reports)
    assert np.array_equal(form.from_columns(form.to_columns(np.asarray(reports))), reports)
    cards = m.card_format
    for place in range(5):
        card = np.asarray(deck)[place]
        plain: Any = int(card) if m.k == 2 else card.astype("<i2").tobytes()
        assert cards.card_from_json(cards.card_to_json(plain)) == plain
        one = m.respond_one(int(values[place]), plain, jrr.SeededRandom(place))
        assert m.report_from_json(m.report_to_json(one)) == one
    tally = m.tally(reports[:30]) + m.tally(reports[30:])
    assert tally == m.tally(reports)
    assert jrr.Tally.from_json(tally.to_json()) == tally


@pytest.mark.parametrize("m", MECHANISMS, ids=lambda m: f"k={m.k} {m.coin} {m.announced}")
def test_one_by_one_and_together_are_the_same_words(m: jrr.MRR) -> None:
    deck = np.asarray(m.deal(jrr.SeededRandom(4)))
    values = np.arange(50) % m.k
    together = m.respond(values, deck, jrr.SeededRandom(9))
    source = jrr.SeededRandom(9)
    for place in range(50):
        card: Any = int(deck[place]) if m.k == 2 else deck[place].astype("<i2").tobytes()
        one = m.respond_one(int(values[place]), card, source)
        row = m.report_format.from_list([one])
        assert np.array_equal(np.asarray(row)[0], together[place])


@pytest.mark.slow_variants("k=4 Choice(k=4) False]")
@pytest.mark.parametrize("m", MECHANISMS, ids=lambda m: f"k={m.k} {m.coin} {m.announced}")
def test_estimates_are_unbiased_and_spread_as_predicted(m: jrr.MRR) -> None:
    """Person by person, a fifth lost; and by simulation, which touches nobody."""
    rng = jrr.SeededRandom(21)
    values = np.repeat(np.arange(m.k), [16, 24] if m.k == 2 else [4, 12, 16, 8])
    true = np.bincount(values)
    runs = 1_200
    found = np.empty((runs, m.k))
    for run in range(runs):
        deck = m.deal(rng)
        reports = m.respond(values, deck[:40], rng)
        told: dict[str, Any] = {}
        if m.announced:
            told["announced"] = m.announce(deck, np.arange(40), rng)
        found[run] = m.estimate(reports, **told).counts
    simulated = jrr.simulate(m, true, SURVEYS, jrr.SeededRandom(22))
    sd = np.sqrt(m.variance(true)) * np.ones(m.k)
    for value in range(m.k):
        predicted = float(sd[value])
        for samples in (found[:, value], simulated[:, value]):
            accepts_only(
                partial(_mean_p_value, samples, predicted),
                float(true[value]),
                float(true[value] + OFF * predicted),
            )
        accepts_only(
            partial(spread_test, simulated[:, value]),
            predicted,
            predicted * math.sqrt(1 + OFF),
        )
        ratio = found[:, value].var() / sd[value] ** 2
        assert 0.85 < ratio < 1.15


def _mean_p_value(samples: Any, sd: float, mean: float) -> float:
    return mean_test(samples, mean, sd)


def test_the_undealt_sum_shortens_error_bars() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=200, announced=False)
    deck, rng = m.deal(jrr.SeededRandom(3)), jrr.SeededRandom(8)
    reports = m.respond([1] * 60 + [0] * 60, deck[:120], rng)
    undealt = m.undealt_sum(deck, np.arange(120, 190))
    without = m.estimate(reports)
    known = m.estimate(reports, undealt=(undealt, 70))
    assert (known.stderr < 0.6 * without.stderr).all()
    assert abs(known.counts[1] - 60) < 6 * known.count_stderr[1]


def test_people_without_a_card_are_kept_apart() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=300, announced=False)
    rng = jrr.SeededRandom(5)
    carded = m.tally(m.respond([1] * 100 + [0] * 200, m.deal(rng), rng))
    late = m.tally(m.respond([1] * 50 + [0] * 50, rng=rng))
    assert late.cardless != (0, 0)
    both = m.estimate(carded + late)
    assert both.n == 400
    alone = jrr.RR(epsilon=m.epsilon("everything")).variance([50, 50])
    expected = m.variance([200, 100]) + alone
    assert np.allclose(both.count_stderr**2, expected, rtol=1e-6)
    low, high = both.interval(0.95)
    assert (high - low > 3.5 * both.stderr).all()


def test_weights() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=300, announced=False)
    rng = jrr.SeededRandom(5)
    reports = m.respond([1] * 100 + [0] * 200, m.deal(rng), rng)
    weighted = m.estimate(m.tally(reports, weights=np.full(300, 2.0)))
    plain = m.estimate(np.asarray(reports), carded=True)
    assert np.allclose(weighted.counts, 2 * plain.counts)
    assert np.allclose(weighted.stderr, plain.stderr)
    uneven = m.estimate(m.tally(reports, weights=np.linspace(0.5, 1.5, 300)))
    assert (uneven.stderr > plain.stderr).all()  # unequal weights undo some of the cancelling
    tally = m.tally(reports, weights=np.linspace(0.5, 1.5, 300))
    assert type(tally).from_json(tally.to_json()).to_dict() == tally.to_dict()
    announced = jrr.MRR.for_epsilon(1.0, n=300, announced=True)
    masked = announced.respond([1] * 300, announced.deal(rng), rng)
    with pytest.raises(ArgumentError, match="weights must be the same for everybody whose cards"):
        announced.estimate(announced.tally(masked, weights=np.ones(300)))


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jrr.MRR(1, own=3.0, card_rate=0.3, total_rate=0.8), "n must be"),
        (lambda: jrr.MRR(10, own=3.0, card_rate=0.3), "exactly one of total_rate"),
        (lambda: jrr.MRR(10, own=3.0, card_rate=0.3, total_rate=1, announced_rate=1), "exactly"),
        (lambda: jrr.MRR(10, own=3.0, card_rate=0.0001, total_rate=1), "card_rate must be"),
        (lambda: jrr.MRR(10, own=3.0, p=0.9, card_rate=0.3, total_rate=1), "own and p"),
        (lambda: jrr.MRR(10, own=3.0, card_rate=0.3, total_rate=1, coin="oue"), "coin must be"),
        (
            lambda: jrr.MRR(10, own=3.0, card_rate=0.3, total_rate=0.8, alone=0.4),
            "alone must be",
        ),
        (
            lambda: jrr.MRR.for_epsilon(1.0, n=10, dealer_epsilon=0.5, announced=False),
            "dealer_epsilon must be above epsilon=1.0",
        ),
        (lambda: jrr.MRR.for_epsilon(1.0, n=10, lost=1.0, announced=False), "lost must be in"),
        (lambda: jrr.plan(10, 1.0, lost=-0.1), "lost must be in"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_reports_outside_the_clamp_are_refused() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=10, announced=False)
    for strange in (m.limit + 2, -m.limit - 1):
        with pytest.raises(ArgumentError, match="reports must be whole numbers in"):
            m.tally([0, strange])
        with pytest.raises(ArgumentError, match="report must be"):
            m.report_from_json({"carded": True, "report": strange})
    with pytest.raises(ArgumentError):
        m.tally([0.5, 1.0])


def test_announcements_are_refused_where_they_would_harm() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=10, announced=True)
    deck = m.deal()
    for named, message in (
        ([0, 99], "named must be"),
        ([0, 0, 1], "every place once"),
        ([3], "at least 2 places"),
    ):
        with pytest.raises(ArgumentError, match=message):
            m.announce(deck, named)
    m.announce(deck, [0, 1, 2])
    with pytest.raises(ArgumentError, match="not announced yet"):
        m.announce(deck[:5], [0, 1])
    closed_one = jrr.MRR.for_epsilon(1.0, n=10, announced=False)
    with pytest.raises(ArgumentError, match="announced_rate above 0"):
        closed_one.announce(closed_one.deal(), [0, 1])
    reports = m.respond([1] * 10, m.deal())
    with pytest.raises(ArgumentError, match="announced must be the sum"):
        m.estimate(reports)
    with pytest.raises(ArgumentError, match="None for a closed deck"):
        closed_one.estimate(closed_one.respond([1] * 10, closed_one.deal()), announced=3)


def test_tallies_that_are_settled_in_part_are_refused() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=20, announced=True)
    tallies = []
    for name in ("a", "b"):
        deck = m.deal()
        tally = m.tally(m.respond([1] * 20, deck), deck=name)
        tallies.append((tally, m.announce(deck)))
    (first, told), (second, later) = tallies
    settled = m.settle(first, announced=told, cards=20)
    with pytest.raises(ArgumentError, match="got it for 20 of 40 reports"):
        m.estimate(settled + second)
    with pytest.raises(ArgumentError, match="the masks are off these reports"):
        m.settle(settled, announced=told)
    with pytest.raises(ArgumentError, match="cards must be 20"):
        m.settle(second, announced=later, cards=10)
    assert m.estimate(settled + m.settle(second, announced=later)).n == 40


# -- announced sums remember of how many cards they are -----------------------------------------

SEVERAL_KINDS: list[Any] = [
    jrr.MRR.for_epsilon(1.0, n=200),
    jrr.MRR.for_epsilon(1.0, n=200, k=4),
    jrr.MRR(200, own=3.0, card_rate=0.3, announced_rate=0.8, k=4, coin="oue"),
    jrr.MRR(200, own=3.0, card_rate=0.03, announced_rate=0.05, coin=jrr.Window(12, 4)),
]
every_kind = pytest.mark.parametrize("m", SEVERAL_KINDS, ids=str)


@every_kind
@pytest.mark.parametrize("vanished", [1, 20, 150])
def test_a_sum_of_other_cards_than_the_reports_have_is_refused(m: Any, vanished: int) -> None:
    deck, left = m.deal(), 200 - vanished
    reports = m.respond(np.arange(200) % m.k, deck)
    came, late = reports[:left], m.respond([1, 0])
    whole = m.announce(np.asarray(deck))
    message = f"announced must be .* {left} reports with a card, got one of 200 cards.*named="
    for wrong in (whole, [whole], (whole,), pickle.loads(pickle.dumps(whole)), copy.copy(whole)):
        with pytest.raises(ArgumentError, match=message):
            m.estimate(came, announced=wrong)
        with pytest.raises(ArgumentError, match=message):
            m.settle(m.tally(came), announced=wrong)
        with pytest.raises(ArgumentError, match=message):
            m.estimate(m.tally(came) + m.tally(late), announced=wrong)
    used = m.announce(np.asarray(deck), named=range(left))
    assert used.cards == left
    assert m.estimate(came, announced=used).n == left
    assert m.estimate(m.tally(came) + m.tally(late), announced=used).n == left + 2
    with pytest.raises(ArgumentError, match=f"these 200 reports with a card, got one of {left}"):
        m.estimate(reports, announced=used)
    # Plain numbers say nothing of it.
    plain = json.loads(json.dumps(whole))
    assert type(plain) in (int, list)
    assert m.estimate(came, announced=plain).n == left
    # Of several sums it is all of their cards together.
    parts = [m.announce(np.asarray(deck), named=part) for part in (range(9), range(9, left))]
    assert m.estimate(came, announced=parts).n == left
    with pytest.raises(ArgumentError, match=message.replace("200 cards", f"{left + 9} cards")):
        m.estimate(came, announced=[*parts, parts[0]])


@every_kind
def test_numbers_refuse_sums_of_other_cards(m: Any) -> None:
    if m.k > 2:
        return
    question = jrr.Numbers(0, 10, m)
    deck = question.deal()
    reports = question.respond(np.linspace(0, 10, 200), deck)
    with pytest.raises(ArgumentError, match="199 reports with a card, got one of 200 cards"):
        question.estimate(reports[:-1], announced=m.announce(deck))


def test_announced_sums_are_plain_numbers_in_every_other_way() -> None:
    for m in SEVERAL_KINDS[:2]:
        told = m.announce(m.deal(), rng=jrr.SeededRandom(3))
        assert isinstance(told, int if m.k == 2 else list)
        same: list[Any] = [copy.copy(told), copy.deepcopy(told), pickle.loads(pickle.dumps(told))]
        for one in same:
            assert (one, one.cards, type(one)) == (told, 200, type(told))
        assert json.loads(json.dumps({"sum": told})) == {"sum": told}
        assert json.dumps(told) == str(told)
    assert type(SEVERAL_KINDS[0].announce(SEVERAL_KINDS[0].deal()) + 1) is int


def test_sums_of_several_dealers_cover_the_reports() -> None:
    """A report has a card of each of them, or of some."""
    m = jrr.MRR(20, own=3.0, card_rate=0.5, announced_rate=0.9, dealers=2)
    decks = [np.asarray(m.deal()) for _ in range(2)]
    reports = m.respond([1] * 20, decks)
    told = [m.announce(deck) for deck in decks]
    assert m.estimate(reports, announced=told).n == 20
    with pytest.raises(ArgumentError, match="19 reports with a card, got one of 40 cards"):
        m.estimate(reports[:19], announced=told)
    fewer = [told[0], m.announce(decks[1], named=range(15))]  # five had the first dealer's alone
    assert m.estimate(reports, announced=fewer).n == 20
    with pytest.raises(ArgumentError, match="20 reports with a card, got one of 15 cards"):
        m.estimate(reports, announced=fewer[1:])
    by_group = [m.announce(deck, part) for deck in decks for part in (range(9), range(9, 20))]
    assert m.estimate(reports, announced=by_group).n == 20
    with pytest.raises(ArgumentError, match="18 reports with a card, got one of 40 cards"):
        m.estimate(reports[:18], announced=by_group)


def test_a_card_far_beyond_the_clamp_is_dealt_as_it_is() -> None:
    m = jrr.MRR(10, own=3.0, card_rate=0.5, announced_rate=0.9)
    form = m.card_format
    assert form.most == 32_767 > 100 * m.limit
    far = m.limit + 5  # such a card is dealt as it is
    assert form.check_card(far) == far
    assert m.respond_one(0, far, Given((1 << 64) - 1)) == m.limit + 1
    together = m.respond([0, 1], [far, -far], jrr.SeededRandom(1))
    assert together.tolist() == [m.limit + 1, -m.limit]


def test_mixed_decks_are_refused() -> None:
    first, second = (
        jrr.MRR.for_epsilon(1.0, n=10, announced=False),
        jrr.MRR.for_epsilon(2.0, n=10, announced=False),
    )
    tallies = [m.tally(m.respond([1] * 10, m.deal())) for m in (first, second)]
    with pytest.raises(ArgumentError, match="one mechanism"):
        _ = tallies[0] + tallies[1]
    with pytest.raises(ArgumentError, match="at most 10"):
        first.estimate(np.concatenate([first.respond([1] * 10, first.deal())] * 2))
    deck = first.deal()
    first.respond([1] * 10, deck)
    with pytest.raises(ArgumentError, match="used before"):
        first.respond([1] * 10, deck)


# Planning -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "epsilon", "lost", "announced", "share"),
    [
        (1_000, 1.0, 0.01, False, 0.13),
        (10_000, 1.0, 0.01, False, 0.10),
        (1_000, 1.0, 0.10, True, 0.07),
        (10_000, 1.0, 0.10, True, 0.07),
        (10_000, 0.1, 0.01, False, 0.04),
        (1_000, 0.1, 0.10, True, 0.006),
    ],
)
def test_share_of_the_variance_of_rr(
    n: int, epsilon: float, lost: float, announced: bool, share: float
) -> None:
    request = Request(n, epsilon, 5, dealer_epsilon=epsilon + 2, lost=lost, announced=announced)
    m, rr = jrr.MRR.best(request), jrr.RR.best(request)
    assert isinstance(m, jrr.MRR)
    assert m.epsilon("everything", n - 1) <= epsilon
    assert m.epsilon("dealer") <= epsilon + 2
    assert request.expected_variance(m) <= share * request.expected_variance(rr)
    reporters = round(n * (1 - lost))
    counts = [reporters - reporters // 10, reporters // 10]
    assert m.variance(counts)[1] <= share * rr.variance(counts)[1]


def test_near_the_optimum_of_central_privacy() -> None:
    """Nothing lost, a coin that hardly lies: the collector's noise is nearly one Laplace number."""
    request = Request(10_000, 0.1, dealer_epsilon=8.0)
    m = jrr.MRR.best(request)
    central = 1 / (2 * math.sinh(0.05) ** 2)
    assert m.variance([5_000, 5_000])[1] <= 1.35 * central


@pytest.mark.parametrize("k", [2, 3, 16])
def test_no_design_nearby_is_better(k: int) -> None:
    """A search over a fine grid of coins and shares finds nothing better by more than 1%."""
    request = Request(500, 0.7, dealer_epsilon=2.7, k=k, lost=0.02)
    best = request.expected_variance(jrr.MRR.best(request))
    for coin in ("rr",) if k == 2 else ("rr", "oue"):
        for own in np.linspace(0.9, 2.7, 7):
            steps = np.linspace(0.02, 4.0, 400)
            for share in np.linspace(0.1, 0.9, 9):
                made = None
                low, high = 0, len(steps) - 1  # ε rises with the step: the largest that keeps it
                while low < high:
                    middle = (low + high + 1) // 2
                    c = float(steps[middle])
                    tried = jrr.MRR(
                        500,
                        own=float(own),
                        card_rate=share * c,
                        total_rate=(1 - share) * c,
                        k=k,
                        coin=coin,
                    )
                    if tried.epsilon("cards") <= 0.7:
                        low, made = middle, tried
                    else:
                        high = middle - 1
                if made is not None:
                    assert request.expected_variance(made) > 0.99 * best


def test_plans_choose_masks_and_hold_without_a_delta() -> None:
    plan = jrr.plan(10_000, 1.0, view="everything", delta=0)
    assert plan.mechanism.name == "MRR"
    assert plan.everything(0.0) <= 1.0
    assert {row.name for row in plan.compare()} == {"RR", "MRR"}
    assert jrr.plan(10_000, 1.0).mechanism.name == "MRR"
    assert jrr.Plan.from_json(plan.to_json()).mechanism == plan.mechanism
    announced = jrr.plan(10_000, 1.0, lost=0.3, announced=True)
    assert isinstance(announced.mechanism, jrr.MRR)
    assert announced.mechanism.announced
    assert announced.stderr(0.1) < 0.3 * jrr.plan(10_000, 1.0, lost=0.3, mechanism="rr").stderr(0.1)


def test_a_coin_without_a_card_that_tells_more_is_counted() -> None:
    quiet = jrr.MRR(10, own=3.0, card_rate=0.3, total_rate=0.8)
    loud = jrr.MRR(10, own=3.0, card_rate=0.3, total_rate=0.8, alone=0.9)
    alone = jrr.RR(p=0.9).epsilon("report")
    assert alone > quiet.epsilon("everything", 9)
    for view in ("report", "cards", "everything"):
        assert loud.epsilon(view, 5) == alone
    assert loud.epsilon("everything", 5, 1e-6) <= alone
    assert loud.epsilon("dealer") == quiet.epsilon("dealer")
