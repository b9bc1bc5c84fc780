"""Committed decks over HTTP: honest campaigns, operators in turn, kills between steps."""

import csv
import json
import os
import signal
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, JRR, MRR
from jrr.cli.app import run
from jrr.client.contributor import Contributor
from jrr.client.operator import Operator, new_invitations
from jrr.errors import DamagedError, JrrError, ProtocolError
from jrr.mechanisms.base import Mechanism
from jrr.research.processes import free_port, running
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.survey import messages
from jrr.survey.campaign import Campaign
from jrr.survey.card_checks import own_mark
from jrr.survey.cut_and_choose import Published, audit_decks
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.identity import DEALER, invitation_secret, pseudonym
from jrr.survey.told import ToldSums
from jrr.survey.witnessed import Witnessed
from jrr.survey.witnessing import notes_of
from tests.e2e import Pair, answer_all, ask, ask_many, is_problem, link_of, path_of, tally_of

pytestmark = pytest.mark.slow_variants("postgresql")

DECKS = 4
MECHANISMS = {
    "mrr": MRR(12, own=3.0, card_rate=0.8, total_rate=0.3),
    "drr": DRR(12, truth=0.5, own=0.1),
    "jrr": JRR(12, p=0.7, s=0.2),
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_an_honest_campaign_is_estimated_as_the_library_does_and_passes(
    pair: Pair, mechanism: Mechanism
) -> None:
    campaign = pair.campaign(mechanism, committed_decks=DECKS)
    operator, secrets = pair.begin(campaign, 9)
    sent: list[dict[str, Any]] = []
    receipts = answer_all(campaign, secrets, [1] * 9, kept=sent)
    assert all(receipt.carded for receipt in receipts)
    closed = operator.close()
    assert closed["collector"]["commitments"] == "passed"
    published = Published.from_dict(ask(pair.dealer.url, "GET", path_of(campaign, "decks")).json)
    notes = Witnessed.from_document(ask(pair.collector.url, "GET", path_of(campaign, "notes")).json)
    assert notes.dealt == len(published.marks or ()) == 9
    assert audit_decks(published, notes_of(notes)).passed
    tally = tally_of(mechanism, sent)
    document = operator.estimate()
    if mechanism.masked:
        told = closed["dealer"]["undealt"]
        assert told == {"cards": 3, "sums": [published.undealt["sum"]]}  # type: ignore[index]
        sums = ToldSums.from_document(campaign, {"announced": [], "undealt": told})
        tally, _ = sums.of_round(0).settled(mechanism, {"": tally}, None)
    expected = mechanism.estimate(tally, 1).to_dict(0.95)
    assert document["estimate"] == json.loads(json.dumps(expected))
    assert document["dealer"]["commitments"] == {
        "decks": DECKS,
        "chance": 1 / DECKS,
        "passed": True,
        "ended": True,
        "faults": [],
        "dealt": 9,
        "without_report": 0,
    }


def cards_at(pair_url: str, campaign: Campaign, secrets: list[bytes]) -> list[Any]:
    """What the dealer replies to everybody, one after another."""
    return [
        ask(pair_url, "POST", path_of(campaign, "cards"), marked(campaign, secret)).json
        for secret in secrets
    ]


def marked(campaign: Campaign, secret: bytes, mark: bytes | None = None) -> bytes:
    """A request for a card, as a client sends it."""
    left = own_mark(campaign, secret, None) if mark is None else mark
    return messages.card_request(pseudonym(secret, campaign.hash, DEALER), mark=left)


def test_who_asks_again_gets_the_same_card_and_marks_are_left_once(pair: Pair) -> None:
    campaign = pair.campaign(MECHANISMS["drr"], committed_decks=DECKS)
    _, secrets = pair.begin(campaign, 5)
    url, path = pair.dealer.url, path_of(campaign, "cards")
    bodies = [marked(campaign, secret) for secret in secrets[:3]] * 3
    replies = ask_many(url, path, bodies)
    assert {reply.status for reply in replies} == {200}
    by_body: dict[bytes, set[bytes]] = {}
    for body, reply in zip(bodies, replies, strict=True):
        by_body.setdefault(body, set()).add(reply.body)
    assert [len(found) for found in by_body.values()] == [1, 1, 1]
    places = {json.loads(next(iter(found)))["proofs"][0]["place"] for found in by_body.values()}
    assert places == {0, 1, 2}
    other = marked(campaign, secrets[0], bytes(32))
    assert is_problem(ask(url, "POST", path, other), 409) == "other-mark"
    taken = marked(campaign, secrets[3], own_mark(campaign, secrets[0], None))
    assert is_problem(ask(url, "POST", path, taken), 409) == "other-mark"
    at_once = [marked(campaign, secret, bytes([7]) * 32) for secret in secrets[3:]]
    statuses = sorted(reply.status for reply in ask_many(url, path, at_once))
    assert statuses == [200, 409]
    without = messages.card_request(pseudonym(secrets[3], campaign.hash, DEALER))
    assert is_problem(ask(url, "POST", path, without), 422) == "refused"
    plain = pair.campaign(MECHANISMS["drr"])
    _, (secret,) = pair.begin(plain, 1)
    reply = ask(url, "POST", path_of(plain, "cards"), marked(plain, secret))
    assert is_problem(reply, 422) == "refused"
    for server in (pair.dealer, pair.collector):
        name = "decks" if server is pair.dealer else "notes"
        assert is_problem(ask(server.url, "GET", path_of(plain, name)), 404) == "no-decks"


def test_operators_with_one_token_each_open_it_in_turn(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(MECHANISMS["jrr"], committed_decks=DECKS)
    dealer = Operator(campaign, dealer=sqlite_pair.dealer.admin)
    collector = Operator(campaign, collector=sqlite_pair.collector.admin)
    dealer.install()
    for _ in range(2):  # twice: nothing happens before the other's turn
        with pytest.raises(ProtocolError, match="turn of the collector's operator"):
            dealer.open()  # promises, before the collector knows the campaign
    collector.install()
    for _ in range(2):
        with pytest.raises(ProtocolError, match="turn of the dealer's operator"):
            collector.open()  # beacon
    with pytest.raises(ProtocolError, match="turn of the collector's operator"):
        dealer.open()  # roots
    with pytest.raises(ProtocolError, match="turn of the dealer's operator"):
        collector.open()  # coin
    assert dealer.open() == {"dealer": "open"}  # opens the others
    assert collector.open() == {"collector": "open"}  # draws them again
    invitations = new_invitations(3)
    dealer.invite(invitations)
    collector.invite(invitations)
    answer_all(campaign, [invitation_secret(text) for text in invitations], [1, 1, 1])
    facts = collector.show()["collector"]
    assert facts["reports"] == 3
    assert "collector" not in dealer.close()
    assert collector.close()["collector"]["commitments"] == "passed"


def test_a_collector_alone_learns_the_undealt_sum_from_the_published_cards(
    sqlite_pair: Pair,
) -> None:
    campaign = sqlite_pair.campaign(MECHANISMS["mrr"], committed_decks=DECKS)
    _, secrets = sqlite_pair.begin(campaign, 8)
    answer_all(campaign, secrets, [1] * 8)
    collector = Operator(campaign, collector=sqlite_pair.collector.admin)
    assert "commitments" not in collector.close()["collector"]  # the dealer has not ended yet
    waiting = collector.estimate()
    assert waiting["dealer"]["commitments"]["ended"] is False
    told = Operator(campaign, dealer=sqlite_pair.dealer.admin).close()["dealer"]["undealt"]
    assert collector.close()["collector"]["commitments"] == "passed"
    found = collector.estimate()
    assert found["sums"]["undealt"] == told
    assert found["dealer"]["commitments"]["ended"] is True


def test_anybody_may_take_a_committed_card_where_nobody_is_invited(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(MECHANISMS["drr"], committed_decks=DECKS, invitations=False)
    operator, secrets = sqlite_pair.begin(campaign, 12)
    assert all(one.carded for one in answer_all(campaign, secrets, [1] * 12))
    assert operator.close()["collector"]["commitments"] == "passed"


class Restarting:
    """Dealer and collector that can be killed and started again on the same databases."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self.ports = {role: free_port() for role in ("dealer", "collector")}
        self._start()

    def _start(self) -> None:
        self.dealer, self.collector = (
            self._stack.enter_context(running(role, self._folder / role, port=port))
            for role, port in self.ports.items()
        )

    def kill(self) -> None:
        for server in (self.dealer, self.collector):
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
        self._start()

    def close(self) -> None:
        self._stack.close()


@pytest.mark.slow
def test_a_kill_between_any_two_steps_gives_no_second_promise_and_no_second_coin(
    tmp_path: Path,
) -> None:
    servers = Restarting(tmp_path)
    campaign = Campaign(
        question="Do you?",
        labels=("no", "yes"),
        mechanism=MECHANISMS["mrr"],
        dealer=DealerServer(servers.dealer.url),
        collector=servers.collector.url,
        capacity=12,
        min_cell=2,
        committed_decks=DECKS,
    )

    def operator() -> Operator:  # tokens are new after each start
        return Operator(campaign, servers.dealer.admin, servers.collector.admin)

    def published(notes: dict[str, Any]) -> Any:
        draws = {name: notes[name] for name in ("beacon", "coin")}
        return operator().dealer.post(f"{operator().path}/decks", draws)  # type: ignore[union-attr]

    def noted(document: Any) -> Any:
        return operator().collector.post(f"{operator().path}/decks", document)  # type: ignore[union-attr]

    try:
        operator().install()
        notes: Any = {"beacon": None, "coin": None}
        for _ in range(3):  # promise and beacon; roots and coin; opened decks and audit
            document = published(notes)
            servers.kill()
            assert published(notes) == document
            notes = noted(document)
            servers.kill()
            assert noted(document) == notes
        assert notes["faults"] == []
        for name in ("beacon", "coin"):
            with pytest.raises(JrrError, match=f"another {name}"):
                published(notes | {name: "00" * 32})
        invitations = new_invitations(6)
        operator().invite(invitations)
        operator().open()
        secrets = [invitation_secret(text) for text in invitations]
        before = cards_at(servers.dealer.url, campaign, secrets[:3])
        servers.kill()
        assert cards_at(servers.dealer.url, campaign, secrets[:3]) == before
        answer_all(campaign, secrets, [1] * 6)
        assert operator().open() == {"dealer": "open", "collector": "open"}
        closed = operator().close()
        servers.kill()
        again = operator().close()
        assert again == closed
        assert closed["collector"]["commitments"] == "passed"
    finally:
        servers.close()


def test_a_dealer_from_an_older_backup_opens_no_deck_for_a_second_coin(tmp_path: Path) -> None:
    keys = KeyFiles(tmp_path)
    keys.note_coin("a" * 64, bytes(32))
    keys.note_coin("a" * 64, bytes(32))
    with pytest.raises(DamagedError, match="names another coin"):
        KeyFiles(tmp_path).note_coin("a" * 64, bytes([1]) * 32)
    keys.burn("a" * 64)
    assert not (tmp_path / f"{'a' * 64}.coin").exists()


def test_places_are_forgotten_at_the_end(pair: Pair) -> None:
    campaign = pair.campaign(MECHANISMS["jrr"], committed_decks=DECKS)
    operator, secrets = pair.begin(campaign, 4)
    answer_all(campaign, secrets, [1] * 4)
    query = f"SELECT seat, mark FROM seats WHERE campaign = '{campaign.hash}' ORDER BY seat"
    assert [seat for seat, _ in pair.rows("dealer", query)] == [0, 1, 2, 3]
    operator.close()
    assert set(pair.rows("dealer", query)) == {(None, None)}


def test_commands_from_the_document_to_the_audit(
    sqlite_pair: Pair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def said(*command: str, code: int = 0) -> str:
        assert run(list(command)) == code
        return capsys.readouterr().out

    monkeypatch.setenv("JRR_DEALER_TOKEN", sqlite_pair.dealer.token)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", sqlite_pair.collector.token)
    file, people, state = (str(tmp_path / name) for name in ("c.json", "p.csv", "state"))
    servers = ("--dealer", sqlite_pair.dealer.url, "--collector", sqlite_pair.collector.url)
    asked = ("-n", "20", "-e", "1", "--question", "Do you?", "--committed-decks", "5")
    create = ("campaign", "create", *asked, *servers, "--mechanism", "mrr", "--min-cell", "2")
    assert "commits to 5 decks" in said(*create, "-o", file)
    assert "open" in said("campaign", "open", file)
    said("invite", file, "--count", "3", "-o", people)
    with Path(people).open() as rows:
        invitations = [row["invitation"] for row in csv.DictReader(rows)]
    campaign = Campaign.from_bytes(Path(file).read_bytes())
    for text in invitations:
        person = Contributor(campaign.link, text, limit=700.0, state=state)
        assert person.answer("yes").carded
    shown = " ".join(said("campaign", "show", file).split())
    assert "so far; marks come at the end" in shown
    closed = json.loads(said("campaign", "close", file, "--yes", "--json"))
    assert closed["collector"]["commitments"] == "passed"
    assert "the dealer's decks: passed" in said("campaign", "close", file, "--yes")
    shown = " ".join(said("campaign", "show", file).split())
    assert "4 of 5 decks were drawn again and passed (and at the end)" in shown
    assert "passes with chance 1/5 (20%)" in shown
    page = tmp_path / "report.html"
    said("campaign", "report", file, "-o", str(page))
    assert "chance of 1 in 5" in page.read_text("utf-8")
    out = str(tmp_path / "out")
    found = json.loads(said("audit-deck", "--campaign", file, "-o", out, "--json"))
    assert found == {"passed": True, "faults": [], "decks": 5, "chance": 0.2, "ended": True}
    own = ("--invitation", invitations[1], "--state", state)
    assert "No cheating found" in said("audit-deck", "--campaign", campaign.link, *own)
    files = (f"{out}/published.json", "--notes", f"{out}/notes.json")
    assert "No cheating found" in said("audit-deck", *files)
    said("audit-deck", *files, "--campaign", file, code=2)
    said("audit-deck", code=2)


@pytest.mark.slow
def test_a_database_that_goes_back_under_a_running_dealer_shows_nobodys_card(
    tmp_path: Path,
) -> None:
    databases = {role: f"sqlite:///{tmp_path}/{role}.db" for role in ("dealer", "collector")}
    with running("dealer", tmp_path) as dealer, running("collector", tmp_path) as collector:
        pair = Pair(dealer, collector, databases)
        mechanism = MRR(8, own=3.0, card_rate=0.8, total_rate=0.3)
        campaign = pair.campaign(mechanism, committed_decks=4)
        operator = pair.operator(campaign)
        operator.install()
        invitations = new_invitations(6)
        operator.invite(invitations)
        operator.open()

        def answer(number: int) -> bool:
            person = Contributor(
                link_of(campaign), invitations[number], limit=700.0, patience=2.0, state=tmp_path
            )
            return person.answer(1).carded

        assert answer(0)
        with closing(sqlite3.connect(":memory:")) as older:
            with closing(sqlite3.connect(tmp_path / "dealer.db")) as live:
                live.backup(older)
            assert answer(1)
            assert answer(2)
            with closing(sqlite3.connect(tmp_path / "dealer.db")) as live:
                older.backup(live)
        assert not answer(3)  # it would have had the card of number 1
        with pytest.raises(JrrError, match="cannot open its deck"):
            operator.close()  # it would show the cards of both
        assert ask(dealer.url, "GET", path_of(campaign, "decks")).json["undealt"] is None
        (noted,) = (tmp_path / "keys").glob("*.seats")
        assert int(noted.read_text()) == 3
