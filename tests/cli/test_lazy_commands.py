"""Commands are imported when they are asked for; the lists of them are not out of step."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from jrr.cli.app import cli, run
from jrr.cli.lazy import LazyGroup

Capsys = pytest.CaptureFixture[str]


def groups(group: LazyGroup, path: str = "jrr") -> Iterator[tuple[str, LazyGroup]]:
    """Every group that lists its commands by name, with the words that lead to it."""
    yield path, group
    for name in group.table:
        below = group.get_command(click.Context(group), name)
        if isinstance(below, LazyGroup):
            yield from groups(below, f"{path} {name}")


@pytest.mark.parametrize(("path", "group"), [*groups(cli)])
def test_the_table_says_what_the_commands_say(path: str, group: LazyGroup) -> None:
    context = click.Context(group, info_name=path)
    assert group.list_commands(context) == sorted(group.table)
    for name, words in group.table.items():
        command = group.get_command(context, name)
        assert isinstance(command, click.Command)
        assert command.name == name
        assert words == command.get_short_help_str(limit=1_000)


def loaded(*arguments: str) -> set[str]:
    """Modules of ours, and heavy ones, that a command line loads."""
    code = (
        "import sys\nfrom jrr.cli.app import run\n"
        f"run({list(arguments)!r})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("file", "--help")])
def test_asking_for_no_command_imports_none(words: tuple[str, ...]) -> None:
    modules = loaded(*words)
    ours = {name for name in modules if name.startswith("jrr.cli.")}
    assert not ours - {"jrr.cli.app", "jrr.cli.lazy", "jrr.cli.file"}
    for heavy in ("scipy", "matplotlib", "pyarrow", "fastapi", "sqlalchemy", "jrr.planning"):
        assert heavy not in modules


def test_one_command_does_not_import_the_others() -> None:
    modules = loaded("serve", "token")
    assert "jrr.cli.serve.server" in modules
    others = {"jrr.cli.serve.all", "jrr.cli.survey", "jrr.cli.demo", "jrr.research.demo"}
    assert not (others | {"fastapi"}) & modules


def test_a_command_that_has_others_below_it(capsys: Capsys) -> None:
    assert run(["plan", "-n", "100", "--json"]) == 0
    assert run(["plan", "explain", "-n", "100", "--json"]) == 0
    assert '"adversaries"' in capsys.readouterr().out.splitlines()[1]
    assert run(["plan", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--colluders" in text
    assert "two-phase" in text


@pytest.mark.parametrize("words", [("-n", "100", "explain"), ("nothing",)])
def test_options_of_two_commands_at_once_are_refused(
    words: tuple[str, ...], capsys: Capsys
) -> None:
    assert run(["plan", *words]) == 2
    error = capsys.readouterr().err
    assert "must be its first word and one of compare, effect, explain" in error
    assert error.count("\n") == 1
