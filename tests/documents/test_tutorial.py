"""Every line of the tutorial runs, in order, in an empty directory."""

import re
import shlex
from pathlib import Path

import pytest

from jrr.cli.app import run
from jrr.errors import ArgumentError

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


def test_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(TUTORIAL.read_text("utf-8"))
    assert len(blocks) >= 12
    namespace: dict[str, object] = {}
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(TUTORIAL), "exec"), namespace)
            continue
        lines = text.splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            if line.startswith("$ "):
                words = shlex.split(line[2:])
                assert words[0] == "jrr"
                code = run(words[1:])
                expected = ArgumentError.exit_code if after == "refused" else 0
                assert code == expected, capsys.readouterr().err
    assert (tmp_path / "shares.png").exists()
    assert not (tmp_path / "again.parquet").exists()
