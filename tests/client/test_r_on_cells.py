"""The R script of a survey that was closed on a crossing, with a merged cell, beside jrr."""

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.dealing.kinds import Dealers
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from tests.client.in_process import House

RSCRIPT = shutil.which("Rscript")
PEOPLE = 80
OPEN = {"dept": ["care", "plant"], "shift": ["T", "F"], "years": ["01", "1", "2"]}


def person(at: int) -> dict[str, Any]:
    """In the cell plant × F × 2 there are three people, in all others more."""
    dept, shift = ("care", "plant")[at % 2], "TF"[at // 2 % 2]
    small = (dept, shift) == ("plant", "F") and at < 12
    yes = "yes" if at % 3 == 0 else "no"
    years = "2" if small else ("01", "1")[at // 4 % 2]
    return {"dept": dept, "shift": shift, "years": years, "cheated": yes, "days": at % 21}


def closed(folder: Path) -> Any:
    asked = [
        {"name": name, "kind": "choice", "labels": labels, "text": "?", "sensitive": False}
        for name, labels in OPEN.items()
    ]
    cheated = {"name": "cheated", "kind": "yes-no", "text": "?"}
    days = {"name": "days", "kind": "number", "low": 0, "high": 20, "text": "?"}
    survey = SurveyRequest(
        draft=Draft.from_dict(
            {"title": "T", "epsilon": 6.0, "questions": [*asked, cheated, days], "cells": [*OPEN]}
        ),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
        min_cell=4,
    ).survey()
    home = House(survey, folder / "servers")
    home.answered(person(at) for at in range(PEOPLE))
    home.everybody.close(Ending(merge_small=True))
    export_survey(home.everybody, folder / "answers.csv")
    written = export_survey(home.everybody, folder / "answers.parquet")
    return jrr.load_survey(survey, written["answers"])


@pytest.mark.slow
@pytest.mark.skipif(RSCRIPT is None, reason="no R here: apt-get install r-base-core")
def test_r_finds_the_groups_of_cells(tmp_path: Path) -> None:
    """Labels that R would read as truth values or numbers stay what they are."""
    survey = closed(tmp_path)
    for at, by in enumerate((("dept", "shift", "years"), ("dept",), ("shift", "years"))):
        columns = ", ".join(f'"{name}"' for name in by)
        command = (
            f'source("answers.csv.R"); one <- estimate_groups(data, questions[[1]], c({columns}));'
            f"two <- estimate_differences(data, questions[[1]], c({columns}));"
            f'write.csv(one, "groups{at}.csv"); write.csv(two, "pairs{at}.csv")'
        )
        ran = subprocess.run(
            [str(RSCRIPT), "--vanilla", "-e", command],
            cwd=tmp_path,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        rows, pairs = (
            list(csv.DictReader((tmp_path / f"{name}{at}.csv").read_text("utf-8").splitlines()))
            for name in ("groups", "pairs")
        )
        groups = survey.groups("cheated", *by)
        assert any(" + " in group.name for group in groups) == ("years" in by)
        mine = {row["group"]: row for row in rows if row["answer"] == "yes"}
        assert set(mine) == {group.name for group in groups}
        for group in groups:
            same(mine[group.name], group.estimate)
        for pair in groups.differences():
            (row,) = [
                row
                for row in pairs
                if {row["first"], row["second"]} == {pair.first, pair.second}
                and row["answer"] == "yes"
            ]
            same(row, pair.difference, 1 if row["first"] == pair.first else -1)


def same(row: dict[str, str], found: Any, sign: int = 1) -> None:
    assert float(row["estimate"]) == pytest.approx(sign * found.frequencies[1], abs=1e-12)
    assert float(row["stderr"]) == pytest.approx(found.stderr[1], rel=1e-9)
