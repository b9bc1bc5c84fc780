"""A whole study in Chromium: plan, pilot, two waves, two operators who exchange files, accidents.

The researcher and the dealer's operator each have a browser and the token of their own server.
Counts are compared with what truly happened, estimates with true answers.
"""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from jrr.client.operator import EstimateWish, Operator, Tokens
from jrr.client.report import ReportWish, survey_report
from jrr.console.plan_tables import yes_no_questions
from jrr.errors import ProtocolError
from jrr.reporting.cost_words import shown_costs
from jrr.reporting.numerals import Numerals
from jrr.research.processes import Running, free_port, running
from jrr.survey.draft import Draft
from jrr.survey.ethics import ethics_document
from jrr.survey.plan import PlanOptions, plan_draft
from jrr.survey.survey import Survey, read_survey
from tests.browsing import LOOKS, SCREENSHOTS
from tests.console import WORK, answer
from tests.console.test_researcher import Looks, figures
from tests.e2e.visits import visiting

ASKED: dict[str, Any] = WORK | {
    "title": "A study of two waves",
    "by": "The University of Example",
    "contact": "study@university.example",
    "waves": 2,
    "survey": {"closes": "2999-01-01T00:00:00Z", "consent": {"en": "For science."}},
}
LATER = "2999-02-01T00:00"


def true_answers(at: int) -> dict[str, Any]:
    """Of the first three people "field", of all others "office"; every third was bribed."""
    sector = "field" if at < 3 else "office"
    return {"sector": sector, "bribed": "yes" if at % 3 == 0 else "no", "hours": 1 + at % 3}


class Hand:
    """One operator's browser, at their own console."""

    def __init__(self, browser: Any, server: Running) -> None:
        context = browser.new_context(locale="en-GB", accept_downloads=True)
        self.page, self.server = context.new_page(), server
        self.page.set_default_timeout(30_000)
        self.sign_in(server)

    def sign_in(self, server: Running) -> None:
        self.server = server
        self.page.goto(f"{server.url}/console/sign-in")
        self.page.get_by_label("Admin token").fill(server.token)
        self.press("Sign in")

    def go(self, path: str) -> None:
        self.page.goto(f"{self.server.url}/console{path}")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def reads(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for()

    def fetched(self, act: Callable[[], None]) -> bytes:
        """What a browser saves when something is done."""
        with self.page.expect_download() as coming:
            act()
        return Path(coming.value.path()).read_bytes()


def survey_at(hand: Hand) -> Survey:
    name = hand.page.url.partition("/surveys/")[2].partition("/")[0]
    return read_survey(hand.server.admin.get_bytes(f"/v1/surveys/{name}"))


def made_invitations(hand: Hand, survey: Survey, **fields: str) -> tuple[list[Any], bytes]:
    """The table that the researcher gets, and the file for the dealer's operator."""
    hand.go(f"/surveys/{survey.hash}/invite")
    for name, value in fields.items():
        field = hand.page.locator(f"[name={name}]")
        if name in ("made_before", "act"):
            field.evaluate("field => { field.closest('details').open = true; }")
        field.select_option(value) if name == "act" else field.fill(value)
    body = hand.fetched(lambda: hand.press("Make invitations and download"))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (table,) = (files[name] for name in files if name.endswith(".csv"))
    return list(csv.DictReader(io.StringIO(table.decode()))), files["for-dealer-1.json"]


def begun_together(researcher: Hand, dealer: Hand, survey: Survey, **invite: str) -> list[Any]:
    """Both operators hold and open the survey, and accept the same people; the table."""
    base = f"/surveys/{survey.hash}"
    researcher.go(f"{base}/files")
    document = researcher.fetched(
        lambda: researcher.page.get_by_role("link", name="document.json").click()
    )
    dealer.go("/")
    dealer.page.locator("#document").fill(document.decode())
    dealer.press("Bring it")
    dealer.press("Open the survey")
    dealer.reads("Open: who has an invitation gets a card.")
    researcher.go(base)
    researcher.press("Open the survey")
    researcher.reads("Open: answers are taken.")
    table, for_dealer = made_invitations(researcher, survey, page="https://page.example", **invite)
    accepted(dealer, survey, for_dealer)
    return table


def accepted(dealer: Hand, survey: Survey, file: bytes) -> None:
    dealer.go(f"/surveys/{survey.hash}")
    dealer.page.locator("#people").fill(file.decode())
    dealer.press("Accept them")
    dealer.reads("people are accepted.")


def closed_together(researcher: Hand, dealer: Hand, survey: Survey, by: str = "") -> None:
    """The request goes to the dealer's operator, and the sums come back."""
    researcher.go(f"/surveys/{survey.hash}/close")
    if by:
        researcher.page.locator(f"[name=by_{by}]").check()
        researcher.press("Show these groups")
        researcher.page.locator(f"[name=by_{by}]:checked").wait_for()
    burned = researcher.page.get_by_text("Nobody can find out afterwards which card").count()
    assert burned == (survey.announcements == 1)  # the key is kept where another wave follows
    researcher.page.get_by_label("I am sure: close it").check()
    researcher.press("Close for good")
    researcher.reads("No more answers are taken.")
    sums_carried(researcher, dealer, survey, "Announce" if survey.announcements > 1 else BURNS)
    researcher.reads("Closed for good.")


BURNS = "Announce and burn"


def sums_carried(researcher: Hand, dealer: Hand, survey: Survey, button: str) -> None:
    for _ in range(1 + survey.dealing.is_verified):  # files of verified cards go twice
        request = researcher.fetched(
            lambda: researcher.page.get_by_role("link", name="the request for").click()
        )
        dealer.go(f"/surveys/{survey.hash}")
        dealer.page.locator("#request").fill(request.decode())
        dealer.page.get_by_label("I am sure: tell the sums").check()
        sums = dealer.fetched(lambda: dealer.press(button))
        researcher.page.locator("#sums0").fill(sums.decode())
        researcher.press("Finish")


def told_again(researcher: Hand, dealer: Hand, survey: Survey, looks: Looks) -> None:
    """The second sums of a wave, once the next one is closed; then the key is burned."""
    dealer.go(f"/surveys/{survey.hash}")
    dealer.reads("The key is kept for one more sum")
    looks(dealer.page, "dealer-keeps")
    researcher.go(f"/surveys/{survey.hash}/close")
    looks(researcher.page, "close-again")
    researcher.page.get_by_label("I am sure: ask for the sum").check()
    researcher.press("Ask for the second sum")
    researcher.reads("has still to announce")
    sums_carried(researcher, dealer, survey, BURNS)
    researcher.reads("The second sums are here")
    dealer.go(f"/surveys/{survey.hash}")
    dealer.reads("The key is burned.")


SURE = EstimateWish(level=1 - 1e-9)  # an interval that misses once in a billion times


def near(estimate: dict[str, Any], truth: list[float]) -> None:
    """The true shares are where they must be, and the estimate says something of them."""
    bounds = zip(estimate["interval"], truth, strict=True)
    assert all(low <= true <= high for (low, high), true in bounds)
    assert all(error < 0.35 for error in estimate["stderr"])


def bribed(people: Iterable[int]) -> list[float]:
    """The true shares of no and yes."""
    yes = fmean(true_answers(at)["bribed"] == "yes" for at in people)
    return [1 - yes, yes]


def satisfied(people: Iterable[int]) -> list[float]:
    told = [true_answers(at)["hours"] for at in people]
    return [told.count(value) / len(told) for value in (1, 2, 3)]


def figures_stand(page: Any, operator: Operator) -> None:
    """Every number of a page of results is the library's."""
    words = page.locator(".results").first.inner_text()
    for question in survey_report(operator, ReportWish()).questions:
        for figure in figures(question):
            assert figure in words, (question.name, figure)


@pytest.mark.slow
def test_a_whole_study(browser: Any, page_url: str, axe_script: str, tmp_path: Path) -> None:
    looks = Looks(axe_script, SCREENSHOTS / "study", list(LOOKS), by_turns=False)
    port = free_port()
    keys = tmp_path / "dealer"
    with running("collector", tmp_path / "collector", None, "--console") as collector:
        researcher = Hand(browser, collector)
        with running("dealer", keys, None, "--console", port=port) as server:
            dealer = Hand(browser, server)
            researcher.go("/plan?people=30&population=300&epsilon=4&questions=2")
            researcher.reads("with the error of sampling")
            researcher.reads("What if?")
            looks(researcher.page, "plan")
            # 18 of 30 answer, drawn from 300: MRR's margin, with the error of drawing them.
            options = PlanOptions(dealer_epsilon=6.0, lost=0.03, mechanism="auto")
            draft_of_plan = Draft.from_dict(yes_no_questions(2))
            made = plan_draft(draft_of_plan, 30, response=0.6, epsilon=4.0, options=options)
            margin = made.questions[0].margin
            drawn = 1.96 * sqrt(0.25 / 18 * (300 - 18) / (300 - 1))
            cells = researcher.page.locator("table").first.locator("tbody td").all_inner_texts()
            assert cells[3:5] == [
                f"±{100 * margin:.2g} points", f"±{100 * sqrt(margin**2 + drawn**2):.2g} points"
            ]  # fmt: skip

            # A pilot without a dealer, answered by one, thrown away whole.
            researcher.go("/drafts/import")
            researcher.page.locator("textarea[name=text]").fill(json.dumps(ASKED))
            researcher.page.locator("main form button.primary, main form button").last.click()
            researcher.press("Save and go on")
            draft = researcher.page.url
            researcher.page.get_by_label("A test: people").check()
            looks(researcher.page, "create")
            researcher.press("Create the survey")
            pilot = survey_at(researcher)
            researcher.press("Open the survey")
            guest = _direct(collector, pilot)
            answer(pilot, guest, true_answers(5))
            researcher.go(f"/surveys/{pilot.hash}/close")
            researcher.page.get_by_label("I am sure: delete").check()
            researcher.press("Delete")
            researcher.reads("Deleted at collector.")
            researcher.page.get_by_role("heading", name="Deleted").wait_for()
            with pytest.raises(ProtocolError, match="its data were deleted at"):
                collector.admin.get(f"/v1/admin/surveys/{pilot.hash}")

            # The first wave, with a document for the ethics board before it opens.
            researcher.page.goto(draft)
            for name, value in {
                "people": "30", "response": "100", "dealers": server.url, "min_cell": "3",
            }.items():  # fmt: skip
                researcher.page.locator(f"[name={name}]").fill(value)
            researcher.press("Create the survey")
            first = survey_at(researcher)
            assert not first.pilot
            researcher.go(f"/surveys/{first.hash}/ethics")
            told = researcher.page.locator("body").inner_text()
            # The server's policy lets nothing run there, not even axe-core.
            printed = researcher.page.context.new_page()
            printed.set_content(ethics_document(first).page())
            looks(printed, "ethics")
            printed.close()
            for words in (first.hash, server.url, collector.url, "For science.", "second sum"):
                assert words in told
            assert "is kept after the end, for one more sum" in told
            assert all(cell in told for row in shown_costs(first.costs, "en").rows for cell in row)
            table = begun_together(researcher, dealer, first, count="20", spare="2")
            invitations = [row["invitation"] for row in table]
            for at in range(8):
                answer(first, invitations[at], true_answers(at))
            server.process.kill()  # in the middle
            server.process.wait()

        # Without the dealer somebody answers by chance alone, and the console says who is silent.
        answer(first, invitations[8], true_answers(8))
        researcher.go(f"/surveys/{first.hash}/dealers")
        researcher.reads("no answer")
        researcher.go(f"/surveys/{first.hash}")
        researcher.reads("does not answer: who answers now has no card")
        with running("dealer", keys, None, "--console", port=port) as server:
            dealer.sign_in(server)  # the same keys and seats, under another token
            # A lost invitation is replaced, at both servers.
            new, for_dealer = made_invitations(
                researcher, first,
                made_before=f"invitation\n{invitations[9]}", act="replace", page="https://p.example",
            )  # fmt: skip
            accepted(dealer, first, for_dealer)
            with pytest.raises(ProtocolError, match="not known here"):
                answer(first, invitations[9], true_answers(9))
            answer(first, new[0]["invitation"], true_answers(9))
            for at in range(10, 19):
                answer(first, invitations[at], true_answers(at))
            # An extended deadline is shown to the last one, who answers on a phone.
            for hand in (dealer, researcher):
                hand.go(f"/surveys/{first.hash}")
                details = hand.page.locator("details", has_text="Extend the closing time")
                if details.count():
                    details.evaluate("one => { one.open = true; }")
                hand.page.locator("[name=closes]").fill(LATER)
                hand.press("Extend")
                hand.reads("Extended")
            researcher.reads("Extended. People are shown both times.")
            address = f"{page_url}#survey={first.link}&invitation={invitations[19]}"
            with visiting(browser, address) as visit:
                _answer_by_page(visit, true_answers(19), looks)
            # Somebody begins with a spare invitation, and leaves.
            address = f"{page_url}#survey={first.link}&invitation={invitations[20]}"
            with visiting(browser, address) as visit:
                visit.click("I agree")
                visit.page.locator("fieldset").wait_for()
            dealer.go(f"/surveys/{first.hash}")
            tiles = dealer.page.locator(".tiles").first.inner_text().split()
            assert tiles[:4] == ["22", "invited", "20", "enrolled"]
            researcher.go(f"/surveys/{first.hash}")
            researcher.page.locator("[data-live=answered]", has_text="20").wait_for()
            researcher.page.locator("section.results article").first.wait_for()
            for name, figure in {"invited": "22", "cardless": "1", "rate": "90.9%"}.items():
                assert researcher.page.locator(f"[data-live={name}]").inner_text() == figure
            days = researcher.page.locator("details", has_text="Answers by day").locator("td")
            assert sum(int(one) for one in days.all_text_contents() if one.strip()) == 20
            looks(researcher.page, "watch")
            closed_together(researcher, dealer, first, "sector")
            looks(researcher.page, "results")
            operator = Operator.by_tokens(
                first, Tokens(dealer=server.token, collector=collector.token)
            )
            shown = operator.show()
            assert (shown["collector"]["reports"], shown["collector"]["settled"]) == (20, True)
            found = operator.estimate("bribed", SURE)
            assert (found["estimate"]["n"], found["carded"]) == (20, 19)
            near(found["estimate"], bribed(range(20)))
            near(operator.estimate("hours", SURE)["estimate"], satisfied(range(20)))
            figures_stand(researcher.page, operator)
            researcher.go(f"/surveys/{first.hash}/groups?by=sector")
            shown = researcher.page.locator(".results").first.inner_text()
            told = operator.estimate("bribed", replace(SURE, by="sector"))
            groups = {one["name"]: one for one in told["groups"]}
            assert {name: one["n"] for name, one in groups.items()} == {"field": 3, "office": 17}
            near(groups["office"], bribed(range(3, 20)))
            for group in groups.values():
                yes = group["frequencies"][1]
                ways = {Numerals("en").percent(yes, places) for places in (0, 1)}
                assert any(f"{group['name']}\t{group['n']}\t{way}" in shown for way in ways)
            low, high = groups["field"]["interval"][1]
            assert low <= 1 / 3 <= high
            dealer.go(f"/surveys/{first.hash}")
            dealer.reads("lost, by this dealer's count")
            tiles = dealer.page.locator(".tiles").first.inner_text().split()
            assert tiles[tiles.index("lost,") - 1] == "1"  # who began and left
            rows = operator.export("csv").decode().splitlines()
            assert len(rows) == 1 + 20

            # The second wave: the same people, dealer, trust and questions.
            researcher.go(f"/surveys/{first.hash}/waves")
            researcher.press("Begin wave 2")
            researcher.press("Save and go on")
            researcher.press("Create the survey")
            second = survey_at(researcher)
            assert (second.wave, second.panel, second.dealing) == (2, first.hash, first.dealing)
            kept = [one for at, one in enumerate(invitations[:20]) if at != 9]
            kept.append(new[0]["invitation"])
            begun_together(researcher, dealer, second, made_before="\n".join(["invitation", *kept]))
            for at, one in enumerate(kept):
                answer(second, one, true_answers(at + 1))
            closed_together(researcher, dealer, second)
            later = Operator.by_tokens(
                second, Tokens(dealer=server.token, collector=collector.token)
            )
            near(later.estimate("bribed", SURE)["estimate"], bribed(range(1, 21)))
            figures_stand(researcher.page, later)
            told_again(researcher, dealer, first, looks)
            researcher.go(f"/surveys/{second.hash}/waves?since={first.hash}&paired=yes")
            researcher.reads("from wave 1 to wave 2")
            change = later.change(first, paired=True, wish=SURE)["changes"]
            words = researcher.page.locator("tbody").inner_text()
            for name, true in (("bribed", bribed), ("hours", satisfied)):
                assert change[name]["n_both"] == 20
                moved = zip(true(range(1, 21)), true(range(20)), strict=True)
                bounds = zip(change[name]["interval"], moved, strict=True)
                assert all(low <= now - then <= high for (low, high), (now, then) in bounds)
                for told in change[name]["difference"]:
                    assert f"{100 * told:+.2f} points" in words
            looks(researcher.page, "waves")


def _direct(collector: Running, survey: Survey) -> str:
    """An invitation to a survey that nobody deals for."""
    from jrr.client.operator import new_invitations

    operator = Operator.by_tokens(survey, Tokens(collector=collector.token))
    (one,) = new_invitations(1)
    operator.invite([one])
    return one


def _answer_by_page(visit: Any, truth: dict[str, Any], looks: Looks) -> None:
    """On a phone; both times are read before the first question."""
    page = visit.page
    visit.wait_for("A study of two waves")
    assert "the survey first said" in visit.text()
    looks(page, "page-first")
    visit.click("I agree")
    for words in (truth["sector"], truth["bribed"].capitalize(), str(truth["hours"])):
        page.locator("fieldset").wait_for()
        page.get_by_label(words, exact=True).check()
        assert page.title().startswith("Question ")
        visit.click("Next")
    visit.wait_for("Ready to send")
    visit.click("Send")
    visit.wait_for("Thank you")
    assert "You may close this page." in visit.text()
    looks(page, "page-thanks")
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
