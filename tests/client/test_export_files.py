"""Codebook and R script of a survey's export: what they say is what jrr computes."""

import csv
import io
import json
import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jrr._base.randomness import SeededRandom
from jrr.client.codebook import FIELDS, codebook_csv, codebook_json, columns_of
from jrr.client.export import check_export_files, masks_told, r_script
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError
from jrr.estimation.groups import GroupEstimates, estimate_groups
from jrr.estimation.masks import Known
from jrr.estimation.told_sums import CardSum, CardSums
from jrr.mechanisms.numbers import Numbers
from jrr.mechanisms.report_formats import BitsFormat
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.sensitive import SensitiveQuestion
from jrr.survey.survey import Survey

RSCRIPT = shutil.which("Rscript")
PEOPLE, CARDED = 300, 240
# Of those with a card the first 100, for whose cards there is a sum of their own, and some others.
SECTORS = ["office"] * 100 + ["shop"] * (CARDED - 100) + ["office", "shop"] * 30
QUESTIONS: list[dict[str, Any]] = [
    {
        "name": "sector",
        "kind": "choice",
        "text": {"en": "Where?", "de": "Wo?"},
        "labels": [{"en": "office", "de": "Büro"}, {"en": "shop", "de": "Laden"}],
        "sensitive": False,
    },
    {"name": "tags", "kind": "several", "text": "Tags?", "labels": ["x", "y"], "sensitive": False},
    {"name": "größe", "kind": "yes-no", "text": 'Say "yes"\\ or \n#no <b>?'},
    {"name": "mood", "kind": "scale", "text": "How?", "prefer_not": True},
    {
        "name": "pills",
        "kind": "several",
        "text": "Which?",
        "labels": ["red", "blue"],
        "only_if": {"sector": "shop"},
    },
    {"name": "days", "kind": "number", "text": "Days?", "low": -5, "high": 20},
]
KINDS: dict[str, dict[str, Any]] = {
    "rr": {"mechanism": "rr", "dealing": Nobody()},
    "jrr": {"mechanism": "jrr", "dealer_epsilon": 20.0},
    "drr": {"mechanism": "drr"},
    "mrr": {"mechanism": "mrr"},
    "mrr-some": {"mechanism": "mrr"},  # each person is asked two of three questions
    "mrr-closed": {"mechanism": "mrr", "closed_deck": True},
    "oue": {"mechanism": "oue", "dealing": Nobody()},
}

# The table as the package arrow would read it, which may not be here: numbers, flags and lists.
AS_PARQUET = """local({
  texts <- read.csv("answers.csv", colClasses = "character", na.strings = "", check.names = FALSE,
                    encoding = "UTF-8")
  for (name in names(texts)[-(1:2)]) {
    column <- texts[[name]]
    if (any(grepl(" ", column))) texts[[name]] <- lapply(strsplit(column, " "), function(row)
      if (anyNA(row)) NULL else as.integer(row))
    else texts[[name]] <- type.convert(column, as.is = TRUE)
  }
  texts
})"""


@cache
def survey_of(kind: str) -> Survey:
    # Encodings of many values do not tell numbers.
    asked = QUESTIONS[:-1] if kind == "oue" else QUESTIONS
    document: dict[str, Any] = {"title": "T", "languages": ["en", "de"], "epsilon": 6.0}
    some = {"split": "together", "ask": 2}
    document |= (some if kind == "mrr-some" else {"split": "even"}) | {"questions": asked}
    options: dict[str, Any] = {"dealing": Dealers(("https://dealer.example",)), "lost": 0.0}
    return SurveyRequest(
        draft=Draft.from_dict(document),
        people=PEOPLE,
        collector="https://collector.example",
        **options | KINDS[kind],
    ).survey()


def answered(
    question: SensitiveQuestion, seed: int
) -> tuple[list[Any], list[bool], dict[str, Any]]:
    """Reports of one question as an export has them, whether with a card, and the estimate."""
    mechanism, rng = question.mechanism, SeededRandom(seed)
    values = np.random.default_rng(seed).integers(0, mechanism.k, PEOPLE) // 2
    n = CARDED if mechanism.deals else 0
    alone = mechanism.respond(values[n:], rng=rng)
    carded = [True] * n + [False] * (PEOPLE - n)
    rows = [*np.asarray(alone)]
    result: dict[str, Any] = {"carded": n, "cardless": PEOPLE - n, "decks": 1}
    tally = mechanism.tally(alone, np.zeros(PEOPLE - n, bool))
    if n:
        deck = mechanism.deal(rng)
        assert deck is not None
        used, left = np.array(deck[:n]), np.array(deck[n:])
        reports = mechanism.respond(values[:n], deck[:n], rng)
        rows = [*np.asarray(reports), *rows]
        tally = tally + mechanism.tally(np.asarray(reports), np.ones(n, bool))
        told = _told(question, used, left, rng)
        if told is not None:
            result["sums"] = told.to_document()
            tally, _ = told.settled(mechanism, {(): tally})
    share = question.survey.share_asked(question.name)
    estimate = mechanism.estimate(tally, 1, asked=share)
    result["estimate"] = estimate.to_dict()
    if question.number is not None:
        mean = Numbers(*question.number, mechanism).estimate_from(estimate)
        result["mean"] = mean.to_dict()
    if isinstance(mechanism.report_format, BitsFormat):
        return [row.tobytes().hex() for row in rows], carded, result
    return [row.tolist() for row in rows], carded, result


def _told(question: SensitiveQuestion, used: Any, left: Any, rng: SeededRandom) -> CardSums | None:
    """What a dealer tells at the end: noisy sums of two groups, or the sum of what is left."""
    mechanism = question.mechanism
    if not mechanism.masked:
        return None
    if not mechanism.announced:
        total = mechanism.undealt_sum(left)
        return CardSums(undealt=CardSum(len(left), total))
    groups = {"office": used[:100], "shop": used[100:]}
    sums = {
        name: CardSum(len(one), mechanism.announce(one, rng=rng)) for name, one in groups.items()
    }
    announced = {name: (one,) for name, one in sums.items()}
    return CardSums(by=("sector",), announced=announced)


def width_of(question: SensitiveQuestion) -> int:
    return 1 if question.mechanism.k == 2 else question.mechanism.k


def written(survey: Survey, folder: Path) -> dict[str, Any]:
    """A file as the collector exports it, the script beside it; question -> its result."""
    columns: dict[str, list[str]] = {"sector": SECTORS, "tags": ["x; y"] * PEOPLE}
    results = {}
    for seed, question in enumerate(survey.sensitive):
        rows, carded, results[question.name] = answered(question, seed)
        texts = [" ".join(map(str, row)) if isinstance(row, list) else str(row) for row in rows]
        columns[question.name] = [*texts, ""]  # the last one was not asked
        columns[f"{question.name}_carded"] = [*(str(one).lower() for one in carded), ""]
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for at in range(PEOPLE + 1):
            writer.writerow([column[min(at, len(column) - 1)] for column in columns.values()])
    (folder / "answers.csv.R").write_text(r_script(survey, results, "answers.csv"), "ascii")
    return results


def expected(results: dict[str, Any]) -> list[tuple[str, float, float]]:
    rows = []
    for name, result in results.items():
        if "mean" in result:
            rows.append((name, result["mean"]["mean"], result["mean"]["stderr"]))
            continue
        shares = result["estimate"]
        for share, error in zip(shares["frequencies"], shares["stderr"], strict=True):
            rows.append((name, share, error))
    return rows


@pytest.mark.slow
@pytest.mark.skipif(RSCRIPT is None, reason="no R here: apt-get install r-base-core")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["C", "C.UTF-8", "parquet"])
def test_r_estimates_what_jrr_does(kind: str, way: str, tmp_path: Path) -> None:
    survey = survey_of(kind)
    results = written(survey, tmp_path)
    if way == "parquet":
        script = r_script(survey, results, "answers.parquet").replace(
            "as.data.frame(arrow::read_parquet(file))", AS_PARQUET
        )
        (tmp_path / "answers.csv.R").write_text(script, "ascii")
    command = 'source("answers.csv.R"); write.csv(results, "out.csv", row.names = FALSE)'
    subprocess.run(
        [str(RSCRIPT), "--vanilla", "-e", command],
        cwd=tmp_path,
        env={"LC_ALL": "C" if way == "C" else "C.UTF-8", "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        timeout=600,
    )
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines()))
    wanted = expected(results)
    assert len(rows) == len(wanted)
    for row, (name, value, error) in zip(rows, wanted, strict=True):
        assert row["question"] == name or not name.isascii()
        assert float(row["n"]) == PEOPLE
        assert float(row["estimate"]) == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert float(row["stderr"]) == pytest.approx(error, rel=1e-9)


def run_r(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(RSCRIPT), "--vanilla", "-e", f'source("answers.csv.R"); {command}'],
        cwd=folder,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )


def by_sector(question: SensitiveQuestion, seed: int) -> GroupEstimates:
    """What jrr estimates of the two groups."""
    mechanism = question.mechanism
    rows, carded, result = answered(question, seed)
    sums = result.get("sums")
    told = CardSums() if sums is None else CardSums.from_document(sums, width_of(question))
    tallies: dict[tuple[str, ...], Any] = {}
    for group in ("office", "shop"):
        mine = [at for at, sector in enumerate(SECTORS) if sector == group]
        reports = np.array([_as_told(question, rows[at]) for at in mine])
        tallies[(group,)] = mechanism.tally(reports, np.array([carded[at] for at in mine]))
    _, settled = told.settled(mechanism, tallies, ("sector",))
    share = question.survey.share_asked(question.name)
    return estimate_groups(mechanism, settled, min_cell=20, decks=1, asked=share)


def _as_told(question: SensitiveQuestion, row: Any) -> Any:
    return np.frombuffer(bytes.fromhex(row), np.uint8) if isinstance(row, str) else row


@pytest.mark.slow
@pytest.mark.skipif(RSCRIPT is None, reason="no R here: apt-get install r-base-core")
@pytest.mark.parametrize("kind", KINDS)
def test_r_estimates_groups_and_differences_as_jrr_does(kind: str, tmp_path: Path) -> None:
    survey = survey_of(kind)
    written(survey, tmp_path)
    command = "; ".join(
        f"write.csv(do.call(rbind, lapply(questions, {function}, data = data, by = 'sector')), "
        f"'{out}.csv', row.names = FALSE)"
        for function, out in (("estimate_groups", "groups"), ("estimate_differences", "pairs"))
    )
    ran = run_r(command, tmp_path)
    assert ran.returncode == 0, ran.stderr
    groups, pairs = (
        list(csv.DictReader((tmp_path / name).read_text("utf-8").splitlines()))
        for name in ("groups.csv", "pairs.csv")
    )
    for seed, question in enumerate(survey.sensitive):
        if question.number is not None or not question.name.isascii():
            continue
        found = by_sector(question, seed)
        for group in found:
            mine = [
                r for r in groups if r["question"] == question.name and r["group"] == group.name
            ]
            same(mine, group.estimate.frequencies, group.estimate.stderr)
        (pair,) = found.differences()
        mine = [r for r in pairs if r["question"] == question.name]
        assert mine[0]["first"] == pair.first == "office"
        same(mine, pair.difference.frequencies, pair.difference.stderr)


def same(rows: list[dict[str, str]], values: Any, errors: Any) -> None:
    assert [float(row["estimate"]) for row in rows] == pytest.approx(values, rel=1e-9, abs=1e-12)
    assert [float(row["stderr"]) for row in rows] == pytest.approx(errors, rel=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(RSCRIPT is None, reason="no R here: apt-get install r-base-core")
@pytest.mark.parametrize("kind", ["rr", "mrr", "mrr-closed"])
def test_r_refuses_a_part_of_masked_rows(kind: str, tmp_path: Path) -> None:
    """A sum of all masks does not belong to the reports of some: 8.8% came out for 46.5%."""
    written(survey_of(kind), tmp_path)
    part = "data[data$sector == 'shop', ]"
    for one in ("questions[[2]]", "questions[[3]]"):
        ran = run_r(f"estimate_question({part}, {one})", tmp_path)
        assert (ran.returncode == 0) == (kind == "rr"), ran.stderr
        if kind != "rr":
            assert "140 reports with a card, and dealers told the sum of 240 cards" in ran.stderr
    ran = run_r("estimate_groups(data, questions[[2]], by = 'tags')", tmp_path)
    assert (ran.returncode == 0) == (kind != "mrr"), ran.stderr
    if kind == "mrr":
        assert "only by sector" in ran.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_in_the_script_give_what_jrr_estimates(kind: str) -> None:
    """The script's formula in Python, from the same numbers: no R needed."""
    for seed, question in enumerate(survey_of(kind).sensitive):
        rows, carded, result = answered(question, seed)
        shares, errors = by_hand(question, rows, carded, result)
        assert shares == pytest.approx(result["estimate"]["frequencies"], abs=1e-12)
        assert errors == pytest.approx(result["estimate"]["stderr"], rel=1e-9)


def by_hand(
    question: SensitiveQuestion, rows: Sequence[Any], carded: Sequence[bool], result: dict[str, Any]
) -> tuple[Any, Any]:
    mechanism = question.mechanism
    count, variance = np.zeros(mechanism.k), np.zeros(mechanism.k)
    for with_card in (True, False):
        mine = [row for row, one in zip(rows, carded, strict=True) if one == with_card]
        if not mine:
            continue
        n, m = len(mine), mechanism.moments if with_card else mechanism.moments.without_cards()
        off, known = masks_told(question, result) if with_card else ([0] * mechanism.k, Known())
        support = _support(question, mine) - np.array(off)
        found = (support - n * (m.q + m.base)) / m.gain
        x = np.clip(found, 0, n)
        lean = x * m.lean_holder + (n - x) * m.lean_other
        lean2 = x * m.lean_holder**2 + (n - x) * m.lean_other**2
        noise = x * m.p * (1 - m.p) + (n - x) * m.q * (1 - m.q)
        noise = noise - m.pair_weight(1) * (lean**2 - lean2)
        if m.masks is not None:
            noise = noise + m.masks.variance_of(n, 1, known)
        share = question.survey.share_asked(question.name)
        drawn = (1 - share) * len(rows) / (len(rows) - share) * x * (n - x) / n
        count, variance = count + found, variance + noise / m.gain**2 + drawn
    return count / len(rows), np.sqrt(variance) / len(rows)


def _support(question: SensitiveQuestion, rows: Sequence[Any]) -> Any:
    mechanism, width = question.mechanism, width_of(question)
    if isinstance(rows[0], str):
        packed = np.array([list(bytes.fromhex(row)) for row in rows], np.uint8)
        bits = np.unpackbits(packed, axis=1, count=mechanism.k, bitorder="little")
        return bits.sum(axis=0)
    if not mechanism.masked:
        return np.bincount(rows, minlength=mechanism.k)
    total = np.sum(rows, axis=0)
    form: Any = mechanism.report_format
    return np.array([len(rows) * (form.low + form.high) - total, total]) if width == 1 else total


def test_mechanisms_are_those_that_were_asked_for() -> None:
    names = {kind: {q.mechanism.name for q in survey_of(kind).sensitive} for kind in KINDS}
    assert names["rr"] == {"RR", "Piecewise"}
    assert "DRR" in names["drr"]
    assert names["mrr"] == names["mrr-closed"] == {"MRR"}
    assert names["oue"] == {"OUE"}
    assert "JRR" in names["jrr"]


def test_questions_without_a_result_are_left_out_of_the_script() -> None:
    survey = survey_of("mrr")
    script = r_script(survey, {}, "answers.csv")
    assert "pills.1 is left out" in script
    assert "results <-" not in script
    assert script.isascii()


def test_nothing_that_is_asked_becomes_code() -> None:
    """Texts are strings of R in one line, however they are written."""
    survey = survey_of("rr")
    results = {one.name: answered(one, 1)[2] for one in survey.sensitive}
    script = r_script(survey, results, "answers.csv")
    line = next(line for line in script.splitlines() if "text = " in line and "Say" in line)
    assert line.strip() == 'text = "Say \\"yes\\"\\\\ or \\U{00000a}#no <b>?",'
    assert "arrow::read_parquet" in r_script(survey, results, "answers.parquet")


def test_the_codebook_has_every_column_of_an_export() -> None:
    survey = survey_of("mrr")
    rows = list(csv.DictReader(io.StringIO(codebook_csv(survey, "de"))))
    assert tuple(rows[0]) == FIELDS
    names = [row["column"] for row in rows]
    perturbed = [question.name for question in survey.sensitive]
    assert names[:2] == ["sector", "tags"]
    assert names[2:] == [column for name in perturbed for column in (name, f"{name}_carded")]
    by_name = {row["column"]: row for row in rows}
    assert by_name["sector"]["text"] == "Wo?"
    assert by_name["sector"]["protection"] == "open"
    assert by_name["tags"]["answers"] == "x, y"
    assert by_name["pills.2"]["text"] == "Which? blue"
    assert by_name["pills.2"]["asked_if"] == "sector: shop"
    assert by_name["mood"]["protection"] == "perturbed"
    assert by_name["mood"]["answers"].endswith("5, prefer not to say")
    assert "secret whole number" in by_name["mood"]["meaning"]
    how = by_name["days"]["estimate"]
    assert re.match(r"mean = -5 \+ [0-9.]+ \* \(\(sum of the reports, the dealers' sums taken", how)
    assert all(row["meaning"] and row["estimate"] for row in rows)


def test_the_codebook_as_json_has_what_a_program_needs() -> None:
    survey = survey_of("mrr")
    results = {one.name: answered(one, 1)[2] for one in survey.sensitive}
    document = json.loads(codebook_json(survey, results))
    assert document["survey"] == survey.hash
    assert document["questions"] == [one.to_document() for one in survey.questions]
    mood = next(one for one in document["columns"] if one["column"] == "mood")
    assert mood["sums"] == results["mood"]["sums"]
    assert mood["parameters"] == survey.by_name["mood"].mechanism.to_dict()
    assert math.isclose(mood["epsilon"]["everything"], survey.by_name["mood"].cost)
    assert [one["column"] for one in document["columns"]] == [
        row["column"] for row in columns_of(survey)
    ]


def test_files_that_are_there_are_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    check_export_files(out)
    (tmp_path / "answers.csv.R").write_text("mine")
    with pytest.raises(ArgumentError, match=r"answers\.csv\.R beside it"):
        check_export_files(out)
    check_export_files(out, force=True)
    with pytest.raises(ArgumentError, match="ends in"):
        check_export_files(tmp_path / "answers.xlsx")
