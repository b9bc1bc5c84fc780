"""<jrr-survey> inside pages of others: a plain one, and a SurveyJS survey."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.e2e import Pair
from tests.e2e.test_page_surveys import DOCUMENT, OFFICE, label_of
from tests.e2e.visits import LABELS, Visit, begun, begun_draft, visiting

ROOT = Path(__file__).parents[2]
SURVEYJS = ROOT / "examples" / "embedding" / "node_modules" / "survey-js-ui"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The project's folder on a web server that is not ours."""

    class Quiet(SimpleHTTPRequestHandler):
        extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript"}

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(ROOT)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/examples/embedding"
    server.shutdown()
    thread.join()
    server.server_close()


# Tests look into the element; in real pages it is closed to scripts that merely pass by.
OPENED = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function () { return attach.call(this, { mode: "open" }); };
"""


@contextmanager
def looking_in(browser: Any, address: str, **settings: Any) -> Iterator[Visit]:
    """A person at a page of others, whose element can be looked into."""
    with visiting(browser, "about:blank", **settings) as visit:
        visit.page.add_init_script(OPENED)
        visit.page.goto(address)
        yield visit


def told(visit: Visit) -> dict[str, Any]:
    visit.page.locator("#told:not(:empty)").wait_for()
    return dict(json.loads(visit.page.locator("#told").inner_text()))


def test_one_question_in_a_plain_page(browser: Any, site: str, sqlite_pair: Pair) -> None:
    survey, operator, (invitation, other) = begun(sqlite_pair, 2)
    address = f"{site}/plain.html#link={survey.link}&invitation={invitation}"
    with looking_in(browser, address) as visit:
        visit.page.get_by_role("button", name="I agree").click()
        visit.page.get_by_label(LABELS[1]).check()
        visit.photograph("embedded-plain")
        visit.click("Next")
        visit.click("Send")
        assert told(visit) == {"outcome": "answered", "hash": survey.hash, "before": False}
        assert LABELS[1] not in visit.page.content()
        assert LABELS[1] not in json.dumps(visit.requests)
        assert invitation not in json.dumps([[m, u.split("#")[0], b] for m, u, b in visit.requests])
        visit.page.reload()  # it counts once
        assert told(visit)["before"] is True
    assert operator.show()["collector"]["reports"] == 1
    with looking_in(browser, address.replace(invitation, other)) as visit:
        visit.click("No, thank you")
        assert told(visit) == {"outcome": "declined"}
        assert all(method == "GET" for method, _, _ in visit.requests)
    with looking_in(browser, address.replace(invitation, invitation[::-1])) as visit:
        assert told(visit) == {"outcome": "failed", "kind": "invitation"}


@pytest.mark.slow
def test_a_survey_of_several_in_german(browser: Any, site: str, sqlite_pair: Pair) -> None:
    survey, operator, invitations = begun_draft(sqlite_pair, 3, DOCUMENT | {"epsilon": 4.0})
    told_to = f"link={survey.link}&invitation={invitations[0]}&language=de"
    with looking_in(browser, f"{site}/plain.html#{told_to}") as visit:
        visit.click("Ich bin einverstanden")
        for question in DOCUMENT["questions"][:-1]:  # the last is of workshops only
            visit.page.locator("h2", has_text=question["text"]["de"]).wait_for()
            answer = OFFICE[question["name"]]
            if question["kind"] == "number":
                visit.page.locator("#number").fill(str(answer))
            for one in answer if isinstance(answer, list) else [answer]:
                if question["kind"] != "number":
                    shown = str(one) if isinstance(one, int) else label_of(question, one, "de")
                    visit.page.get_by_label(shown, exact=True).check()
            visit.click("Weiter")
        visit.click("Senden")
        assert told(visit)["outcome"] == "answered"
        (body,) = visit.posted("/reports")
        assert "Wut" not in body
    assert operator.show()["collector"]["reports"] == 1


@pytest.mark.skipif(
    not SURVEYJS.is_dir(),
    reason="npm install in examples/embedding brings SurveyJS: it is not tried here",
)
def test_in_a_survey_of_surveyjs(browser: Any, site: str, sqlite_pair: Pair) -> None:
    survey, operator, (invitation,) = begun(sqlite_pair, 1)
    address = f"{site}/surveyjs.html#survey={survey.link}&invitation={invitation}"
    with looking_in(browser, address) as visit:
        page = visit.page
        page.get_by_text("south", exact=True).click()
        page.get_by_role("button", name="I agree").wait_for()
        page.locator("input[value=Next], .sd-navigation__next-btn").first.click()
        page.get_by_text("Please answer or decline").wait_for()  # the frame comes first
        page.get_by_role("button", name="I agree").click()
        page.get_by_label(LABELS[1]).check()
        visit.photograph("embedded-surveyjs")
        visit.click("Next")
        visit.click("Send")
        page.get_by_text("Thank you").wait_for()
        page.locator("input[value=Next], .sd-navigation__next-btn").first.click()
        page.locator("textarea").fill("nothing")
        page.locator("input[value=Complete], .sd-navigation__complete-btn").first.click()
        page.locator("#theirs:not(:empty)").wait_for()
        theirs = json.loads(page.locator("#theirs").inner_text())
        assert theirs == {"team": "south", "sensitive": "answered", "remarks": "nothing"}
        own = (site.partition("/examples")[0], sqlite_pair.dealer.url, sqlite_pair.collector.url)
        assert all(url.startswith(own) for _, url, _ in visit.requests)  # nobody else is asked
    assert operator.show()["collector"]["reports"] == 1
