"""Surveys whose dealer commits to the decks of every item, over HTTP, honest and not."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, JRR, MRR, RR
from jrr.cli.app import run
from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.client.survey_contributor import SurveyContributor
from jrr.client.survey_operator import SurveyOperator
from jrr.errors import IntegrityError, ProtocolError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.numbers import Numbers
from jrr.survey import messages
from jrr.survey.card_checks import own_mark
from jrr.survey.dealer_kinds import DealerServer, NoDealer
from jrr.survey.identity import DEALER, invitation_secret, pseudonym
from jrr.survey.survey_contributor import contribute_survey
from jrr.survey.surveys import Survey, read_survey
from jrr.survey.told import ToldSums
from tests.e2e import LIMITS, Pair, ask, http_reply, is_problem, pretender, tally_of
from tests.e2e.test_questionnaires import _drive, survey_at

DECKS, PEOPLE = 4, 12
CHEATED = 6  # exit code
DOCUMENT: dict[str, Any] = {
    "title": "Health at work",
    "epsilon": 6.0,
    "committed_decks": DECKS,
    "items": [
        {"name": "drinks", "kind": "yes-no", "text": "Do you drink at work?"},
        {"name": "angry", "kind": "yes-no", "text": "Are you angry?"},
        {"name": "days", "kind": "number", "text": "Days ill?", "low": 0, "high": 20},
    ],
}
MECHANISMS: dict[str, Mechanism] = {
    "drinks": MRR(PEOPLE, own=3.0, card_rate=0.8, total_rate=0.3),
    "angry": DRR(PEOPLE, truth=0.5, own=0.1),
    "days": JRR(PEOPLE, p=0.7, s=0.2),
}
pytestmark = pytest.mark.slow_variants("postgresql")


def committed_survey(
    pair: Pair, dealer: str | None = None, mechanisms: dict[str, Mechanism] = MECHANISMS
) -> Survey:
    """The survey with a mechanism of another family for every item."""
    planned = survey_at(pair, PEOPLE, DOCUMENT, min_cell=2)
    campaigns = {
        name: replace(
            planned.campaigns[name],
            mechanism=mechanism,
            dealer=DealerServer(dealer or pair.dealer.url) if mechanism.deals else NoDealer(),
            committed_decks=DECKS if mechanism.deals else 0,
            promised=None,
        )
        for name, mechanism in mechanisms.items()
    }
    return replace(planned, campaigns=campaigns, consent={"en": ""}, promised=None, study=None)


def operator_of(pair: Pair, survey: Survey) -> SurveyOperator:
    dealt = next(one for one in survey.campaigns.values() if one.deals)
    admin = Admin(dealt.dealers[0], pair.dealer.token)
    return SurveyOperator(survey, Operator(dealt, admin, pair.collector.admin))


def answers_of(number: int) -> dict[str, Any]:
    return {"drinks": "yes", "angry": "yes" if number % 2 else "no", "days": 20.0}


@pytest.mark.parametrize("without", ["", "angry"], ids=["all with cards", "one without cards"])
def test_an_honest_survey_is_estimated_as_the_library_does_and_passes(
    pair: Pair, without: str
) -> None:
    mechanisms = MECHANISMS | ({without: RR(p=0.8)} if without else {})
    survey = committed_survey(pair, mechanisms=mechanisms)
    operator = operator_of(pair, survey)
    operator.install()
    invitations = new_invitations(9)
    operator.invite(invitations)
    assert operator.open() == {"dealer": "open", "collector": "open"}
    assert operator.open() == {"dealer": "open", "collector": "open"}
    sent: list[bytes] = []
    for number, text in enumerate(invitations):
        steps = contribute_survey(survey, invitation_secret(text), answers_of(number), LIMITS)
        assert _drive(steps, sent).carded
    closed = operator.close()
    assert operator.close() == closed
    found = operator.estimates()
    for name, mechanism in mechanisms.items():
        reports = [json.loads(body)["reports"][name] for body in sent]
        tally = tally_of(mechanism, reports)
        if mechanism.masked:
            told = {"announced": [], "undealt": closed[name]["dealer"]["undealt"]}
            sums = ToldSums.from_document(survey.campaigns[name], told)
            tally, _ = sums.of_round(0).settled(mechanism, {"": tally}, None)
        estimate = mechanism.estimate(tally, 1)
        assert found[name]["estimate"] == json.loads(json.dumps(estimate.to_dict(0.95))), name
        if name == "days":
            mean = Numbers(0, 20, mechanism).estimate_from(estimate).to_dict(0.95)
            assert found[name]["mean"] == json.loads(json.dumps(mean))
        if name == without:
            assert "commitments" not in closed[name]["collector"]
            assert "dealer" not in found[name]
            continue
        assert closed[name]["collector"]["commitments"] == "passed"
        facts = {"decks": DECKS, "chance": 1 / DECKS, "passed": True, "ended": True, "faults": []}
        shown = found[name]["dealer"]["commitments"]
        assert shown == {**facts, "dealt": len(invitations), "without_report": 0}
        campaign = survey.campaigns[name]
        published = ask(pair.dealer.url, "GET", f"/v1/campaigns/{campaign.hash}/decks").json
        marks = {own_mark(campaign, invitation_secret(text), None).hex() for text in invitations}
        assert set(published["marks"]) == marks


def request_of(survey: Survey, secret: bytes, **changed: bytes) -> bytes:
    marks = {part.name: own_mark(part.campaign, secret, None) for part in survey.parts}
    return messages.card_request(pseudonym(secret, survey.hash, DEALER), marks=marks | changed)


def test_who_asks_again_gets_the_same_cards_and_marks_are_left_once(pair: Pair) -> None:
    survey = committed_survey(pair)
    operator = operator_of(pair, survey)
    operator.install()
    invitations = new_invitations(3)
    operator.invite(invitations)
    operator.open()
    first, second, third = map(invitation_secret, invitations)
    path = f"/v1/surveys/{survey.hash}/cards"

    def asked(body: bytes) -> Any:
        return ask(pair.dealer.url, "POST", path, body)

    before = asked(request_of(survey, first))
    assert before.status == 200
    assert asked(request_of(survey, first)).body == before.body
    assert is_problem(asked(request_of(survey, first, days=bytes(32))), 409) == "other-mark"
    # Somebody else's mark in the last item: no card of the others either, and no mark is taken.
    taken = own_mark(survey.campaigns["days"], first, None)
    assert is_problem(asked(request_of(survey, second, days=taken)), 409) == "other-mark"
    assert operator.show()["dealer"]["parts"] == dict.fromkeys(MECHANISMS, 1)
    places = [
        {one["proofs"][0]["place"] for one in asked(body).json["hands"].values()}
        for body in (request_of(survey, second), request_of(survey, third))
    ]
    assert places == [{1}, {2}]
    name = pseudonym(first, survey.hash, DEALER)
    for wrong in ({}, {"drinks": bytes(32)}, {"other": bytes(32)}):
        reply = asked(messages.card_request(name, marks=wrong))
        assert is_problem(reply, 422) == "refused"
    document = json.loads(request_of(survey, first))
    no_marks: list[Any] = [[], {"drinks": "00"}, {"drinks": None}]
    for marks in no_marks:
        reply = asked(json.dumps(document | {"marks": marks}).encode())
        assert reply.status == 422, reply


@contextmanager
def lying(pair: Pair, lie: Callable[[str, Any], None]) -> Iterator[str]:
    """A dealer before the honest one; lie: changes what that says, by the path it says it at."""
    token = {"Authorization": f"Bearer {pair.dealer.token}"}

    def reply(method: str, path: str, body: bytes) -> bytes:
        headers = token if "/admin/" in path else {}
        said = ask(pair.dealer.url, method, path, body or None, headers)
        words = said.body
        if said.status == 200 and path.endswith(("/cards", "/decks")):
            document = said.json
            lie(path, document)
            words = json.dumps(document).encode()
        return http_reply(said.status, words, "Content-Type: application/json")

    with pretender(reply) as url:
        yield url
    # A collector says in its log that a dealer cheated; other tests want an empty one.
    (pair.collector.folder / "collector.log").write_text("")


def test_a_card_that_is_swapped_in_the_second_item_is_caught_and_nothing_is_sent(
    sqlite_pair: Pair, tmp_path: Path
) -> None:
    def lie(path: str, said: Any) -> None:
        if path.endswith("/cards"):
            cards = said["hands"]["angry"]["cards"]
            cards[0] = 1 - cards[0]

    with lying(sqlite_pair, lie) as url:
        survey = committed_survey(sqlite_pair, url)
        operator = operator_of(sqlite_pair, survey)
        operator.install()
        (invitation,) = new_invitations(1)
        operator.invite([invitation])
        operator.open()
        person = SurveyContributor(
            survey.link, invitation, limit=700.0, patience=2.0, state=tmp_path
        )
        for _ in range(2):
            with pytest.raises(IntegrityError, match="angry: the dealer's card is not the one"):
                person.answer(answers_of(0))
        assert operator.show()["collector"]["reports"] == 0
        assert not list(tmp_path.rglob("*upload*"))
        assert person.spent.epsilon == 0


def test_a_survey_is_not_opened_where_a_deck_of_one_item_is_wrong(sqlite_pair: Pair) -> None:
    wrong = ""

    def lie(path: str, said: Any) -> None:
        if path.endswith(f"{wrong}/decks") and said["roots"]:
            said["roots"][:2] = said["roots"][1::-1]  # two of them: no coin helps

    with lying(sqlite_pair, lie) as url:
        survey = committed_survey(sqlite_pair, url)
        wrong = survey.campaigns["angry"].hash
        operator = operator_of(sqlite_pair, survey)
        operator.install()
        for _ in range(2):
            with pytest.raises(IntegrityError, match=r"^angry: the dealer cheated: deck"):
                operator.open()
        with pytest.raises(ProtocolError, match="must have passed"):
            sqlite_pair.collector.admin.post(f"{operator.path}/open")
        assert {one["state"] for one in operator.show().values()} == {"new"}


def test_marks_that_are_false_in_one_item_are_told_at_the_end(
    sqlite_pair: Pair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = ""

    def lie(path: str, said: Any) -> None:
        if path.endswith(f"{wrong}/decks") and said["marks"]:
            said["marks"].append("ab" * 32)  # one more than people were invited

    with lying(sqlite_pair, lie) as url:
        survey = committed_survey(sqlite_pair, url)
        wrong = survey.campaigns["angry"].hash
        operator = operator_of(sqlite_pair, survey)
        operator.install()
        invitations = new_invitations(3)
        operator.invite(invitations)
        operator.open()
        for text in invitations:
            person = SurveyContributor(survey.link, text, limit=700.0, state=tmp_path)
            person.answer(answers_of(0))
        file, page = tmp_path / "survey.json", tmp_path / "report.html"
        file.write_bytes(survey.to_bytes())
        monkeypatch.setenv("JRR_DEALER_TOKEN", sqlite_pair.dealer.token)
        monkeypatch.setenv("JRR_COLLECTOR_TOKEN", sqlite_pair.collector.token)
        assert run(["campaign", "close", str(file), "--yes"]) == CHEATED
        told = capsys.readouterr()
        assert "angry: 4 places were dealt, but 3 people invited" in " ".join(told.err.split())
        assert " ".join(told.out.split()).count("the dealer's decks: passed") == 2
        assert run(["campaign", "report", str(file), "-o", str(page)]) == 0
        written = page.read_text("utf-8")
        assert "should not be used: angry: 4 places" in written
        assert written.count("4 decks, committed to beforehand: passed") == 2
        assert "the dealer cheated: 4 places were dealt" in written


def test_operators_with_one_token_each_take_as_many_turns_as_for_one_deck(
    sqlite_pair: Pair,
) -> None:
    survey = committed_survey(sqlite_pair)
    first = survey.first
    dealer = SurveyOperator(survey, Operator(first, dealer=sqlite_pair.dealer.admin))
    collector = SurveyOperator(survey, Operator(first, collector=sqlite_pair.collector.admin))
    dealer.install()
    with pytest.raises(ProtocolError, match="turn of the collector's operator"):
        dealer.open()  # promises
    collector.install()
    with pytest.raises(ProtocolError, match="turn of the dealer's operator"):
        collector.open()  # beacons
    with pytest.raises(ProtocolError, match="turn of the collector's operator"):
        dealer.open()  # roots
    with pytest.raises(ProtocolError, match="turn of the dealer's operator"):
        collector.open()  # coins
    assert dealer.open() == {"dealer": "open"}
    assert collector.open() == {"collector": "open"}


def test_commands_from_the_file_to_the_audit(
    sqlite_pair: Pair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def said(*command: str, code: int = 0) -> str:
        assert run(list(command)) == code
        return " ".join(capsys.readouterr().out.split())

    monkeypatch.setenv("JRR_DEALER_TOKEN", sqlite_pair.dealer.token)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", sqlite_pair.collector.token)
    asked, file, people, state = (
        str(tmp_path / name) for name in ("s.toml", "s.json", "p.csv", "state")
    )
    items = "".join(
        f'[[items]]\nname = "{name}"\nkind = "yes-no"\ntext = "{name}?"\n'
        for name in ("drinks", "angry")
    )
    Path(asked).write_text(f'title = "T"\nepsilon = 6\ncommitted_decks = 5\n{items}')
    servers = ("--dealer", sqlite_pair.dealer.url, "--collector", sqlite_pair.collector.url)
    create = ("campaign", "create", asked, "--people", "12", *servers, "--min-cell", "2")
    assert "commits to 5 decks for each part" in said(*create, "-o", file)
    other = ("-o", str(tmp_path / "other.json"))
    said(*create, *other, "--response", "0.5", code=2)
    assert "open" in said("campaign", "open", file)
    said("invite", file, "--count", "3", "-o", people)
    survey = read_survey(Path(file).read_bytes())
    with Path(people).open() as rows:
        invitations = [row["invitation"] for row in csv.DictReader(rows)]
    answers = {"drinks": "yes", "angry": "no"}
    for text in invitations:
        person = SurveyContributor(survey.link, text, limit=700.0, state=state)
        assert person.answer(answers).carded
        assert person.answer(answers).before  # the same again
    assert said("campaign", "show", file).count("so far; marks come at the end") == 2
    assert said("campaign", "close", file, "--yes").count("the dealer's decks: passed") == 2
    assert said("campaign", "show", file).count("4 of 5 decks were drawn again and passed") == 2
    page = tmp_path / "report.html"
    said("campaign", "report", file, "-o", str(page))
    written = page.read_text("utf-8")
    assert "chance of 1 in 5" in written
    assert written.count("5 decks, committed to beforehand: passed") == 2
    out = tmp_path / "out"
    found = json.loads(said("audit-deck", "--campaign", file, "-o", str(out), "--json"))
    facts = {"passed": True, "faults": [], "decks": 5, "chance": 0.2, "ended": True}
    assert found == {"passed": True, "parts": {"drinks": facts, "angry": facts}}
    files = (str(out / "angry" / "published.json"), "--notes", str(out / "angry" / "notes.json"))
    assert "No cheating found" in said("audit-deck", *files)
    own = ("--invitation", invitations[1], "--state", state)
    assert "angry: No cheating found" in said("audit-deck", "--campaign", survey.link, *own)
    # A place that is another one than that of one's mark is found.
    (kept,) = (path for path in Path(state).rglob("*places*") if '"angry": 1' in path.read_text())
    kept.write_text(json.dumps({"drinks": 1, "angry": 2}))
    words = said("audit-deck", "--campaign", survey.link, *own, code=1)
    assert "drinks: No cheating found" in words
    assert "angry: The dealer or the collector cheated: place 2 was dealt" in words
