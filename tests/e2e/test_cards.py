"""The cards that come over HTTP: each seat once, each deck whole, whoever asks and how often."""

import json
from collections import Counter

import pytest

from jrr import DRR, JRR
from jrr.dealing.kinds import Dealers
from jrr.dealing.messages import card_request
from jrr.protocol.identity import dealer_role, pseudonym
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
    query = f"SELECT block, number FROM seats WHERE survey = '{name}'"
    return [(block, seat) for block, seat in pair.rows("dealer", query)]


def test_one_pseudonym_that_asks_64_times_at_once_has_one_seat(pair: Pair) -> None:
    survey = pair.survey(DRR(100, truth=0.5, own=0.1, k=100))
    operator, people = pair.begin(survey, 2)
    body = card_body(survey, people[0])
    replies = ask_many(pair.dealer.url, path_of(survey, "cards"), [body] * 64)
    assert {reply.status for reply in replies} == {200}
    assert len({reply.body for reply in replies}) == 1
    assert operator.show()["dealer"]["seats"] == 1
    assert len(seats(pair, survey.hash)) == 1


def test_64_pseudonyms_at_once_share_out_one_deck(pair: Pair) -> None:
    survey = pair.survey(DRR(64, truth=0.5, own=0.1, k=64))  # every card once
    _, people = pair.begin(survey, 64)
    cards = cards_of(pair.dealer.url, survey, people)
    assert sorted(cards) == list(range(64))
    assert sorted(seats(pair, survey.hash)) == [(0, seat) for seat in range(64)]


def test_everybody_asks_three_times_in_any_order_over_several_blocks(pair: Pair) -> None:
    mechanism = JRR(21, p=0.7, s=0.2)
    survey = pair.survey(mechanism, capacity=63)
    _, people = pair.begin(survey, 63)
    bodies = shuffled([card_body(survey, secret) for secret in people] * 3, 1)
    replies = ask_many(pair.dealer.url, path_of(survey, "cards"), bodies)
    assert {reply.status for reply in replies} == {200}
    held: dict[bytes, set[bytes]] = {body: set() for body in bodies}
    for body, reply in zip(bodies, replies, strict=True):
        held[body].add(reply.body)
    assert {len(cards) for cards in held.values()} == {1}
    faces = Counter(reply.json["cards"]["answer"]["card"] for reply in replies)
    assert faces == {1: 3 * 30, -1: 3 * 30, 0: 3 * 3}
    expected = [(block, seat) for block in range(3) for seat in range(21)]
    assert sorted(seats(pair, survey.hash)) == expected


def test_two_surveys_with_the_same_people_and_deck_have_different_cards(pair: Pair) -> None:
    orders = []
    mechanism = DRR(64, truth=0.5, own=0.1, k=64)
    for _ in range(2):
        survey = pair.survey(mechanism)
        _, people = pair.begin(survey, 64)
        orders.append(cards_of(pair.dealer.url, survey, people))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("enrols", [False, True], ids=["arrival", "enrol"])
def test_only_the_device_that_came_first_gets_the_cards(pair: Pair, enrols: bool) -> None:
    """Whoever made the invitations has the name too, and must not have the card."""
    dealing = Dealers((pair.dealer.url,), enrol_first=enrols)
    survey = pair.survey(DRR(21, truth=0.5, own=0.1), dealing=dealing, capacity=40)
    operator, people = pair.begin(survey, 21)
    name = pseudonym(people[0], survey.hash, dealer_role(0))
    mine = card_request(name, device=b"1" * 32)
    others = [card_request(name), card_request(name, device=b"2" * 32)]
    if enrols:
        for status, body in ((201, mine), (200, mine)):
            assert ask(pair.dealer.url, "POST", path_of(survey, "seats"), body).status == status
        for body in others:
            reply = ask(pair.dealer.url, "POST", path_of(survey, "seats"), body)
            assert is_problem(reply, 409) == "other-device"
        enrol_all(survey, people[1:])
        operator.deal()
    where = path_of(survey, "cards")
    first = ask(pair.dealer.url, "POST", where, mine)
    assert first.status == 200
    for body in others:
        reply = ask(pair.dealer.url, "POST", where, body)
        assert is_problem(reply, 409) == "other-device"
        assert b"cards" not in reply.body
    assert ask(pair.dealer.url, "POST", where, mine).body == first.body
    assert operator.show()["dealer"]["seats"] == (21 if enrols else 1)
    for value, status, kind in (
        ("", 422, "refused"),
        ("0" * 63, 422, "refused"),
        (1, 422, "refused"),
        (None, 422, "refused"),  # left out, or said
    ):
        body = json.dumps({"pseudonym": name.hex(), "device": value}).encode()
        assert is_problem(ask(pair.dealer.url, "POST", where, body), status) == kind


def test_a_reply_says_no_more_than_the_cards(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    _, people = pair.begin(survey, 20)
    (reply,) = ask_many(pair.dealer.url, path_of(survey, "cards"), [card_body(survey, people[0])])
    assert set(reply.json) == {"survey", "n", "cards"}
    assert (reply.json["survey"], reply.json["n"]) == (survey.hash, None)
    assert set(reply.json["cards"]) == {"answer"}
    assert set(reply.json["cards"]["answer"]) == {"card"}
    assert reply.json["cards"]["answer"]["card"] in (0, 1)


@pytest.mark.parametrize("enrols", [False, True], ids=["arrival", "enrol"])
def test_who_was_forestalled_notices(pair: Pair, enrols: bool) -> None:
    """Somebody with the invitation comes first and shows no device: the owner is refused."""
    dealing = Dealers((pair.dealer.url,), enrol_first=enrols)
    survey = pair.survey(DRR(3, truth=0.5, own=0.1), dealing=dealing, capacity=30)
    _, people = pair.begin(survey, 1)
    name = pseudonym(people[0], survey.hash, dealer_role(0))
    what = "seats" if enrols else "cards"
    first = ask(pair.dealer.url, "POST", path_of(survey, what), card_request(name))
    assert first.status in (200, 201)
    mine = card_request(name, device=b"1" * 32)
    owner = ask(pair.dealer.url, "POST", path_of(survey, what), mine)
    assert is_problem(owner, 409) == "other-device"
