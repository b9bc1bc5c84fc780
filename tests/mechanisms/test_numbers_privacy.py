"""What numbers lose, enumerated from the weights of whole decks; nothing of the library is used."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr._base.randomness import source
from jrr.mechanisms.masked_optimum import LEAST_CARD_RATE
from jrr.mechanisms.request import Request
from jrr.mechanisms.whole_noise import discrete_laplace
from jrr.research.audit import audit

Array = NDArray[np.float64]
REACH = 96  # of cards and noise that are enumerated
SETTINGS = [  # steps, own rate, card rate, closing rate
    (1, 2.0, 0.5, 0.4),
    (2, 1.5, 0.5, 0.6),
    (2, 0.7, 0.5, 0.6),
    (3, 1.2, 0.9, 0.5),
    (3, 0.8, 0.7, 0.9),
]


def noise(rate: float) -> Array:
    law = np.exp(-rate * np.abs(np.arange(-REACH, REACH + 1)))
    return np.asarray(law / law.sum())


def blurred(law: Array, rate: float, axis: int) -> Array:
    """The law of a report: card plus own noise, along one axis."""
    own = noise(rate)
    return np.apply_along_axis(lambda line: np.convolve(line, own, "same"), axis, law)


def worst_loss(law: Array, steps: int) -> float:
    """The largest |ln| of what is seen under two numbers of the target, which is axis 0.

    Reports far out, whose sums are cut off here, are left out.
    """
    worst = 0.0
    inner = slice(REACH // 2, -(REACH // 2))
    for a, b in itertools.combinations(range(steps + 1), 2):
        seen = [np.roll(law, x, axis=0)[inner] for x in (a, b)]
        seen = [part[(slice(None),) + (inner,) * (law.ndim - 1)] for part in seen]
        possible = (seen[0] > 1e-30) & (seen[1] > 1e-30)
        worst = max(worst, float(np.abs(np.log(seen[0][possible] / seen[1][possible])).max()))
    return worst


def cards() -> tuple[Array, Array]:
    z = np.arange(-REACH, REACH + 1, dtype=np.float64)
    first, second = np.meshgrid(z, z, indexing="ij")
    return first, second


@pytest.mark.parametrize(("steps", "rate", "card", "closing"), SETTINGS)
def test_loss_of_a_closed_deck_is_the_formula_and_attained(
    steps: int, rate: float, card: float, closing: float
) -> None:
    """Two people, all reports; the other one's number known, and perhaps the card."""
    m = jrr.MaskedLaplace(2, rate=rate, card_rate=card, total_rate=closing, steps=steps)
    stated = m.epsilon("everything", colluders=1)
    assert stated == pytest.approx(steps * min(rate, card + closing), rel=1e-15)
    first, second = cards()
    deck = np.exp(-card * (np.abs(first) + np.abs(second)) - closing * np.abs(first + second))
    with_card_known = blurred(deck, rate, 0)  # axis 1: the other's card
    with_card_hidden = blurred(with_card_known, rate, 1)  # axis 1: the other's report
    known, hidden = (worst_loss(law, steps) for law in (with_card_known, with_card_hidden))
    assert known <= stated * (1 + 1e-8)
    assert hidden <= known * (1 + 1e-8)
    assert known > stated - 0.06  # reached in the tails, beyond what is enumerated here
    # Whoever knows the target's card sees own noise alone.
    assert m.epsilon("dealer") == pytest.approx(steps * rate)
    assert worst_loss(noise(rate), steps) == pytest.approx(steps * rate)


@pytest.mark.parametrize(("steps", "rate", "card", "closing"), SETTINGS)
@pytest.mark.parametrize("others_named", [False, True])
def test_loss_with_an_announced_sum_is_the_formula(
    steps: int, rate: float, card: float, closing: float, others_named: bool
) -> None:
    """The target's report, the other's card, and the announced sum; the collector names whom."""
    m = jrr.MaskedLaplace(2, rate=rate, card_rate=card, announced_rate=closing, steps=steps)
    stated = m.epsilon("everything", colluders=1)
    assert stated == pytest.approx(steps * min(rate, card + closing), rel=1e-15)
    worst = 0.0
    z = np.arange(-REACH, REACH + 1, dtype=np.float64)
    for other in (-3, 0, 7):
        for told in range(-24, 25, 3):
            rest = told - (other if others_named else 0)
            law = np.exp(-card * np.abs(z) - closing * np.abs(rest - z))
            worst = max(worst, worst_loss(blurred(law, rate, 0), steps))
    assert worst <= stated * (1 + 1e-8)
    assert worst > stated - 0.06


def test_what_is_enumerated_would_notice_a_larger_loss() -> None:
    """Negative control: cards that are cut, beside own noise that is added to cut sums."""
    steps, rate, card, closing = 2, 1.5, 0.5, 0.6
    first, second = cards()
    deck = np.exp(-card * (np.abs(first) + np.abs(second)) - closing * np.abs(first + second))
    deck[np.abs(first) > 3] = 0.0  # cards that are redrawn until they are small
    law = blurred(deck, rate, 0)
    assert worst_loss(law, steps) > 1.3 * steps * min(rate, card + closing)


@pytest.mark.parametrize("steps", [1, 2, 16, 64])
def test_a_cut_card_makes_no_odds(steps: int) -> None:
    """Number and card are clamped closer than cards are cut, before own noise is added."""
    m = jrr.MaskedLaplace(5, own=60.0, card_rate=2.0, total_rate=1.0, steps=steps)
    low, high = m._inner
    most = m.card_format.most
    for z in range(-3 * most, 3 * most + 1):
        for x in {0, 1, steps}:
            cut = min(max(z, -most), most)
            assert min(max(x + cut, low), high) == min(max(x + z, low), high)


def test_losses_are_rounded_up_and_never_above_what_was_asked() -> None:
    for epsilon, steps in itertools.product((0.1, 0.3, 1.0, 1 / 3, 2.2, 7.0), (1, 3, 7, 16)):
        m = jrr.Laplace(epsilon, steps=steps)
        assert epsilon * (1 - 1e-12) < m.epsilon() <= epsilon
        if epsilon >= 2 * LEAST_CARD_RATE * steps:
            for announced in (False, True):
                masked = jrr.MaskedLaplace.best(
                    Request.with_defaults(100, epsilon, announced=announced), steps=steps
                )
                assert masked.epsilon("everything", 99) <= epsilon
                assert masked.epsilon("everything", 99) > epsilon * (1 - 1e-12)
                assert masked.epsilon("dealer") <= epsilon + 2
                assert masked.epsilon("report") <= masked.epsilon("cards")


@pytest.mark.parametrize(
    "m",
    [jrr.RR(epsilon=1.3), jrr.JRR(4, p=0.7, s=0.2), jrr.DRR(4, truth=0.5, own=0.3)],
    ids=lambda m: m.name,
)
@pytest.mark.parametrize("view", ["report", "dealer"])
def test_a_rounded_number_loses_no_more_than_the_bit(m: jrr.Mechanism, view: str) -> None:
    """Reports of a number are a mixture of those of the ends: any two, against the ends."""
    laws = m.card_laws()
    channels = [np.asarray(one.reports) for one in laws]
    if view == "report":
        channels = [np.einsum("c,cij", [one.share for one in laws], channels)]
    stated, worst = m.epsilon(view), 0.0
    for no, yes in channels:
        for t, s in itertools.product(np.linspace(0, 1, 6), repeat=2):
            ratio = (t * yes + (1 - t) * no) / (s * yes + (1 - s) * no)
            worst = max(worst, float(np.abs(np.log(ratio)).max()))
    assert worst == pytest.approx(stated, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("bug", ["none", "no card", "card used without own noise"])
def test_an_audit_of_what_runs_finds_planted_bugs(bug: str) -> None:
    """The report and a sum in which all other cards are known; the two ends of a number."""
    rates: Any = {"rate": 1.0, "card_rate": 0.3, "announced_rate": 0.3, "steps": 2}
    claimed = jrr.MaskedLaplace(2, **rates).epsilon("everything", colluders=1)
    assert claimed == pytest.approx(1.2)

    def observed(value: int, trials: int, rng: Any) -> NDArray[np.int64]:
        m = jrr.MaskedLaplace(trials, **rates)
        cards = np.asarray(m.deal(rng))
        announced = cards + discrete_laplace(m.announced_rate, trials, source(rng))
        if bug == "no card":
            cards = np.zeros_like(cards)
        reports = np.asarray(jrr.Numbers(0, 1, m).respond([float(value)] * trials, cards, rng))
        if bug == "card used without own noise":  # whoever knows the card knows the number
            reports = value * m.steps + cards
            announced = cards
        return np.column_stack((reports, announced)).astype(np.int64)

    found = audit(observed, claimed, trials=100_000, seed=3, workers=1)
    assert found.violates == (bug != "none"), found
    if bug == "none":
        assert audit(observed, 0.6 * claimed, trials=100_000, seed=3, workers=1).violates
