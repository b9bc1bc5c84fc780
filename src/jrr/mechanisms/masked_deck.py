"""Decks of whole numbers that nearly cancel: Pr[z] proportional to exp(-a Σ|z_j| - b |Σ z_j|).

e^(-a |z|) is the law of the difference of two geometric numbers, so a deck is n piles of plus
tokens and n piles of minus tokens. The minus piles are drawn one by one. Then the number of plus
tokens is drawn near that of the minus tokens, and accepted with the chance that n piles would hold
as many; the tokens are spread over the piles, all ways being equally likely.

A geometric number is floor(-ln U / rate), U uniform in (0, 1). The first 64 bits of U and floating
point nearly always decide; where they do not, decimals of growing precision and further words do.
So every value has exactly the chance that it should have, also in the far tails, where privacy is
decided, and the same words make the same numbers on every machine.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from jrr._base.randomness import BLOCK, RandomSource, Words
from jrr.mechanisms.draws import random_places, uniform_places
from jrr.mechanisms.token_laws import PileTokens, TokenLaw

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


_SLACK = 2.0**-48  # far above what floating point loses in a logarithm, relative or absolute
_SMALL = 1 << 24  # words below it say too little of U for floating point
_DIGITS = 50  # of decimals at first


def geometric(rate: float, count: int, source: RandomSource) -> Ints:
    """Independent numbers g >= 0 with Pr[g] = (1 - r) r^g, where r = e^-rate.

    Args:
        rate: above 0.
        count: how many.
        source: where randomness comes from.

    Example:
        >>> from jrr._base.randomness import SeededRandom
        >>> geometric(5.0, 4, SeededRandom(1)).tolist()
        [0, 0, 0, 0]
    """
    if count == 1:  # of a small deck's total: arrays would cost more than the logarithm
        return np.array([_floor(rate, source.word(), source)], np.int64)
    numbers = np.empty(count, np.int64)
    for start in range(0, count, BLOCK):
        block = numbers[start : start + BLOCK]
        block[:] = _floors(rate, source.words(len(block)), source)
    return numbers


def discrete_laplace(rate: float, count: int, source: RandomSource) -> Ints:
    """Independent numbers z with Pr[z] proportional to e^(-rate |z|)."""
    up = geometric(rate, count, source)
    up -= geometric(rate, count, source)
    return up


def happens(
    logarithm: float, error: float, exact: Callable[[], Decimal], source: RandomSource
) -> bool:
    """True with the chance e^x, x <= 0.

    Args:
        logarithm: x, in floating point.
        error: how far off that is at most.
        exact: x to fifty digits; called where floating point does not decide.
        source: where randomness comes from.
    """
    word = source.word()
    if word >= _SMALL:
        drawn = math.log((word + 0.5) * 2.0**-64)
        unsure = error + _SLACK * (1 - drawn) + 2 / word
        if abs(drawn - logarithm) > unsure:
            return drawn < logarithm
    return _exactly_below(exact(), word, source)


def _floors(rate: float, words: Words, source: RandomSource) -> Ints:
    """floor(-ln U / rate), U beginning with these words."""
    scaled = (words.astype(np.float64) + 0.5) * 2.0**-64
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        known = 2 / (words.astype(np.float64) * rate)
    np.log(scaled, out=scaled)
    scaled *= -1 / rate
    known += _SLACK * (scaled + 1 / rate)
    floors = np.floor(scaled)
    np.subtract(scaled, floors, out=scaled)
    unsure = (scaled < known) | (scaled > 1 - known) | (words < np.uint64(_SMALL))
    numbers: Ints = floors.astype(np.int64)
    for place in np.flatnonzero(unsure).tolist():
        numbers[place] = _exact_floor(rate, int(words[place]), source)
    return numbers


def _floor(rate: float, word: int, source: RandomSource) -> int:
    """The same number for one word."""
    if word >= _SMALL:
        scaled = -math.log((word + 0.5) * 2.0**-64) / rate
        known = 2 / (word * rate) + _SLACK * (scaled + 1 / rate)
        number = math.floor(scaled)
        if known < scaled - number < 1 - known:
            return number
    return _exact_floor(rate, word, source)


def _exact_floor(rate: float, word: int, source: RandomSource) -> int:
    """The same for one word, to as many digits and further words as it takes."""
    bits, digits = 64, _DIGITS
    while True:
        if word:
            most, least = _log_bounds(word, bits, digits)
            context = Context(prec=digits)
            low, high = (context.divide(end.copy_negate(), Decimal(rate)) for end in (least, most))
            margin = context.multiply(context.add(high, Decimal(1)), Decimal((0, (1,), 5 - digits)))
            ends = {_whole(context.subtract(low, margin)), _whole(context.add(high, margin))}
            if len(ends) == 1:
                return max(0, ends.pop())
        word, bits, digits = (word << 64) | source.word(), bits + 64, digits + 20


def _exactly_below(x: Decimal, word: int, source: RandomSource) -> bool:
    """Whether ln U < x, U beginning with this word."""
    bits = 64
    context = Context(prec=_DIGITS + 20)  # never the caller's, which may have few digits
    size = context.add(x.copy_abs(), Decimal(1))
    margin = context.multiply(size, Decimal((0, (1,), 8 - _DIGITS)))
    below, above = context.subtract(x, margin), context.add(x, margin)
    while bits < 192:
        if word:
            low, high = _log_bounds(word, bits, _DIGITS + 20)
            if high < below:
                return True
            if low > above:
                return False
        word, bits = (word << 64) | source.word(), bits + 64
    # 192 bits and fifty digits agree: a chance below 10^-40, which either answer may have.
    return False


def _log_bounds(word: int, bits: int, digits: int) -> tuple[Decimal, Decimal]:
    """Ln of the ends of the interval that U lies in, its first bits being this word."""
    context = Context(prec=digits)
    scale = Decimal(1 << bits)
    low, high = (context.ln(context.divide(Decimal(end), scale)) for end in (word, word + 1))
    return low, high


def _whole(number: Decimal) -> int:
    return math.floor(number)
