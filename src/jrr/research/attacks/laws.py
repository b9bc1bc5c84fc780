"""What a report does given its card: the law behind every attack that involves cards."""

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import CardLaw


def law_of(mechanism: Mechanism, card: int) -> CardLaw:
    """The law of one kind of card."""
    laws = mechanism.card_laws()
    for law in laws:
        if law.card == card:
            return law
    raise checks.refusal("card", card, f"one of {[law.card for law in laws]}")
