"""Groups of commands that are imported when they are asked for."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

# Group -> name of a command -> what the list of commands says of it.
TABLES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text("utf-8")
)


class LazyGroup(click.Group):
    """A group that lists its commands without importing them.

    Attributes:
        package: where the commands are, each in a module of its name.
        table: name of a command -> what the list of commands says of it.
        modules: name of a command -> its module, where that has another name.
    """

    def __init__(
        self,
        name: str | None,
        *,
        package: str,
        table: Mapping[str, str],
        modules: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self.package, self.table, self.modules = package, table, modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them; its module is imported now."""
        if cmd_name not in self.table:
            return None
        module = self.modules.get(cmd_name, cmd_name.replace("-", "_"))
        inside = vars(import_module(f"{self.package}.{module}")).values()
        commands = (entry for entry in inside if isinstance(entry, click.Command))
        return next(command for command in commands if command.name == cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """One of them, or a refusal that says which there are."""
        if args[0] not in self.table and not args[0].startswith("-"):
            close = get_close_matches(args[0], self.table, 1)
            meant = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(self.table)}."
            ctx.fail(f"{ctx.command_path!r} has no command {args[0]!r}. {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self.table.items()))


class CommandWithMore(LazyGroup):
    """A command with options of its own that also has commands below it.

    `jrr plan -n 100` is the command itself, `jrr plan explain -n 100` the one below it, which has
    its own options. Options of both at once are refused, because one of them would be ignored.

    Attributes:
        meant: what words that are no command were probably meant to be.
    """

    def __init__(
        self,
        name: str | None,
        *,
        callback: Callable[..., Any],
        meant: Callable[[Sequence[str]], str | None] = lambda words: None,
        **options: Any,
    ) -> None:
        @wraps(callback)
        def alone(*values: Any, **named: Any) -> Any:
            if click.get_current_context().invoked_subcommand is None:
                return callback(*values, **named)
            return None

        super().__init__(
            name,
            callback=alone,
            invoke_without_command=True,
            subcommand_metavar="| COMMAND ...",
            **options,
        )
        self.meant = meant

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options of the command itself, or the name of one below it and all that follows."""
        if args and args[0] in self.table:
            own, self.params = self.params, []
            try:
                return super().parse_args(ctx, args)
            finally:
                self.params = own
        typed = list(args)
        rest = click.Command.parse_args(self, ctx, args)
        if rest:
            below = ", ".join(self.list_commands(ctx))
            meant = self.meant(typed) or "".join(get_close_matches(rest[0], self.table, 1))
            hint = f". Did you mean: {ctx.command_path} {meant}" if meant else ""
            ctx.fail(
                f"a command below {ctx.command_path!r} must be its first word and one of {below}, "
                f"got {rest[0]!r}{hint}"
            )
        return rest
