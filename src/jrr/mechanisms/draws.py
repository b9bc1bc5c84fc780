"""Random counts of whole surveys (who gets which card, who lies how), and many decks of bits."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from jrr._base.randomness import BLOCK, RandomSource

Ints = NDArray[np.int64]
PLANES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")


def spread_lies(counts: Ints, truthful: Ints, rng: np.random.Generator) -> Ints:
    """Truthful reports, and each liar's report at one of the k-1 other values."""
    k = len(counts)
    if k == 2:
        return truthful + (counts - truthful)[:, ::-1]
    support = truthful.copy()
    others = np.full(k - 1, 1 / (k - 1))
    for value in range(k):
        lies = rng.multinomial(counts[value] - truthful[:, value], others)
        support[:, :value] += lies[:, :value]
        support[:, value + 1 :] += lies[:, value:]
    return support


def drawn(deck: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """How many cards of each kind `draws` cards of a shuffled deck are, one row per draw."""
    return drawn_from(np.tile(deck, (len(draws), 1)), draws, rng)


def drawn_from(decks: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """The same from a deck of its own per row: kind after kind, each hypergeometric."""
    taken = np.zeros_like(decks)
    rest = decks.sum(axis=1)
    wanted = draws.astype(np.int64)
    for kind in range(decks.shape[1]):
        rest = rest - decks[:, kind]
        taken[:, kind] = hypergeometric(decks[:, kind], rest, wanted, rng)
        wanted = wanted - taken[:, kind]
    return taken


def hypergeometric(good: Ints, bad: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """As numpy's, which wants at least one card in the deck."""
    empty = good + bad == 0
    cards: Ints = rng.hypergeometric(good, np.where(empty, 1, bad), np.where(empty, 0, draws))
    return cards


def chance(probability: float) -> float:
    """A sum of probabilities, brought back from rounding errors."""
    return min(1.0, max(0.0, probability))


def balanced_bits(cards: int, decks: int, source: RandomSource) -> NDArray[np.uint8]:
    """Packed bits: row i has card i of every deck, and half of the cards of a deck are set.

    Throw a fair coin for every card, then mend each deck: where it has too many plus cards, a
    uniformly random choice of them becomes minus, and the other way round. Coins do not know their
    places, and neither does the choice, so every order of a balanced deck is equally likely. That
    takes one random bit a card and a few words a deck, where a shuffle takes a word a card.

    Args:
        cards: cards of each deck, an even number.
        decks: how many decks; deck v is bit v mod 8, least significant first, of byte v div 8.
        source: where randomness comes from.

    Returns:
        An array of `cards` rows of ceil(decks / 8) bytes; bits beyond the last deck are 0.
    """
    width = -(-decks // 8)
    words = source.words(-(-cards * width // 8)).astype("<u8", copy=False)
    bits = words.view(np.uint8)[: cards * width].reshape(cards, width)
    if decks % 8:
        bits[:, -1] &= np.uint8((1 << decks % 8) - 1)
    for byte in range(width):
        column = np.ascontiguousarray(bits[:, byte])
        surplus = np.bincount(column, minlength=256) @ PLANES - cards // 2
        for bit in range(min(8, decks - 8 * byte)):
            _turn(column, np.uint8(1 << bit), int(surplus[bit]), source)
        bits[:, byte] = column
    return bits


def _turn(column: NDArray[np.uint8], mask: np.uint8, surplus: int, source: RandomSource) -> None:
    """Turn over as many random cards as the deck has too many of one kind."""

    def fits(places: Ints) -> NDArray[np.bool_]:
        fitting: NDArray[np.bool_] = ((column[places] & mask) != 0) == (surplus > 0)
        return fitting

    for chosen in random_places(len(column), abs(surplus), 3, fits, source):
        column[chosen] ^= mask


def random_places(
    size: int,
    wanted: int,
    tries: int,
    fits: Callable[[Ints], NDArray[np.bool_]],
    source: RandomSource,
) -> Iterator[Ints]:
    """So many different places below `size` that fit, some at a time, uniformly at random.

    tries: how many places are drawn for each that is wanted. Who is given places may change what
    fits before the next are drawn.
    """
    while wanted:
        places = uniform_places(size, tries * wanted + 8, source)
        fitting = places[fits(places)]
        _, first = np.unique(fitting, return_index=True)
        chosen = fitting[np.sort(first)[:wanted]]  # each once, in the order they were drawn
        yield chosen
        wanted -= len(chosen)


def uniform_places(size: int, count: int, source: RandomSource) -> Ints:
    """Uniform places below `size`; the few words that would favour some are left out."""
    fair = np.uint64((1 << 63) // size * size)
    parts = []
    for start in range(0, count, BLOCK):
        words = source.words(min(BLOCK, count - start)) >> np.uint64(1)
        parts.append((words[words < fair] % np.uint64(size)).astype(np.int64))
    return np.concatenate(parts)
