"""Writes docs/cli.md from the commands' own help: `python docs/make_cli.py`."""

from pathlib import Path

import click

from jrr.cli.app import cli

TARGET = Path(__file__).with_name("cli.md")


def page() -> str:
    """The whole page."""
    parts = ["# Command line\n\nMade by `make docs` from the commands' own `--help`.\n"]
    top = click.Context(cli, info_name="jrr", terminal_width=100, **cli.context_settings)
    contexts = [top]
    for name, command in cli.commands.items():
        contexts.append(click.Context(command, parent=top, info_name=name))
    for context in contexts:
        text = context.command.get_help(context)
        parts.append(f"## {context.command_path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
