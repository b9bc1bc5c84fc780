"""The table of docs/security.md says what the library computes."""

import re
from pathlib import Path

import pytest

import jrr

PAGE = (Path(__file__).parents[1] / "docs" / "security.md").read_text("utf-8")
VIEWS = ("report", "truths", "cards", "dealer")
CASES = [(e, kind) for e in (0.1, 1.0) for kind in ("rr", "jrr", "drr")]


def cells(view: str) -> list[float]:
    (row,) = re.findall(rf"^\|[^|]*\| `{view}` \|(.*)\|$", PAGE, re.MULTILINE)
    return [float(cell) for cell in row.split("|")]


@pytest.mark.parametrize(("at", "case"), list(enumerate(CASES)))
def test_table(at: int, case: tuple[float, str]) -> None:
    epsilon, kind = case
    made = jrr.plan(10_000, epsilon, 5, dealer_epsilon=epsilon + 2, mechanism=kind)
    for view in VIEWS:
        shown = cells(view)[at]
        assert made.guarantees[view] <= shown  # rounded up, never down
        assert shown - made.guarantees[view] < 2e-3
    full = made.everything(1e-6)
    assert full <= cells("everything")[at] < full + 2e-3
    (errors,) = re.findall(r"^\| the standard error .*? \| \|(.*)\|$", PAGE, re.MULTILINE)
    assert 100 * made.stderr(0.1) == pytest.approx(float(errors.split("|")[at]), rel=5e-3)
