"""The console behind the proxies that are shipped, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jrr.dealing.kinds import Nobody
from jrr.research.processes import free_port, running
from tests.console import Servers, answer_work
from tests.console.researching import Researcher
from tests.e2e.test_deploy import caddy, nginx, proxy
from tests.e2e.test_processes import _certificate

pytestmark = pytest.mark.heavy


@pytest.fixture(params=[nginx, pytest.param(caddy, marks=pytest.mark.slow)], ids=["nginx", "caddy"])
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Servers]]:
    """The address that browsers see, and the servers."""
    for made, name in zip(_certificate(tmp_path), ("proxy.pem", "proxy.key"), strict=True):
        made.rename(tmp_path / name)
    port = free_port()
    public = f"https://127.0.0.1:{port}"
    settings = tmp_path / "collector.toml"
    settings.write_text(f'public_address = "{public}"\n')
    settings.chmod(0o600)
    with (
        running("dealer", tmp_path / "dealer") as dealer,
        running(
            "collector", tmp_path / "server", None, "--console", "--config", str(settings)
        ) as collector,
        proxy(request.param(collector, port, tmp_path), port, tmp_path),
    ):
        yield public, Servers(dealer, collector)


def test_a_researcher_behind_a_proxy(browser: Any, behind: tuple[str, Servers]) -> None:
    public, servers = behind
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    researcher = Researcher(page, servers)

    # Whoever guesses tokens, from the one address that the server sees, keeps nobody out.
    page.goto(f"{public}/console/")
    for _ in range(6):
        researcher.write("Admin token", "guess")
        researcher.press("Sign in")
        page.get_by_text("This is not the admin token").wait_for()
    researcher.write("Admin token", servers.collector.token)
    researcher.press("Sign in")
    page.get_by_role("heading", name="Surveys").wait_for()
    cookies = {cookie["name"]: cookie for cookie in context.cookies()}
    (session,) = (one for name, one in cookies.items() if name.startswith("__Host-jrr-console"))
    assert session["secure"]
    assert session["httpOnly"]

    # The preview is the real answer page, which asks this server for its survey.
    researcher.press("New survey")
    researcher.write("Title", "Through a proxy")
    researcher.press("Yes or no")
    page.locator("#question0").get_by_label("Question", exact=True).fill("Do you?")
    researcher.write("Privacy, ε of all", "1")
    researcher.press("Save")
    page.frame_locator("iframe").get_by_role("heading", name="Through a proxy").wait_for()

    # Counts arrive by themselves.
    survey = servers.survey(dealing=Nobody(), mechanism="rr")
    invitations = servers.begin(survey, 12)
    page.goto(f"{public}/console/surveys/{survey.hash}")
    live = page.locator("[data-live=answered]")
    live.filter(has_text="0").wait_for()
    answer_work(survey, invitations[:10])
    live.filter(has_text="10").wait_for()

    # A list of people may be larger than an answer; a stranger's answer may not.
    many = {"names": "x" * (3 << 20)}
    assert (
        context.request.post(f"{public}/console/surveys/{survey.hash}/invite", form=many).status
        == 403
    )
    reports = f"{public}/v1/surveys/{survey.hash}/reports"
    assert context.request.post(reports, data=bytes(3 << 20)).status in (413, 502)
    context.close()
