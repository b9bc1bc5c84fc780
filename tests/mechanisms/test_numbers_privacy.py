"""What numbers lose as they run; what windows lose is enumerated in tests/privacy."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr._base.randomness import source
from jrr.mechanisms.coins.window import windows_tried
from jrr.mechanisms.masked_deck import discrete_laplace
from jrr.mechanisms.request import Request
from jrr.research.audit import audit


@pytest.mark.parametrize("coin", [jrr.Window(1, 1), jrr.Window(5, 2), jrr.Window(64, 30)], ids=str)
def test_a_cut_card_makes_no_odds(coin: jrr.Window) -> None:
    """Reports are clamped closer than cards are cut."""
    m = jrr.MRR(5, own=60.0, card_rate=2.0, total_rate=1.0, coin=coin)
    low, high = m._range
    most = m.card_format.most
    for z in range(-3 * most, 3 * most + 1):
        for u in {0, 1, coin.largest}:
            cut = min(max(z, -most), most)
            assert min(max(u + cut, low), high) == min(max(u + z, low), high)


def test_losses_are_rounded_up_and_never_above_what_was_asked() -> None:
    for epsilon in (0.1, 0.3, 1.0, 1 / 3, 2.2, 7.0):
        for coin in windows_tried(epsilon):
            m = jrr.Piecewise(epsilon, steps=coin.steps, width=coin.width)
            assert epsilon * (1 - 1e-12) < m.epsilon() <= epsilon
        for announced in (False, True):
            request = Request.with_defaults(100, epsilon, announced=announced)
            for masked in jrr.MRR.windows(request, 1 / 6):
                assert masked.epsilon("everything", 99) <= epsilon
                assert masked.epsilon("everything", 99) > epsilon * (1 - 1e-9)
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
@pytest.mark.parametrize("bug", ["none", "no card", "card used without own coin"])
def test_an_audit_of_what_runs_finds_planted_bugs(bug: str) -> None:
    """The report and a sum in which all other cards are known; the two ends of a number."""
    rates: Any = {"own": 3.0, "card_rate": 0.3, "announced_rate": 0.3, "coin": jrr.Window(2, 1)}
    claimed = jrr.MRR(2, **rates).epsilon("everything", colluders=1)

    def observed(value: int, trials: int, rng: Any) -> NDArray[np.int64]:
        m = jrr.MRR(trials, **rates)
        cards = np.asarray(m.deal(rng))
        announced = cards + discrete_laplace(m.announced_rate, trials, source(rng))
        if bug == "no card":
            cards = np.zeros_like(cards)
        reports = np.asarray(jrr.Numbers(0, 1, m).respond([float(value)] * trials, cards, rng))
        if bug == "card used without own coin":  # whoever knows the card knows the number
            reports = value * m.steps + cards
            announced = cards
        return np.column_stack((reports, announced)).astype(np.int64)

    found = audit(observed, claimed, trials=100_000, seed=3, workers=1)
    assert found.violates == (bug != "none"), found
    if bug == "none":
        assert audit(observed, 0.6 * claimed, trials=100_000, seed=3, workers=1).violates
