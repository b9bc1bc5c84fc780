"""The page that closes: it shows the groups first, refuses with the reason, offers to merge."""

import json
from typing import Any

from jrr import MRR
from jrr.client.operator import Operator, new_invitations
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.identity import invitation_secret
from tests.console import WORK, Servers, Visitor, answer_at_once
from tests.console.test_dealers_steps import raw_post
from tests.e2e import answer_all

SECTORS = {"office": 4, "field": 4, "ship": 2, "farm": 1}
DOCUMENT: dict[str, Any] = WORK | {
    "items": [WORK["items"][0] | {"labels": list(SECTORS)}, *WORK["items"][1:]]
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
    assert "ship 2 too few for a sum (3 are needed)" in page
    assert "it would make: ship + farm" in page
    refused = visitor.post(f"{base}/close", sure="yes", by="sector")
    assert refused.status == 422
    assert "1 in the group 'farm', 2 in the group 'ship'; nothing was closed" in refused.words
    assert "tick that groups that are too small are merged" in refused.words
    assert "--" not in refused.words
    assert {one["state"] for one in servers.operator(survey).show().values()} == {"open"}
    # Without the dealer's token: the grouping goes with the names, and comes back with the sums.
    waiting = visitor.post(f"{base}/close", sure="yes", by="sector", merge="yes")
    assert "in groups by the answers to “Where do you work?”, ship + farm together" in waiting.words
    names = visitor.get(f"{base}/names/0").body
    for naming in json.loads(names).values():
        assert (naming["by"], naming["merged"]) == ("sector", {"ship + farm": ["ship", "farm"]})
    told = raw_post(signed_in_at_dealer(servers), f"{base}/close", names=names, sure="yes")
    done = visitor.post(f"{base}/close", sure="yes", sums0=told.body)
    assert "Closed for good." in done.words
    by = visitor.get(f"{base}/groups?by=sector").words
    for group in ("office", "field", "ship + farm"):
        assert group in by


def test_sums_of_a_single_question_come_back_from_the_dealers_console(
    servers: Servers, visitor: Visitor
) -> None:
    campaign = Campaign(
        question="Do you?",
        labels=("no", "yes"),
        mechanism=MRR.for_epsilon(1.0, n=20, announced=True),
        dealer=DealerServer(servers.dealer.url),
        collector=servers.collector.url,
        capacity=20,
        min_cell=3,
    )
    operator = Operator(campaign, servers.dealer.admin, servers.collector.admin)
    operator.install()
    invitations = new_invitations(6)
    operator.invite(invitations)
    operator.open()
    answer_all(campaign, [invitation_secret(text) for text in invitations])
    base = f"/campaigns/{campaign.hash}"
    assert "still to announce" in visitor.post(f"{base}/close", sure="yes").words
    names = visitor.get(f"{base}/names/0").body
    told = raw_post(signed_in_at_dealer(servers), f"{base}/close", names=names, sure="yes")
    assert json.loads(told.body)["by"] is None
    done = visitor.post(f"{base}/close", sure="yes", sums0=told.body)
    assert "Closed for good." in done.words
    assert operator.estimate()["carded"] == 6
