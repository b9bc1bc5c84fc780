"""The documentation site builds without a warning, needs no network to be read, and is complete."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    assert "WARNING" not in build.stderr + build.stdout
    return folder


class Loads(HTMLParser):
    """Addresses that a browser fetches by itself when it shows a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get(LOADING.get(tag, ""))
        if address and given.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(address)


def foreign(addresses: Iterator[str] | list[str]) -> list[str]:
    """Those on another host."""
    return [address for address in addresses if re.match(r"(\w+:)?//", address)]


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert foreign(Loads(page.read_text("utf-8")).addresses) == [], page
    for style in site.rglob("*.css"):
        addresses = re.findall(r"url\(['\"]?([^)'\"]+)|@import ['\"]([^'\"]+)", style.read_text())
        assert foreign([one or other for one, other in addresses]) == [], style


def test_a_foreign_script_or_font_would_be_found() -> None:
    page = (
        '<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="//f.example">'
    )
    assert len(foreign(Loads(page).addresses)) == 2


def test_everything_that_pages_load_is_there(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # its addresses begin at the root of a server
            continue
        for address in Loads(page.read_text("utf-8")).addresses:
            target = re.sub(r"[?#].*", "", address)
            assert target.startswith("data:") or (page.parent / target).exists(), (page, address)


def test_search_works_without_a_server(site: Path) -> None:
    assert "Randomized" in (site / "search" / "search_index.js").read_text("utf-8")
    assert "site/iframe-worker.js" in (site / "index.html").read_text("utf-8")


def test_formulas_are_typeset(site: Path) -> None:
    theory = (site / "theory.html").read_text("utf-8")
    assert theory.count("<math") > 100
    assert "arithmatex" not in theory
    for page in site.rglob("*.html"):
        assert not re.search(r"\\(frac|sqrt|hat|sum|le|ge)\b", page.read_text("utf-8")), page
