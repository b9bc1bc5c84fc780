"""DRR: the loss depends on the others' values; where these are not given, it is bounded."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jrr._base import checks
from jrr._base.exact import SCALE, log_ratio_up
from jrr.privacy.binomial import FAINT, ULP, binomial
from jrr.privacy.informed.distribution import (
    Beta,
    Frequency,
    LossDistribution,
    Losses,
    check_question,
)
from jrr.privacy.informed.evidence import (
    Cards,
    Evidence,
    belief,
    merged,
    of_one_group,
    of_two_groups,
    parts,
    together,
)
from jrr.privacy.informed.prior import averaged
from jrr.privacy.informed.sums import Reporters
from jrr.privacy.loss import DealtLaw

_ALL = 200  # up to so many people, over all decks, every composition is computed
_HALF = 12_000  # up to so many people the bound lets half of the others keep a secret
_WHOLE = 300_000  # beyond, the bound is that of a part of the deck
_LEAST = 2_000  # people of such a part, where many decks have none in common
_MOST_TABLE = 200_000  # contributors of a composition with both values
_MOST_SCANNED = 5_000  # contributors for a scan of all compositions
_TRIED = 10_000_000  # up to so many others equal values are tried, for a lower bound


class Chances(NamedTuple):
    """A dealt mechanism as it runs."""

    truth: Fraction
    dealt: Fraction
    guess: Fraction  # of a given value, by one's own coin

    @property
    def of_one(self) -> tuple[Fraction, Fraction]:
        """A holder of 1 reports 1, with card 1 and with card 0."""
        return 1 - self.guess, self.truth + self.guess

    @property
    def of_zero(self) -> tuple[Fraction, Fraction]:
        """A holder of 0 reports 1, with card 1 and with card 0."""
        return self.dealt + self.guess, self.guess


def dealt_losses(law: DealtLaw, ones: int | None, colluders: int, frequency: Frequency) -> Losses:
    """DRR: exact for a given composition or few people, otherwise a bound."""
    prior, ones = check_question(law, ones, colluders, frequency)
    if ones not in (None, 0, law.n - colluders - 1) and law.n > _MOST_TABLE:
        raise checks.refusal("n", law.n, f"at most {_MOST_TABLE} for these ones")
    return losses_of_dealt(law, ones, colluders, prior)


def check_scan(law: DealtLaw) -> None:
    """Refuse a scan of all compositions that would take too long, or whose law is not known."""
    if law.k > 2 or law.n > _MOST_SCANNED:
        raise checks.refusal("scan", True, f"False for k > 2 or n > {_MOST_SCANNED}")


def losses_of_dealt(
    law: DealtLaw, ones: int | None, colluders: int, frequency: float | Beta | None
) -> Losses:
    """Binary DRR; for k > 2 a bound over everything that the others may hold."""
    chances = _chances(law)
    if law.k > 2:
        return _of_many_values(law, chances, colluders)
    decks = cards_left(law, 1, colluders)
    if frequency is not None:
        cases = tuple(
            _case(
                chances,
                averaged(cards, chances.of_one, chances.of_zero, frequency),
                _largest(chances, (cards, cards.turned())),
                {},
            )
            for cards in decks
        )
        return Losses(cases, cases, "unknown, by the prior")
    others = law.n - colluders - 1
    if ones is not None:
        cases = tuple(_composition(chances, cards, ones) for cards in decks)
        return Losses(cases, cases, f"{ones} ones")
    if law.n * len(decks) <= _ALL:
        cases = tuple(all_compositions(law, colluders))
        return Losses(cases, cases, "all")
    bound = tuple(_bounds(chances, decks))
    if others > _TRIED:
        return Losses(bound, (), "bounded")
    tried = tuple(_composition(chances, c, a) for c in decks for a in (0, others))
    return Losses(bound, tried, "bounded; 0 and all ones tried")


def all_compositions(law: DealtLaw, colluders: int) -> Iterator[LossDistribution]:
    """Every composition of every deck that colluders may leave, the extremes first.

    Values, cards and reports turned over say the same, so an even deck needs half of them.
    """
    chances, others = _chances(law), law.n - colluders - 1
    for cards in cards_left(law, 1, colluders):
        last = others // 2 if cards.turned() == cards else others
        for ones in sorted(range(last + 1), key=lambda ones: min(ones, others - ones)):
            yield _composition(chances, cards, ones)


def _chances(law: DealtLaw) -> Chances:
    words = (law.truth, law.dealt, law.own // law.k)
    return Chances(*(Fraction(number, SCALE) for number in words))


def cards_left(law: DealtLaw, value: int, colluders: int) -> list[Cards]:
    """Every deck that colluders may leave, plus being the cards of one value."""
    held = law.deck[value]
    most, least = min(colluders, held), max(0, colluders - (law.n - held))
    return [Cards(law.n - colluders, held - shown) for shown in range(least, most + 1)]


def _composition(chances: Chances, cards: Cards, ones: int) -> LossDistribution:
    zeros = cards.total - 1 - ones
    if ones == 0:
        seen = of_one_group(cards, *chances.of_zero)
    elif zeros == 0:
        seen = of_one_group(cards, *chances.of_one)
    else:
        seen = of_two_groups(
            cards, Reporters(ones, *chances.of_one), Reporters(zeros, *chances.of_zero)
        )
    pure = _largest(chances, (cards, cards.turned()))
    return _case(chances, seen, pure, {"plus_left": cards.plus, "ones": ones})


def quick_bound_of_dealt(law: DealtLaw, colluders: int) -> Losses:
    """A bound for all values of the others: the adversary is told which of them were truthful."""
    chances = _chances(law)
    if law.k > 2:
        return _of_many_values(law, chances, colluders)
    bound = tuple(_bounds(chances, cards_left(law, 1, colluders), half=0))
    return Losses(bound, (), "bounded")


def likely_worst_of_dealt(law: DealtLaw, colluders: int) -> Losses:
    """All others hold another value, and colluders as many cards of the target's as possible.

    For k > 2 only who reported the target's value is seen, which is less than everything.
    """
    chances = _chances(law)
    value = 1 if law.k == 2 else min(range(law.k), key=lambda v: law.deck[v])
    cards = cards_left(law, value, colluders)[-1]
    seen = of_one_group(cards, *chances.of_zero)
    pure = _largest(chances, (cards,))
    if law.k > 2:
        return Losses((_of_value(chances, seen, pure),), (), "likely the worst")
    return Losses((_case(chances, seen, pure, {"ones": 0}),), (), "likely the worst")


def _bounds(chances: Chances, decks: list[Cards], half: int = _HALF) -> Iterator[LossDistribution]:
    """Bounds: told who was truthful, among all others or among the half who may hold 1."""
    told = Told(1 - chances.truth, *chances.of_zero)
    # Mostly ones: all is turned over, which is the turned deck with mostly zeros.
    both_ways = list({turn: None for cards in decks for turn in (cards, cards.turned())})
    pure = _largest(chances, both_ways)
    for cards, believed in parts(both_ways, _WHOLE, _LEAST):
        others = cards.total - 1
        silent = others // 2 if others < half else 0
        zeros = Reporters(silent, *chances.of_zero)
        seen = told_evidence(cards, told, others - silent, zeros)
        for chance in believed:
            yield _case(chances, seen.believed(cards, chance), pure, {"others": "bounded"})


def _case(
    chances: Chances, seen: Evidence, pure: float, about: dict[str, object]
) -> LossDistribution:
    """The target reports 1 or 0."""
    one, zero = chances.of_one, chances.of_zero
    first = float(one[0]) * seen.plus + float(one[1]) * seen.minus
    second = float(zero[0]) * seen.plus + float(zero[1]) * seen.minus
    not_first = float(1 - one[0]) * seen.plus + float(1 - one[1]) * seen.minus
    not_second = float(1 - zero[0]) * seen.plus + float(1 - zero[1]) * seen.minus
    return LossDistribution(
        np.concatenate((first, not_first)),
        np.concatenate((second, not_second)),
        seen.error + 8 * ULP,
        seen.missing,
        pure,
        about,
    )


def _of_many_values(law: DealtLaw, chances: Chances, colluders: int) -> Losses:
    """Only reports x and x' distinguish them, through the belief that the card is x, or x'."""
    _, dealt, guess = chances
    # Told: who told the truth, who drew a value other than x, and every other card reported.
    told = Told(dealt + guess, dealt + guess, guess)
    cases = []
    for value in {held: v for v, held in enumerate(law.deck)}.values():
        decks = cards_left(law, value, colluders)
        pure = _largest(chances, decks)
        for cards, believed in parts(decks, _WHOLE, _LEAST):
            seen = told_evidence(
                cards, told, cards.total - 1, Reporters(0, Fraction(0), Fraction(0))
            )
            cases += [_of_value(chances, seen.believed(cards, c), pure) for c in believed]
    return Losses(tuple(cases), (), "bounded")


def _of_value(chances: Chances, seen: Evidence, pure: float) -> LossDistribution:
    """The target reports this value, the other one that is asked about, or neither."""
    truth, dealt, guess = chances
    all_of = seen.plus + seen.minus
    less = float(dealt + guess) * seen.plus + float(guess) * seen.minus
    more = float(truth) * all_of + less
    rest = np.maximum(0.0, all_of.sum(keepdims=True) - more.sum() - less.sum())
    return LossDistribution(
        np.concatenate((more, less, rest)),
        np.concatenate((less, more, rest)),
        seen.error + 8 * ULP,
        seen.missing,
        pure,
        {"others": "bounded"},
    )


def _largest(chances: Chances, decks: Sequence[Cards]) -> float:
    """The loss when every other holds 0 and reports 1."""
    least = min(belief(cards, *chances.of_zero) for cards in decks)
    decoy = chances.dealt * least + chances.guess
    return log_ratio_up(chances.truth + decoy, decoy)


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
