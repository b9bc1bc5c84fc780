"""What screen readers, large text and the browser's title make of the answer page."""

from typing import Any

from tests.e2e import Pair
from tests.e2e.test_page_first_screen import DOCUMENT
from tests.e2e.test_page_surveys import answering
from tests.e2e.visits import Visit, begun_draft

NARROW = {"width": 360, "height": 740}
CUT_OFF = """() => [...document.querySelectorAll("button, label, p, h1, h2, legend, td, th")]
  .filter((one) => !one.closest(".wide") && one.checkVisibility())
  .filter((one) => getComputedStyle(one).display !== "inline")
  .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 90))"""
# Words that go on in another line.
BROKEN = """() => [...document.querySelectorAll(".choice span, td, th, dd")]
  .flatMap((one) => [...one.childNodes])
  .filter((node) => node.nodeType === Node.TEXT_NODE)
  .flatMap((node) => [...node.data.matchAll(/\\p{L}+/gu)].map((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return [word[0], new Set([...range.getClientRects()].map(({ top }) => top)).size];
  }))
  .filter(([, lines]) => lines > 1)"""
WHERE = {
    "name": "where",
    "kind": "choice",
    "text": {"en": "Where?", "de": "Wo?"},
    "labels": [
        {"en": "Construction supervision", "de": "Bauaufsicht"},
        {"en": "Procurement", "de": "Beschaffung"},
    ],
    "sensitive": False,
}


def check_large_text(visit: Visit, where: str) -> None:
    """Text of twice the size on a narrow phone: nothing is wider than the screen or cut off."""
    visit.page.evaluate("document.documentElement.style.fontSize = '200%'")
    visit.photograph(f"large-text-{where}")
    # The viewport of a phone grows with what does not fit: it must be as wide as it was.
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], where
    cut = visit.page.evaluate(CUT_OFF)
    assert cut == [], where
    assert visit.page.evaluate(BROKEN) == [], where
    visit.page.evaluate("document.documentElement.style.fontSize = ''")
    assert visit.page.evaluate(BROKEN) == [], where


def test_names_errors_titles_and_large_text(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    document = DOCUMENT | {"questions": [*DOCUMENT["questions"], WHERE]}
    survey, _, invitations = begun_draft(sqlite_pair, 3, document)
    with answering(browser, page_url, survey, invitations[0]) as visit:
        page = visit.page
        page.set_viewport_size(NARROW)
        visit.wait_for("Health at work")
        titles = [page.title()]
        check_large_text(visit, "introduction")
        visit.click("Try it first")
        visit.wait_for("Try it")
        headings = page.locator("main h2").all_inner_texts()
        assert headings[:2] == [
            "What many answers tell",
            "And what one answer tells",
        ]
        titles.append(page.title())
        check_large_text(visit, "try")
        visit.click("Back")
        visit.click("I agree")
        visit.wait_for("How old")
        titles.append(page.title())
        number = page.locator("#number")
        assert number.get_attribute("aria-invalid") is None
        visit.click("Next")
        assert number.get_attribute("aria-invalid") == "true"
        check_large_text(visit, "number")
        number.fill("41")
        assert number.get_attribute("aria-invalid") is None
        visit.click("Next")
        visit.wait_for("Drink?")
        titles.append(page.title())
        group = page.get_by_role("radiogroup", name="Drink?")
        assert group.get_by_role("radio").count() >= 2
        assert group.get_attribute("aria-invalid") is None
        visit.click("Next")
        assert group.get_attribute("aria-invalid") == "true"
        check_large_text(visit, "choice")
        visit.choose("Yes")
        assert group.get_attribute("aria-invalid") is None
        visit.click("Next")
        visit.wait_for("Where?")
        titles.append(page.title())
        check_large_text(visit, "long words")
        visit.choose("Construction")
        visit.click("Next")
        visit.wait_for("Ready to send")
        titles.append(page.title())
        check_large_text(visit, "review")
        visit.click("Send")
        visit.wait_for("Thank you")
        titles.append(page.title())
        check_large_text(visit, "thanks")
        assert "You may close this page." in visit.text()
        assert "your changed answer with the secret card added" in visit.text()
        assert titles[0] == "A survey, answered in confidence"
        # Never the question itself: browsers keep titles in their history.
        assert [title.partition(" – ")[0] for title in titles[1:]] == [
            "Try it",
            "Question 1 of at most 3",
            "Question 2 of at most 3",
            "Question 3 of at most 3",
            "Ready to send",
            "Thank you",
        ]
