"""People at the answer page in a real browser: what they do, and everything that leaves it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from jrr import MRR
from jrr.client.invitations import answer_link
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft, one_question
from jrr.survey.survey import Survey
from tests.browsing import PHONE, PICTURES, SCREENSHOTS
from tests.e2e import Pair, ask, path_of

TITLE = "About permits"
QUESTION = 'Have you ever <b>taken</b> a bribe? <img src=x onerror="document.title=1">'
LABELS = ("Never-ever", "Once-or-more")
MECHANISM = MRR.for_epsilon(1.0, n=50, announced=True)
# Words that make the coin lie or tell the truth; whatever is drawn as bytes stays random.
FIXED_COIN = """
const system = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) =>
  array instanceof BigUint64Array ? array.fill(COINn) : system(array);
"""
LIE, TRUTH = "0", str(2**64 - 1)
# Pauses between two tries at a silent server pass quickly; the page itself is as it is served.
IMPATIENT = """
const wait = window.setTimeout.bind(window);
window.setTimeout = (act, pause, ...more) => wait(act, pause / 20, ...more);
"""
# How far things have moved without anybody having touched anything.
SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


def begun(
    pair: Pair, people: int, *, text: str = QUESTION, labels: tuple[str, ...] = LABELS, **more: Any
) -> tuple[Survey, Operator, list[str]]:
    """A survey of one sensitive question that is open, and invitations to it."""
    shape = {name: more.pop(name, None) for name in ("number", "groups")}
    asked = one_question(text, labels=labels, title=TITLE, **shape)
    settings: dict[str, Any] = {
        "title": asked.title,
        "questions": tuple(question.as_asked for question in asked.questions),
        "min_cell": 2,
    }
    survey = pair.survey(more.pop("mechanism", MECHANISM), **(settings | more))
    return opened(pair, survey, people)


def planned(pair: Pair, people: int, document: dict[str, Any], **more: Any) -> Survey:
    """A survey that was planned from a draft."""
    settings: dict[str, Any] = {"dealing": Dealers((pair.dealer.url,)), "min_cell": 2} | more
    draft = Draft.from_dict(document)
    collector = pair.collector.url
    return SurveyRequest(draft=draft, people=people, collector=collector, **settings).survey()


def begun_draft(
    pair: Pair, people: int, document: dict[str, Any], **more: Any
) -> tuple[Survey, Operator, list[str]]:
    """A survey that was planned from a draft and is open, and invitations to it."""
    return opened(pair, planned(pair, people, document, **more), people)


def opened(pair: Pair, survey: Survey, people: int) -> tuple[Survey, Operator, list[str]]:
    """Install, invite and open."""
    operator = pair.operator(survey)
    operator.install()
    invitations = new_invitations(people)
    if survey.invitations:
        operator.invite(invitations)
    operator.open()
    return survey, operator, invitations


@dataclass
class Visit:
    """A person's browser: the page, and everything that left it or stayed in it."""

    page: Any
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, address, body
    console: list[str] = field(default_factory=list)
    invitation: str = ""  # as it should be, for who mistypes it
    address: str = ""  # as the letter has it

    def click(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def heading(self) -> str:
        return str(self.page.locator("h1").inner_text())

    def wait_for(self, heading: str) -> None:
        self.page.locator("h1", has_text=heading).wait_for()

    def choose(self, label: str) -> None:
        self.page.get_by_label(label).check()

    def text(self) -> str:
        return str(self.page.locator("main").inner_text())

    def review(self, label: str, *, german: bool = False) -> None:
        """From the introduction of a survey of one question to all but sending."""
        self.click("Ich bin einverstanden" if german else "I agree")
        self.wait_for("Have you ever")
        self.choose(label)
        self.click("Weiter" if german else "Next")
        self.wait_for("Bereit zum Senden" if german else "Ready to send")

    def answer(self, label: str, *, german: bool = False) -> None:
        """From the introduction to the end."""
        self.review(label, german=german)
        self.click("Senden" if german else "Send")

    def sent_bytes(self) -> str:
        """What the page says that it has sent, whether or not it is folded away."""
        return str(self.page.locator("#sent").text_content())

    def sent(self) -> dict[str, Any]:
        return dict(json.loads(self.sent_bytes()))

    def report(self) -> dict[str, Any]:
        """Of the only sensitive question, as it left the device."""
        return dict(json.loads(self.posted("/reports")[0])["reports"]["answer"])

    def posted(self, route: str) -> list[str]:
        return [body for _, address, body in self.requests if address.endswith(route) and body]

    @property
    def sent_no_answer(self) -> bool:
        """Whether nothing went out but requests to look, and for one's place at the dealer."""
        return all(m == "GET" or address.endswith("/cards") for m, address, _ in self.requests)

    def watch(self, page: Any) -> None:
        """Write down what a tab asks for and says."""
        self.page = page
        page.set_default_timeout(120_000)
        page.on("request", lambda r: self.requests.append((r.method, r.url, r.post_data or "")))
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))

    def kept(self) -> str:
        """All that this origin stores, and the history's state."""
        return str(
            self.page.evaluate(
                """async () => {
              const take = (act) => new Promise((done) => (act.onsuccess = () => done(act.result)));
              const database = await take(indexedDB.open("jrr"));
              const store = database.transaction("kept").objectStore("kept");
              const rows = [await take(store.getAllKeys()), await take(store.getAll())];
              database.close();
              const names = (await indexedDB.databases()).map((entry) => entry.name);
              return JSON.stringify([rows, names, {...localStorage}, {...sessionStorage},
                document.cookie, history.state, history.length, location.href, document.title,
                await caches.keys(), (await navigator.serviceWorker.getRegistrations()).length]);
            }"""
            )
        )

    def photograph(self, name: str) -> None:
        """A picture of the whole screen, to be looked at."""
        if not PICTURES:
            return
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@contextmanager
def visiting(
    browser: Any, address: str, coin: str | None = None, **settings: Any
) -> Iterator[Visit]:
    """A person with a browser of their own; `offline` and the like go to the browser."""
    context = browser.new_context(**(PHONE | {"locale": "en-GB"} | settings))
    try:
        if coin is not None:
            context.add_init_script(FIXED_COIN.replace("COIN", coin))
        context.add_init_script(IMPATIENT)
        context.add_init_script(SHIFTS)
        visit = Visit(None, address=address)
        visit.watch(context.new_page())
        visit.page.goto(address)
        yield visit
    finally:
        context.close()


def address_of(page_url: str, survey: Survey, invitation: str = "", more: str = "") -> str:
    return answer_link(page_url, survey.link, invitation or None) + more


def card_of(pair: Pair, visit: Visit, survey: Survey) -> int:
    """The card that was dealt, asked for again with the very same bytes."""
    body = visit.posted("/cards")[-1]
    reply = ask(pair.dealer.url, "POST", path_of(survey, "cards"), body.encode())
    return int(reply.json["cards"]["answer"]["card"])


def assert_nothing_of_the_answer(visit: Visit, invitation: str = "") -> None:
    """Neither traffic nor storage nor history nor console has a label or the invitation."""
    assert visit.console == []
    traffic = json.dumps(visit.requests, ensure_ascii=False)
    kept = visit.kept()
    for label in LABELS:
        assert label not in traffic
        assert label not in kept
        assert label not in visit.page.content()
    if invitation:
        asked = [[method, url.partition("#")[0], body] for method, url, body in visit.requests]
        assert invitation not in json.dumps(asked)
    assert_forgotten(visit, invitation)


def assert_forgotten(visit: Visit, invitation: str = "") -> None:
    """After the end a device keeps that an answer was sent and what it cost, and nothing else."""
    kept = visit.kept()
    stored = json.loads(kept)
    rows = dict(zip(*stored[0], strict=True))
    kinds = sorted(key.partition(":")[0] for key in rows)
    assert kinds == ["report", "spent", "works"]
    (report,) = (json.loads(rows[key]) for key in rows if key.startswith("report:"))
    assert report == {"sent": True}
    (spent,) = (json.loads(rows[key]) for key in rows if key.startswith("spent:"))
    assert set(spent) == {"survey", "person", "epsilon", "view"}
    names, local, session, cookie, state, _, href, title, caches, workers = stored[1:]
    assert (names, local, cookie, state) == (["jrr"], {}, "", None)
    assert (title, caches, workers) == (visit.page.title(), [], 0)
    # Neither the tab's memory nor its address has the invitation.
    assert "#" not in href
    assert set(parse_qs(session.pop("jrr-given"))) <= {"survey", "language", "sent"}
    assert session == {}
    assert not invitation or invitation not in kept
    assert json.loads(visit.posted("/reports")[0])["pseudonym"] not in kept
