"""The collector writes down before it draws; a dealer has one try; what cannot be is refused."""

from dataclasses import replace
from typing import Any

import pytest

from jrr import DRR, JRR, MRR, OUE, RR
from jrr._base.randomness import SeededRandom
from jrr.errors import ArgumentError, DamagedError, IntegrityError
from jrr.mechanisms.base import Mechanism
from jrr.survey.campaign import Campaign
from jrr.survey.card_checks import check_dealt, own_mark
from jrr.survey.committed_dealer import commit_decks, open_decks, promise_decks
from jrr.survey.committed_deck import CommittedDeck, committed_seed
from jrr.survey.creation import CampaignRequest
from jrr.survey.cut_and_choose import CommittedDealer, Published, audit_decks
from jrr.survey.cut_and_choose.leaves import chosen_deck
from jrr.survey.dealer_kinds import DealerServer, NoDealer
from jrr.survey.witnessed import Witnessed, commitment_facts
from jrr.survey.witnessing import checked, faults_of, noted, notes_of

DECKS = 5
MASKS = MRR(8, own=3.0, card_rate=0.8, total_rate=0.3)
SIGNS = JRR(8, p=0.7, s=0.2)
DEALT = DRR(8, truth=0.5, own=0.1)


def campaign_of(mechanism: Mechanism, **more: Any) -> Campaign:
    settings: dict[str, Any] = {
        "question": "Do you?",
        "labels": tuple(f"answer {value}" for value in range(mechanism.k)),
        "mechanism": mechanism,
        "dealer": DealerServer("https://dealer.example"),
        "collector": "https://collector.example",
        "capacity": mechanism.moments.deck or 8,
        "committed_decks": DECKS,
        "nonce": "0" * 32,
    }
    return Campaign(**settings | more)


def key_of() -> bytes:
    """A new one each time: keys are overwritten in place."""
    return bytes(bytearray(range(1, 33)))


def opened(campaign: Campaign, rng: Any = None) -> tuple[Published, Witnessed]:
    """Everything up to the opened decks, honestly."""
    published = promise_decks(campaign, key_of())
    notes = noted(Witnessed(), campaign, published, rng)
    assert notes.beacon is not None
    published = commit_decks(published, key_of(), notes.beacon)
    notes = noted(notes, campaign, published, rng)
    assert notes.coin is not None
    return open_decks(published, key_of(), notes.coin), notes


@pytest.mark.parametrize(
    "mechanism",
    [
        MASKS,
        SIGNS,
        DEALT,
        MRR(8, own=3.0, card_rate=0.8, total_rate=0.3, k=3),
        OUE(9, q=0.3, s=0.1, coupling="joint", n=8),
    ],
    ids=["mrr", "jrr", "drr", "mrr of three", "oue"],
)
def test_an_honest_dealer_passes_at_every_stage(mechanism: Mechanism) -> None:
    campaign = campaign_of(mechanism)
    published, notes = opened(campaign)
    assert faults_of(campaign, published, notes) == ()
    notes = checked(notes, published, ())
    assert notes.passed
    deck = CommittedDeck(published, key_of())
    assert notes.root is not None
    for arrival in range(3):
        block, seat = deck.place(arrival)
        shown = deck.cards(block, seat), deck.proofs(seat)
        assert check_dealt(campaign, notes.root, *shown) == arrival
    marks = tuple(bytes([at]) * 32 for at in range(3))
    published = replace(published, marks=marks)
    if mechanism.masked:
        published = deck.with_undealt(published)
    assert faults_of(campaign, published, notes, invited=3) == ()
    assert faults_of(campaign, published, notes, invited=2) == (
        "3 places were dealt, but 2 people invited",
    )
    ended = checked(noted(notes, campaign, published), published, ())
    assert ended.dealt == 3
    assert (ended.undealt is not None) == mechanism.masked
    assert commitment_facts(campaign, ended, 2) == {
        "decks": DECKS,
        "chance": 1 / DECKS,
        "passed": True,
        "ended": True,
        "faults": [],
        "dealt": 3,
        "without_report": 1,
    }
    assert Witnessed.from_document(ended.to_document()) == ended


def test_the_decks_of_a_key_are_those_of_the_library() -> None:
    campaign = campaign_of(MASKS)
    published, notes = opened(campaign)
    dealer = CommittedDealer(MASKS, DECKS, campaign.hash)
    dealer._seeds = [committed_seed(key_of(), number) for number in range(DECKS)]
    dealer.published = promise_decks(campaign, key_of())
    assert published.beacon is not None
    assert published.coin is not None
    dealer.commit(published.beacon)
    dealer.open(published.coin)
    assert dealer.published == published
    deck = CommittedDeck(published, key_of())
    proof = dealer.deal(bytes(32)).to_dict()
    assert deck.cards(0, 0) == [proof.pop("card")]
    assert deck.proofs(0) == [proof]
    assert audit_decks(published, notes_of(notes)).passed


def test_the_same_again_draws_nothing_new() -> None:
    campaign = campaign_of(SIGNS)
    promised = promise_decks(campaign, key_of())
    first = noted(Witnessed(), campaign, promised)
    assert noted(first, campaign, promised) == first
    assert first.beacon is not None
    committed = commit_decks(promised, key_of(), first.beacon)
    second = noted(first, campaign, committed)
    assert noted(second, campaign, committed) == second
    assert second.coin not in (None, first.beacon)
    assert second.beacon == first.beacon


def test_beacon_and_coin_come_from_the_given_randomness_and_pick_every_deck() -> None:
    campaign = campaign_of(SIGNS)
    rng = SeededRandom(1)
    promised = promise_decks(campaign, key_of())
    picked = set()
    for _ in range(60):
        notes = noted(Witnessed(), campaign, promised, rng)
        committed = replace(promised, beacon=notes.beacon, roots=(bytes(32),) * DECKS)
        coin = noted(notes, campaign, committed, rng).coin
        assert coin is not None
        picked.add(chosen_deck(coin, promised.promise, DECKS))
    assert picked == set(range(DECKS))


def test_a_dealer_has_one_try() -> None:
    campaign = campaign_of(SIGNS)
    published, notes = opened(campaign)
    other = promise_decks(campaign, b"another key of thirty-two bytes!")
    with pytest.raises(IntegrityError, match="one try"):
        noted(notes, campaign, other)
    assert published.roots is not None
    swapped = replace(published, roots=published.roots[::-1], coin=None, opened=None)
    with pytest.raises(IntegrityError, match="not those that were written down before the coin"):
        noted(notes, campaign, swapped)
    with pytest.raises(IntegrityError, match="now there are none"):
        noted(notes, campaign, promise_decks(campaign, key_of()))
    with pytest.raises(IntegrityError, match="coin is not the one"):
        noted(notes, campaign, replace(published, coin=bytes(32)))
    with pytest.raises(IntegrityError, match="beacon is not the one"):
        noted(Witnessed(), campaign, published)
    marked = replace(published, marks=(bytes(32),))
    ended = checked(noted(notes, campaign, marked), marked, ())
    with pytest.raises(IntegrityError, match="other marks"):
        noted(ended, campaign, replace(published, marks=(bytes([1]) * 32,)))


@pytest.mark.parametrize(
    "change",
    [
        {"campaign": "0" * 64},
        {"deck": 1},
        {"mechanism": DRR(8, truth=0.6, own=0.1)},
        {"beacon_source": "a lottery"},
        {"coin_source": "the same lottery"},
        {"lot_source": "another"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_decks_of_another_campaign_are_not_written_down(change: dict[str, Any]) -> None:
    campaign = campaign_of(DEALT)
    promised = replace(promise_decks(campaign, key_of()), **change)
    with pytest.raises(IntegrityError, match=next(iter(change))):
        noted(Witnessed(), campaign, promised)


def test_fewer_decks_than_the_campaign_says_are_not_written_down() -> None:
    campaign = campaign_of(DEALT)
    promised = promise_decks(campaign, key_of())
    with pytest.raises(IntegrityError, match=f"commit to {DECKS} decks"):
        noted(Witnessed(), campaign, replace(promised, seeds=promised.seeds[:2]))


def test_notes_of_nothing_show_nothing() -> None:
    campaign = campaign_of(DEALT)
    published, _ = opened(campaign)
    (fault,) = faults_of(campaign, published, Witnessed())
    assert "has not written down" in fault


def test_a_card_that_was_not_committed_to_is_refused() -> None:
    campaign = campaign_of(DEALT)
    published, notes = opened(campaign)
    deck = CommittedDeck(published, key_of())
    cards, proofs = deck.cards(0, 2), deck.proofs(2)
    assert notes.root is not None
    bad: list[tuple[Any, Any]] = [
        ([1 - cards[0]], proofs),
        (cards, [proofs[0] | {"place": 3}]),
        (cards, [proofs[0] | {"salt": "00"}]),
        (cards, [proofs[0] | {"path": proofs[0]["path"][1:]}]),
        (cards, [proofs[0] | {"path": 7}]),
        (cards, [7]),
        (cards, None),
        (cards, []),
        (cards * 2, proofs * 2),
        ([None], proofs),
        ([[1]], proofs),
        ([True], proofs),
    ]
    for shown in bad:
        with pytest.raises(IntegrityError, match="nothing was sent"):
            check_dealt(campaign, notes.root, *shown)


def test_marks_follow_from_the_device_and_differ_by_campaign() -> None:
    one, other = campaign_of(DEALT), campaign_of(DEALT, nonce="1" * 32)
    secret, device = b"s" * 32, b"d" * 32
    marks = {
        own_mark(one, secret, device),
        own_mark(other, secret, device),
        own_mark(one, secret, None),
        own_mark(one, secret, b"e" * 32),
    }
    assert len(marks) == 4
    assert own_mark(one, b"t" * 32, device) == own_mark(one, secret, device)


def test_the_document_says_how_many_decks_and_only_where_there_are_some() -> None:
    campaign = campaign_of(MASKS)
    assert b'"committed_decks":5' in campaign.to_bytes()
    assert Campaign.from_bytes(campaign.to_bytes()) == campaign
    assert b"committed_decks" not in campaign_of(MASKS, committed_decks=0).to_bytes()
    written = campaign_of(MASKS, committed_decks=0).to_bytes()
    zero = written.replace(b'"colluders":0', b'"colluders":0,"committed_decks":0')
    with pytest.raises(DamagedError, match="canonical"):
        Campaign.from_bytes(zero)


@pytest.mark.parametrize(
    ("mechanism", "more", "reason"),
    [
        (MASKS, {"committed_decks": 1}, "in 2..100"),
        (MASKS, {"committed_decks": 101}, "in 2..100"),
        (MASKS, {"committed_decks": True}, "committed_decks"),
        (MASKS, {"capacity": 9}, "capacity must be at most 8"),
        (MASKS, {"rounds": 2}, "one round"),
        (DEALT, {"dealing": "enrol"}, "on arrival"),
        (RR(2, 1.0), {"dealer": NoDealer()}, "one dealer's server"),
        (MRR(8, own=3.0, card_rate=0.8, announced_rate=0.5), {}, "announced sum"),
        (DRR(100_000, truth=0.5, own=0.1), {"committed_decks": 50}, "2,000,000 cards"),
    ],
    ids=["one", "many", "true", "capacity", "rounds", "enrol", "none", "announced", "large"],
)
def test_what_cannot_be_committed_to_is_refused(
    mechanism: Mechanism, more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ArgumentError, match=reason):
        campaign_of(mechanism, **more)


def test_a_request_makes_closed_decks_and_the_consent_speaks_of_the_proof() -> None:
    request = CampaignRequest(
        question="Have you taken bribes?",
        n=1_000,
        epsilon=1.0,
        collector="https://collector.example",
        dealer="https://dealer.example",
        committed_decks=20,
    )
    campaign = request.campaign()
    assert campaign.mechanism.name == "MRR"
    assert not campaign.mechanism.announced
    assert "certain of your card" in campaign.consent
    own = replace(request, consent="We ask you.").campaign()
    assert "certain of your card" in own.consent
    german = replace(request, language="de").campaign()
    assert "kennt Ihre Karte sicher" in german.consent
    with pytest.raises(ArgumentError, match="unless one dealer is named"):
        replace(request, dealer=None, dealers=("https://a.example", "https://b.example"))
