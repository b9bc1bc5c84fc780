"""People answer on the page, in a real browser, over real servers.

Needs playwright (`uv sync --group browser` or pip) and a Chromium that is installed:
`apt-get install chromium`, or JRR_TEST_BROWSER=/path/to/one.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jrr import MRR
from jrr.client.operator import Operator, new_invitations
from jrr.research.processes import running
from jrr.survey.campaign import Campaign
from tests.e2e import Pair, ask, path_of, tally_of

sync_api = pytest.importorskip(
    "playwright.sync_api",
    reason="no playwright here: the answer page is not tried in a browser",
    exc_type=ModuleNotFoundError,
)

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("JRR_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here: the answer page is not tried in a browser"
)
PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
QUESTION = 'Have you ever <b>taken</b> a bribe? <img src=x onerror="document.title=1">'
LABELS = ("Never-ever", "Once-or-more")
MECHANISM = MRR.for_epsilon(50, 1.0, announced=True)
# Words that make the coin lie or tell the truth; whatever is drawn as bytes stays random.
FIXED_COIN = """
const system = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) =>
  array instanceof BigUint64Array ? array.fill(COINn) : system(array);
"""
REACH = 60  # noise beyond it has a chance below e^-60
LIE, TRUTH = "0", str(2**64 - 1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page")
    with running("page", folder) as server:
        yield server.url
    assert (folder / "page.log").read_text() == ""  # not a word of who came


def begun(pair: Pair, people: int, **more: Any) -> tuple[Campaign, Operator, list[str]]:
    settings: dict[str, Any] = {"question": QUESTION, "labels": LABELS, "min_cell": 2}
    campaign = pair.campaign(MECHANISM, **(settings | more))
    operator = pair.operator(campaign)
    operator.install()
    invitations = new_invitations(people)
    if campaign.invitations:
        operator.invite(invitations)
    operator.open()
    return campaign, operator, invitations


@dataclass
class Visit:
    """A person's browser: the page, and everything that left it or stayed in it."""

    page: Any
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, address, body
    console: list[str] = field(default_factory=list)

    def click(self, name: str) -> None:
        self.page.get_by_role("button", name=name).click()

    def heading(self) -> str:
        return str(self.page.locator("h1").inner_text())

    def wait_for(self, heading: str) -> None:
        self.page.locator("h1", has_text=heading).wait_for()

    def choose(self, label: str) -> None:
        self.page.get_by_label(label).check()

    def sent(self) -> dict[str, Any]:
        return dict(json.loads(self.page.locator("#sent").inner_text()))

    def posted(self, route: str) -> list[str]:
        return [body for _, address, body in self.requests if address.endswith(route) and body]

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
                document.cookie, history.state, history.length, location.href, document.title]);
            }"""
            )
        )


def impatient(route: Any) -> None:
    """The page as it is served, but for how long it waits for servers that are silent."""
    script = route.fetch()
    assert "const PATIENCE = 10;" in script.text()
    route.fulfill(
        response=script, body=script.text().replace("const PATIENCE = 10;", "const PATIENCE = 0.5;")
    )


@contextmanager
def visiting(
    browser: Any, address: str, coin: str | None = None, **settings: Any
) -> Iterator[Visit]:
    context = browser.new_context(**(PHONE | {"locale": "en-GB"} | settings))
    try:
        if coin is not None:
            context.add_init_script(FIXED_COIN.replace("COIN", coin))
        context.route("**/page/page.js", impatient)
        visit = Visit(context.new_page())
        visit.page.set_default_timeout(15_000)
        visit.page.on(
            "request", lambda r: visit.requests.append((r.method, r.url, r.post_data or ""))
        )
        visit.page.on("console", lambda message: visit.console.append(message.text))
        visit.page.on("pageerror", lambda error: visit.console.append(str(error)))
        visit.page.goto(address)
        yield visit
    finally:
        context.close()


def address_of(page_url: str, campaign: Campaign, invitation: str = "", more: str = "") -> str:
    told = f"&invitation={invitation}" if invitation else ""
    return f"{page_url}#campaign={campaign.link}{told}{more}"


def card_of(pair: Pair, visit: Visit, campaign: Campaign) -> int:
    """The card that was dealt, asked for again with the very same bytes."""
    (body,) = visit.posted("/cards")
    reply = ask(pair.dealer.url, "POST", path_of(campaign, "cards"), body.encode())
    return int(reply.json["cards"][0])


def test_three_people_answer_one_in_german_and_one_declines(
    browser: Any, page_url: str, sqlite_pair: Pair, tmp_path: Path
) -> None:
    campaign, operator, invitations = begun(sqlite_pair, 4)
    # Answer, coin, language, size; the reports' coins are then 1, 1, 0.
    people: list[tuple[int, str, str, dict[str, Any]]] = [
        (1, TRUTH, "en-GB", PHONE),
        (0, LIE, "de-DE", PHONE),
        (1, LIE, "en-US", DESKTOP | {"color_scheme": "dark"}),
    ]
    coins: list[int] = []
    bodies: list[dict[str, Any]] = []
    for (value, coin, locale, size), invitation in zip(people, invitations, strict=False):
        address = address_of(page_url, campaign, invitation)
        with visiting(browser, address, coin, **size, locale=locale) as visit:
            german = locale.startswith("de")
            visit.wait_for("Eine Frage, vertraulich" if german else "A question, answered")
            assert visit.page.locator("html").get_attribute("lang") == ("de" if german else "en")
            assert visit.page.locator("ol li").count() == 3
            visit.page.screenshot(path=tmp_path / f"introduction-{len(bodies)}.png")
            asked_before = {url for _, url, _ in visit.requests}
            assert not any(sqlite_pair.dealer.url in url for url in asked_before)
            visit.click("Ich bin einverstanden" if german else "I agree")
            visit.wait_for("Have you ever")
            assert visit.heading() == QUESTION  # as text: nothing in it is markup
            assert visit.page.title() != "1"
            assert visit.page.locator("main img").count() == 0
            visit.choose(LABELS[value])
            visit.page.screenshot(path=tmp_path / f"question-{len(bodies)}.png")
            assert not visit.posted("/cards")  # the card is fetched at the moment of sending
            visit.click("Senden" if german else "Send")
            visit.wait_for("Vielen Dank" if german else "Thank you")
            sent = visit.sent()
            assert visit.posted("/reports") == [visit.page.locator("#sent").inner_text()]
            assert sent["carded"] is True
            assert len(sent["serials"]) == 1
            coins.append(sent["report"] - card_of(sqlite_pair, visit, campaign))
            bodies.append(sent)
            assert_nothing_of_the_answer(visit, invitation)
            assert visit.page.locator("input, select:not(#language)").count() == 0
            assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            visit.page.reload()  # comes again: counts once, and shows the same
            visit.click("Ich bin einverstanden" if german else "I agree")
            visit.wait_for("Vielen Dank" if german else "Thank you")
            assert visit.sent() == sent
            visit.page.screenshot(path=tmp_path / f"thanks-{len(bodies) - 1}.png")
    assert coins == [1, 1, 0]

    with visiting(browser, address_of(page_url, campaign, invitations[3])) as visit:
        visit.click("No, thank you")
        visit.wait_for("You have declined")
        assert not visit.posted("/cards")
        assert not visit.posted("/reports")
        assert all(method == "GET" for method, _, _ in visit.requests)

    query = f"SELECT carded FROM reports WHERE campaign = '{campaign.hash}'"
    assert sqlite_pair.rows("collector", query) == [(1,)] * 3
    closed = operator.close()
    assert closed["collector"]["reports"] == 3
    assert closed["collector"]["settled"] is True
    # The masks come off but for the announced noise; what is left is the sum of the coins.
    query = f"SELECT sums FROM campaigns WHERE campaign = '{campaign.hash}'"
    ((told,),) = sqlite_pair.rows("collector", query)
    announced = json.loads(told)["announced"][0]["rounds"][0][""]["sum"]
    cards = sum(body["report"] for body in bodies) - sum(coins)
    assert abs(announced - cards) <= REACH / MECHANISM.announced_rate
    tally = MECHANISM.settle(tally_of(MECHANISM, bodies), announced=[announced])
    assert operator.estimate()["estimate"] == MECHANISM.estimate(tally).to_dict()


def test_a_mistyped_invitation_is_told_before_anything(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    campaign, _, (invitation, other) = begun(sqlite_pair, 2)
    swapped = invitation[1] + invitation[0] + invitation[2:]
    assert swapped != invitation
    with visiting(browser, address_of(page_url, campaign, swapped)) as visit:
        visit.wait_for("Your invitation")
        assert "has a mistake" in visit.page.locator("#problem").inner_text()
        visit.page.get_by_label("Invitation").fill(f" {swapped[:10]} {swapped[10:]}")
        visit.page.keyboard.press("Enter")
        assert visit.page.locator("[aria-invalid=true]").count() == 1
        visit.page.get_by_label("Invitation").fill(f" {other[:10]}-{other[10:]}".upper())
        visit.page.keyboard.press("Enter")
        visit.wait_for("A question")  # consent comes first all the same
        assert all(method == "GET" for method, _, _ in visit.requests)
        visit.page.keyboard.press("Tab")  # the rest by keyboard: past the details
        visit.page.keyboard.press("Tab")
        visit.page.keyboard.press("Enter")
        visit.wait_for("Have you ever")
        visit.page.keyboard.press("Tab")
        visit.page.keyboard.press("Space")
        visit.page.keyboard.press("Enter")
        visit.wait_for("Thank you")
        assert visit.sent()["carded"] is True


def test_a_closed_tab_sends_the_same_bytes_later_and_a_used_invitation_is_told_kindly(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    campaign, _, (invitation,) = begun(sqlite_pair, 1)
    address = address_of(page_url, campaign, invitation)
    with visiting(browser, address) as visit:
        # The collector commits, but its reply is lost: the person sees "not sent yet".
        lost: list[str] = []

        def lose(route: Any) -> None:
            lost.append(route.request.post_data)
            route.abort() if len(lost) % 2 else (route.fetch(), route.abort())

        visit.page.route("**/reports", lose)
        visit.click("I agree")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.click("Send")
        visit.wait_for("Not sent yet")
        assert LABELS[1] not in visit.page.content()
        again = visit.page.context.new_page()
        visit.page.close()
        again.goto(address)
        visit.page = again
        visit.click("I agree")
        visit.wait_for("Thank you")
        assert len(lost) > 1
        assert {json.dumps(visit.sent(), sort_keys=True, separators=(",", ":"))} == set(lost)
    query = f"SELECT COUNT(*) FROM reports WHERE campaign = '{campaign.hash}'"
    assert sqlite_pair.rows("collector", query) == [(1,)]
    with visiting(browser, address) as visit:  # somebody else's device
        visit.click("I agree")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[0])
        visit.click("Send")
        visit.wait_for("This did not work")
        assert "used before, on another device" in visit.page.locator("main").inner_text()


def test_without_a_card_and_with_public_attributes(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    campaign, _, _ = begun(
        sqlite_pair, 1, invitations=False, covariates={"Region": ("north", "south")}
    )
    address = address_of(page_url, campaign, more="&language=de")
    with visiting(browser, address, TRUTH, **DESKTOP, color_scheme="dark") as visit:
        visit.page.route(f"{sqlite_pair.dealer.url}/**", lambda route: route.abort())
        visit.click("Ich bin einverstanden")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.click("Senden")
        assert "Bitte wählen Sie" in visit.page.locator("[role=alert]").inner_text()
        visit.page.get_by_label("Region").select_option("south")
        visit.click("Senden")
        visit.page.locator("h1", has_text="Vielen Dank").wait_for()
        sent = visit.sent()
        assert (sent["carded"], sent["report"]) == (False, 1)
        assert sent["covariates"] == {"Region": "south"}
        assert "serials" not in sent


def test_a_dealer_with_another_campaign_ends_it(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    campaign, _, (invitation,) = begun(sqlite_pair, 1)
    changed = campaign.to_bytes().replace(b"Have you ever", b"Have we never")
    with visiting(browser, address_of(page_url, campaign, invitation)) as visit:
        visit.page.route(
            f"{sqlite_pair.dealer.url}/v1/campaigns/{campaign.hash}",
            lambda route: route.fulfill(body=changed, headers={"access-control-allow-origin": "*"}),
        )
        visit.click("I agree")
        visit.wait_for("Have you ever")
        visit.choose(LABELS[1])
        visit.click("Send")
        visit.wait_for("This did not work")
        assert "nothing was sent" in visit.page.locator("main").inner_text()
        assert not visit.posted("/cards")
        assert not visit.posted("/reports")
    with visiting(browser, f"{page_url}#campaign={campaign.link[:-1]}") as visit:
        visit.wait_for("This did not work")
        assert "link is not complete" in visit.page.locator("main").inner_text()


def assert_nothing_of_the_answer(visit: Visit, invitation: str) -> None:
    """Neither traffic nor storage nor history nor console has a label or the invitation."""
    assert visit.console == []
    traffic = json.dumps(visit.requests, ensure_ascii=False)
    kept = visit.kept()
    for label in LABELS:
        assert label not in traffic
        assert label not in kept
        assert label not in visit.page.content()
    assert invitation not in json.dumps([[m, u.partition("#")[0], b] for m, u, b in visit.requests])
    stored = json.loads(kept)
    rows = dict(zip(*stored[0], strict=True))
    kinds = sorted(key.partition(":")[0] for key in rows)
    assert kinds == ["report", "secret", "works"]
    (report,) = (json.loads(rows[key]) for key in rows if key.startswith("report:"))
    # What is kept is what was sent, letter by letter, and whether it arrived.
    assert report == {"body": visit.posted("/reports")[0], "sent": True}
    names, local, session, cookie, state, _, _, title = stored[1:]
    assert (names, local, session, cookie, state) == (["jrr"], {}, {}, "", None)
    assert title == visit.page.title()
