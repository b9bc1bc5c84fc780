"""Every screen of the answer page, light and dark, phone and desktop: pictures, and axe-core."""

import re
from typing import Any

import pytest

from jrr import JRR, OUE, Piecewise
from jrr.dealing.kinds import Dealers
from tests.browsing import JARGON, LOOKS
from tests.e2e import Pair
from tests.e2e.visits import (
    LABELS,
    TITLE,
    Visit,
    address_of,
    begun,
    begun_draft,
    visiting,
)

RIGHT_TO_LEFT = {"1-introduction", "3-try", "7-chosen", "11-thanks"}  # pictures of these


def check_accessible(visit: Visit, axe_script: str, where: object) -> None:
    """Nothing that axe-core finds fault with."""
    page = visit.page
    if not page.evaluate("'axe' in window"):
        # Evaluated by the debugger, which the page's policy does not bind.
        page.evaluate(f"() => {{ {axe_script} }}")
    found = page.evaluate("async () => (await axe.run({ resultTypes: [] })).violations")
    told = [(entry["id"], [node["html"] for node in entry["nodes"]]) for entry in found]
    assert told == [], where


def inspect(visit: Visit, name: str, axe_script: str) -> None:
    """Pictures; no violation of accessibility; nothing wider than the screen, either way round."""
    page = visit.page
    assert name == "12-thanks-bytes" or JARGON.search(visit.text()) is None, name
    for look, (width, height, scheme) in LOOKS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        visit.photograph(f"{name}-{look}")
        check_accessible(visit, axe_script, (name, look))
        for direction in ("rtl", "ltr"):
            page.evaluate(f"document.documentElement.dir = '{direction}'")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), direction
            if direction == "rtl" and name in RIGHT_TO_LEFT and look == "phone-light":
                visit.photograph(f"{name}-{look}-rtl")


@pytest.mark.slow  # axe-core looks at screens of a survey in test_page_surveys.py too
def test_every_screen_of_an_answer(
    browser: Any, page_url: str, sqlite_pair: Pair, axe_script: str
) -> None:
    survey, _, (first, second) = begun(
        sqlite_pair,
        2,
        text="Have you ever taken a bribe?",
        consent={"en": "The institute of made-up studies asks 50 people. {cost}"},
        groups={"Region": ("north", "south")},
    )

    def seen(name: str) -> None:
        inspect(visit, name, axe_script)

    with visiting(browser, address_of(page_url, survey, first)) as visit:
        visit.page.locator(".people").wait_for()
        seen("1-introduction")
        visit.page.get_by_text("How does this work?", exact=True).click()
        visit.page.get_by_text("About this page", exact=True).click()
        visit.page.locator("#page-hash", has_text=re.compile("^[0-9a-f]{64}$")).wait_for()
        seen("2-details")
        visit.click("Try it first")
        visit.page.locator(".crowd li").first.wait_for()
        seen("3-try")
        assert visit.page.locator(".chart").count() == 2
        visit.click("Back")
        visit.click("I agree")
        visit.wait_for("Region")
        seen("4-open-question")
        visit.choose("south")
        visit.click("Next")
        visit.wait_for("Have you ever")
        seen("5-question")
        visit.click("Next")
        seen("6-missing")
        visit.choose(LABELS[1])
        seen("7-chosen")
        visit.click("Next")
        visit.wait_for("Ready to send")
        seen("8-review")
        visit.page.route("**/cards", lambda route: None)  # never answered: it stays on "sending"
        visit.click("Send")
        seen("9-sending")
    with visiting(browser, address_of(page_url, survey, first)) as visit:
        visit.click("I agree")
        visit.wait_for("Begun on another device")
        seen("9-begun-elsewhere")
    with visiting(browser, address_of(page_url, survey, second)) as visit:
        visit.page.route("**/reports", lambda route: route.abort())
        visit.click("I agree")
        visit.choose("south")
        visit.click("Next")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.click("Next")
        visit.click("Send")
        visit.wait_for("Not confirmed yet")
        seen("10-not-sent")
        visit.page.unroute("**/reports")
        visit.page.locator("main button.first").click()
        visit.page.locator("#sent").wait_for(state="attached")
        seen("11-thanks")
        visit.page.get_by_text("The very bytes", exact=True).click()
        seen("12-thanks-bytes")


@pytest.mark.slow
def test_every_other_screen(
    browser: Any, page_url: str, sqlite_pair: Pair, axe_script: str
) -> None:
    def seen(name: str) -> None:
        inspect(visit, name, axe_script)

    survey, _, _ = begun(sqlite_pair, 1)
    with visiting(browser, address_of(page_url, survey, "b" * 34)) as visit:
        visit.page.locator("#invitation").wait_for()
        seen("13-mistyped")
    with visiting(browser, f"{page_url}#survey=nothing") as visit:
        visit.wait_for("This did not work")
        seen("14-error")
        assert not visit.posted("")
    with visiting(browser, address_of(page_url, survey)) as visit:
        visit.click("No, thank you")
        seen("15-declined")
    enrolling, _, (invitation,) = begun(
        sqlite_pair, 1, mechanism=JRR(n=9, p=0.6, s=0.25), capacity=40,
        dealing=Dealers((sqlite_pair.dealer.url,), enrol_first=True),
    )  # fmt: skip
    with visiting(browser, address_of(page_url, enrolling, invitation)) as visit:
        visit.click("I agree")
        visit.page.get_by_role("button", name="Take a place").wait_for()
        seen("16-seat")
        visit.click("Take a place")
        visit.wait_for("You have a place")
        seen("17-seated")
    asking, _, _ = begun(
        sqlite_pair, 1, mechanism=Piecewise(epsilon=1.0), number=(0.0, 24.0), invitations=False,
        text="How many hours did you sleep?",
    )  # fmt: skip
    with visiting(browser, address_of(page_url, asking)) as visit:
        visit.click("Try it first")
        visit.page.locator(".crowd li").first.wait_for()
        seen("18-try-number")
        visit.click("Back")
        visit.click("I agree")
        visit.page.locator("#number").fill("25")
        visit.click("Next")
        seen("19-number")
    many, _, _ = begun(
        sqlite_pair, 1, mechanism=OUE(9, epsilon=1.0), invitations=False, text="Which party?",
        labels=tuple(f"The party of those who want {at}" for at in range(9)),
    )  # fmt: skip
    with visiting(browser, address_of(page_url, many)) as visit:
        visit.click("Try it first")
        visit.page.locator(".crowd li").first.wait_for()
        seen("20-try-many")


SEND = {"en": "Send", "de": "Senden"}


@pytest.mark.slow_variants("de-dark]", "de-light]", "en-dark]")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_main_screens_in_every_look(
    browser: Any, page_url: str, sqlite_pair: Pair, axe_script: str, language: str, scheme: str
) -> None:
    asked = {"name": "answer", "kind": "choice", "text": "Have you ever taken a bribe?"}
    document = {
        "title": TITLE,
        "languages": [language],
        "by": "The institute of made-up studies",
        "contact": "ask@institute.example, 030 1234567",
        "questions": [asked | {"labels": list(LABELS)}],
    }
    survey, _, (invitation, *_) = begun_draft(sqlite_pair, 50, document)

    def seen(name: str) -> None:
        visit.photograph(f"look-{name}-{language}-{scheme}")
        check_accessible(visit, axe_script, name)
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    address = address_of(page_url, survey, invitation, f"&language={language}")
    with visiting(browser, page_url, color_scheme=scheme, locale=language) as visit:
        visit.page.locator("#start").wait_for()
        seen("0-start")
        visit.page.goto(address)
        visit.page.locator(".people").wait_for()
        seen("1-introduction")
        visit.page.locator("main summary").click()
        seen("2-details")
        visit.review(LABELS[1], german=language == "de")
        seen("3-review")
        visit.page.go_back()
        visit.page.locator("input:checked").wait_for()
        seen("4-question")
        visit.page.go_forward()
        visit.click(SEND[language])
        visit.page.locator("#sent").wait_for(state="attached")
        seen("5-thanks")
    with visiting(browser, address, color_scheme=scheme, locale=language) as visit:
        visit.click("Ich bin einverstanden" if language == "de" else "I agree")
        visit.page.locator("h1", has_text=re.compile("another device|anderen Gerät")).wait_for()
        seen("6-used")
