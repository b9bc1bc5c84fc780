"""Attacks on the estimate: refusals that depend on the card, liars, a dealer that swaps cards."""

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import CardLaw
from jrr.planning.liars import lie_and_gain


def refusal_estimate(
    mechanism: Mechanism, frequency: float, refusing: float, card: int = 1, value: int = 1
) -> float:
    """The expected estimate of a value's share if holders of one card refuse, this share of them.

    Exact for one full deck of which exactly so many holders stay away, whatever their answers.

    Args:
        mechanism: of the survey.
        frequency: the true share of the value.
        refusing: share of the holders of the card who do not answer.
        card: the card that they refuse with.
        value: whose share is estimated.
    """
    frequency = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
    refusing = checks.real("refusing", refusing, "in 0..1", 0.0, 1.0)
    law_of(mechanism, card)  # or a refusal
    staying = {
        law.card: law.share * (1 - refusing if law.card == card else 1.0)
        for law in mechanism.card_laws()
    }
    reported = sum(staying.values())
    support = sum(
        staying[law.card] / reported * _support(law.reports[:, value].tolist(), frequency, value)
        for law in mechanism.card_laws()
    )
    q, gain = lie_and_gain(mechanism, value)
    return (support - q) / gain


def swap_bias(
    mechanism: Mechanism, frequency: float, given: int, instead_of: int, value: int = 1
) -> float:
    """How many counts the estimate moves for each card that a dealer exchanges for another.

    The dealer does not know answers: `frequency` of those whose card is exchanged hold the value.

    Args:
        mechanism: of the survey.
        frequency: the true share of the value.
        given: the card that the dealer deals.
        instead_of: the card that it should have dealt.
        value: whose share is estimated.
    """
    frequency = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
    shift = [
        _support(law_of(mechanism, card).reports[:, value].tolist(), frequency, value)
        for card in (given, instead_of)
    ]
    return (shift[0] - shift[1]) / lie_and_gain(mechanism, value)[1]


def shift_bias(mechanism: Mechanism, shift: int = 1, value: int = 1) -> float:
    """How many counts the estimate moves if a dealer of masks adds `shift` to the sum of its cards.

    The same for a lie about an undealt or announced sum: whatever people answer, shift/λ.

    Args:
        mechanism: of the survey.
        shift: what the dealer adds.
        value: whose share is estimated.
    """
    if mechanism.moments.masks is None:
        raise checks.refusal("mechanism", mechanism, "one whose cards are numbers to add")
    return checks.integer("shift", shift, -(10**9)) / lie_and_gain(mechanism, value)[1]


def law_of(mechanism: Mechanism, card: int) -> CardLaw:
    """The law of one kind of card."""
    laws = mechanism.card_laws()
    for law in laws:
        if law.card == card:
            return law
    raise checks.refusal("card", card, f"one of {[law.card for law in laws]}")


def _support(chances: list[float], frequency: float, value: int) -> float:
    """The chance of a report `value` where `frequency` hold it, and the other values are equal."""
    others = [chance for x, chance in enumerate(chances) if x != value]
    return frequency * chances[value] + (1 - frequency) * sum(others) / len(others)
