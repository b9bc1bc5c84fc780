"""The coins by name: the one list that a new coin joins."""

from jrr._base import checks
from jrr.mechanisms.coins.bits import Bits
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.coins.window import Window

COINS: list[type[Coin]] = [Choice, Bits, Window]
_SHAPED = {kind.name: kind for kind in (Window,)}  # in documents a list: the name, then its shape


def coins_for(k: int) -> list[Coin]:
    """The coins of every kind that there are for k values."""
    return [coin for kind in COINS for coin in kind.planned(k)]


def coin_of(coin: object, k: int) -> Coin:
    """The coin for k values that somebody means: itself, or as documents say it."""
    if isinstance(coin, list | tuple) and coin:
        coin = _SHAPED[checks.one_of("coin", coin[0], tuple(_SHAPED))].shaped(coin[1:])
    fitting = {one.name: one for one in coins_for(k)}
    if not isinstance(coin, Coin):
        return fitting[checks.one_of("coin", coin, tuple(fitting))]
    if coin.k != k:
        raise checks.refusal("coin", coin, f"one for k={k} values")
    return coin
