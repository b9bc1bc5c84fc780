"""People answer a survey of several questions on the page, in a real browser, over real servers."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from jrr.servers.page.files import page_files
from jrr.survey.survey import Survey
from tests.browsing import DESKTOP
from tests.e2e import Pair, ask
from tests.e2e.test_page_screens import inspect
from tests.e2e.visits import TRUTH, Visit, address_of, assert_forgotten, begun_draft, visiting
from tests.survey.test_words_around import png

SECTOR = {"en": "Where do you <b>work</b>?", "de": "Wo <b>arbeiten</b> Sie?"}
# Labels of sensitive answers that are found nowhere else.
FURY = [{"en": f"{word}-fury", "de": f"{word}-Wut"} for word in ("calm", "hidden", "open")]
PILLS = [{"en": f"{word}-pill", "de": f"{word}-Pille"} for word in ("red", "blue")]
DOCUMENT: dict[str, Any] = {
    "title": {"en": "Health at work", "de": "Gesundheit bei der Arbeit"},
    "languages": ["en", "de"],
    "ask": "all",
    "epsilon": 100.0,  # so much that reports are nearly exact, and cards still pay
    "questions": [
        {
            "name": "sector",
            "kind": "choice",
            "text": SECTOR,
            "labels": [{"en": "office", "de": "Büro"}, {"en": "workshop", "de": "Werkstatt"}],
            "sensitive": False,
        },
        {
            "name": "age",
            "kind": "number",
            "text": {"en": "How old are you?", "de": "Wie alt sind Sie?"},
            "low": 15,
            "high": 80,
            "sensitive": False,
            "prefer_not": True,
        },
        {"name": "drinks", "kind": "yes-no", "text": {"en": "Drink?", "de": "Trinken Sie?"}},
        {
            "name": "fury",
            "kind": "choice",
            "text": {"en": "How angry?", "de": "Wie wütend?"},
            "labels": FURY,
            "prefer_not": True,
            "section": {"en": "How you <b>feel</b>", "de": "Wie Sie sich fühlen"},
        },
        {
            "name": "mood",
            "kind": "scale",
            "text": {"en": "How are you? 1 bad, 5 good", "de": "Wie geht es? 1 schlecht, 5 gut"},
            "prefer_not": True,
        },
        {
            "name": "pills",
            "kind": "several",
            "text": {"en": "Which do you take?", "de": "Welche nehmen Sie?"},
            "labels": PILLS,
        },
        {
            "name": "days",
            "kind": "number",
            "text": {"en": "Days ill?", "de": "Tage krank?"},
            "low": 0,
            "high": 20,
            "or_more": True,
        },
        {
            "name": "welding",
            "kind": "yes-no",
            "text": {"en": "Welded without a mask?", "de": "Ohne Maske geschweißt?"},
            "only_if": {"sector": "workshop"},
        },
    ],
}
SENSITIVE = [text for label in (*FURY, *PILLS) for text in label.values()]
OFFICE: dict[str, Any] = {
    "sector": "office",
    "age": 41.5,
    "drinks": "yes",
    "fury": "hidden-fury",
    "mood": 4,
    "pills": ["blue-pill"],
    "days": 35,  # counts as 20
}
WORKSHOP: dict[str, Any] = {
    "sector": "workshop",
    "age": None,
    "drinks": "no",
    "fury": None,
    "mood": None,
    "pills": [],
    "days": 0,
    "welding": "yes",
}
WORDS = {
    "en": {"no": "No", "yes": "Yes", None: "Prefer not to say", "next": "Next", "send": "Send"},
    "de": {
        "no": "Nein",
        "yes": "Ja",
        None: "Möchte ich nicht sagen",
        "next": "Weiter",
        "send": "Senden",
    },
}
HEADINGS = {
    "en": {"agree": "I agree", "review": "Ready to send", "thanks": "Thank you"},
    "de": {
        "agree": "Ich bin einverstanden",
        "review": "Bereit zum Senden",
        "thanks": "Vielen Dank",
    },
}
QUESTIONS = {question["name"]: question for question in DOCUMENT["questions"]}


@pytest.fixture(scope="module")
def generous_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page from any static web server, made to accept more than it does.

    Its seal is taken off for that; tests of what is served as it is use `page_url`.
    """
    root = tmp_path_factory.mktemp("static")
    for file in page_files():
        body = file.body.replace(b" integrity=", b" data-integrity=")
        if file.path == "page/page.js":
            assert b"const LIMIT = 5;" in body
            body = body.replace(b"const LIMIT = 5;", b"const LIMIT = 500;")
        (root / file.path).parent.mkdir(exist_ok=True)
        (root / file.path).write_bytes(body)

    seen: list[str] = []

    class Recorder(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            seen.append(f"{self.requestline}\n{self.headers}")

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Recorder, directory=str(root)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/page/"
    server.shutdown()
    thread.join()
    server.server_close()
    # What stands after the # has reached no server: neither the survey nor an invitation.
    assert any("GET /page/page.js" in one for one in seen)
    assert not any(word in one for one in seen for word in ("invitation", "survey=", "v1/surveys"))


def answering(
    browser: Any,
    page_url: str,
    survey: Survey,
    invitation: str,
    coin: str | None = None,
    **settings: Any,
) -> AbstractContextManager[Visit]:
    """A person who has opened the link."""
    return visiting(browser, address_of(page_url, survey, invitation), coin, **settings)


def label_of(question: dict[str, Any], word: str | None, language: str) -> str:
    for label in question.get("labels", ()):
        if word in label.values():
            return str(label[language])
    return WORDS[language][word]


def answer_question(visit: Visit, name: str, answer: Any, language: str) -> None:
    """Choose or type an answer on the screen of one question."""
    question, page = QUESTIONS[name], visit.page
    page.locator("h1", has_text=question["text"][language]).wait_for()
    assert page.locator("fieldset > legend").count() == 1
    sections = page.locator(".section").all_inner_texts()
    assert sections == ([question["section"][language]] if "section" in question else [])
    badge = page.locator("#badge")
    assert ("changed" in (badge.get_attribute("class") or "")) is question.get("sensitive", True)
    if answer is None:
        page.get_by_label(WORDS[language][None]).check()
    elif question["kind"] == "number":
        page.locator("#number").fill(str(answer))
    elif question["kind"] == "several":
        for one in answer:
            page.get_by_label(label_of(question, one, language)).check()
    else:
        shown = str(answer) if question["kind"] == "scale" else label_of(question, answer, language)
        page.get_by_label(shown, exact=True).check()


def answer_all(
    visit: Visit, answers: dict[str, Any], language: str = "en", shots: str = ""
) -> None:
    """From the introduction to the last question."""
    visit.click(HEADINGS[language]["agree"])
    for at, (name, answer) in enumerate(answers.items()):
        visit.wait_for(QUESTIONS[name]["text"][language])
        assert visit.page.locator("h1").evaluate("node => node === document.activeElement")
        answer_question(visit, name, answer, language)
        if shots:
            visit.photograph(f"survey-{shots}-{at + 1}-{name}")
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        visit.click(WORDS[language]["next"])
    visit.wait_for(HEADINGS[language]["review"])


def send(visit: Visit, language: str = "en") -> dict[str, Any]:
    before = len(visit.posted("/cards"))
    assert before <= 1  # the place, taken before the first question
    visit.click(WORDS[language]["send"])
    visit.wait_for(HEADINGS[language]["thanks"])
    assert len(visit.posted("/cards")) > before  # cards are fetched at the moment of sending
    assert len(set(visit.posted("/cards"))) == 1  # by the same words
    return visit.sent()


def assert_no_true_answer(visit: Visit, answers: dict[str, Any], invitation: str) -> None:
    """Neither traffic nor storage nor history nor console nor page has a sensitive answer."""
    assert visit.console == []
    kept = visit.kept()
    traffic = json.dumps(visit.requests, ensure_ascii=False)
    for word in SENSITIVE:
        assert word not in traffic
        assert word not in kept
    assert visit.page.locator("input, select:not(#language)").count() == 0
    asked = [[method, url.partition("#")[0], body] for method, url, body in visit.requests]
    assert invitation not in json.dumps(asked)
    bodies = set(visit.posted("/reports"))
    assert len(bodies) == 1
    (body,) = map(json.loads, bodies)
    assert set(body) == {"pseudonym", "open", "reports"}
    assert body["open"] == {name: answers[name] for name in ("sector", "age")}
    for report in body["reports"].values():
        assert set(report) <= {"carded", "report", "serials", "commitments", "proof"}
    for cards in visit.posted("/cards"):  # the dealer is told two names and nothing else
        assert set(json.loads(cards)) == {"pseudonym", "device", "serial", "nonce"}
    assert_forgotten(visit, invitation)


def by_keyboard(visit: Visit, answers: dict[str, Any]) -> None:
    """The same as `answer_all`, and sending, with keys alone."""
    keyboard = visit.page.keyboard

    def reach(name: str) -> None:
        for _ in range(30):
            keyboard.press("Tab")
            held = visit.page.evaluate(
                """() => { const at = document.activeElement;
                return (at.labels?.[0] ?? at).innerText?.trim(); }"""
            )
            if held == name:
                return
        raise AssertionError(f"{name} cannot be reached by Tab")

    visit.wait_for("Health at work")
    reach("I agree")
    keyboard.press("Enter")
    for name, answer in answers.items():
        question = QUESTIONS[name]
        visit.page.locator("h1", has_text=question["text"]["en"]).wait_for()
        if question["kind"] == "number":
            if answer is None:
                reach("Prefer not to say")
                keyboard.press("Space")
            else:
                keyboard.press("Tab")
                keyboard.type(str(answer))
        elif question["kind"] == "several":
            for one in answer:
                reach(label_of(question, one, "en"))
                keyboard.press("Space")
        else:
            keyboard.press("Tab")
            keyboard.press("Space")  # the first; arrows go on from it
            wanted = str(answer) if isinstance(answer, int) else label_of(question, answer, "en")
            for _ in range(10):
                chosen = visit.page.locator("label.choice:has(:checked)").inner_text().strip()
                if chosen == wanted:
                    break
                keyboard.press("ArrowDown")
            assert chosen == wanted
        keyboard.press("Enter")
    visit.wait_for("Ready to send")
    reach("Send")
    keyboard.press("Enter")
    visit.wait_for("Thank you")


def test_people_answer_all_kinds_of_questions(
    browser: Any, generous_url: str, sqlite_pair: Pair
) -> None:
    pilot = {"pilot": True, "logo": png(40, 20)}
    survey, operator, invitations = begun_draft(sqlite_pair, 6, DOCUMENT, **pilot)
    answers = [OFFICE, WORKSHOP, WORKSHOP | {"age": 30}, OFFICE, OFFICE]
    bodies = []
    with answering(
        browser, generous_url, survey, invitations[0], TRUTH
    ) as visit:  # On a phone, by hand.
        visit.wait_for("Health at work")
        visit.photograph("survey-phone-0-introduction")
        assert visit.page.locator("details").first.get_attribute("open") is None
        assert "your device changes your answer by chance" in visit.text()
        assert "This is a test of the survey" in visit.text()
        visit.page.wait_for_function("document.querySelector('canvas.logo').width === 40")
        assert not any(sqlite_pair.dealer.url in url for _, url, _ in visit.requests)
        answer_all(visit, answers[0], shots="phone")
        visit.photograph("survey-phone-8-review")
        assert "41.5" in visit.text()  # what is sent as it is
        assert not any(word in visit.text() for word in SENSITIVE)
        bodies.append(send(visit))
        visit.photograph("survey-phone-9-thanks")
        assert visit.posted("/reports") == [visit.sent_bytes()]
        assert_no_true_answer(visit, answers[0], invitations[0])
        visit.page.reload()  # it is forgotten what was sent, and not that it was
        visit.wait_for("Thank you")
        assert "You have answered before" in visit.text()
        assert len(visit.posted("/reports")) == 1
    with answering(
        browser, generous_url, survey, invitations[1], TRUTH
    ) as visit:  # With keys alone.
        keys = answers[1] | {"pills": ["red-pill"]}
        by_keyboard(visit, keys)
        bodies.append(visit.sent())
        assert_no_true_answer(visit, keys, invitations[1])
    german = {"locale": "de-DE", "color_scheme": "dark"} | DESKTOP
    with answering(browser, generous_url, survey, invitations[2], TRUTH, **german) as visit:
        visit.wait_for("Gesundheit bei der Arbeit")
        assert visit.page.locator("html").get_attribute("lang") == "de"
        visit.photograph("survey-german-0-introduction")
        answer_all(visit, answers[2], "de", shots="german")
        visit.photograph("survey-german-8-review")
        bodies.append(send(visit, "de"))
        visit.photograph("survey-german-9-thanks")
        assert_no_true_answer(visit, answers[2], invitations[2])
    with answering(
        browser, generous_url, survey, invitations[3], TRUTH
    ) as visit:  # Offline when sending.
        answer_all(visit, answers[3])
        visit.page.context.set_offline(True)
        visit.click("Send")
        assert "There is no connection" in visit.page.locator("[role=alert]").inner_text()
        visit.page.context.set_offline(False)
        visit.page.route("**/cards", lambda route: route.fulfill(status=404))
        visit.page.route("**/reports", lambda route: route.abort())
        visit.click("Send")
        visit.wait_for("Not confirmed yet")
        assert not visit.page.locator("input").count()
        visit.photograph("survey-phone-10-waiting")
        visit.page.unroute("**/reports")
        visit.page.context.set_offline(True)
        visit.page.context.set_offline(False)  # the browser says so, and the page goes on
        visit.wait_for("Thank you")
        assert "changed by chance first, as promised" in visit.text()
        bodies.append(visit.sent())
        assert not any(report["carded"] for report in bodies[3]["reports"].values())
    with answering(
        browser, generous_url, survey, invitations[4], TRUTH
    ) as visit:  # Changes their mind.
        answer_all(visit, WORKSHOP)
        for _ in WORKSHOP:  # back to the first question, where all is as it was
            visit.click("Back")
        visit.wait_for("Where do you")
        assert visit.page.get_by_label("workshop").is_checked()
        for name, answer in answers[4].items():
            if name == "pills":
                assert visit.page.locator("input:checked").count() == 0
            answer_question(visit, name, answer, "en")
            visit.click("Next")
        visit.wait_for("Ready to send")
        bodies.append(send(visit))
        assert_no_true_answer(visit, answers[4], invitations[4])
    with answering(
        browser, generous_url, survey, invitations[5], TRUTH
    ) as visit:  # Declines midway.
        visit.click("I agree")
        answer_question(visit, "sector", "office", "en")
        visit.click("Next")
        visit.click("Stop and delete my answers")
        visit.click("Delete and stop")
        visit.wait_for("You have stopped")
        assert visit.sent_no_answer

    asked = [set(body["reports"]) for body in bodies]
    everybody = {"drinks", "fury", "mood", "pills.1", "pills.2", "days"}
    assert asked == [everybody | ({"welding"} if at in (1, 2) else set()) for at in range(5)]
    assert operator.show()["collector"]["reports"] == 5
    operator.close()
    found = operator.estimates()

    def shares(question: str, wanted: list[float], changed: int = 1) -> None:
        """But for so many of five reports; more are changed in fewer than one run in 10^7."""
        told = found[question]["estimate"]["frequencies"]
        assert np.allclose(told, wanted, atol=changed / 5 + 0.05), (question, told)

    shares("drinks", [2 / 5, 3 / 5])
    shares("fury", [0, 3 / 5, 0, 2 / 5])
    shares("mood", [0, 0, 0, 3 / 5, 0, 2 / 5])
    shares("pills.1", [4 / 5, 1 / 5], changed=2)  # it has half the ε of the others
    shares("pills.2", [2 / 5, 3 / 5], changed=2)
    shares("welding", [0, 1])
    assert found["days"]["mean"]["mean"] == pytest.approx(12, abs=5)


def test_a_survey_that_costs_more_than_the_page_accepts_is_not_asked(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, (invitation, *_) = begun_draft(sqlite_pair, 6, DOCUMENT)
    with answering(browser, page_url, survey, invitation) as visit:
        visit.wait_for("This did not work")
        assert "too much about you" in visit.text()
        assert all(method == "GET" for method, _, _ in visit.requests)


def test_wrong_answers_are_told_and_the_language_can_be_changed(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, invitations = begun_draft(sqlite_pair, 3, DOCUMENT | {"epsilon": 4.0})
    with answering(browser, page_url, survey, invitations[0]) as visit:
        visit.click("I agree")
        visit.wait_for("Where do you")
        assert visit.heading() == SECTOR["en"]  # as text: nothing in it is markup
        visit.click("Next")
        assert "Please choose" in visit.page.locator("[role=alert]").inner_text()
        visit.photograph("survey-phone-11-choose")
        answer_question(visit, "sector", "office", "en")
        visit.click("Next")
        visit.page.locator("#number").fill("14")
        visit.click("Next")
        assert "from 15 to 80" in visit.page.locator("[role=alert]").inner_text()
        visit.page.locator("#number").fill("15")
        visit.click("Next")
        answer_question(visit, "drinks", "yes", "en")
        visit.page.locator("#language").select_option("de")
        visit.wait_for("Trinken Sie?")
        answer_question(visit, "drinks", "no", "de")
        visit.click("Weiter")
        visit.page.get_by_label("hidden-Wut").check()
        visit.click("Zurück")
        assert visit.page.get_by_label("Nein").is_checked()  # kept in memory while it is asked
        assert_memory_only(visit)
        visit.page.goto("about:blank")
        visit.page.go_back()
        visit.wait_for("Health at work")
        assert not visit.page.locator("input:checked").count()


def assert_memory_only(visit: Visit) -> None:
    kept = [key for key in json.loads(visit.kept())[0][0] if key != "works"]
    assert all(key.startswith("secret:device:") for key in kept)  # whose place was taken


def test_a_dealer_with_another_survey_ends_it(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, operator, invitations = begun_draft(sqlite_pair, 3, DOCUMENT | {"epsilon": 4.0})
    changed = survey.to_bytes().replace(b"Health at work", b"Wealth at work")
    with answering(browser, page_url, survey, invitations[0]) as visit:
        visit.page.route(
            f"{sqlite_pair.dealer.url}/v1/surveys/{survey.hash}",
            lambda route: route.fulfill(body=changed, headers={"access-control-allow-origin": "*"}),
        )
        visit.click("I agree")
        visit.wait_for("This did not work")  # before the first question
        assert "No answer was sent" in visit.text()
        assert not visit.posted("/cards")
        assert not visit.posted("/reports")
    assert operator.show()["collector"]["reports"] == 0
    reply = ask(sqlite_pair.collector.url, "GET", f"/v1/surveys/{survey.hash}")
    assert reply.status == 200


def test_every_screen_of_a_survey_is_accessible(
    browser: Any,
    page_url: str,
    sqlite_pair: Pair,
    axe_script: str,
) -> None:
    survey, _, invitations = begun_draft(sqlite_pair, 3, DOCUMENT | {"epsilon": 4.0})
    with answering(browser, page_url, survey, invitations[0]) as visit:
        visit.wait_for("Health at work")
        visit.page.locator("summary", has_text="How does this work?").click()
        inspect(visit, "survey-introduction", axe_script)
        visit.click("Try it first")
        visit.wait_for("Try it")
        inspect(visit, "survey-try", axe_script)
        visit.click("Back")
        visit.click("I agree")
        for name, answer in (OFFICE | {"sector": "workshop", "welding": "no"}).items():
            answer_question(visit, name, answer, "en")
            inspect(visit, f"survey-{name}", axe_script)
            visit.click("Next")
        visit.wait_for("Ready to send")
        inspect(visit, "survey-review", axe_script)
        visit.click("Send")
        visit.wait_for("Thank you")
        inspect(visit, "survey-thanks", axe_script)
