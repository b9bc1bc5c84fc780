"""A researcher at the console in a real browser, step by step; used by tests and by pictures."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browsing import PHONE
from tests.console import Servers, answer

TITLE = "Integrity at work"
# Kind, question, answers a line each, from, to; the first one is open.
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"kind": "One of several", "text": "Where do you work?", "labels": ["office", "field"]},
    {"kind": "Yes or no", "text": "Have you ever taken a bribe?"},
    {"kind": "One of several", "text": "Who offered it?", "labels": ["nobody", "firm", "friend"]},
    {"kind": "Any of several", "text": "What was offered?", "labels": ["money", "travel"]},
    {"kind": "Scale", "text": "How sure are you? 1 not at all, 5 very"},
    {"kind": "Number", "text": "How many times?", "low": "0", "high": "20"},
)
Shoot = Callable[[Any, str], None]


def nothing(page: Any, name: str) -> None:
    """No picture."""


class Researcher:
    """Somebody who has the token of the collector and of the dealer, and a browser."""

    def __init__(self, page: Any, servers: Servers, shoot: Shoot = nothing) -> None:
        self.page, self.servers, self.shoot = page, servers, shoot
        page.set_default_timeout(120_000)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def write(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).fill(text)

    def sign_in(self) -> None:
        self.page.goto(f"{self.servers.collector.url}/console/")
        self.shoot(self.page, "sign-in")
        self.write("Admin token", self.servers.collector.token)
        self.press("Sign in")
        self.page.get_by_role("heading", name="Surveys").wait_for()
        self.shoot(self.page, "surveys-empty")

    def plan(self, people: int) -> None:
        self.page.get_by_role("link", name="Plan", exact=True).click()
        self.write("People to invite", str(people))
        self.write("Privacy, ε", "4")
        self.write("Yes-no questions", "5")
        self.press("Plan")
        self.page.get_by_text("How many people for ± 2 points?").wait_for()
        self.shoot(self.page, "plan")

    def build(self) -> None:
        """Six questions, one of them open, in two languages for a moment."""
        page = self.page
        page.get_by_role("link", name="Surveys", exact=True).click()
        self.press("New survey")
        self.write("Title", TITLE)
        for at, question in enumerate(QUESTIONS):
            self.press(question["kind"])
            box = page.locator(f"#question{at}")
            box.wait_for()
            box.get_by_label("Question", exact=True).fill(question["text"])
            if "labels" in question:
                box.get_by_label("Answers, a line each").fill("\n".join(question["labels"]))
            if "low" in question:
                box.get_by_label("From", exact=True).fill(question["low"])
                box.get_by_label("To", exact=True).fill(question["high"])
            if at == 0:
                box.get_by_label("Sensitive").uncheck()
        self.write("Privacy, ε of all", "4")
        self.write("Questions asked of each person, where a coin is shared", "all")
        self.press("Save")
        frame = page.frame_locator("iframe")
        frame.locator("h1", has_text=TITLE).wait_for()
        self.shoot(page, "build")

    def create(self, people: int) -> None:
        self.press("Save and go on")
        self.write("People to invite", str(people))
        self.write("Response rate, %", "100")
        self.write("Address of the dealer", self.servers.dealer.url)
        self.write("Smallest group shown", "3")
        self.shoot(self.page, "create")
        self.press("Create the survey")
        self.page.get_by_role("heading", name="Not open yet").wait_for()

    def open(self) -> str:
        """The survey's name."""
        self.page.locator("#token0").fill(self.servers.dealer.token)
        self.shoot(self.page, "open")
        self.press("Open the survey")
        self.page.get_by_text("Open: answers are taken.").wait_for()
        return str(self.page.url).rpartition("/")[2]

    def invite(self, people: int, answer_page: str) -> list[dict[str, str]]:
        """A table of invitations, from the file that the browser was given."""
        self.page.get_by_role("link", name="Invite", exact=True).click()
        self.write("How many", str(people))
        self.write("Address of the answer page", answer_page)
        self.shoot(self.page, "invite")
        with self.page.expect_download() as coming:
            self.press("Make invitations and download")
        text = Path(coming.value.path()).read_text("utf-8")
        self.page.get_by_text("people are invited; the file").wait_for()  # after the download
        return list(csv.DictReader(io.StringIO(text)))

    def watch(self) -> None:
        self.page.get_by_role("link", name="Results", exact=True).click()

    def figure(self, name: str) -> Any:
        return self.page.locator(f"[data-live={name}]")

    def wait_for_figure(self, name: str, words: str) -> None:
        """A figure of the page changes by itself."""
        self.figure(name).get_by_text(words, exact=True).or_(
            self.page.locator(f"[data-live={name}]:text-is('{words}')")
        ).first.wait_for()

    def close(self) -> None:
        self.page.get_by_role("link", name="Close", exact=True).click()
        self.page.locator("[name=by_where_work]").check()
        self.press("Show these groups")
        self.page.locator("[name=by_where_work]:checked").wait_for()
        self.shoot(self.page, "close")
        self.page.get_by_label("I am sure").check()
        self.press("Close for good")
        self.page.get_by_text("Closed for good.").wait_for()
        self.page.locator(".results figure").first.wait_for()
        self.shoot(self.page, "results")

    def groups(self) -> None:
        self.page.get_by_role("link", name="Groups", exact=True).click()
        self.press("Show")
        self.page.locator(".results table").first.wait_for()
        self.shoot(self.page, "groups")

    def download(self, name: str) -> bytes:
        with self.page.expect_download() as coming:
            self.page.get_by_role("link", name=name, exact=True).click()
        return Path(coming.value.path()).read_bytes()


def answers_of(at: int) -> dict[str, Any]:
    """What somebody truly answers, by the names that the console gives to questions."""
    return {
        "where_work": ("office", "field")[at % 2],
        "have_ever": ("no", "yes")[at % 3 == 0],
        "offered": ("nobody", "firm", "friend")[at % 3],
        "what_offered": ["money"] if at % 2 else [],
        "sure_very": 1 + at % 5,
        "many_times": at % 21,
    }


def answer_by_program(link: str, at: int, invitation: str) -> None:
    """With the Python client."""

    class Linked:
        pass

    survey: Any = Linked()
    survey.link = link
    answer(survey, invitation, answers_of(at))


def answer_by_page(browser: Any, address: str, at: int) -> None:
    """In a browser of one's own, on the answer page."""
    context = browser.new_context(**PHONE, locale="en-GB")
    try:
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(address)
        page.get_by_role("button", name="I agree", exact=True).click()
        values = list(answers_of(at).values())
        for question, value in zip(QUESTIONS, values, strict=True):
            page.locator("h1", has_text=question["text"]).wait_for()
            if question["kind"] == "Number":
                page.locator("#number").fill(str(value))
            else:
                words = {"yes": "Yes", "no": "No"}
                for one in value if isinstance(value, list) else [value]:
                    page.get_by_label(words.get(str(one), str(one)), exact=True).check()
            page.get_by_role("button", name="Next", exact=True).click()
        page.get_by_role("button", name="Send", exact=True).click()
        page.locator("h1", has_text="Thank you").wait_for()
    finally:
        context.close()


def is_json(body: bytes) -> bool:
    json.loads(body)
    return True
