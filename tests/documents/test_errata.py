"""Every erratum has a script, and every script runs and says what the page says."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text("utf-8")
SECTIONS = re.findall(r"^## (E\d+)\. (.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)


def test_all_of_them() -> None:
    assert [name for name, _ in SECTIONS] == [f"E{number}" for number in range(1, 21)]


@pytest.mark.slow_variants("E14]", "E16]", "E8]", "E9]")
@pytest.mark.parametrize(("name", "text"), SECTIONS, ids=[name for name, _ in SECTIONS])
def test_script(name: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "print" in script
    assert "assert" in script or "SystemExit" in script
    exec(compile(script, name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out
