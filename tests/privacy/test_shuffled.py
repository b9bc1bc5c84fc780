"""The collector's view behind a shuffler, against enumeration and an independent accountant."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import jrr
from jrr.mechanisms.request import Request
from jrr.mechanisms.rr import RR
from jrr.planning.alternatives import shuffled_rr
from jrr.privacy.shuffled import (
    MOST_SCANNED,
    amplified_epsilon,
    shuffled_delta,
    shuffled_epsilon,
)
from tests import oracle

pytestmark = pytest.mark.heavy

EPSILONS = (0.0, 0.01, 0.1, 0.3, 1.0, 2.0, 4.0)
CLOSE = 1e-12  # error of one law; δ is the difference of one law and e^ε times another
Law = Sequence[float]


# Enumeration ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A mechanism of the library and the same one for the oracle."""

    mechanism: jrr.Mechanism
    n: int
    deck: oracle.Deal
    channel: oracle.Channel

    def delta(self, epsilon: float, ones: int | None = None, colluders: int = 0) -> float:
        n = self.n if isinstance(self.mechanism, RR) else None
        return shuffled_delta(self.mechanism, epsilon, n, ones, colluders)


def joint_case(n: int, p: Fraction, s: Fraction) -> Case:
    mechanism = jrr.JRR(n, float(p), s=float(s))
    return Case(mechanism, n, oracle.sign_deck(n), oracle.joint_channel(p, s, 2))


def dealt_case(counts: tuple[int, int], truth: Fraction, own: Fraction) -> Case:
    mechanism = jrr.DRR(sum(counts), float(truth), float(own), deck=counts)
    deck, channel = oracle.decoy_deck(counts), oracle.dealt_channel(truth, own, 2)
    return Case(mechanism, sum(counts), deck, channel)


def plain_case(n: int, p: Fraction) -> Case:
    blank = (oracle.BLANK,) * n
    return Case(jrr.RR(p=float(p)), n, blank, oracle.joint_channel(p, Fraction(0), 2))


def law_of_count(card_law: oracle.Law, channel: oracle.Channel, ones: int) -> Law:
    """The number of reports 1 over every deal and every tuple of reports."""
    people = len(next(iter(card_law)))
    law = [Fraction(0)] * (people + 1)
    values = (1,) * ones + (0,) * (people - ones)
    for reports, chance in oracle.reports_of_deals(card_law, channel, values).items():
        law[sum(reports)] += chance
    return [float(chance) for chance in law]


def hockey_stick(first: Law, second: Law, epsilon: float) -> float:
    """The largest δ of one direction: over all events, not over tails."""
    grown = math.exp(epsilon)
    return math.fsum(max(0.0, a - grown * b) for a, b in zip(first, second, strict=True))


def enumerated(card_law: oracle.Law, channel: oracle.Channel, epsilon: float) -> list[float]:
    """δ of each composition of the others, both directions."""
    people = len(next(iter(card_law)))
    laws = [law_of_count(card_law, channel, ones) for ones in range(people + 1)]
    return [deltas(pair, epsilon) for pair in pairwise(laws)]


def deltas(pair: tuple[Law, Law], epsilon: float) -> float:
    return max(hockey_stick(*pair, epsilon), hockey_stick(pair[1], pair[0], epsilon))


def assert_matches(case: Case, other: Case | None = None) -> None:
    """The library's δ is an upper bound of the enumerated one, and a tight one."""
    truth = other or case
    card_law = oracle.one_deck(truth.deck)
    laws = [law_of_count(card_law, truth.channel, ones) for ones in range(case.n + 1)]
    for epsilon in EPSILONS:
        expected = [deltas(pair, epsilon) for pair in pairwise(laws)]
        found = [case.delta(epsilon, ones) for ones in range(case.n)]
        most = CLOSE * (1 + math.exp(epsilon))
        for value, bound in zip(
            [*expected, max(expected)], [*found, case.delta(epsilon)], strict=True
        ):
            assert value - 1e-15 <= bound <= value + most


JOINT = [(Fraction(3, 5), Fraction(2, 5)), (Fraction(3, 4), Fraction(1, 8))]
DEALT = [(Fraction(1, 4), Fraction(0)), (Fraction(1, 2), Fraction(1, 8))]


def cases() -> Iterator[Case]:
    for n in (2, 3, 4, 5, 6):
        for p, s in JOINT:
            yield joint_case(n, p, s)
        for truth, own in DEALT:
            yield dealt_case((n - n // 2, n // 2), truth, own)
        yield plain_case(n, Fraction(3, 5))
    yield joint_case(8, *JOINT[0])
    yield joint_case(7, *JOINT[0])
    yield dealt_case((4, 4), *DEALT[0])
    yield dealt_case((5, 2), *DEALT[1])
    yield dealt_case((4, 0), *DEALT[0])  # a deck of one kind: the cards are no secret
    yield joint_case(4, Fraction(9, 10), Fraction(0))
    yield dealt_case((2, 2), Fraction(1), Fraction(0))
    yield plain_case(1, Fraction(3, 4))
    yield plain_case(8, Fraction(9, 10))
    yield plain_case(3, Fraction(1))


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: f"{case.mechanism}, n={case.n}")
def test_delta_is_that_of_enumeration(case: Case) -> None:
    assert_matches(case)


@pytest.mark.parametrize(
    ("case", "other"),
    [
        (joint_case(6, Fraction(3, 4), Fraction(1, 8)), (Fraction(53, 80), Fraction(1, 8))),
        (dealt_case((3, 3), Fraction(1, 2), Fraction(1, 8)), (Fraction(7, 20), Fraction(1, 8))),
        (plain_case(6, Fraction(3, 4)), (Fraction(53, 80),)),
    ],
    ids=["JRR", "DRR", "RR"],
)
def test_the_comparison_can_fail(case: Case, other: tuple[Fraction, ...]) -> None:
    """Where the truth's lead is 30% smaller, both the bound and its tightness are off."""
    if isinstance(case.mechanism, jrr.JRR):
        wrong = joint_case(6, other[0], other[1])
    elif isinstance(case.mechanism, jrr.DRR):
        wrong = dealt_case((3, 3), other[0], other[1])
    else:
        wrong = plain_case(6, other[0])
    assert_matches(case)
    with pytest.raises(AssertionError):
        assert_matches(case, wrong)
    with pytest.raises(AssertionError):
        assert_matches(wrong, case)


@given(
    n=st.integers(2, 5),
    lead=st.integers(1, 16),
    lean=st.integers(0, 16),
    epsilon=st.floats(0, 3),
    dealt=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_never_below_enumeration(n: int, lead: int, lean: int, epsilon: float, dealt: bool) -> None:
    if dealt:
        truth = Fraction(lead, 16)
        case = dealt_case((n - n // 2, n // 2), truth, (1 - truth) * Fraction(lean, 16))
    else:
        p = Fraction(1, 2) + Fraction(lead, 32)
        case = joint_case(n, p, (1 - p) * Fraction(lean, 16))
    worst = max(enumerated(oracle.one_deck(case.deck), case.channel, epsilon))
    assert worst - 1e-15 <= case.delta(epsilon) <= worst + CLOSE * (1 + math.exp(epsilon))


@pytest.mark.parametrize("colluders", [1, 2, 3])
@pytest.mark.parametrize(
    "case",
    [
        joint_case(4, *JOINT[0]),
        joint_case(5, *JOINT[0]),  # a colluder may hold the blank card
        dealt_case((3, 2), *DEALT[1]),
        dealt_case((2, 2), *DEALT[0]),
    ],
    ids=lambda case: f"{case.mechanism}",
)
def test_colluders_show_the_worst_cards(case: Case, colluders: int) -> None:
    deals = oracle.one_deck(case.deck)
    left: dict[oracle.Deal, oracle.Law] = {}
    for deal, chance in deals.items():
        rest = left.setdefault(deal[:colluders], {})
        rest[deal[colluders:]] = rest.get(deal[colluders:], Fraction(0)) + chance
    for epsilon in (0.0, 0.1, 1.0):
        worst = [0.0] * (case.n - colluders)
        for law in left.values():
            seen = {deal: chance / sum(law.values()) for deal, chance in law.items()}
            worst = list(map(max, worst, enumerated(seen, case.channel, epsilon)))
        most = CLOSE * (1 + math.exp(epsilon))
        for ones, expected in enumerate(worst):
            found = case.delta(epsilon, ones, colluders)
            assert expected - 1e-15 <= found <= expected + most
        assert max(worst) - 1e-15 <= case.delta(epsilon, None, colluders) <= max(worst) + most


def test_colluders_of_plain_rr_are_taken_off() -> None:
    mechanism = jrr.RR(epsilon=1.0)
    assert shuffled_delta(mechanism, 0.3, 9, colluders=2) == shuffled_delta(mechanism, 0.3, 7)


# Larger decks: another way to the same law, and another accountant ------------------------------


def summed_law(mechanism: jrr.JRR | jrr.DRR, ones: int) -> NDArray[np.float64]:
    """The count given how many holders of 1 have a plus card, hypergeometric: positive sums."""
    n = mechanism.n

    def signed_part(holders: int, others: int) -> NDArray[np.float64]:
        people = holders + others
        if isinstance(mechanism, jrr.JRR):
            p, s, plus = mechanism.p, mechanism.s, people // 2
            rates = (p + s, p - s, 1 - p - s, 1 - p + s)
        else:
            plus, low, own = mechanism.deck[1], mechanism.truth, mechanism.own / 2
            rates = (low + mechanism.dealt + own, low + own, mechanism.dealt + own, own)
        law = np.zeros(people + 1)
        for held in range(max(0, plus - others), min(holders, plus) + 1):
            chance = stats.hypergeom.pmf(held, people, holders, plus)
            groups = (held, holders - held, plus - held, others - plus + held)
            if chance > 1e-25:
                part = np.ones(1)
                for size, rate in zip(groups, rates, strict=True):
                    pmf = stats.binom.pmf(np.arange(size + 1), size, min(1.0, max(0.0, rate)))
                    part = np.convolve(part, pmf)
                law += chance * part
        return law

    if isinstance(mechanism, jrr.DRR) or n % 2 == 0:
        return signed_part(ones, n - ones)
    law, p = np.zeros(n + 1), mechanism.p
    if ones:  # a holder of 1 has the blank card
        law += ones / n * np.convolve(signed_part(ones - 1, n - ones), (1 - p, p))
    if ones < n:
        law += (n - ones) / n * np.convolve(signed_part(ones, n - ones - 1), (p, 1 - p))
    return law


LARGE: list[jrr.JRR | jrr.DRR] = [
    jrr.JRR(300, 0.55, s=0.45),
    jrr.JRR(301, 0.8, s=0.1),
    jrr.DRR(300, 0.2),
    jrr.DRR(301, 0.3, 0.1),
    jrr.DRR(300, 0.3, 0.1, deck=(40, 260)),
]


@pytest.mark.parametrize("mechanism", LARGE, ids=str)
def test_larger_decks_by_summation(mechanism: jrr.JRR | jrr.DRR) -> None:
    for ones in (0, 1, 77, 150, mechanism.n - 1):
        pair = (list(summed_law(mechanism, ones)), list(summed_law(mechanism, ones + 1)))
        for epsilon in (0.0, 0.05, 0.3, 1.0):
            expected = deltas(pair, epsilon)
            found = shuffled_delta(mechanism, epsilon, ones=ones)
            assert expected - 1e-13 <= found <= expected + 1e-11
            if epsilon == 0.0:  # negative control: a lead of the truth that is 30% off
                lead = 2 * mechanism.p - 1 if isinstance(mechanism, jrr.JRR) else mechanism.truth
                wrong = jrr.RR(p=0.5 + 0.65 * lead)
                assert abs(shuffled_delta(wrong, epsilon, mechanism.n, ones) - expected) > 1e-4


@pytest.mark.parametrize("mechanism", [*LARGE[:4], jrr.RR(epsilon=1.0)], ids=str)
def test_an_independent_accountant_agrees(mechanism: jrr.JRR | jrr.DRR | jrr.RR) -> None:
    n, ones = 300 if isinstance(mechanism, jrr.RR) else mechanism.n, 90
    if isinstance(mechanism, jrr.RR):
        law = jrr.JRR(n, mechanism.p, s=0.0)  # cards without effect
        pair = [summed_law(law, count) for count in (ones, ones + 1)]
    else:
        pair = [summed_law(mechanism, count) for count in (ones, ones + 1)]
    logs = [
        {count: math.log(chance) for count, chance in enumerate(law) if chance > 0} for law in pair
    ]
    common = logs[0].keys() & logs[1].keys()
    assert all(math.exp(log) < 1e-30 for part in logs for c, log in part.items() if c not in common)
    shared = [{count: part[count] for count in sorted(common)} for part in logs]
    for pessimistic in (True, False):
        accountant = privacy_loss_distribution.from_two_probability_mass_functions(
            shared[0],
            shared[1],
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-6,
            symmetric=False,
        )
        for epsilon in (0.02, 0.1, 0.3):
            theirs = accountant.get_delta_for_epsilon(epsilon)
            ours = shuffled_delta(mechanism, epsilon, n, ones)
            if pessimistic:
                assert ours <= theirs + 1e-10
            else:
                assert ours >= theirs - 1e-12
            assert ours == pytest.approx(theirs, abs=3e-6)


def test_a_scan_is_the_worst_of_its_compositions() -> None:
    plain = jrr.RR(epsilon=1.2)
    each = [shuffled_delta(plain, 0.2, 150, ones) for ones in range(150)]
    assert shuffled_delta(plain, 0.2, 150) == pytest.approx(max(each), rel=1e-9)
    for mechanism in (LARGE[1], LARGE[4]):
        each = [shuffled_delta(mechanism, 0.1, ones=ones) for ones in range(mechanism.n)]
        assert shuffled_delta(mechanism, 0.1) == pytest.approx(max(each), abs=1e-11)


def test_the_worst_composition_need_not_be_an_end() -> None:
    mechanism = jrr.RR(epsilon=2.196)
    at = {ones: shuffled_delta(mechanism, 0.1, 10_000, ones) for ones in (9_997, 9_999, 5_000)}
    assert at[9_997] > 1.001 * at[9_999] > 1.5 * at[5_000]
    assert at[9_997] == pytest.approx(0.99990e-6, rel=1e-5)
    assert at[9_999] == pytest.approx(0.99852e-6, rel=1e-5)
    assert shuffled_delta(mechanism, 0.1, 10_000) == pytest.approx(at[9_997], rel=1e-9)


def test_a_bound_for_independent_reports_is_wrong_for_dealt_cards() -> None:
    mechanism = jrr.JRR.best_even(Request(10_000, 0.1, 5, frequency=0.0))
    promised = amplified_epsilon(mechanism.epsilon("cards", 5), 10_000, 1e-6)
    assert promised == pytest.approx(0.0163, abs=1e-4)
    assert shuffled_epsilon(mechanism, 1e-6, ones=0) == pytest.approx(0.0378, abs=1e-4)


# k-ary randomized response ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "k", "p"), [(2, 3, "3/5"), (4, 3, "3/5"), (4, 3, "9/10"), (3, 4, "1/2")]
)
def test_the_bound_of_grr_is_not_below_enumeration(n: int, k: int, p: str) -> None:
    truth = Fraction(p)
    mechanism = jrr.RR(k, p=float(truth))
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        bound = shuffled_delta(mechanism, epsilon, n)
        worst = 0.0
        for others in product(range(k), repeat=n - 1):
            laws = [histograms(truth, k, (x, *others)) for x in range(2)]
            keys = sorted(laws[0].keys() | laws[1].keys())
            first, second = ([float(law.get(key, 0)) for key in keys] for law in laws)
            worst = max(worst, deltas((first, second), epsilon))
        assert worst - 1e-15 <= bound
        alone = shuffled_delta(mechanism, epsilon, 1)  # nobody to hide among
        assert bound < alone or epsilon >= mechanism.epsilon()
        wrong = jrr.RR(k, p=float(truth) * 0.7)  # the same comparison with p off by 30%
        assert shuffled_delta(wrong, epsilon, n) < worst or worst < 1e-3


def histograms(truth: Fraction, k: int, values: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    law = oracle.independent([oracle.truth_or_lie(truth, k, value) for value in values])
    result: dict[tuple[int, ...], Fraction] = {}
    for reports, chance in law.items():
        counts = oracle.counts_of(reports, k)
        result[counts] = result.get(counts, Fraction(0)) + chance
    return result


def test_the_bound_of_grr_is_exact_without_others_to_hide_among() -> None:
    mechanism = jrr.RR(5, epsilon=1.0)
    q = (1 - mechanism.p) / 4
    expected = mechanism.p - math.exp(0.3) * q
    assert shuffled_delta(mechanism, 0.3, 1) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow_variants("3]")
@pytest.mark.parametrize("k", [3, 10, 100])
def test_more_values_and_more_people_hide_more(k: int) -> None:
    at = [shuffled_epsilon(jrr.RR(k, epsilon=1.0), 1e-6, n) for n in (100, 1_000, 10_000)]
    assert at[0] > at[1] > at[2]
    assert at[2] < amplified_epsilon(1.0, 10_000, 1e-6)


# Closed form --------------------------------------------------------------------------------


def test_closed_form() -> None:
    expected = math.log(
        1
        + (math.e - 1)
        / (math.e + 1)
        * (8 * math.sqrt(math.e * math.log(4e6)) / math.sqrt(10_000) + 8 * math.e / 10_000)
    )
    assert amplified_epsilon(1.0, 10_000, 1e-6) == pytest.approx(expected, rel=1e-12)
    assert amplified_epsilon(1.0, 10_000, 1e-6) >= expected
    edge = math.log(10_000 / (16 * math.log(2e6)))
    assert amplified_epsilon(edge * 1.0001, 10_000, 1e-6) == edge * 1.0001
    assert amplified_epsilon(edge * 0.9999, 10_000, 1e-6) < edge
    assert amplified_epsilon(0.1, 10, 1e-6) == 0.1


@pytest.mark.parametrize("n", [300, 3_000])
@pytest.mark.parametrize("local", [0.3, 1.0, 2.0])
def test_the_closed_form_is_not_below_the_exact_law(n: int, local: float) -> None:
    for delta in (1e-3, 1e-6):
        made = jrr.RR(epsilon=local)
        assert shuffled_epsilon(made, delta, n) <= amplified_epsilon(made.epsilon(), n, delta)


# ε for a wanted δ, and the mechanism for both -------------------------------------------------


@pytest.mark.parametrize("mechanism", [*LARGE[:3], jrr.RR(epsilon=1.0)], ids=str)
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_epsilon_is_the_least_that_keeps_delta(mechanism: jrr.Mechanism, delta: float) -> None:
    n = 300 if isinstance(mechanism, RR) else None
    for ones in (None, 40):
        epsilon = shuffled_epsilon(mechanism, delta, n, ones)
        assert shuffled_delta(mechanism, epsilon, n, ones) <= delta
        less = epsilon * (1 - 1e-6)
        assert less == 0 or shuffled_delta(mechanism, less, n, ones) > delta


def test_no_more_than_everything_else_tells() -> None:
    mechanism = jrr.DRR(6, 0.2, 0.4)
    assert shuffled_epsilon(mechanism, 1e-15) <= mechanism.epsilon("truths", 5)
    assert shuffled_delta(mechanism, mechanism.epsilon("truths", 5)) == 0.0
    assert shuffled_epsilon(jrr.RR(epsilon=1.0), 1e-30, 5) == jrr.RR(epsilon=1.0).epsilon()
    # What few colluders learn from one report is no such bound.
    leaning = jrr.JRR.best_even(Request(1_000, 0.1, 5, frequency=0.0))
    assert leaning.epsilon("cards", 5) <= 0.1
    assert shuffled_epsilon(leaning, 1e-6) == pytest.approx(0.711, abs=1e-3)
    # All others say no and one person more than there are minus cards reports yes.
    assert shuffled_epsilon(jrr.JRR(1_000, 0.5025, s=0.4975), 1e-6) == math.inf
    assert shuffled_delta(jrr.JRR(1_000, 0.5025, s=0.4975), 9.0, ones=0) == pytest.approx(
        0.5 * 0.995**500, rel=1e-5
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_largest_local_epsilon(epsilon: float) -> None:
    made = shuffled_rr(1_000, epsilon, 1e-6)
    assert shuffled_delta(made, epsilon, 1_000) <= 1e-6
    assert shuffled_delta(jrr.RR(epsilon=made.epsilon() * 1.0001), epsilon, 1_000) > 1e-6
    closed = shuffled_rr(1_000, epsilon, 1e-6, bound="closed form")
    assert epsilon <= closed.epsilon() * (1 + 1e-12)
    assert closed.epsilon() < made.epsilon()
    assert amplified_epsilon(closed.epsilon(), 1_000, 1e-6) <= epsilon * (1 + 1e-12)


def test_the_largest_local_epsilon_where_the_others_are_known() -> None:
    at = {ones: shuffled_rr(1_000, 0.1, 1e-6, ones=ones) for ones in (0, 999, 500)}
    assert at[0].epsilon() == at[999].epsilon()  # both directions count
    assert at[500].epsilon() > at[0].epsilon() >= shuffled_rr(1_000, 0.1, 1e-6).epsilon()
    for ones, made in at.items():
        assert shuffled_delta(made, 0.1, 1_000, ones) <= 1e-6
        assert shuffled_delta(jrr.RR(epsilon=made.epsilon() * 1.0001), 0.1, 1_000, ones) > 1e-6
    assert shuffled_rr(MOST_SCANNED + 1, 0.1, 1e-6, ones=0).epsilon() > at[0].epsilon()


def test_the_largest_local_epsilon_of_grr() -> None:
    made = shuffled_rr(1_000, 0.5, 1e-6, k=4)
    assert shuffled_delta(made, 0.5, 1_000) <= 1e-6
    assert shuffled_delta(jrr.RR(4, epsilon=made.epsilon() * 1.0001), 0.5, 1_000) > 1e-6


def test_few_people_hide_nobody() -> None:
    assert shuffled_rr(1, 0.5, 1e-6).epsilon() == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda report: shuffled_delta(jrr.RR(epsilon=1.0), 0.1, 700, progress=report),
        lambda report: shuffled_epsilon(LARGE[4], 1e-6, progress=report),
        lambda report: shuffled_epsilon(
            jrr.JRR(41, 0.6, s=0.2), 1e-6, colluders=2, progress=report
        ),
    ],
)
def test_progress_is_told(ask: Callable[[Callable[[int, int], None]], float]) -> None:
    told: list[tuple[int, int]] = []
    ask(lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len({total for _, total in told}) == 1
    assert told[-1][0] == told[-1][1]


# Refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: shuffled_delta(jrr.RR(epsilon=1.0), 0.1), "n must be the number of contributors"),
        (lambda: shuffled_delta(jrr.RR(epsilon=1.0), -0.1, 10), "epsilon must be"),
        (lambda: shuffled_delta(jrr.RR(epsilon=1.0), 0.1, 10, ones=10), "ones must be"),
        (lambda: shuffled_delta(jrr.RR(epsilon=1.0), 0.1, 10, colluders=10), "colluders must be"),
        (lambda: shuffled_delta(jrr.RR(3, epsilon=1.0), 0.1, 10, ones=1), "ones must be None"),
        (lambda: shuffled_delta(jrr.RR(epsilon=1.0), 0.1, MOST_SCANNED + 1), "ones must be given"),
        (lambda: shuffled_rr(MOST_SCANNED + 1, 0.1, 1e-6), "ones must be given"),
        (lambda: shuffled_delta(jrr.RR(epsilon=1.0), 0.1, 10**9, ones=0), "n must be at most"),
        (lambda: shuffled_delta(jrr.OUE(4, epsilon=1.0), 0.1, 10), "mechanism must be RR"),
        (lambda: shuffled_delta(jrr.OLH(4, epsilon=1.0), 0.1, 10), "mechanism must be RR"),
        (lambda: shuffled_delta(jrr.JRR(6, 0.5, s=0.1, k=3), 0.1), "mechanism must be RR"),
        (lambda: shuffled_delta(jrr.DRR(6, 0.5, k=3), 0.1), "mechanism must be RR"),
        (lambda: shuffled_delta(jrr.DRR(6, 0.5), 0.1, n=7), "n must be None or the 6"),
        (lambda: shuffled_epsilon(jrr.DRR(6, 0.5), 0.0), "delta must be"),
        (lambda: shuffled_epsilon(jrr.DRR(6, 0.5), 1.0), "delta must be"),
        (lambda: shuffled_rr(10, 0.1, 1e-6, bound="best"), "bound must be"),
        (lambda: shuffled_rr(10, 0.1, 1e-6, k=3, ones=1), "ones must be None"),
        (lambda: shuffled_rr(10, 0.1, 1e-6, bound="closed form", ones=1), "ones must be None"),
        (lambda: shuffled_rr(10, 0.1, 1e-6, ones=10), "ones must be a whole number in 0..9"),
        (lambda: amplified_epsilon(jrr.DRR(6, 0.5), 10, 1e-6), "epsilon0 must be a number"),  # type: ignore[arg-type]
        (lambda: amplified_epsilon(0.0, 10, 1e-6), "epsilon0 must be"),
    ],
)
def test_refusals(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(jrr.JrrError, match=words):
        ask()
