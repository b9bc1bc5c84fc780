"""Whoever waits sees that something happens: on a terminal, on standard error, and then gone."""

import io
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

from jrr.cli import progress
from jrr.cli.app import run
from jrr.cli.progress import waiting


class Terminal(io.StringIO):
    """Standard error that somebody watches."""

    def isatty(self) -> bool:
        return True


def watched_by(monkeypatch: pytest.MonkeyPatch, patience: float = 0.01) -> Terminal:
    """Called in the test itself: between a fixture and its test pytest sets standard error anew."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    return terminal


def test_a_clock_is_shown_while_work_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched_by(monkeypatch)
    with waiting("counting sheep"):
        time.sleep(0.3)
    assert "counting sheep" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # and wiped out


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched_by(monkeypatch, patience=60.0)
    with waiting("counting sheep"):
        pass
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    with waiting("counting sheep"):
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def test_a_failure_is_passed_on_and_the_clock_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched_by(monkeypatch)

    def fail() -> None:
        with waiting("counting sheep"):
            time.sleep(0.1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    shown = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == shown


SURVEY = ("-n", "60", "-e", "1", "-M", "2")
CREATE = (
    "survey",
    "create",
    "--people",
    "60",
    "--question",
    "Q?",
    "--collector",
    "https://c.example",
)
COMMANDS = [
    (("plan", *SURVEY), {"planning", "writing files"}),
    (("plan", *SURVEY, "--details"), {"planning", "comparing", "writing files"}),
    (("plan", *SURVEY, "--json"), {"planning", "comparing"}),
    (("plan", "margin", "0.2", *SURVEY), {"looking for how many people, and which ε"}),
    (("plan", "explain", *SURVEY), {"planning", "reckoning what can be learnt"}),
    ((*CREATE, "--mechanism", "rr"), {"planning"}),
    (("file", "deal", *SURVEY, "--mechanism", "drr", "-o", "cards.csv"), {"planning", "dealing"}),
    (("file", "perturb", "data.csv", "--column", "a", "-e", "1"), {"perturbing"}),
    (("study", "simulate", *SURVEY), {"planning", "simulating"}),
    (
        ("audit", "privacy", "-e", "1", "--mechanism", "rr", "--trials", "2000"),
        {"planning", "auditing"},
    ),
]


@pytest.mark.parametrize(
    ("arguments", "titles"), COMMANDS, ids=[" ".join(command) for command, _ in COMMANDS]
)
def test_commands_say_what_takes_so_long(
    arguments: tuple[str, ...],
    titles: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a\n" + "yes\nno\n" * 20)
    shown: list[Any] = []
    add_task = Progress.add_task

    def recorded(self: Any, description: str, *more: Any, **options: Any) -> Any:
        shown.append(description)
        return add_task(self, description, *more, **options)

    monkeypatch.setattr(Progress, "add_task", recorded)
    assert run([*arguments]) == 0
    assert titles <= set(shown)
