"""The paper's examples, theorems, lemmas and numbers, corrected where they are wrong as printed.

What is printed stands beside what holds; the test's docstring says which is which.
"""

import inspect
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import jrr
from jrr.research.paper import literal
from jrr.research.paper.literal import JointTable
from tests import oracle
from tests.statistics_rules import SURVEYS, accepts_only, chi_square, skewed

TABLES = [(0.8, -0.1875), (0.6, -2 / 3), (0.6, -0.3), (0.75, 0.0), (0.75, 0.4), (0.6, 1.0)]
"""p and rho of the paper's joint table: extreme, negative, none, positive."""


def rr_variance(n: int, epsilon: float) -> float:
    """Variance of the number of ones by plain randomized response; the same at every count."""
    return float(jrr.RR(epsilon=epsilon).variance((n, 0))[1])


def variance_of_ones(mechanism: jrr.Mechanism, n: int, n1: float) -> float:
    return float(mechanism.variance((n - n1, n1))[1])


# Examples 1 and 2 -------------------------------------------------------------------------------


def test_example_1() -> None:
    plain = jrr.RR(p=0.8)
    assert plain.epsilon() == pytest.approx(math.log(4))
    assert round(variance_of_ones(plain, 2, 2), 2) == 0.89


def test_example_2() -> None:
    table = literal.JointTable(0.8, -0.1875)
    np.testing.assert_allclose(table.table(), [[0.61, 0.19], [0.19, 0.01]], atol=1e-15)
    joint = jrr.JRR(2, 0.8, rho=-0.1875)
    assert joint.epsilon("report") == pytest.approx(math.log(4))
    assert round(variance_of_ones(joint, 2, 2), 2) == 0.72
    assert round(table.variance(2, 2), 2) == 0.72


def test_the_examples_share_their_estimator() -> None:
    for mechanism in (jrr.RR(p=0.8), jrr.JRR(2, 0.8, rho=-0.1875)):
        for ones in (0, 1, 2):
            reports = np.arange(2) < ones
            found = mechanism.estimate(reports, carded=mechanism.deals)
            assert found.counts[1] == pytest.approx((ones - 0.4) / 0.6)


# The joint table --------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "rho"), TABLES)
def test_table_has_the_marginals_of_rr_and_correlation_rho(p: float, rho: float) -> None:
    table = literal.JointTable(p, rho).table()
    assert table.sum(axis=0) == pytest.approx([p, 1 - p])
    assert table.sum(axis=1) == pytest.approx([p, 1 - p])
    assert (table[0, 0] - p * p) / (p - p * p) == pytest.approx(rho, abs=1e-12)


def test_table_exists_from_1_minus_1_over_p_on() -> None:
    least = 1 - 1 / 0.6
    assert literal.JointTable(0.6, least).table().min() == pytest.approx(0, abs=1e-15)
    with pytest.raises(jrr.JrrError, match="rho must be in"):
        literal.JointTable(0.6, least - 0.01)


@pytest.mark.parametrize(("p", "rho"), TABLES)
@pytest.mark.parametrize("values", [(0, 0), (0, 1), (1, 1)])
def test_theorem_1_estimator_is_unbiased(p: float, rho: float, values: tuple[int, int]) -> None:
    table = literal.JointTable(p, rho).table()
    estimator = jrr.JRR(2, p, rho=rho) if rho <= 0 else jrr.RR(p=p)
    expected = np.zeros(2)
    for lies in itertools.product((0, 1), repeat=2):
        reports = np.bitwise_xor(values, lies)
        expected += table[lies] * estimator.estimate(reports, carded=estimator.deals).counts
    np.testing.assert_allclose(expected, [values.count(0), values.count(1)], atol=1e-12)


# Theorem 2: privacy -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 6, 100, 10_000])
def test_theorem_2_as_printed_is_the_view_paper(n: int) -> None:
    table, joint = literal.JointTable(0.6, -0.3), jrr.JRR(n, 0.6, rho=-0.3)
    for colluders in {0, 1, 2 % n, n // 2, n - 1}:
        stated = table.epsilon(n, colluders)
        assert joint.epsilon("paper", colluders) == pytest.approx(stated, rel=1e-12)


@pytest.mark.parametrize("n", [6, 100, 1_000])
@pytest.mark.parametrize("rho", [-2 / 3, -0.3, -0.01])
def test_theorem_2_is_exceeded_by_what_colluders_truths_tell(n: int, rho: float) -> None:
    """Printed as a bound; the pairing given the colluders' truths is not uniform."""
    joint = jrr.JRR(n, 0.6, rho=rho)
    for colluders in (0, 1, n - 1):
        assert joint.epsilon("truths", colluders) == pytest.approx(
            joint.epsilon("paper", colluders)
        )
    for colluders in (2, 3, n // 2, n - 2):
        assert joint.epsilon("truths", colluders) > joint.epsilon("paper", colluders) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("colluders", "paper", "truths", "cards"), [(2, 0.717, 0.750, 1.016), (3, 0.886, 0.973, 1.886)]
)
def test_theorem_2_at_six_contributors(
    colluders: int, paper: float, truths: float, cards: float
) -> None:
    joint = jrr.JRR(6, 0.6, rho=-0.3)
    losses = [joint.epsilon(view, colluders) for view in ("paper", "truths", "cards")]
    assert losses == pytest.approx([paper, truths, cards], abs=5e-4)


def test_colluders_of_the_practical_mechanism_know_their_signs() -> None:
    """With R known, Theorem 2 is too small from one colluder on, but for one at extreme rho."""
    for rho in (-2 / 3, -0.3, -0.01):
        joint = jrr.JRR(100, 0.6, rho=rho)
        for colluders in (1, 2, 50, 98):
            stated, known = joint.epsilon("paper", colluders), joint.epsilon("cards", colluders)
            if colluders == 1 and rho == -2 / 3:
                assert known == pytest.approx(stated)
            else:
                assert known > stated * (1 + 1e-6)


def test_all_others_together_do_recover_the_truth_at_extreme_rho() -> None:
    """Printed: whoever infers R_j cannot recover T_j. At rho = 1 - 1/p a plus sign is the truth."""
    joint = jrr.JRR(100, 0.6, rho=1 - 1 / 0.6)
    assert joint.epsilon("cards", 99) == math.inf
    assert joint.epsilon("dealer") == math.inf
    assert math.isfinite(jrr.JRR(100, 0.6, rho=-0.6).epsilon("dealer"))


@pytest.mark.parametrize(("p", "rho"), TABLES)
def test_loss_grows_with_the_number_of_colluders(p: float, rho: float) -> None:
    table = literal.JointTable(p, rho)
    losses = [table.epsilon(20, m) for m in range(19)]
    assert all(np.diff(losses) > 0) if rho else np.ptp(losses) < 1e-12


@pytest.mark.parametrize(("p", "rho"), TABLES)
def test_derivative_of_f_has_another_numerator_than_printed(p: float, rho: float) -> None:
    """Printed: p_max q - p_min p = 2|rho| p q. It is -rho p, or rho q for a positive rho."""
    q = 1 - p
    p_max = max((1 - rho) * p, p + rho * q)
    p_min = min((1 - rho) * q, q + rho * p)
    numerator = p_max * q - p_min * p
    assert numerator == pytest.approx(-rho * p if rho <= 0 else rho * q, abs=1e-15)
    if rho:
        assert numerator != pytest.approx(2 * abs(rho) * p * q, rel=1e-2)

    def loss_ratio(m: float) -> float:
        return (m * p_max + (19 - m) * p) / (m * p_min + (19 - m) * q)

    slope = (loss_ratio(5.001) - loss_ratio(4.999)) / 0.002
    assert slope == pytest.approx(numerator * 19 / (5 * p_min + 14 * q) ** 2, rel=1e-6, abs=1e-9)


# Theorem 3: variance ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 10, 1_000])
@pytest.mark.parametrize("rho", [-2 / 3, -0.3, 0.0])
def test_theorem_3_is_the_library_s_variance(n: int, rho: float) -> None:
    table, joint = literal.JointTable(0.6, rho), jrr.JRR(n, 0.6, rho=rho)
    for n1 in (0, 1, n // 2, n):
        printed = table.variance(n, n1)
        assert joint.variance((n - n1, n1)) == pytest.approx([printed, printed], rel=1e-12)


def test_theorem_3_without_correlation_is_plain_randomized_response() -> None:
    plain = jrr.RR(p=0.6)
    assert literal.JointTable(0.6, 0.0).variance(10, 3) == variance_of_ones(plain, 10, 3)
    assert variance_of_ones(plain, 10, 3) == pytest.approx(10 * 0.6 * 0.4 / 0.2**2)


def test_negative_correlation_helps_exactly_where_theorem_3_says() -> None:
    joint, plain = jrr.JRR(100, 0.6, rho=-0.3), jrr.RR(p=0.6)
    for n1 in range(101):
        gain = variance_of_ones(plain, 100, n1) - variance_of_ones(joint, 100, n1)
        assert np.sign(round(gain, 9)) == np.sign((2 * n1 - 100) ** 2 - 100)


# Lemmas 1 to 3 and Theorem 4 --------------------------------------------------------------------


@pytest.mark.parametrize("n", [16, 100, 10_000])
def test_lemma_1_but_for_its_end_points(n: int) -> None:
    """Printed: below 0 on the closed interval. At its end points it is 0."""
    half_width = 1 / (2 * math.sqrt(n))
    for n1 in range(n + 1):
        value, distance = (2 * n1 - n) ** 2 - n, abs(n1 / n - 0.5)
        if math.isclose(distance, half_width):
            assert value == 0
        else:
            assert (value < 0) == (distance < half_width)


def test_ranges_where_jrr_is_worse_at_equal_p() -> None:
    for n, low, high in ((100, 0.45, 0.55), (10_000, 0.495, 0.505)):
        joint, plain = jrr.JRR(n, 0.6, rho=-0.3), jrr.RR(p=0.6)
        worse = [
            n1
            for n1 in range(n + 1)
            if variance_of_ones(joint, n, n1) > variance_of_ones(plain, n, n1) * (1 + 1e-12)
        ]
        assert (worse[0] - 1) / n == low
        assert (worse[-1] + 1) / n == high


def lemma_2(n: int, rho: float, n1: int) -> float:
    return n + rho * ((2 * n1 - n) ** 2 - n) / (n - 1)


def test_lemma_2_but_for_three_cases_where_it_is_zero() -> None:
    """Printed: positive for every rho in [-1, 1]."""
    zero = set()
    for n, rho in itertools.product((2, 3, 10, 100), np.linspace(-1, 1, 21)):
        for n1 in range(n + 1):
            value = lemma_2(n, rho, n1)
            assert value >= 0
            if value == 0:
                zero.add((n, float(rho), n1))
    extreme = {(n, -1.0, n1) for n in (2, 3, 10, 100) for n1 in (0, n)}
    assert zero == extreme | {(2, 1.0, 1)}


def test_lemma_2_holds_for_every_rho_a_mechanism_can_have() -> None:
    for p in (0.501, 0.6, 0.9):
        assert all(lemma_2(10, 1 - 1 / p, n1) > 0 for n1 in range(11))


def test_proof_of_lemma_2_multiplies_an_inequality_by_a_negative_number() -> None:
    n, rho, n1 = 10, -0.5, 0
    assert not rho * (1 / (n - 1) - 1) <= rho * ((2 * n1 - n) ** 2 - n) / (n - 1)


def test_proof_of_lemma_2_starts_from_a_wrong_lower_bound() -> None:
    """Printed: -n/(n-1) = 1/(n-1) - 1, so that the middle is at least that. It is less."""
    n, n1 = 10, 5
    assert ((2 * n1 - n) ** 2 - n) / (n - 1) == -n / (n - 1) < 1 / (n - 1) - 1


def test_lemma_3() -> None:
    noise = [variance_of_ones(jrr.RR(p=p), 1, 1) for p in np.linspace(0.501, 1, 500)]
    assert all(np.diff(noise) < 0)
    assert noise[-1] == 0


@pytest.mark.parametrize("n1", [0, 40, 45, 46, 50, 54, 55, 60, 100])
def test_theorem_4_monotone_in_rho(n1: int) -> None:
    """Printed once, in the text, as increasing inside [0.45, 0.55]: there it decreases."""
    steps = np.diff(
        [literal.JointTable(0.6, rho).variance(100, n1) for rho in np.linspace(-2 / 3, 1, 30)]
    )
    if n1 in (45, 55):
        assert np.abs(steps).max() < 1e-9
    else:
        assert (steps < 0).all() if 45 < n1 < 55 else (steps > 0).all()


@pytest.mark.parametrize("rho", [-0.1, 0.0, 0.5])
def test_theorem_4_monotone_in_p(rho: float) -> None:
    steps = np.diff(
        [literal.JointTable(p, rho).variance(100, 30) for p in np.linspace(0.51, 0.9, 30)]
    )
    assert (steps < 0).all()


# The practical mechanism ------------------------------------------------------------------------


def table_by_rule(p: float, rho: float) -> np.ndarray:
    """Law of (T_1, T_2) by C_j and R_j, in the order of the joint table."""
    law = literal.noise_law(p, rho)
    table = np.zeros((2, 2))
    for sign in (1, -1):
        for (c1, w1), (c2, w2) in itertools.product(law.items(), repeat=2):
            table[int(c1 + sign < 0), int(c2 - sign < 0)] += w1 * w2 / 2
    return table


@pytest.mark.parametrize(("p", "rho"), [pair for pair in TABLES if pair[1] <= 0])
def test_practical_mechanism_gives_the_joint_table(p: float, rho: float) -> None:
    np.testing.assert_allclose(
        table_by_rule(p, rho), literal.JointTable(p, rho).table(), atol=1e-15
    )


def test_both_lie_with_another_probability_than_the_proof_prints() -> None:
    """Printed: q² - rho p q. With it the four probabilities do not add up to 1."""
    p, q, rho = 0.6, 0.4, -0.3
    assert table_by_rule(p, rho)[1, 1] == pytest.approx(q * q + rho * p * q)
    printed = [p * p + rho * p * q, (1 - rho) * p * q, (1 - rho) * p * q, q * q - rho * p * q]
    assert sum(printed) == pytest.approx(1 - 2 * rho * p * q)


def test_noise_law_exists_from_1_minus_1_over_p_to_0() -> None:
    assert literal.noise_law(0.6, 1 - 1 / 0.6)[-1.5] == pytest.approx(0, abs=1e-15)
    for rho in (1 - 1 / 0.6 - 0.01, 0.01):
        with pytest.raises(jrr.JrrError, match="rho must be"):
            literal.noise_law(0.6, rho)


def test_signs_by_parity_of_the_inverse_permutation_do_not_balance() -> None:
    """Printed in step 4 of the MPC form; parity of the shuffled ID gives each pair both signs."""

    def balanced(by_shuffled_id: bool) -> int:
        count = 0
        for shuffled in itertools.permutations(range(1, 5)):  # shuffled[j-1] = pi(j)
            inverse = [shuffled.index(i) + 1 for i in range(1, 5)]
            used = shuffled if by_shuffled_id else inverse
            sign = {j: 1 if used[j - 1] % 2 == 0 else -1 for j in range(1, 5)}
            pairs = [(inverse[0], inverse[1]), (inverse[2], inverse[3])]
            count += all(sign[a] == -sign[b] for a, b in pairs)
        return count

    assert balanced(by_shuffled_id=True) == 24
    assert balanced(by_shuffled_id=False) < 24


# k-JRR ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4, 16])
def test_k_jrr_has_the_marginals_of_grr(k: int) -> None:
    mechanism = jrr.JRR(2, 1.5 / k, s=0.5 / k, k=k)
    p, q, rho = mechanism.p, mechanism.q, mechanism.rho
    true_true, true_lie = p * p + rho * p * q, p * q - rho * p * q / (k - 1)
    lie_lie = q * q + rho * p * q / (k - 1) ** 2
    assert true_true + (k - 1) * true_lie == pytest.approx(p)
    assert true_lie + (k - 1) * lie_lie == pytest.approx(q)


@pytest.mark.parametrize("k", [2, 3, 4, 16])
def test_correlation_of_truths_in_k_jrr_is_rho_over_k_minus_1(k: int) -> None:
    """Printed: rho."""
    mechanism = jrr.JRR(2, 1.5 / k, s=0.5 / k, k=k)
    p, rho = mechanism.p, mechanism.rho
    both_true = (p + mechanism.s) * (p - mechanism.s)
    assert both_true == pytest.approx(p * p + rho * p * mechanism.q)
    assert (both_true - p * p) / (p * (1 - p)) == pytest.approx(rho / (k - 1))


def test_rho_of_k_jrr_can_be_below_minus_1() -> None:
    p = jrr.RR(k=16, epsilon=0.1).p
    assert jrr.JRR(2, p, s=p, k=16).rho == pytest.approx(-math.exp(0.1))
    assert jrr.JRR(2, p, rho=-1.105, k=16).s < p


@pytest.mark.parametrize("p", [0.51, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("rho", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_pairs_that_share_a_card_have_the_joint_table(p: float, rho: float) -> None:
    """Every card of a pair, and both reports given it."""
    plus, *chances = literal.shared_card_law(p, rho)
    found = np.zeros((2, 2))
    for share, truth in zip((plus, 1 - plus), chances, strict=True):
        assert -1e-15 <= truth <= 1 + 1e-15
        one = np.array([truth, 1 - truth])
        found += share * np.outer(one, one)
    assert found == pytest.approx(JointTable(p, rho).table(), abs=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("rho", [Fraction(-1, 4), Fraction(0), Fraction(1, 4), Fraction(9, 10)])
def test_reports_of_pairs_have_the_joint_law_for_every_rho(rho: Fraction) -> None:
    """Four people, their secret pairs and reports, against all pairings enumerated."""
    p, rng = Fraction(7, 10), jrr.SeededRandom(26)
    law = oracle.truths_of_pairs(4, p, rho)
    outcomes = sorted(law)
    counts = dict.fromkeys(outcomes, 0)
    for _ in range(SURVEYS // 4):
        reports = literal.respond_in_pairs([1, 1, 1, 1], float(p), float(rho), rng)
        counts[tuple(int(y) for y in reports)] += 1
    chances = [float(law[outcome]) for outcome in outcomes]
    observed = [counts[outcome] for outcome in outcomes]
    accepts_only(lambda expected: chi_square(observed, expected), chances, skewed(chances))


@pytest.mark.parametrize("rho", [Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("ones", range(5))
def test_theorems_1_and_3_hold_for_positive_rho(rho: Fraction, ones: int) -> None:
    p, values = Fraction(7, 10), (1,) * ones + (0,) * (4 - ones)
    table = JointTable(float(p), float(rho))
    mean = square = 0.0
    for reports, chance in oracle.reports_of_pairs(values, p, rho, 2).items():
        estimate = table.estimate(reports)
        mean += float(chance) * estimate
        square += float(chance) * estimate**2
    assert mean == pytest.approx(ones)
    assert square - mean**2 == pytest.approx(table.variance(4, ones))


def test_noise_law_for_more_values_needs_another_last_entry() -> None:
    """Printed: q - s, which is negative here; 1 - p - s makes the law add up to 1."""
    mechanism = jrr.JRR(2, 0.4, s=0.3, k=4)
    p, q, s = mechanism.p, mechanism.q, mechanism.s
    assert q - s < 0 < 1 - p - s
    assert (p - s) + s + s + (1 - p - s) == pytest.approx(1)


# What the evaluation says -----------------------------------------------------------------------


def share(n: int, epsilon: float, frequency: float, step: float) -> float:
    """Variance of Algorithm 1's result as a share of plain randomized response's, M = 5."""
    found = jrr.algorithm1(n, epsilon, 5, step, step)
    return variance_of_ones(found, n, n * frequency) / rr_variance(n, epsilon)


RATIO_SD = math.sqrt(2 * 2 / 1_000)  # relative, of a ratio of two mean squares over 1,000 runs
FREQUENCIES = (0.01, 0.1, 1.0)


def test_shares_at_10_000_need_a_step_of_0_0003() -> None:
    """Printed: 5.8%, 40.9%, 1.0% at epsilon = 0.01, with a step of 0.0001 in the table.

    That step gives 67.0%, 80.9% and 65.3%. With 0.0003 the shares are 6.2%, 47.2% and 1.1%; the
    printed ones are simulated, and within what 1,000 runs scatter.
    """
    printed = np.array([0.058, 0.409, 0.010])
    stated = [share(10_000, 0.01, f, 0.0001) for f in FREQUENCIES]
    assert stated == pytest.approx([0.670, 0.809, 0.653], abs=5e-4)
    used = np.array([share(10_000, 0.01, f, 0.0003) for f in FREQUENCIES])
    assert used == pytest.approx([0.0620, 0.4722, 0.0113], abs=5e-5)
    assert np.abs(printed / used - 1).max() < 2.5 * RATIO_SD
    assert np.abs(printed / stated - 1).min() > 7 * RATIO_SD


@pytest.mark.parametrize(
    ("epsilon", "printed"), [(0.01, (0.045, 0.372, 0.009)), (0.1, (0.134, 0.442, 0.091))]
)
def test_shares_at_80_000(epsilon: float, printed: tuple[float, ...]) -> None:
    used = [share(80_000, epsilon, f, 0.0001) for f in FREQUENCIES]
    assert np.abs(np.array(printed) / used - 1).max() < 2.5 * RATIO_SD


def test_variances_at_80_000_where_everybody_says_yes() -> None:
    """Printed: 7.3e5 at epsilon = 0.1 and 8.6e6 at 0.01."""
    for epsilon, printed in ((0.1, 7.3e5), (0.01, 8.6e6)):
        found = jrr.algorithm1(80_000, epsilon, 5)
        assert variance_of_ones(found, 80_000, 80_000) == pytest.approx(printed, rel=0.05)


def test_74_percent_matches_nothing() -> None:
    """Printed: 74.1% of RR at epsilon = 0.1, n1 = n. For every n and step drawn it is less."""
    shares = [share(n, 0.1, 1.0, step) for n in (10_000, 40_000, 80_000) for step in (1e-4, 3e-4)]
    assert max(shares) == pytest.approx(0.624, abs=5e-4)
    assert min(0.741 / np.array(shares)) - 1 > 2.9 * RATIO_SD


def test_two_orders_of_magnitude_at_200_000() -> None:
    assert share(200_000, 0.01, 1.0, 1e-4) == pytest.approx(0.0104, abs=5e-5)


def test_gain_at_two_million() -> None:
    """Printed: 7.2e5 lower, simulated; 6.8e5 by the formula."""
    found = variance_of_ones(jrr.algorithm1(2_000_000, 1.0, 5), 2_000_000, 2_000_000)
    plain = rr_variance(2_000_000, 1.0)
    assert plain - found == pytest.approx(6.76e5, rel=1e-3)
    assert 7.2e5 - (plain - found) < 2 * plain * math.sqrt(2 / 1_000)


def test_rho_is_not_near_its_least_value_at_the_default_setting() -> None:
    """Printed: for small M always very close to 1 - 1/p. At M = 5 it is less than half of that."""
    found = jrr.algorithm1(10_000, 0.1, 5)
    assert found.rho == pytest.approx(-0.381, abs=5e-4)
    assert 1 - 1 / found.p == pytest.approx(-0.905, abs=5e-4)


# The cases of JRR underperforming RR ------------------------------------------------------------


def relative_increase(n: int, epsilon: float) -> float:
    """RI: how much worse Algorithm 1 (M = 5) is than RR at frequency 1/2, at equal epsilon."""
    found = jrr.algorithm1(n, epsilon, 5)
    return variance_of_ones(found, n, n / 2) / rr_variance(n, epsilon) - 1


def underperforming_share(n: int, epsilon: float) -> float:
    """R: the share of frequencies at which Algorithm 1 (M = 5) is worse than RR."""
    found, plain = jrr.algorithm1(n, epsilon, 5), rr_variance(n, epsilon)
    worse = [n1 for n1 in range(n + 1) if variance_of_ones(found, n, n1) > plain]
    return (worse[-1] - worse[0]) / n


@pytest.mark.parametrize(
    ("epsilon", "percent"), [(0.001, 178), (0.01, 8.5), (0.1, 0.81), (1.0, 0.11)]
)
def test_relative_increase_at_equal_epsilon(epsilon: float, percent: float) -> None:
    """Printed: below 1e-4."""
    assert 100 * relative_increase(10_000, epsilon) == pytest.approx(percent, rel=0.03)


@pytest.mark.parametrize(
    ("n", "epsilon", "percent"),
    [
        (10_000, 0.01, 44),
        (10_000, 0.1, 14.5),
        (10_000, 1.0, 6.4),
        (1_000, 0.01, 100),
        (1_000, 0.1, 46),
        (1_000, 1.0, 20),
    ],
)
def test_underperforming_range_at_equal_epsilon(n: int, epsilon: float, percent: float) -> None:
    """Printed: 1/sqrt(n), below 3% at n = 1,000."""
    assert 100 * underperforming_share(n, epsilon) == pytest.approx(percent, rel=0.02)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0])
def test_printed_relative_increase_takes_parameters_that_no_colluder_allows(epsilon: float) -> None:
    """p = P(epsilon) and rho = 1 - 1/p give the printed numbers, and break the constraint."""
    p = jrr.RR(epsilon=epsilon).p
    infeasible = jrr.JRR(10_000, p, rho=1 - 1 / p)
    assert infeasible.epsilon("paper", 1) > epsilon
    increase = variance_of_ones(infeasible, 10_000, 5_000) / rr_variance(10_000, epsilon) - 1
    assert increase == pytest.approx((1 / p - 1) / 9_999, rel=1e-6)
    assert increase < 1e-4


def test_printed_numbers_of_the_underperforming_range() -> None:
    """7.3e-5 at n = 5,000 is the infeasible choice at epsilon = 1; 1/sqrt(1000) is above 3%."""
    p = jrr.RR(epsilon=1.0).p
    assert (1 / p - 1) / 4_999 == pytest.approx(7.36e-5, rel=1e-3)
    assert 1 / math.sqrt(1_000) == pytest.approx(0.0316, abs=5e-5)


# Steps of the proofs ---------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "rho"), [(0.6, -0.5), (0.8, -0.1875), (0.75, 0.2), (0.9, 0.0)])
def test_conditional_probabilities_of_a_known_peer(p: float, rho: float) -> None:
    """Appendix B, Eqs. (37) to (47): with a peer that tells nothing p and q, with one that tells
    its truthfulness four numbers, of which p_max and p_min are the extremes.
    """
    q = 1 - p
    (both, one), (other, neither) = JointTable(p, rho).table()
    assert (both + one, other + neither) == pytest.approx((p, q))
    after_truth, after_lie = both / p, one / q
    assert (after_truth, after_lie) == pytest.approx((p + rho * q, (1 - rho) * p))
    assert (other / p, neither / q) == pytest.approx(((1 - rho) * q, q + rho * p))
    assert max(after_truth, after_lie) == pytest.approx(max((1 - rho) * p, p + rho * q))
    assert min(other / p, neither / q) == pytest.approx(min((1 - rho) * q, q + rho * p))


@pytest.mark.parametrize(("n", "n1"), [(4, 1), (6, 3), (10, 0), (10, 7)])
def test_proof_of_theorem_3_group_by_group(n: int, n1: int) -> None:
    """Appendix C: the variance of each type of group, how many there are on average, their sum;
    and given the pairs the mean of the estimate is always n1.
    """
    p, rho = 0.7, -0.3
    q = 1 - p
    pq = p * q
    alike, mixed = 2 * pq + 2 * rho * pq, 2 * pq - 2 * rho * pq
    ones = n1 * (n1 - 1) / (2 * (n - 1))  # expected pairs of two holders of 1
    zeros = (n - n1) * (n - n1 - 1) / (2 * (n - 1))
    both = n1 * (n - n1) / (n - 1)
    assert ones + zeros + both == pytest.approx(n / 2)
    total = (ones + zeros) * alike + both * mixed
    assert total / (p - q) ** 2 == pytest.approx(JointTable(p, rho).variance(n, n1))
    table = JointTable(p, rho).table()
    reports = {(1, 1): (1, 1), (1, 0): (1, 0), (0, 0): (0, 0)}  # values of a pair
    for values, variance in zip(reports, (alike, mixed, alike), strict=True):
        law = {
            tuple(x if true else 1 - x for x, true in zip(values, truths, strict=True)): float(
                table[1 - truths[0], 1 - truths[1]]
            )
            for truths in ((1, 1), (1, 0), (0, 1), (0, 0))
        }
        mean = sum(sum(y) * chance for y, chance in law.items())
        assert mean == pytest.approx(sum(p if x else q for x in values))  # whoever is paired
        second = sum(sum(y) ** 2 * chance for y, chance in law.items())
        assert second - mean**2 == pytest.approx(variance)


def test_dealing_takes_no_value_and_no_report() -> None:
    """The dealer's whole input is the mechanism and randomness; a deck tells of nobody."""
    assert list(inspect.signature(jrr.JRR.deal).parameters) == ["self", "rng"]
    deck = jrr.JRR(6, p=0.6, s=0.3).deal(jrr.SeededRandom(1))
    assert sorted(deck.tolist()) == [-1, -1, -1, 1, 1, 1]


@pytest.mark.parametrize("rho", [0.05, 0.5, 1.0])
def test_a_positive_rho_is_refused_with_the_reason(rho: float) -> None:
    with pytest.raises(jrr.JrrError, match=r"lies add up instead of cancel.*use RR"):
        jrr.JRR(100, 0.6, rho=rho)


@pytest.mark.parametrize("n", [2, 4, 10, 1_000])
def test_what_a_positive_rho_could_gain(n: int) -> None:
    """Pairs that share a sign, for ρ <= (1-p)/p: 1 part in n-1 at one half, a loss elsewhere."""
    p = 0.6
    most = (1 - p) / p
    plain = JointTable(p, 0.0)
    shared = JointTable(p, most)
    # The average of (p + sR)² over a common sign R = ±1 is the table's p² + ρpq.
    s = math.sqrt(most * p * (1 - p))
    assert ((p + s) ** 2 + (p - s) ** 2) / 2 == pytest.approx(shared.table()[0, 0])
    assert s <= 1 - p + 1e-12
    gain = 1 - shared.variance(n, n / 2) / plain.variance(n, n / 2)
    assert gain == pytest.approx(most / (n - 1))
    width = math.sqrt(n) / 2
    assert shared.variance(n, n / 2 + 1.01 * width) > plain.variance(n, n / 2 + 1.01 * width)
