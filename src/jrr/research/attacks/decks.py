"""Attacks on the deck: fake contributors who hold many of its cards, and decks that are small."""

from jrr._base import checks
from jrr.mechanisms.base import Mechanism


def sybil_epsilon(mechanism: Mechanism, fakes: float) -> float:
    """ε in the view `cards` where this share of all contributors are the adversary's own.

    Args:
        mechanism: of the survey.
        fakes: share of the contributors.
    """
    share = checks.real("fakes", fakes, "in 0..1", 0.0, 1.0)
    deck = mechanism.moments.deck
    if deck is None:
        return mechanism.epsilon("cards", 0)
    return mechanism.epsilon("cards", min(deck - 1, round(share * deck)))


def dealt_in_blocks(mechanism: Mechanism, block: int) -> Mechanism:
    """The same probabilities with decks of `block` cards instead of one for everybody.

    Args:
        mechanism: of the survey.
        block: cards in a deck.
    """
    block = checks.integer("block", block, 2)
    return mechanism.resized(block)


def block_epsilon(mechanism: Mechanism, block: int, colluders: int) -> float:
    """ε in the view `cards` if all colluders sit in the target's own block.

    Args:
        mechanism: of the survey.
        block: cards in a deck.
        colluders: in the target's deck.
    """
    smaller = dealt_in_blocks(mechanism, block)
    return smaller.epsilon("cards", min(colluders, block - 1))
