"""A real Chromium for these tests, and what they hold against it."""

import os
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
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
