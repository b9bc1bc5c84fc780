"""Masked randomized response from the command line: deal, perturb, estimate, plan."""

import json
from pathlib import Path

import pytest

from jrr.cli.app import run


@pytest.mark.parametrize(("kind", "labels"), [("csv", "no,yes"), ("parquet", "a,b,c")])
def test_a_survey_in_files(
    kind: str, labels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = labels.split(",")
    data, cards = tmp_path / "data.csv", tmp_path / f"cards.{kind}"
    reports = tmp_path / f"reports.{kind}"
    people = [names[-1]] * 150 + [names[0]] * 350
    data.write_text("answer\n" + "\n".join(people) + "\n")
    deal = [
        "file",
        "deal",
        "-n",
        "500",
        "-k",
        str(len(names)),
        "-e",
        "1",
        "--seed",
        "3",
        "--closed-deck",
    ]
    assert run([*deal, "-o", str(cards)]) == 0
    perturb = [
        *("file", "perturb", str(data), "--column", "answer", "--labels", labels, "--seed", "4"),
    ]
    assert run([*perturb, "--cards", str(cards), "-o", str(reports)]) == 0
    capsys.readouterr()
    assert run(["file", "estimate", str(reports), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["mechanism"]["mechanism"] == "MRR"
    low, high = document["estimate"]["interval"][-1]
    assert low <= 0.3 <= high
    assert document["estimate"]["stderr"][-1] < 0.03
    assert run([*perturb, "--cards", str(cards), "-o", str(tmp_path / "again.csv")]) == 2
    assert "must be fresh" in capsys.readouterr().err


@pytest.mark.parametrize("about", [[], ["-k", "3"], ["number", "--range", "0:80"]])
def test_a_closed_deck_has_to_be_asked_for(
    about: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody names the used cards of a file to the dealer, so it can announce no sum."""
    deal = ["file", "deal", *about, "-n", "500", "-o", str(tmp_path / "cards.csv")]
    assert run(deal) == 2
    error = capsys.readouterr().err
    assert "must have a closed deck (jrr file deal --closed-deck" in " ".join(error.split())
    assert not (tmp_path / "cards.csv").exists()
    assert run([*deal, "--closed-deck"]) == 0


def test_plans_show_what_lost_cards_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "lost.png"
    survey = ["plan", "-n", "1000", "-e", "1", "--lost", "0.1"]
    assert run([*survey, "--details", "--lost-plot", str(picture)]) == 0
    assert "of the cards" in " ".join(capsys.readouterr().out.split())
    assert picture.stat().st_size > 5_000
    assert run([*survey, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["mechanism"]["announced_rate"] > 0
    assert document["announced"] is True
    assert document["everything"]["epsilon"] <= 1
    rows = {row["lost"]: row["stderr"] for row in document["by_lost"]}
    assert rows[0.3]["MRR, announced"] < 0.3 * rows[0.3]["RR"]
    assert rows[0.3]["MRR, closed deck"] > 2 * rows[0.0]["MRR, closed deck"]
    of_everything = ["--view", "everything", "--delta", "0", "--details"]
    assert run(["plan", "-n", "1000", "-e", "1", *of_everything]) == 0
    assert "MRR (chosen)" in capsys.readouterr().out
