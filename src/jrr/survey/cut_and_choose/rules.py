"""Which decks may be committed to, and what chance a cheat has."""

from typing import TYPE_CHECKING

from jrr._base import checks

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

BYTES = 32  # of seeds, salts, marks, beacons and hashes
FEWEST_DECKS = 2


def passing_chance(decks: int) -> float:
    """The chance that a dealer who cheated in one of its decks is not found out.

    The coin must pick that deck; all others are drawn again.

    Args:
        decks: How many it committed to.
    """
    return 1 / decks


def check_closed(mechanism: "Mechanism") -> None:
    """Refuse mechanisms without cards, and those whose dealer could lie in the end anyway."""
    if mechanism.card_format is None:
        raise checks.refusal("mechanism", mechanism, "one that deals cards")
    if getattr(mechanism, "announced", False):
        raise checks.refusal(
            "mechanism",
            mechanism,
            "one with a closed deck: of an announced sum nobody can see whether it is true",
        )
