"""Commands are imported when they are asked for; the list of them is not out of step."""

import subprocess
import sys

import click
import pytest

from jrr.cli.app import COMMANDS, cli


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    command = cli.commands[name]
    assert isinstance(command, click.Command)
    assert COMMANDS[name].short_help == command.get_short_help_str(limit=1_000)
    context = click.Context(cli, info_name="jrr")
    assert cli.get_command(context, name) is command
    assert cli.list_commands(context) == sorted(COMMANDS)


def loaded(*arguments: str) -> set[str]:
    """Modules of ours, and heavy ones, that a command line loads."""
    code = (
        "import sys\nfrom jrr.cli.app import run\n"
        f"run({list(arguments)!r})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_asking_for_no_command_imports_none(option: str) -> None:
    modules = loaded(option)
    assert not {name for name in modules if name.startswith("jrr.cli.")} - {"jrr.cli.app"}
    for heavy in ("scipy", "matplotlib", "pyarrow", "fastapi", "sqlalchemy", "jrr.planning"):
        assert heavy not in modules


def test_one_command_does_not_import_the_others() -> None:
    modules = loaded("serve", "token")
    assert "jrr.cli.serve" in modules
    assert not {"jrr.cli.campaign", "jrr.cli.demo", "jrr.research.demo", "fastapi"} & modules
