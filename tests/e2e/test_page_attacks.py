"""Attacks on people at the answer page, tried in a real browser."""

import re
from typing import Any

import pytest

from jrr.servers.page.files import page_files, page_hash
from tests.e2e import Pair, http_reply, path_of, pretender
from tests.e2e.visits import LABELS, TITLE, Visit, address_of, begun, visiting


def shown_hash(visit: Visit) -> str:
    visit.page.get_by_text("About this page", exact=True).click()
    field = visit.page.locator("#page-hash", has_text=re.compile("^[0-9a-f]{64}$"))
    return str(field.inner_text())


def test_servers_with_another_survey_end_it(browser: Any, page_url: str, sqlite_pair: Pair) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    changed = survey.to_bytes().replace(b"Have you ever", b"Have we never")
    open_to_all = {"access-control-allow-origin": "*"}
    place = path_of(survey)
    with visiting(browser, address_of(page_url, survey, invitation)) as visit:
        visit.click("I agree")  # the dealer's is looked at now, and again when it is asked
        visit.wait_for("Have you ever")
        visit.page.route(
            sqlite_pair.dealer.url + place,
            lambda route: route.fulfill(body=changed, headers=open_to_all),
        )
        visit.choose(LABELS[1])
        visit.click("Next")
        visit.click("Send")
        visit.wait_for("This did not work")
        assert "No answer was sent" in visit.text()
        assert len(visit.posted("/cards")) == 1  # the place, before the first question
        assert not visit.posted("/reports")
    with visiting(browser, "about:blank") as visit:  # and a collector, before any question
        visit.page.route(
            sqlite_pair.collector.url + place,
            lambda route: route.fulfill(body=changed, headers=open_to_all),
        )
        visit.page.goto(address_of(page_url, survey, invitation))
        visit.wait_for("This did not work")
        assert "do not serve the survey that the link names" in visit.text()
    with visiting(browser, f"{page_url}#survey={survey.link[:-1]}") as visit:
        visit.wait_for("This did not work")
        assert "link is not complete" in visit.text()


def test_the_page_refuses_to_be_framed(browser: Any, page_url: str) -> None:
    body = f'<!doctype html><iframe src="{page_url}"></iframe>'.encode()
    with (
        pretender(lambda *_: http_reply(200, body, "Content-Type: text/html")) as elsewhere,
        visiting(browser, elsewhere) as visit,
    ):
        visit.page.wait_for_timeout(300)
        assert any("frame" in line for line in visit.console)
        (inner,) = visit.page.frames[1:]
        assert inner.url.startswith("chrome-error:")


def test_it_shows_the_hash_that_the_command_tells(browser: Any, page_url: str) -> None:
    with visiting(browser, page_url) as visit:
        assert shown_hash(visit) == page_hash(page_files())
    # One byte more in a file that nothing checks: the page works, with another hash.
    ours = page_files()
    index = next(file for file in ours if file.path == "page/index.html")

    def changed(route: Any) -> None:
        route.fulfill(body=index.body + b" ", content_type="text/html; charset=utf-8")

    with visiting(browser, "about:blank") as visit:
        visit.page.route(re.compile(r"/page/(index\.html)?(#.*)?$"), changed)
        visit.page.goto(page_url)
        found = shown_hash(visit)
        files = [
            type(file)(file.path, file.body + b" ") if file is index else file for file in ours
        ]
        assert found == page_hash(tuple(files)) != page_hash(ours)


@pytest.mark.slow_variants("src/", "texts/")
@pytest.mark.parametrize("name", ["src/mechanisms.js", "texts/en.js", "page/page.js"])
def test_one_byte_changed_in_a_script_and_nothing_runs(
    browser: Any, page_url: str, sqlite_pair: Pair, name: str
) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    file = next(file for file in page_files() if file.path == name)
    with visiting(browser, "about:blank") as visit:
        visit.page.route(
            f"**/{name}",
            lambda route: route.fulfill(body=file.body + b" ", content_type="text/javascript"),
        )
        visit.page.goto(address_of(page_url, survey, invitation))
        visit.page.wait_for_timeout(500)
        assert visit.page.locator("h1").count() == 0
        assert any("integrity" in line for line in visit.console)
        assert not any(survey.hash in url.partition("#")[0] for _, url, _ in visit.requests)


def test_a_language_is_loaded_when_read_and_only_as_it_should_be(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    address = address_of(page_url, survey, invitation)
    with visiting(browser, address, locale="en-GB") as visit:
        visit.wait_for(TITLE)
        assert not any("/texts/" in url and "/en.js" not in url for _, url, _ in visit.requests)
        visit.page.locator("#language").select_option("fr")
        visit.page.get_by_role("button", name="J’accepte").wait_for()
        assert visit.page.locator("html").get_attribute("lang") == "fr"
    french = next(file for file in page_files() if file.path == "texts/fr.js")
    with visiting(browser, "about:blank", locale="fr-FR") as visit:
        changed = french.body.replace("J’accepte".encode(), b"Oui")
        assert changed != french.body
        visit.page.route(
            "**/texts/fr.js",
            lambda route: route.fulfill(body=changed, content_type="text/javascript"),
        )
        visit.page.goto(address)
        visit.page.get_by_role("button", name="I agree").wait_for()  # not as it should be: English
        assert visit.page.locator("#language").input_value() == "en"


def test_scripts_from_elsewhere_and_foreign_requests_are_blocked(
    browser: Any, page_url: str, sqlite_pair: Pair
) -> None:
    survey, _, (invitation,) = begun(sqlite_pair, 1)
    with visiting(browser, address_of(page_url, survey, invitation)) as visit:
        visit.wait_for(TITLE)
        visit.page.evaluate(
            """() => {
              const script = document.createElement("script");
              const address = "https://elsewhere.example/a.js";
              try { script.src = address; } catch { window.unloaded = true; }
              const inline = document.createElement("p");
              try { inline.innerHTML = "<b>markup</b>"; } catch { window.refused = true; }
              fetch("http://elsewhere.example/").catch(() => {});
            }"""
        )
        visit.page.wait_for_timeout(200)
        assert visit.page.evaluate("unloaded && refused") is True
        assert any("Content Security Policy" in line for line in visit.console)
        origins = {url.split("/")[2] for _, url, _ in visit.requests if url.startswith("http")}
        assert "elsewhere.example" not in origins
