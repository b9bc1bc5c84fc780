"""Every line of the page on analyses runs."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


def test_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text("utf-8")
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), namespace)
    shown = capsys.readouterr().out
    left = namespace["left"]
    assert isinstance(left, dict)
    for epsilon in (0.5, 1.0, 2.0):
        row = next(line for line in text.splitlines() if line.startswith(f"| {epsilon:g} | 0."))
        printed = [float(cell) for cell in row.strip("| ").split("|")[1:]]
        kinds = ("announced", "1%", "10%")
        for kind, number in zip(kinds, printed, strict=True):
            assert left[epsilon, kind] == pytest.approx(number, abs=0.006)
    assert "odds times" in shown
