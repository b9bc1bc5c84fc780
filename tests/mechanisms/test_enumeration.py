"""The public API against exhaustive enumeration at small sizes (see `oracle`)."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np
import pytest
from scipy import stats

import jrr
from jrr.research.paper import literal
from tests import oracle
from tests.oracle import Law

pytestmark = pytest.mark.heavy

Mechanism: TypeAlias = jrr.RR | jrr.JRR | jrr.DRR

# Parameters as exact fractions; the library gets the nearest floats.
THIRD, QUARTER, FIFTH, TENTH = (Fraction(1, d) for d in (3, 4, 5, 10))
BINARY_JOINT = [  # (p, s): extreme, paper-like, nearly independent
    (Fraction(3, 5), Fraction(2, 5)),
    (Fraction(3, 4), QUARTER),
    (Fraction(3, 5), Fraction(1, 7)),
    (Fraction(11, 20), Fraction(1, 100)),
]
MULTI_JOINT = [  # k > 2: both extremes, s = 1 - p and s = p, and the middle
    (Fraction(3, 5), Fraction(2, 5)),
    (Fraction(2, 5), Fraction(2, 5)),
    (Fraction(1, 2), Fraction(1, 2)),
    (Fraction(7, 10), Fraction(1, 8)),
]
DEALT = [  # (truth, own): no own coin, some, no card at all
    (Fraction(3, 10), Fraction(0)),
    (QUARTER, FIFTH),
    (Fraction(1, 2), Fraction(1, 20)),
    (TENTH, Fraction(9, 10)),
]
EVEN_DECKS = [(1, 1), (2, 2), (3, 3), (4, 4), (1, 1, 1), (2, 2, 2), (1, 1, 1, 1)]
UNEVEN_DECKS = [(2, 1), (3, 2), (4, 3), (5, 1), (3, 0), (2, 1, 1), (2, 2, 1), (3, 2, 1)]
DECKS = EVEN_DECKS + UNEVEN_DECKS


@dataclass(frozen=True)
class Case:
    """A mechanism of the library and the same mechanism as the oracle enumerates it."""

    mechanism: Mechanism
    deck: oracle.Deal
    channel: oracle.Channel
    estimator: oracle.Estimator
    k: int


def joint_case(n: int, p: Fraction, s: Fraction, k: int) -> Case:
    return Case(
        jrr.JRR(n=n, p=float(p), s=float(s), k=k),
        oracle.sign_deck(n),
        oracle.joint_channel(p, s, k),
        oracle.joint_estimator(p, k),
        k,
    )


def dealt_case(deck: Sequence[int], truth: Fraction, own: Fraction) -> Case:
    k, n = len(deck), sum(deck)
    by_default = tuple(deck) == oracle.even_counts(n, k)
    return Case(
        jrr.DRR(
            n=n, truth=float(truth), own=float(own), k=k, deck=None if by_default else list(deck)
        ),
        oracle.decoy_deck(deck),
        oracle.dealt_channel(truth, own, k),
        oracle.dealt_estimator(truth, own, deck),
        k,
    )


def plain_case(n: int, p: Fraction, k: int) -> Case:
    return Case(
        jrr.RR(k=k, p=float(p)),
        (oracle.BLANK,) * n,
        oracle.joint_channel(p, Fraction(0), k),
        oracle.joint_estimator(p, k),
        k,
    )


def compositions(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Every way n people can hold k values."""
    if k == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, k - 1):
            yield (first, *rest)


def rho_of(p: Fraction, s: Fraction, k: int) -> Fraction:
    """The paper's rho whose card form has this s: s^2 = -rho p q."""
    return -(s**2) / (p * (1 - p) / (k - 1))


def possible(law: Law) -> Law:
    """The outcomes that can happen."""
    return {outcome: probability for outcome, probability in law.items() if probability}


# One mechanism, many descriptions -------------------------------------------------------------


@pytest.mark.slow_variants("p3-s3-8", "p2-s2-8", "p1-s1-8")
@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize(("p", "s"), BINARY_JOINT)
def test_secret_pairs_are_one_shuffled_deck(n: int, p: Fraction, s: Fraction) -> None:
    pairs = oracle.truths_of_pairs(n, p, rho_of(p, s, 2))
    deck = oracle.truths_of_deals(oracle.one_deck(oracle.sign_deck(n)), p, s)
    assert possible(pairs) == possible(deck)


@pytest.mark.parametrize(
    ("k", "values"),
    [
        *((3, values) for values in [(0, 1), (1, 1, 2), (0, 0, 1, 2), (0, 1, 1, 2, 2)]),
        *((4, values) for values in [(0, 1, 3), (1, 1, 1, 1), (0, 0, 1, 2)]),
        (3, (0, 0, 1, 1, 2, 2)),
    ],
)
@pytest.mark.parametrize(("p", "s"), MULTI_JOINT)
def test_secret_pairs_of_k_values_are_one_shuffled_deck(
    k: int, values: tuple[int, ...], p: Fraction, s: Fraction
) -> None:
    cards = oracle.one_deck(oracle.sign_deck(len(values)))
    deck = oracle.reports_of_deals(cards, oracle.joint_channel(p, s, k), values)
    pairs = oracle.reports_of_pairs(values, p, rho_of(p, s, k), k)
    truths = oracle.reports_of_truths(oracle.truths_of_deals(cards, p, s), values, k)
    assert possible(pairs) == possible(deck) == possible(truths)


def test_size_of_secret_groups_changes_nothing() -> None:
    for n in (4, 8):
        one_deck = oracle.one_deck(oracle.sign_deck(n))
        assert oracle.groups_of_signs(n, 4) == oracle.groups_of_signs(n, 2) == one_deck


@pytest.mark.parametrize(
    ("k", "p", "s"),
    [(2, p, s) for p, s in BINARY_JOINT] + [(k, p, s) for k in (3, 4) for p, s in MULTI_JOINT],
)
def test_pair_of_k_values_has_grr_marginals_and_correlation_rho_over_k_minus_1(
    k: int, p: Fraction, s: Fraction
) -> None:
    mechanism = jrr.JRR(n=2, p=float(p), s=float(s), k=k)
    rho = rho_of(p, s, k)
    assert mechanism.rho == pytest.approx(float(rho), rel=1e-12)
    assert mechanism.q == pytest.approx(float((1 - p) / (k - 1)), rel=1e-12)
    values = (0, 1)
    law = oracle.paper_pair_reports(p, rho, k, values)
    for place, value in enumerate(values):
        expected = dict(enumerate(oracle.truth_or_lie(p, k, value)))
        assert oracle.marginal(law, place) == expected
    truths = oracle.mixture(
        (w, {tuple(int(y == x) for y, x in zip(reports, values, strict=True)): Fraction(1)})
        for reports, w in law.items()
    )
    assert oracle.correlation(truths) == pytest.approx(mechanism.rho / (k - 1), rel=1e-12)


# Privacy --------------------------------------------------------------------------------------


def assert_rounded_outward(library: float, enumerated: float) -> None:
    assert library == pytest.approx(enumerated, rel=1e-12, abs=1e-12)
    assert library >= enumerated - 1e-15


def exact(parameter: Fraction) -> Fraction:
    """The parameter as the library received it."""
    return Fraction(float(parameter))


@pytest.mark.parametrize(
    ("k", "n", "p", "s"),
    [(2, n, p, s) for n in range(2, 9) for p, s in BINARY_JOINT]
    + [(3, n, p, s) for n in range(2, 7) for p, s in MULTI_JOINT]
    + [(4, 4, p, s) for p, s in MULTI_JOINT],
)
def test_loss_of_joint_randomized_response(k: int, n: int, p: Fraction, s: Fraction) -> None:
    mechanism = jrr.JRR(n=n, p=float(p), s=float(s), k=k)
    survey = oracle.joint_survey(n, exact(p), exact(s), k)
    assert_rounded_outward(mechanism.epsilon("report"), survey.loss("report"))
    assert_rounded_outward(mechanism.epsilon("dealer"), survey.loss("dealer"))
    for view in ("truths", "cards"):
        for colluders in range(len(survey.deck)):
            library = mechanism.epsilon(view, colluders=colluders)
            assert_rounded_outward(library, survey.loss(view, colluders))


@pytest.mark.slow_variants(
    "truth1-own1-deck5", "truth1-own1-deck14", "truth2-own2-deck5", "truth2-own2-deck14"
)
@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize(("truth", "own"), DEALT)
def test_loss_of_dealt_randomized_response(
    deck: tuple[int, ...], truth: Fraction, own: Fraction
) -> None:
    mechanism = dealt_case(deck, truth, own).mechanism
    survey = oracle.dealt_survey(deck, exact(truth), exact(own))
    assert_rounded_outward(mechanism.epsilon("report"), survey.loss("report"))
    assert_rounded_outward(mechanism.epsilon("dealer"), survey.loss("dealer"))
    for view in ("truths", "cards"):
        for colluders in range(len(survey.deck)):
            library = mechanism.epsilon(view, colluders=colluders)
            assert_rounded_outward(library, survey.loss(view, colluders))


@pytest.mark.parametrize("n", [100, 101, 200])
@pytest.mark.parametrize(("p", "s"), BINARY_JOINT)
def test_loss_of_joint_truths_in_larger_decks(n: int, p: Fraction, s: Fraction) -> None:
    """The worst colluders all lied or all told the truth: so in every deck enumerated here."""
    mechanism = jrr.JRR(n=n, p=float(p), s=float(s))
    survey = oracle.joint_survey(n, exact(p), exact(s), 2)
    for colluders in (1, 5, 40, 50):
        enumerated = max(survey.loss_if_all_tell(clue, colluders) for clue in survey.told)
        library = mechanism.epsilon("truths", colluders=colluders)
        assert library == pytest.approx(enumerated, rel=1e-9)
        assert library >= enumerated - 1e-15


@pytest.mark.parametrize("deck", [(50, 50), (150, 50)])
@pytest.mark.parametrize(("truth", "own"), DEALT[1:])
def test_loss_of_dealt_truths_in_larger_decks(
    deck: tuple[int, ...], truth: Fraction, own: Fraction
) -> None:
    """The worst colluders all reported one value that none of them holds."""
    mechanism = dealt_case(deck, truth, own).mechanism
    survey = oracle.dealt_survey(deck, exact(truth), exact(own))
    for colluders in (1, 5, 40, 60):
        enumerated = max(survey.loss_if_all_tell(clue, colluders) for clue in survey.told)
        library = mechanism.epsilon("truths", colluders=colluders)
        assert library == pytest.approx(enumerated, rel=1e-9)
        assert library >= enumerated - 1e-15


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("p", [Fraction(3, 5), Fraction(9, 10), Fraction(51, 100)])
def test_loss_of_plain_randomized_response_is_the_same_in_every_view(k: int, p: Fraction) -> None:
    mechanism = jrr.RR(k=k, p=float(p))
    channel = oracle.joint_channel(exact(p), Fraction(0), k)
    enumerated = oracle.channel_loss([channel(oracle.BLANK, x) for x in range(k)])
    assert_rounded_outward(mechanism.epsilon("report"), enumerated)
    for view in ("truths", "cards", "dealer"):
        assert_rounded_outward(mechanism.epsilon(view, colluders=3), enumerated)


@pytest.mark.parametrize("n", [2, 4, 6, 8])
@pytest.mark.parametrize(("p", "s"), BINARY_JOINT)
def test_theorem_2_understates_the_loss(n: int, p: Fraction, s: Fraction) -> None:
    mechanism = jrr.JRR(n=n, p=float(p), s=float(s))
    survey = oracle.joint_survey(n, exact(p), exact(s), 2)
    table = oracle.paper_pair_table(exact(p), rho_of(exact(p), exact(s), 2))
    for colluders in range(n):
        stated = mechanism.epsilon("paper", colluders=colluders)
        enumerated = oracle.loss_under_theorem_2(n, colluders, table)
        assert stated == pytest.approx(enumerated, rel=1e-12)
        truths, cards = (survey.loss(view, colluders) for view in ("truths", "cards"))
        if 2 <= colluders <= n - 2:
            assert truths > enumerated + 1e-9
        else:
            assert truths == pytest.approx(enumerated, rel=1e-12)
        extreme_and_equal = s == 1 - p and colluders in (1, n - 1)
        if colluders and not extreme_and_equal:
            assert cards > enumerated + 1e-9
        else:
            assert cards == pytest.approx(enumerated, rel=1e-12)


def test_losses_quoted_in_the_theory() -> None:
    mechanism = jrr.JRR(n=6, p=0.6, rho=-0.3)
    quoted = {"paper": (0.717, 0.886), "truths": (0.750, 0.973), "cards": (1.016, 1.886)}
    for view, losses in quoted.items():
        for colluders, loss in zip((2, 3), losses, strict=True):
            assert mechanism.epsilon(view, colluders=colluders) == pytest.approx(loss, abs=5e-4)


# Mean and variance ----------------------------------------------------------------------------


def estimates_of_all_reports(case: Case) -> Callable[[tuple[int, ...]], np.ndarray]:
    """`estimate(reports).counts` of the library, reports in another order asked for once."""

    @cache
    def counts(reports: tuple[int, ...]) -> np.ndarray:
        decks = case.mechanism.fewest_decks(len(reports))
        tally = case.mechanism.tally(np.array(reports), case.mechanism.deals)
        return np.asarray(case.mechanism.estimate(tally, decks).counts)

    return lambda reports: counts(tuple(sorted(reports)))


def assert_moments(
    case: Case, card_law: Law, populations: Sequence[tuple[int, ...]], decks: int = 1
) -> None:
    """The library's estimates are unbiased and vary as `variance` says, for these true counts."""
    library_counts = estimates_of_all_reports(case)
    for counts in populations:
        law = oracle.reports_of_deals(card_law, case.channel, oracle.decoy_deck(counts))
        weights = np.array([float(probability) for probability in law.values()])
        estimates = np.array([library_counts(reports) for reports in law])
        mean = weights @ estimates
        np.testing.assert_allclose(mean, counts, atol=1e-11)
        exact_mean, exact_variance = oracle.moments(law, case.estimator, case.k)
        assert exact_mean == list(counts)
        enumerated = np.array([float(variance) for variance in exact_variance])
        spread = weights @ (estimates - mean) ** 2
        np.testing.assert_allclose(spread, enumerated, rtol=1e-10, atol=1e-20)
        variance = (
            case.mechanism.variance(counts)
            if decks == 1
            else case.mechanism.variance(counts, decks=decks)
        )
        np.testing.assert_allclose(variance, enumerated, rtol=1e-10, atol=1e-12)


def populations_of(n: int, k: int, at_most: int = 9) -> list[tuple[int, ...]]:
    """True counts of n people: all of them, or evenly many if there are too many."""
    every = list(compositions(n, k))
    return every[:: max(1, math.ceil(len(every) / at_most))]


@pytest.mark.parametrize(
    ("k", "n", "p", "s"),
    [(2, n, p, s) for n in (2, 3, 4, 5, 6, 7, 8) for p, s in BINARY_JOINT[:3]]
    + [(3, n, p, s) for n in (2, 3, 4, 5) for p, s in MULTI_JOINT]
    + [(3, 6, *MULTI_JOINT[0]), (3, 6, *MULTI_JOINT[3])]
    + [(4, 4, p, s) for p, s in MULTI_JOINT],
)
def test_moments_of_joint_randomized_response(k: int, n: int, p: Fraction, s: Fraction) -> None:
    case = joint_case(n, p, s, k)
    assert_moments(case, oracle.one_deck(case.deck), populations_of(n, k))


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize(("truth", "own"), DEALT[:2])
def test_moments_of_dealt_randomized_response(
    deck: tuple[int, ...], truth: Fraction, own: Fraction
) -> None:
    case = dealt_case(deck, truth, own)
    assert_moments(case, oracle.one_deck(case.deck), populations_of(sum(deck), case.k, 4))


@pytest.mark.parametrize("k", [2, 3])
def test_moments_of_plain_randomized_response(k: int) -> None:
    case = plain_case(5, Fraction(3, 5), k)
    assert_moments(case, oracle.one_deck(case.deck), populations_of(5, k))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(lambda: joint_case(6, *BINARY_JOINT[0], 2), id="joint even"),
        pytest.param(lambda: joint_case(5, *BINARY_JOINT[1], 2), id="joint odd"),
        pytest.param(lambda: joint_case(5, *MULTI_JOINT[1], 3), id="joint odd k=3"),
        pytest.param(lambda: joint_case(4, *MULTI_JOINT[1], 3), id="joint even k=3"),
        pytest.param(lambda: dealt_case((3, 3), *DEALT[0]), id="dealt even"),
        pytest.param(lambda: dealt_case((5, 1), *DEALT[1]), id="dealt uneven"),
        pytest.param(lambda: dealt_case((2, 1, 1), *DEALT[1]), id="dealt uneven k=3"),
    ],
)
def test_moments_when_some_drop_out(case: Callable[[], Case]) -> None:
    made = case()
    everybody = oracle.one_deck(made.deck)
    for present in range(1, len(made.deck)):
        law = oracle.of_random_subset(everybody, present)
        assert_moments(made, law, populations_of(present, made.k))


@pytest.mark.parametrize(
    ("case", "decks", "present"),
    [
        pytest.param(lambda: joint_case(2, *BINARY_JOINT[0], 2), 2, 4, id="joint 2x2"),
        pytest.param(lambda: joint_case(2, *BINARY_JOINT[0], 2), 3, 6, id="joint 3x2"),
        pytest.param(lambda: joint_case(2, *BINARY_JOINT[1], 2), 3, 4, id="joint 3x2 dropout"),
        pytest.param(lambda: joint_case(4, *BINARY_JOINT[0], 2), 2, 8, id="joint 2x4"),
        pytest.param(lambda: joint_case(3, *BINARY_JOINT[0], 2), 2, 6, id="joint 2x3"),
        pytest.param(lambda: joint_case(3, *BINARY_JOINT[0], 2), 2, 5, id="joint 2x3 dropout"),
        pytest.param(lambda: joint_case(3, *MULTI_JOINT[1], 3), 2, 5, id="joint 2x3 k=3"),
        pytest.param(lambda: dealt_case((1, 1), *DEALT[0]), 3, 6, id="dealt 3x2"),
        pytest.param(lambda: dealt_case((2, 1), *DEALT[1]), 2, 6, id="dealt 2x3"),
        pytest.param(lambda: dealt_case((2, 1), *DEALT[1]), 2, 4, id="dealt 2x3 dropout"),
        pytest.param(lambda: dealt_case((3, 1), *DEALT[0]), 2, 8, id="dealt 2x4"),
        pytest.param(lambda: dealt_case((1, 1, 1), *DEALT[1]), 2, 5, id="dealt 2x3 k=3 dropout"),
    ],
)
def test_moments_of_several_decks(case: Callable[[], Case], decks: int, present: int) -> None:
    made = case()
    law = oracle.of_random_subset(oracle.several_decks([made.deck] * decks), present)
    assert_moments(made, law, populations_of(present, made.k), decks)


@pytest.mark.parametrize("decks", [1, 2])
def test_more_reports_than_cards_are_refused(decks: int) -> None:
    for case in (joint_case(4, *BINARY_JOINT[0], 2), dealt_case((2, 2), *DEALT[0])):
        with pytest.raises(jrr.JrrError):
            case.mechanism.variance((1, 4 * decks), decks=decks)


# The paper's own forms ------------------------------------------------------------------------

PAPER_TABLES = [
    (Fraction(3, 5), Fraction(-2, 3)),
    (Fraction(3, 5), Fraction(-3, 10)),
    (Fraction(3, 4), Fraction(0)),
    (Fraction(3, 4), THIRD),
    (Fraction(3, 5), Fraction(1)),
]


@pytest.mark.parametrize(("p", "rho"), PAPER_TABLES)
def test_literal_table_and_theorems(p: Fraction, rho: Fraction) -> None:
    law = oracle.paper_pair_table(p, rho)
    joint = literal.JointTable(float(p), float(rho))
    expected = [[float(law[first, second]) for second in (1, 0)] for first in (1, 0)]
    np.testing.assert_allclose(joint.table(), expected, atol=1e-15)
    for n in (2, 4, 6):
        for colluders in range(n):
            loss = oracle.loss_under_theorem_2(n, colluders, law)
            if loss < math.inf:  # there, rounding of rho = 1 - 1/p decides
                assert joint.epsilon(n, colluders) == pytest.approx(loss, rel=1e-12)
        truths = oracle.truths_of_pairs(n, p, rho)
        for n1 in range(n + 1):
            reports = oracle.reports_of_truths(truths, (1,) * n1 + (0,) * (n - n1), 2)
            mean, variance = oracle.moments(reports, oracle.joint_estimator(p, 2), 2)
            assert mean == [n - n1, n1]
            expected_variance = pytest.approx(float(variance[1]), rel=1e-12, abs=1e-12)
            assert joint.variance(n, n1) == expected_variance
            if rho <= 0:
                cards = jrr.JRR(n=n, p=float(p), rho=float(rho))
                assert cards.variance((n - n1, n1))[1] == expected_variance


@pytest.mark.parametrize(("p", "s"), BINARY_JOINT)
def test_practical_rule_gives_the_paper_s_table(p: Fraction, s: Fraction) -> None:
    rho = rho_of(p, s, 2)
    table = oracle.pair_table_by_noise(p, s)
    assert table == oracle.paper_pair_table(p, rho)
    q = 1 - p
    assert table[0, 0] == q**2 + rho * p * q
    assert table[0, 0] != q**2 - rho * p * q  # the sign in the paper's proof
    noise = literal.noise_law(float(p), float(rho))
    expected = {float(c): float(weight) for c, weight in oracle.noise_law(p, s).items()}
    assert noise == pytest.approx(expected, abs=1e-12)


@pytest.mark.statistical
def test_simulated_pairs_follow_the_enumerated_law() -> None:
    p, rho, values = Fraction(3, 5), Fraction(-3, 10), (0, 0, 1, 1)
    rng = np.random.default_rng(20250711)
    runs = 5_000
    observed = Counter(
        tuple(int(y) for y in literal.respond_in_pairs(np.array(values), float(p), float(rho), rng))
        for _ in range(runs)
    )

    def p_value(correlation: Fraction) -> float:
        law = oracle.reports_of_truths(oracle.truths_of_pairs(4, p, correlation), values, 2)
        expected = [float(weight) * runs for weight in law.values()]
        return float(stats.chisquare([observed[reports] for reports in law], expected).pvalue)

    assert p_value(rho) > 1e-4
    assert p_value(Fraction(0)) < 1e-12  # the test can tell: independent reports are rejected
