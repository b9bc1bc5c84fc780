"""The coins by name: the one list that a new coin joins."""

from collections.abc import Sequence
from typing import Any

from jrr._base import checks
from jrr.mechanisms.coins.bits import Bits
from jrr.mechanisms.coins.block import Block
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.coins.subset import Subset
from jrr.mechanisms.coins.window import Window

COINS: list[type[Coin]] = [Choice, Bits, Subset, Block, Window]


def coins_for(k: int, own: float) -> list[Coin]:
    """The coins of every kind that a plan tries for k values, the strongest having this loss."""
    return [coin for kind in COINS for coin in kind.planned(k, own)]


def coin_of(coin: object, k: int) -> Coin:
    """The coin for k values that somebody means: itself, or as in documents."""
    if not isinstance(coin, Coin):
        parts: Sequence[Any] = coin if isinstance(coin, list | tuple) and coin else [coin]
        name, *numbers = parts
        kinds = {kind.name: kind for kind in COINS if k > 2 or kind in (Choice, Window)}
        kind = kinds[checks.one_of("coin", name, tuple(kinds))]
        coin = kind.with_numbers(k, tuple(numbers))
    if coin.k != k:
        raise checks.refusal("coin", coin, f"one for k={k} values")
    return coin
