"""The end at the collector: looked at first, closed as a whole, and then there is a result."""

import json
import secrets
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from jrr.dealing.announced import announce, place_numbers, undealt_sum
from jrr.dealing.deck import card_from_json
from jrr.dealing.decks import SurveyDecks
from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError, JrrError
from jrr.servers.collector.ending import ClosingChoices
from jrr.servers.collector.results import EstimateQuery
from jrr.servers.collector.store import CollectorStore
from jrr.survey.closing import ClosingRequest, ClosingSums, ToldSums
from jrr.survey.messages import report_message, upload
from jrr.survey.survey import Survey
from tests.servers.collecting import JOBS, answer, asking, begin, person, refusal


class Cards:
    """The decks of all dealers of a survey, and who was dealt from them."""

    def __init__(self, connection: Connection, survey: Survey) -> None:
        self.connection, self.survey = connection, survey
        mechanisms = {one.salt: one.mechanism for one in survey.dealt}
        names = {one.salt: one.name for one in survey.dealt}
        self.decks = [
            SurveyDecks(mechanisms, names, secrets.token_bytes(32))
            for _ in survey.dealing.addresses
        ]
        self.dealt: list[list[tuple[int, int]]] = [[] for _ in self.decks]
        begin(connection, survey)

    def answer(
        self, who: int | bytes, region: str, value: int, left_out: tuple[int, ...] = ()
    ) -> None:
        """Somebody fetches cards and answers with them."""
        places = [decks.place(len(self.dealt[at])) for at, decks in enumerate(self.decks)]
        for at, place in enumerate(places):
            self.dealt[at].append(place)
        reports = {}
        for one in self.survey.asked({"region": region}):
            given = [
                None if at in left_out else decks.questions[one.name].card(*places[at])
                for at, decks in enumerate(self.decks)
            ]
            cards = tuple(card_from_json(one.mechanism, card["card"]) for card in given if card)
            report = one.mechanism.respond_one(value, cards if len(given) > 1 else cards[0])
            serials = None
            if one.mechanism.announced:
                serials = [None if card is None else card["serial"] for card in given]
            reports[one.name] = report_message(one.mechanism, report, True, serials)
        name = who if isinstance(who, bytes) else person(who)
        sent = upload(name, {"region": region}, reports)
        assert JOBS.receive(self.connection, self.survey.hash, sent)

    def request(self, dealer: int = 0, ahead: bool = False) -> ClosingRequest:
        document = JOBS.closing_request(self.connection, self.survey.hash, dealer, ahead)
        return ClosingRequest.from_document(self.survey, json.loads(json.dumps(document)))

    def sums(self) -> dict[str, Any]:
        """What all dealers tell."""
        announced = []
        for dealer, decks in enumerate(self.decks):
            request = self.request(dealer)
            dealt = place_numbers(decks.block_size, self.dealt[dealer])
            told = {
                name: announce(decks.questions[name], groups, dealt, self.survey.smallest_group)
                for name, groups in request.questions.items()
            }
            announced.append(
                ClosingSums(
                    survey=self.survey.hash,
                    announcement=request.announcement,
                    grouping=request.grouping,
                    questions=told,
                )
            )
        listed = [one.to_document() for one in announced]
        return {"announced": listed, "undealt": {}, "decks": 1}

    def show(self) -> dict[str, Any]:
        return JOBS.show(self.connection, self.survey.hash)

    def prospect(self, **wish: Any) -> dict[str, Any]:
        return JOBS.prospect(self.connection, self.survey.hash, ClosingChoices(**wish))

    def close(self, **wish: Any) -> dict[str, Any]:
        return JOBS.close(self.connection, self.survey.hash, ClosingChoices(**wish))

    def estimates(self, by: tuple[str, ...] | None = None) -> dict[str, Any]:
        return JOBS.estimates(self.connection, self.survey.hash, EstimateQuery(by=by))


def people_in(cards: Cards, *sizes: tuple[str, int]) -> None:
    number = 0
    for region, size in sizes:
        for _ in range(size):
            cards.answer(number, region, number % 2)
            number += 1


def test_groups_are_of_all_questions_and_results_follow_from_the_sums(
    connection: Connection,
) -> None:
    cards = Cards(connection, asking(3, "mrr", only_if={"region": ["north", "süd"]}, min_cell=4))
    people_in(cards, ("north", 12), ("süd", 10), ("sea 𝛆", 2))
    waiting = cards.estimates()
    assert all(set(one) == {"waits", "reports"} for one in waiting.values())
    seen = cards.prospect(by=("region",))
    assert seen["too_small"] == ["sea 𝛆"]
    assert [one["cards"] for one in seen["groups"]] == [
        {"q0": [12], "q1": [12], "q2": [12]},
        {"q0": [10], "q1": [10], "q2": [10]},
        {"q0": [2], "q1": [2], "q2": [0]},
    ]
    with refusal("too-small"):
        cards.close(by=("region",))
    with pytest.raises(ArgumentError, match="merge_small must come with by"):
        cards.close(merge_small=True)
    with refusal("wrong-state"):
        cards.request()
    assert cards.show()["state"] == "open"  # nothing has changed
    assert cards.request(ahead=True).grouping.by == ()
    merged = cards.prospect(by=("region",), merge_small=True)
    assert merged["merged"] == {"süd + sea 𝛆": ["süd", "sea 𝛆"]}
    assert cards.close(by=("region",), merge_small=True) == {
        "state": "closed",
        "reports": 24,
        "discarded": 0,
        "settled": False,
    }
    assert cards.prospect()["merged"] == merged["merged"]  # what was chosen stays
    assert all("waits" in one for one in cards.estimates().values())
    told = cards.sums()
    name = cards.survey.hash
    fewer = json.loads(json.dumps(told))
    fewer["announced"][0]["questions"]["q1"]["north"]["cards"] = 11
    with refusal("conflict"):
        JOBS.keep_sums(connection, name, fewer)
    for _ in range(2):
        assert JOBS.keep_sums(connection, name, told) == "closed"
    with refusal("announced"):
        JOBS.keep_sums(connection, name, fewer)
    with refusal("closed"):
        cards.request(ahead=True)
    serials = select(func.count()).select_from(CollectorStore.serials)
    assert connection.execute(serials).scalar_one() == 0
    assert cards.show()["settled"]
    assert cards.prospect()["groups"] == []
    found = cards.estimates(by=("region",))
    assert [found[name]["carded"] for name in found] == [24, 24, 22]
    groups = [one["name"] for one in found["q0"]["groups"]]
    assert groups == ["north", "süd + sea 𝛆"]
    assert set(cards.estimates()["q0"]["sums"]["announced"]) == {"north", "süd + sea 𝛆"}


def test_discarding_deletes_all_answers_of_a_person(connection: Connection) -> None:
    cards = Cards(connection, asking(2, "mrr", min_cell=4))
    people_in(cards, ("north", 8))
    before = cards.request(ahead=True).questions
    unwanted = {"q1": [before["q1"][""][0].hex()]}
    with refusal("wrong-state"):
        JOBS.discard(connection, cards.survey.hash, unwanted)
    with pytest.raises(JrrError, match="question must be one of"):
        cards.close(discard={"region": []})
    assert cards.close(discard=unwanted)["discarded"] == 1
    assert cards.show()["questions"] == {"q0": 7, "q1": 7}
    after = cards.request().questions
    assert len(after["q0"][""]) == len(after["q1"][""]) == 7
    more = {"q0": [after["q0"][""][0].hex(), secrets.token_hex(16)]}
    assert JOBS.discard(connection, cards.survey.hash, more) == 1
    assert cards.show()["reports"] == 6
    JOBS.keep_sums(connection, cards.survey.hash, cards.sums())
    assert [one["carded"] for one in cards.estimates().values()] == [6, 6]


def test_a_closing_that_is_refused_discards_nobody(connection: Connection) -> None:
    cards = Cards(connection, asking(1, "mrr", min_cell=4))
    people_in(cards, ("north", 4))
    unwanted = {"q0": [cards.request(ahead=True).questions["q0"][""][0].hex()]}
    with refusal("too-small"):
        cards.close(discard=unwanted)
    assert cards.show()["reports"] == 4
    assert len(cards.request(ahead=True).questions["q0"][""]) == 4
    assert cards.close(discard=unwanted, allow_small=True)["reports"] == 3


def test_a_dealer_may_be_left_out_and_every_dealer_has_a_sum(connection: Connection) -> None:
    dealing = Dealers(("https://a.example", "https://b.example"), leave_out=True)
    cards = Cards(connection, asking(1, "mrr", dealing=dealing, min_cell=2))
    for who in range(9):
        cards.answer(who, "north", 1, left_out=(1,) if who < 3 else ())
    (group,) = cards.prospect()["groups"]
    assert group["cards"] == {"q0": [9, 6]}
    assert 0.3 < group["margins"]["q0"] < 0.6
    cards.close()
    with pytest.raises(ArgumentError, match="dealer must be"):
        cards.request(2)
    JOBS.keep_sums(connection, cards.survey.hash, cards.sums())
    assert cards.estimates()["q0"]["carded"] == 9


def test_without_cards_there_is_nothing_to_wait_for(connection: Connection) -> None:
    survey = asking(2, "rr")
    begin(connection, survey)
    answer(connection, survey, range(5))
    assert JOBS.prospect(connection, survey.hash, ClosingChoices())["groups"] == []
    assert JOBS.close(connection, survey.hash)["settled"]
    assert JOBS.close(connection, survey.hash)["reports"] == 5  # again
    found = JOBS.estimates(connection, survey.hash, EstimateQuery(by=("region",)))
    assert [one["final"] for one in found.values()] == [True, True]
    sums = ToldSums().to_document()
    assert JOBS.keep_sums(connection, survey.hash, sums) == "closed"


def test_of_a_closed_deck_the_cards_that_nobody_fetched_come_off(connection: Connection) -> None:
    cards = Cards(connection, asking(1, "mrr", closed_deck=True, people=30))
    people_in(cards, ("north", 20))
    assert not cards.close()["settled"]
    (decks,) = cards.decks
    dealt = place_numbers(decks.block_size, cards.dealt[0])
    left = undealt_sum(decks.questions["q0"], 1, dealt)
    told = ToldSums(undealt={"q0": left}, decks=1).to_document()
    assert JOBS.keep_sums(connection, cards.survey.hash, told) == "closed"
    found = cards.estimates()["q0"]
    assert found["sums"]["undealt"] == left.to_document()
    assert found["decks"] == 1
    assert cards.show()["settled"]
