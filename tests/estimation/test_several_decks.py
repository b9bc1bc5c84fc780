"""People of several decks, some of whom never answer: error bars take that into account."""

import numpy as np
import pytest

import jrr
from tests import bare_plans
from tests.statistics_rules import P_VALUE, mean_test

pytestmark = pytest.mark.heavy


def merged_surveys(mechanism: jrr.DRR, decks: int, surveys: int, named: bool) -> list[jrr.Estimate]:
    """Each of `decks` decks is dealt in full, and only a share of its holders answers."""
    rng = np.random.default_rng(decks)
    answering = mechanism.n // decks
    found = []
    for _ in range(surveys):
        tallies = []
        for deck in range(decks):
            values = (rng.random(answering) < 0.1).astype(np.uint8)
            cards = mechanism.deal(rng)[:answering]
            reports = mechanism.respond(values, cards, rng)
            tallies.append(mechanism.tally(reports, deck=str(deck) if named else ""))
        found.append(mechanism.estimate(sum(tallies[1:], tallies[0])))
    return found


@pytest.mark.slow_variants("4]")
@pytest.mark.statistical
@pytest.mark.parametrize("decks", [2, 4])
def test_named_decks_give_error_bars_that_hold(decks: int) -> None:
    mechanism = bare_plans.plan(1000, 0.1, 5, mechanism="drr").mechanism
    assert isinstance(mechanism, jrr.DRR)
    named = merged_surveys(mechanism, decks, 600, named=True)
    spread = float(np.std([estimate.frequencies[1] for estimate in named]))
    assert float(named[0].stderr[1]) == pytest.approx(spread, rel=0.15)
    covered = [holds(estimate) for estimate in named]
    assert mean_test(np.array(covered, float), 0.95, np.sqrt(0.95 * 0.05)) > P_VALUE
    # The negative control: one name for all decks claims a cancellation that did not happen.
    unnamed = merged_surveys(mechanism, decks, 600, named=False)
    assert np.mean([holds(estimate) for estimate in unnamed]) < 0.7


def holds(estimate: jrr.Estimate) -> bool:
    low, high = estimate.interval()
    return bool(low[1] <= 0.1 <= high[1])


def test_decks_are_counted_by_name() -> None:
    mechanism = jrr.DRR(100, 0.3)
    a, b = mechanism.tally([0, 1] * 20, True, "a"), mechanism.tally([1, 1] * 20, True, "b")
    assert (a + b).decks == ("a", "b")
    assert (a + a).decks == ("a",)
    assert jrr.Tally.from_json((a + b).to_json()) == a + b
    wide, narrow = mechanism.estimate(a + b), mechanism.estimate(a + b, decks=1)
    assert wide.counts == pytest.approx(narrow.counts)
    assert (wide.stderr > narrow.stderr).all()
    with pytest.raises(jrr.JrrError, match="decks must be a list of names"):
        jrr.Tally(
            mechanism.to_dict(),
            carded=(1, 1),
            cardless=(0, 0),
            n_carded=2,
            n_cardless=0,
            decks="ab",  # type: ignore[arg-type]
        )


def test_people_without_a_card_come_from_no_deck() -> None:
    mechanism = jrr.DRR(100, 0.3)
    carded = mechanism.tally([0, 1] * 40, True, "a")
    late = mechanism.tally([1, 0, 1], carded=False)
    assert late.decks == ()
    assert (carded + late).decks == ("a",)
    assert jrr.Tally.from_json(late.to_json()) == late
    together, alone = mechanism.estimate(carded + late), mechanism.estimate(carded)
    added = mechanism.estimate(late).count_stderr ** 2
    assert together.count_stderr**2 == pytest.approx(alone.count_stderr**2 + added)
