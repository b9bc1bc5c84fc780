"""Waves on the command line: what they cost in all, and what a later one may not cost."""

import json
from pathlib import Path
from typing import Any

import pytest

from jrr.cli.app import run

TOML = 'title = "T"\nwaves = 2\n[[questions]]\nname = "a"\nkind = "yes-no"\ntext = "A?"\n'
SERVERS = ("--dealer", "https://dealer.example", "--collector", "https://collector.example")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(TOML)
    return tmp_path


def create(*words: str) -> list[str]:
    return ["survey", "create", "survey.toml", "--people", "1000", *SERVERS, *words]


@pytest.mark.usefixtures("folder")
def test_a_second_wave_says_what_both_cost_and_keeps_the_promise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(create("-e", "1", "-o", "one.json", "--json")) == 0
    first = json.loads(capsys.readouterr().out)["learnt"]
    assert first["study"]["collector"]["epsilon"] == pytest.approx(2.0)
    assert run(create("-e", "0.3", "--after", "one.json", "-o", "two.json", "--json")) == 0
    second = json.loads(capsys.readouterr().out)["learnt"]
    assert second["study"]["collector"]["epsilon"] == pytest.approx(1.3)
    assert second["study"]["together"]["epsilon"] == pytest.approx(5.3)
    assert run(create("-e", "0.3", "--after", "one.json", "-o", "three.json")) == 0
    assert "ε = 1.3" in capsys.readouterr().out
    assert run(create("-e", "3", "--after", "one.json", "-o", "four.json")) == 2
    refused = " ".join(capsys.readouterr().err.split())
    assert "ε = 3 in this wave, ε = 4 in all, promised ε = 2" in refused
    assert not Path("four.json").exists()


@pytest.mark.usefixtures("folder")
def test_plan_and_document_and_explain_have_the_same_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def learnt(*words: str) -> Any:
        assert run([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["learnt"]

    planned = learnt("plan", "survey", "survey.toml", "--people", "1000", "-e", "1")
    made = learnt(*create("-e", "1", "-o", "one.json"))
    told = learnt("plan", "explain", "-n", "1000", "-e", "1", "-M", "5", "--mechanism", "mrr")
    one = learnt("plan", "-n", "1000", "-e", "1", "-M", "5", "--mechanism", "mrr")
    for row in ("answer", "wave", "study"):
        for whom in ("collector", "together"):
            cell = made[row][whom]
            for table in (planned, told, one) if row == "answer" else (planned,):
                assert table[row][whom]["belief"] == cell["belief"]
                assert table[row][whom]["view"] == cell["view"]
                assert table[row][whom]["epsilon"] == pytest.approx(cell["epsilon"], rel=1e-9)
