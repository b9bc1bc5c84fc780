"""Two phases: exact errors, honest error bars, and the rule when they pay."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import jrr
from jrr.cli.app import run
from jrr.errors import ArgumentError
from jrr.mechanisms.request import Request
from jrr.mechanisms.simulation import simulate
from tests import oracle
from tests.statistics_rules import OFF, P_VALUE, accepts_only, mean_test, spread_test

PEOPLE, EPSILON, COLLUDERS = 1_000_000, 0.1, 10_000
SHARES = (0.0, 0.02, 0.1, 0.2, 0.3, 0.5)


def free(**options: object) -> jrr.TwoPhasePlan:
    """The setting of the paper: no cap on the dealer, no card lost."""
    asked = {"dealer_epsilon": math.inf, "lost": 0.0, "mechanism": "jrr"} | options
    return jrr.plan_two_phases(PEOPLE, EPSILON, COLLUDERS, **asked)  # type: ignore[arg-type]


# The errors ------------------------------------------------------------------------------------


def test_shares_of_the_error_of_one_phase() -> None:
    """Variances over those of RR, which is what one phase takes while the share is unknown."""
    phases = free()
    assert phases.one_phase.mechanism.name == "RR"
    found = [phases.over_one_phase(f) ** 2 for f in SHARES]
    assert found == pytest.approx([0.023, 0.150, 0.629, 1.018, 1.025, 1.000], abs=5e-4)
    assert phases.pays == ((0.0, 0.18), (0.82, 1.0))


def test_the_same_for_pairs_by_adding_up_every_count_of_the_first_phase() -> None:
    """Independent of the planner: every count, the corner of Theorem 10a or RR, whichever is less.

    A simulation of this found .17, .25, .74, 1.06, 1.03, .92.
    """
    first_n = PEOPLE // 50
    second_n = PEOPLE - first_n
    rr = jrr.RR(epsilon=EPSILON)
    corner = jrr.JRR.best_even(Request(second_n, EPSILON, COLLUDERS, frequency=0.0))

    def over_rr(f: np.ndarray | float) -> np.ndarray:
        ones = np.atleast_1d(np.asarray(f, float)) * second_n
        a, b, c = (float(part[0]) for part in corner.moments.quadratic(second_n, 1))
        return (a + ones * (b + ones * c)) / float(rr.variance((second_n, 0))[1])

    counts = np.arange(first_n + 1)
    q, gain = 1 - rr.p, 2 * rr.p - 1
    suggested = np.clip((counts / first_n - q) / gain, 0, 1)
    takes_pairs = over_rr(suggested) < 1
    found = []
    for f in SHARES:
        chance = binom.pmf(counts, first_n, q + gain * f)
        second = np.where(takes_pairs, over_rr(f)[0], 1.0)
        found.append(0.02 + 0.98 * float(chance @ second))
    assert found == pytest.approx([0.141, 0.254, 0.681, 1.017, 1.019, 1.000], abs=5e-4)


@pytest.mark.parametrize(
    ("n", "epsilon", "colluders", "ranges"),
    [
        (10_000, 0.1, 5, ()),
        (10_000, 1.0, 5, ()),
        (1_000_000, 0.1, 5, ()),
        (100_000, 0.1, 1_000, ((0.0, 0.12), (0.88, 1.0))),
        (10_000, 1.0, 1_000, ((0.0, 0.06), (0.94, 1.0))),
    ],
)
def test_when_they_pay(
    n: int, epsilon: float, colluders: int, ranges: tuple[tuple[float, float], ...]
) -> None:
    """Rare answers, where many colluders make RR the best choice for an unknown share."""
    assert jrr.plan_two_phases(n, epsilon, colluders).pays == ranges


def test_they_do_not_pay_where_the_error_does_not_depend_on_the_share() -> None:
    for mechanism in ("drr", "mrr", "auto"):
        phases = jrr.plan_two_phases(10_000, 0.1, 5, mechanism=mechanism, announced=True)
        assert phases.pays == ()
        assert min(phases.over_one_phase(f) for f in SHARES) > 1


@pytest.fixture(scope="module")
def rare() -> jrr.TwoPhasePlan:
    """A survey of 100,000 that two phases help up to a share of 12%."""
    return jrr.plan_two_phases(100_000, 0.1, 1_000)


@pytest.mark.slow_variants("0.1]")
@pytest.mark.statistical
@pytest.mark.parametrize("frequency", [0.0, 0.1])
def test_whole_surveys_have_the_stated_error_and_no_bias(
    rare: jrr.TwoPhasePlan, frequency: float
) -> None:
    ones = round(frequency * 100_000)
    rng = np.random.default_rng(12)
    found = [_survey(rare, ones, rng).counts[1] for _ in range(1_500)]
    # Here no card is lost; the plan expects 1%, by which both phases are smaller alike.
    sd = replace(rare, request=replace(rare.request, lost=0.0)).stderr(frequency) * 100_000
    accepts_only(lambda off: mean_test(found, ones + off, sd), 0.0, OFF * sd)
    accepts_only(lambda wrong: spread_test(found, wrong), sd, sd * (1 + OFF))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("frequency", [0.1])
def test_intervals_hold_as_often_as_they_say(rare: jrr.TwoPhasePlan, frequency: float) -> None:
    """Also near the share at which the choice changes; intervals 30% shorter would not."""
    ones, runs = round(frequency * 100_000), 250
    rng = np.random.default_rng(3)
    held = short = 0
    for _ in range(runs):
        low, high = (float(end[1]) for end in _survey(rare, ones, rng).interval(0.95))
        held += low <= frequency <= high
        short += abs(frequency - (low + high) / 2) <= (1 - OFF) * (high - low) / 2
    accepted = binom.ppf(P_VALUE, runs, 0.95)
    assert short < accepted <= held


def _survey(phases: jrr.TwoPhasePlan, ones: int, rng: np.random.Generator) -> jrr.Estimate:
    """A random split, the first phase, the second by what the first one says, both pooled."""
    n, first = phases.request.n, phases.first
    early = int(rng.hypergeometric(ones, n - ones, first.request.n))
    rough = _estimate(first.mechanism, first.request.n, early, rng)
    second = phases.second(float(rough.frequencies[1]))
    fine = _estimate(second.mechanism, second.request.n, ones - early, rng)
    return jrr.pooled(rough, fine)


def _estimate(m: jrr.Mechanism, n: int, ones: int, rng: np.random.Generator) -> jrr.Estimate:
    """As `estimate` makes it of n reports, whose counts are drawn at once."""
    counts = simulate(m, (n - ones, ones), 1, rng)[0]
    p, q = float(m.moments.p[0]), float(m.moments.q[0])
    reported = round(float(counts[1] * (p - q) + n * q))
    shown = (n - reported, reported)
    none = (0, 0)
    carded = m.deals
    tally = jrr.Tally(
        m.to_dict(),
        carded=shown if carded else none,
        cardless=none if carded else shown,
        n_carded=n if carded else 0,
        n_cardless=0 if carded else n,
    )
    return m.estimate(tally)


# Theorem 12a, by enumeration --------------------------------------------------------------------


@pytest.mark.parametrize("values", [(0, 0, 0, 0, 0, 0), (1, 0, 1, 0, 0, 1), (1, 1, 1, 1, 1, 1)])
def test_unbiased_with_variances_that_add_up(values: tuple[int, ...]) -> None:
    """Two people by RR, then four by RR or by JRR as the first two say: every report counted."""
    p, s = Fraction(3, 5), Fraction(2, 5)
    second = values[2:]
    plain = [oracle.truth_or_lie(p, 2, x) for x in values]
    pairs = oracle.reports_of_deals(
        oracle.one_deck(oracle.sign_deck(4)), oracle.joint_channel(p, s, 2), second
    )
    alone = oracle.independent(plain[2:])

    def estimate(reports: tuple[int, ...]) -> Fraction:
        return (sum(reports) - len(reports) * (1 - p)) / (2 * p - 1)

    def spread(law: oracle.Law) -> Fraction:
        mean = sum(w * estimate(y) for y, w in law.items())
        return sum((w * (estimate(y) - mean) ** 2 for y, w in law.items()), Fraction(0))

    mean = square = expected = Fraction(0)
    for seen, chance in oracle.independent(plain[:2]).items():
        law = pairs if sum(seen) != 1 else alone  # tuned where both say the same
        expected += chance * spread(law)
        for later, likely in law.items():
            total = estimate(seen) + estimate(later)
            mean += chance * likely * total
            square += chance * likely * total**2
    assert mean == sum(values)
    assert square - mean**2 == spread(oracle.independent(plain[:2])) + expected
    assert spread(pairs) != spread(alone)


def test_guarantees_of_either_phase() -> None:
    for epsilon, share in itertools.product((0.1, 1.0), (0.0, 0.3)):
        phases = jrr.plan_two_phases(1_000, epsilon, 100)
        for plan in (phases.first, phases.second(share)):
            assert plan.mechanism.epsilon("cards", 100 if plan.mechanism.deals else 0) <= epsilon
            assert plan.mechanism.epsilon("dealer") <= epsilon + 2


def test_all_colluders_may_be_in_a_small_phase() -> None:
    phases = jrr.plan_two_phases(100, 1.0, 99, first_share=0.9)
    assert (phases.first.request.n, phases.second(0).request.n) == (90, 10)
    assert phases.second(0.0).request.colluders == 9


# Planning, and by hand --------------------------------------------------------------------------


@pytest.mark.parametrize("estimated", [-0.3, 0.0, 0.034, 0.5, 0.93, 1.7])
def test_the_second_phase_is_what_plan_says_by_hand(estimated: float) -> None:
    phases = free()
    percent = round(100 * min(1.0, max(0.0, estimated))) / 100
    by_hand = jrr.plan(
        980_000, EPSILON, COLLUDERS, 2, math.inf, mechanism="jrr", frequency=percent, lost=0.0
    )
    assert phases.second(estimated).mechanism == by_hand.mechanism


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"first_share": 0.0}, "first_share must be in (0, 1), got first_share=0.0"),
        ({"first_share": 1.0}, "first_share must be in (0, 1)"),
        ({"k": 3}, "k must be 2 in two phases, got k=3"),
        ({"frequency": 0.1}, "frequency must be None in two phases"),
        ({"mechanism": "none"}, "mechanism must be one of"),
    ],
)
def test_refusals(options: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        free(**options)
    assert words in str(refused.value)


def test_pooling_refuses_what_cannot_be_added() -> None:
    two, three = jrr.RR(p=0.75).estimate([0, 1, 1]), jrr.RR(k=3, p=0.75).estimate([0, 1, 2])
    for given, words in (
        ((two,), "at least two"),
        ((two, three), r"equally many values, got \[2, 3\]"),
        ((two, "all"), "must be Estimates of shares"),
    ):
        with pytest.raises(ArgumentError, match=words):
            jrr.pooled(*given)


def test_pooled_errors_are_those_of_the_parts() -> None:
    rr = jrr.RR(p=0.75)
    first, second = rr.estimate([0] * 60 + [1] * 40), rr.estimate([0] * 300 + [1] * 100)
    both = jrr.pooled(first, second)
    assert both.counts == pytest.approx(first.counts + second.counts)
    assert both.count_stderr**2 == pytest.approx(first.count_stderr**2 + second.count_stderr**2)
    together = rr.estimate([0] * 360 + [1] * 140)
    assert np.array(both.interval()) == pytest.approx(np.array(together.interval()), abs=1e-3)


def weighted(reports: list[int], weight: float) -> jrr.Estimate:
    rr = jrr.RR(epsilon=1.0)
    return rr.estimate(rr.tally(reports, weights=np.full(len(reports), weight)))


def test_weights_are_not_pooled_with_people_who_count_once() -> None:
    """1,000 people beside 1,000 with weights of 50 gave the share of the second alone, 91.6%."""
    some, more = [0] * 700 + [1] * 300, [0] * 300 + [1] * 700
    plain = jrr.RR(epsilon=1.0).estimate(some)
    for given in ((plain, weighted(more, 50.0)), (weighted(more, 1.0), plain)):
        with pytest.raises(ArgumentError, match="1,000 people with weights and 1,000 without"):
            jrr.pooled(*given)
    both = jrr.pooled(weighted(some, 50.0), weighted(more, 50.0))
    assert both.frequencies == pytest.approx([0.5, 0.5])
    unweighted = jrr.pooled(plain, jrr.RR(epsilon=1.0).estimate(more))
    assert both.stderr == pytest.approx(unweighted.stderr)


@pytest.mark.parametrize("size", [None, 5_000, 1_001])
def test_samples_of_one_population_pool_to_a_larger_sample(size: float | None) -> None:
    """With the errors of one sample of all of them, not those of respondents."""
    rr = jrr.RR(p=0.75)
    first, second = (
        rr.estimate([0] * ones + [1] * ones).for_population("sample", size) for ones in (100, 400)
    )
    both = jrr.pooled(first, second)
    assert (both.population, both.population_size) == ("sample", size)
    together = rr.estimate([0] * 500 + [1] * 500).for_population("sample", size)
    assert both.stderr == pytest.approx(together.stderr)
    # By hand: RR's own variance at p = 3/4, and that of drawing without replacement.
    left = 1.0 if size is None else (1 - 1_000 / size) * size / (size - 1)
    assert both.stderr**2 == pytest.approx(np.full(2, (0.75 + 0.25 * left) / 1_000))
    respondents = jrr.pooled(*(one.for_population("respondents") for one in (first, second)))
    assert respondents.population == "respondents"
    assert (respondents.stderr < both.stderr).all()


def test_pooling_refuses_different_populations() -> None:
    one = jrr.RR(p=0.75).estimate([0] * 60 + [1] * 40)
    sample, small = one.for_population("sample"), one.for_population("sample", 150)
    for given in ((one, sample), (sample, small), (small, one.for_population("sample", 151))):
        with pytest.raises(ArgumentError, match="must all be of the same population"):
            jrr.pooled(*given)
    with pytest.raises(ArgumentError, match="population_size must be at least the 200"):
        jrr.pooled(small, small)  # nobody is in two, so there are 200 people


# From the command line to one estimate ----------------------------------------------------------


Command = Callable[..., str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command and returns what it prints."""

    def printed(*words: object) -> str:
        code = run([str(word) for word in words])
        said = capsys.readouterr()
        assert code == 0, said.err
        return said.out

    return printed


def test_a_survey_in_two_phases_from_files(tmp_path: Path, command: Command) -> None:
    people, ones = 8_000, 160
    asked = ("-n", people, "-e", 1, "-M", 400, "--mechanism", "jrr", "--first", 0.05)
    document = json.loads(command("plan", "two-phase", *asked, "--json"))
    assert (document["first"]["n"], document["second"]["n"]) == (400, 7_600)
    rows = ["yes"] * ones + ["no"] * (people - ones)
    np.random.default_rng(5).shuffle(rows)
    data = {"first": rows[:400], "second": rows[400:]}
    for name, answers in data.items():
        (tmp_path / f"{name}.csv").write_text("smokes\n" + "\n".join(answers) + "\n")
    perturb = ("--column", "smokes", "--labels", "no,yes", "--epsilon", 1)
    first, second = tmp_path / "first-reports.csv", tmp_path / "second-reports.csv"
    command("file", "perturb", tmp_path / "first.csv", *perturb, "-o", first)
    rough = json.loads(command("file", "estimate", first, "--json"))["estimate"]["frequencies"][1]
    share = round(min(1.0, max(0.0, rough)), 2)
    options = document["second"]["options"].replace("SHARE", str(share)).split()
    cards = tmp_path / "cards.csv"
    command("file", "deal", *options, "-o", cards)
    command("file", "perturb", tmp_path / "second.csv", *perturb, "--cards", cards, "-o", second)
    found = json.loads(command("file", "pool", first, second, "--json"))
    assert found["labels"] == ["no", "yes"]
    both = found["estimate"]
    assert both["n"] == people
    assert abs(both["frequencies"][1] - 0.02) < 6 * both["stderr"][1]
    parts = [part["estimate"]["counts"][1] for part in found["surveys"].values()]
    assert sum(parts) == pytest.approx(both["counts"][1])
    shown = command("file", "pool", first, second)
    assert "All: 8,000 reports" in shown


def test_the_screen_says_whether_they_pay(command: Command) -> None:
    asked = ("-n", 100_000, "-e", 0.1, "-M", 1_000, "--mechanism", "jrr")
    rare = command("plan", "two-phase", *asked)
    assert "Two phases pay if the true share is 0% to 12% or 88% to 100%" in rare
    assert "First phase, people drawn at random: -n 2000 -e 0.1 --mechanism rr" in rare
    default = command("plan", "two-phase", "-n", 10_000, "-e", 1)
    assert "Two phases do not pay: MRR in one phase" in default
