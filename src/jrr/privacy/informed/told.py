"""A stronger adversary, who is told which of the others reported their true value.

For this adversary the others' values do not matter, so one computation bounds all compositions.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jrr.privacy.binomial import FAINT, binomial
from jrr.privacy.informed.evidence import Cards, Evidence, merged, of_two_groups, together
from jrr.privacy.informed.sums import Reporters

_GROUPS = 16  # numbers of speakers that are told apart; fewer is a looser bound,
_FEWER = 8  # which matters little among many
_MANY = 2_500  # people told about
_WIDTH = 6.0  # standard deviations that are divided into groups


class Told(NamedTuple):
    """Chances of somebody who is told about: to say anything of the card, and to say 1."""

    speaks: Fraction
    plus: Fraction  # 1, with a plus card
    minus: Fraction  # 1, with a minus card


def told_evidence(cards: Cards, told: Told, people: int, secret: Reporters) -> Evidence:
    """So many people are told about; the others, `secret`, show their reports only.

    How many speak does not depend on the cards. One more speaker only tells more, so neighbouring
    numbers of speakers are put together under the largest of them.
    """
    start, law = binomial(people, told.speaks)
    deviation = float(people * told.speaks * (1 - told.speaks)) ** 0.5
    middle = start + int(np.argmax(law))
    groups = _FEWER if people > _MANY else _GROUPS
    edges = {
        min(start + len(law) - 1, max(start, round(middle + _WIDTH * deviation * x)))
        for x in np.linspace(-1.0, 1.0, groups + 1)
    } | {start + len(law) - 1}
    parts, before = [], start
    for last in sorted(edges):
        chance = float(law[before - start : last + 1 - start].sum())
        before = last + 1
        speakers = Reporters(last, *_given_speech(told))
        parts.append((chance, of_two_groups(cards, speakers, secret)))
    seen = merged(together(parts))
    return seen._replace(missing=seen.missing + 128 * len(law) * FAINT)


def _given_speech(told: Told) -> tuple[Fraction, Fraction]:
    if told.speaks == 0:
        return Fraction(0), Fraction(0)
    return told.plus / told.speaks, told.minus / told.speaks
