"""The JavaScript client: its own tests, and the golden vectors that hold it to Python."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import jrr
from tests.golden import make_contributors, make_survey

CLIENT = Path(__file__).parents[2] / "clients" / "js"
OLDEST = 20


def node_program() -> str:
    """Where node is; skips where there is none that is new enough."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed: the JavaScript client is not checked")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    if int(version.stdout.strip().removeprefix("v").partition(".")[0]) < OLDEST:
        pytest.skip(f"node {version.stdout.strip()} is older than {OLDEST}: nothing is checked")
    return program


def node(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run node in the client's folder."""
    return subprocess.run(
        [node_program(), *arguments], cwd=CLIENT, capture_output=True, text=True, check=False
    )


def test_golden_vectors_are_up_to_date() -> None:
    for made in (make_contributors, make_survey):
        assert made.PATH.read_text("utf-8") == made.text()


def test_its_own_tests_pass() -> None:
    done = node("--test", "test/")
    assert done.returncode == 0, done.stdout[-5000:]
    (passed,) = re.findall(r"^# pass (\d+)$", done.stdout, flags=re.MULTILINE)
    assert int(passed) > 60


def test_no_dependencies_and_one_version() -> None:
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    assert package["version"] == jrr.__version__
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & set(package)
    allowed = {
        "src": ("./",),
        "page": ("./", "../src/"),
        "embed": ("../src/", "../page/"),
    }
    for folder, places in allowed.items():
        for path in (CLIENT / folder).glob("*.js"):
            for source in re.findall(r'from "([^"]+)"', path.read_text("utf-8")):
                assert source.startswith(places), path


def test_every_name_has_a_type() -> None:
    exported = re.findall(r"\{([^}]+)\}", (CLIENT / "src" / "index.js").read_text("utf-8"))
    names = {name.strip() for group in exported for name in group.split(",") if name.strip()}
    types = (CLIENT / "src" / "index.d.ts").read_text("utf-8")
    typed = set(re.findall(r"^export (?:class|function|const) (\w+)", types, flags=re.MULTILINE))
    assert names == typed
