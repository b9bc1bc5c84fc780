"""Somebody writes in the editor, in a real browser: what is typed stays, and nothing interrupts."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from jrr.client.operator import new_invitations
from jrr.dealing.kinds import Nobody
from tests.console import WORK, Servers
from tests.console.researching import Researcher


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.slow
def test_the_preview_takes_no_keystrokes_and_all_are_kept(servers: Servers, page: Any) -> None:
    researcher = Researcher(page, servers)
    researcher.sign_in()
    page.get_by_role("link", name="Import a file").click()
    page.locator("textarea").fill(json.dumps(WORK | {"waves": 2}))
    researcher.press("Import")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="I agree", exact=True).wait_for()
    page.get_by_label("Title", exact=True).focus()
    page.keyboard.type("New ")
    page.keyboard.press("Tab")  # keeps the title, and the preview loads again
    who = "University of Somewhere Else"
    page.keyboard.type(who, delay=50)
    frame.get_by_text(who, exact=True).wait_for()  # without leaving the field
    assert page.get_by_label("Who asks", exact=True).input_value() == who
    page.reload()
    assert page.get_by_label("Who asks", exact=True).input_value() == who


@pytest.mark.slow
def test_names_of_ones_own_stay_in_the_browser(servers: Servers, page: Any) -> None:
    survey = servers.survey(dealing=Nobody(), mechanism="rr")
    servers.operator(survey).install()
    Researcher(page, servers).sign_in()
    sent: list[str] = []
    page.context.on("request", lambda asked: sent.append(asked.post_data or ""))
    invitation = new_invitations(1)[0]
    address = f"{servers.collector.url}/console/surveys/{survey.hash}/invite"
    for text in (f"invitation,name\n{invitation},Lovelace\n", "name\nLovelace\n", "Lovelace"):
        for by_file in (True, False):
            page = page.context.new_page()  # the one before goes on to what was replied
            page.goto(address)
            page.get_by_text("Invitations that were made before").click()
            if by_file:
                file = {"name": "t.csv", "mimeType": "text/csv", "buffer": text.encode()}
                page.get_by_label("The file", exact=True).set_input_files(file)
            else:
                page.get_by_label("or its text").fill(text)
            page.get_by_label("Address of the answer page").fill("https://page.example/")
            with page.expect_response(lambda reply: reply.request.method == "POST") as replied:
                page.locator("form[data-file] button.primary").click()
            assert replied.value.status == (200 if invitation in text else 422)
    assert any(invitation in body for body in sent)
    assert not any("Lovelace" in body for body in sent)
