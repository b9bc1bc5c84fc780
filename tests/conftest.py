"""Which tests `make test` and `make test-fast` leave out, by markers in files, folders and tests.

`slow` is left out of `make test`. `heavy` is left out of `make test-fast` too: what starts servers
and other processes, deals by committee, decides on large samples or enumerates for seconds. The line
`pytestmark = pytest.mark.heavy` marks a file and, in a conftest.py, its folder.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is. `make test` tries the same examples every time;
# `make test-slow` (--hypothesis-profile=explore) draws new ones.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("jrr", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("jrr")


@cache
def mark_of(path: Path) -> str | None:
    """The mark that a file bears as a whole, or a folder by its conftest.py, by its text."""
    file = path / "conftest.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.exists():
        return None
    found = re.search(r"^pytestmark = pytest\.mark\.(heavy|slow)\b", file.read_text(), re.M)
    return found and found[1]


def is_slow_variant(item: pytest.Item) -> bool:
    """Whether `slow_variants` names this variant: by its id in brackets, or how that begins."""
    variant = item.nodeid.partition("[")[2]
    named = [begins for mark in item.iter_markers("slow_variants") for begins in mark.args]
    return bool(variant) and any(variant.startswith(begins) for begins in named)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whole files that are left out are not even imported: that alone takes ten seconds."""
    mark = mark_of(collection_path)
    return (mark is not None and f"not {mark}" in config.getoption("markexpr")) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks slow variants, and as heavy whole folders and what decides on random samples."""
    for item in items:
        if is_slow_variant(item):
            item.add_marker("slow")
        if mark_of(item.path.parent) == "heavy" or item.get_closest_marker("statistical"):
            item.add_marker("heavy")
