"""Every line of the page on large domains runs and shows what it says."""

import re
import shlex
from pathlib import Path

import pytest

from jrr.cli.app import run

PAGE = Path(__file__).parents[2] / "docs" / "large-domains.md"


def test_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text("utf-8")
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        capsys.readouterr()
        exec(compile(block, str(PAGE), "exec"), namespace)
        said = re.findall(r"^print\(.*\)  # (.*?)(?:: .*)?$", block, re.MULTILINE)
        assert said
        assert capsys.readouterr().out.splitlines() == said
    Path("pages.txt").write_text("\n".join(["home"] * 200 + ["login"] * 100) + "\n")
    Path("seconds.txt").write_text("\n".join(str(i % 60) for i in range(500)) + "\n")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ "))
            assert words[0] == "jrr"
            assert run(words[1:]) == 0, capsys.readouterr().err
