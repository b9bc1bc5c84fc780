"""Which view an audit tries, and against which claim."""

import pytest

import jrr
from jrr.cli import audit as command
from jrr.errors import ArgumentError
from jrr.research.audit import CardedReportView, CardsView, DealerView, ReportView, RoundsView
from jrr.research.audit.choice import VIEWS, check_deck, claim_of, deals_decks, subject_of

CAPPED = jrr.DRR(20, truth=0.3, own=0.1)


def test_every_view_has_its_subject_and_claim() -> None:
    assert command.VIEWS == VIEWS
    kinds = [type(subject_of(CAPPED, view, colluders=3)) for view in VIEWS]
    assert kinds == [ReportView, CardsView, DealerView, RoundsView]
    assert isinstance(subject_of(CAPPED, "report", with_cards=True), CardedReportView)
    claims = [claim_of(CAPPED, view, 3) for view in VIEWS]
    report, dealer = CAPPED.epsilon("report"), CAPPED.epsilon("dealer")
    assert claims == [report, CAPPED.epsilon("cards", 3), dealer, report]


def test_decks_are_dealt_in_every_view_but_of_a_bare_report() -> None:
    assert [deals_decks(view, with_cards=False) for view in VIEWS] == [False, True, True, True]
    assert deals_decks("report", with_cards=True)
    assert check_deck(1000) == 1000
    with pytest.raises(ArgumentError, match="n must be at most 1000"):
        check_deck(1001)


def test_what_has_no_bound_cannot_be_refuted() -> None:
    with pytest.raises(ArgumentError, match="view dealer must have a bound to refute"):
        claim_of(jrr.DRR(20, truth=0.3), "dealer")
    for call in (claim_of, subject_of):
        with pytest.raises(ArgumentError, match="view must be one of"):
            call(CAPPED, "everything")
