"""Variances against the paper and against formulas written a second time."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import jrr

JOINT = [(0.6, 0.4), (0.75, 0.25), (0.52, 0.3), (0.9, 0.0), (0.51, 0.49)]  # p, s
DEALT = [(0.05, 0.0), (0.05, 0.02), (0.3, 0.1), (0.3, 0.7), (1.0, 0.0)]  # truth, own


def theorem3(n: int, n1: float, p: float, rho: float) -> float:
    """The paper's Theorem 3, for even n."""
    q = 1 - p
    return p * q / (p - q) ** 2 * (n + rho * ((2 * n1 - n) ** 2 - n) / (n - 1))


def pair_correlation(deck: int, decks: int, blanks: int = 0) -> Fraction:
    """E[R_i R_j] of two random contributors.

    In one deck the cards add up to 0, so the n(n-1) ordered pairs add up to -(n - blanks);
    two decks have nothing to do with each other.
    """
    same_deck = Fraction(deck - 1, deck * decks - 1)
    return -Fraction(deck - blanks, deck * (deck - 1)) * same_deck


def joint_variance(m: jrr.JRR, counts: Sequence[float], decks: int = 1) -> list[float]:
    """theory: n_v p(1-p) + (n-n_v) q(1-q) + E[RR] Σ_{i≠j} d_i d_j, over (p-q)², exactly."""
    p, s = Fraction(m.p), Fraction(m.s)
    q = (1 - p) / (m.k - 1)
    n = sum(map(Fraction, counts))
    tied = pair_correlation(m.n, decks, m.n % 2)
    result = []
    for count in map(Fraction, counts):
        d, e = s, -s / (m.k - 1)
        pairs = (count * d + (n - count) * e) ** 2 - (count * d**2 + (n - count) * e**2)
        spread = count * p * (1 - p) + (n - count) * q * (1 - q) + tied * pairs
        result.append(float(spread / (p - q) ** 2))
    return result


def dealt_variance(m: jrr.DRR, counts: Sequence[float], decks: int = 1) -> list[float]:
    """theory, section on DRR, uneven decks included."""
    truth, own = Fraction(m.truth), Fraction(m.own)
    dealt = max(Fraction(0), 1 - truth - own)
    n = sum(map(Fraction, counts))
    result = []
    for count, cards in zip(map(Fraction, counts), m.deck, strict=True):
        share = Fraction(cards, m.n)
        q = dealt * share + own / m.k
        p = truth + q
        tied = dealt**2 * share * (1 - share) * n * (n - 1) / (m.n * decks - 1)
        spread = count * p * (1 - p) + (n - count) * q * (1 - q) - tied
        result.append(float(spread / truth**2))
    return result


@pytest.mark.parametrize(("p", "s"), JOINT)
@pytest.mark.parametrize("n", [2, 10, 1000, 10_000])
def test_theorem_3_of_the_paper(n: int, p: float, s: float) -> None:
    m = jrr.JRR(n=n, p=p, s=s)
    for n1 in (0, 1, n // 10, n / 2, n):
        expected = theorem3(n, n1, p, m.rho)
        assert m.variance([n - n1, n1]) == pytest.approx([expected] * 2, rel=1e-9)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("p", [0.9, 0.51, 0.6])
def test_randomized_response(k: int, p: float) -> None:
    """Independent reports: n_v p(1-p) + (n-n_v) q(1-q), over (p-q)²."""
    q = (1 - p) / (k - 1)
    counts = np.arange(k) * 10.0
    n = counts.sum()
    expected = (counts * p * (1 - p) + (n - counts) * q * (1 - q)) / (p - q) ** 2
    assert jrr.RR(k=k, p=p).variance(counts) == pytest.approx(expected, rel=1e-12)
    unleaning = jrr.JRR(n=1000, p=p, s=0.0, k=k)
    assert unleaning.variance(counts) == pytest.approx(expected, rel=1e-12)
    alone = jrr.DRR(n=1000, truth=p - q, own=k * q, k=k)
    assert alone.variance(counts) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("p", "s"), JOINT)
@pytest.mark.parametrize(
    "counts", [(70, 30), (0, 100), (101, 0), (20, 30, 50), (0, 0, 41), (1, 2, 3, 4), (25,) * 4]
)
def test_joint(p: float, s: float, counts: tuple[int, ...]) -> None:
    m = jrr.JRR(n=sum(counts), p=p, s=s, k=len(counts))
    assert m.variance(counts) == pytest.approx(joint_variance(m, counts), rel=1e-9)


@pytest.mark.parametrize(("p", "s"), [(0.3, 0.3), (0.26, 0.2)])
def test_joint_with_a_minority_of_truths(p: float, s: float) -> None:
    m = jrr.JRR(n=100, p=p, s=s, k=4)
    for counts in ((10, 20, 30, 40), (0, 0, 0, 100)):
        assert m.variance(counts) == pytest.approx(joint_variance(m, counts), rel=1e-9)


@pytest.mark.parametrize(("truth", "own"), DEALT)
@pytest.mark.parametrize(
    ("counts", "deck"),
    [
        ((70, 30), None),
        ((0, 101), None),
        ((70, 30), (10, 90)),
        ((70, 30), (100, 0)),
        ((1, 2, 3, 5), None),
        ((1, 2, 3, 5), (0, 1, 3, 7)),
    ],
)
def test_dealt(
    truth: float, own: float, counts: tuple[int, ...], deck: tuple[int, ...] | None
) -> None:
    m = jrr.DRR(n=sum(counts), truth=truth, own=own, k=len(counts), deck=deck)
    expected = dealt_variance(m, counts)
    assert m.variance(counts) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_dealt_does_not_depend_on_the_frequency_of_an_even_deck() -> None:
    m = jrr.DRR(n=1000, truth=0.05)
    variances = [m.variance([1000 - n1, n1])[1] for n1 in (0, 1, 300, 500, 1000)]
    assert variances == pytest.approx([variances[0]] * 5, rel=1e-12)


@pytest.mark.parametrize("decks", [1, 2, 5])
@pytest.mark.parametrize("n", [99, 100])
@pytest.mark.parametrize("kept", [1.0, 0.7, 0.1])
def test_dropouts_and_several_decks(decks: int, n: int, kept: float) -> None:
    for k in (2, 4):
        joint = jrr.JRR(n=n, p=0.55, s=0.4, k=k)
        dealt = jrr.DRR(n=n, truth=0.1, own=0.05, k=k)
        uneven = jrr.DRR(n=n, truth=0.1, k=k, deck=[n - k + 1] + [1] * (k - 1))
        counts = [kept * decks * n / k] * k
        counts[0] /= 2
        assert joint.variance(counts, decks) == pytest.approx(joint_variance(joint, counts, decks))
        for m in (dealt, uneven):
            assert m.variance(counts, decks) == pytest.approx(dealt_variance(m, counts, decks))


def test_dropouts_only_shrink_the_gain() -> None:
    """Per contributor, relative to reports without cards."""
    for m in (jrr.JRR(n=1000, p=0.525, s=0.475), jrr.DRR(n=1000, truth=0.05)):
        plain = jrr.RR(p=0.525)
        ratios = [
            m.variance([0, count])[1] / plain.variance([0, count])[1]
            for count in (1000, 900, 500, 10, 2, 1)
        ]
        assert ratios == sorted(ratios)
        assert ratios[0] < 0.1
        assert ratios[-1] == pytest.approx(1.0)


def test_many_decks_shrink_the_gain() -> None:
    m = jrr.JRR(n=10, p=0.525, s=0.475)
    one_each = [m.variance([0, 10], decks)[1] for decks in (1, 2, 10, 10_000)]
    assert one_each == sorted(one_each)
    assert one_each[-1] == pytest.approx(jrr.RR(p=0.525).variance([0, 10])[1], rel=1e-3)


def test_the_values_variances_of_a_binary_question_are_equal() -> None:
    for m in (jrr.RR(p=0.6), jrr.JRR(n=101, p=0.6, s=0.4), jrr.DRR(n=101, truth=0.3, own=0.2)):
        for n1 in (0, 1, 50, 101):
            no, yes = m.variance([101 - n1, n1])
            assert no == pytest.approx(yes, rel=1e-10)


@pytest.mark.parametrize("frequency", [0.0, 0.1, 0.5, 1.0])
def test_a_billion_contributors(frequency: float) -> None:
    n = 10**9
    counts = [(1 - frequency) * n, frequency * n]
    for joint in (jrr.JRR(n=n, p=0.52, s=0.48), jrr.JRR(n=n, p=0.52, s=0.2)):
        assert joint.variance(counts) == pytest.approx(joint_variance(joint, counts), rel=1e-9)
    for dealt in (jrr.DRR(n=n, truth=0.05), jrr.DRR(n=n, truth=0.05, own=0.01)):
        assert dealt.variance(counts) == pytest.approx(dealt_variance(dealt, counts), rel=1e-9)
    many = jrr.JRR(n=1000, p=0.52, s=0.48)
    assert many.variance(counts, decks=10**6) == pytest.approx(
        joint_variance(many, counts, 10**6), rel=1e-9
    )


def test_whole_number_types_do_not_overflow() -> None:
    m = jrr.JRR(n=10**9, p=0.52, s=0.48)
    expected = m.variance([5e8, 5e8])
    assert m.variance(np.array([5 * 10**8, 5 * 10**8], np.int32)) == pytest.approx(expected)
    assert all(math.isfinite(variance) for variance in expected)


def test_fractional_counts() -> None:
    m = jrr.JRR(n=10, p=0.6, s=0.3)
    expected = joint_variance(m, [7.5, 2.5])
    assert m.variance([7.5, 2.5]) == pytest.approx(expected, rel=1e-12)
    assert m.variance([0, 0]).tolist() == [0.0, 0.0]


def test_expected_counts_that_add_up_to_n_but_for_rounding() -> None:
    """0.3, 0.6 and 0.1 of seven add up to 7.000000000000001 in floating point."""
    counts = 7 * np.array([0.3, 0.6, 0.1])
    assert counts.sum() > 7
    assert len(jrr.JRR(n=7, p=0.6, s=0.3, k=3).variance(counts)) == 3


def test_never_negative() -> None:
    """Also where lies cancel altogether."""
    for p in (0.5 + 1e-3, 0.5 + 1e-6, 0.6, 0.9, 1.0):
        for n in (2, 3, 10, 1001):
            joint = jrr.JRR(n=n, p=p, s=1 - p)
            dealt = jrr.DRR(n=n, truth=2 * p - 1)
            for n1 in (0, 1, n // 2, n):
                assert (joint.variance([n - n1, n1]) >= 0).all()
                assert (dealt.variance([n - n1, n1]) >= 0).all()


@pytest.mark.parametrize("decks", [1, 3])
def test_more_contributors_than_cards_are_refused(decks: int) -> None:
    for m in (jrr.JRR(n=10, p=0.6, s=0.2), jrr.DRR(n=10, truth=0.3)):
        m.variance([0, 10 * decks], decks)
        with pytest.raises(
            jrr.JrrError, match=rf"counts must .* {10 * decks}, got .* {10 * decks + 1}"
        ):
            m.variance([1, 10 * decks], decks)
    assert len(jrr.RR(p=0.6).variance([10**12, 10**12])) == 2
