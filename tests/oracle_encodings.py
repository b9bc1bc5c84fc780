"""Brute-force laws of unary encodings and local hashing, in exact fractions.

As in `tests.oracle`, nothing is imported from the library and no closed form of the theory is
used. A unary report has one bit per value and every bit a deck of its own; hash functions are
all functions from values to buckets, each equally likely.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import prod

from tests.oracle import (
    MINUS,
    PLUS,
    ZERO,
    Channel,
    Deal,
    Law,
    Survey,
    channel_loss,
    distinct_arrangements,
    joint_survey,
    moments,
    of_random_subset,
    one_deck,
    partitions,
    reports_of_deals,
    sign_deck,
    truth_or_lie,
)

Bits = tuple[int, ...]

# Unary encodings ------------------------------------------------------------------------------


def even_sign_deck(n: int) -> Deal:
    """A bit's deck for n contributors: as many plus as minus; at odd n one card is left over."""
    return sign_deck(n + n % 2)


@dataclass(frozen=True)
class Bit:
    """How one bit is reported, by its card."""

    p: Fraction
    q: Fraction
    s: Fraction
    coupling: str

    def one(self, card: int, bit: int) -> Fraction:
        """Chance that a bit is reported as 1."""
        if bit:
            return self.p + self.s * card
        return self.q + self.s * card * {"none": 0, "joint": -1, "dealt": 1}[self.coupling]

    def chance(self, report: int, card: int, bit: int) -> Fraction:
        """Chance of a reported bit."""
        return self.one(card, bit) if report else 1 - self.one(card, bit)


@dataclass(frozen=True)
class UnarySurvey:
    """Unary encoding of k values among n contributors: one target, some colluders."""

    n: int
    k: int
    bit: Bit

    @property
    def reports(self) -> list[Bits]:
        """Every report there can be."""
        return list(product((0, 1), repeat=self.k))

    def loss(self, view: str, colluders: int = 0) -> float:
        """Worst loss of the target over everything the view may show.

        Decks are independent, and what is seen of one deck says nothing of another, so beliefs
        are found bit by bit (`whole_loss` does without that).
        """
        worst = 0.0
        for beliefs in set(self._beliefs(view, colluders)):
            worst = max(worst, _product_loss(self.bit, beliefs))
        return worst

    def _beliefs(self, view: str, colluders: int) -> Iterator[tuple[Fraction, ...]]:
        """Chances of a plus card on each bit of the target, sorted: bits are interchangeable."""
        if view == "report":
            yield (Fraction(1, 2),) * self.k
        elif view == "dealer":
            yield from combinations_with_replacement((ZERO, Fraction(1)), self.k)
        elif view == "cards":
            shown = [
                tuple([(Fraction(0), Fraction(1))] * plus + [(Fraction(1), Fraction(0))] * minus)
                for plus in range(colluders + 1)
                for minus in [colluders - plus]
            ]
            possible = [_belief(self.n, clues) for clues in shown]
            yield from combinations_with_replacement(
                sorted({belief for belief in possible if belief is not None}), self.k
            )
        else:
            told = list(product(range(self.k), self.reports))
            for sights in combinations_with_replacement(told, colluders):
                found = []
                for v in range(self.k):
                    clues = sorted(
                        (
                            self.bit.chance(report[v], MINUS, value == v),
                            self.bit.chance(report[v], PLUS, value == v),
                        )
                        for value, report in sights
                    )
                    found.append(_belief(self.n, tuple(clues)))
                beliefs = [belief for belief in found if belief is not None]
                if len(beliefs) == self.k:
                    yield tuple(sorted(beliefs))

    def whole_loss(self, view: str, colluders: int) -> float:
        """The same by enumerating every hand of every deck and every report at once."""
        hands = Counter(
            hand[: colluders + 1] for hand in distinct_arrangements(even_sign_deck(self.n))
        )
        worst = 0.0
        for others in combinations_with_replacement(range(self.k), colluders):
            rows = [self._seen(view, x, others, hands) for x in range(self.k)]
            for z in rows[0]:
                worst = max(
                    worst, channel_loss([[row[z][y] for y in self.reports] for row in rows])
                )
        return worst

    def _seen(
        self, view: str, value: int, others: Sequence[int], hands: Counter[Deal]
    ) -> dict[object, dict[Bits, Fraction]]:
        """What is seen beside the target's report -> report -> probability."""
        seen: defaultdict[object, defaultdict[Bits, Fraction]] = defaultdict(
            lambda: defaultdict(Fraction)
        )
        for dealt in product(hands.items(), repeat=self.k):
            weight = Fraction(prod(count for _, count in dealt))
            cards = list(zip(*(hand for hand, _ in dealt), strict=True))  # per person, per bit
            of_people = [
                {report: self._chance(report, hand, x) for report in self.reports}
                for hand, x in zip(cards, (value, *others), strict=True)
            ]
            shown: list[tuple[object, Fraction]] = [((), Fraction(1))]
            if view == "cards":
                shown = [(tuple(cards[1:]), Fraction(1))]
            elif view == "dealer":
                shown = [(cards[0], Fraction(1))]
            elif view == "truths":
                shown = [
                    (
                        told,
                        prod(
                            (law[y] for law, y in zip(of_people[1:], told, strict=True)),
                            start=Fraction(1),
                        ),
                    )
                    for told in product(self.reports, repeat=len(others))
                ]
            for z, chance in shown:
                if chance:
                    for y, of_y in of_people[0].items():
                        seen[z][y] += weight * chance * of_y
        return {z: dict(law) for z, law in seen.items()}

    def _chance(self, report: Bits, cards: Sequence[int], value: int) -> Fraction:
        return prod(
            (self.bit.chance(y, cards[v], v == value) for v, y in enumerate(report)),
            start=Fraction(1),
        )

    def shared_card_loss(self, view: str, colluders: int = 0) -> float:
        """Loss if one card served all bits of a contributor, in the views report and cards."""
        known = colluders if view == "cards" else 0
        beliefs = {
            _belief(
                self.n,
                tuple([(Fraction(0), Fraction(1))] * plus + [(Fraction(1), ZERO)] * (known - plus)),
            )
            for plus in range(known + 1)
        }
        return max(
            channel_loss(
                [
                    [
                        plus * self._chance(y, (PLUS,) * self.k, x)
                        + (1 - plus) * self._chance(y, (MINUS,) * self.k, x)
                        for y in self.reports
                    ]
                    for x in range(self.k)
                ]
            )
            for plus in beliefs
            if plus is not None
        )

    def moments(
        self, holders: int, reporters: int | None = None, decks: int = 1
    ) -> tuple[Fraction, Fraction]:
        """Mean and variance of the estimated count of one value that `holders` hold."""
        dealt = of_random_subset(one_deck(even_sign_deck(self.n)), self.n)
        cards = dealt if decks == 1 else _of_several_decks(dealt, decks)
        everybody = self.n * decks if reporters is None else reporters
        cards = of_random_subset(cards, everybody)

        def channel(card: int, bit: int) -> tuple[Fraction, Fraction]:
            return self.bit.chance(0, card, bit), self.bit.chance(1, card, bit)

        def estimator(counts: Sequence[int]) -> list[Fraction]:
            n = sum(counts)
            return [(count - n * self.bit.q) / (self.bit.p - self.bit.q) for count in counts]

        bits = (1,) * holders + (0,) * (everybody - holders)
        means, variances = moments(reports_of_deals(cards, channel, bits), estimator, 2)
        return means[1], variances[1]


def _of_several_decks(dealt: Law, decks: int) -> Law:
    """Card law when people are assigned at random to decks that are dealt by `dealt`."""
    n = len(next(iter(dealt)))
    groupings = list(partitions(tuple(range(n * decks)), [n] * decks))
    law: defaultdict[Deal, Fraction] = defaultdict(Fraction)
    for groups in groupings:
        for hands in product(dealt.items(), repeat=decks):
            card_of = {
                person: card
                for group, (hand, _) in zip(groups, hands, strict=True)
                for person, card in zip(group, hand, strict=True)
            }
            weight = prod((chance for _, chance in hands), start=Fraction(1, len(groupings)))
            law[tuple(card_of[person] for person in sorted(card_of))] += weight
    return dict(law)


def shared_card_report_loss(bit: Bit, k: int) -> float:
    """Loss of one report of any k bits if one card served them all.

    Two values differ in two bits; of the other k-2 only the number of ones matters.
    """

    def chance(ys: Bits, ones: int, value: int) -> Fraction:
        return sum(
            (
                bit.chance(ys[0], card, value == 0)
                * bit.chance(ys[1], card, value == 1)
                * bit.one(card, 0) ** ones
                * (1 - bit.one(card, 0)) ** (k - 2 - ones)
                for card in (MINUS, PLUS)
            ),
            ZERO,
        )

    seen = [(ys, ones) for ys in product((0, 1), repeat=2) for ones in range(k - 1)]
    return channel_loss([[chance(ys, ones, value) for ys, ones in seen] for value in (0, 1)])


@cache
def _belief(n: int, clues: tuple[tuple[Fraction, Fraction], ...]) -> Fraction | None:
    """Chance that the target's card is plus, given each colluder's clue; None: impossible.

    A clue is its likelihood under a minus and under a plus card.
    """
    weights = {MINUS: ZERO, PLUS: ZERO}
    for hand, count in _hands(n, len(clues)).items():
        likelihood = Fraction(count)
        for (minus, plus), card in zip(clues, hand[1:], strict=True):
            likelihood *= plus if card == PLUS else minus
        weights[hand[0]] += likelihood
    total = sum(weights.values())
    return weights[PLUS] / total if total else None


@cache
def _hands(n: int, colluders: int) -> Counter[Deal]:
    return Counter(hand[: colluders + 1] for hand in distinct_arrangements(even_sign_deck(n)))


@cache
def _product_loss(bit: Bit, beliefs: tuple[Fraction, ...]) -> float:
    """Loss of a report of independent bits, each with its own belief about its card."""
    k = len(beliefs)
    ones = [
        [plus * bit.one(PLUS, b) + (1 - plus) * bit.one(MINUS, b) for b in (0, 1)]
        for plus in beliefs
    ]
    return channel_loss(
        [
            [
                prod(
                    (ones[v][v == x] if y[v] else 1 - ones[v][v == x] for v in range(k)),
                    start=Fraction(1),
                )
                for y in product((0, 1), repeat=k)
            ]
            for x in range(k)
        ]
    )


# Local hashing --------------------------------------------------------------------------------


def functions(k: int, g: int) -> list[tuple[int, ...]]:
    """Every function from k values to g buckets."""
    return list(product(range(g), repeat=k))


def support_channel(p: Fraction, s: Fraction, k: int, g: int) -> Channel:
    """(card, value) -> chance of each set of supported values, hash functions averaged over.

    The set is a number with bit v set where v is supported: hashed to the reported bucket.
    """
    family = functions(k, g)

    @cache
    def channel(card: int, value: int) -> tuple[Fraction, ...]:
        chances = [ZERO] * 2**k
        for h in family:
            for y, chance in enumerate(truth_or_lie(p + s * card, g, h[value])):
                supported = sum(1 << v for v in range(k) if h[v] == y)
                chances[supported] += chance / len(family)
        return tuple(chances)

    return channel


def support_moments(
    card_law: Law, p: Fraction, s: Fraction, g: int, values: Sequence[int], k: int
) -> tuple[list[Fraction], list[Fraction]]:
    """Mean and variance of the estimated counts (S_v - n/g)/(p - 1/g)."""
    law = reports_of_deals(card_law, support_channel(p, s, k, g), values)
    means, variances = [], []
    for v in range(k):
        estimates = [
            (
                weight,
                (sum(y >> v & 1 for y in outcome) - Fraction(len(values), g))
                / (p - Fraction(1, g)),
            )
            for outcome, weight in law.items()
        ]
        mean = sum((w * e for w, e in estimates), ZERO)
        means.append(mean)
        variances.append(sum((w * (e - mean) ** 2 for w, e in estimates), ZERO))
    return means, variances


@dataclass(frozen=True)
class HashedSurvey(Survey):
    """k-JRR on hashed values; the report is the hash function and the perturbed bucket."""

    values: int = 2

    def loss_of_belief(self, card_weights: object) -> float:
        """Loss of the target for an adversary who believes in these weights of the card."""
        assert isinstance(card_weights, dict)
        total = sum(card_weights.values())
        return channel_loss(
            [
                [
                    sum((w * self.channel(card, h[x])[y] for card, w in card_weights.items()), ZERO)
                    / total
                    for h in functions(self.values, self.k)
                    for y in range(self.k)
                ]
                for x in range(self.values)
            ]
        )


def hashed_survey(n: int, p: Fraction, s: Fraction, k: int, g: int) -> HashedSurvey:
    """Joint OLH: a colluder's hash function, value and report tell whether it lied."""
    inside = joint_survey(n, p, s, g)
    return HashedSurvey(inside.deck, inside.channel, g, inside.told, k)
