"""The exact law of the reports that support a value: nothing here is simulated.

Holders get a hypergeometric number of marked cards, and given their cards people report
independently. A law is found from its values on the unit circle by a Fourier transform.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from jrr.mechanisms.base import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Waves = NDArray[np.complex128]
_NEGLIGIBLE = 1e-15  # chances below it are left out
_DEVIATIONS = 12  # standard deviations from the mean beyond which counts are left out


@dataclass(frozen=True)
class CardKind:
    """Cards that are alike for one value, and how often their holders support it."""

    cards: int
    holder: float
    other: float


def kinds_of(mechanism: Mechanism, value: int) -> list[CardKind]:
    """The kinds of cards in a deck, as far as one value goes; the most frequent first."""
    stranger = (value + 1) % mechanism.k
    deck = mechanism.moments.deck or 1
    counts: dict[tuple[float, float], int] = {}
    for law in mechanism.card_laws():
        chances = float(law.reports[value, value]), float(law.reports[stranger, value])
        counts[chances] = counts.get(chances, 0) + round(law.share * deck)
    kinds = [CardKind(cards, *chances) for chances, cards in counts.items()]
    return sorted(kinds, key=lambda kind: -kind.cards)


def count_law(mechanism: Mechanism, holders: int, n: int, value: int = 1) -> tuple[Ints, Floats]:
    """The law of the number of reports that support a value, where `holders` of n hold it.

    Args:
        mechanism: one without cards, or with a deck of n cards of two kinds and a blank one.
        holders: how many hold the value.
        n: people who report.
        value: the value.

    Returns:
        Numbers of reports, and the chance of each; what is left out has a chance of nearly 0.
    """
    kinds = kinds_of(mechanism, value)
    moments = mechanism.moments.some(slice(value, value + 1))
    gain, q = float(moments.gain[0]), float(moments.q[0])
    sd = gain * float(moments.variance(np.array([float(holders)]), n, 1)[0]) ** 0.5
    width = min(n + 1, 2 * int(_DEVIATIONS * sd + 20))
    first = min(max(0, int(n * q + holders * gain) - width // 2), n + 1 - width)
    waves = np.exp(2j * np.pi * np.arange(width) / width)
    if len(kinds) == 3 and kinds[2].cards == 1:  # the blank card lies with a holder, or not
        turned = np.zeros(width, np.complex128)
        for chance, held, blank in (
            (holders / n, holders - 1, kinds[2].holder),
            (1 - holders / n, holders, kinds[2].other),
        ):
            if chance > 0:
                own = 1 - blank + blank * waves
                turned += chance * own * _turned(kinds[:2], held, n - 1, waves)
    else:
        turned = _turned(kinds, holders, n, waves)
    # Counts that differ by the width fall together, but all of them but one are out of reach.
    folded = np.fft.fft(turned).real / width
    law: Floats = np.maximum(np.roll(folded, -first), 0.0)
    return np.arange(first, first + width), law


def _turned(kinds: Sequence[CardKind], holders: int, n: int, waves: _Waves) -> _Waves:
    """E[waves^count]: a sum over how many marked cards the holders have."""
    factors = [
        1 - chance + chance * waves for kind in kinds for chance in (kind.holder, kind.other)
    ]
    if len(kinds) == 1:
        return _product(factors, (holders, n - holders))
    marked, rest = kinds[0].cards, kinds[1].cards
    most = np.arange(max(0, holders - rest), min(holders, marked) + 1)
    chances = stats.hypergeom.pmf(most, n, marked, holders) if holders else np.ones(1)
    total = np.zeros(len(waves), np.complex128)
    for held, chance in zip(most.tolist(), chances.tolist(), strict=True):
        if chance > _NEGLIGIBLE:
            powers = (held, marked - held, holders - held, rest - (holders - held))
            total += chance * _product(factors, powers)
    return total


def _product(factors: Sequence[_Waves], powers: Sequence[int]) -> _Waves:
    product = np.ones_like(factors[0])
    for factor, power in zip(factors, powers, strict=True):
        product = product * factor**power
    return product


@dataclass(frozen=True)
class People:
    """Some who report, and how many of them hold the value."""

    holders: int
    n: int


def law_of_two(mechanism: Mechanism, first: People, second: People, value: int = 1) -> Floats:
    """The joint law of the reports that support a value in two sets of people of one deck.

    Cards that nobody answers with count: the two need not be all of the deck.

    Returns:
        The chance of each pair of counts, a row for each count of the first set.

    Example:
        >>> from jrr.mechanisms.joint import JRR
        >>> opposite = JRR(2, p=0.5 + 1e-9, s=0.5 - 1e-9)  # of two cards one makes a liar
        >>> law_of_two(opposite, People(1, 1), People(1, 1)).round(6).tolist()
        [[0.0, 0.5], [0.5, 0.0]]
    """
    kinds = kinds_of(mechanism, value)
    absent = (mechanism.moments.deck or first.n + second.n) - first.n - second.n
    if len(kinds) < 3:
        return _law_of_two(kinds, first, second, absent)
    *kinds, blank = kinds  # one card, which lies with anybody
    deck = first.n + second.n + absent
    law = np.zeros((first.n + 1, second.n + 1))
    for people, others, counts in ((first, second, law), (second, first, law.T)):
        for own, number, holder in (
            (blank.holder, people.holders, 1),
            (blank.other, people.n - people.holders, 0),
        ):
            if number:  # one of them has the blank card
                without = People(people.holders - holder, people.n - 1)
                rest = number / deck * _law_of_two(kinds, without, others, absent)
                counts[:-1] += (1 - own) * rest
                counts[1:] += own * rest
    if absent:
        law += absent / deck * _law_of_two(kinds, first, second, absent - 1)
    return law


def _law_of_two(kinds: Sequence[CardKind], first: People, second: People, absent: int) -> Floats:
    """The same where there are at most two kinds of cards.

    Everybody draws a marked card independently, with the share that such cards have; what is
    wanted is the law given that as many were drawn as there are.
    """
    marked, rest = kinds[0], kinds[-1]
    deck = first.n + second.n + absent
    share = marked.cards / deck if len(kinds) == 2 else 1.0
    drawn = marked.cards if len(kinds) == 2 else deck
    circle = np.exp(2j * np.pi * np.arange(deck + 1) / (deck + 1))  # for marked cards drawn
    sides = [_given_marks(marked, rest, share, people, circle) for people in (first, second)]
    outside = (share * circle + 1 - share) ** absent * circle ** float(-drawn)
    together = (sides[0] * outside[:, None]).T @ sides[1]
    law: Floats = np.maximum(together.real / (deck + 1), 0.0)
    return law / stats.binom.pmf(drawn, deck, share)


def _given_marks(
    marked: CardKind, rest: CardKind, share: float, people: People, circle: _Waves
) -> _Waves:
    """E[circle^(marked cards); count of reports]: by point of the circle and count."""
    waves = np.exp(2j * np.pi * np.arange(people.n + 1) / (people.n + 1))
    turned = np.ones((len(circle), people.n + 1), np.complex128)
    for with_mark, without, number in (
        (marked.holder, rest.holder, people.holders),
        (marked.other, rest.other, people.n - people.holders),
    ):
        one = share * circle[:, None] * (1 - with_mark + with_mark * waves)
        turned = turned * (one + (1 - share) * (1 - without + without * waves)) ** number
    law: _Waves = np.fft.fft(turned, axis=1) / (people.n + 1)
    return law
