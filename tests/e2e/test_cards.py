"""The cards that come over HTTP: each seat once, each deck whole, whoever asks and how often."""

import json
from collections import Counter

import pytest

from jrr import DRR, JRR
from jrr.survey.identity import DEALER, pseudonym
from jrr.survey.messages import card_request
from tests.e2e import (
    Pair,
    ask,
    ask_many,
    card_body,
    cards_of,
    enrol_all,
    is_problem,
    path_of,
    shuffled,
)

pytestmark = pytest.mark.slow_variants("postgresql")


def seats(pair: Pair, name: str) -> list[tuple[int, int]]:
    query = f"SELECT block, seat FROM seats WHERE campaign = '{name}'"
    return [(block, seat) for block, seat in pair.rows("dealer", query)]


def test_one_pseudonym_that_asks_64_times_at_once_has_one_seat(pair: Pair) -> None:
    campaign = pair.campaign(DRR(100, truth=0.5, own=0.1, k=100))
    operator, people = pair.begin(campaign, 2)
    body = card_body(campaign, people[0])
    replies = ask_many(pair.dealer.url, path_of(campaign, "cards"), [body] * 64)
    assert {reply.status for reply in replies} == {200}
    assert len({reply.body for reply in replies}) == 1
    assert operator.show()["dealer"]["seats"] == 1
    assert len(seats(pair, campaign.hash)) == 1


def test_64_pseudonyms_at_once_share_out_one_deck(pair: Pair) -> None:
    campaign = pair.campaign(DRR(64, truth=0.5, own=0.1, k=64))  # every card once
    _, people = pair.begin(campaign, 64)
    cards = cards_of(pair.dealer.url, campaign, people)
    assert sorted(cards) == list(range(64))
    assert sorted(seats(pair, campaign.hash)) == [(0, seat) for seat in range(64)]


def test_everybody_asks_three_times_in_any_order_over_several_blocks(pair: Pair) -> None:
    mechanism = JRR(21, p=0.7, s=0.2)
    campaign = pair.campaign(mechanism, capacity=63)
    _, people = pair.begin(campaign, 63)
    bodies = shuffled([card_body(campaign, secret) for secret in people] * 3, 1)
    replies = ask_many(pair.dealer.url, path_of(campaign, "cards"), bodies)
    assert {reply.status for reply in replies} == {200}
    held: dict[bytes, set[bytes]] = {body: set() for body in bodies}
    for body, reply in zip(bodies, replies, strict=True):
        held[body].add(reply.body)
    assert {len(cards) for cards in held.values()} == {1}
    faces = Counter(reply.json["card"] for reply in replies)
    assert faces == {1: 3 * 30, -1: 3 * 30, 0: 3 * 3}
    expected = [(block, seat) for block in range(3) for seat in range(21)]
    assert sorted(seats(pair, campaign.hash)) == expected


def test_two_campaigns_with_the_same_people_and_deck_have_different_cards(pair: Pair) -> None:
    orders = []
    mechanism = DRR(64, truth=0.5, own=0.1, k=64)
    for _ in range(2):
        campaign = pair.campaign(mechanism)
        _, people = pair.begin(campaign, 64)
        orders.append(cards_of(pair.dealer.url, campaign, people))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("dealing", ["arrival", "enrol"])
def test_only_the_device_that_came_first_gets_the_cards(pair: Pair, dealing: str) -> None:
    """Whoever made the invitations has the name too, and must not have the card."""
    campaign = pair.campaign(
        DRR(21, truth=0.5, own=0.1), dealing=dealing, capacity=40 if dealing == "enrol" else 21
    )
    operator, people = pair.begin(campaign, 21)
    name = pseudonym(people[0], campaign.hash, DEALER)
    mine = card_request(name, device=b"1" * 32)
    others = [card_request(name), card_request(name, device=b"2" * 32)]
    if dealing == "enrol":
        for status, body in ((201, mine), (200, mine)):
            assert ask(pair.dealer.url, "POST", path_of(campaign, "seats"), body).status == status
        for body in others:
            reply = ask(pair.dealer.url, "POST", path_of(campaign, "seats"), body)
            assert is_problem(reply, 409) == "other-device"
        enrol_all(campaign, people[1:])
        operator.deal()
    where = path_of(campaign, "cards")
    first = ask(pair.dealer.url, "POST", where, mine)
    assert first.status == 200
    for body in others:
        reply = ask(pair.dealer.url, "POST", where, body)
        assert is_problem(reply, 409) == "other-device"
        assert b"cards" not in reply.body
    assert ask(pair.dealer.url, "POST", where, mine).body == first.body
    assert operator.show()["dealer"]["seats"] == (21 if dealing == "enrol" else 1)
    bad = [
        json.dumps({"pseudonym": name.hex(), "device": value}) for value in ("", "0" * 63, 1, None)
    ]
    for text in bad:
        assert is_problem(ask(pair.dealer.url, "POST", where, text.encode()), 422) == "refused"


def test_a_reply_says_no_more_than_the_cards(pair: Pair) -> None:
    campaign = pair.campaign(DRR(20, truth=0.5, own=0.1))
    _, people = pair.begin(campaign, 20)
    (reply,) = ask_many(
        pair.dealer.url, path_of(campaign, "cards"), [card_body(campaign, people[0])]
    )
    assert set(reply.json) == {"campaign", "n", "card"}
    assert (reply.json["campaign"], reply.json["n"]) == (campaign.hash, 20)
    assert reply.json["card"] in (0, 1)


@pytest.mark.parametrize("dealing", ["arrival", "enrol"])
def test_who_was_forestalled_notices(pair: Pair, dealing: str) -> None:
    """Somebody with the invitation comes first and shows no device: the owner is refused."""
    campaign = pair.campaign(DRR(3, truth=0.5, own=0.1), dealing=dealing, capacity=30)
    _, people = pair.begin(campaign, 1)
    name = pseudonym(people[0], campaign.hash, DEALER)
    what = "seats" if dealing == "enrol" else "cards"
    first = ask(pair.dealer.url, "POST", path_of(campaign, what), card_request(name))
    assert first.status in (200, 201)
    mine = card_request(name, device=b"1" * 32)
    owner = ask(pair.dealer.url, "POST", path_of(campaign, what), mine)
    assert is_problem(owner, 409) == "other-device"
