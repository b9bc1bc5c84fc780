"""Cut and choose with places by lot: a dealer that knows the deck cannot leave cards out."""

import hashlib
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import jrr
from jrr._base.randomness import SeededRandom
from jrr.errors import ArgumentError
from jrr.survey.cut_and_choose import CommittedDealer, Notes, Published, audit_decks, check_card
from jrr.survey.cut_and_choose.lots import enrolment_hash, places_by_lot

MASKS = jrr.MRR(40, own=2.0, card_rate=0.4, total_rate=0.6)
BEACON, COIN, LOT = (hashlib.sha256(name).digest() for name in (b"beacon", b"coin", b"lot"))


def mark_of(number: int) -> bytes:
    return hashlib.sha256(b"mark %d" % number).digest()


def run(people: int = 30, lot: bytes = LOT) -> tuple[CommittedDealer, Notes]:
    """An honest dealer up to the drawing of places, and what a witness notes on the way."""
    dealer = CommittedDealer(MASKS, 5, lot_source="round 3", rng=SeededRandom(5))
    promise = dealer.published.promise
    dealer.commit(BEACON)
    commitment = dealer.published.commitment
    dealer.open(COIN)
    for number in range(people):
        dealer.enrol(mark_of(number))
    dealer.end_enrolment()
    assert dealer.published.enrolled is not None
    enrolment = enrolment_hash(promise, dealer.published.enrolled)
    dealer.draw(lot)
    return dealer, Notes((promise,), BEACON, commitment, COIN, enrolment, lot)


def test_an_honest_dealer_passes() -> None:
    dealer, notes = run()
    proofs = {number: dealer.deal(mark_of(number)) for number in range(25)}  # five never ask
    assert dealer.deal(mark_of(3)) == proofs[3]
    dealer.close()
    published = Published.from_dict(json.loads(json.dumps(dealer.published.to_dict())))
    assert published == dealer.published
    assert Notes.from_dict(json.loads(json.dumps(notes.to_dict()))) == notes
    finding = audit_decks(published, notes)
    assert finding.passed
    assert finding.by_lot
    assert "drawn by a lot that came after everybody had enrolled" in finding.sentence
    assert sorted(proof.place for proof in proofs.values()) != list(range(25))
    for number, proof in proofs.items():
        assert check_card(published, proof, mark_of(number)) == []
        assert check_card(published, proof, mark_of(number + 1)) != []
    assert published.undealt is not None
    assert len(published.undealt["cards"]) == 10  # beyond all who enrolled


def test_every_order_is_about_equally_likely() -> None:
    marks = [mark_of(number) for number in range(3)]
    counts = dict.fromkeys(itertools.permutations(marks), 0)
    for number in range(1_200):
        lot = hashlib.sha256(b"%d" % number).digest()
        counts[places_by_lot(bytes(32), marks, lot)] += 1
    assert max(abs(count - 200) for count in counts.values()) < 5 * np.sqrt(200 * 5 / 6)
    assert places_by_lot(bytes(32), marks[::-1], LOT) == places_by_lot(bytes(32), marks, LOT)


def test_leaving_out_disliked_cards_is_found() -> None:
    """As by arrival, where it would pass: places of large cards go to people who are made up."""
    dealer, notes = run(people=40)
    cards = np.array([leaf.card for leaf in dealer._leaves])
    disliked = np.argsort(-cards)[:10]  # these the dealer would rather not have in the sum
    made_up = [mark_of(number) for number in range(30, 40)]
    real = iter(mark_of(number) for number in range(30))
    order = [made_up.pop() if place in disliked else next(real) for place in range(40)]
    dealer._marks = order
    proofs = {mark: dealer.deal(mark) for mark in order[:5]}
    dealer.close()
    finding = audit_decks(dealer.published, notes)
    assert "places are not those that the lot draws" in finding.faults
    assert any(check_card(dealer.published, proof, mark) for mark, proof in proofs.items())


def test_people_who_are_made_up_have_cards_like_anybody_s() -> None:
    """Over all lots their mean card is that of the deck: no choice is left to the dealer."""
    dealer, _ = run(people=40)
    cards = np.array([leaf.card for leaf in dealer._leaves])
    marks = [mark_of(number) for number in range(40)]
    sums = []
    for number in range(400):
        lot = hashlib.sha256(b"%d" % number).digest()
        order = places_by_lot(dealer.published.promise, marks, lot)
        sums.append(sum(cards[order.index(mark)] for mark in marks[:10]))
    spread = cards.std() * np.sqrt(10 * 30 / 39)
    assert abs(np.mean(sums) - 10 * cards.mean()) < 4 * spread / 20
    top = np.sort(cards)[-10:].sum()
    assert abs(top - 10 * cards.mean()) > 4 * spread / 20  # by arrival it could be these


@pytest.mark.parametrize(
    ("changes", "noted", "fault"),
    [
        ({"enrolled": None}, {}, "no places were drawn"),
        ({"lot": None}, {}, "no places were drawn"),
        ({"enrolled": tuple(map(mark_of, range(31)))}, {}, "not those that were noted"),
        ({}, {"enrolment": None}, "not those that were noted"),
        ({}, {"lot": COIN}, "not the one of its source"),
        ({"lot": COIN}, {"lot": COIN}, "people could be enrolled to suit it"),
    ],
)
def test_what_an_audit_finds(
    changes: dict[str, object], noted: dict[str, object], fault: str
) -> None:
    dealer, notes = run()
    published = replace(dealer.published, **changes)  # type: ignore[arg-type]
    finding = audit_decks(published, replace(notes, **noted))  # type: ignore[arg-type]
    assert any(fault in found for found in finding.faults)


def test_a_dealer_keeps_the_order_of_stages() -> None:
    dealer, _ = run(people=5)
    with pytest.raises(ArgumentError, match="enrol people before its enrolment ends"):
        dealer.enrol(mark_of(9))
    with pytest.raises(ArgumentError, match="draw once"):
        dealer.draw(LOT)
    with pytest.raises(ArgumentError, match="one that has enrolled"):
        dealer.deal(mark_of(9))
    early = CommittedDealer(MASKS, 5, lot_source="round 3")
    early.commit(BEACON)
    early.open(COIN)
    with pytest.raises(ArgumentError, match="deal after places were drawn"):
        early.deal(mark_of(0))
    with pytest.raises(ArgumentError, match="close once, after dealing"):
        early.close()
    by_arrival = CommittedDealer(MASKS, 5)
    with pytest.raises(ArgumentError, match="where places are drawn"):
        by_arrival.enrol(mark_of(0))
