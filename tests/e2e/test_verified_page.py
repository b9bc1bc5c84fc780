"""Verified cards on the answer page, in a real browser, over real servers."""

import json
from typing import Any

import pytest

from jrr.client.ending import Ending
from jrr.survey.card_record import check_record
from tests.e2e import Pair
from tests.e2e.visits import LABELS, Visit, address_of, begun, begun_draft, visiting
from tests.e2e.visits import MECHANISM as YES_NO

PROMISE = "has not kept its promise. Nothing was sent."
DOCUMENT: dict[str, Any] = {
    "title": "Work",
    "epsilon": 3.0,
    "questions": [
        {"name": "drinks", "kind": "yes-no", "text": "Drink?"},
        {"name": "pain", "kind": "choice", "text": "Pain?", "labels": ["none", "some", "much"]},
        {"name": "days", "kind": "number", "text": "Days?", "low": 0, "high": 20},
    ],
}


def answer_all(visit: Visit) -> None:
    visit.click("I agree")
    visit.choose("Yes")
    visit.click("Next")
    visit.choose("some")
    visit.click("Next")
    visit.page.locator("input").fill("7")
    visit.click("Next")
    visit.wait_for("Ready to send")
    visit.click("Send")
    visit.wait_for("Thank you")


def test_people_answer_and_the_sums_are_checked(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    pair = sqlite_pair
    survey, operator, invitations = begun_draft(pair, 30, DOCUMENT, verified=True)
    for invitation in invitations[:3]:
        with visiting(browser, address_of(page_url, survey, invitation)) as visit:
            answer_all(visit)
            assert visit.console == []
            (body,) = visit.posted("/reports")
    sent = json.loads(body)["reports"]
    assert set(sent["pain"]) == {"carded", "report", "serials", "commitments", "proof"}
    assert len(sent["drinks"]["proof"]) == 2 * 128
    closed = operator.close(Ending())
    assert closed["collector"]["settled"]
    record = operator.at_collector().get(f"{survey.path}/record")
    assert check_record(survey, record) == [3]
    assert not any(name in json.dumps(record) for name in ("proof", "report"))


def lie_in(name: str, at: int) -> Any:
    def changed(document: dict[str, Any]) -> dict[str, Any]:
        told = document[name] if name != "signatures" else document[name]["answer"]
        other = told[:at] + ("0" if told[at] != "0" else "1") + told[at + 1 :]
        return document | {name: other if name != "signatures" else {"answer": other}}

    return changed


LIES = {
    "another value": lie_in("evaluation", 3),
    "no proof of it": lie_in("evaluation", 70),
    "no signature": lie_in("signatures", 5),
    "nothing": lambda document: {**document, "evaluation": None},
}


@pytest.mark.parametrize("lie", list(LIES))
def test_a_lying_dealer_is_told_nothing(
    lie: str, browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, invitations = begun(sqlite_pair, 3, mechanism=YES_NO, dealing=verified(sqlite_pair))

    def cheat(route: Any) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=json.dumps(LIES[lie](reply.json())))

    with visiting(browser, address_of(page_url, survey, invitations[0])) as visit:
        visit.page.route("**/cards", cheat)
        visit.click("I agree")
        visit.page.get_by_text(PROMISE).wait_for()
        assert visit.posted("/reports") == []


def verified(pair: Pair) -> Any:
    from jrr.dealing.kinds import Dealers

    return Dealers((pair.dealer.url,), verified=True)


def test_others_load_nothing_of_it(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, _, invitations = begun(sqlite_pair, 3)
    with visiting(browser, address_of(page_url, survey, invitations[0])) as visit:
        visit.answer(LABELS[1])
        visit.wait_for("Thank you")
        assert not any("/vendor/" in url or "/verified/" in url for _, url, _ in visit.requests)


def test_a_changed_file_is_not_run(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, _, invitations = begun(sqlite_pair, 3, mechanism=YES_NO, dealing=verified(sqlite_pair))

    def change(route: Any) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.text() + "\nwindow.stolen = true;")

    with visiting(browser, address_of(page_url, survey, invitations[0])) as visit:
        visit.page.route("**/verified/proofs.js", change)
        visit.click("I agree")
        visit.page.get_by_text("not as it should be").wait_for()
        assert visit.page.evaluate("window.stolen") is None
        assert visit.posted("/reports") == []
