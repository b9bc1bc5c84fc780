"""Surveys with verified cards from end to end, and everybody who lies in them."""

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import sqlalchemy
from click.testing import CliRunner

from jrr.cli.app import cli
from jrr.client.ending import Ending, dealer_sums
from jrr.client.operator import new_invitations
from jrr.client.report import ReportWish, survey_report
from jrr.dealing.interface import Person
from jrr.dealing.kinds import Dealers, Nobody
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified import noise, sums
from jrr.dealing.verified.group import ORDER, base, minus, number_bytes, plus
from jrr.dealing.verified.laws import Sums
from jrr.dealing.verified.questions import noise_laws, sums_of
from jrr.dealing.verified.sums import VerifiedDecks
from jrr.errors import ArgumentError, DamagedError, IntegrityError, JrrError, ProtocolError
from jrr.planning.liars import liar_bias
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.protocol.steps import Call, Reply
from jrr.servers.dealer.store import DealerStore
from jrr.survey import contributor
from jrr.survey.card_record import check_record
from jrr.survey.closing import ClosingRequest
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked
from tests.client.in_process import LIMITS, House
from tests.statistics_rules import OFF, accepts_only, chi_square

SLOTS = 6
PEOPLE = 22
DRAFT: dict[str, Any] = {
    "title": "Work",
    "epsilon": 6.0,
    "questions": [
        {
            "name": "sector",
            "kind": "choice",
            "text": "Where?",
            "labels": ["office", "field"],
            "sensitive": False,
        },
        {"name": "drinks", "kind": "yes-no", "text": "Did you?"},
        {"name": "pain", "kind": "choice", "text": "How?", "labels": ["no", "some", "much"]},
        {"name": "hours", "kind": "number", "text": "How many?", "low": 0, "high": 80},
    ],
}
SHORT = DRAFT | {"questions": DRAFT["questions"][:2], "epsilon": 2.0}  # where one is enough
ANSWERS: list[dict[str, Any]] = [
    {
        "sector": "office" if at % 2 else "field",
        "drinks": "yes" if at % 4 == 0 else "no",
        "pain": "much",
        "hours": 40.0,
    }
    for at in range(PEOPLE)
]


@pytest.fixture(autouse=True)
def few_slots() -> Any:
    with patch.object(noise, "SLOTS", SLOTS):
        yield


@cache
def asked(dealers: int = 1, **more: Any) -> Survey:
    urls = tuple(f"https://dealer{at}.example" for at in range(dealers))
    kind = Dealers(
        urls, leave_out=more.pop("leave_out", False), enrol_first=more.pop("enrol", False)
    )
    return SurveyRequest(
        draft=Draft.from_dict(DRAFT if more.pop("whole", False) else SHORT),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Nobody() if more.pop("nobody", False) else kind,
        **({"min_cell": 5, "verified": True, "dealer_epsilon": 20.0} | more),
    ).survey()


def twice_asked() -> Survey:
    """A survey that plans two announcements."""
    return SurveyRequest(
        draft=Draft.from_dict(SHORT | {"announcements": 2}),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
        min_cell=5,
        dealer_epsilon=20.0,
    ).survey()


class Device:
    """Somebody with an invitation, and a client that may lie."""

    def __init__(self, house: House, invitation: str) -> None:
        self.house, self.secret = house, invitation_secret(invitation)
        self.device = self.secret.ljust(32, b"d")

    def answer(
        self, answers: Mapping[str, Any], change: Callable[[dict[str, Any]], None] | None = None
    ) -> Any:
        steps = contributor.contribute(
            self.house.survey, self.secret, answers, LIMITS, device=self.device
        )
        reply: Reply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, Call):
                    if change is not None and step.address.endswith("/reports"):
                        document = json.loads(step.body or b"")
                        change(document)
                        step = Call(step.address, json.dumps(document).encode())
                    reply = self.house.call(step)
        except StopIteration as finished:
            return finished.value


def begun(tmp_path: Path, people: int = 2, **more: Any) -> tuple[House, list[Device]]:
    house = House(asked(**more), tmp_path)
    invitations = new_invitations(people)
    house.everybody.install()
    house.everybody.invite(invitations)
    house.everybody.open()
    return house, [Device(house, one) for one in invitations]


@pytest.mark.parametrize("dealers", [1, 2])
def test_from_end_to_end(dealers: int, tmp_path: Path) -> None:
    house = House(asked(dealers, whole=True), tmp_path)
    house.answered(ANSWERS)
    operator = house.everybody
    facts = operator.close(Ending(by="sector"))
    assert facts["collector"] == {"state": "closed", "reports": PEOPLE, "settled": True}
    found = operator.estimates()
    assert found["pain"]["estimate"]["frequencies"][2] > 0.6
    assert operator.close(Ending())["collector"]["settled"]  # again changes nothing
    record = operator.at_collector().get(f"{house.survey.path}/record")
    assert check_record(house.survey, record) == [PEOPLE] * dealers
    missing = record | {"dealers": [*record["dealers"][:-1], None]}
    if dealers > 1:
        with pytest.raises(IntegrityError, match="dealer 1: its sums are missing"):
            check_record(house.survey, missing)
    told = json.dumps(record)
    names = [pseudonym(b"x", house.survey.hash, COLLECTOR).hex(), "proof", "report"]
    assert not any(name in told for name in names)


def test_one_of_two_dealers_may_be_left_out(tmp_path: Path) -> None:
    house, devices = begun(tmp_path, 12, dealers=2, leave_out=True)
    for at, device in enumerate(devices):
        house.silent = {house.survey.dealing.addresses[1]} if at % 3 == 0 else set()
        device.answer(brief(at))
    house.silent = set()
    assert house.everybody.close(Ending())["collector"]["settled"]


def test_a_dealer_that_is_needed_cannot_be_left_out(tmp_path: Path) -> None:
    _, (device, _) = begun(tmp_path, dealers=2)

    def left_out(document: dict[str, Any]) -> None:
        told = document["reports"]["drinks"]
        told["serials"][1] = told["commitments"][1] = None

    with pytest.raises(ProtocolError, match="must not leave out a dealer that the survey needs"):
        device.answer(brief(0), left_out)
    assert device.answer(brief(0)).carded


# -- respondents -----------------------------------------------------------------------------


def brief(at: int) -> dict[str, Any]:
    """Answers to the short survey."""
    return {name: ANSWERS[at][name] for name in ("sector", "drinks")}


def shift(question: str, by: int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        told = document["reports"][question]
        if isinstance(told["report"], list):
            told["report"][0] += by
        else:
            told["report"] += by

    return change


def put(question: str, field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["reports"][question][field] = value

    return change


def point(question: str, value: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["reports"][question]["commitments"][0]["commitments"][0] = value

    return change


PROVES = "proof must show that the answer behind the mask is a possible one"
SIGNED = "a card must be signed by the dealer"
CANONICAL = "canonical"
LIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "off by one": (shift("drinks", 1), PROVES),
    "one less": (shift("drinks", -1), PROVES),
    "off by 48": (shift("drinks", 48), "must"),
    "one of three, off by one": (shift("pain", 1), PROVES),
    "a number, off by one step": (shift("hours", 1), PROVES),
    "a multiple of the order": (shift("drinks", ORDER), "report of drinks must be"),
    "no proof": (put("drinks", "proof", None), "commitments and proof must be given exactly"),
    "an empty proof": (put("drinks", "proof", ""), "proof must be 256 hexadecimal digits"),
    "a proof of zeros": (put("drinks", "proof", "00" * 128), PROVES),
    "a number twice encoded": (put("drinks", "proof", "ff" * 128), CANONICAL),
    "the identity": (point("drinks", "00" * 32), CANONICAL),
    "outside the group": (point("drinks", "01" + "00" * 31), CANONICAL),
    "another point": (point("drinks", base(5).hex()), SIGNED),
    "a serial of one's own": (put("drinks", "serials", ["ab" * 16]), SIGNED),
    "without commitments": (put("drinks", "commitments", None), "must be given exactly"),
    "too few commitments": (put("drinks", "commitments", []), "one from each dealer"),
}


@pytest.mark.parametrize("lie", list(LIES))
def test_a_lying_respondent_is_refused(lie: str, tmp_path: Path) -> None:
    change, words = LIES[lie]
    whole = ("three" in lie, "step" in lie) != (False, False)
    house, (device, _) = begun(tmp_path, whole=whole)
    answers = ANSWERS[0] if whole else brief(0)
    with pytest.raises(ProtocolError, match=words):
        device.answer(answers, change)
    assert house.everybody.show()["collector"]["reports"] == 0
    assert device.answer(answers).carded  # the honest answer is still taken


def test_nothing_of_others_serves(tmp_path: Path) -> None:
    house, (first, second) = begun(tmp_path)
    sent: list[dict[str, Any]] = []
    first.answer(brief(0), lambda document: sent.append(deepcopy(document)))
    theirs = sent[0]["reports"]

    def replayed(document: dict[str, Any]) -> None:
        document["reports"] = theirs

    with pytest.raises(ProtocolError, match=PROVES):  # bound to a person
        second.answer(brief(0), replayed)

    def from_another_question(document: dict[str, Any]) -> None:
        for field in ("report", "commitments", "proof"):
            document["reports"]["drinks"][field] = theirs["drinks"][field]

    with pytest.raises(ProtocolError, match=SIGNED):  # of another serial number
        second.answer(brief(0), from_another_question)
    elsewhere, (stranger, _) = begun(tmp_path / "elsewhere")
    stranger.secret = second.secret
    with pytest.raises(JrrError):
        stranger.answer(brief(0))
    assert house.everybody.show()["collector"]["reports"] == 1
    assert elsewhere.everybody.show()["collector"]["reports"] == 0


TOGETHER: dict[str, Any] = {
    "title": "Work",
    "epsilon": 2.0,
    "split": "together",
    "ask": 2,
    "questions": [
        DRAFT["questions"][0],
        *({"name": name, "kind": "yes-no", "text": name} for name in "abc"),
        {"name": "pills", "kind": "several", "text": "Pills?", "labels": ["red", "blue"]},
    ],
}


def test_lies_behind_a_shared_coin_and_two_dealers(tmp_path: Path) -> None:
    survey = SurveyRequest(
        draft=Draft.from_dict(TOGETHER),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Dealers(tuple(f"https://dealer{at}.example" for at in range(2))),
        verified=True,
        min_cell=5,
        dealer_epsilon=12.0,
    ).survey()
    house = House(survey, tmp_path)
    invitations = new_invitations(PEOPLE)
    house.everybody.install()
    house.everybody.invite(invitations)
    house.everybody.open()

    def one_more(document: dict[str, Any]) -> None:
        next(iter(document["reports"].values()))["report"] += 1

    def exchanged(document: dict[str, Any]) -> None:
        first, second, *_ = document["reports"].values()
        mine, theirs = dict(first), dict(second)
        first.update(theirs)
        second.update(mine)

    def dealers_exchanged(document: dict[str, Any]) -> None:
        for told in document["reports"].values():
            told["serials"].reverse()
            told["commitments"].reverse()

    def one_less(document: dict[str, Any]) -> None:
        document["reports"].popitem()

    def not_asked_for(document: dict[str, Any]) -> None:
        names = [one.name for one in survey.sensitive if one.name not in document["reports"]]
        document["reports"][names[0]] = next(iter(document["reports"].values()))

    lies: list[tuple[Callable[[dict[str, Any]], None], str]] = [
        (one_more, PROVES),
        (exchanged, SIGNED),
        (dealers_exchanged, SIGNED),
        (one_less, "reports must be of exactly the questions"),
        (not_asked_for, "reports must be of exactly the questions"),
    ]
    for at, invitation in enumerate(invitations):
        device = Device(house, invitation)
        left = not_asked(survey, pseudonym(device.secret, survey.collector_salt, COLLECTOR))
        answers = {"sector": "office", **dict.fromkeys("abc", "yes"), "pills": ["red"]}
        told = {name: answer for name, answer in answers.items() if name not in left}
        change, words = lies[at % len(lies)]
        with pytest.raises(ProtocolError, match=words):
            device.answer(told, change)
        device.answer(told)
    assert house.everybody.close(Ending())["collector"]["reports"] == PEOPLE
    record = house.everybody.at_collector().get(f"{survey.path}/record")
    assert check_record(survey, record) == [PEOPLE, PEOPLE]


def test_a_card_counts_once(tmp_path: Path) -> None:
    """A friend brings somebody's card, with a proof for himself: the serial number is used."""
    _, (first, second) = begun(tmp_path)
    first.answer(brief(0))
    hands = first.house.drive(
        contributor.fetch_hands(first.house.survey, first.secret, 0.0, first.device)
    )
    steps = contributor.contribute(
        first.house.survey, second.secret, brief(1), LIMITS, device=b"\2" * 32, hands=hands
    )
    with pytest.raises(ProtocolError, match="another report came with the serial of this card"):
        first.house.drive(steps)


def test_serials_are_chosen_once(tmp_path: Path) -> None:
    house, (first, second) = begun(tmp_path)
    first.answer(brief(0))
    first.device = b"\2" * 32  # somebody else's, or a device that asks for another mask
    with pytest.raises(ProtocolError, match="another device has asked"):
        house.drive(house.survey.dealing.hands(house.survey, Person(first.secret, b"\2" * 32), 0.0))
    same = "jrr.dealing.verified.proving.serial_and_nonce"
    from jrr.dealing.verified.proving import serial_and_nonce

    mine = serial_and_nonce(house.survey.hash, "dealer:0", first.secret.ljust(32, b"d"))
    with patch(same, lambda *_: mine), pytest.raises(ProtocolError, match="with this serial"):
        second.answer(brief(1))


def test_nobody_gets_a_second_card_by_another_serial(tmp_path: Path) -> None:
    """The dealer would not know it at the end, and there would be no result for anybody."""
    house, (first, _) = begun(tmp_path)
    person = Person(first.secret, first.device)
    hands = house.survey.dealing.hands
    house.drive(hands(house.survey, person, 0.0))
    for other in (SerialNonce(b"s" * 16, b"n" * 32), SerialNonce(b"t" * 16, b"n" * 32)):
        with (
            patch("jrr.dealing.verified.proving.serial_and_nonce", lambda *_, other=other: other),
            pytest.raises(ProtocolError, match="another serial was asked with before"),
        ):
            house.drive(hands(house.survey, person, 0.0))


# -- dealers ---------------------------------------------------------------------------------


def closed_by(
    house: House,
    change: Callable[[dict[str, Any]], None],
    dealer: int = 0,
    wish: Ending | None = None,
) -> Any:
    """Close while a dealer changes what it tells at the end."""
    own = f"{house.survey.dealing.addresses[dealer]}/"
    request = house.request

    def lying(method: str, address: str, body: bytes | None = None, **more: Any) -> Reply:
        reply = request(method, address, body, **more)
        if address.startswith(own) and address.endswith(("/close", "/commit", "/check")):
            document = json.loads(reply.body)
            change(document)
            return Reply(reply.status, json.dumps(document).encode())
        return reply

    with patch.object(house, "request", lying):
        return house.everybody.close(wish or Ending())


def told(field: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def lie(document: dict[str, Any]) -> None:
        if "openings" in document:
            opening = document["openings"]["drinks"][""]
            opening[field] = change(opening[field])

    return lie


def sum_moved(document: dict[str, Any]) -> None:
    if "sums" in document:
        document["sums"]["questions"]["drinks"][""]["sum"] += 1


def committed(document: dict[str, Any]) -> None:
    if "committed" in document:
        document["committed"]["drinks"][""] = "00" * 32


DEALERS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a sum": (sum_moved, "the sum is not that of the cards"),
    "a blinding": (told("blindings", lambda _: [number_bytes(7).hex()]), "the sum is not that"),
    "seeds": (told("seeds", lambda text: "00" * 32 + text[64:]), "other noise seeds"),
    "too few seeds": (told("seeds", lambda text: text[64:]), "not opened all other slots"),
    "the kept seed": (told("kept", lambda _: "11" * 32), "other noise seeds"),
    "the path": (told("path", lambda path: ["00" * 32, *path[1:]]), "other noise seeds"),
    "the noise that is used": (
        told("commitments", lambda _: [base(9).hex()]),
        "noise is not what follows from its seeds",
    ),
    "what it commits to": (committed, "noise is not what follows from its seeds"),
}


@pytest.mark.parametrize("lie", list(DEALERS))
def test_a_lying_dealer_is_named(lie: str, tmp_path: Path) -> None:
    house = House(asked(2), tmp_path)
    house.answered(map(brief, range(12)))
    change, words = DEALERS[lie]
    with pytest.raises(JrrError, match=f"dealer 1: drinks: .*{words}"):
        closed_by(house, change, dealer=1)
    assert "waits" in house.everybody.estimates()["drinks"]
    with pytest.raises(ProtocolError, match="no sums that hold have come: there is no result"):
        house.everybody.at_collector().get(f"{house.survey.path}/record")  # said to everybody


def test_noise_that_one_slot_hides_passes_in_one_of_so_many(tmp_path: Path) -> None:
    """The dealer adds 2 in slot 2: it passes exactly where that slot is drawn of all sums."""
    for slot in range(SLOTS):
        house = House(asked(), tmp_path / str(slot))
        house.answered(map(brief, range(6)))
        with (
            patch("secrets.randbelow", lambda _, slot=slot: slot),
            patch.object(noise.NoiseSeeds, "noise", cheating(noise.NoiseSeeds.noise)),
        ):
            if slot == 2:
                house.everybody.close(Ending())
                continue
            with pytest.raises(JrrError, match="noise is not what follows from its seeds"):
                house.everybody.close(Ending())


def test_a_lie_that_passes_stays_within_what_answers_could_be(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(6)))
    for by, words in (
        (10**6, "drinks: what the dealers told leaves numbers"),
        (-(10**6), "drinks"),
    ):
        with (
            patch("secrets.randbelow", lambda _: 2),
            patch.object(noise.NoiseSeeds, "noise", cheating(noise.NoiseSeeds.noise, by)),
            pytest.raises(JrrError, match=words),
        ):
            house.everybody.close(Ending())


def cheating(honest: Any, by: int = 2) -> Any:
    def lie(self: Any, request: Any, slot: int, law: Any) -> Any:
        drawn = honest(self, request, slot, law)
        if slot != 2:
            return drawn
        return noise.SlotNoise((drawn.values[0] + by, *drawn.values[1:]), drawn.blindings)

    return lie


# -- collectors ------------------------------------------------------------------------------


def closing(house: House) -> tuple[dict[str, Any], Any]:
    """What the collector names, and the dealer to say it to."""
    operator = house.everybody
    collector, dealer = operator.at_collector(), operator.dealing[0]
    collector.post(f"{operator.path}/close", {})
    request = collector.get(f"{operator.path}/closing/request?dealer=0")
    return request, dealer


def slots_for(request: dict[str, Any], slot: int) -> dict[str, Any]:
    return {
        question: dict.fromkeys(groups, slot) for question, groups in request["questions"].items()
    }


def test_a_collector_cannot_name_again(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    path = house.everybody.path
    request, dealer = closing(house)
    nonce = "ab" * 32
    wish = {"request": request, "nonce": nonce, "slots": slots_for(request, 1)}
    first = dealer.post(f"{path}/close", wish)
    assert dealer.post(f"{path}/close", wish) == first  # the same again is told the same
    fewer = deepcopy(request)
    fewer["questions"]["drinks"][""].pop()
    others = [
        wish | {"slots": slots_for(request, 2)},
        wish | {"nonce": "cd" * 32},
        wish | {"request": fewer},
    ]
    for other in others:
        with pytest.raises(ProtocolError, match="for another request"):
            dealer.post(f"{path}/close", other)
    with pytest.raises(ProtocolError, match="cards are burned"):
        dealer.post(f"{path}/commit", {"request": request, "nonce": nonce})


def test_neither_a_crash_nor_a_backup_makes_a_second_challenge(tmp_path: Path) -> None:
    """The dealer dies before it has told, then its database goes back: one choice of slots."""
    house = House(twice_asked(), tmp_path)
    house.answered(map(brief, range(12)))
    path, live = house.everybody.path, tmp_path / "dealer0" / "dealer.db"
    with sqlite3.connect(live) as source, sqlite3.connect(tmp_path / "older") as older:
        source.backup(older)
    request, dealer = closing(house)
    wish = {"request": request, "nonce": "ab" * 32, "slots": slots_for(request, 1)}
    others = [wish | {"slots": slots_for(request, 2)}, wish | {"nonce": "cd" * 32}]

    def refuses_others() -> None:
        for other in others:
            with pytest.raises(ProtocolError, match="for another request"):
                dealer.post(f"{path}/close", other)

    with patch.object(DealerStore, "tell", side_effect=OSError), pytest.raises(JrrError):
        dealer.post(f"{path}/close", wish)
    refuses_others()
    first = dealer.post(f"{path}/close", wish)
    with sqlite3.connect(tmp_path / "older") as older, sqlite3.connect(live) as restored:
        older.backup(restored)
    refuses_others()
    assert dealer.post(f"{path}/close", wish) == first


def test_a_collector_that_names_wrongly_is_refused(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    path = house.everybody.path
    request, dealer = closing(house)
    names = request["questions"]["drinks"][""]
    wrong: list[tuple[list[str], str]] = [
        ([*names, names[0]], "named once each, got 1 named again"),
        ([*names[1:], "ef" * 16], "1 that nobody was given"),
        (names[:3], "must be at least 5"),
    ]
    for listed, words in wrong:
        other = deepcopy(request)
        other["questions"]["drinks"][""] = listed
        wish = {"request": other, "nonce": "ab" * 32, "slots": slots_for(request, 0)}
        with pytest.raises(ProtocolError, match=words):
            dealer.post(f"{path}/close", wish)
    by = request | {"by": ["sector"]}
    twice = {name: {"office": names, "field": names} for name in request["questions"]}
    wish = {"request": by | {"questions": twice}, "nonce": "ab" * 32, "slots": {}}
    with pytest.raises(ProtocolError, match="named once each"):  # in two cells
        dealer.post(f"{path}/close", wish)
    for slots in ({}, slots_for(request, SLOTS), slots_for(request, -1)):
        wish = {"request": request, "nonce": "ab" * 32, "slots": slots}
        with pytest.raises(ProtocolError, match="slots must be given of each sum"):
            dealer.post(f"{path}/close", wish)
    assert house.everybody.close(Ending())["collector"]["settled"]  # nothing was told of it


def test_others_go_on_while_a_dealer_computes(tmp_path: Path) -> None:
    """Noise and sums take seconds or minutes: not in the thread that all transactions share."""
    house, where = House(asked(), tmp_path), dict[str, str]()
    house.answered(map(brief, range(12)))

    def noted(name: str) -> Any:
        honest = getattr(sums, name)

        def work(*given: Any) -> Any:
            where[name] = threading.current_thread().name
            return honest(*given)

        return patch.object(sums, name, work)

    with noted("commit_noise"), noted("tell_sums"), noted("check_sums"):
        house.everybody.close(Ending())
    assert len(where) == 3
    assert "jrr-writer" not in where.values()


@pytest.mark.statistical
def test_masks_and_noise_are_as_wide_as_the_document_says() -> None:
    """Dealers and checks could agree on less noise than was promised."""
    survey, rng = asked(), np.random.default_rng(31)
    mechanism: Any = survey.mechanisms["drinks"]
    named = {one.salt: one.name for one in survey.dealt}
    mechanisms = {one.salt: one.mechanism for one in survey.dealt}
    decks = VerifiedDecks(mechanisms, named, rng.bytes(32), survey)
    each = [SerialNonce(rng.bytes(16), rng.bytes(32)) for _ in range(4_000)]
    masks = [decks.cards_again(one)["drinks"].masks[0] for one in each]
    request = noise.NoiseRequest(b"s" * 32, b"n" * 32, b"h" * 64, 0)
    law = noise_laws(survey)["drinks"]
    added = [request.noise(0, one.nonce, law).values[0] for one in each]
    for drawn, rate in ((masks, mechanism.card_rate), (added, mechanism.announced_rate)):
        accepts_only(partial(width_p, np.abs(drawn)), rate, (1 + OFF) * rate)


def width_p(sizes: Any, rate: float) -> float:
    """Whether numbers are as wide as a law of this rate, from how many are 0 and beyond a few."""
    ends = np.array([0, 1, *np.ceil(np.array([1.0, 2.0]) / rate).astype(int) + 1])
    beyond = np.where(ends == 0, 1.0, 2 * np.exp(-rate * ends) / (1 + np.exp(-rate)))
    chances = -np.diff([*beyond, 0.0])
    seen = [((sizes >= a) & (sizes < b)).sum() for a, b in pairwise([*ends, np.inf])]
    return chi_square(seen, chances)


def test_there_is_one_draw(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    operator = house.everybody
    collector, path = operator.at_collector(), operator.path
    request, dealer = closing(house)
    drawn = collector.get(f"{path}/challenge?dealer=0")
    assert drawn["slots"] is None
    told = dealer.post(f"{path}/commit", {"request": request, "nonce": drawn["nonce"]})
    assert told == dealer.post(f"{path}/commit", {"request": request, "nonce": drawn["nonce"]})
    slots = collector.post(f"{path}/challenge", told | {"dealer": 0})
    assert collector.post(f"{path}/challenge", told | {"dealer": 0}) == slots
    assert collector.get(f"{path}/challenge?dealer=0") == slots | {"nonce": drawn["nonce"]}
    other = deepcopy(told)
    other["committed"]["drinks"][""] = "00" * 32
    changed: list[dict[str, Any]] = [other, told | {"committed": {}}]
    for refused in changed:
        with pytest.raises(ProtocolError, match=r"no second draw|exactly the sums"):
            collector.post(f"{path}/challenge", refused | {"dealer": 0})
    serial = request["questions"]["drinks"][""][0]
    for route, body in (
        ("discard", {"serials": {"drinks": [serial]}}),
        ("close", {"by": ["sector"]}),
    ):
        with pytest.raises(ProtocolError, match="none can be left out"):
            collector.post(f"{path}/{route}", body)
    assert operator.close(Ending())["collector"]["settled"]  # it goes on with the same slots


def test_slots_are_drawn_for_the_cards_that_were_committed_to(tmp_path: Path) -> None:
    """Somebody's answers are deleted in between: the dealer could not be blamed for its sum."""
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    collector, path = house.everybody.at_collector(), house.everybody.path
    request, dealer = closing(house)
    drawn = collector.get(f"{path}/challenge?dealer=0")
    told = dealer.post(f"{path}/commit", {"request": request, "nonce": drawn["nonce"]})
    serials = {"drinks": request["questions"]["drinks"][""][:1]}
    assert collector.post(f"{path}/discard", {"serials": serials}) == {"discarded": 1}
    with pytest.raises(ProtocolError, match="committed for other cards: ask it again"):
        collector.post(f"{path}/challenge", told | {"dealer": 0})
    assert collector.get(f"{path}/challenge?dealer=0")["slots"] is None
    assert house.everybody.close(Ending())["collector"]["reports"] == 11


def test_small_cells_are_refused_before_noise_is_drawn(tmp_path: Path) -> None:
    """Afterwards nobody could be left out, and there would be no result."""
    house = House(asked(), tmp_path)
    house.answered(brief(at) | {"sector": "office" if at else "field"} for at in range(12))
    operator = house.everybody
    collector, path = operator.at_collector(), operator.path
    interrupted = Ending(by="sector", discard_small=True)
    collector.post(f"{path}/close", interrupted.at_collector)
    with pytest.raises(ProtocolError, match="at least 5"):
        operator.close(Ending())
    assert collector.get(f"{path}/challenge?dealer=0")["slots"] is None
    facts = operator.close(Ending(discard_small=True))
    assert facts["collector"] == {
        "state": "closed", "reports": 11, "settled": True, "discarded": 1
    }  # fmt: skip
    assert "openings" not in facts["dealer"]


def test_cells_stay_once_noise_is_drawn(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(brief(at) | {"sector": "office" if at else "field"} for at in range(12))
    operator = house.everybody
    collector, path = operator.at_collector(), operator.path
    collector.post(f"{path}/close", {"by": ["sector"], "allow_small": True})
    collector.get(f"{path}/challenge?dealer=0")
    request = collector.get(f"{path}/closing/request?dealer=0")
    drawn: dict[str, Any] = {
        "dealer": 0,
        "request": ClosingRequest.from_document(house.survey, request).digest,
        "committed": {"drinks": {"office": "11" * 32, "field": "22" * 32}},
    }
    collector.post(f"{path}/challenge", drawn)
    with pytest.raises(ProtocolError, match="noise was drawn"):
        collector.post(f"{path}/close", {"merge_small": True})


def test_more_cells_than_there_is_noise_for_are_refused_before_the_end(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    with patch("jrr.servers.collector.ending.MOST_SUMS", 1):
        for look in (house.everybody.closing.preview, house.everybody.close):
            with pytest.raises(ProtocolError, match="at most 1 cells, for which dealers promise"):
                look(Ending(by="sector"))
    assert house.everybody.show()["collector"]["state"] == "open"
    assert house.everybody.close(Ending(by="sector"))["collector"]["settled"]


def test_seeds_are_promised_for_the_cells_that_there_can_be() -> None:
    assert sums_of(asked()) == Sums(announcements=1, questions=1, cells=2)  # office and field
    nothing_open = replace(asked(), questions=asked().questions[1:])
    assert sums_of(nothing_open).cells == 1
    assert sums_of(replace(asked(), capacity=5)).cells == 2  # never fewer than may be told


def test_what_devices_asked_with_goes_with_the_key(tmp_path: Path) -> None:
    """With nonces, whoever computes discrete logarithms later would have all cards."""
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(6)))
    house.everybody.close(Ending())
    with sqlite3.connect(tmp_path / "dealer0" / "dealer.db") as database:
        query = "SELECT count(*), count(serial), count(nonce) FROM seats"
        assert database.execute(query).fetchall() == [(6, 0, 0)]
    assert house.everybody.close(Ending())["collector"]["settled"]


def test_a_dealer_cannot_deny_cards(tmp_path: Path) -> None:
    """It signed them: one that may say which it knows would choose whose answers count."""
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    serial = house.everybody.at_collector().get(
        f"{house.everybody.path}/closing/request?dealer=0&ahead=true"
    )["questions"]["drinks"][""][0]

    def denied(document: dict[str, Any]) -> None:
        if "unknown" in document:
            document["unknown"]["drinks"] = [serial]

    with pytest.raises(ProtocolError, match="denies to know 1 of the cards, which it has signed"):
        closed_by(house, denied)
    with pytest.raises(ArgumentError, match="choose whose answers count"):
        house.everybody.close(Ending(discard_unknown=True))
    assert house.everybody.show()["collector"]["reports"] == 12


def test_the_record_is_read_only_where_it_is_wanted(tmp_path: Path) -> None:
    """It may be of a hundred megabytes, and everybody may ask for the status."""
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(6)))
    house.everybody.close(Ending())
    collector = house.everybody.at_collector()
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        statements.append(statement)

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", note)
    try:
        assert collector.get(house.everybody.path)["settled"]
        assert statements
        assert not any("surveys.record" in one for one in statements)
        collector.get(f"{house.survey.path}/record")
        assert any("surveys.record" in one for one in statements)
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", note)


def test_promises_are_recorded_once(tmp_path: Path) -> None:
    house, _ = begun(tmp_path)
    operator = house.everybody
    collector = operator.at_collector()
    told = collector.get(f"{house.survey.path}/status")["promises"]
    assert told == [operator.dealing[0].get(f"{house.survey.path}/promise")]
    operator.open()  # the same again
    other = [told[0] | {"noise": "00" * 32}]
    for promises, words in (
        (other, "open with other promises"),
        ([], "one from each dealer"),
        ([told[0] | {"cards": "00" * 32}], "ristretto255"),
        ([{}], "promises are not acceptable"),
    ):
        with pytest.raises(ProtocolError, match=words):
            collector.post(f"{operator.path}/open", {"n": None, "promises": promises})


@pytest.mark.parametrize("dealers", [1, 2])
def test_files_carry_it_in_two_rounds(dealers: int, tmp_path: Path) -> None:
    """In different hands: what dealers commit to goes back before slots are drawn."""
    house = House(asked(dealers), tmp_path)
    house.answered(map(brief, range(12)))
    mine = house.operator()
    hands = [house.operator(at, collector=False) for at in range(dealers)]

    def brought(requests: Mapping[int, Any]) -> list[dict[str, Any]]:
        """What each dealer's operator brings back."""
        endings = [Ending(request=requests[at]) for at in range(dealers)]
        replies = [hand.close(one) for hand, one in zip(hands, endings, strict=True)]
        return [dealer_sums(next(iter(reply.values()))) for reply in replies]

    requests = mine.close(Ending())["collector"]["requests"]
    commitments = brought(requests)
    assert set(commitments[0]) == {"request", "committed"}
    assert brought(requests) == commitments  # nothing was told: the same again
    with pytest.raises(ArgumentError, match="request must say where to write"):
        mine.close(Ending(sums=commitments, carries_requests=False))
    second = mine.close(Ending(sums=commitments))["collector"]["requests"]
    assert mine.close(Ending(sums=commitments))["collector"]["requests"] == second  # one draw
    sums = brought(second)
    assert brought(second) == sums
    mine.close(Ending(sums=sums))
    assert "estimate" in mine.estimates()["drinks"]
    record = mine.at_collector().get(f"{house.survey.path}/record")
    assert check_record(house.survey, record) == [12] * dealers


def test_commitments_are_for_the_cards_that_are_named(tmp_path: Path) -> None:
    """Else a dealer would be blamed that committed before somebody's answers were deleted."""
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    mine, dealers = house.operator(), house.operator(0, collector=False)
    requests = mine.close(Ending())["collector"]["requests"]
    told = dealer_sums(dealers.close(Ending(request=requests[0]))["dealer"])
    serial = requests[0]["request"]["questions"]["drinks"][""][0]
    mine.at_collector().post(f"{mine.path}/discard", {"serials": {"drinks": [serial]}})
    with pytest.raises(ProtocolError, match="has committed for other cards"):
        mine.close(Ending(sums=[told]))
    for damaged in ({}, {"request": requests[0]}, requests[0]["request"]):
        with pytest.raises(DamagedError, match="the file for this dealer"):
            dealers.close(Ending(request=damaged))
    assert house.everybody.close(Ending())["collector"]["settled"]


def test_two_announcements_are_checked_each(tmp_path: Path) -> None:
    """As many sums as were planned, each with a draw of its own, in one record."""
    survey = twice_asked()
    assert survey.announcements == 2
    assert survey.dealing.is_verified  # unless told otherwise
    house = House(survey, tmp_path)
    house.answered(map(brief, range(12)))
    operator, path = house.everybody, survey.path
    operator.close(Ending())
    collector = operator.at_collector()
    first = collector.get(f"{path}/record")
    assert check_record(survey, first) == [12]
    wish = Ending(announcement=2, by="sector")

    def moved(document: dict[str, Any]) -> None:
        if "sums" in document:
            document["sums"]["questions"]["drinks"]["field"]["sum"] += 1

    with pytest.raises(JrrError, match="dealer: drinks, field: the sum is not that"):
        closed_by(house, moved, wish=wish)
    assert collector.get(f"{path}/record") == first
    operator.close(wish)
    both = collector.get(f"{path}/record")
    assert check_record(survey, both) == [12, 12]
    assert both["dealers"][0] == first["dealers"][0]
    assert both["dealers"][1]["nonce"] != first["dealers"][0]["nonce"]
    document, file = tmp_path / "survey.json", tmp_path / "record.json"
    document.write_bytes(survey.to_bytes())
    file.write_text(json.dumps(both))
    command = ["audit", "cards", str(document), "--record", str(file), "--json"]
    found = json.loads(CliRunner().invoke(cli, command).output)
    assert found["cards"] == {"dealer": 12, "dealer, announcement 2": 12}
    swapped = both | {"dealers": both["dealers"][::-1]}
    with pytest.raises(IntegrityError, match="of another announcement"):
        check_record(survey, swapped)
    with sqlite3.connect(tmp_path / "dealer0" / "dealer.db") as database:
        query = "SELECT count(nonce) FROM seats"  # kept until the last sums were told
        assert database.execute(query).fetchone() == (0,)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"closed_deck": True}, "only masks whose sums are announced"),
        ({"enrol": True}, "left out where people enrol first"),
        ({"nobody": True}, "left out but where dealers deal the cards"),
    ],
)
def test_what_cannot_be_verified_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        asked(**more)


def test_others_are_as_before(tmp_path: Path) -> None:
    survey = asked(verified=False)
    assert b"verified" not in survey.to_bytes()
    house = House(survey, tmp_path)
    house.answered(map(brief, range(12)))
    with pytest.raises(ProtocolError, match="not verified"):
        house.everybody.dealing[0].get(f"{survey.path}/promise")
    assert house.everybody.close(Ending())["collector"]["settled"]
    with pytest.raises(ProtocolError, match="not verified"):
        house.everybody.at_collector().get(f"{survey.path}/record")


def test_the_report_says_of_a_liar_what_the_plan_says(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    house.everybody.close(Ending())
    report = survey_report(house.everybody, ReportWish())
    mechanism = house.survey.mechanisms["drinks"]
    assert report.one_liar == (liar_bias(mechanism, verified=True), liar_bias(mechanism))


def test_a_changed_record_is_refused(tmp_path: Path) -> None:
    house = House(asked(), tmp_path)
    house.answered(map(brief, range(12)))
    house.everybody.close(Ending())
    record = house.everybody.at_collector().get(f"{house.survey.path}/record")
    serial = record["dealers"][0]["request"]["questions"]["drinks"][""][0]

    def left_out(part: dict[str, Any]) -> None:
        part["request"]["questions"]["drinks"][""].remove(serial)

    def forged(part: dict[str, Any]) -> None:
        stored = part["cards"]["drinks"][serial]
        part["cards"]["drinks"][serial] = stored[:128] + base(3).hex()

    def exchanged(part: dict[str, Any]) -> None:
        """One card becomes a person more and another one less: the sum is as it was."""
        cards = part["cards"]["drinks"]
        for one, change in zip(sorted(cards)[:2], (plus, minus), strict=True):
            stored = bytes.fromhex(cards[one])
            cards[one] = (stored[:64] + change(stored[64:], base(1))).hex()

    other = deepcopy(record)
    exchanged(other["dealers"][0])
    with pytest.raises(IntegrityError, match=f"dealer: drinks: {SIGNED}"):
        check_record(house.survey, other)

    def of_fewer(part: dict[str, Any]) -> None:
        part["sums"]["questions"]["drinks"][""]["cards"] -= 1

    other = deepcopy(record)
    of_fewer(other["dealers"][0])
    with pytest.raises(IntegrityError, match="of other cards than were named"):
        check_record(house.survey, other)

    def another_nonce(part: dict[str, Any]) -> None:
        part["nonce"] = "00" * 32

    def no_point(part: dict[str, Any]) -> None:
        part["cards"]["drinks"][serial] = part["cards"]["drinks"][serial][:128] + "01" + "00" * 31

    # A dealer may sign what is no point: added to others, it would take them all away.
    other = deepcopy(record)
    no_point(other["dealers"][0])
    with (
        patch("jrr.dealing.verified.sums.check_signature", lambda *_: None),
        pytest.raises(IntegrityError, match="dealer: a point must be of ristretto255"),
    ):
        check_record(house.survey, other)

    survey, file = tmp_path / "survey.json", tmp_path / "record.json"
    survey.write_bytes(house.survey.to_bytes())

    def audited(told: dict[str, Any]) -> Any:
        file.write_text(json.dumps(told))
        arguments = ["audit", "cards", str(survey), "--record", str(file), "--json"]
        return CliRunner().invoke(cli, arguments)

    found = audited(record)
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["cards"] == {"dealer": 12}
    nothing = audited(record | {"dealers": [None]})
    assert json.loads(nothing.output)["cards"] == {"dealer": 0}

    def damaged(part: dict[str, Any]) -> None:
        part["slots"] = None

    other = deepcopy(record)
    damaged(other["dealers"][0])
    with pytest.raises(IntegrityError, match="drinks: what was told is incomplete or damaged"):
        check_record(house.survey, other)
    for change in (left_out, forged, another_nonce):
        other = deepcopy(record)
        change(other["dealers"][0])
        with pytest.raises(IntegrityError, match="dealer: "):
            check_record(house.survey, other)
        assert isinstance(audited(other).exception, IntegrityError | SystemExit)
