"""Every example in a docstring runs and shows what it says; public calls have one."""

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import pytest

import jrr

MODULES = [
    module.name
    for module in pkgutil.walk_packages(jrr.__path__, "jrr.")
    if not module.name.endswith("__main__")  # it would run the command line
]
WITH_EXAMPLES = [  # public calls that must have an example, and sections
    *("jrr.estimation.tally.Tally", "jrr.estimation.tally.WeightedTally"),
    *("jrr.estimation.estimates.Estimate", "jrr.estimation.differences.difference"),
    *("jrr.estimation.groups.estimate_groups", "jrr.estimation.groups.among_answered"),
    *(f"jrr.estimation.postprocess.{step}" for step in ("clip", "normalise", "norm_cut")),
    *(f"jrr.estimation.postprocess.{step}" for step in ("project_simplex", "base_cut")),
    *(f"jrr.analysis.{verb}" for verb in ("regress", "regress_cells", "two_way", "cells_of")),
    "jrr.analysis.SensitiveItem",
    *(f"jrr.tables.{verb}" for verb in ("deal", "perturb", "shuffle", "estimate", "tally")),
    *("jrr.tables.read_header", "jrr.tables.Labels", "jrr.tables.Header"),
]


def run_examples(module: ModuleType) -> doctest.TestResults:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    return doctest.testmod(module, optionflags=flags)


@pytest.mark.parametrize("room", sorted({name.split(".")[1] for name in MODULES}))
def test_examples_show_what_they_say(room: str) -> None:
    names = [name for name in MODULES if name.split(".")[1] == room]
    found = {name: run_examples(importlib.import_module(name)).failed for name in names}
    assert not {name: failed for name, failed in found.items() if failed}


def test_examples_of_the_package_itself() -> None:
    assert run_examples(jrr).failed == 0


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_public_calls_have_an_example_and_say_what_they_refuse(path: str) -> None:
    room, name = path.rsplit(".", 1)
    thing: Any = getattr(importlib.import_module(room), name)
    said = inspect.getdoc(thing) or ""
    assert ">>> " in said
    if inspect.isclass(thing):
        assert "Attributes:" in said or "Args:" in said
    else:
        missing = [part for part in ("Args:", "Returns:", "Raises:") if part not in said]
        assert missing == []


def test_a_wrong_example_would_be_found() -> None:
    module = ModuleType("wrong")
    module.__doc__ = ">>> 1 + 1\n3\n"
    assert run_examples(module).failed == 1
