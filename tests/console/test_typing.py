"""Somebody writes in the editor, in a real browser: what is typed stays, and nothing interrupts."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

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
