"""The JavaScript client takes cards of a committee that runs."""

from jrr import JRR
from jrr.client.operator import new_invitations
from tests.dealing.committee.servers import Committee
from tests.e2e import answer_of, tally_of
from tests.e2e.test_javascript_client import by_script, reports_of

PEOPLE = 6


def test_people_enrol_and_answer_in_javascript(committee: Committee) -> None:
    survey = committee.survey(JRR(n=5, p=0.6, s=0.25))
    operator = committee.operator(survey)
    operator.install()
    invitations = new_invitations(PEOPLE)
    operator.invite(invitations)
    operator.open()
    people = {
        "link": survey.link,
        "invitations": invitations,
        "answers": [answer_of(survey, at % 2) for at in range(PEOPLE)],
    }
    storages = by_script(people | {"act": "enrol"})
    assert operator.deal(20.0, 20.0) == PEOPLE
    sent = reports_of(by_script(people | {"act": "answer", "storages": storages}))
    assert all(entry["carded"] for entry in sent)
    operator.close()
    dealt = survey.dealt[0].for_people(PEOPLE)
    counted = dealt.estimate(tally_of(dealt, sent)).to_dict()
    assert operator.estimate("answer")["estimate"]["frequencies"] == counted["frequencies"]
