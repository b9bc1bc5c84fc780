"""Ways through the answer page: back and forth, other languages, typed addresses, and its ends."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from jrr.research.processes import running
from tests.e2e import Pair
from tests.e2e.test_page_surveys import (
    DOCUMENT,
    OFFICE,
    answer_all,
    answer_question,
    answering,
    send,
)
from tests.e2e.visits import LABELS, TITLE, address_of, begun, begun_draft, visiting

REGIONS = {"Region": ("north", "south")}
EVIL = 'Institute <img src=x onerror="document.title=1">'


def test_back_of_the_browser_leads_to_the_question_before_and_loses_no_answer(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, invitations = begun_draft(sqlite_pair, 3, DOCUMENT | {"epsilon": 4.0})
    with answering(browser, page_url, survey, invitations[0]) as visit:
        visit.click("Try it first")
        visit.wait_for("Try it")
        visit.page.go_back()
        visit.wait_for("Health at work")
        visit.click("I agree")
        for name in ("sector", "age", "drinks"):
            answer_question(visit, name, OFFICE[name], "en")
            visit.click("Next")
        visit.page.get_by_label("hidden-fury").check()
        visit.page.go_back()  # from a question that is answered and not confirmed
        visit.wait_for("Drink?")
        assert visit.page.get_by_label("Yes", exact=True).is_checked()
        told = visit.page.evaluate("[history.state, location.hash]")
        assert isinstance(told[0], int)  # the number of a step, and nothing else
        assert "yes" not in json.dumps(told).lower().replace(invitations[0], "")
        visit.page.go_forward()
        visit.page.get_by_label("hidden-fury").wait_for()
        assert visit.page.get_by_label("hidden-fury").is_checked()
        for _ in range(4):
            visit.page.go_back()
        visit.wait_for("Health at work")
        visit.page.go_forward()
        visit.wait_for("Where do you")
        assert visit.page.get_by_label("office").is_checked()
        visit.page.reload()  # loses all of it
        visit.wait_for("Health at work")
        assert visit.page.evaluate("history.state") is None
        visit.click("I agree")
        visit.wait_for("Where do you")
        assert not visit.page.locator("input:checked").count()


def test_a_tablet_that_people_share(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    """The next person starts fresh, and finds nothing of whoever was there before."""
    survey, operator, people = begun(sqlite_pair, 3)
    with visiting(browser, address_of(page_url, survey, more="&kiosk=yes")) as visit:
        for invitation in people[:2]:
            visit.wait_for(TITLE)
            visit.click("I agree")
            visit.page.get_by_label("invitation").fill(invitation)
            visit.click("Next")
            visit.wait_for("Have you ever")
            visit.choose(LABELS[1])
            visit.click("Next")
            visit.click("Send")
            visit.wait_for("Thank you")
            visit.click("Next person")
        visit.wait_for(TITLE)
        kept = visit.page.evaluate(
            "async () => JSON.stringify([{...sessionStorage}, {...localStorage}, location.href,"
            " await indexedDB.databases()])"
        )
        assert not any(invitation in kept for invitation in people)
        assert json.loads(kept)[3] == []
        visit.page.go_back()
        assert LABELS[1] not in visit.page.content()
        visit.page.go_forward()
        # Somebody walks away in the middle.
        visit.page.clock.install()
        visit.page.reload()
        visit.wait_for(TITLE)
        visit.click("I agree")
        visit.page.get_by_label("invitation").fill(people[2])
        visit.click("Next")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.page.clock.fast_forward(121_000)
        visit.wait_for(TITLE)
        visit.click("I agree")
        assert visit.page.get_by_label("invitation").input_value() == ""
    assert operator.show()["collector"]["reports"] == 2


@pytest.mark.slow
def test_a_choice_stays_when_the_language_changes_or_somebody_reads_again(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, (invitation,) = begun(
        sqlite_pair, 1, groups=REGIONS, by={"en": EVIL}, contact={"en": "Street 1\n12345 Town"}
    )
    with visiting(browser, address_of(page_url, survey, invitation)) as visit:
        visit.wait_for(TITLE)
        assert f"{EVIL} asks up to 2 questions." in visit.text()
        assert "12345 Town" in visit.text()
        assert visit.page.locator("main :is(img, a)").count() == 0
        visit.click("I agree")
        visit.wait_for("Region")
        visit.choose("south")
        visit.click("Next")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.page.locator("#language").select_option("de")
        assert visit.page.get_by_label(LABELS[1]).is_checked()
        visit.page.go_back()
        visit.wait_for("Region")
        assert visit.page.get_by_label("south").is_checked()
        visit.page.go_back()
        visit.wait_for(TITLE)
        visit.page.go_forward()
        visit.page.go_forward()
        visit.wait_for("Have you ever")
        assert visit.page.get_by_label(LABELS[1]).is_checked()
        assert LABELS[1] not in visit.kept()
        visit.click("Weiter")
        visit.wait_for("Bereit zum Senden")
        visit.click("Senden")
        visit.wait_for("Vielen Dank")
        visit.page.go_back()  # leads to no form any more
        visit.wait_for("Vielen Dank")
        assert visit.page.locator("main input").count() == 0


@pytest.mark.slow
def test_what_is_over_says_so_and_shows_no_introduction(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, operator, invitations = begun_draft(
        sqlite_pair, 3, DOCUMENT | {"epsilon": 4.0, "contact": "ask@institute.example"}
    )
    operator.close()
    with answering(browser, page_url, survey, invitations[0]) as visit:
        visit.wait_for("This survey is over")
        assert "ask@institute.example" in visit.text()
        assert visit.page.locator("main button").count() == 0
    with answering(browser, page_url, survey, invitations[1], locale="de-DE") as visit:
        visit.wait_for("Diese Umfrage ist beendet")


def test_a_tablet_that_waits_for_an_address_goes_on_waiting(browser: Any, page_url: str) -> None:
    with visiting(browser, f"{page_url}#kiosk=yes") as visit:
        visit.wait_for("Which survey?")
        visit.page.clock.install()
        visit.page.reload()
        visit.wait_for("Which survey?")
        with visit.page.expect_navigation():
            visit.page.clock.fast_forward(121_000)
        visit.wait_for("Which survey?")


def test_somebody_who_types_addresses(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, _, (invitation, another) = begun(sqlite_pair, 2)
    with visiting(browser, page_url) as visit:
        visit.wait_for("Which survey?")
        field = visit.page.get_by_label("Address of the survey")
        late: list[Any] = []
        for wrong in ("", "nothing", survey.link[:-1], "https://page.example/page/#invitation=a"):
            field.fill(wrong)
            visit.page.keyboard.press("Enter")
            assert visit.page.locator("[aria-invalid=true]").count() == 1
        before, _, name = survey.link.rpartition("/")
        field.fill(f"{before.upper()}/ {name[:30]} {name[30:].upper()}")
        # What was typed stays; a language that arrives late does not replace the one chosen since.
        visit.page.route("**/texts/de.js", lambda route: late.append(route))
        visit.page.locator("#language").select_option("de")
        visit.page.locator("#language").select_option("en")
        while not late:
            visit.page.wait_for_timeout(10)
        with visit.page.expect_response("**/texts/de.js"):
            late.pop().continue_()
        visit.page.wait_for_timeout(100)
        visit.click("Next")
        visit.wait_for(TITLE)
        visit.click("I agree")
        visit.wait_for("Your invitation")
        visit.page.get_by_label("Invitation").fill(invitation)
        visit.page.keyboard.press("Enter")
        visit.wait_for("Have you ever")
    with visiting(browser, page_url) as visit:  # copies the whole link
        visit.page.get_by_label("Address of the survey").fill(
            address_of("https://elsewhere.example/", survey, another)
        )
        visit.page.keyboard.press("Enter")
        visit.click("I agree")
        visit.wait_for("Have you ever")


@pytest.fixture
def knowing_page(tmp_path: Any, sqlite_pair: Pair) -> Iterator[tuple[str, list[str]]]:
    """A page that opens a survey without being told which, and invitations to that."""
    survey, _, invitations = begun(sqlite_pair, 2)
    with running("page", tmp_path, None, "--survey", survey.link) as server:
        yield server.url, invitations


def test_a_page_that_knows_its_survey(browser: Any, knowing_page: tuple[str, list[str]]) -> None:
    address, invitations = knowing_page
    with visiting(browser, address) as visit:
        for invitation in invitations:  # one after another in the same tab
            visit.click("I agree")
            visit.page.get_by_label("Invitation").fill(invitation)
            visit.page.keyboard.press("Enter")
            visit.wait_for("Have you ever")
            visit.choose(LABELS[1])
            visit.click("Next")
            visit.click("Send")
            visit.wait_for("Thank you")
            visit.page.reload()
            visit.wait_for("Thank you")
            visit.page.goto(address)
        assert visit.console == []


def test_with_coins_of_their_own_every_report_is_legal_and_counted(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    """What chance makes of answers is tested under Node (tests/clients); here, that it fits."""
    survey, operator, invitations = begun_draft(sqlite_pair, 5, DOCUMENT | {"epsilon": 4.0})
    for at in range(3):
        with answering(browser, page_url, survey, invitations[at]) as visit:
            answer_all(visit, OFFICE)
            body = send(visit)
            assert set(body["reports"]) == {
                question.name for question in survey.asked({"sector": "office", "age": 41.5})
            }
            for name, told in body["reports"].items():
                mechanism = survey.by_name[name].mechanism
                report = mechanism.report_from_bytes(mechanism.report_bytes(told["report"]))
                assert mechanism.report_format.to_json(report) == told["report"]
                assert told["carded"] is mechanism.deals
    assert operator.show()["collector"]["reports"] == 3
    asked = len(survey.asked({"sector": "office", "age": 41.5}))
    query = f"SELECT COUNT(*) FROM reports WHERE survey = '{survey.hash}'"
    assert sqlite_pair.rows("collector", query) == [(3 * asked,)]
