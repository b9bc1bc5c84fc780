"""Decks of whole numbers that nearly cancel: Pr[z] proportional to exp(-a Σ|z_j| - b |Σ z_j|).

e^(-a |z|) is the law of the difference of two geometric numbers, so a deck is n piles of plus
tokens and n piles of minus tokens. The minus piles are drawn one by one. Then the number of plus
tokens is drawn near that of the minus tokens, and accepted with the chance that n piles would hold
as many; the tokens are spread over the piles, all ways being equally likely.
"""

from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from jrr._base.randomness import BLOCK, RandomSource
from jrr.mechanisms.draws import random_places, uniform_places
from jrr.mechanisms.token_laws import PileTokens, TokenLaw
from jrr.mechanisms.whole_noise import discrete_laplace, geometric, happens

Ints = NDArray[np.int64]
_DENSE = 16  # places for each that is chosen, up to which a coin for every place is quicker


def closed_deck(n: int, card_rate: float, total_rate: float, source: RandomSource) -> Ints:
    """One deck of n whole numbers whose sum is small.

    Args:
        n: cards, at least 2.
        card_rate: a, above 0.
        total_rate: b, above 0.
        source: where randomness comes from.
    """
    law = pile_tokens(n, card_rate)
    while True:
        cards = geometric(card_rate, n, source)  # the minus piles
        tokens = int(cards.sum()) + int(discrete_laplace(total_rate, 1, source)[0])
        if tokens >= 0 and kept(law, tokens, source):
            break
    np.negative(cards, out=cards)
    cards += uniform_piles(tokens, n, source)
    return cards


def closed_totals(
    n: int, card_rate: float, total_rate: float, source: RandomSource
) -> tuple[int, int]:
    """How many minus and plus tokens a deck has, without drawing its cards; as `closed_deck`."""
    law = pile_tokens(n, card_rate)
    while True:
        minus = draw_tokens(law, source)
        plus = minus + int(discrete_laplace(total_rate, 1, source)[0])
        if plus >= 0 and kept(law, plus, source):
            return minus, plus


def kept(law: TokenLaw, tokens: int, source: RandomSource) -> bool:
    """True with the chance of so many tokens by that of the likeliest number."""
    return happens(*law.log_ratio(tokens), partial(law.exact_log_ratio, tokens), source)


def draw_tokens(law: TokenLaw, source: RandomSource) -> int:
    """A number of tokens; every number has exactly its chance."""
    mode, rate = law.mode, 1 / law.width
    while True:
        tokens = mode + int(discrete_laplace(rate, 1, source)[0])
        if tokens < 0 or (law.most is not None and tokens > law.most):
            continue
        if happens(*law.chance(tokens), partial(law.exact_chance, tokens), source):
            return tokens


def uniform_piles(tokens: int, n: int, source: RandomSource) -> Ints:
    """Spread tokens over n piles, every way being equally likely: the gaps between n-1 bars."""
    if n == 1:
        return np.array([tokens], np.int64)
    bars = _subset(tokens + n - 1, n - 1, source)
    piles = np.empty(n, np.int64)
    piles[0], piles[-1] = bars[0], tokens + n - 2 - bars[-1]
    np.subtract(bars[1:], bars[:-1], out=piles[1:-1])
    piles[1:-1] -= 1
    return piles


@lru_cache(64)  # asked for again with every deck
def pile_tokens(n: int, rate: float) -> PileTokens:
    """The law of the tokens in n piles; its mode is found once."""
    return PileTokens(n, rate)


def _subset(size: int, count: int, source: RandomSource) -> Ints:
    """`count` of the places 0..size-1, every choice being equally likely, in rising order."""
    if size <= _DENSE * count:
        return _dense_subset(size, count, source)
    found = np.empty(0, np.int64)
    while len(found) < count:
        more = uniform_places(size, count - len(found) + (count >> 4) + 8, source)
        found = np.concatenate((found, more))
        _, first = np.unique(found, return_index=True)
        if len(first) < len(found):
            first.sort()
            found = found[first]
    found = found[:count]
    found.sort()
    return found


def _dense_subset(size: int, count: int, source: RandomSource) -> Ints:
    """A coin for every place; then random places are turned until as many are chosen as wanted.

    Coins do not know their places and neither do the turns, so every choice is equally likely.
    """
    threshold = min(round(count / size * (1 << 32)), (1 << 32) - 1)
    chosen = np.empty(size, np.bool_)
    for start in range(0, size, 2 * BLOCK):
        block = chosen[start : start + 2 * BLOCK]
        coins = source.words(-(-len(block) // 2)).astype("<u8", copy=False).view("<u4")
        np.less(coins[: len(block)], np.uint32(threshold), out=block)
    surplus = int(np.count_nonzero(chosen)) - count
    tries = size // max(1, min(count, size - count)) + 1

    def fits(places: Ints) -> NDArray[np.bool_]:
        return np.equal(chosen[places], surplus > 0)

    for turned in random_places(size, abs(surplus), tries, fits, source):
        chosen[turned] ^= True
    return np.flatnonzero(chosen)
