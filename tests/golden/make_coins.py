"""Golden vectors of coins behind masks for many values and for several items.

    python -m tests.golden.make_coins

writes coins.json beside this file: (mechanism, value, card, words) -> report, and what each view
learns. `words` are all the words that a report takes, in the order in which they are drawn, as
decimal strings. The value of a block is a list, with an answer to each item.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr._base.exact import SCALE
from jrr.mechanisms.coins.interface import Coin

PATH = Path(__file__).with_name("coins.json")
LAST = 2**64 - 1
COINS: list[Coin] = [
    jrr.Subset(3, 1),
    jrr.Subset(7, 3),
    jrr.Subset(20, 2),
    jrr.Subset(60, 7),
    jrr.Block((2, 2)),
    jrr.Block((2, 2, 3)),
    jrr.Block((4, 2, 3)),
    jrr.Block((2,) * 8),
]
MECHANISMS = [
    jrr.MRR(200, own=3.0, card_rate=0.4, announced_rate=0.7, coin=coin) for coin in COINS
] + [jrr.MRR(200, own=2.0, card_rate=2.0, total_rate=0.1, coin=coin) for coin in COINS[1:6:4]]


def values(coin: Coin) -> list[Any]:
    """Some values, at both ends and between."""
    if isinstance(coin, jrr.Block):
        return [
            [0] * len(coin.sizes),
            [size - 1 for size in coin.sizes],
            [1, *[0] * (len(coin.sizes) - 1)],
        ]
    return [0, coin.k // 2, coin.k - 1]


def edges(mechanism: jrr.MRR) -> list[int]:
    """Words next to where a report changes from the truth, with a card and without."""
    coin = mechanism.coin
    lies = [coin.lie_words(p) for p in (mechanism.p, mechanism.alone)]
    if isinstance(coin, jrr.Subset):
        lies = [SCALE - lie for lie in lies]
    return [0, LAST, *(2 * lie + step for lie in lies for step in (-1, 0))]


def vectors(mechanism: jrr.MRR, seed: int) -> Iterator[dict[str, Any]]:
    """Words around thresholds, at both ends, and random."""
    coin, random = mechanism.coin, jrr.SeededRandom(seed)
    for first in [*edges(mechanism), *(random.word() for _ in range(4))]:
        for value in values(coin):
            words = [first, *(random.word() for _ in range(coin.words - 1))]
            numbers = [random.word() % 9 - 4 for _ in range(coin.numbers)]
            for card in (None, numbers):
                dealt = None if card is None else np.array(card, np.int16)
                report = mechanism.report_from_words(coin.check_value("value", value), dealt, words)
                yield {
                    "value": value,
                    "card": card,
                    "words": list(map(str, words)),
                    "report": np.frombuffer(report, "<i2").tolist(),
                }


def text() -> str:
    """The document with one line per vector, so that a change can be read."""
    views = ("report", "everything", "dealer")
    cases = (
        f'{{"mechanism": {json.dumps(mechanism.to_dict())}, "losses": '
        + json.dumps({view: mechanism.epsilon(view) for view in views})
        + ', "vectors": [\n'
        + ",\n".join(json.dumps(one) for one in vectors(mechanism, seed))
        + "\n]}"
        for seed, mechanism in enumerate(MECHANISMS)
    )
    return "[\n" + ",\n".join(cases) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text())
