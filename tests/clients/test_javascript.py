"""The JavaScript client: its own tests, and the golden vectors that hold it to Python."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr.telemetry.asked import asked_from_dict
from tests.golden import make_contributors, make_survey, make_telemetry

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
    for made in (make_contributors, make_survey, make_telemetry):
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
        "page": ("./", "../src/", "../texts/"),
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


def test_lines_of_telemetry_are_what_python_reads() -> None:
    for case in json.loads(make_telemetry.PATH.read_text("utf-8")):
        asked = asked_from_dict(case["asked"])
        for vector in case["vectors"]:
            report = asked.report_from_json(vector["report"])
            assert asked.report_to_json(report) == vector["report"]
        lines = [vector["report"] for vector in case["vectors"]]
        assert len(list(asked.reports_to_json(asked.reports_from_json(lines)))) == len(lines)


TRIED = """
import { Contributor, headerLine } from "jrr-client";
if (typeof Contributor !== "function") process.exit(1);
const [documentOfPages, documentOfSeconds, documentOfDaily] = JSON.parse(process.argv[2]);
const storage = {};
const send = (line) => console.log(line);
"""


TYPED = """
declare function send(line: string): void;
declare const documentOfPages: unknown, documentOfSeconds: unknown, documentOfDaily: unknown;
declare const link: string, invitation: string, storage: { memory?: string };
"""


@pytest.mark.slow
def test_the_readme_passes_the_compiler_of_typescript(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: types are not checked")
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}')
    install = [npm, "install", "--silent", "--no-audit", "--no-fund", "typescript@5", str(CLIENT)]
    done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"typescript cannot be installed here: {done.stderr[-200:]}")
    readme = (CLIENT / "README.md").read_text("utf-8")
    pieces = "\n".join(re.findall(r"```js\n(.*?)```", readme, re.S))
    (tmp_path / "readme.ts").write_text(f"{TYPED}\n{pieces}")
    options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"]
    command = ["npx", "tsc", *options, "--lib", "es2022,dom", "readme.ts"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_package_works_from_its_tarball(tmp_path: Path) -> None:
    """What npm would publish, unpacked as npm unpacks it, and nothing beside it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: the package is not packed")
    quiet = ["--silent", "--no-audit", "--no-fund", "--offline", "--ignore-scripts"]
    home = {**os.environ, "npm_config_cache": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    packed = subprocess.run(
        [npm, "pack", "--json", *quiet, "--pack-destination", str(tmp_path), str(CLIENT)],
        capture_output=True, text=True, check=True, env=home, cwd=tmp_path,
    )  # fmt: skip
    (about,) = json.loads(packed.stdout)
    files = {file["path"] for file in about["files"]}
    sources = {f"src/{path.name}" for path in (CLIENT / "src").iterdir()}
    assert {"package.json", "README.md", "LICENSE", *sources} <= files
    assert not [name for name in files if name.split("/")[0] in ("test", "node_modules")]
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}')
    tarball = str(tmp_path / about["filename"])
    subprocess.run([npm, "install", *quiet, tarball], check=True, env=home, cwd=tmp_path)
    readme = (CLIENT / "README.md").read_text("utf-8")
    (tmp_path / "device.js").write_text(TRIED + re.findall(r"```js\n(.*?)```", readme, re.S)[0])
    asked: list[Any] = [
        jrr.RR(k=4, p=0.71),
        jrr.HeavyHitters(jrr.Words("abcdefghijklmnopqrstuvwxyz", 8), 4.0, keep=3),
        jrr.RangeTree.for_epsilon(0, 60, bins=64, epsilon=1.0),
        jrr.Longitudinal(jrr.OUE(k=4, epsilon=1.0), jrr.RR(k=4, epsilon=2.0)),
    ]
    documents = json.dumps([one.to_dict() for one in asked[1:]])
    told = subprocess.run(
        [node_program(), "device.js", documents],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    for one, line in zip(asked, told.stdout.splitlines(), strict=True):
        report = one.report_from_json(json.loads(line))
        assert one.report_to_json(report) == json.loads(line)
