"""The status page of a dealer is what the dealer's own database says."""

from jrr.client.operator import Operator, Tokens, new_invitations
from jrr.mechanisms import DRR
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.identity import invitation_secret
from tests.console import WORK, Servers, Visitor, answer_work
from tests.e2e import answer_all


def test_a_dealer_shows_its_own_counts(servers: Servers) -> None:
    dealer = Visitor(servers.dealer.url)
    assert dealer.sign_in(servers.collector.token).status == 403
    assert dealer.sign_in(servers.dealer.token).status == 200
    title = "Pay in the public sector"
    survey = servers.survey(WORK | {"title": title})
    invitations = servers.begin(survey, 7)
    answer_work(survey, invitations[:5])
    body = dealer.get("/").words
    shown = body.partition(title)[2]
    assert shown.startswith(
        " open 7 invited 5 enrolled 5 dealt to 2 decks dealt from – decks committed to"
    )
    assert "0 lost so far: never fetched" in shown[:140]
    servers.operator(survey).close()
    shown = dealer.get("/").words.partition(title)[2]
    assert shown.startswith(" closed burned 7 invited 5 enrolled 5 dealt to 2 decks dealt from")
    assert "0 lost, by this dealer's count" in shown[:160]


def test_a_dealer_that_commits_to_its_decks(servers: Servers, visitor: Visitor) -> None:
    """Each operator opens in turn at their own console, until both are open."""
    campaign = Campaign(
        question="Do you commit?",
        labels=("no", "yes"),
        mechanism=DRR(12, truth=0.5, own=0.1),
        dealer=DealerServer(servers.dealer.url),
        collector=servers.collector.url,
        capacity=12,
        min_cell=3,
        committed_decks=4,
    )
    dealer = Visitor(servers.dealer.url)
    dealer.sign_in(servers.dealer.token)
    tokens = Tokens(dealer=servers.dealer.token, collector=servers.collector.token)
    operator = Operator.by_tokens(campaign, tokens)
    operator.install()
    base = f"/campaigns/{campaign.hash}"
    said = [one.post(f"{base}/open").words for _ in range(3) for one in (dealer, visitor)]
    assert sum("it is the turn of the" in words for words in said) >= 2
    assert "Open: answers are taken." in said[-1]
    shown = dealer.get(base).words
    assert "open 0 invited 0 enrolled 0 dealt to 0 decks dealt from 4 decks committed to" in shown
    invitations = new_invitations(5)
    operator.invite(invitations)
    answer_all(campaign, [invitation_secret(one) for one in invitations], [1] * 5)
    shown = dealer.get(base).words
    assert "open 5 invited 5 enrolled 5 dealt to 1 decks dealt from 4 decks committed to" in shown
    assert "Burned." in dealer.post(f"{base}/close", sure="yes").words
    shown = dealer.get(base).words
    assert "closed burned 5 invited 5 enrolled 5 dealt to 1 decks dealt from 4 decks" in shown
    closed = visitor.post(f"{base}/close", sure="yes")
    assert "Closed for good." in closed.words
