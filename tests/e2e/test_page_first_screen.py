"""What people read before the first question: short, easy, without contradiction, and true."""

import re
from typing import Any

import pytest

from jrr.dealing.kinds import Nobody
from jrr.privacy.cost_table import people_of_100
from tests.e2e import Pair
from tests.e2e.visits import (
    MECHANISM,
    Visit,
    address_of,
    begun,
    begun_draft,
    visiting,
)
from tools.reading_ease import HARDEST, MOST_WORDS, ease

AGE = {
    "name": "age", "kind": "number", "low": 15, "high": 80, "sensitive": False,
    "text": {"en": "How old are you?", "de": "Wie alt sind Sie?"},
}  # fmt: skip
DRINKS = {"name": "drinks", "kind": "yes-no", "text": {"en": "Drink?", "de": "Trinken Sie?"}}
DOCUMENT: dict[str, Any] = {
    "title": {"en": "Health at work", "de": "Gesundheit bei der Arbeit"},
    "languages": ["en", "de"],
    "by": {"en": "The University of Example", "de": "Die Universität Beispiel"},
    "contact": {"en": "study@university.example", "de": "study@university.example"},
    "epsilon": 1.0,
    "ask": "all",
    "questions": [AGE, DRINKS],
}
SURVEYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "some open": (DOCUMENT, {}),
    "none open": (DOCUMENT | {"questions": [DRINKS]}, {}),
    "no dealer": (DOCUMENT, {"dealing": Nobody(), "mechanism": "rr"}),
    "no dealer, none open": (
        DOCUMENT | {"questions": [DRINKS]},
        {"dealing": Nobody(), "mechanism": "rr"},
    ),
    "two waves": (DOCUMENT | {"waves": 2}, {}),
    "four waves": (DOCUMENT | {"waves": 4}, {}),
    "at a δ": (DOCUMENT, {"mechanism": "drr", "closed_deck": True}),
}
LANGUAGES = {"en": "en-GB", "de": "de-DE"}


def check_first_screen(visit: Visit, language: str) -> str:
    """Short and easy; one picture that shows the number in the text. The text."""
    visit.page.locator(".people").wait_for()
    parts = visit.page.locator("main > p, main > details > summary")
    words = "\n".join(parts.all_inner_texts())
    found = ease(words, language)
    assert found.words <= MOST_WORDS, (found, words)
    assert found.grade <= HARDEST, (found, words)
    assert "%" not in words
    assert not re.search("can tell|erkennen", words)
    marked = visit.page.locator(".people .marked").count()
    assert visit.page.locator(".people i").count() == 100
    told = re.search(r"(?:at most|höchstens) (\d+)", words)
    if marked == 100:
        assert re.search("hardly hidden|kaum geschützt", words)
    else:
        assert told is not None
        assert int(told[1]) == marked
    return words


@pytest.mark.slow_variants("*-de]", "none open", "no dealer, none open", "four waves")
@pytest.mark.parametrize("language", list(LANGUAGES))
@pytest.mark.parametrize("name", list(SURVEYS))
def test_a_survey(browser: Any, page_url: str, sqlite_pair: Pair, name: str, language: str) -> None:
    document, more = SURVEYS[name]
    survey, _, invitations = begun_draft(sqlite_pair, 200, document, **more)
    address = address_of(page_url, survey, invitations[0])
    with visiting(browser, address, locale=LANGUAGES[language]) as visit:
        words = check_first_screen(visit, language)
        visit.photograph(f"first-{name}-{language}")
        assert re.search("by chance|durch Zufall", words)
        open_told = re.search("sent as they are|gesendet, wie sie sind", words) is not None
        assert open_told is (AGE in document["questions"])
        # Of cards that are no masks the page computes only what holds with the dealers' help.
        masked = any(question.mechanism.masked for question in survey.sensitive)
        assert (re.search("cheat|Betrügen", words) is not None) is masked
        assert visit.page.locator(".computed").is_hidden()
        protected = re.compile("Protected: |Geschützt: ")
        for question in document["questions"]:
            visit.page.locator("button.first").click()
            visit.wait_for(question["text"][language])
            badge = visit.page.locator("#badge").inner_text()
            assert (protected.match(badge) is not None) is question.get("sensitive", True)
            if question is AGE:
                visit.page.locator("#number").fill("30")


def test_a_text_that_says_another_number_does_not_hide_what_was_computed(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    written, _, _ = begun(
        sqlite_pair, 1, invitations=False, mechanism=MECHANISM,
        consent={"en": "Of 100 who send what you send, at most 11 have it. {cost}"},
    )  # fmt: skip
    with visiting(browser, address_of(page_url, written)) as visit:
        visit.page.locator(".people").wait_for()
        line = visit.page.locator(".computed")
        assert line.is_visible()
        assert "whatever else is said here" in line.inner_text()
        most = people_of_100(MECHANISM.epsilon("everything"))
        assert f"at most {most} have it" in line.inner_text()
        assert visit.page.locator(".people .marked").count() == most
