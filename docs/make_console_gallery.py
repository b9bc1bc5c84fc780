"""Writes the pictures of the console in docs/console: `python docs/make_console_gallery.py`.

Runs a dealer, a collector with its console and the answer page, and lets a researcher and 60 people
use them in a Chromium that is installed (JRR_TEST_BROWSER=/path/to/one), as the tests do.
"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image  # comes with matplotlib
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from jrr.research.processes import running  # noqa: E402
from tests.browsing import BROWSER  # noqa: E402
from tests.console import Servers, answer_work  # noqa: E402
from tests.console.researching import Researcher, answer_by_program  # noqa: E402
from tests.console.test_waves import both_waves  # noqa: E402

FOLDER = ROOT / "docs" / "console"
LOOKS = {
    "desktop": (1280, 800, "light"),
    "desktop-dark": (1280, 800, "dark"),
    "tablet": (820, 1180, "light"),
    "tablet-dark": (820, 1180, "dark"),
}
IN_DOCS = {  # the other looks go to build/screenshots, to be looked at
    "desktop": None,  # every page
    "desktop-dark": ("results",),
    "tablet": ("build",),
    "tablet-dark": ("plan",),
}
PEOPLE = 60
COLOURS = 48
HIGHEST = 1600  # dots; the rest of a long page is left out
LARGEST = 90_000  # bytes of a picture


def photograph(page: Any, name: str) -> None:
    """Every look of a page: small pictures, few colours are enough for letters."""
    for look, (width, height, scheme) in LOOKS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(200)
        taken = page.screenshot(full_page=True)
        picture = Image.open(BytesIO(taken)).convert("RGB")
        picture = picture.crop((0, 0, picture.width, min(HIGHEST, picture.height)))
        pages = IN_DOCS[look]
        folder = FOLDER if pages is None or name in pages else ROOT / "build" / "screenshots"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"console-{name}-{look}.png"
        picture.quantize(COLOURS).save(path, optimize=True)
        assert path.stat().st_size < LARGEST, f"{path} must be under {LARGEST} bytes"
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")


def main() -> None:
    """Every picture."""
    if BROWSER is None:
        sys.exit("a Chromium must be installed, or named by JRR_TEST_BROWSER")
    with (
        tempfile.TemporaryDirectory() as name,
        running("dealer", Path(name), None, "--console") as dealer,
        running("collector", Path(name), None, "--console") as collector,
        running("page", Path(name)) as answer_page,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(locale="en-GB", color_scheme="light")
        researcher = Researcher(page, Servers(dealer, collector), photograph)
        researcher.sign_in()
        researcher.plan(2_000)
        researcher.build()
        researcher.create(PEOPLE)
        researcher.open()
        table = researcher.invite(PEOPLE, answer_page.url)
        researcher.watch()
        some = PEOPLE * 4 // 5
        for at, row in enumerate(table[:some]):
            answer_by_program(row["program_link"], at, row["invitation"])
        researcher.wait_for_figure("answered", str(some))
        page.wait_for_timeout(12_000)  # until the next look
        photograph(page, "watch")
        researcher.close()
        researcher.groups()
        for link in ("Dealer", "Files"):
            page.get_by_role("link", name=link, exact=True).click()
            photograph(page, {"Dealer": "dealers"}.get(link, link.lower()))
        with ThreadPoolExecutor(1) as pool:  # a browser's thread has a loop of its own
            waves = pool.submit(both_waves, Servers(dealer, collector).visitor(), {})
        first, second = waves.result()
        page.goto(f"{collector.url}/console/surveys/{second.hash}/waves?since={first.hash}")
        photograph(page, "waves")
        page.get_by_role("link", name="Surveys", exact=True).click()
        photograph(page, "surveys")
        page.goto(f"{dealer.url}/console/")
        page.get_by_label("Admin token").fill(dealer.token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Status of this dealer").wait_for()
        photograph(page, "dealer")
        still_open = Servers(dealer, collector).survey()
        answer_work(still_open, Servers(dealer, collector).begin(still_open, 12)[:8])
        page.goto(f"{dealer.url}/console/surveys/{still_open.hash}")
        photograph(page, "dealer-steps")
        browser.close()


if __name__ == "__main__":
    main()
