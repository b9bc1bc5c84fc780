"""Verified cards on the answer page, in a real browser, over real servers."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from jrr.client.ending import Ending
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.cards import cards_of, deal
from jrr.dealing.verified.group import ORDER
from jrr.dealing.verified.keys import Promise, Secrets
from jrr.dealing.verified.questions import card_laws
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
    def changed(document: dict[str, Any], *_: Any) -> dict[str, Any]:
        told = document[name] if name != "signatures" else document[name]["answer"]
        other = told[:at] + ("0" if told[at] != "0" else "1") + told[at + 1 :]
        return document | {name: other if name != "signatures" else {"answer": other}}

    return changed


def even_only(document: dict[str, Any], survey: Any, asked: Any, promised: Any) -> dict[str, Any]:
    """Tries keys until the mask is even, so that parity would show the answer."""
    context = Promise(**promised).context(survey.hash)
    pair = SerialNonce(bytes.fromhex(asked["serial"]), bytes.fromhex(asked["nonce"]))
    keys = map(Secrets, (bytes([number]) * 32 for number in range(100)))
    laws = card_laws(survey)
    key = next(
        one for one in keys if cards_of(one, context, pair, laws)["answer"].masks[0] % 2 == 0
    )
    given = deal(key, context, pair, laws)
    signatures = {"answer": given.signatures["answer"].hex()}
    return document | {"evaluation": given.evaluation.to_bytes().hex(), "signatures": signatures}


LIES: dict[str, Any] = {
    "another value": lie_in("evaluation", 3),
    "no proof of it": lie_in("evaluation", 70),
    "no signature": lie_in("signatures", 5),
    "nothing": lambda document, *_: {**document, "evaluation": None},
    "even numbers only": even_only,
}


def promised_at(pair: Pair, survey: Any) -> Any:
    return pair.operator(survey).dealing[0].get(f"{survey.path}/promise")


@pytest.mark.parametrize("lie", list(LIES))
def test_a_lying_dealer_is_told_nothing(
    lie: str, browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, invitations = begun(sqlite_pair, 3, mechanism=YES_NO, dealing=verified(sqlite_pair))
    promised = promised_at(sqlite_pair, survey)

    def cheat(route: Any) -> None:
        reply, asked = route.fetch(), json.loads(route.request.post_data)
        told = LIES[lie](reply.json(), survey, asked, promised)
        route.fulfill(response=reply, body=json.dumps(told))

    refuses(browser, address_of(page_url, survey, invitations[0]), "**/cards", cheat)


def refuses(browser: Any, address: str, pattern: str, cheat: Callable[[Any], None]) -> None:
    """A lie between the page and a server: it says so, and nothing was sent."""
    with visiting(browser, address) as visit:
        visit.page.route(pattern, cheat)
        visit.click("I agree")
        visit.page.get_by_text(PROMISE).wait_for()
        assert visit.posted("/reports") == []


def test_a_card_is_nobody_elses(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    """The dealer deals one serial twice: a second person is given the card of the first."""
    survey, _, invitations = begun(sqlite_pair, 3, mechanism=YES_NO, dealing=verified(sqlite_pair))
    dealt: list[str] = []

    def note(route: Any) -> None:
        reply = route.fetch()
        dealt.append(reply.text())
        route.fulfill(response=reply)

    def again(route: Any) -> None:
        route.fulfill(response=route.fetch(), body=dealt[0])

    with visiting(browser, address_of(page_url, survey, invitations[0])) as visit:
        visit.page.route("**/cards", note)
        visit.answer(LABELS[1])
        visit.wait_for("Thank you")
    refuses(browser, address_of(page_url, survey, invitations[1]), "**/cards", again)


def test_promises_are_the_same_for_everybody(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    """A collector that tells one person of another promise: the dealer's cards do not fit it."""
    survey, _, invitations = begun(sqlite_pair, 3, mechanism=YES_NO, dealing=verified(sqlite_pair))

    def cheat(route: Any) -> None:
        reply = route.fetch()
        told = reply.json()
        if "promises" in told:
            told["promises"][0]["noise"] = "11" * 32
        route.fulfill(response=reply, body=json.dumps(told))

    refuses(browser, address_of(page_url, survey, invitations[0]), "**/status", cheat)


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


PROVES = "the proof must show that the answer behind the mask is a possible one"
SIGNED = "a card must be signed by the dealer"
CANONICAL = "encoded canonically"


def shifted(by: int) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        told["report"] += by

    return change


def instead(**others: Any) -> Callable[[dict[str, Any]], None]:
    return lambda told: told.update(others)


def pointing(encoded: str) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        told["commitments"][0]["commitments"][0] = encoded

    return change


def lies(theirs: dict[str, Any], elsewhere: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """What somebody may change of what the page sends; of another person, and another survey."""
    own = ("report", "serials", "commitments", "proof")
    return {
        "off by one": (shifted(1), PROVES),
        "one less": (shifted(-1), PROVES),
        "off by 48": (shifted(48), f"{PROVES}|of its mechanism"),
        "a multiple of the order": (shifted(ORDER), "of its mechanism"),
        "another's card": (instead(**{one: theirs[one] for one in own}), PROVES),
        "a replayed proof": (instead(proof=theirs["proof"]), PROVES),
        "a proof for another survey": (instead(proof=elsewhere["proof"]), PROVES),
        "a card of another survey": (instead(**{one: elsewhere[one] for one in own}), SIGNED),
        "a serial of one's own": (instead(serials=["ab" * 16]), SIGNED),
        "outside the group": (pointing("01" + "00" * 31), CANONICAL),
        "the identity": (pointing("00" * 32), CANONICAL),
        "no proof": (instead(proof=None), "exactly with a verified card"),
    }


def test_a_lying_respondent_is_refused(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    """Each lie is told by the page's own request; the page says that nothing was taken."""
    pair = sqlite_pair
    dealing = verified(pair)
    survey, operator, invitations = begun(pair, 3, mechanism=YES_NO, dealing=dealing)
    other, _, of_other = begun(pair, 3, mechanism=YES_NO, dealing=dealing)
    honest = []
    for asked, invitation in ((survey, invitations[0]), (other, of_other[0])):
        with visiting(browser, address_of(page_url, asked, invitation)) as visit:
            visit.answer(LABELS[1])
            visit.wait_for("Thank you")
            honest.append(visit.report())
    told: dict[str, Any] = {}

    def lie(route: Any) -> None:
        for name, (change, _) in lies(*honest).items():
            document = json.loads(route.request.post_data)
            change(document["reports"]["answer"])
            reply = route.fetch(post_data=json.dumps(document))
            told[name] = reply.status, reply.json()["detail"]
        route.fulfill(response=reply)

    with visiting(browser, address_of(page_url, survey, invitations[1])) as visit:
        visit.page.route("**/reports", lie)
        visit.answer(LABELS[0])
        visit.page.get_by_text("It did not take them, so they do not count").wait_for()
    for name, (_, words) in lies(*honest).items():
        status, detail = told[name]
        assert (status, bool(re.search(words, detail))) == (422, True), (name, detail)
    assert operator.show()["collector"]["reports"] == 1
