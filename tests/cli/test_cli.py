"""The command line as a person or a script meets it: real processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from jrr.cli.app import cli, run
from jrr.survey.consent import consent_text
from jrr.survey.survey import read_survey

pytestmark = pytest.mark.heavy


def jrr(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jrr.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        check=False,
    )


def last_json(result: subprocess.CompletedProcess[str]) -> Any:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def test_every_command_has_help_and_json() -> None:
    waiting: list[click.Command | None] = [cli]
    while waiting:
        command = waiting.pop()
        assert command is not None
        assert command.help, command.name
        if isinstance(command, click.Group):
            context = click.Context(command)
            names = command.list_commands(context)
            waiting += [command.get_command(context, name) for name in names]
            continue
        options = {option for parameter in command.params for option in parameter.opts}
        assert "--json" in options, command.name


def test_plan_says_what_it_guarantees_in_every_view() -> None:
    document = last_json(jrr("plan", "-n", "10000", "-e", "0.1", "-M", "5", "--json"))
    assert document["mechanism"]["mechanism"] == "MRR"
    assert document["dealer_capped"] is True
    assert document["dealer_epsilon"] == pytest.approx(2.1)
    views = document["guarantees"]
    assert views["report"] <= views["truths"] <= views["cards"] <= 0.1
    assert views["dealer"] <= 2.1
    assert [row["name"] for row in document["compare"]] == [
        "RR",
        "JRR (Algorithm 1)",
        "JRR (optimal)",
        "DRR",
        "MRR",
    ]


@pytest.mark.slow
def test_no_cap_must_be_asked_for_and_is_marked() -> None:
    capped, uncapped = jrr("plan", "-e", "0.1"), jrr("plan", "-e", "0.1", "--no-dealer-cap")
    assert "NO CAP ON THE DEALER" not in capped.stdout
    assert "NO CAP ON THE DEALER" in uncapped.stdout
    document = last_json(
        jrr("plan", "-e", "0.1", "--no-dealer-cap", "--mechanism", "drr", "--json")
    )
    assert document["dealer_capped"] is False
    assert document["guarantees"]["dealer"] == "unbounded"
    masked = last_json(jrr("plan", "-e", "0.1", "--no-dealer-cap", "--json"))
    assert masked["guarantees"]["dealer"] > 10


@pytest.mark.slow
def test_plan_shows_the_fully_informed_collector_by_default(tmp_path: Path) -> None:
    """ε beside the other views, how tight it is, the law of the loss and its curve."""
    law, curve = tmp_path / "law.json", tmp_path / "curve.png"
    options = ("-n", "1000", "-e", "0.5", "-M", "2", "--delta", "1e-5", "--mechanism", "drr")
    result = jrr("plan", *options, "--losses", str(law), "--curve", str(curve), "--json")
    document = last_json(result)
    full = document["everything"]
    assert full["delta"] == 1e-5
    assert document["guarantees"]["cards"] <= full["at_least"] <= full["epsilon"]
    assert full["epsilon"] <= document["guarantees"]["dealer"]
    rows = {row["name"]: row["everything"] for row in document["compare"]}
    assert rows["DRR"] == full["epsilon"] < rows["JRR (optimal)"]
    assert rows["RR"] == pytest.approx(0.5, rel=1e-4)
    written = json.loads(law.read_text())
    assert written["mechanism"] == document["mechanism"]
    assert sum(written["cases"][0]["first"]) == pytest.approx(1.0, abs=1e-9)
    assert curve.stat().st_size > 10_000
    text = jrr("plan", *options, "--details").stdout
    assert "everything" in text
    assert "some answers do reach" in " ".join(text.split())
    assert full["epsilon"] < full["sure_epsilon"]
    refused = jrr("plan", "-k", "5", "--mechanism", "oue", "--losses", str(tmp_path / "no.json"))
    assert refused.returncode == 2
    assert "losses must be for RR, JRR or DRR" in refused.stderr


@pytest.mark.slow
def test_what_was_planned_against_everything_can_be_used(tmp_path: Path) -> None:
    """Explained, dealt and asked: always the same mechanism."""
    informed = ("-n", "300", "-e", "0.5", "-M", "0", "--view", "everything")
    options = (*informed, "--mechanism", "drr")
    planned = last_json(jrr("plan", *options, "--json"))
    assert planned["everything"]["epsilon"] <= 0.5
    assert (
        last_json(jrr("plan", "explain", *options, "--json"))["mechanism"] == planned["mechanism"]
    )
    cards = jrr("file", "deal", *options, "-o", str(tmp_path / "cards.csv"), "--json")
    assert last_json(cards)["mechanism"] == planned["mechanism"]
    addresses = ("--dealer", "https://d.example", "--collector", "https://c.example")
    out = tmp_path / "survey.json"
    create = (
        *("survey", "create", "--people", "300", "-e", "0.5", "--mechanism", "drr", *addresses),
        *("--set", "colluders=0", "--set", "view=everything", "--question", "Do you?"),
        *("-o", str(out)),
    )
    last_json(jrr(*create, "--json"))
    written = json.loads(out.read_text())
    assert written["questions"][0]["mechanism"] == planned["mechanism"]
    assert "1 in 1,000,000:" in consent_text(read_survey(out.read_bytes()), "en")
    last_json(jrr(*create, "--set", "delta=1e-4", "--force", "--json"))
    assert "1 in 10,000:" in consent_text(read_survey(out.read_bytes()), "en")


@pytest.mark.slow
def test_plan_answers_how_many_people_and_which_epsilon() -> None:
    survey = ("plan", "margin", "0.02", "-e", "0.1", "--json")
    reach = last_json(jrr(*survey, "--mechanism", "drr"))
    assert reach["required_n"] > 10_000
    assert reach["required_epsilon"] > 0.1
    masked = last_json(jrr(*survey))
    assert masked["required_n"] < reach["required_n"]
    beyond = last_json(jrr("plan", "margin", "1e-9", "-k", "3", "-n", "4", "-M", "1", "--json"))
    assert beyond["required_epsilon"] is None


@pytest.mark.slow
def test_plan_draws(tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    assert jrr("plan", "--plot", str(picture)).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.png"]


@pytest.mark.slow
def test_explain_names_the_view_of_every_guarantee() -> None:
    text = jrr(
        "plan", "explain", "-e", "0.1", "--mechanism", "drr", "--question", "whether they smoke"
    ).stdout
    for words in ("report:", "truths:", "cards:", "dealer:", "whether they smoke", "together"):
        assert words in text
    plain = last_json(jrr("plan", "explain", "--mechanism", "rr", "--json"))
    assert [row["view"] for row in plain["adversaries"]] == ["report"]
    assert "dealer" not in plain["contributor"]


def test_demo_prints_one_object_last(tmp_path: Path) -> None:
    result = jrr("demo", "--json", "--seed", "3", cwd=tmp_path)
    document = last_json(result)
    assert list(document) == [
        "reports",
        "truth",
        "estimate",
        "stderr",
        "interval",
        "rr_stderr",
        "mechanism",
        "vanished",
        "by_mechanism",
        "seconds",
    ]
    assert document["reports"] == 10_000 - document["vanished"] == 9_900
    assert document["mechanism"] == "MRR"
    assert set(document["by_mechanism"]) == {"RR", "JRR", "DRR", "MRR"}
    assert document["truth"] == 0.1
    assert document["stderr"] < document["rr_stderr"] / 2
    assert document["interval"][0] < document["estimate"] < document["interval"][1]
    assert (tmp_path / "jrr-demo" / "survey.png").exists()


@pytest.mark.slow
def test_demo_table_is_reproducible_with_a_seed(tmp_path: Path) -> None:
    first, second = (jrr("demo", "--seed", "5", cwd=tmp_path).stdout for _ in range(2))
    assert first == second
    assert all(name in first for name in ("RR", "JRR", "DRR", "MRR", "vanished"))


@pytest.mark.slow_variants("drr]", "jrr]", "rr]", "mrr]")
@pytest.mark.parametrize("mechanism", ["rr", "jrr", "drr", "mrr"])
def test_demo_of_one_mechanism_with_odd_n(mechanism: str, tmp_path: Path) -> None:
    result = jrr(
        *("demo", "-n", "999", "-e", "1", "--in-process", "--mechanism", mechanism, "--json"),
        cwd=tmp_path,
    )
    assert last_json(result)["reports"] == 989


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["plan", "-e", "-1"],
            "epsilon must be a finite number > 0, at most 700, got",
        ),
        (
            ["plan", "-e", "nan"],
            "at most 700, got epsilon=nan",
        ),
        (["plan", "-e", "x"], "'x' is not a valid float"),
        (["plan", "-n", "1"], "n must be a whole number >= 2, got n=1"),
        (["plan", "-n", "5", "-M", "5"], "colluders must be a whole number in 0..4"),
        (["plan", "-f", "2"], "frequency must be"),
        (["plan", "-f", "a:b"], "must be a number or LOW:HIGH"),
        (["plan", "-f", "0.1:0.2:0.3"], "must be a number or LOW:HIGH"),
        (["plan", "margin", "0"], "margin must be in (0, 1), a share, got margin=0.0"),
        (["plan", "--no-dealer-cap", "--dealer-epsilon", "1"], "must not be given together"),
        (["plan", "--plot", "plan.xyz"], "path must end in one of"),
        (["demo", "--yes", "1.5"], "yes must be in 0..1, got yes=1.5"),
        (["demo", "--seed", "-1"], "seed must be a whole number >= 0"),
        (["unknown"], "has no command 'unknown'"),
    ],
)
def test_refusals_are_one_line_with_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("jrr: error: ")
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_a_picture_that_cannot_be_written_fails_with_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.png").mkdir()
    assert run(["plan", "--plot", str(tmp_path / "plan.png" / "x.png")]) == 0
    (tmp_path / "folder.png").mkdir()
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", _full_disk)
        assert run(["plan", "--plot", str(tmp_path / "plan2.png")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "plan2.png" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.png", "plan.png"]


def _full_disk(self: Path, target: object) -> Path:
    raise OSError(28, "No space left on device", str(self))


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "Usage: jrr" in capsys.readouterr().out
