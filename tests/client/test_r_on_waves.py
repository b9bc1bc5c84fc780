"""The R script of two waves beside jrr: changes, pairs, means of scales, two questions as one."""

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr.analysis.crossed import parts_of
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.client.operator import new_invitations
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from tests.client.in_process import House

RSCRIPT = shutil.which("Rscript")
DECLINED = "prefer not to say"
PEOPLE, LATER = 80, 16  # of 96 people 80 answer each wave: 64 answer both
SITE = {"name": "site", "kind": "choice", "labels": ["a", "b"], "text": "?", "sensitive": False}
ASKED: list[dict[str, Any]] = [
    {"name": "cheated", "kind": "yes-no", "text": "?"},
    {"name": "mood", "kind": "scale", "low": 1, "high": 3, "text": "?", "prefer_not": True},
    {"name": "days", "kind": "number", "low": 0, "high": 20, "text": "?"},
    {"name": "work", "kind": "then-and-now", "text": "?", "labels": ["0", "1", "2", "3"]},
]
WORK = (("then", 2), ("now", 2))
IN_R = """
before <- new.env()
sys.source("wave1.csv.R", before, chdir = TRUE)
source("wave2.csv.R")
for (q in questions) for (sampled in c(FALSE, TRUE)) {
  first <- Find(function(one) one$column == q$column, before$questions)
  keep <- function(what, table) {
    write.csv(table, sprintf("%s_%s_%s.csv", what, q$column, sampled), na = "")
  }
  for (paired in c(FALSE, TRUE)) {
    found <- estimate_change(data, q, before$data, first, paired = paired, sampled = sampled)
    keep(if (paired) "pairs" else "change", found)
  }
  if (!is.null(q$numbers)) keep("means", estimate_means(before$data, first, "site", sampled))
  if (is.null(q$numbers) && is.null(q$ends)) {
    refused <- try(estimate_means(data, q), silent = TRUE)
    stopifnot(grepl("is no scale and no number", refused))
  }
  if (length(q$parts)) keep("parts", estimate_parts(before$data, first, sampled))
}
pdf("plots.pdf")
plot_estimates(results)
plot_estimates(estimate_groups(data, questions[[1]], by = "site"))
invisible(dev.off())
"""


def person(at: int, wave: int) -> dict[str, Any]:
    cheated = "yes" if (at % 3 == 0) != (wave == 2 and at % 4 == 0) else "no"
    mood = DECLINED if at % 7 == 0 else 1 + (at + wave) % 3
    return {"site": "ab"[at % 2], "cheated": cheated, "mood": mood, "days": at % 21} | {
        "work": str(at % 4)
    }


def answers_of(at: int, wave: int, asked: list[dict[str, Any]]) -> dict[str, Any]:
    """Of those questions that this person is asked."""
    known = person(at, wave) | ({"lied": "yes"} if at % 2 == 0 else {})
    return {
        name: known[name] for name in ["site", *(one["name"] for one in asked)] if name in known
    }


def waves(folder: Path, mechanism: str, asked: list[dict[str, Any]] = ASKED) -> tuple[Any, Any]:
    """Both waves, closed and exported; the earlier one has told its second sums."""
    draft = {"title": "T", "epsilon": 12.0, "waves": 2, "cells": ["site"]}
    draft |= {"questions": [SITE, *asked]}
    homes: list[House] = []
    invited, apps = new_invitations(PEOPLE + LATER), None
    for wave in (1, 2):
        after: Survey | None = homes[0].survey if homes else None
        survey = SurveyRequest(
            draft=Draft.from_dict(draft),
            people=PEOPLE,
            collector="https://collector.example",
            dealing=Nobody() if mechanism == "rr" else Dealers(("https://dealer.example",)),
            mechanism=mechanism,
            min_cell=4,
            colluders=None if mechanism == "rr" else 0,
            after=after,
        ).survey()
        home = House(survey, folder / survey.hash)
        home.apps = apps = apps or home.apps
        some = range(PEOPLE) if wave == 1 else range(LATER, PEOPLE + LATER)
        home.answered((answers_of(at, wave, asked) for at in some), [invited[at] for at in some])
        home.everybody.close(Ending())
        homes.append(home)
    if homes[0].survey.announcements > 1:
        homes[0].everybody.close(Ending(announcement=2))
    loaded = []
    for number, home in enumerate(homes, 1):
        export_survey(home.everybody, folder / f"wave{number}.csv")
        written = export_survey(home.everybody, folder / f"wave{number}.parquet")
        loaded.append(jrr.load_survey(home.survey, written["answers"]))
    return loaded[0], loaded[1]


def test_r_has_no_pairs_of_a_question_that_not_everybody_is_asked(tmp_path: Path) -> None:
    asked = {"name": "lied", "kind": "yes-no", "text": "?", "only_if": {"site": ["a"]}}
    questions = [ASKED[0], asked]
    before, now = waves(tmp_path, "mrr", questions)
    with pytest.raises(ArgumentError, match="not everybody is asked lied"):
        now.change(before, "lied", paired=True)
    script = (tmp_path / "wave1.csv.R").read_text("utf-8")
    everybody, some = script.split('column = "lied"')
    assert 'later = list(list(by = c("answered_wave_after"' in everybody
    assert "later = list()" in some


@pytest.mark.slow
@pytest.mark.skipif(RSCRIPT is None, reason="no R here: apt-get install r-base-core")
@pytest.mark.parametrize("mechanism", ["mrr", "rr", "drr"])
def test_r_finds_changes_means_and_parts(tmp_path: Path, mechanism: str) -> None:
    before, now = waves(tmp_path, mechanism)
    (tmp_path / "both.R").write_text(IN_R, "utf-8")
    ran = subprocess.run(
        [str(RSCRIPT), "--vanilla", "both.R"],
        cwd=tmp_path,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    # Of four answers that scheme takes hashes, which R does not read.
    names = [name for name in now.sensitive if (mechanism, name) != ("drr", "work")]
    for name in names:
        for population, sampled in (("respondents", "FALSE"), ("sample", "TRUE")):
            for what, paired in (("change", False), ("pairs", True)):
                rows = table(tmp_path, what, name, sampled)
                found = now.change(before, name, paired=paired, population=population)
                if now.header(name).numbers is not None:
                    moved = change_of_means(now, before, name, paired, population)
                    assert rows[0][0] == pytest.approx(moved.difference, abs=1e-9)
                    # In R a number in steps has the noise of rounding also where it need not.
                    steps = now.header(name).mechanism.steps > 1 and population == "sample"
                    assert rows[0][1] == pytest.approx(moved.stderr, rel=1e-3 if steps else 1e-9)
                else:
                    same(rows, found.frequencies, found.stderr)
            if name == "mood":
                of_groups = group_means(before, population)
                same(table(tmp_path, "means", name, sampled), *of_groups)
            if name == "work":
                parts = parts_of(before.total(name, population=population), WORK)
                told = [
                    (value, error)
                    for one in parts.values()
                    for value, error in zip(one["value"], one["stderr"], strict=True)
                ]
                same(table(tmp_path, "parts", name, sampled), *zip(*told, strict=True))
    assert (tmp_path / "plots.pdf").stat().st_size > 1_000


def group_means(survey: Any, population: str) -> tuple[list[float], list[float]]:
    means = survey.means("mood", "site", population=population).values()
    return [one.mean for one in means], [one.stderr for one in means]


def change_of_means(now: Any, before: Any, name: str, paired: bool, population: str) -> Any:
    pairs = now._pairs(before, name, ()) if paired else (now, before)
    wish = {"population": population}
    estimates = [one.total(**wish) if paired else one.total(name, **wish) for one in pairs]
    means = [one._mean_of(name, each) for one, each in zip((now, before), estimates, strict=True)]
    return means[0].minus(means[1], same_deck=False, shared=PEOPLE - LATER)


def table(folder: Path, what: str, name: str, sampled: str) -> list[tuple[float, float]]:
    text = (folder / f"{what}_{name}_{sampled}.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return [(float(row["estimate"]), float(row["stderr"])) for row in rows]


def same(rows: Any, values: Any, errors: Any) -> None:
    assert [row[0] for row in rows] == pytest.approx(list(values), abs=1e-9)
    assert [row[1] for row in rows] == pytest.approx(list(errors), rel=1e-9)
