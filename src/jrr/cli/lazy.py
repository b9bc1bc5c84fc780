"""Groups of commands that are imported when they are asked for."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple

import click


class LazyCommand(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    attribute: str
    short_help: str


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands by name; each is imported when it is looked up."""

    def __init__(self, table: Mapping[str, LazyCommand]) -> None:
        self._table = dict(table)
        self._added: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._added:
            lazy = self._table[name]
            self._added[name] = getattr(import_module(lazy.module), lazy.attribute)
        return self._added[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._added[name] = command

    def __delitem__(self, name: str) -> None:
        self._table.pop(name, None)
        self._added.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._table or name in self._added  # asking imports nothing

    def __iter__(self) -> Iterator[str]:
        return iter({**self._table, **self._added})

    def __len__(self) -> int:
        return len({**self._table, **self._added})


class LazyGroup(click.Group):
    """A group whose list of commands is printed without importing them."""

    def __init__(
        self, name: str | None, *, table: Mapping[str, LazyCommand], **options: Any
    ) -> None:
        super().__init__(name, LazyCommands(table), **options)
        self.table = dict(table)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.table[name].short_help) for name in self.list_commands(ctx)]
            )


class CommandWithMore(LazyGroup):
    """A command with options of its own that also has commands below it.

    `jrr plan -n 100` is the command itself, `jrr plan explain -n 100` the one below it, which has
    its own options. Options of both at once are refused, because one of them would be ignored.
    """

    def __init__(self, name: str | None, *, callback: Callable[..., Any], **options: Any) -> None:
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options of the command itself, or the name of one below it and all that follows."""
        if args and args[0] in self.table:
            own, self.params = self.params, []
            try:
                return super().parse_args(ctx, args)
            finally:
                self.params = own
        rest = click.Command.parse_args(self, ctx, args)
        if rest:
            below = ", ".join(self.list_commands(ctx))
            ctx.fail(
                f"a command below {ctx.command_path!r} must be its first word and one of {below}, "
                f"got {rest[0]!r}"
            )
        return rest
