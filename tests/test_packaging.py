"""What is declared is what is used, and one version stands everywhere."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import jrr

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def declared() -> set[str]:
    extras = [name for group in PROJECT["optional-dependencies"].values() for name in group]
    found = (re.match(r"[\w-]+", name) for name in [*PROJECT["dependencies"], *extras])
    names = {match.group().replace("-", "_") for match in found if match}
    return names | {name.removesuffix("_framework") for name in names}  # ibis


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_every_import_is_declared() -> None:
    allowed = declared() | set(sys.stdlib_module_names) | {"jrr"}
    for path in sorted((ROOT / "src").rglob("*.py")):
        assert imported(path) <= allowed, path


def test_one_version_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (cited,) = re.findall(r"^version: \"?([\d.]+)", citation, flags=re.MULTILINE)
    assert jrr.__version__ == PROJECT["version"] == cited


def test_the_lock_has_hashes_and_no_hosts() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert lock.count("==") <= lock.count("--hash=sha256:")


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "1 of 1 packages were looked up"),
        ([{"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1"}]}], 1, "a 1: PYSEC-1"),
        ([{"name": "a", "skip_reason": "not found"}], 0, "SKIPPED"),
        (None, 1, "pip-audit failed"),
    ],
    ids=["sound", "weak", "unreachable", "broken"],
)
def test_weaknesses_that_were_not_looked_up_are_not_called_absent(
    packages: list[dict[str, object]] | None, code: int, said: str
) -> None:
    told = "no JSON" if packages is None else json.dumps({"dependencies": packages})
    fake = [sys.executable, "-c", f"print({told!r})"]
    tool = str(ROOT / "tools" / "audit_packages.py")
    run = subprocess.run([sys.executable, tool, *fake], capture_output=True, text=True)
    assert run.returncode == code
    assert said in run.stdout


def test_the_base_image_can_be_named_by_its_digest() -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases == ["${BASE}${DIGEST:+@${DIGEST}}"] * 2
    run = subprocess.run(["make", "image", "DIGEST="], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2
    assert "which base image?" in run.stderr
