"""The view `everything` against brute force, an independent accountant and its own bounds."""

import itertools
import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import jrr
from jrr.errors import JrrError
from jrr.mechanisms.informed_search import keeps_everything
from jrr.mechanisms.request import Request
from jrr.mechanisms.shifts import truth_probability
from jrr.planning.choice import choose_informed
from jrr.privacy.informed import (
    Beta,
    LossDistribution,
    Losses,
    dealt,
    everything,
    evidence,
    joint,
    loss_distribution,
)
from jrr.privacy.informed.rounds import composed
from tests import bare_plans, oracle

pytestmark = pytest.mark.heavy

Floats: TypeAlias = NDArray[np.float64]
CLOSE = 1e-12
EPSILONS = (0.0, 0.05, 0.1, 0.3, 0.7, 1.0, 1.5, 2.5, 4.0)
JOINT = [(0.6, 0.4), (0.6, 0.15), (0.75, 0.2), (0.55, 0.01)]  # (p, s)
DEALT = [(0.3, 0.0), (0.25, 0.2), (0.5, 0.05), (0.1, 0.9)]  # (truth, own)
DELTA = 1e-6


# Brute force: every deal, every tuple of reports ----------------------------------------------


def channel_of(mechanism: jrr.JRR | jrr.DRR, card: int, value: int) -> list[float]:
    """Chances of each report; nothing but the definition."""
    k = mechanism.k
    if isinstance(mechanism, jrr.JRR):
        truth = mechanism.p + mechanism.s * card
        return [truth if y == value else (1 - truth) / (k - 1) for y in range(k)]
    return [
        mechanism.truth * (y == value) + mechanism.dealt * (y == card) + mechanism.own / k
        for y in range(k)
    ]


def brute_law(
    mechanism: jrr.JRR | jrr.DRR, deck: Sequence[int], values: Sequence[int], target: int
) -> Floats:
    """Chance of every tuple of reports; the deck's first card is the target's."""
    deals = oracle.distinct_arrangements(tuple(sorted(deck)))
    people = [target, *values]
    total = np.zeros((mechanism.k,) * len(people))
    for deal in deals:
        law = np.ones(1)
        for card, value in zip(deal, people, strict=True):
            law = np.multiply.outer(law, np.array(channel_of(mechanism, card, value)))
        total += law[0]
    return total.ravel() / len(deals)


def brute_pair(
    mechanism: jrr.JRR | jrr.DRR, deck: Sequence[int], ones: int, prior: float | None = None
) -> tuple[Floats, Floats]:
    """Laws of all reports under x = 1 and x' = 0, others' values known or by a prior."""
    others = len(deck) - 1
    if prior is None:
        values = (1,) * ones + (0,) * (others - ones)
        first, second = (brute_law(mechanism, deck, values, x) for x in (1, 0))
        return first, second
    sums = [np.zeros(2 ** (others + 1)), np.zeros(2 ** (others + 1))]
    for values in itertools.product((0, 1), repeat=others):
        weight = prior ** sum(values) * (1 - prior) ** (others - sum(values))
        for x in (1, 0):
            sums[1 - x] += weight * brute_law(mechanism, deck, values, x)
    return sums[0], sums[1]


def deck_of(mechanism: jrr.JRR | jrr.DRR) -> tuple[int, ...]:
    if isinstance(mechanism, jrr.JRR):
        return oracle.sign_deck(mechanism.n - mechanism.n % 2)  # who holds the blank is known
    return oracle.decoy_deck(mechanism.deck)


def hockey_stick(first: Floats, second: Floats, epsilon: float) -> float:
    grown = math.exp(epsilon)
    return max(
        math.fsum(np.maximum(0.0, a - grown * b)) for a, b in ((first, second), (second, first))
    )


def law_of_loss(first: Floats, second: Floats) -> list[tuple[float, float, float]]:
    """Loss and both chances, atoms of equal loss put together."""
    there = (first > 1e-15) | (second > 1e-15)
    with np.errstate(divide="ignore"):
        losses = np.clip(np.log(first[there]) - np.log(second[there]), -50, 50)
    rows: list[tuple[float, float, float]] = []
    for loss, a, b in sorted(zip(losses, first[there], second[there], strict=True)):
        if rows and loss - rows[-1][0] < 1e-7:
            rows[-1] = (rows[-1][0], rows[-1][1] + a, rows[-1][2] + b)
        else:
            rows.append((float(loss), float(a), float(b)))
    return rows


def same_law(case: LossDistribution, first: Floats, second: Floats) -> bool:
    """Whether the whole law of the loss is that of the brute force."""
    mine, brute = law_of_loss(case.first, case.second), law_of_loss(first, second)
    return len(mine) == len(brute) and all(
        abs(a[0] - b[0]) < 1e-7 and abs(a[1] - b[1]) < CLOSE and abs(a[2] - b[2]) < CLOSE
        for a, b in zip(mine, brute, strict=True)
    )


def signed_case(losses: Losses) -> LossDistribution:
    """The case of a target with a signed card."""
    return losses.cases[-1]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 10])
@pytest.mark.parametrize(("p", "s"), JOINT)
def test_joint_law_is_enumerated_whatever_others_hold(n: int, p: float, s: float) -> None:
    mechanism = jrr.JRR(n, p, s=s)
    case = signed_case(loss_distribution(mechanism))
    people = n - n % 2
    for ones in range(people) if n < 10 else (0, 3):
        first, second = brute_pair(mechanism, deck_of(mechanism), ones)
        assert same_law(case, first, second)


def test_blank_card_is_the_report_alone_and_telling_who_holds_it_costs() -> None:
    mechanism = jrr.JRR(7, 0.6, s=0.3)
    losses = loss_distribution(mechanism)
    assert losses.cases[0].delta(0.0) == pytest.approx(0.2, abs=CLOSE)
    first, second = brute_pair(mechanism, oracle.sign_deck(7), 2)  # nobody knows who it is
    for epsilon in EPSILONS:
        assert hockey_stick(first, second, epsilon) <= losses.delta(epsilon)


@pytest.mark.parametrize("deck", [(1, 1), (2, 2), (4, 4), (4, 3), (5, 2), (7, 1)])
@pytest.mark.parametrize(("truth", "own"), DEALT)
def test_dealt_law_is_enumerated_for_all_compositions(
    deck: tuple[int, int], truth: float, own: float
) -> None:
    mechanism = jrr.DRR(sum(deck), truth, own, deck=deck)
    pairs = [brute_pair(mechanism, deck_of(mechanism), ones) for ones in range(sum(deck))]
    for ones, (first, second) in enumerate(pairs):
        losses = loss_distribution(mechanism, ones=ones)
        assert same_law(losses.cases[0], first, second)
        for epsilon in EPSILONS:
            exact = hockey_stick(first, second, epsilon)
            assert losses.delta(epsilon) == pytest.approx(exact, abs=CLOSE)
            assert losses.delta_low(epsilon) <= exact + 1e-15 <= losses.delta(epsilon) + 2e-15
    worst = loss_distribution(mechanism)
    assert worst.compositions == "all"
    for epsilon in EPSILONS:
        exact = max(hockey_stick(*pair, epsilon) for pair in pairs)
        assert worst.delta(epsilon) == pytest.approx(exact, abs=CLOSE)


def test_dealt_law_of_ten_people() -> None:
    mechanism = jrr.DRR(10, 0.2, 0.1)
    first, second = brute_pair(mechanism, deck_of(mechanism), 4)
    assert same_law(loss_distribution(mechanism, ones=4).cases[0], first, second)


@pytest.mark.parametrize("colluders", [1, 2])
@pytest.mark.parametrize(
    "mechanism", [jrr.JRR(8, 0.6, s=0.3), jrr.JRR(7, 0.6, s=0.4), jrr.DRR(7, 0.3, 0.1)]
)
def test_colluders_leave_their_worst_deck(mechanism: jrr.JRR | jrr.DRR, colluders: int) -> None:
    deck = deck_of(mechanism)
    left = {tuple(sorted(deal[colluders:])) for deal in oracle.distinct_arrangements(tuple(deck))}
    people = len(deck) - colluders
    pairs = [brute_pair(mechanism, cards, ones) for cards in left for ones in {0, 2, people - 1}]
    losses = loss_distribution(mechanism, colluders=colluders)
    laws = {ones: loss_distribution(mechanism, ones, colluders) for ones in {0, 2, people - 1}}
    for epsilon in EPSILONS:
        exact = max(hockey_stick(*pair, epsilon) for pair in pairs)
        some = max(law.delta(epsilon) for law in laws.values())
        assert some == pytest.approx(exact, abs=CLOSE)
        assert exact <= losses.delta(epsilon) + 1e-15


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(
    "mechanism", [jrr.JRR(6, 0.6, s=0.4), jrr.DRR(6, 0.3), jrr.DRR(5, 0.3, 0.2)]
)
def test_unknown_values_with_a_known_share(mechanism: jrr.JRR | jrr.DRR, share: float) -> None:
    first, second = brute_pair(mechanism, deck_of(mechanism), 0, share)
    assert same_law(loss_distribution(mechanism, frequency=share).cases[0], first, second)


def test_beta_prior_is_the_mean_over_values() -> None:
    mechanism = jrr.DRR(6, 0.3)
    prior = Beta(2.0, 3.0)
    first, second = np.zeros(64), np.zeros(64)
    for values in itertools.product((0, 1), repeat=5):
        a = sum(values)
        weight = math.exp(_log_beta(prior.a + a, prior.b + 5 - a) - _log_beta(prior.a, prior.b))
        first += weight * brute_law(mechanism, deck_of(mechanism), values, 1)
        second += weight * brute_law(mechanism, deck_of(mechanism), values, 0)
    losses = loss_distribution(mechanism, frequency=prior)
    for epsilon in EPSILONS:
        exact = hockey_stick(first, second, epsilon)
        assert losses.delta(epsilon) == pytest.approx(exact, abs=1e-10)
        assert losses.delta(epsilon) >= exact - 1e-15


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@pytest.mark.parametrize(("p", "s"), [(0.5, 0.5), (0.4, 0.3), (0.7, 0.1)])
def test_more_values_joint(p: float, s: float) -> None:
    mechanism = jrr.JRR(4, p, s=s, k=3)
    losses = loss_distribution(mechanism)
    for values in ((0, 0, 0), (0, 1, 2), (2, 2, 1)):
        first, second = (brute_law(mechanism, deck_of(mechanism), values, x) for x in (0, 1))
        for epsilon in EPSILONS:
            exact = hockey_stick(first, second, epsilon)
            assert losses.delta(epsilon) == pytest.approx(exact, abs=CLOSE)


@pytest.mark.slow_variants("deck0-0.1-", "deck3-0.25-", "deck3-0.3", "deck0-0.25")
@pytest.mark.parametrize(("truth", "own"), [(0.3, 0.0), (0.25, 0.2), (0.1, 0.6)])
@pytest.mark.parametrize("deck", [(2, 2, 2), (2, 2, 1), (3, 1, 1), (2, 1, 1, 1)])
def test_more_values_dealt_are_bounded(deck: tuple[int, ...], truth: float, own: float) -> None:
    k, n = len(deck), sum(deck)
    mechanism = jrr.DRR(n, truth, own, k=k, deck=deck)
    losses = loss_distribution(mechanism)
    worst = dict.fromkeys(EPSILONS, 0.0)
    for values in itertools.combinations_with_replacement(range(k), n - 1):
        laws = [brute_law(mechanism, deck_of(mechanism), values, x) for x in range(k)]
        for epsilon, (a, b) in itertools.product(EPSILONS, itertools.combinations(laws, 2)):
            worst[epsilon] = max(worst[epsilon], hockey_stick(a, b, epsilon))
    assert losses.delta_low(0.0) == 0.0  # only bounded
    for epsilon, exact in worst.items():
        assert exact <= losses.delta(epsilon) + 1e-15
    if own == 0:  # the bound is reached where the card is certain
        certain = truth * (1 - min(deck) / n) * (1 - truth) ** min(deck)
        assert losses.delta(50.0) == pytest.approx(certain, rel=1e-9)
        assert hockey_stick(*_extreme(mechanism), 50.0) == pytest.approx(certain, rel=1e-9)


def _extreme(mechanism: jrr.DRR) -> tuple[Floats, Floats]:
    rare = int(np.argmin(mechanism.deck))
    values = ((rare + 1) % mechanism.k,) * (mechanism.n - 1)
    first, second = (
        brute_law(mechanism, deck_of(mechanism), values, x)
        for x in (rare, (rare + 1) % mechanism.k)
    )
    return first, second


# Negative controls ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (jrr.JRR(8, 0.6, s=0.25), jrr.JRR(8, 0.6 * 1.3, s=0.2)),
        (jrr.JRR(8, 0.6, s=0.25), jrr.JRR(8, 0.6, s=0.25 * 1.3)),
        (jrr.DRR(8, 0.3, 0.1), jrr.DRR(8, 0.3 * 1.3, 0.1)),
        (jrr.DRR(8, 0.3, 0.1), jrr.DRR(8, 0.3, 0.13)),
    ],
)
def test_a_wrong_mechanism_is_noticed(right: jrr.JRR | jrr.DRR, wrong: jrr.JRR | jrr.DRR) -> None:
    first, second = brute_pair(right, deck_of(right), 3)
    ones = 3 if isinstance(right, jrr.DRR) else None
    assert same_law(loss_distribution(right, ones=ones).cases[0], first, second)
    assert not same_law(loss_distribution(wrong, ones=ones).cases[0], first, second)


def test_equal_values_are_not_the_worst_at_every_delta() -> None:
    """Known others who all hold one value are worst far out, not in the middle."""
    mechanism = jrr.DRR(4, 0.5)
    at = mechanism.epsilon()
    deltas = [loss_distribution(mechanism, ones=a).delta(at) for a in range(4)]
    assert deltas[1] > 1.3 * max(deltas[0], deltas[3])
    far = [loss_distribution(mechanism, ones=a).delta(50.0) for a in range(4)]
    assert max(far) == far[0]


# Bounds and order -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 7),
    truth=st.floats(0.01, 0.9),
    own=st.floats(0.0, 1.0),
    epsilon=st.floats(0.0, 5.0),
    ones=st.integers(0, 6),
    data=st.data(),
)
def test_delta_is_never_below_the_enumerated(
    n: int, truth: float, own: float, epsilon: float, ones: int, data: st.DataObject
) -> None:
    plus = data.draw(st.integers(0, n))
    mechanism = jrr.DRR(n, truth, own * (1 - truth), deck=(n - plus, plus))
    ones = min(ones, n - 1)
    exact = hockey_stick(*brute_pair(mechanism, deck_of(mechanism), ones), epsilon)
    losses = loss_distribution(mechanism, ones=ones)
    assert exact - 1e-14 <= losses.delta(epsilon) <= exact + CLOSE
    assert exact - CLOSE <= losses.delta_low(epsilon) <= exact + 1e-14
    joint = jrr.JRR(n, 0.5 + truth / 2, s=own * (0.5 - truth / 2))
    exact = hockey_stick(*brute_pair(joint, deck_of(joint), min(ones, n - n % 2 - 1)), epsilon)
    assert exact - 1e-14 <= loss_distribution(joint).delta(epsilon)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 60),
    truth=st.floats(0.01, 0.9),
    own=st.floats(0.0, 1.0),
    colluders=st.integers(0, 5),
)
def test_views_are_ordered(n: int, truth: float, own: float, colluders: int) -> None:
    colluders = min(colluders, n - 1)
    for mechanism in (
        jrr.DRR(n, truth, own * (1 - truth)),
        jrr.JRR(n, 0.5 + truth / 2, s=own * (0.5 - truth / 2)),
    ):
        cases = loss_distribution(mechanism, ones=0, colluders=colluders)
        largest = everything(mechanism, 0.0, ones=0, colluders=colluders)
        assert mechanism.epsilon("cards", colluders) <= largest * (1 + 1e-12)
        assert largest <= mechanism.epsilon("dealer") * (1 + 1e-12)
        for case in cases.cases:  # and no atom has more
            solid = (case.first > 1e-18) & (case.second > 1e-18)
            assert np.abs(case.losses[solid]).max(initial=0.0) <= case.pure * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("own", "deck"),
    [(0.0, (120, 120)), (0.05, (150, 90)), (0.0425, (90, 150)), (0.4, (130, 110))],
)
def test_bound_for_all_compositions_holds(own: float, deck: tuple[int, int]) -> None:
    mechanism = jrr.DRR(240, 0.1, own, deck=deck)
    bound = loss_distribution(mechanism)
    assert bound.compositions.startswith("bounded")
    exact = [loss_distribution(mechanism, ones=a) for a in (0, 1, 5, 60, 120, 200, 237, 239)]
    for epsilon in (0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0):
        assert max(law.delta_low(epsilon) for law in exact) <= bound.delta(epsilon)
        assert bound.delta_low(epsilon) <= bound.delta(epsilon)


@pytest.mark.parametrize(
    ("own", "colluders", "whole"), [(0.0, 4, 1000), (0.05, 0, 100), (0, 3, 90)]
)
def test_parts_of_decks_bound_them(
    own: float, colluders: int, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decks that colluders leave, bounded together, by a part that they all have in common."""
    mechanism = jrr.DRR(240, 0.1, own)
    others = 239 - colluders
    exact = [
        loss_distribution(mechanism, ones=a, colluders=colluders)
        for a in (0, 5, others // 2, others)
    ]
    for half in (1000, 0):  # half of the others told about, or all
        monkeypatch.setattr(dealt, "_WHOLE", whole)
        monkeypatch.setattr(dealt, "_HALF", half)
        bound = loss_distribution(mechanism, colluders=colluders)
        assert len(bound.cases) == (2 if colluders else 1)
        for epsilon in (0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0):
            assert max(law.delta_low(epsilon) for law in exact) <= bound.delta(epsilon)


@pytest.mark.parametrize(("deck", "part"), [((6, 3), (4, 2)), ((6, 2), (3, 1)), ((7, 3), (4, 2))])
def test_who_is_shown_says_nothing_of_the_target(
    deck: tuple[int, int], part: tuple[int, int]
) -> None:
    """Lemma D by enumeration: draw who is shown their cards, so many of each kind."""
    total, plus = deck
    shown_plus, shown_minus = plus - part[1], total - plus - (part[0] - part[1])
    laws: dict[int, dict[tuple[object, ...], Fraction]] = {0: {}, 1: {}}
    for cards in set(itertools.permutations([1] * plus + [0] * (total - plus))):
        of_kind = [[i for i in range(1, total) if cards[i] == kind] for kind in (0, 1)]
        choices = list(
            itertools.product(
                itertools.combinations(of_kind[1], shown_plus),
                itertools.combinations(of_kind[0], shown_minus),
            )
        )
        for shown in choices:
            hidden = [i for i in range(1, total) if i not in shown[0] + shown[1]]
            key = (shown, tuple(cards[i] for i in hidden))
            law = laws[cards[0]]
            law[key] = law.get(key, Fraction(0)) + Fraction(1, len(choices))
    for target, law in laws.items():
        by_choice: dict[object, list[Fraction]] = {}
        for (choice, *_), chance in law.items():
            by_choice.setdefault(choice, []).append(chance)
        weights = {choice: sum(chances) for choice, chances in by_choice.items()}
        assert len(set(weights.values())) == 1  # whoever is shown, whatever the target holds
        for chances in by_choice.values():  # the others' cards are uniform
            assert len(set(chances)) == 1
            assert len(chances) == math.comb(part[0] - 1, part[1] - target)
    assert {key[0] for key in laws[0]} == {key[0] for key in laws[1]}


def test_merged_sights_bound_what_was_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = evidence.of_one_group(evidence.Cards(60, 30), Fraction(1, 3), Fraction(1, 10))
    monkeypatch.setattr(evidence, "_CELLS", 16)
    fewer = evidence.merged(seen)
    assert len(fewer.plus) < len(seen.plus) / 2
    assert fewer.plus.sum() == pytest.approx(seen.plus.sum(), rel=1e-12)
    before, after = (
        LossDistribution(one.plus * 2, one.minus * 2, one.error, one.missing, math.inf)
        for one in (seen, fewer)
    )
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert before.delta_low(epsilon) <= after.delta(epsilon)
        assert before.delta(epsilon, once=True) == pytest.approx(before.delta(epsilon), rel=1e-9)
    assert after.delta(0.3) <= before.delta(0.3) + 0.4


@pytest.mark.parametrize("colluders", [0, 3])
def test_parts_of_joint_decks_bound_them(colluders: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = jrr.JRR(240, 0.6, s=0.3)
    exact = loss_distribution(mechanism, colluders=colluders)
    monkeypatch.setattr(joint, "MOST_PEOPLE", 100)
    monkeypatch.setattr(joint, "_PART", 150)
    bound = loss_distribution(mechanism, colluders=colluders)
    assert bound.compositions == "bounded"
    assert bound.pure == exact.pure
    for epsilon in (0.0, 0.2, 0.4, 0.7, 1.0, 2.0):
        assert exact.delta_low(epsilon) <= bound.delta(epsilon)
        assert bound.delta(epsilon) <= 1.5 * exact.delta(epsilon) + 0.01


def chance_beyond(case: LossDistribution, epsilon: float) -> float:
    """Nothing but the definition."""
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(case.first / case.second)
    return float(max(case.first[losses > epsilon].sum(), case.second[-losses > epsilon].sum()))


@pytest.mark.parametrize("chance", [0.3, 0.05, 1e-3, 1e-6])
def test_sure_epsilon_is_a_quantile_and_not_delta(chance: float) -> None:
    for mechanism in (jrr.JRR(60, 0.6, s=0.2), jrr.DRR(60, 0.2, 0.1), jrr.RR(epsilon=0.7)):
        losses = loss_distribution(mechanism)
        sure = losses.sure_epsilon(chance)
        assert max(chance_beyond(case, sure) for case in losses.cases) <= chance
        assert losses.epsilon(chance) <= sure <= losses.pure
    assert losses.sure_epsilon(0.0) == losses.pure


@pytest.mark.parametrize(("n", "own"), [(240, 0.0), (240, 0.05), (1_000, 0.01)])
def test_sure_epsilon_of_a_bound_holds_for_every_composition(n: int, own: float) -> None:
    mechanism = jrr.DRR(n, 0.1, own)
    bound = loss_distribution(mechanism)
    for chance in (0.01, 1e-4, 1e-6):
        sure = bound.sure_epsilon(chance)
        for ones in (0, 3, n // 4, n // 2, n - 1):
            (case,) = loss_distribution(mechanism, ones=ones).cases
            assert chance_beyond(case, sure) <= chance
        (case,) = loss_distribution(mechanism, ones=0).cases
        assert chance_beyond(case, sure / 2) > chance  # and it is not far off


def test_a_campaign_that_grows_keeps_what_was_said() -> None:
    """δ falls with the deck, the quantile of the loss need not."""
    planned = loss_distribution(jrr.JRR(179, 0.73, s=0.2)).sure_epsilon(DELTA)
    for n in (180, 181, 200, 301):
        losses = loss_distribution(jrr.JRR(n, 0.73, s=0.2))
        assert max(chance_beyond(case, planned) for case in losses.cases) <= DELTA
        assert losses.sure_epsilon(DELTA) <= planned * (1 + 1e-9)


def test_large_decks_are_bounded_by_smaller_ones() -> None:
    for kind in (jrr.JRR(10**9, 0.6, s=0.3), jrr.DRR(10**9, 0.1, 0.01)):
        losses = loss_distribution(kind)
        assert losses.compositions == "bounded"
        assert kind.epsilon("report") < losses.epsilon(DELTA) < kind.epsilon("report") + 0.01
    with pytest.raises(JrrError, match="n must be at most"):
        loss_distribution(jrr.DRR(10**9, 0.1), ones=3)


def test_encodings_with_cards_are_bounded_by_the_dealer() -> None:
    coupled = jrr.OUE(4, 1.0, coupling="dealt", n=100, dealer_epsilon=2.0)
    assert everything(coupled, DELTA) == coupled.epsilon("dealer")
    assert everything(jrr.OLH(4, 1.0), DELTA) == jrr.OLH(4, 1.0).epsilon("report")


def test_a_plan_in_this_view_says_what_was_asked() -> None:
    made = bare_plans.plan(300, 0.5, delta=DELTA, view="everything", mechanism="drr")
    assert made.everything() <= 0.5 < made.everything(1e-9)
    assert {row.name for row in made.compare()} == {"RR", "JRR (optimal)", "DRR", "MRR"}
    assert made.mechanism in [row.mechanism for row in made.compare()]


def test_a_scan_lies_between_what_was_tried_and_the_bound() -> None:
    mechanism = jrr.DRR(240, 0.1, 0.02)
    bound = loss_distribution(mechanism)
    scanned = everything(mechanism, 1e-4, scan=True)
    assert bound.epsilon_low(1e-4) <= scanned <= bound.epsilon(1e-4)
    with pytest.raises(JrrError):
        everything(jrr.DRR(10_000, 0.3), DELTA, scan=True)


def test_revealed_outright() -> None:
    for n, truth in ((6, 0.3), (60, 0.05), (240, 0.05)):
        certain = truth / 2 * (1 - truth) ** (n // 2)
        mechanism = jrr.DRR(n, truth)
        assert loss_distribution(mechanism, ones=0).delta(60.0) == pytest.approx(certain, rel=1e-6)
        assert certain * (1 - 1e-9) <= loss_distribution(mechanism).delta(60.0) <= 1.5 * certain
    assert loss_distribution(jrr.DRR(60, 0.05, 0.1)).delta(60.0) == 0.0


# Known figures --------------------------------------------------------------------------------


def full_lean(n: int, epsilon: float, share: float = 1.0) -> tuple[jrr.JRR, jrr.DRR]:
    """Both mechanisms whose single report has this ε; `share` of what cards can do."""
    p = truth_probability(epsilon, 2)
    truth = 2 * p - 1
    own = (1 - share) * (1 - truth)
    return jrr.JRR(n, p, s=share * (1 - p)), jrr.DRR(n, truth, own)


@pytest.mark.parametrize(
    ("n", "epsilon", "joint", "dealt"),
    [
        (10_000, 0.1, 0.337, 0.110),
        (1_000, 0.1, 1.257, 0.165),
        (10_000, 0.01, 1.235, 0.0146),
        (10_000, 1.0, 1.036, 1.016),
        (100_000, 0.1, 0.164, 0.1024),
    ],
)
def test_all_values_known(n: int, epsilon: float, joint: float, dealt: float) -> None:
    first, second = full_lean(n, epsilon)
    assert everything(first, DELTA) == pytest.approx(joint, rel=4e-3)
    assert everything(second, DELTA, ones=0) == pytest.approx(dealt, rel=4e-3)


@pytest.mark.parametrize(
    ("frequency", "joint", "dealt"), [(0.1, 0.177, 0.110), (0.01, 0.287, 0.110), (0.5, 0.1, 0.109)]
)
def test_only_the_frequency_known(frequency: float, joint: float, dealt: float) -> None:
    first, second = full_lean(10_000, 0.1)
    assert everything(first, DELTA, frequency=frequency) == pytest.approx(joint, rel=4e-3)
    assert everything(second, DELTA, frequency=frequency) == pytest.approx(dealt, rel=4e-3)


def test_quantiles_of_the_loss() -> None:
    first, second = full_lean(10_000, 0.1, 0.98)
    joint, dealt = (
        loss_distribution(first).cases[0],
        loss_distribution(second, ones=0).cases[0],
    )
    assert joint.quantile(0.95) == pytest.approx(0.180, abs=6e-4)
    assert joint.quantile(0.9999) == pytest.approx(0.289, abs=6e-4)
    assert dealt.quantile(0.95) == pytest.approx(0.104, abs=6e-4)
    assert dealt.quantile(0.9999) == pytest.approx(0.110, abs=6e-4)


def test_certified_for_all_compositions() -> None:
    _, dealt = full_lean(1_000, 0.1)
    losses = loss_distribution(dealt)
    assert losses.epsilon_low(DELTA) == pytest.approx(0.165, rel=2e-3)
    assert losses.epsilon(DELTA) == pytest.approx(0.177, rel=2e-3)


# Several rounds, planning, form ---------------------------------------------------------------


def test_rounds_agree_with_an_independent_accountant() -> None:
    losses = loss_distribution(jrr.JRR(40, 0.55, s=0.1))
    case = losses.cases[0]
    lower, upper = (
        {place: math.log(chance) for place, chance in enumerate(chances) if chance}
        for chances in (case.second, case.first)
    )
    account = privacy_loss_distribution.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=2e-4
    ).self_compose(8)
    many = composed(losses, 8)
    for epsilon in (0.5, 1.0, 1.5, 2.0):
        theirs = account.get_delta_for_epsilon(epsilon)
        assert many.delta(epsilon) == pytest.approx(theirs, rel=0.02)
    assert composed(losses, 2).epsilon(DELTA) <= 2 * composed(losses, 1).epsilon(DELTA)
    assert composed(losses, 8).epsilon(0.0) == pytest.approx(8 * case.pure)


@pytest.mark.parametrize(
    ("deck", "truth", "own"), [((2, 4), 0.3, 0.2), ((4, 2), 0.3, 0.2), ((3, 3), 0.3, 0.0)]
)
def test_rounds_of_dealt_cards(deck: tuple[int, int], truth: float, own: float) -> None:
    """Both directions, and losses without bound."""
    losses = loss_distribution(jrr.DRR(6, truth, own, deck=deck), ones=0)
    (case,) = losses.cases
    first, second = (np.multiply.outer(one, one).ravel() for one in (case.first, case.second))
    many = composed(losses, 2)
    for epsilon in (*EPSILONS, 6.0, 12.0):
        exact = max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon))
        # One law above both directions is larger than either.
        assert exact - 1e-12 <= many.delta(epsilon) <= exact + 0.15
    single = composed(losses, 1)
    assert single.step < 0.01  # the grid is not spoilt by what is infinite
    for epsilon in EPSILONS:
        assert losses.delta(epsilon) - 1e-9 <= single.delta(epsilon) <= losses.delta(epsilon) + 0.15


def test_rounds_never_less_than_exact() -> None:
    mechanism = jrr.JRR(6, 0.6, s=0.2)
    case = loss_distribution(mechanism).cases[0]
    first = np.multiply.outer(case.first, case.first).ravel()
    second = np.multiply.outer(case.second, case.second).ravel()
    many = composed(loss_distribution(mechanism), 2)
    for epsilon in EPSILONS:
        exact = hockey_stick(first, second, epsilon)
        assert exact - 1e-12 <= many.delta(epsilon) <= exact + 2e-3


@pytest.mark.slow_variants("1000")
@pytest.mark.parametrize(
    ("n", "epsilon", "dealt", "joint"), [(100, 0.1, 0.75, 1.0), (1_000, 0.1, 0.214, 1.0)]
)
def test_planning(n: int, epsilon: float, dealt: float, joint: float) -> None:
    request = Request(n, epsilon, frequency=0.0)
    base = request.expected_variance(jrr.RR.best(request))
    for kind, share in (("drr", dealt), ("jrr", joint)):
        made = choose_informed(request, DELTA, kind)
        assert keeps_everything(made, request, DELTA)
        assert request.expected_variance(made) / base == pytest.approx(share, rel=0.02)


@pytest.mark.slow_variants("301-0.1-0-drr]", "101-0.3-1-drr]")
@pytest.mark.parametrize(
    ("n", "epsilon", "colluders", "kind"),
    [(101, 0.3, 1, "drr"), (301, 0.1, 0, "drr"), (150, 0.5, 2, "drr"), (2_000, 1.0, 100, "jrr")],
)
def test_what_is_planned_keeps_its_promise(
    n: int, epsilon: float, colluders: int, kind: str
) -> None:
    """For every composition, and whatever cards the colluders hold."""
    request = Request(n, epsilon, colluders, frequency=0.0)
    made = choose_informed(request, DELTA, kind)
    if isinstance(made, jrr.DRR):
        cases = dealt.all_compositions(made.law, colluders)
        assert max(case.delta(epsilon, once=True) for case in cases) <= DELTA
    else:
        assert isinstance(made, jrr.JRR)
        assert loss_distribution(made, colluders=colluders).delta(epsilon) <= DELTA
        assert loss_distribution(made, colluders=colluders + 20).delta(epsilon) > DELTA


@pytest.mark.parametrize(
    ("n", "epsilon", "colluders", "k", "cap"),
    [
        (500, 1.0, 5, 2, 3.0),
        (2_000, 1.0, 5, 2, 3.0),
        (2_000, 0.5, 5, 5, 2.5),
        (10_000, 1.0, 5, 5, None),
    ],
)
def test_planning_asks_for_few_laws(
    n: int,
    epsilon: float,
    colluders: int,
    k: int,
    cap: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bounds take a tenth of a second each, laws a millisecond: together two seconds."""
    asked = {"bounds": 0, "laws": 0}

    def counted(name: str, ask: Callable[..., Losses]) -> Callable[..., Losses]:
        def answer(mechanism: jrr.Mechanism, colluders: int) -> Losses:
            asked[name] += 1
            return ask(mechanism, colluders)

        return answer

    for kind in (jrr.DRR, jrr.JRR):
        for name, method in (("bounds", "quick_losses"), ("laws", "likely_worst")):
            monkeypatch.setattr(kind, method, counted(name, getattr(kind, method)))
    choose_informed.cache_clear()
    choose_informed(Request(n, epsilon, colluders, k, cap), DELTA)
    assert asked["bounds"] <= 25
    assert asked["laws"] <= 500


def test_an_uneven_deck_is_planned_where_it_is_better() -> None:
    request = Request(10_000, 1.0, 5, frequency=0.1)
    made = choose_informed(request, DELTA, "jrr")
    assert isinstance(made, jrr.JRR)
    assert not made.even
    assert loss_distribution(made, colluders=5).delta(1.0) <= DELTA
    share = request.expected_variance(made) / request.expected_variance(jrr.RR.best(request))
    assert share < 0.72  # with as many plus as minus cards 0.82


def test_planning_with_colluders_and_a_cap() -> None:
    request = Request(60, 0.5, colluders=2, dealer_epsilon=1.5)
    made = choose_informed(request, DELTA)
    assert keeps_everything(made, request, DELTA)
    assert made.epsilon("dealer") <= 1.5
    assert request.expected_variance(made) <= request.expected_variance(jrr.RR.best(request))


def test_plain_reports_and_form() -> None:
    plain = jrr.RR(epsilon=1.0)
    assert everything(plain, DELTA) == pytest.approx(1.0, rel=1e-4)
    assert everything(plain, 0.0) == plain.epsilon()
    document = loss_distribution(jrr.JRR(8, 0.6, s=0.4)).to_dict()
    assert json.loads(json.dumps(document)) == document
    assert "inf" in document["cases"][0]["loss"]


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (jrr.OUE(4, epsilon=1.0), {}),
        (jrr.DRR(10, 0.3), {"ones": 10}),
        (jrr.DRR(10, 0.3), {"ones": -1}),
        (jrr.DRR(10, 0.3), {"colluders": 10}),
        (jrr.DRR(10, 0.3), {"frequency": 1.5}),
        (jrr.DRR(10, 0.3), {"frequency": Beta(0.0, 1.0)}),
        (jrr.DRR(10, 0.3), {"frequency": 0.5, "ones": 2}),
        (jrr.DRR(12, 0.3, k=3), {"ones": 2}),
        (jrr.DRR(12, 0.3, k=3), {"frequency": 0.5}),
    ],
)
def test_refusals(mechanism: jrr.Mechanism, options: dict[str, object]) -> None:
    with pytest.raises(JrrError):
        loss_distribution(mechanism, **options)  # type: ignore[arg-type]
