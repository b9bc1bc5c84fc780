"""The status page of a dealer is what the dealer's own database says."""

from tests.console import WORK, Servers, Visitor, answer_work


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
    assert shown.startswith(" open 7 invited 5 enrolled 5 dealt to 0 lost")
    assert "0 lost so far: never fetched" in shown[:140]
    servers.operator(survey).close()
    shown = dealer.get("/").words.partition(title)[2]
    assert shown.startswith(" closed burned 7 invited 5 enrolled 5 dealt to 0 lost")
    assert "0 lost, by this dealer's count" in shown[:160]
