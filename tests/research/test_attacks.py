"""Attacks: formulas against enumeration, and against surveys that are really run."""

import math
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jrr import DRR, JRR, MRR, OLH, OUE, RR, JrrError, Mechanism, SeededRandom
from jrr.research.attacks import (
    Setting,
    all_attacks,
    block_epsilon,
    card_reuse,
    dealt_in_blocks,
    draw_attacks,
    exposed_share,
    liar_bias,
    refusal_estimate,
    shift_bias,
    swap_bias,
    sybil_epsilon,
)
from tests.statistics_rules import OFF, SAMPLES, accepts_only, chi_square, mean_test, skewed

SETTING = Setting()
M = SETTING.mechanisms
F = SETTING.frequency


# -- the law given a card ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [RR(3, 1.0), JRR(9, 0.6, s=0.3), JRR(8, 0.4, s=0.2, k=4), DRR(9, 0.3, 0.2, k=4)]
)
def test_averaged_over_cards_the_law_is_that_of_the_report(mechanism: Mechanism) -> None:
    laws = mechanism.card_laws()
    assert sum(law.share for law in laws) == pytest.approx(1)
    average = np.asarray(sum(law.share * law.reports for law in laws))
    np.testing.assert_allclose(average.sum(axis=1), 1)
    moments = mechanism.moments
    np.testing.assert_allclose(np.diag(average), np.broadcast_to(moments.p, mechanism.k))


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [JRR(9, 0.6, s=0.3), DRR(10, 0.3, 0.2, k=3)])
def test_reports_with_a_card_follow_their_law(mechanism: Mechanism) -> None:
    rng = SeededRandom(11)
    for law in mechanism.card_laws():
        cards = np.full(SAMPLES // 10, law.card)
        for value in range(mechanism.k):
            reports = mechanism.respond(np.full(len(cards), value), cards, rng)
            seen = np.bincount(reports, minlength=mechanism.k)
            chances = law.reports[value].tolist()
            accepts_only(partial(chi_square, seen), chances, skewed(chances))


def test_encodings_have_no_card_law_here() -> None:
    with pytest.raises(JrrError, match="mechanism must be RR, JRR or DRR"):
        OUE(4, 1.0).card_laws()
    with pytest.raises(JrrError, match="card must be one of"):
        swap_bias(M["DRR"], F, 1, 7)


# -- card reuse -------------------------------------------------------------------------------


def test_card_reuse_in_closed_form() -> None:
    joint = M["JRR"]
    assert isinstance(joint, JRR)
    p, q, s = joint.p, joint.q, joint.s
    reuse = card_reuse(joint)
    assert reuse.one_card[1] == pytest.approx(math.log((p * p + s * s) / (p * q - s * s)))
    assert reuse.one_card[2] == pytest.approx(math.log((p * p + s * s) / (q * q + s * s)))
    assert reuse.fresh_cards[1] == pytest.approx(joint.epsilon("report"))
    assert reuse.fresh_cards[2] == pytest.approx(2 * joint.epsilon("report"))
    assert math.isinf(card_reuse(M["DRR"]).one_card[1])
    assert card_reuse(M["RR"]).one_card == card_reuse(M["RR"]).fresh_cards


def test_card_reuse_by_plain_enumeration() -> None:
    mechanism = DRR(9, 0.3, 0.2, k=3)
    laws = mechanism.card_laws()
    sequences = list(product(range(3), repeat=2))

    def chance(values: tuple[int, ...], reports: tuple[int, ...]) -> float:
        total = sum(
            law.share * law.reports[values[0], reports[0]] * law.reports[values[1], reports[1]]
            for law in laws
        )
        return float(total)

    worst = {1: 0.0, 2: 0.0}
    for a, b, seen in product(sequences, sequences, sequences):
        changes = (a[0] != b[0]) + (a[1] != b[1])
        if changes:
            worst[changes] = max(worst[changes], math.log(chance(a, seen) / chance(b, seen)))
    assert card_reuse(mechanism).one_card == pytest.approx(worst)


@pytest.mark.statistical
def test_two_rounds_with_one_card_are_as_enumerated() -> None:
    mechanism = M["JRR capped"]
    assert isinstance(mechanism, JRR)
    p, q, s = mechanism.p, mechanism.q, mechanism.s
    rng = SeededRandom(12)
    cards = np.concatenate([mechanism.deal(rng) for _ in range(SAMPLES // mechanism.n)])
    truths = np.zeros(len(cards), np.uint8)
    first, second = (mechanism.respond(truths, cards, rng) for _ in range(2))
    seen = np.bincount(2 * first + second, minlength=4)
    chances = [p * p + s * s, p * q - s * s, p * q - s * s, q * q + s * s]
    accepts_only(lambda c: chi_square(seen, c), chances, skewed(chances))


def test_rounds_that_cannot_be_enumerated_are_refused() -> None:
    with pytest.raises(JrrError, match="rounds must be"):
        card_reuse(M["JRR"], 20)


# -- collusion, Sybils, small decks -----------------------------------------------------------


def test_whom_dealer_and_collector_are_certain_of() -> None:
    drr = M["DRR"]
    assert isinstance(drr, DRR)
    assert exposed_share(M["JRR"]) == pytest.approx(0.5)
    assert exposed_share(drr) == pytest.approx(drr.truth / 2)
    assert exposed_share(M["DRR capped"]) == exposed_share(M["JRR capped"]) == 0
    assert exposed_share(M["RR"]) == 0


def test_exposed_people_are_counted_in_a_survey() -> None:
    drr = M["DRR"]
    rng = SeededRandom(13)
    cards = drr.deal(rng)
    assert cards is not None
    reports = drr.respond(np.ones(drr.moments.deck or 0, np.uint8), cards, rng)
    exposed = int(np.count_nonzero(reports != cards))
    assert not (reports[reports != cards] == 0).any()  # the card was 0, the report true
    assert exposed == pytest.approx(SETTING.n * exposed_share(drr), abs=5 * 16)


def test_sybils_count_as_colluders() -> None:
    assert sybil_epsilon(M["DRR"], 0.1) == M["DRR"].epsilon("cards", 1_000)
    assert math.isinf(sybil_epsilon(M["DRR"], 0.5))
    assert sybil_epsilon(M["DRR capped"], 1.0) == M["DRR capped"].epsilon("dealer")
    assert sybil_epsilon(M["RR"], 0.9) == M["RR"].epsilon("report")


def test_blocks_are_the_same_mechanism_with_another_deck() -> None:
    block = dealt_in_blocks(M["DRR capped"], 20)
    assert block.epsilon("report") == pytest.approx(M["DRR capped"].epsilon("report"))
    assert block_epsilon(M["DRR capped"], SETTING.n, 5) == M["DRR capped"].epsilon("cards", 5)
    sizes = [20, 50, 100, 1_000, 10_000]
    for name in ("JRR", "DRR capped"):
        losses = [block_epsilon(M[name], size, 5) for size in sizes]
        assert losses == sorted(losses, reverse=True)
    with pytest.raises(JrrError, match="JRR or DRR"):
        dealt_in_blocks(RR(2, 1.0), 20)


# -- bias -------------------------------------------------------------------------------------


def _survey(mechanism: Mechanism, rng: SeededRandom) -> tuple[NDArray[Any], NDArray[Any]]:
    """Truths and cards of a whole deck; the deck is shuffled, so truths need not be."""
    n = mechanism.moments.deck or 0
    truths = (np.arange(n) < round(F * n)).astype(np.uint8)
    cards = mechanism.deal(rng)
    assert cards is not None
    return truths, cards


def _sd(mechanism: Mechanism) -> float:
    n = mechanism.moments.deck or SETTING.n
    return math.sqrt(float(mechanism.variance([n - round(F * n), round(F * n)])[1]))


def test_refusal_in_closed_form() -> None:
    drr = M["DRR"]
    assert isinstance(drr, DRR)
    moved = drr.dealt / drr.truth * 0.25 * 0.01 / (1 - 0.005)
    assert refusal_estimate(drr, F, 0.01) == pytest.approx(F - moved)
    assert refusal_estimate(drr, F, 0.01) == pytest.approx(0.0522, abs=1e-4)
    joint = M["JRR"]
    assert isinstance(joint, JRR)
    lean = -0.01 / 1.99
    moved = joint.s * lean * (2 * F - 1) / (2 * joint.p - 1)
    assert refusal_estimate(joint, F, 0.01) == pytest.approx(F + moved)
    assert refusal_estimate(joint, F, 0.0) == pytest.approx(F)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["DRR", "JRR"])
def test_refusal_as_surveys_show_it(name: str) -> None:
    mechanism, rng = M[name], SeededRandom(14)
    estimates = []
    for _ in range(400):
        truths, cards = _survey(mechanism, rng)
        holders = np.flatnonzero(cards == 1)
        stay = np.ones(len(cards), bool)
        stay[rng_choice(holders, len(holders) // 20, rng)] = False  # 5% of them
        reports = mechanism.respond(truths[stay], cards[stay], rng)
        estimates.append(float(mechanism.estimate(reports).frequencies[1]))
    expected = refusal_estimate(mechanism, F, 0.05)
    sd = _sd(mechanism) / SETTING.n
    wrong = F + (1 - OFF) * (expected - F)
    accepts_only(lambda mean: mean_test(estimates, mean, sd), expected, wrong)


def rng_choice(among: NDArray[Any], number: int, rng: SeededRandom) -> NDArray[Any]:
    return among[np.argsort(rng.words(len(among)))[:number]]


def test_each_liar_in_numbers() -> None:
    assert liar_bias(RR(2, 0.1), F) == pytest.approx(10.41, abs=0.01)
    assert liar_bias(M["DRR"], F) == pytest.approx(10.41, abs=0.01)
    assert liar_bias(M["JRR"], F) == pytest.approx(10.50, abs=0.01)
    p = RR(2, 0.1).p
    assert liar_bias(RR(2, 0.1), F) == pytest.approx(p / (2 * p - 1) - F)


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [RR(2, 1.0), OUE(4, 1.0), OLH(4, 1.0)], ids=lambda m: m.name)
def test_liars_as_surveys_show_them(mechanism: Mechanism) -> None:
    n, liars, rng = 2_000, 200, SeededRandom(15)
    truths = (np.arange(n) < F * n).astype(np.uint8)
    estimates = []
    for _ in range(100):
        reports = np.array(mechanism.respond(truths, None, rng))  # to be written into
        chosen = rng_choice(np.arange(n), liars, rng)
        reports[chosen] = supporting(mechanism, rng)
        estimates.append(float(mechanism.estimate(reports).counts[1]))
    expected = F * n + liars * liar_bias(mechanism, F)
    # Liars add no noise and displace some who do: theirs is at most an honest survey's.
    counts = [n - round(F * n), round(F * n), 0, 0][: mechanism.k]
    sd = math.sqrt(float(mechanism.variance(counts)[1]))
    wrong = F * n + (1 - OFF) * liars * liar_bias(mechanism, F)
    accepts_only(lambda mean: mean_test(estimates, mean, sd), expected, wrong)


def supporting(mechanism: Mechanism, rng: SeededRandom) -> Any:
    """A report that supports answer 1 for certain; a liar with OLH tries until it does."""
    if mechanism.name == "OUE":
        return np.array([2], np.uint8)
    if mechanism.name == "RR":
        return 1
    while True:
        report = mechanism.respond(np.array([1]), None, rng)
        if mechanism.tally(report).cardless[1]:
            return report[0]


def test_swapped_cards_in_closed_form() -> None:
    drr, joint = M["DRR"], M["JRR"]
    assert isinstance(drr, DRR)
    assert isinstance(joint, JRR)
    assert swap_bias(drr, F, 1, 0) == pytest.approx(drr.dealt / drr.truth)
    assert swap_bias(drr, 0.7, 1, 0) == pytest.approx(19.03, abs=0.01)
    for f in (0.0, 0.1, 0.5, 1.0):
        full = 2 * joint.s / (2 * joint.p - 1)
        assert swap_bias(joint, f, 1, -1) == pytest.approx(full * (2 * f - 1))
        assert full == pytest.approx(19.2, abs=0.05)


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "given", "instead"), [("DRR", 1, 0), ("JRR", 1, -1)])
def test_swapped_cards_as_surveys_show_them(name: str, given: int, instead: int) -> None:
    mechanism, rng, swapped = M[name], SeededRandom(16), 200
    estimates = []
    for _ in range(400):
        truths, cards = _survey(mechanism, rng)
        cards[rng_choice(np.flatnonzero(cards == instead), swapped, rng)] = given
        estimates.append(float(mechanism.estimate(mechanism.respond(truths, cards, rng)).counts[1]))
    bias = swapped * swap_bias(mechanism, F, given, instead)
    right, wrong = F * SETTING.n + bias, F * SETTING.n + (1 - OFF) * bias
    accepts_only(lambda mean: mean_test(estimates, mean, _sd(mechanism)), right, wrong)


# -- masks: a liar's number and a dealer's shift ------------------------------------------------

MASKED = [MRR.for_epsilon(1.0, n=200, announced=announced) for announced in (False, True)]


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", MASKED, ids=["closed", "announced"])
@pytest.mark.parametrize("attack", ["liar", "dealer"])
def test_attacks_on_masks_as_surveys_show_them(mechanism: MRR, attack: str) -> None:
    n, rng, estimates = mechanism.n, SeededRandom(17), []
    truths = (np.arange(n) < F * n).astype(np.uint8)
    shift = 10 * n  # in all: cards at most some larger
    for _ in range(100):
        cards = np.asarray(mechanism.deal(rng))
        announced: Any = mechanism.announce(cards, rng=rng) if mechanism.announced else None
        reports = np.asarray(mechanism.respond(truths, cards, rng)).astype(np.int64)
        if attack == "liar":
            reports[rng.word() % n] = mechanism.most_support
        elif announced is not None:
            announced = int(np.sum(announced)) - shift  # the same lie in the end
        else:
            reports += 10  # as cards that are 10 larger make them: clamping is far away
        total = int(reports.sum()) - int(np.sum(announced or 0))
        estimates.append((total - n * float(mechanism.moments.q[0])) / _gain(mechanism))
    bias = liar_bias(mechanism, F) if attack == "liar" else shift_bias(mechanism, shift)
    sd = _sd(mechanism)
    wrong = F * n + (1 - OFF) * bias
    accepts_only(lambda mean: mean_test(estimates, mean, sd), F * n + bias, wrong)


def _gain(mechanism: Mechanism) -> float:
    return float(mechanism.moments.gain[0])


def test_masks_are_planned_so_that_a_liar_moves_little() -> None:
    """Small cards cost little accuracy where sums are announced, and bound what a liar can say."""
    for n, epsilon, most in ((10_000, 1.0, 50), (1_000, 1.0, 100), (10_000, 0.1, 2_400)):
        small = MRR.for_epsilon(epsilon, n=n, announced=True)
        assert liar_bias(small, F) < most
        share = 0.03  # of the rates for cards, by accuracy alone
        rate = small.card_rate + small.announced_rate
        large = MRR(n, small.own, card_rate=share * rate, announced_rate=(1 - share) * rate)
        counts = [n - n // 10, n // 10]
        assert float(small.variance(counts)[1]) < 1.021 * float(large.variance(counts)[1])
        assert liar_bias(small, F) < 0.7 * liar_bias(large, F)
        # An honest deck hardly ever meets the clamp.
        assert 2 * n * math.exp(-small.card_rate * (small.limit + 1)) < 2e-6


def test_only_masks_can_be_shifted() -> None:
    assert shift_bias(M["MRR closed"]) == pytest.approx(1.279, abs=1e-3)
    with pytest.raises(JrrError, match="numbers to add"):
        shift_bias(M["DRR"])


# -- the catalogue ----------------------------------------------------------------------------


def test_all_attacks_have_numbers_and_sentences() -> None:
    found = {attack.name: attack for attack in all_attacks()}
    assert len(found) == 8
    for attack in found.values():
        assert attack.who
        assert attack.numbers
        assert attack.sentence.endswith(".")
        assert not any(math.isnan(number) for number in attack.numbers.values())
    assert "0.052" in found["card-dependent refusal"].sentence
    assert "10.4 (RR)" in found["poisoning"].sentence
    assert "19.0 counts under DRR" in found["a dealer that swaps cards"].sentence
    assert found["coercion with a provable card"].numbers["DRR capped, card proven"] <= 2.1


@pytest.mark.slow
def test_every_attack_has_a_picture(tmp_path: Path) -> None:
    paths = draw_attacks(tmp_path)
    assert len(paths) == 9
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
