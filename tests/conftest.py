"""Which tests `make test` and `make test-fast` leave out, by markers in files, folders and tests.

`slow` is left out of `make test`. `heavy` is left out of `make test-fast` too: what starts servers
and other processes, deals by committee, decides on large samples or enumerates for seconds.
`pytestmark = pytest.mark.heavy` marks a file and, in a conftest.py, its folder.
"""

import gc
import re
import signal
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is. `make test` tries the same examples every time;
# `make test-slow` (--hypothesis-profile=explore) draws new ones.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("jrr", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("jrr")

# In the background a shell ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def mark_of(path: Path) -> str | None:
    """The mark that a file bears as a whole, or a folder by its conftest.py, by its text."""
    file = path / "conftest.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.exists():
        return None
    found = re.search(r"^pytestmark = pytest\.mark\.(heavy|slow)\b", file.read_text(), re.M)
    return found and found[1]


def is_slow_variant(item: pytest.Item) -> bool:
    """Whether `slow_variants` names how this variant's id in brackets begins; * is anything."""
    variant = item.nodeid.partition("[")[2]
    named = [begins for mark in item.iter_markers("slow_variants") for begins in mark.args]
    return bool(variant) and any(fnmatchcase(variant, f"{begins}*") for begins in named)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whole files that are left out are not even imported: that alone takes ten seconds."""
    mark = mark_of(collection_path)
    return (mark is not None and f"not {mark}" in config.getoption("markexpr")) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks slow variants, and as heavy whole folders and what decides on random samples."""
    for item in items:
        if is_slow_variant(item):
            item.add_marker("slow")
        if mark_of(item.path.parent) == "heavy" or item.get_closest_marker("statistical"):
            item.add_marker("heavy")


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the garbage collector need not look at it again."""
    gc.freeze()


# What tests in a browser share; imported where it is asked for.


@pytest.fixture(scope="module")  # its event loop would be in the way of other modules' own
def browser() -> Iterator[Any]:
    """A Chromium; tests are skipped, and say so, where there is none."""
    from tests.browsing import BROWSER

    told = "pages are not tried in a browser"
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
    from jrr.research.processes import running

    folder = tmp_path_factory.mktemp("page")
    with running("page", folder) as server:
        yield server.url
    assert (folder / "page.log").read_text() == ""  # not a word of who came


@pytest.fixture(scope="session")
def axe_script() -> str:
    """What finds whatever keeps people out."""
    package = pytest.importorskip(
        "axe_playwright_python",
        reason="no axe-core here: accessibility is not checked",
        exc_type=ModuleNotFoundError,
    )
    return Path(package.__file__).with_name("axe.min.js").read_text("utf-8")
