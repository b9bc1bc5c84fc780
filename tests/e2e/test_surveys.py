"""Whole surveys over HTTP, on both databases: what is dealt, answered, counted, exported."""

import csv
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from jrr import DRR, JRR, OLH, OUE, RR, Mechanism, tables
from jrr.client.http import Admin
from jrr.client.operator import Operator
from jrr.dealing.kinds import Dealers
from jrr.errors import JrrError
from jrr.mechanisms.unary import Unary
from jrr.protocol.identity import invitation_secret, new_invitation
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey
from tests.e2e import (
    Pair,
    answer_all,
    ask,
    card_body,
    cards_of,
    enrol_all,
    is_problem,
    path_of,
    tally_of,
    upload_body,
)

pytestmark = pytest.mark.slow_variants("postgresql")

DEALT: dict[str, Mechanism] = {
    "jrr": JRR(40, p=0.7, s=0.2),
    "jrr-odd": JRR(41, p=0.7, s=0.2),
    "jrr-k3": JRR(21, p=0.6, s=0.2, k=3),
    "drr": DRR(40, truth=0.5, own=0.1),
    "drr-odd": DRR(41, truth=0.5, own=0.1, k=3),
    "drr-uneven": DRR(20, truth=0.5, own=0.1, k=3, deck=(12, 5, 3)),
    "oue-dealt": OUE(12, q=0.2, s=0.1, coupling="dealt", n=20),
    "oue-odd": OUE(12, q=0.2, s=0.1, coupling="dealt", n=21),
    "olh-joint": OLH(1000, p=0.5, g=8, s=0.3, coupling="joint", n=40),
    "olh-odd": OLH(50, p=0.5, g=8, s=0.3, coupling="joint", n=41),
}


def enrolling_at(pair: Pair) -> Dealers:
    """People enrol first, and cards are dealt to exactly those who did."""
    return Dealers((pair.dealer.url,), enrol_first=True)


def assert_whole_deck(mechanism: Mechanism, cards: Sequence[Any]) -> None:
    """Exactly the cards of one deck, in whatever order."""
    inner = mechanism.inner if isinstance(mechanism, OLH) else mechanism
    if isinstance(inner, Unary):
        rows = [np.frombuffer(bytes.fromhex(card), np.uint8) for card in cards]
        bits = np.unpackbits(np.array(rows), axis=1, bitorder="little")
        ones = bits.sum(axis=0)[: inner.k]
        assert not bits[:, inner.k :].any()
        assert len(cards) == inner.n
        # An odd number of people is dealt from one card more, of which one is left over.
        assert set(ones.tolist()) <= {len(cards) // 2, -(-len(cards) // 2)}
        return
    deck = inner.deal()
    assert deck is not None
    assert Counter(cards) == Counter(int(card) for card in deck)


def assert_counted(
    operator: Operator, mechanism: Mechanism, sent: list[dict[str, Any]], folder: Path, decks: int
) -> None:
    """The server's estimate, both exports and a count of what was sent say the same."""
    found = operator.estimate("answer")
    ours = tally_of(mechanism, sent)
    assert (found["carded"], found["cardless"]) == (ours.n_carded, ours.n_cardless)
    assert found["decks"] == decks
    assert found["mechanism"] == mechanism.to_dict()
    assert found["estimate"] == mechanism.estimate(ours, decks).to_dict()
    path = folder / f"{mechanism.name}-{len(sent)}.parquet"
    path.write_bytes(operator.export("parquet"))
    result = tables.estimate_survey(path)["answer"]
    assert result.header.mechanism == mechanism
    assert result.n_carded == ours.n_carded
    assert result.estimate.to_dict() == found["estimate"]
    table = pq.read_table(path).to_pylist()
    listed = list(csv.DictReader(operator.export("csv").decode().splitlines()))
    assert [set(row) for row in listed] == [set(row) for row in table]
    cards = [row.get("answer_carded") for row in listed]
    assert cards == [_as_csv(row.get("answer_carded")) for row in table]


def _as_csv(flag: bool | None) -> str | None:
    return None if flag is None else "true" if flag else "false"


@pytest.mark.slow_variants("sqlite-jrr", "sqlite-drr-", "sqlite-oue-odd]", "sqlite-olh-joint]")
@pytest.mark.parametrize("name", DEALT)
def test_a_survey_dealt_on_arrival_is_balanced_and_counted_exactly(
    pair: Pair, name: str, tmp_path: Path
) -> None:
    mechanism = DEALT[name]
    n = mechanism.moments.deck
    assert n is not None
    half = n // 2
    survey = pair.survey(mechanism, capacity=2 * n + half)
    operator, people = pair.begin(survey, 2 * n + half)
    blocks = [people[:n], people[n : 2 * n], people[2 * n :]]
    dealt = [cards_of(pair.dealer.url, survey, block) for block in blocks]
    for hands in dealt[:2]:
        assert_whole_deck(mechanism, hands)
    assert len(dealt[2]) == half
    assert operator.show()["dealer"]["seats"] == len(people)
    sent: list[dict[str, Any]] = []
    receipts = answer_all(survey, people, kept=sent)
    assert all(receipt.carded for receipt in receipts)
    # Answering has asked for the cards again: nobody got another one.
    again = [cards_of(pair.dealer.url, survey, block) for block in blocks]
    assert again == dealt
    # Before closing too: the collector needs at least three decks for so many cards.
    assert_counted(operator, mechanism, sent, tmp_path, 3)
    closed = operator.close()
    assert closed["dealer"] == {"state": "closed", "n": None, "burned": True, "decks": 3}
    assert closed["collector"] == {"state": "closed", "reports": len(people), "settled": True}
    assert_counted(operator, mechanism, sent, tmp_path, 3)


def test_cards_of_a_half_used_block_are_part_of_a_deck(sqlite_pair: Pair) -> None:
    mechanism = DRR(40, truth=0.5, own=0.1, k=3, deck=(20, 15, 5))
    survey = sqlite_pair.survey(mechanism, capacity=60)
    _, people = sqlite_pair.begin(survey, 60)
    first = Counter(cards_of(sqlite_pair.dealer.url, survey, people[:40]))
    rest = Counter(cards_of(sqlite_pair.dealer.url, survey, people[40:]))
    assert first == {0: 20, 1: 15, 2: 5}
    assert rest.total() == 20
    assert rest <= first


@pytest.mark.slow_variants("sqlite-oue]")
@pytest.mark.slow_variants("sqlite-olh]")
@pytest.mark.parametrize(
    "mechanism",
    [
        JRR(21, p=0.7, s=0.2),
        DRR(23, truth=0.5, own=0.1, k=3),
        OUE(12, q=0.2, s=0.1, coupling="dealt", n=21),
        OLH(100, p=0.5, g=8, s=0.3, coupling="joint", n=21),
    ],
    ids=["jrr", "drr", "oue", "olh"],
)
def test_enrol_then_deal_to_exactly_those_who_enrolled(
    pair: Pair, mechanism: Mechanism, tmp_path: Path
) -> None:
    survey = pair.survey(mechanism, dealing=enrolling_at(pair), capacity=60)
    operator, people = pair.begin(survey, 40)
    enrolled, late = people[:31], people[31:]
    name = path_of(survey)
    enrol_all(survey, enrolled[:20])
    with pytest.raises(JrrError, match=r"20 have enrolled, at least 2[13] are needed"):
        operator.deal()  # 20 people would be told less than the truth about their privacy
    assert operator.show()["dealer"]["state"] == "enrolling"
    status = ask(pair.dealer.url, "GET", f"{name}/status").json
    assert status == {"state": "enrolling", "n": None, "closes": None}
    early = ask(pair.dealer.url, "POST", f"{name}/cards", card_body(survey, enrolled[0]))
    assert is_problem(early, 425) == "too-early"
    enrol_all(survey, enrolled)  # the first 20 for the second time
    assert operator.show()["dealer"]["seats"] == 31
    assert operator.deal() == 31
    assert operator.deal() == 31
    for server in (pair.dealer, pair.collector):
        status = ask(server.url, "GET", f"{name}/status").json
        assert status == {"state": "open", "n": 31, "closes": None}
    too_late = ask(pair.dealer.url, "POST", f"{name}/seats", card_body(survey, late[0]))
    assert is_problem(too_late, 410) == "closed"
    known = ask(pair.dealer.url, "POST", f"{name}/seats", card_body(survey, enrolled[0]))
    assert known.status == 200
    dealt = survey.by_name["answer"].for_people(31)
    hands = cards_of(pair.dealer.url, survey, enrolled)
    assert_whole_deck(dealt, hands)
    sent: list[dict[str, Any]] = []
    staying = enrolled[:25]  # six drop out
    assert all(receipt.carded for receipt in answer_all(survey, staying, kept=sent))
    # Invited but not enrolled: no card, and the chances of the deck that was dealt.
    assert not any(receipt.carded for receipt in answer_all(survey, late[:4], kept=sent))
    assert operator.close()["dealer"] == {"state": "closed", "n": 31, "burned": True, "decks": 1}
    assert_counted(operator, dealt, sent, tmp_path, 1)
    shown = operator.show()
    assert shown["collector"]["reports"] == 29
    assert shown["collector"]["n"] == 31


def test_enrolment_stops_at_the_capacity(pair: Pair) -> None:
    survey = pair.survey(
        DRR(5, truth=0.5, own=0.1), dealing=enrolling_at(pair), capacity=6, invitations=False
    )
    operator, people = pair.begin(survey, 8)
    enrol_all(survey, people[:6])
    full = ask(pair.dealer.url, "POST", path_of(survey, "seats"), card_body(survey, people[6]))
    assert is_problem(full, 409) == "full"
    assert operator.deal() == 6
    assert not answer_all(survey, people[7:])[0].carded


def test_drop_outs_leave_the_cards_of_others_alone(pair: Pair, tmp_path: Path) -> None:
    mechanism = DRR(41, truth=0.5, own=0.1, k=3)
    survey = pair.survey(mechanism)
    operator, people = pair.begin(survey, 41)
    before = cards_of(pair.dealer.url, survey, people)
    sent: list[dict[str, Any]] = []
    answer_all(survey, people[::2], kept=sent)
    assert cards_of(pair.dealer.url, survey, people) == before
    operator.close()
    assert_counted(operator, mechanism, sent, tmp_path, 1)


def test_whoever_comes_after_the_last_card_answers_without_one(pair: Pair, tmp_path: Path) -> None:
    mechanism = JRR(20, p=0.7, s=0.2)
    survey = pair.survey(mechanism, invitations=False, capacity=20)
    operator, people = pair.begin(survey, 25)
    cards_of(pair.dealer.url, survey, people[:20])  # ten of these never answer
    none_left = ask(
        pair.dealer.url, "POST", path_of(survey, "cards"), card_body(survey, people[20])
    )
    assert is_problem(none_left, 404) == "no-card-left"
    sent: list[dict[str, Any]] = []
    receipts = answer_all(survey, people[10:], kept=sent)
    assert [receipt.carded for receipt in receipts] == [True] * 10 + [False] * 5
    operator.close()
    assert_counted(operator, mechanism, sent, tmp_path, 1)


def test_without_a_dealer_that_answers_people_answer_without_a_card_in_time(pair: Pair) -> None:
    nowhere = Dealers(("http://127.0.0.1:9",))
    survey = pair.survey(DRR(20, truth=0.5, own=0.1), dealing=nowhere)
    operator = Operator(survey, {}, pair.collector.admin)
    operator.install()
    invitations = [new_invitation() for _ in range(5)]
    operator.invite(invitations)
    operator.open()
    people = [invitation_secret(text) for text in invitations]
    start = time.perf_counter()
    receipts = answer_all(survey, people, limits=Limits(700.0, patience=1.0))
    assert not any(receipt.carded for receipt in receipts)
    assert 1.0 <= time.perf_counter() - start < 60.0
    assert operator.show()["collector"]["reports"] == 5
    assert operator.estimate("answer")["cardless"] == 5


def test_after_the_dealer_has_closed_people_answer_without_a_card(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    operator, people = pair.begin(survey, 20)
    assert answer_all(survey, people[:10])[0].carded
    Operator(survey, {0: pair.dealer.admin}).close()
    burned = ask(pair.dealer.url, "POST", path_of(survey, "cards"), card_body(survey, people[0]))
    assert is_problem(burned, 410) == "closed"
    assert not any(receipt.carded for receipt in answer_all(survey, people[10:]))
    found = operator.estimate("answer")
    assert (found["carded"], found["cardless"], found["final"]) == (10, 10, False)


def test_a_repeat_is_fine_and_a_conflict_changes_nothing(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    operator, people = pair.begin(survey, 20)
    where, name = pair.collector.url, path_of(survey, "reports")
    body = upload_body(survey, people[0], 1, carded=True)
    assert ask(where, "POST", name, body).status == 201
    before = operator.export("csv")
    assert ask(where, "POST", name, body).status == 200
    for other in (
        upload_body(survey, people[0], 0, carded=True),
        upload_body(survey, people[0], 1, carded=False),
    ):
        assert is_problem(ask(where, "POST", name, other), 409) == "conflict"
    assert operator.export("csv") == before
    operator.close()
    # Also after the end: the sender may not have heard.
    assert ask(where, "POST", name, body).status == 200
    # Whoever did not answer and whoever sends other answers get one reply.
    assert is_problem(ask(where, "POST", name, other), 410) == "closed"
    late = upload_body(survey, people[1], 1)
    assert is_problem(ask(where, "POST", name, late), 410) == "closed"
    assert operator.export("csv") == before
    assert operator.show()["collector"]["reports"] == 1


def test_every_step_of_the_operator_may_be_repeated(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    operator, people = pair.begin(survey, 20)
    first = cards_of(pair.dealer.url, survey, people)
    operator.install()
    assert operator.open() == {"dealer": "open", "collector": "open"}
    assert cards_of(pair.dealer.url, survey, people) == first
    answer_all(survey, people)
    closed = operator.close()
    assert operator.close() == closed
    assert operator.show()["dealer"] == {
        "survey": survey.hash,
        "state": "closed",
        "n": None,
        "closes": None,
        "invited": 20,
        "seats": 20,
        "announced": 0,
        "burned": True,
    }
    for server in (pair.dealer, pair.collector):
        with pytest.raises(JrrError, match="410"):
            server.admin.post(f"{operator.path}/open", {"n": None})
        with pytest.raises(JrrError, match="410"):
            server.admin.post(f"{operator.path}/invitations", {"names": ["00" * 32]})


def test_groups_are_shown_from_the_smallest_cell_on(pair: Pair, tmp_path: Path) -> None:
    mechanism = DRR(40, truth=0.5, own=0.1)
    groups = {"region": ("north", "south", "sea"), "sex": ("f", "m")}
    survey = pair.survey(mechanism, groups=groups, min_cell=10)
    operator, people = pair.begin(survey, 40)
    regions = ["north"] * 20 + ["south"] * 11 + ["sea"] * 9
    given = [{"region": region, "sex": "fm"[at % 2]} for at, region in enumerate(regions)]
    sent: list[dict[str, Any]] = []
    answer_all(survey, people, groups=given, kept=sent)
    operator.close()
    path = f"{operator.path}/estimate?question=answer"
    found = pair.collector.admin.get(f"{path}&by=region")
    assert [group["name"] for group in found["groups"]] == ["north", "south"]
    assert found["groups_too_small"] == 1
    for group in found["groups"]:
        part = [entry for entry in sent if entry["open"]["region"] == group["name"]]
        ours = mechanism.estimate(tally_of(mechanism, part), 1).to_dict()
        assert {name: group[name] for name in ours} == ours
    (gap,) = found["differences"]
    assert (gap["first"], gap["second"]) == ("north", "south")
    north, south = (np.array(group["frequencies"]) for group in found["groups"])
    np.testing.assert_allclose(gap["difference"], north - south)
    exported = tmp_path / "reports.parquet"
    exported.write_bytes(operator.export("parquet"))
    result = tables.estimate_survey(exported, by="sex", min_cell=10)["answer"]
    server = pair.collector.admin.get(f"{path}&by=sex")["groups"]
    assert [group.name for group in result.groups] == [group["name"] for group in server]
    for mine, theirs in zip(result.groups, server, strict=True):
        assert mine.estimate.to_dict() == {k: v for k, v in theirs.items() if k != "name"}
    for wrong in ("by=colour", "by=", "level=1", "level=nan", "level=-1"):
        reply = ask(
            pair.collector.url,
            "GET",
            f"{path}&{wrong}",
            headers={"Authorization": f"Bearer {pair.collector.token}"},
        )
        assert is_problem(reply, 422) == "refused"


def test_an_open_survey_takes_anybody_until_it_is_full(pair: Pair, tmp_path: Path) -> None:
    mechanism = DRR(20, truth=0.5, own=0.1)
    survey = pair.survey(mechanism, invitations=False, capacity=30)
    operator, people = pair.begin(survey, 31)
    sent: list[dict[str, Any]] = []
    receipts = answer_all(survey, people[:30], kept=sent)
    assert all(receipt.carded for receipt in receipts)
    one_more = upload_body(survey, people[30])
    reply = ask(pair.collector.url, "POST", path_of(survey, "reports"), one_more)
    assert is_problem(reply, 409) == "full"
    for server in (pair.dealer, pair.collector):
        with pytest.raises(JrrError, match="409"):
            server.admin.post(f"{operator.path}/invitations", {"names": ["00" * 32]})
    assert operator.close()["dealer"]["decks"] == 2
    assert_counted(operator, mechanism, sent, tmp_path, 2)


@pytest.mark.parametrize("mechanism", [RR(2, 1.0), OUE(12, 2.0), OLH(100, 2.0)], ids=str)
def test_without_cards_there_is_no_dealer(pair: Pair, mechanism: Mechanism, tmp_path: Path) -> None:
    survey = pair.survey(mechanism)
    operator, people = pair.begin(survey, 60)
    sent: list[dict[str, Any]] = []
    receipts = answer_all(survey, people, kept=sent)
    assert not any(receipt.carded for receipt in receipts)
    operator.close()
    assert_counted(operator, mechanism, sent, tmp_path, 1)
    reply = ask(
        pair.dealer.url,
        "PUT",
        operator.path,
        survey.to_bytes(),
        {"Authorization": f"Bearer {pair.dealer.token}"},
    )
    assert is_problem(reply, 422) == "refused"


def test_an_operator_may_reach_the_dealer_by_another_address(sqlite_pair: Pair) -> None:
    """Behind a proxy, or from inside: people are invited all the same, or it is an error."""
    pair = sqlite_pair
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    inside = Admin(pair.dealer.url.replace("127.0.0.1", "localhost"), pair.dealer.token)
    operator = Operator(survey, {0: inside}, pair.collector.admin)
    operator.install()
    operator.invite([new_invitation() for _ in range(20)])
    shown = operator.show()
    assert shown["dealer"]["invited"] == shown["collector"]["invited"] == 20


def test_the_estimate_of_a_single_report_and_of_none(pair: Pair) -> None:
    for mechanism in (DRR(20, truth=0.5, own=0.1), JRR(21, p=0.7, s=0.2), RR(3, 1.0)):
        survey = pair.survey(mechanism)
        operator, people = pair.begin(survey, 2)
        with pytest.raises(JrrError, match="409"):
            operator.estimate("answer")
        answer_all(survey, people[:1])
        with pytest.raises(JrrError, match="fewer than 5 reports are not shown before the end"):
            operator.estimate("answer")
        operator.close()
        assert operator.estimate("answer")["estimate"]["n"] == 1
        assert json.dumps(operator.estimate("answer"), allow_nan=False)


def test_both_servers_serve_the_same_bytes(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1), title={"en": "¿Ámbar, 漢字, ε?"})
    pair.begin(survey, 2)
    for server in (pair.dealer, pair.collector):
        reply = ask(server.url, "GET", path_of(survey))
        assert reply.body == survey.to_bytes()
        assert reply.kind == "application/json"
        assert Survey.from_bytes(reply.body) == survey
        for path in ("/healthz", "/readyz", "/openapi.json"):
            assert ask(server.url, "GET", path).status == 200
