"""Golden vectors of the encodings: (mechanism, value, card, words) -> report.

    python -m tests.golden.make_encodings

writes encodings.json beside this file. `words` are all the words that the report takes, in the
order in which they are drawn, as decimal strings. Unary reports and cards are their packed bytes
in hexadecimal; a report of local hashing is a seed and a bucket. `card` is null for a
contributor without a card.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr._base.randomness import RandomSource

PATH = Path(__file__).with_name("encodings.json")
LAST = 2**64 - 1
FINE = 55  # bits of a threshold below its byte
SPARE = 64 - FINE  # bits of a tie word that decide nothing
WINDOW = 6  # bits of a long report whose bytes are near their thresholds

Unary = jrr.SUE | jrr.OUE
Mechanism = Unary | jrr.OLH

MECHANISMS: list[Mechanism] = [
    jrr.SUE(2, q=0.4875),
    jrr.SUE(8, q=0.1),  # 1 - q is not exact: p is the double next to it
    jrr.SUE(10, q=0.3775),
    jrr.SUE(64, q=0.18),
    jrr.OUE(8, q=0.27),
    jrr.OUE(10, q=0.25),  # every threshold is a whole number of bytes
    jrr.OUE(17, q=1e-5),  # q has digits below 2^-63: they show which way it is rounded
    jrr.OUE(64, q=0.3775),
    jrr.OUE(100, q=0.12),
    jrr.SUE(8, q=0.3, s=0.1, coupling="joint", n=10),
    jrr.SUE(10, q=0.25, s=0.25, coupling="joint", n=11),  # the most lean: certain bits
    jrr.OUE(10, q=0.3, s=0.1, coupling="joint", n=10),
    jrr.OUE(64, q=0.2, s=0.05, coupling="joint", n=10_000),
    jrr.OUE(8, q=0.3, s=1e-5, coupling="joint", n=10),  # s has digits below 2^-63
    jrr.SUE(8, q=0.3, s=1e-5, coupling="dealt", n=10),
    jrr.SUE(10, q=0.4, s=0.15, coupling="dealt", n=11),
    jrr.SUE(64, q=0.25, s=0.25, coupling="dealt", n=10),
    jrr.OUE(8, q=0.2, s=0.2, coupling="dealt", n=10),
    jrr.OUE(10, q=1e-5, s=3e-6, coupling="dealt", n=7),
    jrr.OLH(10, g=4, p=0.475),
    jrr.OLH(64, g=3, p=0.4),
    jrr.OLH(2**32, g=2, p=0.75),
    jrr.OLH(2**32, g=2**31, p=0.5),
    jrr.OLH(100, g=7, p=1.0),  # the report is the hash itself
    jrr.OLH(64, g=5, p=0.5, s=0.2, coupling="joint", n=10),
    jrr.OLH(10**6, g=4, p=0.3, s=0.3, coupling="joint", n=11),  # a minus card always lies
    jrr.OLH(2**32, g=2, p=0.52, s=1e-5, coupling="joint", n=10),
]

SEEDS = [0, 1, 2**32 - 1, 2**32, LAST - (2**32 - 1), LAST, 0x0123456789ABCDEF]


def document() -> list[dict[str, Any]]:
    """Everything, as encodings.json holds it."""
    return [
        {"mechanism": mechanism.to_dict(), "vectors": list(vectors(mechanism, seed))}
        for seed, mechanism in enumerate(MECHANISMS)
    ]


def vectors(mechanism: Mechanism, seed: int) -> Iterator[dict[str, Any]]:
    """The reports of one mechanism."""
    random = jrr.SeededRandom(seed)
    if isinstance(mechanism, jrr.OLH):
        return hashed(mechanism, random)
    return unary(mechanism, random)


class Recorder:
    """A source that keeps the words it passes on."""

    def __init__(self, words: Iterator[int]) -> None:
        self.coming = words
        self.drawn: list[str] = []

    def word(self) -> int:
        word = next(self.coming)
        self.drawn.append(str(word))
        return word

    def words(self, count: int) -> Any:
        return np.array([self.word() for _ in range(count)], np.uint64)


# Unary encoding -------------------------------------------------------------------------------


def unary(mechanism: Unary, random: RandomSource) -> Iterator[dict[str, Any]]:
    """For every kind of card: bytes near thresholds, at both ends of the range, and random."""
    values = (0, mechanism.k - 1, mechanism.k // 2)
    for card in unary_cards(mechanism, random):
        for turn, value in zip(range(10), itertools.cycle(values), strict=False):
            source = Recorder(tape(mechanism, value, card, turn, random))
            report = mechanism.respond_one(value, card, source)
            yield {
                "words": source.drawn,
                "value": value,
                "card": None if card is None else card.hex(),
                "report": report.hex(),
            }


def tape(
    mechanism: Unary, value: int, card: bytes | None, turn: int, random: RandomSource
) -> Iterator[int]:
    """Words for one report: seven turns near thresholds, two of extreme bytes, then random."""
    if turn < 7:
        return near(mechanism, value, card, turn, random)
    extreme = {7: [0] * mechanism.width, 8: [LAST] * mechanism.width}
    return itertools.chain(extreme.get(turn, []), draws(random))


def unary_cards(mechanism: Unary, random: RandomSource) -> list[bytes | None]:
    """None, all plus, all minus, and a mixture."""
    if mechanism.n is None:
        return [None]
    every = (1 << mechanism.k) - 1
    mixture = int.from_bytes(draw_bytes(random, mechanism.width), "little") & every
    size = mechanism.width
    return [None, *(bits.to_bytes(size, "little") for bits in (every, 0, mixture))]


def near(
    mechanism: Unary, value: int, card: bytes | None, turn: int, random: RandomSource
) -> Iterator[int]:
    """Words whose bytes are at or next to thresholds, and tie words just so.

    In seven turns every bit of the window, the held one among them, meets every neighbour.
    """
    coarse = bytearray(draw_bytes(random, 8 * mechanism.width))
    ties: dict[int, int] = {}
    for v in range(mechanism.k):
        ones = threshold(mechanism, v == value, None if card is None else card[v // 8] >> v % 8 & 1)
        far = (v - value) % mechanism.k
        if far < WINDOW:
            byte, tie = neighbours(ones)[(turn + far) % 7]
            coarse[v] = byte
            if byte == ones >> FINE:
                ties[v] = tie
        elif coarse[v] == ones >> FINE:
            ties[v] = random.word()
    words = (coarse[at : at + 8] for at in range(0, len(coarse), 8))
    yield from (int.from_bytes(word, "little") for word in words)
    yield from ties.values()


def threshold(mechanism: Unary, held: bool, card: int | None) -> int:
    """How many of the 2^63 numbers report this bit as 1."""
    bit = mechanism.law.holder if held else mechanism.law.other
    return bit.none if card is None else bit.plus if card else bit.minus


def neighbours(ones: int) -> list[tuple[int, int]]:
    """Bytes beside a threshold's own, and its own with tie words around the rest of it."""
    byte, rest = ones >> FINE, (ones & ((1 << FINE) - 1)) << SPARE
    options = [
        (byte - 1, 0),
        (byte, rest - 1),
        (byte, rest),
        (byte, rest + (1 << SPARE) - 1),
        (byte + 1, 0),
        (byte, 0),
        (byte, LAST),
    ]
    return [(min(max(0, byte), 255), min(max(0, tie), LAST)) for byte, tie in options]


def draws(random: RandomSource) -> Iterator[int]:
    """Random words without end."""
    while True:
        yield random.word()


def draw_bytes(random: RandomSource, count: int) -> bytes:
    """Random bytes."""
    return b"".join(random.word().to_bytes(8, "little") for _ in range(-(-count // 8)))[:count]


# Local hashing --------------------------------------------------------------------------------


def hashed(mechanism: jrr.OLH, random: RandomSource) -> Iterator[dict[str, Any]]:
    """Every seed with every value, and words around every threshold with every card."""
    values = sorted({0, 1, mechanism.k // 2, mechanism.k - 1})
    seeds = [*SEEDS, random.word()]
    words = [(word, card) for card, lie in lies(mechanism) for word in around(mechanism, lie)]
    some = itertools.cycle(words)
    for seed, value in itertools.product(seeds, values):
        yield hashed_vector(mechanism, seed, value, *next(some))
    for word, card in words:
        value = values[random.word() % len(values)]
        yield hashed_vector(mechanism, random.word(), value, word, card)


def hashed_vector(
    mechanism: jrr.OLH, seed: int, value: int, word: int, card: int | None
) -> dict[str, Any]:
    """One report of local hashing."""
    source = Recorder(iter([seed, word]))
    reported, bucket = mechanism.respond_one(value, card, source)
    report = {"seed": str(reported), "value": bucket}
    return {"words": source.drawn, "value": value, "card": card, "report": report}


def lies(mechanism: jrr.OLH) -> list[tuple[int | None, int]]:
    """Every card, and none, with its number of lying words."""
    inner = mechanism.inner
    if isinstance(inner, jrr.RR):
        return [(None, inner.lie_words)]
    law = inner.law
    return [(None, law.lie_blank), (1, law.lie_plus), (-1, law.lie_minus), (0, law.lie_blank)]


def around(mechanism: jrr.OLH, lie: int) -> list[int]:
    """The last word before and the first two at the ends of some parts of the lie."""
    step = lie // (mechanism.g - 1)
    ends = {step * part for part in (0, 1, mechanism.g - 2, mechanism.g - 1)}
    near = (2 * u + move for u in ends for move in (-1, 0, 1))
    return sorted({word for word in (*near, LAST) if 0 <= word <= LAST})


def text() -> str:
    """The document with one line per vector, so that a change can be read."""
    cases = (
        '{"mechanism": '
        + json.dumps(case["mechanism"])
        + ', "vectors": [\n'
        + ",\n".join(json.dumps(vector) for vector in case["vectors"])
        + "\n]}"
        for case in document()
    )
    return "[\n" + ",\n".join(cases) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text())
