"""A researcher plans, builds, invites, watches, closes and downloads, without a command line."""

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jrr.client.report import ReportWish, survey_report
from jrr.reporting.numerals import Numerals, mean_decimals, share_decimals
from jrr.reporting.report_facts import ReportedQuestion
from jrr.survey.survey import read_survey
from tests.browsing import JARGON, LOOKS, PICTURES, SCREENSHOTS
from tests.console import WORK, Servers
from tests.console.researching import QUESTIONS, Researcher, answer_by_page, answer_by_program


def figures(question: ReportedQuestion) -> list[str]:
    """Every number of a question, as it must stand on the page."""
    numerals = Numerals("en")
    least = min((one.stderr for one in question.answers if one.stderr > 0), default=0.0)
    if question.is_mean:
        return [numerals.number(one.value, mean_decimals(least)) for one in question.answers]
    places = share_decimals(least)
    return [
        numerals.percent(number, places)
        for one in question.answers
        for number in (one.value, one.low, one.high)
    ]


class Looks:
    """Pictures of every page; nothing that keeps anybody out; nothing wider than the screen.

    by_turns: every page has one of the looks, the next page the next one.
    """

    def __init__(self, axe: str, folder: Path, looks: list[str], by_turns: bool) -> None:
        self.axe, self.folder, self.looks, self.by_turns = axe, folder, looks, by_turns
        self.seen: list[str] = []

    def __call__(self, page: Any, name: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Evaluated by the debugger, which the page's policy does not bind.
        page.evaluate(f"() => {{ if (!window.axe) {{ {self.axe} }} }}")
        turn = len(self.seen) % len(self.looks)
        for look in self.looks[turn : turn + 1] if self.by_turns else self.looks:
            width, height, scheme = LOOKS[look]
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            if PICTURES:
                page.screenshot(path=self.folder / f"{name}-{look}.png", full_page=True)
            options = "{ resultTypes: [], iframes: false }"  # the preview is tested by itself
            found = page.evaluate(f"async () => (await axe.run({options})).violations")
            told = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]
            assert told == [], (name, look)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert JARGON.search(page.locator("body").inner_text()) is None, name
        page.set_viewport_size({"width": 1280, "height": 800})
        page.emulate_media(color_scheme="light")
        self.seen.append(name)


@pytest.mark.parametrize(
    ("people", "by_program"), [(12, 10), pytest.param(200, 100, marks=pytest.mark.slow)]
)
def test_a_survey_from_the_plan_to_the_files(
    servers: Servers,
    browser: Any,
    page_url: str,
    axe_script: str,
    people: int,
    by_program: int,
) -> None:
    context = browser.new_context(locale="en-GB", accept_downloads=True)
    said: list[str] = []
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        few = people < 100
        some = ["desktop-light", "phone-dark", "tablet-light"] if few else list(LOOKS)
        looks = Looks(axe_script, SCREENSHOTS / "console", some, by_turns=few)
        researcher = Researcher(page, servers, looks)
        researcher.sign_in()
        researcher.plan(people)
        researcher.build()
        researcher.create(people)
        name = researcher.open()
        table = researcher.invite(people, page_url)
        assert len({row["invitation"] for row in table}) == people
        researcher.watch()
        page.locator("[data-live=answered]", has_text="0").wait_for()
        for at, row in enumerate(table[:by_program]):
            answer_by_program(row["program_link"], at, row["invitation"])
        researcher.wait_for_figure("answered", str(by_program))  # by itself
        for at, row in enumerate(table[by_program:], by_program):
            answer_by_page(browser, row["link"], at)
        page.reload()  # pages hear of every tenth answer
        researcher.wait_for_figure("answered", str(people))
        researcher.wait_for_figure("rate", "100.0%")
        researcher.wait_for_figure("out", "0")
        looks(page, "watch")
        survey = read_survey(servers.collector.admin.get_bytes(f"/v1/surveys/{name}"))
        assert [question.kind for question in survey.questions] == [
            *("choice", "yes-no", "choice", "several", "scale", "number")
        ]
        researcher.close()
        report = survey_report(servers.operator(survey), ReportWish())
        assert report.final
        assert report.participation.answered == people
        words = page.locator(".results").inner_text()
        for question in report.questions:
            for figure in figures(question):
                assert figure in words, question.name
        researcher.groups()
        page.get_by_role("link", name="Analyse", exact=True).click()
        page.get_by_label("Question", exact=True).first.select_option(label=QUESTIONS[4]["text"])
        researcher.press("Show groups")
        page.locator(".results figure").first.wait_for()
        looks(page, "analysis")
        page.get_by_role("link", name="Waves", exact=True).click()
        looks(page, "waves")
        page.get_by_role("link", name="Dealer", exact=True).click()
        assert page.get_by_text("(done)").count() == 3
        looks(page, "dealers")
        page.get_by_role("link", name="Files", exact=True).click()
        looks(page, "files")
        rows = researcher.download("answers.csv").decode().splitlines()
        assert len(rows) == people + 1
        parquet = pq.read_table(io.BytesIO(researcher.download("answers.parquet")))
        assert parquet.num_rows == people
        assert b"have_ever" in researcher.download("codebook.csv")
        with page.expect_download() as coming:
            researcher.press("Download")
        printed = Path(coming.value.path()).read_text("utf-8")
        assert printed.startswith("<!doctype html>")
        page.get_by_role("link", name="Surveys", exact=True).click()
        looks(page, "surveys")
        researcher.press("Sign out")
        page.get_by_role("heading", name="Sign in").wait_for()
        still_open = servers.survey(WORK | {"title": "Pay"})
        servers.begin(still_open, 3)
        page.goto(f"{servers.dealer.url}/console/")
        researcher.write("Admin token", servers.dealer.token)
        researcher.press("Sign in")
        page.get_by_role("heading", name="Status of this dealer").wait_for()
        looks(page, "dealer")
        page.goto(f"{servers.dealer.url}/console/surveys/{still_open.hash}")
        page.get_by_role("heading", name="Whom to accept").wait_for()
        looks(page, "dealer-steps")
        assert said == []
    finally:
        context.close()
