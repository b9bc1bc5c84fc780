"""A real Chromium for tests, and what they hold against it.

Needs playwright and axe-core (the dependency group `browser`) and a Chromium that is installed:
`apt-get install chromium`, or JRR_TEST_BROWSER=/path/to/one.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("JRR_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
LOOKS = {  # width, height and colours, by name
    f"{name}-{scheme}": (wide, high, scheme)
    for name, wide, high in (("phone", 360, 740), ("tablet", 768, 1024), ("desktop", 1280, 800))
    for scheme in ("light", "dark")
}
# Words of makers, which no researcher and no respondent should have to understand.
JARGON = re.compile(
    r"\bview\b|\d[eE]-\d\d|ε \+ \d|\w_cell|\bserials\b|commit|without masks|card_rate|covariate|"
    r"answered_wave"
)
PICTURES = bool(os.environ.get("JRR_TEST_PICTURES"))  # whether to leave them behind
SCREENSHOTS = Path(__file__).parents[1] / "build" / "screenshots"
