"""A device written from docs/protocol.md alone: nothing is imported from the library.

It reads what a document asks and makes lines of JSON from random words, in whole numbers and
fractions. That it sends what the golden vectors say shows that the page suffices.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

WORDS = 1 << 63
Next = Callable[[], int]


def up(x: Fraction, multiple: int) -> int:
    return math.ceil(x * WORDS / multiple) * multiple


def down(x: Fraction) -> int:
    return math.floor(x * WORDS)


def randomized(k: int, p: float, value: int, word: int) -> int:
    step = up(1 - Fraction(p), k - 1) // (k - 1)
    part = (word >> 1) // step if step else k
    return (value + part + 1) % k if part < k - 1 else value


def told(m: dict[str, Any], value: int, card: Any, word: Next) -> Any:
    """A report of one mechanism, as its line says it; `card`: None where there is none."""
    name = m["mechanism"]
    if name == "Piecewise":
        return windowed(m, value, word())
    k = int(m["k"])
    if name == "RR":
        return randomized(k, m["p"], value, word())
    if name == "DRR":
        return {"carded": card is not None, "report": dealt(m, value, card, word())}
    if name == "OUE":
        return one_hot(m, value, word)
    if name == "OLH":
        seed = word()
        hashed = finished(mixed(mixed(started(seed % (1 << 32)), seed >> 32), value))
        bucket = (hashed * m["g"]) >> 32
        return [str(seed), randomized(m["g"], m["p"], bucket, word())]
    assert name == "MRR"
    assert m["coin"] == "rr"
    return {"carded": card is not None, "report": masked(m, value, card, word())}


def windowed(m: dict[str, Any], x: int, word: int) -> int:
    s, width, u = m["steps"], m["width"], word >> 1
    lie = up(1 - Fraction(m["p"]), s)
    if u >= lie:
        return x + (u - lie) // math.ceil(Fraction(WORDS - lie, width))
    j = u // (lie // s)
    return int(j if j < x else j + width)


def dealt(m: dict[str, Any], value: int, card: int | None, word: int) -> int:
    k, n, u = int(m["k"]), int(m["n"]), word >> 1
    own = min(up(Fraction(m["own"]), k), WORDS - WORDS % k)
    truth = min(down(Fraction(m["truth"])), WORDS - own)
    rest = WORDS - own - truth
    if u < own:
        return u // (own // k)
    if u >= own + rest:
        return value
    if card is not None:
        return card
    ends = [own + rest * sum(m["deck"][: v + 1]) // n for v in range(k)]
    return next(v for v, end in enumerate(ends) if u < end)


def one_hot(m: dict[str, Any], value: int, word: Next) -> str:
    """OUE without cards: p = 1/2, and q."""
    k, bits, late = m["k"], 0, []
    drawn = b"".join(word().to_bytes(8, "little") for _ in range(-(-k // 8)))
    for v in range(k):
        ones = down(Fraction(1, 2)) if v == value else up(Fraction(m["q"]), 1)
        if drawn[v] == ones >> 55:
            late.append((v, ones))
        elif drawn[v] < ones >> 55:
            bits |= 1 << v
    for v, ones in late:
        bits |= (drawn[v] << 55 | word() >> 9 < ones) << v
    return bits.to_bytes(-(-k // 8), "little").hex()


def masked(m: dict[str, Any], value: int, card: Any, word: int) -> Any:
    k = m["k"]
    coin = randomized(k, m["alone"] if card is None else m["p"], value, word)
    numbers = [coin] if k == 2 else [int(v == coin) for v in range(k)]
    if card is None:
        return coin if k == 2 else numbers
    digits = (m["n"] * len(numbers)).bit_length()
    most = min(math.ceil((14 + 0.7 * digits) / m["card_rate"]), 32_000)
    masks = [card] if k == 2 else card
    sums = [min(max(a + z, -most), most + 1) for a, z in zip(numbers, masks, strict=True)]
    return sums[0] if k == 2 else sums


# XXH32 of 8 bytes, by its specification: two lanes of 32 bits, then an avalanche.


def started(seed: int) -> int:
    return (seed + 374761393 + 8) % (1 << 32)


def mixed(state: int, lane: int) -> int:
    state = (state + lane * 3266489917) % (1 << 32)
    return (state << 17 | state >> 15) * 668265263 % (1 << 32)


def finished(state: int) -> int:
    state = (state ^ state >> 15) * 2246822519 % (1 << 32)
    state = (state ^ state >> 13) * 3266489917 % (1 << 32)
    return state ^ state >> 16


def fingerprint(symbols: list[int]) -> int:
    first = 0x6A72722D776F7264 + len(symbols)
    state = mixed(started(first % (1 << 32)), first >> 32)
    for at in range(0, len(symbols), 4):
        lane = int.from_bytes(bytes(symbols[at : at + 4]).ljust(4, b"\0"), "little")
        state = finished(mixed(state, lane))
    return state


def remembered(asked: dict[str, Any], word: Next) -> list[int]:
    k, permanent = asked["fresh"]["k"], asked["permanent"]
    if permanent is None:
        return list(range(k))
    return [randomized(k, permanent["p"], value, word()) for value in range(k)]


def string(asked: dict[str, Any], text: str, word: Next) -> Any:
    words, levels = asked["words"], asked["levels"]
    row = [words["alphabet"].index(letter) + 1 for letter in text[: words["length"]]]
    row += [0] * (words["length"] - len(row))
    level = word() % len(levels)
    return [level, told(asked["hashed"], fingerprint(row[: levels[level]]), None, word)]


def number(asked: dict[str, Any], x: float, given: Any, word: Next) -> Any:
    low, high, b, d = asked["low"], asked["high"], asked["branching"], len(asked["mechanisms"])
    x = min(max(x, low), high) if asked["clip"] else x
    edges = [i * ((high - low) / b**d) + low for i in range(1, b**d)]
    at = sum(edge <= x for edge in edges)
    level = word() % d if given is None else given["level"]
    card = None if given is None else given["card"]
    return [level, told(asked["mechanisms"][level], at // b ** (d - 1 - level), card, word)]


def mean(asked: dict[str, Any], x: float, card: Any, word: Next) -> Any:
    low, high = asked["low"], asked["high"]
    x = min(max(x, low), high) if asked["clip"] else x
    y = (x - low) / (high - low) * asked["mechanism"].get("steps", 1)
    step = math.floor(y)
    step += word() >> 1 < math.floor((Fraction(y) - step) * WORDS)
    return told(asked["mechanism"], step, card, word)


def line(asked: dict[str, Any], vector: dict[str, Any], word: Next) -> Any:
    """What a device with these words sends that holds what a golden vector says."""
    held = vector["held"]
    if isinstance(asked["mechanism"], dict):
        return mean(asked, held, vector["card"], word)
    if asked["mechanism"] == "Longitudinal":
        return told(asked["fresh"], vector["memory"][held], vector["card"], word)
    if asked["mechanism"] == "HeavyHitters":
        return string(asked, held, word)
    return number(asked, held, vector.get("dealt"), word)
