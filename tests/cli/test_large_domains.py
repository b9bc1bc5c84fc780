"""`jrr file heavy-hitters` and `jrr file quantiles`, from files to results."""

import json
from pathlib import Path
from typing import Any

import pytest

from jrr.cli.app import run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    strings = ["home"] * 900 + ["login"] * 600 + ["search"] * 300
    Path("strings.txt").write_text("\n".join(strings) + "\n")
    Path("numbers.txt").write_text("\n".join(str(i / 100) for i in range(2_000)))
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run([*words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_frequent_strings(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    perturb = [
        *("file", "heavy-hitters", "perturb", "strings.txt", "--length", "6", "-e", "4"),
        *("--seed", "1"),
    ]
    assert call(capsys, *perturb, "-o", "a.jsonl")["reports"] == 1_800
    call(capsys, *perturb, "-o", "b.jsonl")
    found = call(capsys, "file", "heavy-hitters", "find", "a.jsonl", "b.jsonl", "--top", "3")
    assert found["n"] == 3_600
    assert set(found["strings"]) == {"home", "login", "search"}
    assert found["may_be_absent"] == [low <= 0 for low, _ in found["interval"]] == [False] * 3
    more = call(capsys, "file", "heavy-hitters", "find", "a.jsonl", "b.jsonl", "--top", "20")
    sent = {"home", "login", "search"}
    noise = [s not in sent for s in more["strings"]]
    assert sum(noise) > 5
    assert more["may_be_absent"] == noise
    assert run(["file", "heavy-hitters", "find", "a.jsonl"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "so also for those that lead the list" in shown
    assert "perhaps not" in shown
    assert "perhaps nobody sent them" in shown
    assert run([*perturb, "-o", "c.jsonl"]) == 0
    assert "loses at most ε = 4" in " ".join(capsys.readouterr().out.split())


def test_quantiles(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    perturb = ["file", "quantiles", "perturb", "numbers.txt", "--range", "0:20", "--bins", "64"]
    perturb += ["-e", "3", "--seed", "1"]
    assert call(capsys, *perturb, "-o", "r.jsonl")["bins"] == 64
    found = call(
        capsys, "file", "quantiles", "estimate", "r.jsonl", "--at", "0.5", "--level", "0.999"
    )
    low, high = found["quantiles"][0]["interval"]
    assert low <= 10 <= high
    assert run(["file", "quantiles", "estimate", "r.jsonl"]) == 0
    assert "Intervals end at ends of bins" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("heavy-hitters perturb strings.txt --length 3 -o x", "strings"),
        ("heavy-hitters perturb strings.txt --length 6 -o strings.txt", "out"),
        ("heavy-hitters perturb empty.txt --length 6 -o x", "line for each person"),
        ("heavy-hitters find strings.txt", ".jsonl"),
        ("quantiles perturb strings.txt --range 0:1 -o x", "numbers"),
        ("quantiles perturb numbers.txt --range 0:1 -o x", "--clip"),
        ("quantiles estimate other.jsonl --at half", "at"),
        ("quantiles estimate nowhere.jsonl", "nowhere"),
    ],
)
def test_refusals(files: Path, capsys: pytest.CaptureFixture[str], words: str, named: str) -> None:
    Path("empty.txt").write_text("")
    Path("other.jsonl").write_text('{"jrr": "quantiles"}\n')
    assert run(["file", *words.split()]) == 2
    assert named in capsys.readouterr().err
    assert not Path("x").exists()


def test_files_that_cannot_be_estimated(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for high, out in (("20", "a.jsonl"), ("40", "b.jsonl")):
        perturb = ["file", "quantiles", "perturb", "numbers.txt", "--range", f"0:{high}"]
        assert run([*perturb, "--bins", "64", "-o", out]) == 0
    Path("other.jsonl").write_text('{"jrr": "quantiles"}\n')
    for words, code, named in (
        ("heavy-hitters find other.jsonl", 3, "must begin with a line that says what was asked"),
        ("heavy-hitters find a.jsonl", 2, "HeavyHitters"),
        ("quantiles estimate other.jsonl", 3, "must begin with a line that says what was asked"),
        ("quantiles estimate a.jsonl b.jsonl", 2, "one question"),
    ):
        assert run(["file", *words.split()]) == code
        assert named in capsys.readouterr().err
