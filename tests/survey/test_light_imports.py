"""A contributor's device loads no more than it needs."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["jrr", "jrr.survey.survey", "jrr.survey.contributor"])
def test_reading_a_survey_does_not_load_the_planner(module: str) -> None:
    """A contributor's device has no use for it; what answers cost is told by a few sums."""
    code = (
        f"import sys, {module}; "
        "heavy = ('jrr.planning', 'jrr.reporting', 'scipy.stats'); "
        "light = {'jrr.reporting', 'jrr.reporting.catalogue', 'jrr.privacy.cost_table'}; "
        "print([name for name in sys.modules if name.startswith(heavy) and name not in light])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
