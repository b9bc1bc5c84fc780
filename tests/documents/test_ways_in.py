"""README, CONTRIBUTING and the architecture page: short, complete, in step with the code."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
README_WORDS = 900
PAGES = ("README.md", "CONTRIBUTING.md", "docs/architecture.md")


def text(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_readme_is_short() -> None:
    read = re.sub(r"<!--.*?-->|```", "", text("README.md"))  # what a reader sees
    assert len(read.split()) <= README_WORDS


def test_readme_says_how_to_call_the_command() -> None:
    assert ".venv/bin/jrr" in text("README.md")
    assert ". .venv/bin/activate" in text("README.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_is_named_exists(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", text("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^ {4}|^\$ )make ([a-z-]+)", text(page), flags=re.MULTILINE))
    assert named <= targets


def test_every_make_target_has_help() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text("Makefile"), flags=re.MULTILINE)
    explained = set(re.findall(r"^([a-z-]+):.*## \w", text("Makefile"), flags=re.MULTILINE))
    assert set(phony.split()) == explained


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    named = re.findall(r"`((?:src|tests|docs|examples)/[\w./-]+)`", text(page))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_room_is_explained() -> None:
    rooms = {path.name for path in (ROOT / "src" / "jrr").iterdir() if path.is_dir()}
    rooms -= {"__pycache__"}
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        rows = set(re.findall(r"^\| `(\w+)/` \|", text(page), flags=re.MULTILINE))
        assert rows == rooms, page


def test_main_modules_of_each_room_exist() -> None:
    rows = re.findall(
        r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|", text("docs/architecture.md"), re.MULTILINE
    )
    for room, modules in rows:
        for module in re.findall(r"`([\w/]+(?:\.py|/))`", modules):
            places = [ROOT / "src" / "jrr" / room, ROOT / "src" / "jrr" / room / "dealer"]
            assert any((place / module).exists() for place in places), (room, module)


def test_pictures_of_the_rooms_are_those_that_the_script_draws() -> None:
    for path, drawn in script("docs/site/draw_rooms.py").pictures().items():
        assert path.read_text("utf-8") == drawn, path


def test_changelog_has_the_version() -> None:
    (version,) = re.findall(r'^version = "([\d.]+)"', text("pyproject.toml"), re.MULTILINE)
    assert re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", text("CHANGELOG.md"), re.M)


def test_pre_commit_downloads_nothing() -> None:
    configuration = text(".pre-commit-config.yaml")
    assert set(re.findall(r"- repo: (.*)", configuration)) == {"local"}
    assert set(re.findall(r"language: (.*)", configuration)) == {"system"}
    assert all(
        entry.startswith(".venv/bin/") for entry in re.findall(r"entry: (.*)", configuration)
    )
