"""Writes the pictures of the answer page in docs/: `python docs/make_screenshots.py`.

Runs a dealer, a collector and the page, and lets somebody answer in a Chromium that is installed
(JRR_TEST_BROWSER=/path/to/one). The servers are shown under made-up names.
"""

import os
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image  # comes with matplotlib
from playwright.sync_api import Route, sync_playwright

from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.research.processes import Running, running
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey

FOLDER = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("JRR_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
COLLECTOR, DEALER = "https://survey.example", "https://cards.example"
COLOURS = 32
LARGEST = 60_000  # bytes of a picture


def begin(dealer: Running, collector: Running) -> tuple[Survey, str]:
    """A survey that is open, and an invitation to it."""
    survey = SurveyRequest(
        draft=one_question(
            "Have you ever been offered a bribe at work?",
            labels=("No", "Yes"),
            by="The University of Example",
            contact="study@university.example",
        ),
        people=1_000,
        dealing=Dealers((DEALER,)),
        collector=COLLECTOR,
        consent={"en": "A study among 1,000 people who decide on permits."},
    ).survey()
    operator = Operator(survey, {0: dealer.admin}, collector.admin)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()
    return survey, invitation


def lead(page: Any, name: str, server: Running) -> None:
    """Let requests to a made-up name reach a server that runs here."""

    def pass_on(route: Route) -> None:
        route.fulfill(response=route.fetch(url=route.request.url.replace(name, server.url)))

    page.route(f"{name}/**", pass_on)


def photograph(page: Any, name: str) -> None:
    """A small picture of the whole screen: few colours are enough for letters."""
    path = FOLDER / f"answer-page-{name}.png"
    picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture.quantize(COLOURS).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, f"{path} must be under {LARGEST} bytes"


def main() -> None:
    """Every picture."""
    if BROWSER is None:
        sys.exit("a Chromium must be installed, or named by JRR_TEST_BROWSER")
    with (
        tempfile.TemporaryDirectory() as name,
        running("dealer", Path(name)) as dealer,
        running("collector", Path(name)) as collector,
        running("page", Path(name)) as answer_page,
        sync_playwright() as playwright,
    ):
        survey, invitation = begin(dealer, collector)
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(**PHONE, locale="en-GB", color_scheme="light")
        lead(page, COLLECTOR, collector)
        lead(page, DEALER, dealer)
        page.goto(f"{answer_page.url}#survey={survey.link}&invitation={invitation}")
        page.locator(".people").wait_for()
        photograph(page, "introduction")
        page.get_by_role("button", name="Try it first").click()
        page.locator(".crowd li").first.wait_for()
        photograph(page, "try-it")
        page.get_by_role("button", name="Back").click()
        page.get_by_role("button", name="I agree").click()
        page.get_by_label("Yes").check()
        photograph(page, "question")
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Send", exact=True).click()
        page.locator("#sent").wait_for(state="attached")
        photograph(page, "thanks")
        browser.close()


if __name__ == "__main__":
    main()
