"""The status page of a committee's party, for a campaign that a real committee deals."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from jrr.client.operator import Operator, new_invitations
from jrr.mechanisms import DRR
from jrr.research.processes import running
from jrr.survey import messages
from jrr.survey.campaign import Campaign
from jrr.survey.committee.cards import card_key
from jrr.survey.complaining import complaint_request
from jrr.survey.identity import invitation_secret
from tests.console import Reply, Visitor
from tests.e2e import answer_all, ask, enrol_all, path_of
from tests.dealing.committee.servers import Committee, names_of

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


def figures(page: Reply, campaign: Campaign) -> str:
    """What the page says of a campaign."""
    return page.words.partition(campaign.question)[2].strip()


def test_a_party_shows_what_it_knows_from_enrolment_to_the_end(
    committee: Committee, operators: list[Visitor]
) -> None:
    campaign = committee.campaign(DRR(13, truth=0.5, own=0.1), question=QUESTION)
    operator, people = committee.begin(campaign, 15)
    enrol_all(campaign, people[:13])
    # One more reaches two of the parties only: each shows what it knows itself.
    key = card_key(people[13], campaign.hash).public_key().public_bytes_raw()
    names = names_of(campaign, people[13])
    for server, name in zip(committee.parties[:2], names, strict=False):
        body = messages.card_request(name, key)
        assert ask(server.url, "POST", path_of(campaign, "seats"), body).status == 201
    enrolled = [14, 14, 13]

    def shown() -> list[str]:
        return [figures(visitor.get("/"), campaign) for visitor in operators]

    for told, count in zip(shown(), enrolled, strict=True):
        assert told.startswith(f"enrolling 15 invited {count} enrolled 0 dealt to")
    assert operator.deal(20.0, 20.0) == 13
    for told, count in zip(shown(), enrolled, strict=True):
        expected = f"open 15 invited {count} enrolled 13 dealt to 0 lost by"
        assert told.startswith(expected)
    assert "Status of this party" in operators[0].get("/").words
    assert operators[0].get("/plan").status == 404  # for researchers
    # Somebody complains of their card: it is lost, and every party that hears of it says so.
    for server, name in zip(committee.parties, names_of(campaign, people[0]), strict=True):
        body = complaint_request(name, 1, None)
        assert ask(server.url, "POST", path_of(campaign, "complaints"), body).status < 300
    answer_all(campaign, people[1:13], [1] * 12)
    for told, party in zip(shown(), committee.parties, strict=True):
        assert "1 lost by complaints" in told
        facts = party.admin.get(f"/v1/admin/campaigns/{campaign.hash}")
        assert (facts["invited"], facts["n"], facts["lost"]) == (15, 13, 1)
    # The collector's console shows the same campaign; what was dealt only parties know.
    researcher = Visitor(committee.collector.url)
    researcher.sign_in(committee.collector.token)
    base = f"/campaigns/{campaign.hash}"
    assert researcher.get(f"{base}/results").status == 200
    assert "12 answered" in researcher.get(base).words
    steps = researcher.get(f"{base}/dealers").words
    assert all(party.url in steps for party in committee.parties)
    # The end, by each operator alone: nothing of the cards is left, and the counts stay.
    for visitor, count in zip(operators, enrolled, strict=True):
        burned = visitor.post(f"{base}/close", sure="yes")
        assert "Burned." in burned.words
        told = figures(visitor.get("/"), campaign)
        expected = f"closed burned 15 invited {count} enrolled 13 dealt to – "
        assert told.startswith(expected)
    alone = Operator(campaign, None, committee.collector.admin)
    assert alone.close(decks=1)["collector"]["reports"] == 12


def test_parties_deal_when_each_operator_says_so(
    committee: Committee, operators: list[Visitor]
) -> None:
    """Bring, open, accept and deal, each at their own console."""
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1), question="Do you smoke?")
    base = f"/campaigns/{campaign.hash}"
    for visitor, party in zip(operators, committee.parties, strict=True):
        own = {"own": party.url}
        visitor.post("/bring", document=campaign.to_bytes().decode(), **own)
        visitor.post(f"{base}/open", **own)
    collector = Operator(campaign, None, committee.collector.admin)
    collector.install()
    invitations = new_invitations(6)
    collector.invite(invitations)
    table = "invitation\n" + "\n".join(invitations)
    for visitor, party in zip(operators, committee.parties, strict=True):
        accepted = visitor.post(f"{base}/invite", people=table, own=party.url)
        assert "6 people are accepted" in accepted.words
    people = [invitation_secret(text) for text in invitations]
    enrol_all(campaign, people)
    assert operators[0].post(f"{base}/deal", own=committee.parties[0].url).status == 422

    def deal(number: int) -> Reply:
        own = committee.parties[number].url
        return operators[number].post(f"{base}/deal", sure="yes", own=own)

    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(deal, range(3)))
    assert all("Dealt to 6 people" in reply.words for reply in replies)
    collector.open(6)
    receipts = answer_all(campaign, people, [1] * 6)
    assert all(receipt.carded for receipt in receipts)
