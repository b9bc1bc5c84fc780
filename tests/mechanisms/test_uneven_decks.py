"""JRR with decks of more plus than minus cards, or fewer: enumeration, documents, the optimum."""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.mechanisms import joint_optimum
from jrr.mechanisms.request import Request
from jrr.privacy.informed import loss_distribution
from jrr.privacy.shuffled import shuffled_delta
from tests import oracle
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

# (plus cards, minus cards, p, s as a share of the largest there is, k); numbers of few bits.
DECKS = [
    (3, 1, Fraction(3, 4), Fraction(1), 2),  # a group of four with exactly one liar
    (6, 2, Fraction(3, 4), Fraction(1), 2),
    (5, 2, Fraction(5, 8), Fraction(3, 4), 2),
    (2, 4, Fraction(9, 16), Fraction(1, 2), 2),
    (1, 5, Fraction(5, 8), Fraction(1), 2),
    (4, 3, Fraction(5, 8), Fraction(1, 4), 2),
    (2, 1, Fraction(1, 2), Fraction(1), 3),
    (3, 1, Fraction(3, 4), Fraction(1), 4),
    (1, 3, Fraction(3, 8), Fraction(7, 8), 3),
    (1, 4, Fraction(1, 2), Fraction(1, 2), 3),
]
EPSILONS = (0.0, 0.1, 0.7, 1.5, 3.0)


def most_lean(plus: int, minus: int, p: Fraction) -> Fraction:
    """Where p + 2s·minus/n is 1 or p - 2s·plus/n is 0."""
    n = plus + minus
    return min((1 - p) * n / (2 * minus), p * n / (2 * plus))


def made(plus: int, minus: int, p: Fraction, part: Fraction, k: int) -> jrr.JRR:
    lean = float(part * most_lean(plus, minus, p))
    return jrr.JRR(plus + minus, float(p), s=lean, k=k, plus=plus)


def truths_of(mechanism: jrr.JRR, part: Fraction) -> tuple[Fraction, Fraction]:
    """The two chances of the truth, from the definition and the float that was given."""
    p, n = Fraction(mechanism.p), mechanism.n
    plus, minus = mechanism.plus, n - mechanism.plus
    lean = Fraction(mechanism.s)
    return (
        min(Fraction(1), p + 2 * lean * Fraction(minus, n)),
        max(Fraction(0), p - 2 * lean * Fraction(plus, n)),
    )


@pytest.mark.parametrize(("plus", "minus", "p", "part", "k"), DECKS)
def test_losses_are_enumerated(plus: int, minus: int, p: Fraction, part: Fraction, k: int) -> None:
    mechanism = made(plus, minus, p, part, k)
    truths = truths_of(mechanism, part)
    survey = oracle.uneven_survey(oracle.uneven_sign_deck(plus, minus), *truths, k)
    asked = [("report", 0), ("dealer", 0)]
    asked += [(view, m) for view in ("truths", "cards") for m in range(plus + minus)]
    for view, colluders in asked:
        enumerated = max(survey.loss(view, colluders), mechanism.epsilon("report"))
        library = mechanism.epsilon(view, colluders)
        assert library == pytest.approx(enumerated, rel=1e-12, abs=1e-12)
        assert library >= enumerated - 1e-15


@pytest.mark.parametrize(("plus", "minus", "p", "part", "k"), DECKS)
def test_moments_are_enumerated(plus: int, minus: int, p: Fraction, part: Fraction, k: int) -> None:
    mechanism = made(plus, minus, p, part, k)
    channel = oracle.two_card_channel(*truths_of(mechanism, part), k)
    everybody = oracle.one_deck(oracle.uneven_sign_deck(plus, minus))
    n = plus + minus
    for present in {n, n - 1} if k == 2 else {min(n, 4)}:
        cards = everybody if present == n else oracle.of_random_subset(everybody, present)
        for first in range(present + 1):
            counts = (first, present - first, *[0] * (k - 2))
            law = oracle.reports_of_deals(cards, channel, oracle.decoy_deck(counts))
            mean, variance = oracle.moments(law, oracle.joint_estimator(p, k), k)
            assert [float(one) for one in mean] == pytest.approx(list(counts), abs=1e-14)
            expected = [float(one) for one in variance]
            np.testing.assert_allclose(mechanism.variance(counts), expected, rtol=1e-10, atol=1e-12)


def test_moments_of_several_uneven_decks_are_enumerated() -> None:
    mechanism = jrr.JRR(3, 0.625, s=0.375, plus=2)
    channel = oracle.two_card_channel(*truths_of(mechanism, Fraction(0)), 2)
    cards = oracle.several_decks([oracle.uneven_sign_deck(2, 1)] * 2)
    for ones in range(7):
        law = oracle.reports_of_deals(cards, channel, (0,) * (6 - ones) + (1,) * ones)
        _, variance = oracle.moments(law, oracle.joint_estimator(Fraction(5, 8), 2), 2)
        np.testing.assert_allclose(
            mechanism.variance([6 - ones, ones], decks=2), [float(v) for v in variance], rtol=1e-12
        )


Laws = list[dict[tuple[int, ...], float]]


def laws_of_reports(mechanism: jrr.JRR, part: Fraction, ones: int) -> Laws:
    channel = oracle.two_card_channel(*truths_of(mechanism, part), mechanism.k)
    cards = oracle.one_deck(oracle.uneven_sign_deck(mechanism.plus, mechanism.minus))
    others = (1,) * ones + (0,) * (mechanism.n - 1 - ones)
    return [
        {y: float(c) for y, c in oracle.reports_of_deals(cards, channel, (x, *others)).items()}
        for x in (1, 0)
    ]


def hockey_stick(laws: Laws, epsilon: float) -> float:
    grown = math.exp(epsilon)
    return max(
        math.fsum(max(0.0, a[y] - grown * b.get(y, 0.0)) for y in a) for a, b in (laws, laws[::-1])
    )


@pytest.mark.parametrize(("plus", "minus", "p", "part", "k"), DECKS[:8])
def test_everything_known_is_enumerated(
    plus: int, minus: int, p: Fraction, part: Fraction, k: int
) -> None:
    mechanism = made(plus, minus, p, part, k)
    losses = loss_distribution(mechanism)
    for ones in {0, 1, mechanism.n - 1} if mechanism.n < 8 else {1}:
        laws = laws_of_reports(mechanism, part, ones)
        for epsilon in EPSILONS:
            exact = hockey_stick(laws, epsilon)
            assert losses.delta(epsilon) == pytest.approx(exact, abs=1e-11)
            assert exact <= losses.delta(epsilon) + 1e-14


@pytest.mark.parametrize("colluders", [1, 2])
def test_everything_known_and_colluders(colluders: int) -> None:
    mechanism = jrr.JRR(6, 0.625, s=0.25, plus=4)
    losses = loss_distribution(mechanism, colluders=colluders)
    channel = oracle.two_card_channel(*truths_of(mechanism, Fraction(0)), 2)
    worst = dict.fromkeys(EPSILONS, 0.0)
    for shown in set(itertools.combinations((1, 1, 1, 1, -1, -1), colluders)):
        left = list(oracle.uneven_sign_deck(4, 2))
        for card in shown:
            left.remove(card)
        cards = oracle.one_deck(tuple(left))
        laws = [
            {
                y: float(chance)
                for y, chance in oracle.reports_of_deals(
                    cards, channel, (x, *[0] * (len(left) - 1))
                ).items()
            }
            for x in (1, 0)
        ]
        worst = {e: max(old, hockey_stick(laws, e)) for e, old in worst.items()}
    for epsilon, exact in worst.items():
        assert losses.delta(epsilon) == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize(("plus", "minus", "p", "part", "k"), [d for d in DECKS if d[4] == 2])
def test_shuffled_reports_are_enumerated(
    plus: int, minus: int, p: Fraction, part: Fraction, k: int
) -> None:
    mechanism = made(plus, minus, p, part, k)
    channel = oracle.two_card_channel(*truths_of(mechanism, part), k)
    cards, n = oracle.one_deck(oracle.uneven_sign_deck(plus, minus)), plus + minus
    counts = []
    for ones in range(n + 1):
        law = [0.0] * (n + 1)
        values = (1,) * ones + (0,) * (n - ones)
        for reports, chance in oracle.reports_of_deals(cards, channel, values).items():
            law[sum(reports)] += float(chance)
        counts.append(law)
    for epsilon in EPSILONS:
        grown = math.exp(epsilon)
        exact = max(
            math.fsum(max(0.0, a - grown * b) for a, b in zip(first, second, strict=True))
            for pair in itertools.pairwise(counts)
            for first, second in (pair, pair[::-1])
        )
        found = shuffled_delta(mechanism, epsilon)
        assert exact - 1e-14 <= found <= exact + 1e-11 * grown


@pytest.mark.parametrize(("n", "size"), [(4, 4), (8, 4), (6, 3), (4, 2)])
def test_groups_with_one_liar_are_an_uneven_deck(n: int, size: int) -> None:
    mechanism = jrr.JRR(n, 1 - 1 / size, s=0.5, plus=n - n // size) if size > 2 else None
    deck = oracle.one_deck((0,) * (n // size) + (1,) * (n - n // size))
    assert oracle.groups_with_one_liar(n, size) == deck
    if mechanism is not None:
        assert (mechanism.truth_with_plus, mechanism.truth_with_minus) == pytest.approx((1, 0))


def test_larger_groups_help() -> None:
    """The group of four with exactly one liar, against pairs at the same ε in the cards view."""
    counts = (9_000, 1_000)
    group = jrr.JRR(10_000, p=0.75, s=0.5, plus=7_500)
    epsilon = group.epsilon("cards", 5)
    assert 1.1 < epsilon < 1.101
    plain = jrr.RR(epsilon=epsilon).variance(counts)[1]
    request = Request(10_000, epsilon, 5, frequency=0.1)
    pairs = jrr.JRR.best_even(request)
    assert isinstance(pairs, jrr.JRR)
    assert pairs.even
    assert group.variance(counts)[1] / plain == pytest.approx(0.3615, abs=1e-4)
    assert pairs.variance(counts)[1] / plain == pytest.approx(0.7880, abs=1e-4)


def test_even_decks_are_what_they_were() -> None:
    for n in (10, 11):
        even = jrr.JRR(n, 0.6, s=0.25)
        assert even.to_dict() == {"mechanism": "JRR", "n": n, "p": 0.6, "s": 0.25, "k": 2}
        assert jrr.JRR(n, 0.6, s=0.25, plus=n // 2) == even
        assert repr(even) == f"JRR(n={n}, p=0.6, s=0.25, k=2)"
        assert jrr.from_dict(even.to_dict()) == even
        assert "paper" in even.guarantees(1)


def test_uneven_decks_in_documents_and_other_sizes() -> None:
    uneven = jrr.JRR(12, 0.75, s=0.5, plus=9)
    assert uneven.to_dict()["plus"] == 9
    assert jrr.from_json(uneven.to_json()) == uneven
    assert uneven != jrr.JRR(12, 0.75, s=0.25)
    assert uneven.resized(40) == jrr.JRR(40, 0.75, s=0.5, plus=30)
    smaller = uneven.resized(10)
    assert (smaller.n, smaller.plus, smaller.p) == (10, 8, 0.75)
    assert sorted(uneven.deal().tolist()) == [-1] * 3 + [1] * 9
    assert "9 of the 12 cards" in uneven.instructions()
    assert "paper" not in uneven.guarantees(1)
    with pytest.raises(ArgumentError, match="9 plus cards of 12"):
        uneven.epsilon("paper", 1)
    laws = {law.card: law for law in uneven.card_laws()}
    assert laws[1].share == 0.75
    assert laws[1].reports[0, 0] == 1.0
    assert laws[-1].reports[0, 0] == 0.0


@pytest.mark.parametrize("plus", [0, 12, -1, 2.5, True])
def test_plus_cards_out_of_range_are_refused(plus: object) -> None:
    with pytest.raises(ArgumentError, match=r"plus must be a whole number in 1\.\.11"):
        jrr.JRR(12, 0.75, s=0.1, plus=plus)  # type: ignore[arg-type]


def test_lean_out_of_range_is_refused() -> None:
    with pytest.raises(ArgumentError, match="s must be in"):
        jrr.JRR(12, 0.75, s=0.51, plus=9)
    with pytest.raises(ArgumentError, match="rho must be in"):
        jrr.JRR(12, 0.75, rho=-1.01, plus=9)
    assert jrr.JRR(12, 0.75, rho=-1.0, plus=9) == jrr.JRR(12, 0.75, s=0.5, plus=9)


@pytest.mark.statistical
def test_simulated_and_answered_surveys_agree_with_the_variance() -> None:
    mechanism = jrr.JRR(400, 0.7, s=0.4, plus=260)
    counts = np.array([300, 100])
    rng = np.random.default_rng(160)
    simulated = jrr.simulate(mechanism, counts, 4_000, rng)[:, 1]
    values = np.repeat([0, 1], counts)
    answered = [
        mechanism.estimate(mechanism.respond(values, mechanism.deal(rng), rng)).counts[1]
        for _ in range(4_000)
    ]
    sd = math.sqrt(mechanism.variance(counts)[1])
    for sample in (simulated, np.array(answered)):
        accepts_only(partial(mean_test, sample, sd=sd), 100.0, 100.0 * (1 + OFF))
        accepts_only(partial(spread_test, sample), sd, sd * (1 + OFF))


# The optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "colluders"), [(17, 0), (17, 1), (17, 16), (40, 5)])
@pytest.mark.parametrize("k", [2, 3])
def test_no_other_deck_is_better(n: int, colluders: int, k: int) -> None:
    """Every number of plus cards is tried, where the search tries a handful."""
    for epsilon, cap, frequency in itertools.product((0.3, 1.5), (None, 1.0), (0.0, 0.1, None)):
        dealer = None if cap is None else epsilon + cap
        request = Request(n, epsilon, colluders, k, dealer, frequency)
        best = request.expected_variance(jrr.JRR.best(request))
        for plus in range(1, n):
            deck = joint_optimum._Deck(request, plus)
            for p, s in deck.points():
                assert best <= deck.worth(p, s) * (1 + 1e-9) + 1e-15


@pytest.mark.slow_variants("None-4-", "2.0-2-")
@pytest.mark.parametrize("frequency", [0.0, 0.1, (0.05, 0.2), None, 0.5])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("cap", [None, 2.0])
def test_the_optimum_keeps_its_promise_and_no_nearby_point_is_better(
    frequency: float | tuple[float, float] | None, k: int, cap: float | None
) -> None:
    """A grid of mechanisms that keep the request, none of them more accurate."""
    for n, epsilon, colluders in ((200, 1.0, 5), (1_000, 0.3, 0), (1_000, 2.0, 20)):
        dealer = None if cap is None else epsilon + cap
        request = Request(n, epsilon, colluders, k, dealer, frequency)
        best = jrr.JRR.best(request)
        assert request.allows(best)
        worth = request.expected_variance(best)
        top = jrr.RR(k, epsilon=epsilon).p
        for plus, share, part in itertools.product(
            range(n // 10, n, n // 10), (0.9, 0.97, 0.99, 0.999), (0.5, 0.9, 1.0)
        ):
            p = 1 / k + (top - 1 / k) * share
            lean = part * float(most_lean(plus, n - plus, Fraction(p)))
            other = jrr.JRR(n, p, s=lean, k=k, plus=plus)
            if request.allows(other):
                assert request.expected_variance(other) >= worth * (1 - 1e-9) - 1e-15


def test_uneven_decks_are_never_worse_than_pairs() -> None:
    for epsilon, frequency in itertools.product((0.1, 1.0, 2.0), (0.0, 0.1, 0.5, None)):
        request = Request(1_000, epsilon, 5, frequency=frequency, dealer_epsilon=epsilon + 2)
        free, even = jrr.JRR.best(request), jrr.JRR.best_even(request)
        assert request.expected_variance(free) <= request.expected_variance(even)


def test_algorithm_1_deals_pairs() -> None:
    assert jrr.algorithm1(10_000, 0.1, 5).even
