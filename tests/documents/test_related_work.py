"""What is claimed as new, and the earlier work that is named beside it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THEORY = (ROOT / "docs" / "theory.md").read_text("utf-8")
SECTION = THEORY[THEORY.index("## 13. Related work") :]


@pytest.mark.parametrize(
    "work",
    [
        "Prio",
        "MURS",
        "1908.11515",
        "Pathegama",
        "2605.30476",
        "CorDP-DME",
        "2407.03289",
        "CAPE",
        "Dellenbach",
        "GOPA",
        "IncA",
        "Cheu and Yan",
        "Bonawitz",
        "DAP",
    ],
)
def test_earlier_work_is_named(work: str) -> None:
    rows = [line for line in SECTION.splitlines() if line.startswith("|") and work in line]
    assert len(rows) >= 1
    assert all(len(cell.split()) >= 5 for cell in rows[0].strip("|").split("|")[1:])


def test_what_is_claimed() -> None:
    claimed = ("pure formula", "law of", "announced noisy sum", "several dealers", "sampling")
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for words in claimed:
        assert words in SECTION
        assert words in readme
    assert "theory.md#13-related-work" in readme


@pytest.mark.parametrize("page", ["README.md", "CITATION.cff", "docs/theory.md"])
def test_nobody_else_is_said_to_have_nothing(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert not re.search(r"no prior description|no other implementation|nor of MRR", text)
