"""Campaigns whose card sums are announced: whole surveys over HTTP, and everything refused."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr import MRR
from jrr.cli.app import run
from jrr.client.closing import Ending
from jrr.client.contributor import Contributor
from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.errors import JrrError, ProtocolError
from jrr.research.processes import free_port, running
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.identity import invitation_secret
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
    link_of,
    path_of,
    proxy,
    report_body,
    tally_of,
)
from tests.e2e.test_client import bodies
from tests.statistics_rules import P_VALUE

pytestmark = pytest.mark.slow_variants("postgresql")

ANNOUNCED = MRR.for_epsilon(1.0, n=50, announced=True)
THREE = MRR.for_epsilon(1.0, n=50, announced=True, k=3)
REACH = 60  # noise beyond it has a chance below e^-60


def hands_of(url: str, campaign: Campaign, people: list[bytes]) -> list[dict[str, Any]]:
    """What the dealer gives: cards and serials."""
    replies = ask_many(url, path_of(campaign, "cards"), [card_body(campaign, p) for p in people])
    return [reply.json for reply in replies]


def named(operator: Operator, dealer: int = 0, by: str | None = None) -> dict[str, Any]:
    assert operator.collector is not None
    suffix = "" if by is None else f"&by={by}"
    found: dict[str, Any] = operator.collector.get(
        f"{operator.path}/serials?dealer={dealer}{suffix}"
    )
    return found


def close_collector(operator: Operator) -> None:
    assert operator.collector is not None
    operator.collector.post(f"{operator.path}/close", {"decks": None})


def key_files(pair: Pair, campaign: Campaign) -> list[Path]:
    return list((pair.dealer.folder / "keys").glob(f"{campaign.hash}*.key"))


@pytest.mark.parametrize("mechanism", [ANNOUNCED, THREE], ids=["k=2", "k=3"])
def test_some_never_come_and_some_vanish_with_their_card(pair: Pair, mechanism: MRR) -> None:
    campaign = pair.campaign(mechanism, capacity=200)
    operator, invited = pair.begin(campaign, 200)
    coming = invited[:140]  # 30% never come
    vanishing, answering = coming[:4], coming[4:]  # 3% get a card and are never heard of again
    hands = hands_of(pair.dealer.url, campaign, coming)
    serials = [hand["serial"] for hand in hands]
    assert len(set(serials)) == len(coming)  # nobody's card twice
    assert len(
        pair.rows(
            "dealer", f"SELECT DISTINCT block, seat FROM seats WHERE campaign = '{campaign.hash}'"
        )
    ) == len(coming)
    values = [int(at < 40) for at in range(len(answering))]
    sent: list[dict[str, Any]] = []
    assert all(r.carded for r in answer_all(campaign, answering, values, kept=sent))
    assert sorted(entry["serials"][0] for entry in sent) == sorted(serials[4:])
    # Before the end there is no estimate, and it is said why.
    summary = operator.summary()
    assert summary.estimate is None
    assert "hide everything until the dealer announces" in str(summary.waits)
    with pytest.raises(ProtocolError, match="hide everything"):
        operator.estimate()
    closed = operator.close()
    assert closed["collector"] == {"state": "closed", "reports": 136, "settled": True}
    assert closed["dealer"]["state"] == "closed"
    assert operator.close() == closed
    # The sum of exactly the cards that came back, but for noise that is known to be small.
    (told,) = [
        json.loads(row[0])["announced"][0]["sums"][""]
        for row in pair.rows(
            "collector", f"SELECT sums FROM campaigns WHERE campaign = '{campaign.hash}'"
        )
    ]
    assert told["cards"] == 136
    masks = np.array([hand["card"] for hand in hands[4:]]).reshape(136, -1).sum(axis=0)
    noise = np.atleast_1d(told["sum"]) - masks
    assert np.abs(noise).max() <= REACH / mechanism.announced_rate
    # The estimate is that of the reports with exactly this sum taken off.
    tally = mechanism.settle(tally_of(mechanism, sent), announced=told["sum"])
    found = operator.estimate()
    assert (found["carded"], found["cardless"], found["final"]) == (136, 0, True)
    assert found["estimate"] == mechanism.estimate(tally, found["decks"]).to_dict()
    # The noise of a sum has the tails of Laplace: beyond ten standard errors, below 1e-8.
    assert abs(found["estimate"]["frequencies"][1] - 40 / 136) < 10 * found["estimate"]["stderr"][1]
    # Nothing is left that opens a card, or that joins the two servers.
    assert not key_files(pair, campaign)
    query = f"SELECT wrapped_key FROM campaigns WHERE campaign = '{campaign.hash}'"
    assert pair.rows("dealer", query) == [(None,)]
    rows = pair.rows("collector", f"SELECT * FROM serials WHERE campaign = '{campaign.hash}'")
    assert rows == []
    for person in (vanishing[0], invited[150]):
        gone = ask(pair.dealer.url, "POST", path_of(campaign, "cards"), card_body(campaign, person))
        assert is_problem(gone, 410) == "closed"


@pytest.mark.slow
@pytest.mark.statistical
def test_over_repeated_surveys_estimates_are_unbiased_and_as_accurate_as_planned(
    sqlite_pair: Pair,
) -> None:
    """30% never come and 3% vanish with a card, 30 times."""
    mechanism, runs, errors = MRR.for_epsilon(1.0, n=60, announced=True), 30, []
    for _ in range(runs):
        campaign = sqlite_pair.campaign(mechanism, capacity=60)
        operator, people = sqlite_pair.begin(campaign, 60)
        hands_of(sqlite_pair.dealer.url, campaign, people[:2])
        answer_all(campaign, people[2:42], [int(at < 10) for at in range(40)])
        operator.close()
        found = operator.estimate()["estimate"]
        expected = float(np.sqrt(mechanism.variance([30, 10])[1])) / 40
        assert found["stderr"][1] == pytest.approx(expected)
        errors.append((found["frequencies"][1] - 10 / 40) / expected)
    assert abs(sum(errors)) / np.sqrt(runs) < stats.norm.isf(P_VALUE / 2)
    squares = float(np.square(errors).sum())
    law = stats.chi2(runs)
    assert law.ppf(P_VALUE / 2) < squares < law.isf(P_VALUE / 2)


def test_who_found_no_dealer_has_no_serial_and_counts(pair: Pair) -> None:
    campaign = pair.campaign(ANNOUNCED, capacity=20, invitations=False)
    operator, people = pair.begin(campaign, 30)
    hands_of(pair.dealer.url, campaign, people[:20])  # all there are; ten never answer
    sent: list[dict[str, Any]] = []
    receipts = answer_all(campaign, people[10:], kept=sent)
    assert [receipt.carded for receipt in receipts] == [True] * 10 + [False] * 10
    assert all(("serials" in entry) == entry["carded"] for entry in sent)
    operator.close()
    found = operator.estimate()
    assert (found["carded"], found["cardless"]) == (10, 10)


def test_when_nobody_has_a_card_no_sum_is_needed(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(ANNOUNCED)
    operator, people = sqlite_pair.begin(campaign, 20)
    where = path_of(campaign, "reports")
    for secret in people:
        body = report_body(campaign, secret, 1)
        assert ask(sqlite_pair.collector.url, "POST", where, body).status == 201
    operator.close()
    assert operator.estimate()["cardless"] == 20


def test_reports_that_do_not_fit_the_serials(pair: Pair) -> None:
    campaign = pair.campaign(ANNOUNCED)
    operator, people = pair.begin(campaign, 10)
    hands = hands_of(pair.dealer.url, campaign, people)
    where, url = path_of(campaign, "reports"), pair.collector.url
    serials = [hands[0]["serial"]]
    for body in (
        report_body(campaign, people[0], 1, carded=True),
        report_body(campaign, people[0], 1, carded=False, serials=serials),
        report_body(campaign, people[0], 1, carded=True, serials=[]),
        report_body(campaign, people[0], 1, carded=True, serials=[None]),
        report_body(campaign, people[0], 1, carded=True, serials=serials * 2),
        report_body(campaign, people[0], 1, carded=True, serials=[serials[0].upper()]),
        report_body(campaign, people[0], 1, carded=True, serials=[serials[0][:-2]]),
        report_body(campaign, people[0], 1, carded=True, serials=serials[0]),
        # Outside the clamp; and numbers that nobody makes without a card.
        report_body(campaign, people[0], ANNOUNCED.limit + 2, carded=True, serials=serials),
        report_body(campaign, people[0], -ANNOUNCED.limit - 1, carded=True, serials=serials),
        report_body(campaign, people[0], 2),
        report_body(campaign, people[0], -1),
    ):
        assert is_problem(ask(url, "POST", where, body), 422) == "refused"
    good = report_body(campaign, people[0], 1, carded=True, serials=serials)
    assert [ask(url, "POST", where, good).status for _ in range(2)] == [201, 200]
    # The same card under another name, and another card under the same name.
    thief = report_body(campaign, people[1], 1, carded=True, serials=serials)
    assert is_problem(ask(url, "POST", where, thief), 409) == "serial-used"
    other = report_body(campaign, people[0], 1, carded=True, serials=[hands[2]["serial"]])
    assert is_problem(ask(url, "POST", where, other), 409) == "conflict"
    assert operator.show()["collector"]["reports"] == 1


def test_only_masked_campaigns_with_sums_have_serials(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(MRR.for_epsilon(1.0, n=20, announced=False))
    _, people = sqlite_pair.begin(campaign, 20)
    assert set(hands_of(sqlite_pair.dealer.url, campaign, people[:1])[0]) == {
        "campaign",
        "n",
        "card",
    }
    body = report_body(campaign, people[0], 1, carded=True, serials=["00" * 16])
    reply = ask(sqlite_pair.collector.url, "POST", path_of(campaign, "reports"), body)
    assert is_problem(reply, 422) == "refused"


def test_what_the_dealer_refuses_to_announce(pair: Pair) -> None:
    campaign = pair.campaign(ANNOUNCED, min_cell=5, covariates={"of": ("a", "b")})
    operator, people = pair.begin(campaign, 50)
    answer_all(campaign, people[:20], covariates=[{"of": "a"}] * 20)
    hands_of(pair.dealer.url, campaign, people[20:25])
    dealer = pair.dealer.admin
    # Naming is for the end: until then more reports may come.
    with pytest.raises(ProtocolError, match="must be closed first"):
        named(operator)
    close_collector(operator)
    names = named(operator)
    first = names["serials"][""]
    assert len(first) == 20
    other = pair.campaign(ANNOUNCED)

    def with_first(*serials: str, by: str | None = None, group: str = "") -> dict[str, Any]:
        return {"campaign": campaign.hash, "by": by, "serials": {group: list(serials)}}

    for document, reason in (
        (with_first(*first[1:], "ab" * 16), "1 that nobody was given"),
        (with_first(*first, first[0]), "got 1 named again"),
        (with_first(*first[:4]), "at least 5"),
        (with_first(*first, by="of"), "groups of their covariate"),
        (with_first(*first[:4], by="of", group="a"), "at least 5 .* in the group 'a'"),
        (with_first(*first, by="size"), "by must be"),
        ({**names, "campaign": other.hash}, "of this campaign"),
        ({**names, "serials": [first]}, "groups of their covariate"),
        ({**names, "serials": {"": [1]}}, "32 hexadecimal digits"),
        ({**names, "serials": {"": "no list"}}, "must be a list"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            dealer.post(f"{operator.path}/announce", document)
    with pytest.raises(ProtocolError, match="serials must be named first"):
        dealer.post(f"{operator.path}/close")
    wrong = Admin(pair.dealer.url, "wrong")
    with pytest.raises(ProtocolError, match="401"):
        wrong.post(f"{operator.path}/announce", names)
    # None of this has announced anything, or ended the campaign.
    assert operator.show()["dealer"]["state"] == "open"
    told = dealer.post(f"{operator.path}/announce", names)
    assert told["sums"][""]["cards"] == 20
    # Once: the same names are told the same, in whatever order; others nothing.
    for again in (names, {**names, "serials": {"": first[::-1]}}):
        assert dealer.post(f"{operator.path}/announce", again) == told
    for another in (with_first(*first[1:]), with_first()):
        with pytest.raises(ProtocolError, match="announced for other serials"):
            dealer.post(f"{operator.path}/announce", another)
    assert operator.close()["collector"]["settled"]
    assert operator.estimate()["carded"] == 20
    # Once it has its sum, the collector names nobody and takes no other sum.
    with pytest.raises(ProtocolError, match="serial numbers are forgotten"):
        named(operator)
    changed = json.loads(json.dumps(told))
    changed["sums"][""]["sum"] += 1
    with pytest.raises(ProtocolError, match="other sums are here"):
        pair.collector.admin.post(
            f"{operator.path}/settle", {"announced": [changed], "undealt": None}
        )


def test_a_sum_of_other_reports_is_refused_by_the_collector(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    campaign = pair.campaign(ANNOUNCED)
    operator, people = pair.begin(campaign, 20)
    answer_all(campaign, people)
    close_collector(operator)
    names = named(operator)
    names["serials"][""] = names["serials"][""][:-1]
    told = pair.dealer.admin.post(f"{operator.path}/announce", names)
    with pytest.raises(ProtocolError, match="of other reports"):
        pair.collector.admin.post(f"{operator.path}/settle", {"announced": [told], "undealt": None})
    with pytest.raises(ProtocolError, match="sum of the cards is not here"):
        operator.estimate()


def test_a_report_with_a_made_up_serial_can_be_left_out(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    campaign = pair.campaign(ANNOUNCED)
    operator, people = pair.begin(campaign, 20)
    answer_all(campaign, people[1:], [1] * 19)
    liar = report_body(campaign, people[0], ANNOUNCED.limit, carded=True, serials=["ab" * 16])
    assert ask(pair.collector.url, "POST", path_of(campaign, "reports"), liar).status == 201
    with pytest.raises(ProtocolError, match="1 of the serials to nobody: nothing was closed"):
        operator.close()
    assert {facts["state"] for facts in operator.show().values()} == {"open"}
    closed = operator.close(ending=Ending(discard_unknown=True))
    assert closed["collector"]["settled"]
    assert (closed["collector"]["discarded"], closed["collector"]["reports"]) == (1, 19)
    assert operator.estimate()["carded"] == 19


def test_a_small_group_does_not_keep_back_the_others(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(ANNOUNCED, min_cell=5, covariates={"of": ("a", "b")})
    operator, people = sqlite_pair.begin(campaign, 20)
    answer_all(campaign, people, covariates=[{"of": "b" if at == 0 else "a"} for at in range(20)])
    with pytest.raises(ProtocolError, match=r"nothing was closed.*--discard-small"):
        operator.close(ending=Ending(by="of"))
    closed = operator.close(ending=Ending(by="of", discard_small=True))
    assert (closed["collector"]["discarded"], closed["collector"]["reports"]) == (1, 19)
    assert operator.estimate()["carded"] == 19


def test_too_few_can_be_given_up(sqlite_pair: Pair) -> None:
    pair = sqlite_pair
    campaign = pair.campaign(ANNOUNCED, min_cell=10)
    operator, people = pair.begin(campaign, 20)
    answer_all(campaign, people[:9])
    with pytest.raises(ProtocolError, match=r"at least 10 .* got 9; nothing was closed"):
        operator.close()
    assert {facts["state"] for facts in operator.show().values()} == {"open"}
    operator.close(ending=Ending(without_sum=True))
    assert not key_files(pair, campaign)
    with pytest.raises(ProtocolError, match="sum of the cards is not here"):
        operator.estimate()
    with pytest.raises(ProtocolError, match="no sum was announced"):
        operator.close()


def test_results_by_group_need_sums_by_group(pair: Pair) -> None:
    regions = ("north", "south", "sea")
    campaign = pair.campaign(ANNOUNCED, covariates={"region": regions, "age": ("old", "young")})
    operator, people = pair.begin(campaign, 50)
    # Nobody comes from the sea, and one group is one person: that sum is not told.
    places = [{"region": regions[at % 2], "age": "old" if at else "young"} for at in range(40)]
    sent: list[dict[str, Any]] = []
    answer_all(campaign, people[:40], covariates=places, kept=sent)
    with pytest.raises(ProtocolError, match=r"at least 5 .* in the group .young."):
        operator.close(ending=Ending(by="age"))
    operator.close(ending=Ending(by="region"))
    found = operator.estimate(by="region")
    assert [group["name"] for group in found["groups"]] == ["north", "south"]
    (row,) = pair.rows(
        "collector", f"SELECT sums FROM campaigns WHERE campaign = '{campaign.hash}'"
    )
    told = json.loads(row[0])["announced"][0]["sums"]
    for group in found["groups"]:
        mine = [entry for entry in sent if entry["covariates"]["region"] == group["name"]]
        tally = ANNOUNCED.settle(tally_of(ANNOUNCED, mine), announced=told[group["name"]]["sum"])
        expected = ANNOUNCED.estimate(tally).to_dict()
        assert group["counts"] == expected["counts"]
        assert group["stderr"] == expected["stderr"]
    # Everybody together has the noise of both sums.
    whole = ANNOUNCED.settle(
        tally_of(ANNOUNCED, sent), announced=[told["north"]["sum"], told["south"]["sum"]]
    )
    assert found["estimate"] == ANNOUNCED.estimate(whole, found["decks"]).to_dict()
    assert operator.estimate()["estimate"] == found["estimate"]
    with pytest.raises(ProtocolError, match="results by age need a sum of the cards of each"):
        operator.estimate(by="age")


def test_enrolled_people_are_dealt_independent_cards_too(pair: Pair) -> None:
    campaign = pair.campaign(
        MRR.for_epsilon(1.0, n=11, announced=True), dealing="enrol", capacity=40
    )
    operator, people = pair.begin(campaign, 30)
    enrol_all(campaign, people[:20])
    assert operator.deal() == 20
    answer_all(campaign, people[:17])
    operator.close()
    assert operator.estimate()["carded"] == 17


# -- closed decks --------------------------------------------------------------------------


@pytest.mark.parametrize("dealing", ["arrival", "enrol"])
def test_what_nobody_fetched_of_a_closed_deck_is_taken_off(pair: Pair, dealing: str) -> None:
    mechanism = MRR.for_epsilon(1.0, n=40, announced=False)
    enrols = dealing == "enrol"
    campaign = pair.campaign(mechanism, dealing=dealing, capacity=120)
    operator, people = pair.begin(campaign, 70)
    if enrols:
        enrol_all(campaign, people)
        operator.deal()
    hands = hands_of(pair.dealer.url, campaign, people[:60])  # ten never ask
    sent: list[dict[str, Any]] = []
    answer_all(campaign, people[:58], kept=sent)  # and two vanish
    before = operator.estimate()["estimate"]
    closed = operator.close()
    undealt = closed["dealer"]["undealt"]
    assert undealt["cards"] == (10 if enrols else 80 - 60)
    assert operator.close() == closed
    dealt = campaign.for_people(70)
    tally = dealt.settle(tally_of(dealt, sent), undealt=(undealt["sum"], undealt["cards"]))
    decks = 1 if enrols else 2
    found = operator.estimate()
    assert found["estimate"] == dealt.estimate(tally, decks).to_dict()
    # Only the two that vanished are lost: the error bars say so.
    assert found["estimate"]["stderr"][0] < before["stderr"][0]
    # Cards and what is left of them add up to whole decks, whose sums are small.
    total = sum(hand["card"] for hand in hands) + undealt["sum"]
    assert abs(total) <= decks * REACH / mechanism.total_rate
    assert not key_files(pair, campaign)


# -- servers that stop, and backups --------------------------------------------------------


@pytest.mark.slow
def test_after_a_restart_and_from_a_backup_there_is_one_announcement(tmp_path: Path) -> None:
    with running("collector", tmp_path / "c") as collector:
        folder, port = tmp_path / "d", free_port()
        with running("dealer", folder, port=port) as dealer:
            campaign = Campaign(
                question="Do you?",
                labels=("no", "yes"),
                mechanism=ANNOUNCED,
                dealer=DealerServer(dealer.url),
                collector=collector.url,
                capacity=50,
                min_cell=5,
            )
            operator = Operator(campaign, dealer.admin, collector.admin)
            operator.install()
            invitations = new_invitations(30)
            operator.invite(invitations)
            operator.open()
            people = [invitation_secret(text) for text in invitations]
            answer_all(campaign, people[:20])
            close_collector(operator)
            names = named(operator)
            with (
                closing(sqlite3.connect(folder / "dealer.db")) as before,
                closing(sqlite3.connect(tmp_path / "backup.db")) as backup,
            ):
                before.backup(backup)
            fewer = {**names, "serials": {"": names["serials"][""][1:]}}
            told = dealer.admin.post(f"{operator.path}/announce", names)
        with running("dealer", folder, port=port) as dealer:  # a restart
            assert dealer.admin.post(f"{operator.path}/announce", names) == told
            with pytest.raises(ProtocolError, match="announced for other serials"):
                dealer.admin.post(f"{operator.path}/announce", fewer)
        for more in folder.glob("dealer.db*"):
            more.unlink()
        shutil.copy(tmp_path / "backup.db", folder / "dealer.db")
        with running("dealer", folder, port=port) as dealer:  # as if nothing had been announced
            assert dealer.admin.get(operator.path)["state"] == "open"
            for document in (names, fewer):
                with pytest.raises(ProtocolError, match="burned"):
                    dealer.admin.post(f"{operator.path}/announce", document)
            body = card_body(campaign, people[0])
            gone = ask(dealer.url, "POST", path_of(campaign, "cards"), body)
            assert is_problem(gone, 410) == "closed"
            # The collector can still be given what was announced.
            sums = {"announced": [told], "undealt": None}
            collector.admin.post(f"{operator.path}/settle", sums)
            assert operator.estimate()["carded"] == 20


def test_servers_in_different_hands_carry_files(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = sqlite_pair
    campaign = pair.campaign(ANNOUNCED)
    operator, people = pair.begin(campaign, 20)
    answer_all(campaign, people)
    file, names, sums = (tmp_path / name for name in ("campaign.json", "names", "sums"))
    file.write_bytes(campaign.to_bytes())

    def close(*arguments: object) -> str:
        code = run(["campaign", "close", str(file), *map(str, arguments), "--yes"])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return shown.out

    collector = ("--collector-token", pair.collector.token)
    dealer = ("--dealer-token", pair.dealer.token)
    close(*collector, "--names", names)
    assert "closed" in close(*dealer, "--names", names, "--sums", sums)
    assert names.stat().st_mode & 0o077 == 0  # they join the two servers, until burned
    with pytest.raises(JrrError, match="not here"):
        operator.estimate()
    close(*collector, "--sums", sums)
    close(*collector, "--sums", sums)
    assert operator.estimate()["carded"] == 20


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
        campaign = pair.campaign(ANNOUNCED, dealer=DealerServer(dealer), collector=collector)
        operator = Operator(campaign, pair.dealer.admin, pair.collector.admin)
        operator.install()
        (invitation,) = new_invitations(1)
        operator.invite([invitation])
        operator.open()
        person = Contributor(link_of(campaign), invitation, limit=5.0, patience=20, state=tmp_path)
        person.check_ready()
        assert operator.show()["dealer"]["seats"] == 0
        seen["dealer"].drop_replies = seen["collector"].drop_replies = 2
        assert person.answer("answer 1").carded
        assert person.answer("answer 0").before  # whatever is said now: the report is made
        sent = bodies(seen["collector"])
        assert len(sent) == 4
        assert len(set(sent)) == 1
        assert seen["dealer"].sent.count(b"POST ") == 3
        assert operator.show()["dealer"]["seats"] == 1
        assert not person.can_repeat()
        assert person.repeat() is not None  # what was sent, again: never in another campaign


def test_reports_of_another_campaign_are_not_sent_again(sqlite_pair: Pair, tmp_path: Path) -> None:
    invitations = new_invitations(2)
    for at, invitation in enumerate(invitations):
        campaign = sqlite_pair.campaign(ANNOUNCED)
        operator = sqlite_pair.operator(campaign)
        operator.install()
        operator.invite([invitation])
        operator.open()
        person = Contributor(link_of(campaign), invitation, limit=9.0, state=tmp_path)
        assert not person.can_repeat()
        assert person.repeat() is None
        assert person.answer(at).carded


def test_serials_of_people_have_nothing_in_common(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(ANNOUNCED)
    _, people = sqlite_pair.begin(campaign, 20)
    hands = hands_of(sqlite_pair.dealer.url, campaign, people)
    serials = [hand["serial"] for hand in hands]
    assert len(set(serials)) == 20
    halves = {serial[:16] for serial in serials} | {serial[16:] for serial in serials}
    assert len(halves) == 40
    assert cards_of(sqlite_pair.dealer.url, campaign, people) == [hand["card"] for hand in hands]
