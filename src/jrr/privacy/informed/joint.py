"""JRR and k-JRR: only how many of the others were truthful matters, not what they hold."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from jrr._base.exact import SCALE, log_ratio_up
from jrr.privacy.binomial import ULP
from jrr.privacy.informed.distribution import (
    MOST_PEOPLE,
    Beta,
    Frequency,
    LossDistribution,
    Losses,
    check_question,
)
from jrr.privacy.informed.evidence import Cards, Evidence, belief, of_one_group, parts
from jrr.privacy.informed.prior import averaged
from jrr.privacy.loss import JointLaw

_PART = 10_000_000  # cards


def joint_losses(law: JointLaw, ones: int | None, colluders: int, frequency: Frequency) -> Losses:
    """JRR and k-JRR: what the others hold does not matter."""
    prior, _ = check_question(law, ones, colluders, frequency)
    whole = law.n <= MOST_PEOPLE
    cases = tuple(cases_of_joint(law, colluders, prior, whole))
    if not whole:
        return Losses(cases, (), "bounded")
    return Losses(cases, cases, "all" if prior is None else "unknown, by the prior")


def likely_worst_of_joint(law: JointLaw, colluders: int) -> Losses:
    """Colluders hold plus cards only, or minus cards only: likely worse than what lies between."""
    cases = tuple(cases_of_joint(law, colluders, None, law.n <= MOST_PEOPLE, ends=True))
    return Losses(cases, (), "all")


def cases_of_joint(
    law: JointLaw,
    colluders: int,
    frequency: float | Beta | None,
    whole: bool = True,
    *,
    ends: bool = False,
) -> Iterator[LossDistribution]:
    """One case for each deck that colluders may leave, and the holder of a blank card.

    whole: False bounds each deck by a part of it. ends: only the decks with the fewest and the
    most plus cards.
    """
    plus, minus, blank = (
        Fraction(max(0, SCALE - lie), SCALE) for lie in (law.lie_plus, law.lie_minus, law.lie_blank)
    )
    if law.signed < law.n:  # whose report was made without a signed card can be known
        alone = Evidence(np.ones(1), np.zeros(1), ULP, 0.0)
        yield _case(law, alone, blank, blank, (Fraction(1),), {"card": "blank"})
    known = min(colluders, law.signed - 1)
    shown: Sequence[int] = range(max(0, known - (law.signed - law.plus)), min(known, law.plus) + 1)
    if ends:
        shown = sorted({shown[0], shown[-1]})
    decks = [Cards(law.signed - known, law.plus - number) for number in shown]
    # A prior tells no more than the values would.
    beliefs = [(belief(cards, plus, minus), belief(cards, 1 - plus, 1 - minus)) for cards in decks]
    if not whole:
        every = tuple(one for both in beliefs for one in both)
        for part, chances in parts(decks, _PART, _PART):
            seen = of_one_group(part, plus, minus)
            for chance in chances:
                about: dict[str, object] = {"others": "bounded"}
                yield _case(law, seen.believed(part, chance), plus, minus, every, about)
        return
    for number, cards, both in zip(shown, decks, beliefs, strict=True):
        if frequency is None:
            seen = of_one_group(cards, plus, minus)
        else:
            seen = averaged(cards, (plus, minus), (1 - plus, 1 - minus), frequency)
        yield _case(law, seen, plus, minus, both, {"plus_cards_shown": number})


def _case(
    law: JointLaw,
    seen: Evidence,
    plus: Fraction,
    minus: Fraction,
    beliefs: tuple[Fraction, ...],
    about: dict[str, object],
) -> LossDistribution:
    """The target reports x, x' or (k > 2) something else, which tells nothing."""
    others = law.k - 1
    true = float(plus) * seen.plus + float(minus) * seen.minus
    lie = float(1 - plus) * seen.plus + float(1 - minus) * seen.minus
    each = lie / others
    rest = (others - 1) * each.sum(keepdims=True)
    pure = max(_loss(belief * plus + (1 - belief) * minus, law.k) for belief in beliefs)
    return LossDistribution(
        np.concatenate((true, each, rest)),
        np.concatenate((each, true, rest)),
        seen.error + 8 * ULP,
        # Lies of exactly k-1 equal parts may have a few words too many.
        seen.missing + (0.0 if others == 1 else law.k / SCALE),
        pure,
        about,
    )


def _loss(truth: Fraction, k: int) -> float:
    lie = (1 - truth) / (k - 1)
    return log_ratio_up(max(truth, lie), min(truth, lie))
