"""Attacks on surveys, measured: what each adversary gains, in exact numbers (docs/security.md)."""

from jrr.planning.liars import liar_bias
from jrr.research.attacks.cards import (
    Reuse,
    block_epsilon,
    card_reuse,
    dealt_in_blocks,
    exposed_share,
    refusal_estimate,
    shift_bias,
    swap_bias,
    sybil_epsilon,
)
from jrr.research.attacks.catalogue import Attack, Setting, all_attacks
from jrr.research.attacks.draw import draw_attacks

__all__ = [
    "Attack",
    "Reuse",
    "Setting",
    "all_attacks",
    "block_epsilon",
    "card_reuse",
    "dealt_in_blocks",
    "draw_attacks",
    "exposed_share",
    "liar_bias",
    "refusal_estimate",
    "shift_bias",
    "swap_bias",
    "sybil_epsilon",
]
