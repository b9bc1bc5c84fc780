"""Attacks on surveys, measured: what each adversary gains, in exact numbers (docs/security.md)."""

from jrr.planning.liars import liar_bias
from jrr.research.attacks.bias import refusal_estimate, shift_bias, swap_bias
from jrr.research.attacks.cards import Reuse, card_reuse, exposed_share
from jrr.research.attacks.catalogue import Attack, all_attacks
from jrr.research.attacks.decks import block_epsilon, dealt_in_blocks, sybil_epsilon
from jrr.research.attacks.draw import draw_attacks
from jrr.research.attacks.setting import Setting

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
