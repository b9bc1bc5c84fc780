"""Surveys whose card sums are announced: whole surveys over HTTP, and everything refused."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr import MRR
from jrr.cli.app import run
from jrr.client.contributor import Contributor
from jrr.client.ending import Ending, dealer_sums
from jrr.client.http import Admin
from jrr.client.operator import EstimateWish, Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError, JrrError, ProtocolError
from jrr.research.processes import free_port, running
from jrr.survey.survey import Survey
from tests.e2e import (
    Pair,
    Recorder,
    answer_all,
    ask,
    ask_many,
    card_body,
    cards_of,
    enrol_all,
    is_problem,
    path_of,
    proxy,
    tally_of,
    upload_body,
)
from tests.e2e.test_client import bodies
from tests.statistics_rules import P_VALUE

pytestmark = pytest.mark.slow_variants("postgresql")

ANNOUNCED = MRR.for_epsilon(1.0, n=50, announced=True)
THREE = MRR.for_epsilon(1.0, n=50, announced=True, k=3)
REACH = 60  # noise beyond it has a chance below e^-60


def hands_of(url: str, survey: Survey, people: list[bytes]) -> list[dict[str, Any]]:
    """What the dealer gives: cards and serials."""
    replies = ask_many(url, path_of(survey, "cards"), [card_body(survey, p) for p in people])
    return [reply.json["cards"]["answer"] for reply in replies]


def requested(operator: Operator) -> dict[str, Any]:
    """The cards that came back, as the collector names them to the dealer."""
    found: dict[str, Any] = operator.at_collector().get(f"{operator.path}/closing/request?dealer=0")
    return found


def close_collector(operator: Operator) -> None:
    operator.at_collector().post(f"{operator.path}/close", {})


def told_to(pair: Pair, survey: Survey) -> dict[str, Any]:
    """What the collector keeps of what it was told of the cards."""
    ((text,),) = pair.rows("collector", f"SELECT sums FROM surveys WHERE survey = '{survey.hash}'")
    found: dict[str, Any] = json.loads(text)
    return found


def announced_to(pair: Pair, survey: Survey) -> dict[str, Any]:
    """The announced sums by group."""
    ((one,),) = told_to(pair, survey)["announced"]
    found: dict[str, Any] = one["questions"]["answer"]
    return found


def key_files(pair: Pair, survey: Survey) -> list[Path]:
    return list((pair.dealer.folder / "keys").glob(f"{survey.hash}*.key"))


@pytest.mark.parametrize("mechanism", [ANNOUNCED, THREE], ids=["k=2", "k=3"])
def test_some_never_come_and_some_vanish_with_their_card(pair: Pair, mechanism: MRR) -> None:
    survey = pair.survey(mechanism, capacity=200)
    operator, invited = pair.begin(survey, 200)
    coming = invited[:140]  # 30% never come
    vanishing, answering = coming[:4], coming[4:]  # 3% get a card and are never heard of again
    hands = hands_of(pair.dealer.url, survey, coming)
    serials = [hand["serial"] for hand in hands]
    assert len(set(serials)) == len(coming)  # nobody's card twice
    assert len(
        pair.rows(
            "dealer", f"SELECT DISTINCT block, number FROM seats WHERE survey = '{survey.hash}'"
        )
    ) == len(coming)
    values = [int(at < 40) for at in range(len(answering))]
    sent: list[dict[str, Any]] = []
    assert all(r.carded for r in answer_all(survey, answering, values, kept=sent))
    assert sorted(entry["serials"][0] for entry in sent) == sorted(serials[4:])
    # Before the end there is no estimate, and it is said why.
    waiting = operator.estimates()["answer"]
    assert "hide everything until the dealers announce" in waiting["waits"]
    with pytest.raises(ProtocolError, match="hide everything"):
        operator.estimate("answer")
    closed = operator.close()
    assert closed["collector"] == {"state": "closed", "reports": 136, "settled": True}
    assert closed["dealer"]["state"] == "closed"
    assert operator.close() == closed
    # The sum of exactly the cards that came back, but for noise that is known to be small.
    told = announced_to(pair, survey)[""]
    assert told["cards"] == 136
    masks = np.array([hand["card"] for hand in hands[4:]]).reshape(136, -1).sum(axis=0)
    noise = np.atleast_1d(told["sum"]) - masks
    assert np.abs(noise).max() <= REACH / mechanism.announced_rate
    # The estimate is that of the reports with exactly this sum taken off.
    tally = mechanism.settle(tally_of(mechanism, sent), announced=told["sum"])
    found = operator.estimate("answer")
    assert (found["carded"], found["cardless"], found["final"]) == (136, 0, True)
    assert found["estimate"] == mechanism.estimate(tally, found["decks"]).to_dict()
    # The noise of a sum has the tails of Laplace: beyond ten standard errors, below 1e-8.
    assert abs(found["estimate"]["frequencies"][1] - 40 / 136) < 10 * found["estimate"]["stderr"][1]
    # Nothing is left that opens a card, or that joins the two servers.
    assert not key_files(pair, survey)
    query = f"SELECT wrapped_key FROM surveys WHERE survey = '{survey.hash}'"
    assert pair.rows("dealer", query) == [(None,)]
    rows = pair.rows("collector", f"SELECT * FROM serials WHERE survey = '{survey.hash}'")
    assert rows == []
    for person in (vanishing[0], invited[150]):
        gone = ask(pair.dealer.url, "POST", path_of(survey, "cards"), card_body(survey, person))
        assert is_problem(gone, 410) == "closed"


@pytest.mark.slow
@pytest.mark.statistical
def test_over_repeated_surveys_estimates_are_unbiased_and_as_accurate_as_planned(
    sqlite_pair: Pair,
) -> None:
    """30% never come and 3% vanish with a card, 30 times."""
    mechanism, runs, errors = MRR.for_epsilon(1.0, n=60, announced=True), 30, []
    for _ in range(runs):
        survey = sqlite_pair.survey(mechanism, capacity=60)
        operator, people = sqlite_pair.begin(survey, 60)
        hands_of(sqlite_pair.dealer.url, survey, people[:2])
        answer_all(survey, people[2:42], [int(at < 10) for at in range(40)])
        operator.close()
        found = operator.estimate("answer")["estimate"]
        expected = float(np.sqrt(mechanism.variance([30, 10])[1])) / 40
        assert found["stderr"][1] == pytest.approx(expected)
        errors.append((found["frequencies"][1] - 10 / 40) / expected)
    assert abs(sum(errors)) / np.sqrt(runs) < stats.norm.isf(P_VALUE / 2)
    squares = float(np.square(errors).sum())
    law = stats.chi2(runs)
    assert law.ppf(P_VALUE / 2) < squares < law.isf(P_VALUE / 2)


def test_who_found_no_dealer_has_no_serial_and_counts(pair: Pair) -> None:
    survey = pair.survey(ANNOUNCED, capacity=20, invitations=False)
    operator, people = pair.begin(survey, 30)
    hands_of(pair.dealer.url, survey, people[:20])  # all there are; ten never answer
    sent: list[dict[str, Any]] = []
    receipts = answer_all(survey, people[10:], kept=sent)
    assert [receipt.carded for receipt in receipts] == [True] * 10 + [False] * 10
    assert all(("serials" in entry) == entry["carded"] for entry in sent)
    operator.close()
    found = operator.estimate("answer")
    assert (found["carded"], found["cardless"]) == (10, 10)


def test_when_nobody_has_a_card_no_sum_is_needed(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(ANNOUNCED)
    operator, people = sqlite_pair.begin(survey, 20)
    where = path_of(survey, "reports")
    for secret in people:
        body = upload_body(survey, secret, 1)
        assert ask(sqlite_pair.collector.url, "POST", where, body).status == 201
    operator.close()
    assert operator.estimate("answer")["cardless"] == 20


def test_reports_that_do_not_fit_the_serials(pair: Pair) -> None:
    survey = pair.survey(ANNOUNCED)
    operator, people = pair.begin(survey, 10)
    hands = hands_of(pair.dealer.url, survey, people)
    where, url = path_of(survey, "reports"), pair.collector.url
    serials = [hands[0]["serial"]]
    for body in (
        upload_body(survey, people[0], 1, carded=True),
        upload_body(survey, people[0], 1, carded=False, serials=serials),
        upload_body(survey, people[0], 1, carded=True, serials=[]),
        upload_body(survey, people[0], 1, carded=True, serials=[None]),
        upload_body(survey, people[0], 1, carded=True, serials=serials * 2),
        upload_body(survey, people[0], 1, carded=True, serials=[serials[0].upper()]),
        upload_body(survey, people[0], 1, carded=True, serials=[serials[0][:-2]]),
        upload_body(survey, people[0], 1, carded=True, serials=serials[0]),
        # Outside the clamp; and numbers that nobody makes without a card.
        upload_body(survey, people[0], ANNOUNCED.limit + 2, carded=True, serials=serials),
        upload_body(survey, people[0], -ANNOUNCED.limit - 1, carded=True, serials=serials),
        upload_body(survey, people[0], 2),
        upload_body(survey, people[0], -1),
    ):
        assert is_problem(ask(url, "POST", where, body), 422) == "refused"
    good = upload_body(survey, people[0], 1, carded=True, serials=serials)
    assert [ask(url, "POST", where, good).status for _ in range(2)] == [201, 200]
    # The same card under another name, and another card under the same name.
    thief = upload_body(survey, people[1], 1, carded=True, serials=serials)
    assert is_problem(ask(url, "POST", where, thief), 409) == "serial-used"
    other = upload_body(survey, people[0], 1, carded=True, serials=[hands[2]["serial"]])
    assert is_problem(ask(url, "POST", where, other), 409) == "conflict"
    assert operator.show()["collector"]["reports"] == 1


def test_only_masked_surveys_with_sums_have_serials(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(MRR.for_epsilon(1.0, n=20, announced=False))
    _, people = sqlite_pair.begin(survey, 20)
    assert set(hands_of(sqlite_pair.dealer.url, survey, people[:1])[0]) == {"card"}
    body = upload_body(survey, people[0], 1, carded=True, serials=["00" * 16])
    reply = ask(sqlite_pair.collector.url, "POST", path_of(survey, "reports"), body)
    assert is_problem(reply, 422) == "refused"


def test_what_the_dealer_refuses_to_announce(pair: Pair) -> None:
    survey = pair.survey(ANNOUNCED, min_cell=5, groups={"of": ("a", "b")})
    operator, people = pair.begin(survey, 50)
    answer_all(survey, people[:20], groups=[{"of": "a"}] * 20)
    hands_of(pair.dealer.url, survey, people[20:25])
    dealer = pair.dealer.admin
    # Requests are for the end: until then more reports may come.
    with pytest.raises(ProtocolError, match="must be closed first"):
        requested(operator)
    close_collector(operator)
    request = requested(operator)
    first = request["questions"]["answer"][""]
    assert len(first) == 20
    other = pair.survey(ANNOUNCED)

    def with_first(*serials: str, by: Sequence[str] = (), group: str = "") -> dict[str, Any]:
        questions = {"answer": {group: list(serials)}}
        return {"survey": survey.hash, "announcement": 1, "by": by, "questions": questions}

    def close(asked: object) -> Any:
        return dealer.post(f"{operator.path}/close", {"request": asked})

    for document, reason in (
        (with_first(*first[1:], "ab" * 16), "1 that nobody was given"),
        (with_first(*first, first[0]), "got 1 named again"),
        (with_first(*first[:4]), "at least 5"),
        (with_first(), "got none: a sum is told once, so nothing was announced"),
        (with_first(*first, by=["of"]), "groups of the grouping"),
        (with_first(*first[:4], by=["of"], group="a"), "at least 5 .* in the group 'a'"),
        (with_first(*first, by=["size"]), "by must be"),
        ({**request, "survey": other.hash}, "of this survey"),
        ({**request, "questions": {}}, "exactly .'answer'."),
        ({**request, "questions": {"answer": [first]}}, "groups of the grouping"),
        ({**request, "questions": {"answer": {"": [1]}}}, "32 hexadecimal digits"),
        ({**request, "questions": {"answer": {"": "no list"}}}, "must be a list"),
        (None, "the request with the cards that came back must be given"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            close(document)
    wrong = Admin(pair.dealer.url, "wrong")
    with pytest.raises(ProtocolError, match="401"):
        wrong.post(f"{operator.path}/close", {"request": request})
    # None of this has announced anything, or ended the survey.
    shown = operator.show()["dealer"]
    assert (shown["state"], shown["announced"]) == ("open", False)
    told = close(request)
    assert told["sums"]["questions"]["answer"][""]["cards"] == 20
    # Once: the same request is told the same, in whatever order; others nothing.
    for again in (request, with_first(*first[::-1])):
        assert close(again) == told
    for another in (with_first(*first[1:]), with_first()):
        with pytest.raises(ProtocolError, match="announced for another request"):
            close(another)
    assert operator.close()["collector"]["settled"]
    assert operator.estimate("answer")["carded"] == 20
    # Once it has its sum, the collector names nobody and takes no other sum.
    with pytest.raises(ProtocolError, match="serial numbers are forgotten"):
        requested(operator)
    changed = told_to(pair, survey)
    (changed["announced"],) = changed["announced"]  # as an operator brings it
    changed["announced"][0]["questions"]["answer"][""]["sum"] += 1
    with pytest.raises(ProtocolError, match="other sums are here"):
        pair.collector.admin.post(f"{operator.path}/sums", changed)


def test_a_sum_of_other_reports_is_refused_by_the_collector(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    survey = pair.survey(ANNOUNCED)
    operator, people = pair.begin(survey, 20)
    answer_all(survey, people)
    close_collector(operator)
    request = requested(operator)
    request["questions"]["answer"][""].pop()
    told = pair.dealer.admin.post(f"{operator.path}/close", {"request": request})
    sums: dict[str, Any] = {"announced": [told["sums"]], "undealt": {}, "decks": None}
    with pytest.raises(ProtocolError, match="of other reports"):
        pair.collector.admin.post(f"{operator.path}/sums", sums)
    with pytest.raises(ProtocolError, match="sums of the cards are not here"):
        operator.estimate("answer")


def test_a_report_with_a_made_up_serial_can_be_left_out(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    survey = pair.survey(ANNOUNCED)
    operator, people = pair.begin(survey, 20)
    answer_all(survey, people[1:], [1] * 19)
    liar = upload_body(survey, people[0], ANNOUNCED.limit, carded=True, serials=["ab" * 16])
    assert ask(pair.collector.url, "POST", path_of(survey, "reports"), liar).status == 201
    with pytest.raises(ProtocolError, match="1 of the serials to nobody: nothing was closed"):
        operator.close()
    assert {facts["state"] for facts in operator.show().values()} == {"open"}
    closed = operator.close(Ending(discard_unknown=True))
    assert closed["collector"]["settled"]
    assert (closed["collector"]["discarded"], closed["collector"]["reports"]) == (1, 19)
    assert operator.estimate("answer")["carded"] == 19


def test_a_small_group_does_not_keep_back_the_others(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(ANNOUNCED, min_cell=5, groups={"of": ("a", "b")})
    operator, people = sqlite_pair.begin(survey, 20)
    answer_all(survey, people, groups=[{"of": "b" if at == 0 else "a"} for at in range(20)])
    with pytest.raises(ProtocolError, match=r"nothing was closed.*--discard-small"):
        operator.close(Ending(by="of"))
    closed = operator.close(Ending(by="of", discard_small=True))
    assert (closed["collector"]["discarded"], closed["collector"]["reports"]) == (1, 19)
    assert operator.estimate("answer")["carded"] == 19


def test_too_few_can_be_given_up(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    survey = pair.survey(ANNOUNCED, min_cell=10)
    operator, people = pair.begin(survey, 20)
    answer_all(survey, people[:9])
    with pytest.raises(ProtocolError, match=r"at least 10 .* got 9; nothing was closed"):
        operator.close()
    assert {facts["state"] for facts in operator.show().values()} == {"open"}
    operator.close(Ending(without_sum=True))
    assert not key_files(pair, survey)
    with pytest.raises(ProtocolError, match="sums of the cards are not here"):
        operator.estimate("answer")
    with pytest.raises(ProtocolError, match="no sum was announced"):
        operator.close()


def test_results_by_group_need_sums_by_group(pair: Pair) -> None:
    regions = ("north", "south", "sea")
    survey = pair.survey(ANNOUNCED, groups={"region": regions, "age": ("old", "young")})
    operator, people = pair.begin(survey, 50)
    # Nobody comes from the sea, and one group is one person: that sum is not told.
    places = [{"region": regions[at % 2], "age": "old" if at else "young"} for at in range(40)]
    sent: list[dict[str, Any]] = []
    answer_all(survey, people[:40], groups=places, kept=sent)
    with pytest.raises(ProtocolError, match=r"at least 5 .* in the group .young."):
        operator.close(Ending(by="age"))
    operator.close(Ending(by="region"))
    found = operator.estimate("answer", EstimateWish(by="region"))
    assert [group["name"] for group in found["groups"]] == ["north", "south"]
    told = announced_to(pair, survey)
    for group in found["groups"]:
        mine = [entry for entry in sent if entry["open"]["region"] == group["name"]]
        tally = ANNOUNCED.settle(tally_of(ANNOUNCED, mine), announced=told[group["name"]]["sum"])
        expected = ANNOUNCED.estimate(tally).to_dict()
        assert group["counts"] == expected["counts"]
        assert group["stderr"] == expected["stderr"]
    # Everybody together has the noise of both sums.
    whole = ANNOUNCED.settle(
        tally_of(ANNOUNCED, sent), announced=[told["north"]["sum"], told["south"]["sum"]]
    )
    assert found["estimate"] == ANNOUNCED.estimate(whole, found["decks"]).to_dict()
    assert operator.estimate("answer")["estimate"] == found["estimate"]
    with pytest.raises(ProtocolError, match="results by age need a sum of the cards of each"):
        operator.estimate("answer", EstimateWish(by="age"))


def test_enrolled_people_are_dealt_independent_cards_too(pair: Pair) -> None:
    survey = pair.survey(
        MRR.for_epsilon(1.0, n=11, announced=True),
        dealing=Dealers((pair.dealer.url,), enrol_first=True),
        capacity=40,
    )
    operator, people = pair.begin(survey, 30)
    enrol_all(survey, people[:20])
    assert operator.deal() == 20
    answer_all(survey, people[:17])
    operator.close()
    assert operator.estimate("answer")["carded"] == 17


# -- closed decks --------------------------------------------------------------------------


@pytest.mark.parametrize("enrols", [False, True], ids=["arrival", "enrol"])
def test_what_nobody_fetched_of_a_closed_deck_is_taken_off(pair: Pair, enrols: bool) -> None:
    mechanism = MRR.for_epsilon(1.0, n=40, announced=False)
    dealing = Dealers((pair.dealer.url,), enrol_first=enrols)
    survey = pair.survey(mechanism, dealing=dealing, capacity=120)
    operator, people = pair.begin(survey, 70)
    if enrols:
        enrol_all(survey, people)
        operator.deal()
    hands = hands_of(pair.dealer.url, survey, people[:60])  # ten never ask
    sent: list[dict[str, Any]] = []
    answer_all(survey, people[:58], kept=sent)  # and two vanish
    before = operator.estimate("answer")["estimate"]
    closed = operator.close()
    undealt = told_to(pair, survey)["undealt"]["answer"]
    assert undealt["cards"] == (10 if enrols else 80 - 60)
    assert operator.close() == closed
    dealt = survey.sensitive[0].for_people(70)
    tally = dealt.settle(tally_of(dealt, sent), undealt=(undealt["sum"], undealt["cards"]))
    decks = 1 if enrols else 2
    found = operator.estimate("answer")
    assert found["estimate"] == dealt.estimate(tally, decks).to_dict()
    # Only the two that vanished are lost: the error bars say so.
    assert found["estimate"]["stderr"][0] < before["stderr"][0]
    # Cards and what is left of them add up to whole decks, whose sums are small.
    total = sum(hand["card"] for hand in hands) + undealt["sum"]
    assert abs(total) <= decks * REACH / mechanism.total_rate
    assert not key_files(pair, survey)


# -- servers that stop, and backups --------------------------------------------------------


@pytest.mark.slow
def test_after_a_restart_and_from_a_backup_there_is_one_announcement(tmp_path: Path) -> None:
    with running("collector", tmp_path / "c") as collector:
        folder, port = tmp_path / "d", free_port()
        with running("dealer", folder, port=port) as dealer:
            databases = dict.fromkeys(("dealer", "collector"), "")  # read by nobody
            pair = Pair(dealer, collector, databases)
            survey = pair.survey(ANNOUNCED)
            operator, people = pair.begin(survey, 30)
            answer_all(survey, people[:20])
            close_collector(operator)
            request = requested(operator)
            with (
                closing(sqlite3.connect(folder / "dealer.db")) as before,
                closing(sqlite3.connect(tmp_path / "backup.db")) as backup,
            ):
                before.backup(backup)
            fewer = json.loads(json.dumps(request))
            fewer["questions"]["answer"][""].pop()
            told = dealer.admin.post(f"{operator.path}/close", {"request": request})
        with running("dealer", folder, port=port) as dealer:  # a restart
            assert dealer.admin.post(f"{operator.path}/close", {"request": request}) == told
            with pytest.raises(ProtocolError, match="announced for another request"):
                dealer.admin.post(f"{operator.path}/close", {"request": fewer})
        for more in folder.glob("dealer.db*"):
            more.unlink()
        shutil.copy(tmp_path / "backup.db", folder / "dealer.db")
        with running("dealer", folder, port=port) as dealer:  # as if nothing had been announced
            assert dealer.admin.get(operator.path)["state"] == "open"
            for document in (request, fewer):
                with pytest.raises(ProtocolError, match="burned"):
                    dealer.admin.post(f"{operator.path}/close", {"request": document})
            body = card_body(survey, people[0])
            gone = ask(dealer.url, "POST", path_of(survey, "cards"), body)
            assert is_problem(gone, 410) == "closed"
            # The collector can still be given what was announced.
            sums: dict[str, Any] = {"announced": [told["sums"]], "undealt": {}, "decks": None}
            collector.admin.post(f"{operator.path}/sums", sums)
            assert operator.estimate("answer")["carded"] == 20


def test_servers_in_different_hands_carry_requests_and_sums(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    survey = pair.survey(ANNOUNCED)
    both, people = pair.begin(survey, 20)
    answer_all(survey, people)
    collectors = Operator(survey, {}, pair.collector.admin)
    dealers = Operator(survey, both.dealing)
    with pytest.raises(ArgumentError, match="where to write the serials for the dealer's operator"):
        collectors.close(Ending(carries_requests=False))
    with pytest.raises(ArgumentError, match="request must be given to a dealer alone"):
        dealers.close()
    assert {facts["state"] for facts in both.show().values()} == {"open"}
    closed = collectors.close()["collector"]
    assert (closed["state"], closed["settled"]) == ("closed", False)
    request = closed["requests"][0]
    assert request == requested(both)
    told = dealers.close(Ending(request=request))["dealer"]
    assert told["state"] == "closed"
    assert not key_files(pair, survey)
    with pytest.raises(JrrError, match="not here"):
        both.estimate("answer")
    sums = [dealer_sums(told)]
    for _ in range(2):
        assert collectors.close(Ending(sums=sums))["collector"]["settled"]
    assert both.estimate("answer")["carded"] == 20


def test_files_carry_requests_and_sums(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = sqlite_pair
    survey = pair.survey(ANNOUNCED)
    operator, people = pair.begin(survey, 20)
    answer_all(survey, people)
    file, request, sums = (tmp_path / name for name in ("survey.json", "request", "sums"))
    file.write_bytes(survey.to_bytes())

    def close(*arguments: object) -> str:
        code = run(["survey", "close", str(file), *map(str, arguments), "--yes"])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return shown.out

    collector = ("--collector-token", pair.collector.token)
    dealer = ("--dealer-token", pair.dealer.token)
    close(*collector, "--request", request)
    assert "closed" in close(*dealer, "--request", request, "--sums", sums)
    assert request.stat().st_mode & 0o077 == 0  # it joins the two servers, until burned
    with pytest.raises(JrrError, match="not here"):
        operator.estimate("answer")
    for _ in range(2):
        close(*collector, "--sums", sums)
    assert operator.estimate("answer")["carded"] == 20


# -- the contributor's side ----------------------------------------------------------------


def test_the_card_is_fetched_when_sending_and_the_coin_is_drawn_once(
    pair: Pair, tmp_path: Path
) -> None:
    """However often replies are lost, one report travels; and no card before there is an answer."""
    seen = {"dealer": Recorder(), "collector": Recorder()}
    with (
        proxy(pair.dealer.url, seen["dealer"]) as dealer,
        proxy(pair.collector.url, seen["collector"]) as collector,
    ):
        survey = pair.survey(ANNOUNCED, dealing=Dealers((dealer,)), collector=collector)
        operator = Operator(survey, {0: pair.dealer.admin}, pair.collector.admin)
        operator.install()
        (invitation,) = new_invitations(1)
        operator.invite([invitation])
        operator.open()
        person = Contributor(survey.link, invitation, limit=5.0, patience=20, state=tmp_path)
        person.check_ready()
        assert operator.show()["dealer"]["seats"] == 0
        seen["dealer"].drop_replies = seen["collector"].drop_replies = 2
        assert person.answer("answer 1").carded
        assert person.answer("answer 0").before  # whatever is said now: the report is made
        sent = bodies(seen["collector"])
        assert len(sent) == 3  # nothing of a received report is left to be sent once more
        assert len(set(sent)) == 1
        assert seen["dealer"].sent.count(b"POST ") == 3
        assert operator.show()["dealer"]["seats"] == 1


def test_serials_of_people_have_nothing_in_common(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(ANNOUNCED)
    _, people = sqlite_pair.begin(survey, 20)
    hands = hands_of(sqlite_pair.dealer.url, survey, people)
    serials = [hand["serial"] for hand in hands]
    assert len(set(serials)) == 20
    halves = {serial[:16] for serial in serials} | {serial[16:] for serial in serials}
    assert len(halves) == 40
    assert cards_of(sqlite_pair.dealer.url, survey, people) == [hand["card"] for hand in hands]
