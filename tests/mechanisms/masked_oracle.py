"""Masked randomized response by the book: weights of whole decks, every coin enumerated.

Nothing here is shared with the library: chances are sums of weights over what is not seen.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

Weight = Callable[[Sequence[int]], float]


def closed(a: float, b: float) -> Weight:
    """The weight of a closed deck."""
    return lambda z: math.exp(-a * sum(map(abs, z)) - b * abs(sum(z)))


def independent(a: float) -> Weight:
    """The weight of independent cards."""
    return lambda z: math.exp(-a * sum(map(abs, z)))


def seen(
    weight: Weight, lie: float, answers: Sequence[int], reports: Sequence[int], known: Sequence[int]
) -> float:
    """The weight of all reports together with the coins (so the cards) of those who tell.

    known: coins of the first len(known) contributors after the target, who is number 0.
    """
    total = 0.0
    for coins in itertools.product((0, 1), repeat=len(answers)):
        if tuple(coins[1 : 1 + len(known)]) != tuple(known):
            continue
        chance = math.prod(
            1 - lie if coin == x else lie for coin, x in zip(coins, answers, strict=True)
        )
        total += chance * weight([y - coin for y, coin in zip(reports, coins, strict=True)])
    return total


def worst_loss(likelihoods: Iterable[tuple[float, float]]) -> float:
    """The largest |ln(a/b)| over pairs of weights."""
    return max(abs(math.log(a / b)) for a, b in likelihoods)
