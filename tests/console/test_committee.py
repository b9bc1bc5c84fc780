"""The status page of a committee's party, for a survey that a real committee deals."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from jrr import DRR
from jrr.client.operator import Operator, new_invitations
from jrr.console.survey_texts import first_text
from jrr.dealing.committee.cards import card_key
from jrr.dealing.messages import card_request, complaint_request
from jrr.protocol.identity import invitation_secret
from jrr.research.processes import running
from jrr.survey.survey import Survey
from tests.console import Reply, Visitor
from tests.dealing.committee.asking import answer_all
from tests.dealing.committee.servers import Committee, names_of
from tests.e2e import ask, enrol_all, path_of

QUESTION = "Have you ever taken a bribe?"


@pytest.fixture(scope="module")
def committee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Committee]:
    """Three parties and a collector, each with a console."""
    folder = tmp_path_factory.mktemp("committee")
    with ExitStack() as stack:
        names = ("party0", "party1", "party2", "collector")
        waiting = [running(name.rstrip("012"), folder / name, None, "--console") for name in names]
        with ThreadPoolExecutor(4) as pool:
            *parties, collector = pool.map(stack.enter_context, waiting)
        yield Committee(tuple(parties), collector)
        for one in (*parties, collector):
            assert (one.folder / f"{one.role}.log").read_text() == ""


@pytest.fixture
def operators(committee: Committee) -> list[Visitor]:
    """The three operators, each at their own party."""
    found = []
    for party in committee.parties:
        visitor = Visitor(party.url)
        assert visitor.sign_in(party.token).status == 200
        found.append(visitor)
    return found


def figures(page: Reply, survey: Survey) -> str:
    """What the page says of a survey."""
    return page.words.partition(first_text(survey.title))[2].strip()


def test_a_party_shows_what_it_knows_from_enrolment_to_the_end(
    committee: Committee, operators: list[Visitor]
) -> None:
    survey = committee.survey(DRR(13, truth=0.5, own=0.1), title={"en": QUESTION})
    operator, people = committee.begin(survey, 15)
    enrol_all(survey, people[:13])
    # One more reaches two of the parties only: each shows what it knows itself.
    key = card_key(people[13], survey.hash).public_key().public_bytes_raw()
    names = names_of(survey, people[13])
    for server, name in zip(committee.parties[:2], names, strict=False):
        body = card_request(name, key)
        assert ask(server.url, "POST", path_of(survey, "seats"), body).status == 201
    enrolled = [14, 14, 13]

    def shown() -> list[str]:
        return [figures(visitor.get("/"), survey) for visitor in operators]

    for told, count in zip(shown(), enrolled, strict=True):
        assert told.startswith(f"enrolling 15 invited {count} enrolled 0 dealt to")
    assert operator.deal(20.0, 20.0) == 13
    for told, count in zip(shown(), enrolled, strict=True):
        expected = f"open 15 invited {count} enrolled 13 dealt to 0 lost by"
        assert told.startswith(expected)
    assert "Status of this party" in operators[0].get("/").words
    assert operators[0].get("/plan").status == 404  # for researchers
    # Somebody complains of their card: it is lost, and every party that hears of it says so.
    for server, name in zip(committee.parties, names_of(survey, people[0]), strict=True):
        body = complaint_request(name, 1, None)
        assert ask(server.url, "POST", path_of(survey, "complaints"), body).status < 300
    answer_all(survey, people[1:13])
    for told, party in zip(shown(), committee.parties, strict=True):
        assert "1 lost by complaints" in told
        facts = party.admin.get(f"/v1/admin/surveys/{survey.hash}")
        assert (facts["invited"], facts["n"], facts["lost"]) == (15, 13, 1)
    # The collector's console shows the same survey; what was dealt only parties know.
    researcher = Visitor(committee.collector.url)
    researcher.sign_in(committee.collector.token)
    base = f"/surveys/{survey.hash}"
    assert researcher.get(f"{base}/results").status == 200
    assert "12 answered" in researcher.get(base).words
    steps = researcher.get(f"{base}/dealers").words
    assert all(party.url in steps for party in committee.parties)
    # The end, by each operator alone: nothing of the cards is left, and the counts stay.
    for visitor, count in zip(operators, enrolled, strict=True):
        burned = visitor.post(f"{base}/close", sure="yes")
        assert "Burned." in burned.words
        told = figures(visitor.get("/"), survey)
        expected = f"closed burned 15 invited {count} enrolled 13 dealt to – "
        assert told.startswith(expected)
    alone = Operator(survey, {}, committee.collector.admin)
    assert alone.close()["collector"]["reports"] == 12


def test_parties_deal_when_each_operator_says_so(
    committee: Committee, operators: list[Visitor]
) -> None:
    """Bring, open, accept and deal, each at their own console."""
    survey = committee.survey(DRR(5, truth=0.5, own=0.1), title={"en": "Do you smoke?"})
    base = f"/surveys/{survey.hash}"
    for visitor, party in zip(operators, committee.parties, strict=True):
        own = {"own": party.url}
        visitor.post("/bring", document=survey.to_bytes().decode(), **own)
        visitor.post(f"{base}/open", **own)
    collector = Operator(survey, {}, committee.collector.admin)
    collector.install()
    invitations = new_invitations(6)
    collector.invite(invitations)
    table = "invitation\n" + "\n".join(invitations)
    for visitor, party in zip(operators, committee.parties, strict=True):
        accepted = visitor.post(f"{base}/invite", people=table, own=party.url)
        assert "6 people are accepted" in accepted.words
    people = [invitation_secret(text) for text in invitations]
    enrol_all(survey, people)
    assert operators[0].post(f"{base}/deal", own=committee.parties[0].url).status == 422

    def deal(number: int) -> Reply:
        own = committee.parties[number].url
        return operators[number].post(f"{base}/deal", sure="yes", own=own)

    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(deal, range(3)))
    assert all("Dealt to 6 people" in reply.words for reply in replies)
    # The researcher opens with how many that were, and refuses nonsense.
    researcher = Visitor(committee.collector.url)
    researcher.sign_in(committee.collector.token)
    assert "How many were dealt to" in researcher.get(base).words
    assert "People can enrol" in researcher.post(f"{base}/open").words
    assert researcher.post(f"{base}/open", n="some").status == 422
    assert "Open: answers are taken." in researcher.post(f"{base}/open", n="6").words
    receipts = answer_all(survey, people)
    assert all(receipt.carded for receipt in receipts)
