"""`jrr plan compare`: other ways to ask the same question."""

import json
import math
from typing import Any

import pytest

from jrr.cli.app import run
from jrr.cli.plan import compare
from jrr.planning import alternatives

pytestmark = pytest.mark.heavy

SMALL = ["plan", "compare", "-n", "200", "-e", "0.5", "-M", "2"]


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_every_alternative_with_all_its_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, *SMALL, "--delta", "1e-4")["alternatives"]
    expected = alternatives.alternatives(200, 0.5, 1e-4, 2, 2.5)
    assert [row["name"] for row in found] == [row.name for row in expected]
    for row, made in zip(found, expected, strict=True):
        assert row["variance"] == {f"{f:g}": value for f, value in made.variance.items()}
        for frequency, value in row["variance"].items():
            assert row["stderr"][frequency] == pytest.approx(math.sqrt(value) / 200)
        for name in ("epsilon", "if_they_collude", "shuffled_epsilon"):
            value = getattr(made, name)
            assert row[name] == ("unbounded" if value == math.inf else value), (made.name, name)
        assert (row["delta"], row["guarantee"], row["trust"], row["compositions"]) == (
            made.delta,
            made.guarantee,
            made.trust,
            made.compositions,
        )
        assert row["shuffled_rr_variance"] == made.shuffled_rr_variance
        assert row["mechanism"] == (made.mechanism and made.mechanism.to_dict())
    unbounded = {row["name"] for row in found if row["if_they_collude"] == "unbounded"}
    assert "DRR, no cap on the dealer" in unbounded
    assert "DRR, dealer capped at 2.5" not in unbounded


def test_the_cap_that_was_asked_for_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    for options, name in (
        (["--dealer-epsilon", "1"], "DRR, dealer capped at 1"),
        ([], "DRR, dealer capped at 2.5"),
    ):
        rows = document(capsys, *SMALL, *options)["alternatives"]
        assert name in [row["name"] for row in rows]


def test_words_say_who_is_trusted_and_what_the_figures_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    assert run(SMALL) == 0
    text = capsys.readouterr().out
    for words in (
        "Standard error, in percentage points",
        "secure aggregation with geometric noise",
        "at δ = 1e-06",
        "knows everybody else's answer",
        "not against one that uses all reports together",
        "Trusted: nobody.",
        "Trusted: the shuffler, not to tell whose report is whose.",
        "Trusted: the dealer, not to show the collector the cards.",
        "unbounded",
        "plain RR has",
    ):
        assert words in text, words
    assert "NOT ALL ANSWERS" not in text
    (plain,) = [line for line in text.splitlines() if "shuffled RR, by a closed form" in line][:1]
    made = {row.name: row for row in alternatives.alternatives(200, 0.5, colluders=2)}
    expected = math.sqrt(made["shuffled RR, by a closed form"].variance[0.0]) / 2
    assert f"{expected:.3g}" in plain


def test_above_the_limit_only_listed_answers_are_tried_and_it_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    for module in (alternatives, compare):
        monkeypatch.setattr(module, "MOST_COMPARED", 150)
    assert run(SMALL) == 0
    text = capsys.readouterr().out
    assert "NOT ALL ANSWERS" in text
    assert "only 0, 20, 100 of the others hold 1" in text
    assert text.count("NOT ALL ANSWERS") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--delta", "0"], "delta must be in (0, 1), got delta=0.0"),
        (["--delta", "1"], "delta must be in 0..1, and less than 1, got delta=1.0"),
        (["-n", "20000000"], "n must be at most 10000000"),
    ],
)
def test_refusals_are_one_line_with_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "compare", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_a_delta_that_allows_everything_is_shown_as_zero(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = {row["name"]: row for row in document(capsys, *SMALL, "--delta", "0.9")["alternatives"]}
    assert rows["DRR, then shuffled"]["epsilon"] == 0
    assert rows["DRR, then shuffled"]["shuffled_rr_variance"] is None
