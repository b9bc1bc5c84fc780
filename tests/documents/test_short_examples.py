"""Telemetry in 35 lines, a data frame in 10, and four notebooks: each is run."""

import ast
import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jrr._base import randomness
from jrr._base.randomness import SeededRandom

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def make_notebooks() -> Any:
    path = ROOT / "docs" / "make_notebooks.py"
    spec = importlib.util.spec_from_file_location("make_notebooks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_telemetry_in_35_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = EXAMPLES / "telemetry_in_35_lines.py"
    source = path.read_text("utf-8")
    assert len(source.splitlines()) <= 35
    assert f"```python\n{source}```" in (ROOT / "docs" / "telemetry.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    devices = SeededRandom(1)  # which the example does not seed: shares would miss their ranges
    monkeypatch.setattr(randomness, "SecureRandom", lambda: devices)
    runpy.run_path(str(path))
    shown = capsys.readouterr().out
    assert re.search(r"^ *home +0\.[67]", shown, re.MULTILINE)
    assert re.search(r"^ *1 +0\.(0|1|2)", shown, re.MULTILINE)
    assert float(re.findall(r"^seconds ([\d.]+)$", shown, re.MULTILINE)[0]) == pytest.approx(
        15, abs=5
    )


def test_a_frame_in_10_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = EXAMPLES / "frame_in_10_lines.py"
    assert len(path.read_text("utf-8").splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    assert "south" in capsys.readouterr().out
    assert [name.name for name in tmp_path.iterdir()] == ["reports.parquet"]


def test_notebooks_are_those_of_the_examples() -> None:
    made = make_notebooks()
    assert sorted(path.stem for path in made.FOLDER.iterdir()) == sorted(made.NAMES)
    for name in made.NAMES:
        text = (made.FOLDER / f"{name}.ipynb").read_text("utf-8")
        assert text == made.text_of(name), "python docs/make_notebooks.py"


@pytest.mark.slow_variants("telemetry_engineer]", "analyst_at_scale]")
@pytest.mark.parametrize("name", make_notebooks().NAMES)
def test_cells_run_one_after_the_other(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kernel does it: what a cell ends with is shown; results of ours as tables."""
    monkeypatch.chdir(tmp_path)
    document = json.loads((make_notebooks().FOLDER / f"{name}.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in document["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), name, "eval"), names))
    if name == "data_scientist":
        tables = [one for one in shown if hasattr(one, "_repr_html_")]
        assert len(tables) >= 3
        assert all("<table" in one._repr_html_() for one in tables)
        low, high = names["fit"].interval()
        assert low[1] < 0.03 < high[1]
        assert low[2] < 0.8 < high[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", make_notebooks().NAMES)
def test_a_real_kernel_runs_them(name: str, tmp_path: Path) -> None:
    """In an environment of its own, with the packages of Jupyter."""
    uv = str(Path(sys.executable).parent / "uv")
    command = [uv, "run", "--no-project", "--quiet", "--python", sys.executable]
    for package in ("nbclient", "ipykernel", "pandas", f"{ROOT}[tables,formulas,plots]"):
        command += ["--with", package]
    run = (
        "import nbformat, nbclient, sys; "
        "nb = nbformat.read(sys.argv[1], 4); nbformat.validate(nb); "
        "nbclient.NotebookClient(nb, timeout=300).execute(); "
        "shown = [o.get('data', {}) for c in nb.cells for o in c.get('outputs', [])]; "
        "print(sum('text/html' in one for one in shown))"
    )
    notebook = str(make_notebooks().FOLDER / f"{name}.ipynb")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [*command, "python", "-W", "ignore", "-c", run, notebook],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    if name == "data_scientist":
        assert int(done.stdout.splitlines()[-1]) >= 3
