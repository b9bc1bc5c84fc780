"""Figures that people rely on are what they were: tests/golden/make_figures.py says which."""

import json
import math
from typing import Any

import pytest

from tests.golden.make_figures import PATH, estimates, files, plans, surveys

KINDS = (plans, estimates, files, surveys)


def differences(was: Any, is_now: Any, where: str = "") -> list[str]:
    """Where two trees of JSON values differ; numbers may in their last digit (other processors)."""
    if isinstance(was, dict) and isinstance(is_now, dict):
        found = [f"{where}: {sorted(set(was) ^ set(is_now))}"] if set(was) != set(is_now) else []
        for name in set(was) & set(is_now):
            found += differences(was[name], is_now[name], f"{where}.{name}")
        return found
    if isinstance(was, list) and isinstance(is_now, list) and len(was) == len(is_now):
        pairs = enumerate(zip(was, is_now, strict=True))
        return [line for at, pair in pairs for line in differences(*pair, f"{where}[{at}]")]
    if isinstance(was, float) and isinstance(is_now, float):
        same = math.isclose(was, is_now, rel_tol=1e-13, abs_tol=1e-13)
        return [] if same else [f"{where}: {was!r} is now {is_now!r}"]
    return [] if was == is_now else [f"{where}: {was!r} is now {is_now!r}"]


@pytest.mark.parametrize("make", KINDS, ids=[make.__name__ for make in KINDS])
def test_figures_are_what_they_were(make: Any) -> None:
    golden = json.loads(PATH.read_text("utf-8"))
    for name, figure in make():
        assert differences(golden[name], json.loads(json.dumps(figure))) == [], name


def test_a_figure_that_changed_is_found() -> None:
    was = {"a": [1.0, {"b": 2.0}], "c": "x"}
    assert differences(was, {"a": [1.0, {"b": 2.0}], "c": "x"}) == []
    assert differences(was, {"a": [1.0, {"b": 2.0 + 1e-9}], "c": "x"})
    assert differences(was, {"a": [1.0], "c": "x"})
    assert differences(was, {"a": [1.0, {}], "c": "x"})
