"""Every screen of the answer page, light and dark, phone and desktop: pictures, and axe-core."""

import re
from pathlib import Path
from typing import Any

import pytest

from jrr import JRR, OUE, Laplace
from jrr.client.operator import new_invitations
from jrr.survey.creation import CampaignRequest
from tests.e2e import Pair
from tests.e2e.visits import DESKTOP, LABELS, PHONE, Visit, address_of, begun, visiting

LOOKS: dict[str, tuple[dict[str, Any], str]] = {
    "phone-light": (PHONE, "light"),
    "desktop-dark": (DESKTOP, "dark"),
}


RIGHT_TO_LEFT = {"1-introduction", "3-try", "6-chosen", "9-thanks"}  # pictures of these


@pytest.fixture(scope="module")
def axe_script() -> str:
    package = pytest.importorskip(
        "axe_playwright_python",
        reason="no axe-core here: accessibility is not checked",
        exc_type=ModuleNotFoundError,
    )
    return (Path(package.__file__).with_name("axe.min.js")).read_text("utf-8")


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
    for look, (size, scheme) in LOOKS.items():
        page.set_viewport_size(size["viewport"])
        page.emulate_media(color_scheme=scheme)
        visit.photograph(f"{name}-{look}")
        check_accessible(visit, axe_script, (name, look))
        for direction in ("rtl", "ltr"):
            page.evaluate(f"document.documentElement.dir = '{direction}'")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), direction
            if direction == "rtl" and name in RIGHT_TO_LEFT and look == "phone-light":
                visit.photograph(f"{name}-{look}-rtl")


def test_every_screen_of_an_answer(
    browser: Any, page_url: str, sqlite_pair: Pair, axe_script: str
) -> None:
    campaign, _, (invitation,) = begun(
        sqlite_pair,
        1,
        question="Have you ever taken a bribe?",
        consent="The institute of made-up studies asks 50 people who decide on permits.",
        covariates={"Region": ("north", "south")},
    )

    def seen(name: str) -> None:
        inspect(visit, name, axe_script)

    with visiting(browser, address_of(page_url, campaign, invitation)) as visit:
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
        visit.wait_for("Have you ever")
        seen("4-question")
        visit.click("Send")
        seen("5-missing")
        visit.choose(LABELS[1])
        visit.page.get_by_label("Region").select_option("south")
        seen("6-chosen")
        visit.page.route("**/cards", lambda route: None)  # never answered: it stays on "sending"
        visit.click("Send")
        seen("7-sending")
    # A browser of its own: whether a reload still ends what is being sent is a matter of luck.
    with visiting(browser, address_of(page_url, campaign, invitation)) as visit:
        visit.page.route("**/reports", lambda route: route.abort())
        visit.click("I agree")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.page.get_by_label("Region").select_option("south")
        visit.click("Send")
        visit.page.locator("main button.first").wait_for()
        seen("8-not-sent")
        visit.page.unroute("**/reports")
        visit.page.locator("main button.first").click()
        visit.page.locator("#sent").wait_for()
        seen("9-thanks")


def test_every_other_screen(
    browser: Any, page_url: str, sqlite_pair: Pair, axe_script: str
) -> None:
    def seen(name: str) -> None:
        inspect(visit, name, axe_script)

    campaign, _, _ = begun(sqlite_pair, 1)
    with visiting(browser, address_of(page_url, campaign, "b" * 34)) as visit:
        visit.page.locator("#invitation").wait_for()
        seen("10-mistyped")
    with visiting(browser, f"{page_url}#campaign=nothing") as visit:
        visit.wait_for("This did not work")
        seen("11-error")
        assert not visit.posted("")
    with visiting(browser, address_of(page_url, campaign)) as visit:
        visit.click("No, thank you")
        seen("12-declined")
    enrolling, _, (invitation,) = begun(
        sqlite_pair, 1, mechanism=JRR(n=9, p=0.6, s=0.25), dealing="enrol", capacity=40
    )
    with visiting(browser, address_of(page_url, enrolling, invitation)) as visit:
        visit.click("I agree")
        visit.page.get_by_role("button", name="Take a place").wait_for()
        seen("13-seat")
        visit.click("Take a place")
        visit.wait_for("You have a place")
        seen("14-seated")
    asking, _, _ = begun(
        sqlite_pair, 1, mechanism=Laplace(epsilon=1.0), number=(0.0, 24.0), invitations=False,
        question="How many hours did you sleep?", labels=("0 hours", "24 hours"),
    )  # fmt: skip
    with visiting(browser, address_of(page_url, asking)) as visit:
        visit.click("Try it first")
        visit.page.locator(".crowd li").first.wait_for()
        seen("17-try-number")
        visit.click("Back")
        visit.click("I agree")
        visit.page.locator("#number").fill("25")
        visit.click("Send")
        seen("15-number")
    many, _, _ = begun(
        sqlite_pair, 1, mechanism=OUE(9, epsilon=1.0), invitations=False, question="Which party?",
        labels=tuple(f"The party of those who want {at}" for at in range(9)),
    )  # fmt: skip
    with visiting(browser, address_of(page_url, many)) as visit:
        visit.click("Try it first")
        visit.page.locator(".crowd li").first.wait_for()
        seen("16-try-many")


AGREE = {"en": "I agree", "de": "Ich bin einverstanden"}
SEND = {"en": "Send", "de": "Senden"}


@pytest.mark.slow_variants("de-dark]", "de-light]", "en-dark]")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_main_screens_in_every_look(
    browser: Any, page_url: str, sqlite_pair: Pair, axe_script: str, language: str, scheme: str
) -> None:
    request = CampaignRequest(
        question="Have you ever taken a bribe?",
        n=50,
        epsilon=1.0,
        labels=LABELS,
        collector=sqlite_pair.collector.url,
        dealer=sqlite_pair.dealer.url,
        language=language,
        by="The institute of made-up studies",
        contact="ask@institute.example, 030 1234567",
    )
    campaign = request.campaign()
    operator = sqlite_pair.operator(campaign)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()

    def seen(name: str) -> None:
        visit.photograph(f"look-{name}-{language}-{scheme}")
        check_accessible(visit, axe_script, name)
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    address = address_of(page_url, campaign, invitation, f"&language={language}")
    with visiting(browser, page_url, color_scheme=scheme, locale=language) as visit:
        visit.page.locator("#start").wait_for()
        seen("0-start")
        visit.page.goto(address)
        visit.page.locator(".people").wait_for()
        # One number: what the device computes stands in the details, where the text says the same.
        assert visit.page.locator(".computed").is_hidden()
        seen("1-introduction")
        visit.page.locator("main summary").click()
        assert visit.page.locator(".computed").is_visible()
        seen("2-details")
        visit.click(AGREE[language])
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        seen("3-question")
        visit.click(SEND[language])
        visit.page.locator("#sent").wait_for()
        seen("4-thanks")
    with visiting(browser, address, color_scheme=scheme, locale=language) as visit:
        visit.answer(LABELS[0], german=language == "de")
        visit.page.locator("h1", has_text=re.compile("Already|Schon")).wait_for()
        seen("5-used")
