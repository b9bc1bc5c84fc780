"""What a mechanism costs besides privacy: bytes that travel, time to deal and to respond.

Seconds are those of one core of an ordinary machine, by the number of random words and cards; they
tell milliseconds from minutes. `jrr study bench` measures the machine at hand.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jrr.mechanisms.cards import MaskCards

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

_SHUFFLED_CARD = 60e-9  # seconds for a card of a shuffled deck
_COIN_CARD = 1.5e-9  # for a card of many decks at once, one bit each
_DECK = 1e-4  # to mend one of many decks
_MASK = 150e-9  # for a whole number of a closed deck
_WORD = 8e-9  # to draw a word and compare


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What one deck, one card and one report cost."""

    report_bytes: int  # as stored and sealed
    card_bytes: int  # 0 where no cards are dealt
    deal_seconds: float  # for one whole deck
    respond_seconds: float  # for all reports of a deck, made in one process


def costs_of(mechanism: "Mechanism", n: int) -> Costs:
    """The costs of a survey of n people by this mechanism."""
    form, deck, cards = mechanism.report_format, mechanism.sorted_deck, mechanism.card_format
    card_bytes, deal = 0, 0.0
    if deck is not None and deck.bits is None:
        card_bytes, deal = deck.faces.dtype.itemsize, deck.size * _SHUFFLED_CARD
    elif deck is not None and deck.bits is not None:
        card_bytes = deck.width
        deal = deck.bits * (deck.size * _COIN_CARD + _DECK)
    elif isinstance(cards, MaskCards):
        card_bytes, deal = cards.width, cards.size * cards.numbers_per_card * _MASK
    return Costs(
        report_bytes=form.width,
        card_bytes=card_bytes,
        deal_seconds=deal,
        respond_seconds=n * form.words * _WORD,
    )
