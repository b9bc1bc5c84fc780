"""Which view an audit tries, and against which claim."""

import pytest

import jrr
from jrr.cli.audit import privacy as command
from jrr.errors import ArgumentError
from jrr.research.audit import (
    CardedReportView,
    CardsView,
    DealerView,
    EverythingView,
    ReportView,
    RoundsView,
    audit,
)
from jrr.research.audit.views import VIEWS, check_deck, claim_of, deals_decks, subject_of

CAPPED = jrr.DRR(20, truth=0.3, own=0.1)


def test_every_view_has_its_subject_and_claim() -> None:
    assert command.VIEWS == VIEWS
    kinds = [type(subject_of(CAPPED, view, colluders=3)) for view in VIEWS]
    assert kinds == [ReportView, CardsView, EverythingView, DealerView, RoundsView]
    assert isinstance(subject_of(CAPPED, "report", with_cards=True), CardedReportView)
    claims = [claim_of(CAPPED, view, 3, 1e-3) for view in VIEWS]
    report, dealer = CAPPED.epsilon("report"), CAPPED.epsilon("dealer")
    everything = CAPPED.epsilon("everything", 3, 1e-3)
    assert claims == [report, CAPPED.epsilon("cards", 3), everything, dealer, report]


def test_decks_are_dealt_in_every_view_but_of_a_bare_report() -> None:
    assert [deals_decks(view, with_cards=False) for view in VIEWS] == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert deals_decks("report", with_cards=True)
    assert check_deck(1000) == 1000
    with pytest.raises(ArgumentError, match="n must be at most 1000"):
        check_deck(1001)


def test_what_has_no_bound_cannot_be_refuted() -> None:
    with pytest.raises(ArgumentError, match="view dealer must have a bound to refute"):
        claim_of(jrr.DRR(20, truth=0.3), "dealer")
    for call in (claim_of, subject_of):
        with pytest.raises(ArgumentError, match="view must be one of"):
            call(CAPPED, "everywhere")


@pytest.mark.parametrize("view", ["cards", "everything", "dealer", "rounds"])
def test_plain_rr_is_explained(view: str) -> None:
    with pytest.raises(ArgumentError, match="deals none: there the view report is all there is"):
        subject_of(jrr.RR(2, 1.0), view)


@pytest.mark.slow_variants("OUE", "DRR(n=9", "JRR")
@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.JRR(8, p=0.6, s=0.3),
        jrr.DRR(8, truth=0.3, own=0.1),
        jrr.DRR(9, truth=0.3, own=0.2, k=3),
        jrr.OUE(3, q=0.3, s=0.2, coupling="joint", n=8),
    ],
    ids=str,
)
def test_the_claim_in_the_view_everything_stands_and_less_does_not(
    mechanism: jrr.Mechanism,
) -> None:
    """The true claim is kept; the view cards, as the claim, is refuted where it is too small."""
    delta = 1e-3
    subject = subject_of(mechanism, "everything", colluders=1)
    claim = claim_of(mechanism, "everything", 1, delta)
    found = audit(subject, claim, 60_000, 7, delta=delta, workers=1)
    assert not found.violates
    assert found.lower_bound > 0.0
    assert "at δ = 0.001" in found.sentence
    assert found.to_dict()["delta"] == delta


@pytest.mark.slow
def test_a_claim_that_is_too_small_is_refuted_in_the_view_everything() -> None:
    mechanism = jrr.JRR(6, p=0.6, s=0.38)
    subject, delta = subject_of(mechanism, "everything", colluders=1), 1e-3
    claim = claim_of(mechanism, "everything", 1, delta)
    assert audit(subject, 0.7 * claim, 60_000, 7, delta=delta, workers=1).violates
    assert audit(subject, claim_of(mechanism, "cards", 1), 60_000, 7, delta=delta).violates
