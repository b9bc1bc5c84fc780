"""Servers with a console, once per worker; and a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jrr.research.processes import running
from tests.console import Servers, Visitor
from tests.console.browsing import BROWSER

pytestmark = pytest.mark.heavy  # the whole folder: tests/conftest.py reads it here

pytest.importorskip("jinja2", reason="no console here: pip install 'jrr[console]'")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("console")
    with (
        running("dealer", folder, None, "--console") as dealer,
        running("collector", folder, None, "--console") as collector,
    ):
        yield Servers(dealer, collector)
    for role in ("dealer", "collector"):
        log = (folder / f"{role}.log").read_text().splitlines()
        assert [line for line in log if "wrong admin token" not in line] == []


@pytest.fixture
def visitor(servers: Servers) -> Visitor:
    return servers.visitor()


@pytest.fixture(scope="module")  # its event loop would be in the way of other modules' own
def browser() -> Iterator[Any]:
    """A Chromium; tests are skipped, and say so, where there is none."""
    told = "the console is not tried in a browser"
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason=f"no playwright here: {told}", exc_type=ModuleNotFoundError
    )
    if BROWSER is None:
        pytest.skip(f"no Chromium here: {told}")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the answer page is."""
    folder = tmp_path_factory.mktemp("page")
    with running("page", folder) as server:
        yield server.url
    assert (folder / "page.log").read_text() == ""  # not a word of who came


@pytest.fixture(scope="module")
def axe_script() -> str:
    """What finds whatever keeps people out."""
    package = pytest.importorskip(
        "axe_playwright_python",
        reason="no axe-core here: accessibility is not checked",
        exc_type=ModuleNotFoundError,
    )
    return (Path(package.__file__).with_name("axe.min.js")).read_text("utf-8")
