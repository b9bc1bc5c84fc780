"""What verified cards of a question are: how they are drawn, and what its coin can say."""

import math
from typing import TYPE_CHECKING, Any

from jrr.dealing.verified.laws import MOST_SUMS, Law, Sums
from jrr.dealing.verified.proofs import Possible

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


def card_laws(survey: "Survey") -> dict[str, Law]:
    """How the cards of every question of a survey are drawn."""
    return {one.name: card_law(one.mechanism) for one in survey.dealt}


def noise_laws(survey: "Survey") -> dict[str, Law]:
    """How the noise of every question's closing sums is drawn."""
    mechanisms: dict[str, Any] = {one.name: one.mechanism for one in survey.dealt}
    return {name: Law(one.numbers, one.announced_rate) for name, one in mechanisms.items()}


def sums_of(survey: "Survey") -> Sums:
    """How many closing sums a survey can have, in all announcements that were planned."""
    crossed = math.prod(map(len, survey.cell_answers.values()))
    cells = min(MOST_SUMS, survey.capacity // survey.smallest_group + 1, crossed)
    return Sums(announcements=survey.announcements, questions=len(survey.dealt), cells=cells)


def card_law(mechanism: Any) -> Law:
    """How its cards are drawn."""
    return Law(mechanism.numbers, mechanism.card_rate)


def possible_numbers(mechanism: Any) -> Possible:
    """Which numbers its coin can say."""
    coin = mechanism.coin
    return Possible(coin.numbers, coin.largest, coin.fixed_sums)
