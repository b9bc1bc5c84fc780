"""The answer page asks a person some of the questions that share a coin, in a real browser."""

from typing import Any

from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.survey.together import not_asked
from tests.e2e import Pair
from tests.e2e.visits import address_of, begun_draft, visiting

NAMES = ("first", "second", "third", "fourth")
DOCUMENT: dict[str, Any] = {
    "title": "Four questions",
    "epsilon": 2.0,
    "split": "together",
    "ask": 2,
    "questions": [{"name": one, "kind": "yes-no", "text": f"The {one}?"} for one in NAMES],
}


def test_two_of_four_questions_are_asked(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    """Those that follow from the invitation, with a screen for each and no more."""
    survey, _, invitations = begun_draft(sqlite_pair, 30, DOCUMENT)
    for invitation in invitations[:2]:
        name = pseudonym(invitation_secret(invitation), survey.collector_salt, COLLECTOR)
        asked = [one for one in NAMES if one not in not_asked(survey, name)]
        assert len(asked) == 2
        with visiting(browser, address_of(page_url, survey, invitation)) as visit:
            visit.wait_for("Four questions")
            assert "asks up to 2 questions" in visit.text()
            visit.page.locator("summary").first.click()
            assert "You are asked 2 of these questions: “The first?”" in visit.text()
            visit.click("Try it first")
            visit.wait_for("Try it")
            assert "2 questions are changed together" in visit.text()
            visit.click("Back")
            visit.wait_for("Four questions")
            visit.click("I agree")
            for at, one in enumerate(asked, 1):
                visit.wait_for(f"The {one}?")
                assert f"{at} of at most 2" in visit.text()
                visit.page.get_by_label("Yes", exact=True).check()
                visit.click("Next")
            visit.wait_for("Ready to send")
            visit.click("Send")
            visit.wait_for("Thank you")
            assert set(visit.sent()["reports"]) == set(asked)
