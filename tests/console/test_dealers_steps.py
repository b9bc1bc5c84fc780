"""Two dealers and a collector in three hands: each operator uses only a console of their own."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from jrr.dealing.kinds import Nobody
from jrr.research.processes import Running, running
from jrr.survey.survey import Survey, read_survey
from tests.console import WORK, Reply, Servers, Visitor, answer_at_once

PAGE = "https://page.example/page/"
STEPS = ("open", "invite", "deal", "close")


@dataclass(frozen=True)
class Hands:
    """Three operators, each signed in at their own server."""

    researcher: Visitor
    dealers: tuple[Visitor, ...]
    servers: tuple[Running, ...]


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running("dealer", tmp_path_factory.mktemp("second"), None, "--console") as dealer:
        yield dealer


@pytest.fixture
def hands(servers: Servers, second: Running) -> Hands:
    dealing = (servers.dealer, second)
    visitors = []
    for server in dealing:
        visitor = Visitor(server.url)
        assert visitor.sign_in(server.token).status == 200
        visitors.append(visitor)
    return Hands(servers.visitor(), tuple(visitors), dealing)


def created(hands: Hands, dealers: str) -> Survey:
    page = hands.researcher.post("/drafts/import", text=json.dumps(WORK))
    draft = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert draft is not None
    made = hands.researcher.post(
        f"{draft[1]}/create", people="20", response="100", min_cell="3", dealers=dealers
    )
    found = re.search(r"/surveys/([0-9a-f]{64})/open", made.body)
    assert found is not None, made.words
    body = hands.researcher.get(f"/surveys/{found[1]}/files/document.json").raw
    return read_survey(body)


def raw_post(visitor: Visitor, path: str, **fields: str) -> Reply:
    """Without following: the reply may be a file."""
    return visitor.request("POST", f"/console{path}", fields | {"csrf": visitor.csrf()})


@pytest.mark.parametrize("count", [1, 2])
def test_a_survey_in_different_hands_without_a_command_line(hands: Hands, count: int) -> None:
    dealers, servers = hands.dealers[:count], hands.servers[:count]
    survey = created(hands, "\n".join(one.url for one in servers))
    base = f"/surveys/{survey.hash}"
    researcher = hands.researcher
    steps = researcher.get(f"{base}/dealers")
    assert steps.words.count("not there yet") == count
    for one in servers:
        assert one.url in steps.words
    # The document goes to every dealer; nothing is dealt before it is opened there.
    for dealer in dealers:
        brought = dealer.post("/bring", document=survey.to_bytes().decode())
        assert "No card is dealt before you open it" in brought.words
        assert survey.hash in brought.words
        assert "Open: who has an invitation gets a card" in dealer.post(f"{base}/open").words
    assert "Open: answers are taken." in researcher.post(f"{base}/open").words
    assert researcher.get(f"{base}/dealers").words.count("Bring the survey and open it. (done)")
    # Invitations: a table for the researcher, and for every dealer hashes of its own.
    form = {"count": "12", "format": "csv", "page": PAGE}
    reply = raw_post(researcher, f"{base}/invite", **form)
    assert reply.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(reply.raw)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    table = next(text for name, text in files.items() if name.endswith("invitations.csv"))
    invitations = [row["invitation"] for row in csv.DictReader(io.StringIO(table))]
    assert len(set(invitations)) == 12
    for number, dealer in enumerate(dealers):
        people = files[f"for-dealer-{number + 1}.json"]
        assert not any(invitation in people for invitation in invitations)
        own = {"own": servers[number].url}
        assert "12 people are accepted" in dealer.post(f"{base}/invite", people=people, **own).words
        assert dealer.post(f"{base}/invite", people="{}", **own).status == 422
        assert dealer.post(f"{base}/invite", people="nonsense", **own).status == 422
    if count == 2:  # a file for another dealer is refused
        swapped = dealers[0].post(f"{base}/invite", people=people, own=servers[0].url)
        assert (swapped.status, "must be a file for survey" in swapped.words) == (422, True)
    answers = {
        invitation: {"sector": "office", "bribed": "no", "hours": 1 + at % 3}
        for at, invitation in enumerate(invitations[:9])
    }
    answer_at_once(survey, answers)
    for dealer in dealers:
        shown = dealer.get(base).words
        assert "12 invited 9 enrolled 9 dealt to" in shown
        assert "0 lost so far: never fetched" in shown
    # The end: requests go to the dealers, sums come back; twice, since cards are verified.
    assert "still to announce" in researcher.post(f"{base}/close", sure="yes").words
    sums = {}
    for number, dealer in enumerate(dealers):
        own = {"own": servers[number].url}
        request = researcher.get(f"{base}/request/{number}").body
        assert dealer.post(f"{base}/close", request=request, **own).status == 422  # not sure
        assert dealer.post(f"{base}/close", request="no", sure="yes", **own).status == 422
        committed = raw_post(dealer, f"{base}/close", request=request, sure="yes", **own)
        sums[f"sums{number}"] = committed.body
        shown = dealer.get(base).words
        assert "and another request comes back, for this page again" in shown
        assert "burned" not in shown
    assert "files go twice" in researcher.post(f"{base}/close", sure="yes", **sums).words
    for number, dealer in enumerate(dealers):
        own = {"own": servers[number].url}
        request = researcher.get(f"{base}/request/{number}").body
        told = raw_post(dealer, f"{base}/close", request=request, sure="yes", **own)
        assert "attachment" in told.headers["content-disposition"]
        again = raw_post(dealer, f"{base}/close", request=request, sure="yes", **own)
        assert again.body == told.body  # the same request is told the same
        sums[f"sums{number}"] = told.body
        shown = dealer.get(base).words
        assert "closed burned" in shown
        assert "The sums are told, and the key is burned." in shown
        assert "0 lost, by this dealer's count" in shown
    done = researcher.post(f"{base}/close", sure="yes", **sums)
    assert "Closed for good." in done.words
    assert "95% interval" in researcher.get(base).words
    assert researcher.get(f"{base}/dealers").words.count("(done)") == 3 * count


def test_what_a_dealer_does_not_hold_is_not_there(hands: Hands) -> None:
    dealer = hands.dealers[0]
    for path in (f"/surveys/{'0' * 64}", "/nonsense/x"):
        assert dealer.get(path).status == 404
        assert dealer.post(f"{path}/open").status == 404
    assert dealer.post("/bring", document="{}").status == 422
    assert dealer.post("/bring", document="<script>").status == 422


def test_a_dealers_steps_are_its_operators(hands: Hands, servers: Servers) -> None:
    """No stranger, no other form, and no survey without cards."""
    survey = created(hands, hands.servers[0].url)
    dealer = hands.dealers[0]
    dealer.post("/bring", document=survey.to_bytes().decode())
    stranger = Visitor(hands.servers[0].url)
    for path in ("/bring", *(f"/surveys/{survey.hash}/{step}" for step in STEPS)):
        assert stranger.request("POST", f"/console{path}", {}).status == 303
        assert dealer.request("POST", f"/console{path}", {"csrf": "x"}).status == 403
    assert "not the admin" in Visitor(hands.servers[0].url).sign_in(servers.collector.token).words
    bare = servers.survey(dealing=Nobody(), mechanism="rr")
    refused = dealer.post("/bring", document=bare.to_bytes().decode())
    assert (refused.status, "names no dealer" in refused.words) == (422, True)


def test_files_of_many_people_may_be_long(hands: Hands) -> None:
    """Those of operators who are signed in, and no other form."""
    survey = created(hands, hands.servers[0].url)
    dealer, base = hands.dealers[0], f"/surveys/{survey.hash}"
    dealer.post("/bring", document=survey.to_bytes().decode())
    names = [f"{at:064x}" for at in range(40_000)]  # 2.7 MB, as 40,000 people have
    people = json.dumps({"survey": survey.hash, "dealer": hands.servers[0].url, "names": names})
    refused = dealer.post(f"{base}/invite", people=people)
    assert refused.status == 422  # there are 20 places, which is said only after it was read
    assert "20" in refused.words
    assert raw_post(dealer, "/bring", document=people).status == 413


def test_burning_where_no_sum_is_announced(hands: Hands, servers: Servers) -> None:
    survey = servers.survey(mechanism="drr", people=200)
    assert survey.deals
    invitations = servers.begin(survey, 6)
    answers = {one: {"sector": "office", "bribed": "no", "hours": 1} for one in invitations}
    answer_at_once(survey, answers)
    dealer, base = hands.dealers[0], f"/surveys/{survey.hash}"
    assert dealer.post(f"{base}/close").status == 422  # not sure
    burned = dealer.post(f"{base}/close", sure="yes")
    assert "Burned." in burned.words
    assert "Nothing is left here" in burned.words
    shown = servers.operator(survey).show()
    assert (shown["dealer"]["state"], shown["collector"]["state"]) == ("closed", "open")


def test_the_page_says_which_dealer_does_not_answer(hands: Hands) -> None:
    survey = created(hands, f"{hands.servers[0].url}\nhttp://127.0.0.1:9")
    shown = hands.researcher.get(f"/surveys/{survey.hash}/dealers").words
    assert "http://127.0.0.1:9 no answer" in shown
    opened = hands.researcher.post(f"/surveys/{survey.hash}/open").words
    assert "every dealer must hold the survey before the collector opens it" in opened
    assert "answers are taken" not in opened
