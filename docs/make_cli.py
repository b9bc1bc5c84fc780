"""Writes docs/cli.md from the commands' own help: `python docs/make_cli.py`."""

from collections.abc import Iterator
from pathlib import Path

import click

from jrr.cli.app import cli

TARGET = Path(__file__).with_name("cli.md")


def page() -> str:
    """The whole page."""
    parts = ["# Command line\n\nMade by `make docs` from the commands' own `--help`.\n"]
    top = click.Context(cli, info_name="jrr", terminal_width=100, **cli.context_settings)
    for context in _contexts(top):
        text = context.command.get_help(context)
        parts.append(f"## {context.command_path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _contexts(parent: click.Context) -> Iterator[click.Context]:
    """The command and everything below it."""
    yield parent
    if isinstance(parent.command, click.Group):
        for name, command in parent.command.commands.items():
            yield from _contexts(click.Context(command, parent=parent, info_name=name))


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
