"""What a report does given its card: the law behind every attack that involves cards."""

from functools import singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR

Matrix = NDArray[np.float64]  # row: true value, column: report


class CardLaw(NamedTuple):
    """One kind of card."""

    card: int | None  # None: no card is dealt
    share: float  # of the deck
    reports: Matrix


@singledispatch
def card_laws(mechanism: Mechanism) -> list[CardLaw]:
    """Every kind of card, how often it is dealt and what its holders report."""
    raise checks.refusal("mechanism", mechanism, "RR, JRR or DRR")


@card_laws.register
def _(mechanism: RR) -> list[CardLaw]:
    return [CardLaw(None, 1.0, _shifted(mechanism.k, mechanism.lie_words))]


@card_laws.register
def _(mechanism: JRR) -> list[CardLaw]:
    law, n = mechanism.law, mechanism.n
    half, blank = mechanism.signed / 2 / n, 1 - mechanism.signed / n
    kinds = [(1, half, law.lie_plus), (-1, half, law.lie_minus), (0, blank, law.lie_blank)]
    return [CardLaw(c, share, _shifted(law.k, lie)) for c, share, lie in kinds if share]


@card_laws.register
def _(mechanism: DRR) -> list[CardLaw]:
    law, k = mechanism.law, mechanism.k
    truth, dealt, own = (words / SCALE for words in (law.truth, law.dealt, law.own))
    alone = truth * np.eye(k) + own / k
    cards = [alone + dealt * (np.arange(k) == card) for card in range(k)]
    return [
        CardLaw(card, cards_of / mechanism.n, cards[card])
        for card, cards_of in enumerate(mechanism.deck)
        if cards_of
    ]


def law_of(mechanism: Mechanism, card: int) -> CardLaw:
    """The law of one kind of card."""
    laws = card_laws(mechanism)
    for law in laws:
        if law.card == card:
            return law
    raise checks.refusal("card", card, f"one of {[law.card for law in laws]}")


def _shifted(k: int, lie_words: int) -> Matrix:
    lie = min(1.0, lie_words / SCALE)
    others = np.full((k, k), lie / (k - 1))
    np.fill_diagonal(others, 1 - lie)
    return others
