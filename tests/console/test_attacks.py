"""Attacks on the console in a real browser: scripts in texts, frames, forms of other pages."""

from typing import Any

import pytest

from jrr.dealing.kinds import Nobody
from tests.console import WORK, Servers, answer
from tests.console.researching import Researcher

EVIL = '"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script><svg onload="hurt=1">'


@pytest.fixture
def page(browser: Any) -> Any:
    context = browser.new_context(locale="en-GB")
    yield context.new_page()
    context.close()


def test_scripts_in_texts_labels_and_groups_do_not_run(servers: Servers, page: Any) -> None:
    questions = [
        WORK["questions"][0] | {"text": EVIL, "labels": [EVIL, "b"]},
        WORK["questions"][1] | {"text": EVIL},
        {"name": "c", "kind": "choice", "text": EVIL, "labels": [EVIL, "other"]},
    ]
    survey = servers.survey(
        WORK | {"title": EVIL, "by": EVIL, "questions": questions}, dealing=Nobody(), mechanism="rr"
    )
    for invitation in servers.begin(survey, 4):
        answer(survey, invitation, {"sector": EVIL, "bribed": "no", "c": EVIL})
    servers.operator(survey).close()
    Researcher(page, servers).sign_in()
    base = f"{servers.collector.url}/console"
    analysis = "/analysis?what=groups&question=c&by_sector=yes"
    of_survey = ("", "/results", "/groups?by=sector", analysis, "/waves", "/files", "/close")
    for path in ("/", *(f"/surveys/{survey.hash}{one}" for one in of_survey)):
        page.goto(base + path)
        page.wait_for_timeout(200)
        assert page.evaluate("window.hurt") is None, path
        assert page.locator("img[src=x]").count() == 0, path
    page.goto(f"{base}/surveys/{survey.hash}")
    page.locator(".results figure").first.wait_for()  # put there by the page's own script
    assert page.evaluate("window.hurt") is None
    assert page.locator(".results", has_text="onerror").count()  # the text is shown as it is


@pytest.mark.slow
def test_scripts_in_a_draft_do_not_run_in_the_editor_or_its_preview(
    servers: Servers, page: Any
) -> None:
    """Every text field of the editor and of the form after it."""
    researcher = Researcher(page, servers)
    researcher.sign_in()
    researcher.press("New survey")
    researcher.press("One of several")
    box = page.locator("#question0")
    box.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    checked = ("epsilon", "ask", "waves", "language", "logo", "analyses", "cells")  # refused
    for field in page.locator("form[data-quick] :is(textarea, input:not([type]))").all():
        name = field.get_attribute("name")
        if name not in checked and ".only_" not in str(name):
            field.fill(EVIL if ".labels." not in str(name) else f"{EVIL}\nother")
    box.get_by_label("Name in results").fill("evil")
    box.get_by_label("Wanted margin").fill("")
    box.get_by_label("Weight").fill("")
    researcher.press("Save")
    frame = page.frame_locator("iframe")
    frame.get_by_text("onerror").first.wait_for()
    frame.get_by_role("button", name="I agree", exact=True).click()
    frame.locator("h1", has_text="onerror").wait_for()
    researcher.press("Save and go on")
    for label in ("People to invite", "Address of the dealer", "Address of this collector"):
        page.get_by_label(label).fill(EVIL)
    researcher.press("Create the survey")
    page.locator(".note-box.wrong").wait_for()
    for one in page.frames:
        assert one.evaluate("window.hurt") is None
    page.goto(f"{servers.collector.url}/console/plan?people={EVIL}&draft={EVIL}")
    assert page.evaluate("window.hurt") is None


def test_scripts_in_a_survey_do_not_run_at_the_dealer(servers: Servers, page: Any) -> None:
    survey = servers.survey(
        WORK | {"title": EVIL, "by": EVIL, "contact": EVIL}, consent={"en": EVIL}
    )
    servers.begin(survey, 3)
    page.goto(f"{servers.dealer.url}/console/")
    page.get_by_label("Admin token").fill(servers.dealer.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="onerror").first.click()
    page.get_by_text("Whom to accept").wait_for()
    page.locator("#people").fill(EVIL)
    page.get_by_role("button", name="Accept them").click()
    page.locator(".note-box.wrong").wait_for()
    assert page.evaluate("window.hurt") is None


def test_no_other_page_can_frame_the_console_or_send_its_forms(
    servers: Servers, page: Any, page_url: str
) -> None:
    researcher = Researcher(page, servers)
    researcher.sign_in()
    drafts = page.locator(".state.draft").count()
    url = f"{servers.collector.url}/console/"
    page.goto("about:blank")  # another origin, in a browser that is signed in
    page.set_content(f'<iframe src="{url}"></iframe>')
    page.wait_for_timeout(700)
    assert not any("Surveys" in frame.content() for frame in page.frames)
    page.set_content(
        f'<form method="post" action="{url}drafts/new"><input name="csrf" value="x"></form>'
    )
    with page.expect_navigation():
        page.evaluate("document.forms[0].submit()")
    # The cookie is not sent along: to the server this is a stranger, or a form that is not its own.
    assert "Surveys" not in page.locator("h1").inner_text()
    page.goto(url)
    page.get_by_role("heading", name="Surveys").wait_for()
    assert page.locator(".state.draft").count() == drafts
