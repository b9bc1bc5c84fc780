"""How answering ends: whatever the page says of what was sent is true; stopping asks first."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e import Pair
from tests.e2e.test_embedding import looking_in, site  # noqa: F401 - a fixture
from tests.e2e.test_page_first_screen import DOCUMENT
from tests.e2e.test_page_surveys import answering
from tests.e2e.visits import LABELS, Visit, address_of, begun, begun_draft, visiting

OVER = "2020-01-01T00:00:00Z"
LATER = "2999-01-01T00:00:00Z"
NOTHING = "No answer was sent."
REFUSED = "Your answers were sent to the server. It did not take them, so they do not count."
Close = Callable[[], Any]


def start(pair: Pair, **more: Any) -> tuple[Callable[..., Any], Close]:
    """A survey that is open: how to visit it, and how to close it."""
    survey, operator, invitations = begun_draft(pair, 3, DOCUMENT, **more)

    def visit(browser: Any, url: str) -> Any:
        return answering(browser, url, survey, invitations[0])

    return visit, operator.close


def say_open(route: Any) -> None:
    """What the server says of the survey, but that it is open."""
    reply = route.fetch()
    route.fulfill(response=reply, json=reply.json() | {"state": "open"})


def answer(visit: Visit) -> None:
    """Everything but sending."""
    visit.click("I agree")
    visit.wait_for("How old")
    visit.page.locator("#number").fill("41")
    visit.click("Next")
    visit.wait_for("Drink?")
    visit.choose("Yes")
    visit.click("Next")
    visit.wait_for("Ready to send")


def check_said(visit: Visit, sentence: str | None) -> None:
    """This sentence about what was sent, and no other; it agrees with the traffic."""
    visit.page.locator("main p").first.wait_for()
    told = [line for line in (NOTHING, REFUSED) if line in visit.text()]
    assert told == ([] if sentence is None else [sentence])
    assert bool(visit.posted("/reports")) is (sentence != NOTHING)


@pytest.mark.slow_variants("times1")
@pytest.mark.parametrize(
    ("times", "title"), [({"closes": OVER}, "This survey is over"), ({"opens": LATER}, "Not yet")]
)
def test_times_are_looked_at_before_anything_is_asked(
    browser: Any, page_url: str, sqlite_pair: Pair, times: dict[str, str], title: str
) -> None:
    visit_it, _ = start(sqlite_pair, **times)
    with visit_it(browser, page_url) as visit:
        visit.wait_for(title)
        check_said(visit, NOTHING)
        assert all(method == "GET" for method, _, _ in visit.requests)
        assert visit.page.locator("main button").count() == 0


@pytest.mark.slow
def test_closed_between_the_first_question_and_sending(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    visit_it, close = start(sqlite_pair)
    with visit_it(browser, page_url) as visit:
        answer(visit)
        close()
        visit.page.wait_for_timeout(1_100)  # servers remember a state for a second
        visit.click("Send")
        visit.wait_for("This survey is over")
        check_said(visit, NOTHING)
        assert len(visit.posted("/cards")) == 1  # the place, before the first question
        assert "41" not in visit.text()


def test_closed_at_the_very_moment_of_sending(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    """The state was open when it was asked for, and the upload gets 410; also after a reload."""
    visit_it, _ = start(sqlite_pair, closes=OVER)
    with visit_it(browser, "about:blank") as visit:
        visit.page.route("**/status", say_open)
        visit.page.goto(f"{page_url}#{visit.page.url.partition('#')[2]}")
        answer(visit)
        visit.click("Send")
        visit.wait_for("This survey is over")
        check_said(visit, REFUSED)
        visit.page.reload()
        visit.wait_for("This survey is over")
        check_said(visit, REFUSED)
        assert len(set(visit.posted("/reports"))) == 1
        visit.page.locator("#language").select_option("de")
        visit.wait_for("Diese Umfrage ist beendet")
        assert "Er hat sie nicht angenommen" in visit.text()


def test_a_silent_collector_before_sending_loses_no_answer(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    visit_it, _ = start(sqlite_pair)
    with visit_it(browser, page_url) as visit:
        answer(visit)
        visit.page.route("**/status", lambda route: route.abort())
        visit.click("Send")
        alert = visit.page.locator("[role=alert]", has_text="There is no connection")
        alert.wait_for()
        assert "no answer was sent" in alert.inner_text()
        assert not visit.posted("/reports")
        assert len(visit.posted("/cards")) == 1  # the place, before the first question
        visit.page.unroute("**/status")
        visit.click("Send")
        visit.wait_for("Thank you")


@pytest.mark.slow
def test_a_lost_confirmation_is_not_called_unsent(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    def lose(route: Any) -> None:
        route.fetch()  # it arrives
        route.abort()

    visit_it, _ = start(sqlite_pair)
    with visit_it(browser, page_url) as visit:
        answer(visit)
        visit.page.route("**/reports", lose)
        visit.click("Send")
        visit.wait_for("Not confirmed yet")
        assert "may have arrived or not" in visit.text()
        check_said(visit, None)
        visit.page.unroute("**/reports")
        visit.click("Try again")  # the very same bytes are there already: that is no refusal
        visit.wait_for("Thank you")


@pytest.mark.slow_variants("False]")
@pytest.mark.parametrize("carded", [True, False])
def test_an_invitation_that_was_used_elsewhere(
    browser: Any, page_url: str, sqlite_pair: Pair, carded: bool
) -> None:
    """The dealer refuses before anything is sent; without it, the collector does afterwards."""
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    address = address_of(page_url, survey, invitation)
    with visiting(browser, address) as visit:
        visit.answer(LABELS[0])
        visit.wait_for("Thank you")
    with visiting(browser, address) as visit:
        if not carded:
            visit.page.route("**/cards", lambda route: route.fulfill(status=404))
        if carded:
            visit.click("I agree")
            visit.wait_for("Begun on another device")  # before the first question
        else:
            visit.answer(LABELS[1])
            visit.wait_for("Already answered")
        check_said(visit, NOTHING if carded else REFUSED)


@pytest.mark.slow_variants("de]")
@pytest.mark.parametrize("words", ["en", "de"])
def test_stopping_asks_once_and_back_returns_to_the_answers(
    browser: Any, page_url: str, sqlite_pair: Pair, words: str
) -> None:
    stop, confirm, title, back = {
        "en": ("Stop and delete my answers", "Delete and stop", "You have stopped", "Back"),
        "de": ("Aufhören und Antworten löschen", "Löschen und aufhören", "Sie haben", "Zurück"),
    }[words]
    visit_it, _ = start(sqlite_pair)
    with visit_it(browser, page_url) as visit:
        answer(visit)
        visit.click("Back")  # to the last question, with its answer
        visit.page.locator("#language").select_option(words)
        assert visit.page.get_by_role("button", name="No, thank you").count() == 0
        for leave in (lambda: visit.click(back), visit.page.go_back):
            visit.click(stop)
            visit.page.get_by_role("button", name=confirm).wait_for()
            assert visit.page.locator("main input").count() == 0
            leave()
            visit.page.locator("input:checked").wait_for()
            assert visit.page.locator("input:checked").get_attribute("value") == "1"
        visit.click(stop)
        visit.click(confirm)
        visit.wait_for(title)
        assert visit.sent_no_answer
        kept = json.loads(visit.kept())[0][0]
        assert not any(key.startswith(("report", "spent")) for key in kept)
        visit.page.go_back()  # leads to a new beginning, without answers
        visit.page.locator(".people").wait_for()
        visit.page.locator("button.first").click()
        visit.page.locator("#badge").wait_for()
        assert visit.page.locator("input:checked").count() == 0


def test_declining_before_the_first_question_is_one_tap_and_after_it_asks(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    visit_it, _ = start(sqlite_pair)
    with visit_it(browser, page_url) as visit:
        visit.click("No, thank you")
        visit.wait_for("You have declined")
        assert "No answer was sent, and none is kept here." in visit.text()
        assert all(method == "GET" for method, _, _ in visit.requests)
    with visit_it(browser, page_url) as visit:
        answer(visit)
        for _ in range(3):
            visit.page.go_back()
        visit.wait_for("Health at work")  # the introduction, with answers in memory
        assert visit.page.get_by_role("button", name="No, thank you").count() == 0
        visit.click("Stop and delete my answers")
        visit.click("Back")
        visit.wait_for("Health at work")
        visit.click("I agree")
        visit.wait_for("How old")
        assert visit.page.locator("#number").input_value() == "41"


def test_stopping_inside_another_page(
    browser: Any,
    site: str,  # noqa: F811 - the fixture of that name
    sqlite_pair: Pair,
) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    address = f"{site}/plain.html#link={survey.link}&invitation={invitation}"
    with looking_in(browser, address) as visit:
        visit.click("I agree")
        visit.choose(LABELS[1])
        visit.click("Stop and delete my answers")
        visit.click("Back")
        assert visit.page.get_by_label(LABELS[1]).is_checked()
        visit.click("Stop and delete my answers")
        assert not visit.page.locator("#told").inner_text()
        visit.click("Delete and stop")
        visit.page.locator("#told:not(:empty)").wait_for()
        assert json.loads(visit.page.locator("#told").inner_text()) == {"outcome": "declined"}
        assert visit.sent_no_answer


def test_a_later_closing_time_is_shown_with_the_first_one(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, operator, invitations = begun_draft(sqlite_pair, 3, DOCUMENT, closes=OVER)
    operator.extend(LATER)
    with answering(browser, page_url, survey, invitations[0]) as visit:
        visit.wait_for("Health at work")
        assert "until January 1, 2999" in visit.text()
        assert "the survey first said January 1, 2020" in visit.text()
        answer(visit)
        visit.click("Send")
        visit.wait_for("Thank you")
        assert visit.sent()["reports"]["drinks"]["carded"]
