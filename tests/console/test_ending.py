"""The page that closes: it shows the groups first, refuses with the reason, offers to merge."""

import json
import re
from typing import Any

from jrr.client.operator import EstimateWish
from jrr.dealing.kinds import Nobody
from jrr.survey.survey import read_survey
from tests.console import WORK, Servers, Visitor, answer_at_once, answer_work
from tests.console.test_dealers_steps import raw_post

SECTORS = {"office": 4, "field": 4, "ship": 2, "farm": 1}
DOCUMENT: dict[str, Any] = WORK | {
    "questions": [WORK["questions"][0] | {"labels": list(SECTORS)}, *WORK["questions"][1:]],
    "analyses": ["groups: sector"],
}


def signed_in_at_dealer(servers: Servers) -> Visitor:
    dealer = Visitor(servers.dealer.url)
    assert dealer.sign_in(servers.dealer.token).status == 200
    return dealer


def test_small_groups_are_shown_refused_and_merged_on_the_page(
    servers: Servers, visitor: Visitor
) -> None:
    survey = servers.survey(DOCUMENT)
    people = [sector for sector, count in SECTORS.items() for _ in range(count)]
    invitations = servers.begin(survey, len(people))
    answers = {
        invitation: {"sector": sector, "bribed": "no", "hours": 1}
        for invitation, sector in zip(invitations, people, strict=True)
    }
    answer_at_once(survey, answers)
    base = f"/surveys/{survey.hash}"
    page = visitor.get(f"{base}/close").words
    assert "everybody 11" in page
    one = survey.by_name["bribed"]
    assert re.search(
        r"ship 2 bribed ±\d+ points, hours .* too few for a sum \(3 are needed\)", page
    )
    assert re.search(r"it would make: office: 4 \(bribed ±\d+ points.*; ship \+ farm: 3 \(", page)
    assert "Only together afterwards: groups: sector: farm + ship." in page
    assert f"office 4 bribed {one.margin_words(4)}" in page
    refused = visitor.post(f"{base}/close", sure="yes", by="sector")
    assert refused.status == 422
    assert "1 in the group 'farm', 2 in the group 'ship'; nothing was closed" in refused.words
    assert "tick that groups that are too small are merged" in refused.words
    assert "--" not in refused.words
    assert {one["state"] for one in servers.operator(survey).show().values()} == {"open"}
    # Without the dealer's token: the grouping goes with the request, and comes back with the sums.
    waiting = visitor.post(f"{base}/close", sure="yes", by="sector", merge="yes")
    assert "in groups by the answers to “Where do you work?”, ship + farm together" in waiting.words
    request = visitor.get(f"{base}/request/0").body
    asked = json.loads(request)["request"]
    assert (asked["by"], asked["merged"]) == (["sector"], {"ship + farm": ["ship", "farm"]})
    dealer = signed_in_at_dealer(servers)
    for _ in range(2):  # cards are verified: files go twice
        request = visitor.get(f"{base}/request/0").body
        told = raw_post(dealer, f"{base}/close", request=request, sure="yes")
        done = visitor.post(f"{base}/close", sure="yes", sums0=told.body)
    assert "Closed for good." in done.words
    by = visitor.get(f"{base}/groups?by=sector").words
    for group in ("office", "field", "ship + farm"):
        assert group in by


def test_a_survey_of_one_question_from_the_editor_to_its_sums(
    servers: Servers, visitor: Visitor
) -> None:
    page = visitor.post("/drafts/new")
    draft = re.search(r'action="/console(/drafts/[0-9a-f]{32})"', page.body)
    assert draft is not None
    form = {"languages": "en", "title.en": "One", "epsilon": "2", "split": "even", "waves": "1"}
    asked = {"question0.kind": "yes-no", "question0.text.en": "Do you?", "question0.name": "answer"}
    sensitive = {"question0.sensitive": "yes", "version": "0", "act": "save"}
    assert "Not ready yet" not in visitor.post(draft[1], **form, **asked, **sensitive).words
    dealers = servers.dealer.url
    made = visitor.post(f"{draft[1]}/create", people="20", min_cell="3", dealers=dealers)
    found = re.search(r"/surveys/([0-9a-f]{64})/open", made.body)
    assert found is not None, made.words
    base = f"/surveys/{found[1]}"
    survey = read_survey(visitor.get(f"{base}/files/document.json").raw)
    assert [question.name for question in survey.questions] == ["answer"]
    invitations = servers.begin(survey, 6)
    answer_at_once(survey, {one: {"answer": "no"} for one in invitations[:5]})
    assert "One open 5 of 6 invited answered" in visitor.get("/").words
    assert "still to announce" in visitor.post(f"{base}/close", sure="yes").words
    dealer = signed_in_at_dealer(servers)
    for _ in range(2):  # cards are verified: files go twice
        request = visitor.get(f"{base}/request/0").body
        told = raw_post(dealer, f"{base}/close", request=request, sure="yes")
        done = visitor.post(f"{base}/close", sure="yes", sums0=told.body)
    assert json.loads(told.body)["sums"]["by"] == []
    assert "Closed for good." in done.words
    assert servers.operator(survey).estimate("answer")["carded"] == 5


def test_a_survey_is_deleted_and_the_page_says_when(servers: Servers, visitor: Visitor) -> None:
    survey = servers.survey(WORK | {"title": "To be deleted"}, dealing=Nobody(), mechanism="rr")
    (first, *_) = servers.begin(survey, 5)
    answer_at_once(survey, {first: {"sector": "office", "bribed": "no", "hours": 1}})
    path = f"/surveys/{survey.hash}"
    assert "Delete this survey" not in visitor.get(f"{path}/close").words  # people are answering
    assert "closed before it is deleted" in visitor.post(f"{path}/delete", sure="yes").words
    servers.operator(survey).close()
    assert "say that you are sure" in visitor.post(f"{path}/delete").words
    after = visitor.post(f"{path}/delete", sure="yes")
    assert "Deleted at collector" in after.words
    assert "To be deleted" in after.body.partition("<h2>Deleted</h2>")[2]
    assert visitor.get(path).status == 404


def test_the_groups_that_were_chosen_stay_when_the_dealers_token_comes_later(
    servers: Servers, visitor: Visitor
) -> None:
    survey = servers.survey()
    invitations = servers.begin(survey, 12)
    answer_work(survey, invitations)
    close = f"/surveys/{survey.hash}/close"
    assert "still to announce" in visitor.post(close, by_sector="yes", sure="yes").words
    done = visitor.post(close, sure="yes", token0=servers.dealer.token)  # what the page then sends
    assert "Closed for good." in done.words
    told = servers.operator(survey).estimate("bribed", EstimateWish(by="sector"))
    sizes = {one["name"]: one["n"] for one in told["groups"]}
    assert sizes == {"office": 6, "field": 6}
