"""People answer on the page, in a real browser, over real servers (tests.e2e.visits)."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from jrr import JRR, OUE
from jrr.dealing.kinds import Dealers
from jrr.survey.draft import Draft
from tests.browsing import DESKTOP, PHONE
from tests.e2e import Pair, tally_of
from tests.e2e.visits import (
    LABELS,
    LIE,
    MECHANISM,
    QUESTION,
    TITLE,
    TRUTH,
    Visit,
    address_of,
    assert_nothing_of_the_answer,
    begun,
    card_of,
    visiting,
)

REACH = 60  # noise beyond it has a chance below e^-60
TOO_EARLY = "2000-01-01T00:00:00Z"  # by a clock that is wrong


def finish(visit: Visit, label: str) -> None:
    """From the introduction to thanks."""
    visit.answer(label)
    visit.wait_for("Thank you")


def in_german(visit: Visit, label: str) -> None:
    visit.wait_for(TITLE)
    assert visit.page.locator("html").get_attribute("lang") == "de"
    visit.answer(label, german=True)
    visit.wait_for("Vielen Dank")


def offline_at_first(visit: Visit, label: str) -> None:
    """Between choosing and sending there is no network: told at once, and nothing is lost."""
    visit.review(label)
    visit.page.context.set_offline(True)
    asked = len(visit.requests)
    visit.click("Send")
    assert "There is no connection" in visit.page.locator("[role=alert]").inner_text()
    assert len(visit.requests) == asked
    visit.page.context.set_offline(False)
    visit.page.locator("[role=alert]:empty").wait_for(state="attached")
    visit.click("Send")
    visit.wait_for("Thank you")
    assert "changed and hidden" in visit.text()


def losing_the_network(visit: Visit, label: str) -> None:
    """It is gone when the dealer is asked, so there is no card; then it is sent by itself."""
    visit.review(label)

    def cut(route: Any) -> None:
        visit.page.context.set_offline(True)
        route.abort()

    visit.page.route("**/cards", cut)
    visit.click("Send")
    visit.wait_for("Not confirmed yet")
    assert not any(name in visit.page.content() for name in LABELS)
    visit.console.clear()  # the browser says itself that there is no network
    visit.page.context.set_offline(False)
    visit.wait_for("Thank you")
    assert "hidden" not in visit.text().split("Exactly")[0]


def twice(visit: Visit, label: str) -> None:
    finish(visit, label)
    visit.page.reload()
    visit.wait_for("Thank you")  # before anything is asked
    assert "answered before" in visit.text()
    visit.page.goto(visit.address)
    visit.wait_for("Thank you")
    assert "answered before" in visit.text()
    assert len(visit.posted("/reports")) == 1


def with_a_wrong_clock(visit: Visit, label: str) -> None:
    finish(visit, label)
    assert visit.page.evaluate("new Date().getFullYear()") == 2000


def closing_the_tab(visit: Visit, label: str) -> None:
    """The collector commits, but its reply is lost, and the tab is closed."""
    lost: list[str] = []

    def lose(route: Any) -> None:
        lost.append(route.request.post_data)
        route.fetch()
        route.abort()

    visit.page.route("**/reports", lose)
    visit.answer(label)
    visit.wait_for("Not confirmed yet")
    visit.console.clear()
    first = visit.page
    visit.watch(first.context.new_page())
    first.close()
    visit.page.goto(visit.address)  # as the letter says: no history has it
    visit.wait_for("Thank you")
    assert set(visit.posted("/reports")) == {visit.sent_bytes()} == set(lost)


def without_a_card(visit: Visit, label: str) -> None:
    visit.page.route("**/cards", lambda route: route.fulfill(status=503))
    finish(visit, label)
    assert "no card to be had" in visit.text()
    visit.console.clear()  # the browser says itself that a server had trouble


def by_keyboard(visit: Visit, label: str) -> None:
    press = visit.page.keyboard.press
    visit.wait_for(TITLE)
    for _ in range(2):  # past the details
        press("Tab")
    press("Enter")
    visit.wait_for("Have you ever")
    press("Tab")
    press("Space" if label == LABELS[0] else "ArrowDown")
    press("Enter")
    visit.wait_for("Ready to send")
    press("Tab")
    press("Enter")
    visit.wait_for("Thank you")


def after_trying(visit: Visit, label: str) -> None:
    """Plays with made-up answers first: nothing of that is asked of anybody."""
    visit.click("Try it first")
    visit.wait_for("Try it")
    asked = len(visit.requests)
    for made_up in LABELS:
        visit.choose(made_up)
        visit.click("Change it 100 times more")
        visit.click("Ask another crowd")
    assert len(visit.requests) == asked
    visit.click("Back")
    finish(visit, label)


def mistyped_at_first(visit: Visit, label: str) -> None:
    """The link lacks its last letter: told at once, before anything else is asked."""
    visit.wait_for("Your invitation")
    assert "has a mistake" in visit.text()
    assert all(method == "GET" for method, _, _ in visit.requests)
    field = visit.page.get_by_label("Invitation")
    right = visit.invitation
    field.fill(("b" if right[0] == "a" else "a") + right[1:])
    visit.page.keyboard.press("Enter")
    assert visit.page.locator("[aria-invalid=true]").count() == 1
    field.fill(f" {right[:10]} - {right[10:]}".upper())
    visit.page.keyboard.press("Enter")
    visit.wait_for(TITLE)  # consent comes first all the same
    finish(visit, label)


def by_declining(visit: Visit, label: str) -> None:
    visit.click("I agree")
    visit.wait_for("Have you ever")
    visit.choose(label)
    visit.click("Stop and delete my answers")
    visit.click("Delete and stop")
    visit.wait_for("You have stopped")
    assert visit.sent_no_answer
    assert label not in visit.page.content()


Way = Callable[[Visit, str], None]
# Who: how they answer, the answer, whether their coin lies, and settings of their browser.
Person = tuple[Way, int, str, dict[str, Any]]
PEOPLE: list[Person] = [
    (finish, 1, TRUTH, {}),
    (finish, 0, LIE, DESKTOP | {"color_scheme": "dark"}),
    (in_german, 1, LIE, {"locale": "de-DE"}),
    (offline_at_first, 0, TRUTH, {}),
    (losing_the_network, 0, TRUTH, {}),
    (twice, 1, TRUTH, {}),
    (with_a_wrong_clock, 1, TRUTH, {}),
    (closing_the_tab, 0, LIE, {}),
    (without_a_card, 1, TRUTH, {}),
    (by_keyboard, 0, TRUTH, DESKTOP),
    (after_trying, 1, TRUTH, {}),
    (mistyped_at_first, 1, TRUTH, {}),
    (by_declining, 1, TRUTH, {}),
]


CARDLESS = (without_a_card, losing_the_network)
SOME = [PEOPLE[at] for at in (0, 4, 7, 8, 11, 12)]  # German: test_page_surveys.py


@pytest.mark.slow_variants("all]")
@pytest.mark.parametrize("people", [SOME, PEOPLE], ids=["some", "all"])
def test_people_answer_in_their_ways(
    browser: Any, page_url: str, sqlite_pair: Pair, people: list[Person]
) -> None:
    survey, operator, invitations = begun(sqlite_pair, len(people), opens="2020-01-01T00:00:00Z")
    coins: list[int] = []
    reports: list[dict[str, Any]] = []
    for (way, value, coin, settings), invitation in zip(people, invitations, strict=True):
        mistyped = way is mistyped_at_first
        address = address_of(page_url, survey, invitation[:-1] if mistyped else invitation)
        with visiting(browser, "about:blank", coin, **settings) as visit:
            visit.invitation, visit.address = invitation, address
            if way is with_a_wrong_clock:
                visit.page.clock.set_fixed_time(TOO_EARLY)
            visit.page.goto(address)
            way(visit, LABELS[value])
            if way is by_declining:
                continue
            report = visit.report()
            carded = way not in CARDLESS
            assert report["carded"] is carded, way
            card = card_of(sqlite_pair, visit, survey) if carded else 0
            coins.append(report["report"] - card)
            reports.append(report)
            assert_nothing_of_the_answer(visit, invitation)
            assert visit.page.locator("main :is(input, select)").count() == 0
    told = [value ^ (coin == LIE) for _, value, coin, _ in people[:-1]]
    assert coins == told

    query = f"SELECT carded FROM reports WHERE survey = '{survey.hash}' ORDER BY carded"
    assert sqlite_pair.rows("collector", query) == [(0,)] * 2 + [(1,)] * (len(people) - 3)
    closed = operator.close()
    assert closed["collector"]["reports"] == len(people) - 1
    assert closed["collector"]["settled"] is True
    # The masks come off but for the announced noise; what is left is the sum of the coins.
    query = f"SELECT sums FROM surveys WHERE survey = '{survey.hash}'"
    ((sums,),) = sqlite_pair.rows("collector", query)
    announced = json.loads(sums)["announced"][0][0]["questions"]["answer"][""]["sum"]
    cards = sum(report["report"] - coin for report, coin in zip(reports, coins, strict=True))
    assert abs(announced - cards) <= REACH / MECHANISM.announced_rate
    tally = MECHANISM.settle(tally_of(MECHANISM, reports), announced=[announced])
    assert operator.estimate("answer")["estimate"] == MECHANISM.estimate(tally).to_dict()


def test_texts_of_a_survey_are_text_and_the_card_is_fetched_last(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    evil = '"><script>document.title=1</script><img src=x onerror=document.title=1>'
    where = {"name": "where", "kind": "choice", "labels": [evil, "b"], "sensitive": False}
    what = {"name": "answer", "kind": "choice", "labels": [evil, f"{evil} {{collector}}"]}
    asked = Draft.from_dict(
        {"title": evil, "questions": [where | {"text": evil}, what | {"text": QUESTION}]}
    )
    survey, _, _ = begun(
        sqlite_pair, 1, title=asked.title, consent={"en": f"{evil} {{cost}} "}, invitations=False,
        questions=tuple(question.as_asked for question in asked.questions),
    )  # fmt: skip
    address = address_of(page_url, survey, more=f"&language={evil}&invitation={evil}")
    with visiting(browser, address) as visit:
        visit.page.locator(".people").wait_for()
        assert visit.heading() == evil
        assert visit.text().count(evil) == 2  # and the consent text
        assert not any(sqlite_pair.dealer.url in url for _, url, _ in visit.requests)
        visit.click("Try it first")
        visit.wait_for("Try it")
        assert evil in visit.text()
        visit.click("Back")
        visit.click("I agree")
        visit.page.locator("form").wait_for()
        assert visit.heading() == evil
        visit.page.locator("input[type=radio]").nth(0).check()
        visit.click("Next")
        visit.wait_for("Have you ever")
        assert visit.heading() == QUESTION
        visit.page.locator("input[type=radio]").nth(1).check()
        visit.click("Next")
        visit.wait_for("Ready to send")
        assert visit.text().count(evil) == 2  # question and answer
        visit.click("Send")
        visit.wait_for("Thank you")
        assert visit.sent()["open"] == {"where": evil}
        assert visit.text().count(evil) == 2
        assert visit.page.locator("main :is(img, script)").count() == 0
        assert visit.page.title() != "1"
        assert visit.console == []
        kept = json.loads(visit.kept())
        assert all("script" not in key for key in kept[0][0])


@pytest.mark.slow
def test_a_used_invitation_is_told_kindly(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    address = address_of(page_url, survey, invitation)
    with visiting(browser, address) as visit:
        finish(visit, LABELS[1])
    with visiting(browser, address) as visit:  # on another device
        visit.click("I agree")
        visit.wait_for("Begun on another device")
        assert "if you have answered there, you are done" in visit.text()
        assert not visit.posted("/reports")


@pytest.mark.slow_variants("desktop]")
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_moves_when_the_card_arrives(
    browser: Any, page_url: str, sqlite_pair: Pair, size: dict[str, Any]
) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    with visiting(browser, address_of(page_url, survey, invitation), **size) as visit:

        def late(route: Any) -> None:
            visit.page.wait_for_timeout(700)  # what moves soon after a click is forgiven
            route.continue_()

        visit.page.route("**/cards", late)
        finish(visit, LABELS[1])
        assert visit.page.evaluate("shifted") < 0.01


@pytest.mark.slow
def test_two_steps_where_people_enrol(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, operator, invitations = begun(
        sqlite_pair,
        4,
        mechanism=JRR(n=3, p=0.6, s=0.25),
        capacity=9,
        dealing=Dealers((sqlite_pair.dealer.url,), enrol_first=True),
    )
    with ExitStack() as stack:
        people = [
            stack.enter_context(visiting(browser, address_of(page_url, survey, invitation)))
            for invitation in invitations[:3]
        ]
        for visit in people:
            visit.click("I agree")
            visit.click("Take a place")
            visit.wait_for("You have a place")
            visit.page.reload()
            visit.click("I agree")
            visit.wait_for("You have a place")
            assert not visit.posted("/reports")
        assert operator.deal() == 3
        for visit in people:
            visit.page.reload()
            finish(visit, LABELS[1])
            assert visit.report()["carded"] is True
    with visiting(browser, address_of(page_url, survey, invitations[3])) as visit:  # too late
        finish(visit, LABELS[0])
        assert visit.report()["carded"] is False
    assert operator.close()["collector"]["reports"] == 4


@pytest.mark.slow_variants("24]")
@pytest.mark.parametrize("answer", ["7,5", "24"])
def test_a_number(browser: Any, page_url: str, sqlite_pair: Pair, answer: str) -> None:
    survey, _, _ = begun(sqlite_pair, 1, number=(0.0, 24.0), invitations=False)
    with visiting(browser, address_of(page_url, survey), TRUTH) as visit:
        visit.click("I agree")
        for wrong in ("", "24.5", "-1", "7,500", "7e0"):  # 7,500: a thousand, or a half?
            visit.page.locator("#number").fill(wrong)
            visit.click("Next")
            assert "A number from 0 to 24" in visit.page.locator("#problem").inner_text()
        visit.page.locator("#number").fill(answer)
        visit.click("Next")
        visit.click("Send")
        visit.wait_for("Thank you")
        coin = visit.report()["report"] - card_of(sqlite_pair, visit, survey)
        assert coin == (1 if answer == "24" else 0)  # rounded by the same word as the coin
        left = json.dumps([visit.requests, visit.kept()])
        assert "7.5" not in left
        assert "7,5" not in left


def test_many_answers_without_cards(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    labels = tuple(f"Answer-{at}" for at in range(9))
    survey, _, _ = begun(
        sqlite_pair, 1, mechanism=OUE(9, epsilon=1.0), labels=labels, invitations=False
    )
    with visiting(browser, address_of(page_url, survey)) as visit:
        finish(visit, "Answer-7")
        assert len(visit.report()["report"]) == 4
        assert visit.report()["carded"] is False
        assert "Answer-" not in json.dumps([visit.requests, visit.kept(), visit.page.content()])


def test_on_a_slow_network(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    with visiting(browser, "about:blank") as visit:
        network = visit.page.context.new_cdp_session(visit.page)
        slow = {"latency": 150, "downloadThroughput": 50_000, "uploadThroughput": 20_000}
        network.send("Network.emulateNetworkConditions", {"offline": False} | slow)
        visit.page.goto(address_of(page_url, survey, invitation))
        finish(visit, LABELS[1])
        assert visit.report()["carded"] is True
