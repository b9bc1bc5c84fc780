"""Attacks on cards (used twice, shown, swapped), on decks (small, with fakes), on the estimate."""

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import CardLaw, Matrix
from jrr.planning.liars import lie_and_gain

_CERTAIN = 1e-9  # a chance that is 0 but for the rounding of words
_MOST = 4096  # sequences of answers that are enumerated


class Reuse(NamedTuple):
    """Privacy loss of several reports, by how many of the answers differ."""

    rounds: int
    one_card: dict[int, float]  # one card serves all rounds
    fresh_cards: dict[int, float]  # every round deals anew


def card_reuse(mechanism: Mechanism, rounds: int = 2) -> Reuse:
    """The loss of one person's reports, exact, to somebody who sees nothing else.

    Enumerated over all sequences of answers and reports. Fresh cards lose ε for every answer
    that differs; with one card for all rounds reports tell about it, and it about answers.

    Args:
        mechanism: of the survey.
        rounds: in which the same card is used.
    """
    rounds = checks.integer("rounds", rounds, 1)
    if mechanism.k**rounds > _MOST:
        raise checks.refusal("rounds", rounds, f"so few that k**rounds is at most {_MOST}")
    laws = mechanism.card_laws()
    average = sum(law.share * law.reports for law in laws)
    fresh = _joint(np.asarray(average), rounds)
    shared = sum(law.share * _joint(law.reports, rounds) for law in laws)
    sequences = np.array(list(product(range(mechanism.k), repeat=rounds)))
    return Reuse(rounds, _losses(np.asarray(shared), sequences), _losses(fresh, sequences))


def _joint(reports: Matrix, rounds: int) -> Matrix:
    """Chances of sequences of reports, given one law in all rounds."""
    joint: Matrix = np.ones((1, 1))
    for _ in range(rounds):
        joint = np.asarray(np.kron(joint, reports), np.float64)
    return joint


def _losses(law: Matrix, sequences: NDArray[np.int64]) -> dict[int, float]:
    worst: dict[int, float] = {}
    for here in range(len(sequences)):
        differ = (sequences != sequences[here]).sum(axis=1)
        for there, changes in enumerate(differ.tolist()):
            if changes:
                worst[changes] = max(worst.get(changes, 0.0), _loss(law[here], law[there]))
    return worst


def _loss(law: Matrix, other: Matrix) -> float:
    possible = law > _CERTAIN
    if (other[possible] <= _CERTAIN).any():
        return math.inf
    return float(np.log(law[possible] / other[possible]).max())


def exposed_share(mechanism: Mechanism, value: int = 1) -> float:
    """The share of holders of `value` whose answer their report and card together prove.

    Args:
        mechanism: of the survey.
        value: that is held.
    """
    value = checks.integer("value", value, 0, mechanism.k - 1)
    others = [x for x in range(mechanism.k) if x != value]
    share = 0.0
    for law in mechanism.card_laws():
        proves = (law.reports[others] <= _CERTAIN).all(axis=0)
        share += law.share * float(law.reports[value, proves].sum())
    return share


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
