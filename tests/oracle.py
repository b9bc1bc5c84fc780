"""Brute-force laws of joint and dealt randomized response, for small populations.

Everything here is enumerated with exact fractions: every deal of the deck, every report of every
contributor, everything an adversary may see. Nothing is imported from the library and no closed
form of the theory is used, so agreement with the library is evidence for both.

Vocabulary: a *card law* says how likely each deal is (one card per reporting contributor), a
*channel* how likely each report is given a card and a true value, a *report law* how likely each
tuple of reports is.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import TypeAlias

Deal: TypeAlias = tuple[int, ...]
Law: TypeAlias = dict[tuple[int, ...], Fraction]
"""Outcome, one entry per person -> probability; outcomes are deals, truths or reports."""
Channel: TypeAlias = Callable[[int, int], Sequence[Fraction]]
"""(card, true value) -> probability of each report."""
Clue: TypeAlias = Mapping[int, Fraction]
"""What one colluder tells: the probability of the observation given the colluder's card."""
Estimator: TypeAlias = Callable[[Sequence[int]], Sequence[Fraction]]
"""Counts of the reports -> estimated counts of the true values."""

PLUS, BLANK, MINUS = 1, 0, -1
ZERO = Fraction(0)


# Decks and deals ------------------------------------------------------------------------------


@cache
def distinct_arrangements(cards: Deal) -> tuple[Deal, ...]:
    """Every distinct order of `cards`, which must be sorted."""
    if not cards:
        return ((),)
    return tuple(
        (first, *rest)
        for first in sorted(set(cards))
        for rest in distinct_arrangements(without(cards, first))
    )


def without(cards: Deal, card: int) -> Deal:
    """`cards` after one `card` was taken out."""
    place = cards.index(card)
    return cards[:place] + cards[place + 1 :]


def sign_deck(n: int) -> Deal:
    """JRR's deck: as many plus as minus cards, and one blank for an odd n."""
    return tuple(sorted([PLUS, MINUS] * (n // 2) + [BLANK] * (n % 2)))


def uneven_sign_deck(plus: int, minus: int) -> Deal:
    """JRR's deck with any number of plus and minus cards."""
    return (MINUS,) * minus + (PLUS,) * plus


def decoy_deck(counts: Sequence[int]) -> Deal:
    """DRR's deck: `counts[v]` cards that show v."""
    return tuple(value for value, count in enumerate(counts) for _ in range(count))


def even_counts(n: int, k: int) -> tuple[int, ...]:
    """The default composition of DRR's deck: the first n mod k values get one card more."""
    return tuple(n // k + (value < n % k) for value in range(k))


def uniform(outcomes: Sequence[tuple[int, ...]]) -> Law:
    """The uniform law over `outcomes`, repetitions counted."""
    return {outcome: Fraction(count, len(outcomes)) for outcome, count in Counter(outcomes).items()}


def one_deck(deck: Deal) -> Law:
    """Card law of one shuffled deck dealt to as many contributors as it has cards."""
    return uniform(distinct_arrangements(deck))


def partitions(people: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[Deal, ...]]:
    """Every way to split `people` into ordered groups of the given sizes."""
    if not sizes:
        yield ()
        return
    for chosen in combinations(people, sizes[0]):
        others = tuple(person for person in people if person not in chosen)
        for rest in partitions(others, sizes[1:]):
            yield (chosen, *rest)


def several_decks(decks: Sequence[Deal]) -> Law:
    """Card law when people are assigned to the decks uniformly at random, each deck shuffled."""
    sizes = [len(deck) for deck in decks]
    outcomes: list[Deal] = []
    for groups in partitions(tuple(range(sum(sizes))), sizes):
        for hands in product(*(distinct_arrangements(deck) for deck in decks)):
            card_of = {
                person: card
                for group, hand in zip(groups, hands, strict=True)
                for person, card in zip(group, hand, strict=True)
            }
            outcomes.append(tuple(card_of[person] for person in sorted(card_of)))
    return uniform(outcomes)


def groups_of_signs(n: int, size: int) -> Law:
    """Card law of secret uniform groups of even `size`, signs balanced within each group."""
    return several_decks([sign_deck(size)] * (n // size))


def groups_with_one_liar(n: int, size: int) -> Law:
    """Law of truthfulness in secret uniform groups, in each of which exactly one lies."""
    return several_decks([(0,) + (1,) * (size - 1)] * (n // size))


def of_random_subset(law: Law, kept: int) -> Law:
    """Law of what `kept` people hold who are a uniformly random subset of everybody (dropout)."""
    everybody = len(next(iter(law)))
    subsets = list(combinations(range(everybody), kept))
    result: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for outcome, probability in law.items():
        for subset in subsets:
            result[tuple(outcome[i] for i in subset)] += probability / len(subsets)
    return dict(result)


# Channels and joint laws ----------------------------------------------------------------------


def truth_or_lie(truth: Fraction, k: int, value: int) -> tuple[Fraction, ...]:
    """Report law: `value` with probability `truth`, otherwise uniform over the others."""
    return tuple(truth if report == value else (1 - truth) / (k - 1) for report in range(k))


def joint_channel(p: Fraction, s: Fraction, k: int) -> Channel:
    """JRR and k-JRR: tell the truth with probability p + s * card."""
    return lambda card, value: truth_or_lie(p + s * card, k, value)


def two_card_channel(with_plus: Fraction, with_minus: Fraction, k: int) -> Channel:
    """JRR of an uneven deck: the truth with one probability for each kind of card."""
    truth = {PLUS: with_plus, MINUS: with_minus}
    return lambda card, value: truth_or_lie(truth[card], k, value)


def dealt_channel(truth: Fraction, own: Fraction, k: int) -> Channel:
    """DRR: the true value, the card, or a uniform value of one's own."""

    def channel(card: int, value: int) -> tuple[Fraction, ...]:
        dealt = 1 - truth - own
        return tuple(
            truth * (report == value) + dealt * (report == card) + own / k for report in range(k)
        )

    return channel


def independent(choices: Sequence[Sequence[Fraction]]) -> Law:
    """Joint law of independent variables; `choices[i][y]` is the law of the i-th."""
    law: Law = {(): Fraction(1)}
    for choice in choices:
        law = {
            (*outcome, option): probability * weight
            for outcome, probability in law.items()
            for option, weight in enumerate(choice)
            if weight
        }
    return law


def mixture(parts: Iterable[tuple[Fraction, Law]]) -> Law:
    """Law of an outcome drawn from a law that was itself drawn with the given weight."""
    result: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for weight, law in parts:
        for outcome, probability in law.items():
            result[outcome] += weight * probability
    return dict(result)


def of_hidden(hidden_law: Law, chances: Callable[[int, int], Sequence[Fraction]]) -> Law:
    """Law of what people show who are independent given what they hold, which is hidden.

    `chances(i, held)` is the law of what the i-th shows. Counted in whole numbers over one
    denominator: exact as fractions are, and many times faster.
    """
    rows = {(i, held): chances(i, held) for hidden in hidden_law for i, held in enumerate(hidden)}
    unit = math.lcm(*(chance.denominator for row in rows.values() for chance in row))
    whole = {key: [int(chance * unit) for chance in row] for key, row in rows.items()}
    weight_unit = math.lcm(*(weight.denominator for weight in hidden_law.values()))
    result: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for hidden, weight in hidden_law.items():
        law: dict[tuple[int, ...], int] = {(): int(weight * weight_unit)}
        for key in enumerate(hidden):
            law = {
                (*outcome, option): ways * more
                for outcome, ways in law.items()
                for option, more in enumerate(whole[key])
                if more
            }
        for outcome, ways in law.items():
            result[outcome] += ways
    everything = weight_unit * unit ** len(next(iter(hidden_law)))
    return {outcome: Fraction(ways, everything) for outcome, ways in result.items()}


def reports_of_deals(card_law: Law, channel: Channel, values: Sequence[int]) -> Law:
    """Report law of contributors with `values`: independent given the cards."""
    return of_hidden(card_law, lambda i, card: channel(card, values[i]))


def truths_of_deals(card_law: Law, p: Fraction, s: Fraction) -> Law:
    """Law of JRR's truthfulness bits T: independent given the cards, Pr[T=1|R] = p + s R."""
    return of_hidden(card_law, lambda _i, card: (1 - p - s * card, p + s * card))


def reports_of_truths(truth_law: Law, values: Sequence[int], k: int) -> Law:
    """Report law when T decides between the true value and a uniformly random other one."""
    return of_hidden(truth_law, lambda i, truth: truth_or_lie(Fraction(truth), k, values[i]))


# The paper's pairs ----------------------------------------------------------------------------


def paper_pair_table(p: Fraction, rho: Fraction) -> Law:
    """Law of (T_1, T_2) of one pair, the paper's Table 2, for any sign of rho."""
    q = 1 - p
    return {
        (1, 1): p * p + rho * p * q,
        (1, 0): (1 - rho) * p * q,
        (0, 1): (1 - rho) * p * q,
        (0, 0): q * q + rho * p * q,
    }


def paper_pair_reports(p: Fraction, rho: Fraction, k: int, values: Sequence[int]) -> Law:
    """Report law of one pair of k-JRR, the paper's Eq. (k-JRR)."""
    q = (1 - p) / (k - 1)

    def probability(first: int, second: int) -> Fraction:
        lies = (first != values[0]) + (second != values[1])
        if lies == 0:
            return p * p + rho * p * q
        if lies == 1:
            return p * q - rho * p * q / (k - 1)
        return q * q + rho * p * q / (k - 1) ** 2

    return {pair: probability(*pair) for pair in product(range(k), repeat=2)}


def noise_law(p: Fraction, s: Fraction) -> dict[Fraction, Fraction]:
    """Law of the paper's C_j for k = 2, with s = sqrt(-rho p q)."""
    return {
        Fraction(3, 2): p - s,
        Fraction(1, 2): s,
        Fraction(-1, 2): s,
        Fraction(-3, 2): 1 - p - s,
    }


def pair_table_by_noise(p: Fraction, s: Fraction) -> Law:
    """Law of (T_1, T_2) by the practical rule: T_j = 1 if C_j + R_j > 0, with R_2 = -R_1."""
    table: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    noise = noise_law(p, s)
    for sign in (PLUS, MINUS):
        for (c1, weight1), (c2, weight2) in product(noise.items(), repeat=2):
            truths = (int(c1 + sign > 0), int(c2 - sign > 0))
            table[truths] += weight1 * weight2 / 2
    return dict(table)


def pairings(people: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every pairing of an even number of people."""
    if not people:
        yield ()
        return
    first, *others = people
    for partner in others:
        rest = tuple(person for person in others if person != partner)
        for pairs in pairings(rest):
            yield ((first, partner), *pairs)


def of_pairs(n: int, pair_law: Callable[[int, int], Law], single_law: Callable[[int], Law]) -> Law:
    """Joint law under a uniform secret pairing, averaged over all pairings.

    `pair_law(i, j)` is the law of the outcomes of i and j if they are a pair; for an odd n one
    contributor, uniformly chosen, has no partner and follows `single_law`.
    """
    parts = []
    for alone in range(n) if n % 2 else [None]:
        everybody_else = tuple(person for person in range(n) if person != alone)
        for pairs in pairings(everybody_else):
            order: tuple[int, ...] = () if alone is None else (alone,)
            law: Law = {(): Fraction(1)} if alone is None else single_law(alone)
            for i, j in pairs:
                order += (i, j)
                law = {
                    outcome + more: probability * weight
                    for outcome, probability in law.items()
                    for more, weight in pair_law(i, j).items()
                    if weight
                }
            parts.append(_in_order(law, order))
    return mixture((Fraction(1, len(parts)), part) for part in parts)


def _in_order(law: Law, order: Sequence[int]) -> Law:
    """The same law with outcomes listed by person; position i of an outcome is order[i]'s."""
    places = sorted(range(len(order)), key=lambda place: order[place])
    return {
        tuple(outcome[place] for place in places): probability
        for outcome, probability in law.items()
    }


def truths_of_pairs(n: int, p: Fraction, rho: Fraction) -> Law:
    """Law of T of everybody in the paper's binary JRR: uniform secret pairs, Table 2 in each."""
    return of_pairs(n, lambda _i, _j: paper_pair_table(p, rho), lambda _i: {(1,): p, (0,): 1 - p})


def reports_of_pairs(values: Sequence[int], p: Fraction, rho: Fraction, k: int) -> Law:
    """Report law of k-JRR as the paper states it: uniform secret pairs, Eq. (k-JRR) in each."""
    return of_pairs(
        len(values),
        lambda i, j: paper_pair_reports(p, rho, k, (values[i], values[j])),
        lambda i: {(y,): w for y, w in enumerate(truth_or_lie(p, k, values[i]))},
    )


# Moments --------------------------------------------------------------------------------------


def marginal(law: Law, place: int) -> dict[int, Fraction]:
    """Law of one coordinate."""
    result: defaultdict[int, Fraction] = defaultdict(Fraction)
    for outcome, probability in law.items():
        result[outcome[place]] += probability
    return dict(result)


def correlation(law: Law) -> float:
    """Correlation coefficient of the two coordinates of a law of pairs."""

    def mean(f: Callable[[int, int], int]) -> Fraction:
        return sum((w * f(a, b) for (a, b), w in law.items()), ZERO)

    first, second = mean(lambda a, _b: a), mean(lambda _a, b: b)
    variances = (mean(lambda a, _b: a * a) - first**2) * (mean(lambda _a, b: b * b) - second**2)
    return float(mean(lambda a, b: a * b) - first * second) / math.sqrt(variances)


def joint_estimator(p: Fraction, k: int) -> Estimator:
    """RR, GRR, JRR and k-JRR: (I_v - n q) / (p - q)."""
    q = (1 - p) / (k - 1)

    def estimate(report_counts: Sequence[int]) -> list[Fraction]:
        n = sum(report_counts)
        return [(count - n * q) / (p - q) for count in report_counts]

    return estimate


def dealt_estimator(truth: Fraction, own: Fraction, deck: Sequence[int]) -> Estimator:
    """DRR: the decoys expected from the deck and from own coins are taken off each count."""
    k, cards = len(deck), sum(deck)

    def estimate(report_counts: Sequence[int]) -> list[Fraction]:
        n = sum(report_counts)
        return [
            (count - (1 - truth - own) * n * Fraction(of_value, cards) - own * n / k) / truth
            for count, of_value in zip(report_counts, deck, strict=True)
        ]

    return estimate


def counts_of(values: Sequence[int], k: int) -> tuple[int, ...]:
    """How often each of 0..k-1 occurs."""
    return tuple(values.count(value) for value in range(k))


def moments(report_law: Law, estimator: Estimator, k: int) -> tuple[list[Fraction], list[Fraction]]:
    """Mean and variance of each estimated count over the report law."""
    by_counts: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for reports, probability in report_law.items():
        by_counts[counts_of(reports, k)] += probability
    weighted = [(weight, estimator(counts)) for counts, weight in by_counts.items()]
    means = [sum((w * e[v] for w, e in weighted), ZERO) for v in range(k)]
    variances = [sum((w * (e[v] - means[v]) ** 2 for w, e in weighted), ZERO) for v in range(k)]
    return means, variances


# Privacy --------------------------------------------------------------------------------------


def channel_loss(rows: Sequence[Sequence[Fraction]]) -> float:
    """Worst ln Pr[y|x] / Pr[y|x'] over all y, x, x' of the channel `rows[x][y]`, up to a factor."""
    worst = 0.0
    for column in zip(*rows, strict=True):
        if max(column) > 0:
            worst = max(worst, log_ratio(max(column), min(column)))
    return worst


def log_ratio(larger: Fraction, smaller: Fraction) -> float:
    """ln(larger / smaller), infinite where the smaller is impossible."""
    return math.log(larger / smaller) if smaller else math.inf


@dataclass(frozen=True)
class Survey:
    """One deck dealt to everybody: the target first, the colluders next.

    `told` lists what a colluder may tell in the view "truths".
    """

    deck: Deal
    channel: Channel
    k: int
    told: Sequence[Clue]

    def losses(self, clues: Sequence[Clue], colluders: int) -> dict[tuple[int, ...], float]:
        """Loss of the target for every observation that can happen.

        Each colluder shows one of `clues`. Deals are exchangeable, so an observation is a
        multiset of clues, named by their sorted numbers. Impossible observations are left out.
        """
        hands = Counter(deal[: colluders + 1] for deal in distinct_arrangements(self.deck))
        unit = math.lcm(*(chance.denominator for clue in clues for chance in clue.values()))
        whole = [{card: int(w * unit) for card, w in clue.items()} for clue in clues]
        losses = {}
        for observation in combinations_with_replacement(range(len(clues)), colluders):
            card_weights: defaultdict[int, int] = defaultdict(int)
            for (card, *others), deals in hands.items():
                likelihood = deals
                for number, other in zip(observation, others, strict=True):
                    likelihood *= whole[number].get(other, 0)
                    if not likelihood:
                        break
                card_weights[card] += likelihood
            if sum(card_weights.values()):
                losses[observation] = self.loss_of_belief(card_weights)
        return losses

    def loss_of_belief(self, card_weights: Mapping[int, Fraction | int]) -> float:
        """Loss of the target for an adversary who believes in these weights of the card."""
        return channel_loss(
            [
                [sum((w * row[y] for w, row in rows), ZERO) for y in range(self.k)]
                for rows in (
                    [(w, self.channel(card, x)) for card, w in card_weights.items()]
                    for x in range(self.k)
                )
            ]
        )

    def loss_if_all_tell(self, clue: Clue, colluders: int) -> float:
        """Loss when every colluder tells `clue`; hands are counted, of a deck with two kinds."""
        one, other = sorted(set(self.deck))
        card_weights = {}
        for card in (one, other):
            rest = Counter(without(self.deck, card))
            hands = (
                math.comb(rest[one], ones)
                * math.comb(rest[other], colluders - ones)
                * clue[one] ** ones
                * clue[other] ** (colluders - ones)
                for ones in range(colluders + 1)
            )
            card_weights[card] = self.deck.count(card) * sum(hands, ZERO)
        return self.loss_of_belief(card_weights)

    def loss(self, view: str, colluders: int = 0) -> float:
        """Worst loss of the target over all observations of the view."""
        show_cards: list[Clue] = [{card: Fraction(1)} for card in sorted(set(self.deck))]
        match view:
            case "report":
                return max(self.losses([], 0).values())
            case "truths":
                return max(self.losses(self.told, colluders).values())
            case "cards":
                return max(self.losses(show_cards, colluders).values())
            case "dealer":
                return max(self.loss_of_belief(own_card) for own_card in show_cards)
        raise ValueError(view)


def loss_under_theorem_2(n: int, colluders: int, pair_table: Law) -> float:
    """The paper's Theorem 2: its bound on the loss when the colluders tell their truths.

    It takes the target's partner to be uniform among the others whatever the colluders tell, and
    then the colluder's truth that moves the target's the most. `pair_table` is the law of
    (T_target, T_partner).
    """
    truth = marginal(pair_table, 0)

    def given_partner(told: int, target: int) -> Fraction:
        return pair_table[target, told] / marginal(pair_table, 1)[told]

    honest_partners = n - 1 - colluders
    likely = colluders * max(given_partner(t, 1) for t in (0, 1)) + honest_partners * truth[1]
    unlikely = colluders * min(given_partner(t, 0) for t in (0, 1)) + honest_partners * truth[0]
    return log_ratio(likely, unlikely)


def joint_survey(n: int, p: Fraction, s: Fraction, k: int) -> Survey:
    """JRR and k-JRR; a colluder tells whether the report was a lie (clue 0) or true (clue 1).

    For an odd n the adversary knows who holds the blank card, and the target and the colluders
    hold signed ones, so the deck is that of the signed cards.
    """
    told = [
        {card: 1 - p - s * card for card in (MINUS, PLUS)},
        {card: p + s * card for card in (MINUS, PLUS)},
    ]
    return Survey(sign_deck(n - n % 2), joint_channel(p, s, k), k, told)


def uneven_survey(deck: Deal, with_plus: Fraction, with_minus: Fraction, k: int) -> Survey:
    """JRR of an uneven deck; a colluder tells whether the report was a lie or true."""
    told = [{PLUS: 1 - with_plus, MINUS: 1 - with_minus}, {PLUS: with_plus, MINUS: with_minus}]
    return Survey(deck, two_card_channel(with_plus, with_minus, k), k, told)


def dealt_survey(deck_counts: Sequence[int], truth: Fraction, own: Fraction) -> Survey:
    """DRR; a colluder tells value and report, but not the card."""
    k = len(deck_counts)
    channel = dealt_channel(truth, own, k)
    told = [
        {card: channel(card, value)[report] for card in range(k)}
        for value, report in product(range(k), repeat=2)
    ]
    return Survey(decoy_deck(deck_counts), channel, k, distinct_clues(told))


def distinct_clues(clues: Iterable[Clue]) -> list[Clue]:
    """Clues that differ: equal likelihoods of every card are one and the same clue."""
    return list({tuple(sorted(clue.items())): clue for clue in clues}.values())
