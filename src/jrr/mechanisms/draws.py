"""Random counts of whole surveys: how many holders of a value get which card, and who lies how."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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
