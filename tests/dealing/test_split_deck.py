"""A deck that is dealt block by block has the law of one that is dealt as a whole."""

import decimal
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import jrr
from jrr.dealing.deck import Deck
from jrr.dealing.split_deck import RowDecks, SplitDeck
from jrr.errors import ArgumentError
from jrr.mechanisms.masked_deck import _exact_floor, _exactly_below
from jrr.mechanisms.token_laws import PileTokens, SplitTokens
from tests.statistics_rules import OFF, accepts_only, chi_square, mean_test, skewed, spread_test

KEY = bytes(range(32))


def ways(tokens: int, piles: int) -> int:
    return math.comb(tokens + piles - 1, piles - 1)


@pytest.mark.parametrize("blocks", [(1, 2), (2, 1), (1, 1)])
def test_splitting_enumerated(blocks: tuple[int, int]) -> None:
    """Totals, then a split, then piles: exactly the chances of piles drawn as a whole."""
    n = sum(blocks)
    for tokens in range(7):
        for piles in itertools.product(range(tokens + 1), repeat=n):
            if sum(piles) != tokens:
                continue
            left = sum(piles[: blocks[0]])
            weights = [ways(g, blocks[0]) * ways(tokens - g, blocks[1]) for g in range(tokens + 1)]
            split = Fraction(weights[left], sum(weights))
            inside = ways(left, blocks[0]) * ways(tokens - left, blocks[1])
            assert split / inside == Fraction(1, ways(tokens, n))


@pytest.mark.slow_variants("2-1]", "4-1]")
@pytest.mark.parametrize(("n", "block"), [(2, 1), (3, 2), (4, 1)])
def test_decks_have_their_law(n: int, block: int) -> None:
    """All cards together, against the weights; and against decks whose blocks are not tied."""
    a, b, runs = 1.6, 0.7, 2_000
    m = jrr.MRR(n, own=3.0, card_rate=a, total_rate=b)
    drawn = Counter(
        tuple(SplitDeck(m, KEY, number, block=block).cards_from(0, n).tolist())
        for number in range(runs)
    )

    def law(total_rate: float) -> dict[tuple[int, ...], float]:
        weights = {
            z: math.exp(-a * sum(map(abs, z)) - total_rate * abs(sum(z)))
            for z in itertools.product(range(-6, 7), repeat=n)
        }
        whole = sum(weights.values())
        return {z: weight / whole for z, weight in weights.items()}

    right = law(b)
    likely = [z for z, chance in right.items() if runs * chance > 6]
    counts = [drawn[z] for z in likely]
    counts.append(runs - sum(counts))

    def chances(of: dict[tuple[int, ...], float]) -> list[float]:
        told = [of[z] for z in likely]
        return [*told, 1 - sum(told)]

    def p_value(told: list[float]) -> float:
        return chi_square(counts, told)

    accepts_only(p_value, chances(right), skewed(chances(right)))
    accepts_only(p_value, chances(right), chances(law(0.0)))


def test_a_large_deck_nearly_cancels_and_spreads_as_it_should() -> None:
    """100 decks of 3,000 in blocks of 128, the last one short."""
    m = jrr.MRR(3_000, own=3.0, card_rate=0.5, total_rate=0.6)
    decks = np.array(
        [SplitDeck(m, KEY, number, block=128).cards_from(0, m.n) for number in range(100)], np.int64
    )
    single, total = math.sqrt(m.masks.single), math.sqrt(m.masks.variance_of(m.n))
    cards = decks.ravel()[:100_000]
    accepts_only(
        lambda sd: spread_test(cards, sd * 1.6), single / 1.6, single * math.sqrt(1 + OFF) / 1.6
    )
    accepts_only(lambda mean: mean_test(cards, mean, single), 0.0, OFF)
    assert np.abs(decks.sum(axis=1)).max() < 8 * total
    # Parts of a deck spread as parts of a deck that was dealt as a whole.
    sums, part = decks[:, :1_000].sum(axis=1), math.sqrt(m.masks.variance_of(1_000))
    assert spread_test(sums, part) > 1e-3
    assert spread_test(sums, 2 * part) < 1e-6


@pytest.mark.parametrize("k", [2, 3])
def test_blocks_are_the_same_whoever_asks(k: int) -> None:
    m = jrr.MRR(1_000, own=3.0, card_rate=0.5, total_rate=0.6, k=k)
    whole = SplitDeck(m, KEY, 3, block=64).cards_from(0, 1_000)
    assert whole.shape == ((1_000,) if k == 2 else (1_000, 3))
    m.respond(np.zeros(1_000, np.int64), whole, jrr.SeededRandom(1))  # they are cards
    for first, count in ((0, 0), (999, 1), (63, 2), (100, 700), (640, 360)):
        part = SplitDeck(m, KEY, 3, block=64).cards_from(first, count)
        assert np.array_equal(part, whole[first : first + count])
    kept = SplitDeck(m, KEY, 3, block=64)
    assert np.array_equal(
        np.concatenate([kept.cards_from(at, 100) for at in range(0, 1_000, 100)]), whole
    )
    others = (SplitDeck(m, KEY, 4, block=64), SplitDeck(m, bytes(32), 3, block=64))
    assert not any(np.array_equal(other.cards_from(0, 1_000), whole) for other in others)
    kept.forget()


@pytest.mark.parametrize(
    "m", [jrr.MRR(100, own=3.0, card_rate=0.5, total_rate=0.6), jrr.DRR(100, truth=0.3)], ids=str
)
def test_rows_are_dealt_deck_after_deck(m: jrr.MRR | jrr.DRR) -> None:
    made = SplitDeck if m.masked else Deck
    whole = np.concatenate([made(m, KEY, number).cards_from(0, 100) for number in range(4)])
    decks = RowDecks(m, KEY)
    for first, count in ((0, 100), (99, 2), (50, 300), (399, 1)):
        assert np.array_equal(decks.cards(first, count), whole[first : first + count])
    with pytest.raises(ArgumentError, match="deals cards"):
        RowDecks(jrr.RR(2, epsilon=1.0), KEY)


def test_decimals_of_the_caller_change_nothing() -> None:
    """Fifty digits are fifty digits, also where a context has three."""

    def drawn() -> list[object]:
        piles, split = PileTokens(10**9, 1.09), SplitTokens(10**6, 700_000, 300_000)
        exact = [law.exact_chance(law.mode + far) for law in (piles, split) for far in (-50, 7)]
        words = jrr.SeededRandom(5)
        happened = [_exactly_below(x, words.word(), words) for x in exact * 20]
        return [piles.mode, exact, happened, [_exact_floor(0.01, 9, words) for _ in range(20)]]

    usual = drawn()
    with decimal.localcontext() as context:
        context.prec = 3
        context.traps[decimal.Inexact] = True
        assert drawn() == usual


def test_refusals() -> None:
    m = jrr.MRR(100, own=3.0, card_rate=0.5, total_rate=0.6)
    deck = SplitDeck(m, KEY, 0)
    assert KEY.hex() not in repr(deck)
    with pytest.raises(ArgumentError, match="count must be"):
        deck.cards_from(90, 11)
    for other in (jrr.MRR.for_epsilon(1.0, n=100, announced=True), jrr.DRR(100, truth=0.3)):
        with pytest.raises(ArgumentError, match="closed deck"):
            SplitDeck(other, KEY, 0)
