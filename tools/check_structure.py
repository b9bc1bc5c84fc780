"""Counts what the architecture promises to keep small, and fails where it has grown.

    longest chain of imports between files                                at most 12
    isinstance checks on kinds of mechanisms outside mechanisms/          at most 10
    class names that exist more than once                                 none
    options of a command                                                  at most 25
    commands beside those of the tree below                               none

Run by `make lint`. Imports below `if TYPE_CHECKING:` do not count: they run only in type checkers.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from jrr.cli.app import cli

SOURCE = Path(__file__).parents[1] / "src"
LONGEST_CHAIN = 12
MOST_CHECKS = 10
KINDS = re.compile(r"\b(RR|JRR|DRR|MRR|SUE|OUE|OLH|Unary|Categorical)\b")

MOST_OPTIONS = 25
TREE = {  # a command, and those below it
    "plan": {"compare", "explain", "margin", "number", "rounds", "survey", "two-phase"},
    "survey": set(),
    "file": {
        *("deal", "deal number", "perturb", "estimate", "pool", "database", "shuffle"),
        *("convert", "keys", "heavy-hitters", "heavy-hitters perturb", "heavy-hitters find"),
        *("quantiles", "quantiles perturb", "quantiles estimate"),
    },
    "serve": {"dealer", "collector", "page", "party", "all", "certificate", "token"},
    "audit": {"privacy", "program"},
    "study": {"reproduce", "simulate", "bench", "bench serve", "attacks"},
    "demo": set(),
}
# What is to move below `jrr survey`, or to go: both sets are to become empty.
COMMANDS_NOT_YET = {
    *("campaign", "invite", "contribute", "ledger", "mpc"),
}
LONG_NOT_YET = {"campaign create"}


def modules() -> dict[str, ast.Module]:
    """Every module of the package, parsed."""
    parsed = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        parsed[name] = ast.parse(path.read_text(encoding="utf-8"))
    return parsed


def running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those below `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from running_nodes(child)


def imports(tree: ast.Module, known: set[str]) -> set[str]:
    """Modules of the package that a module imports, at its top or inside a function."""
    found = set()
    for node in running_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & known) - {"jrr"}  # what the package itself shows is no link of a chain


def longest_chain(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """The longest path of imports, which have no cycle."""

    @cache
    def below(module: str) -> tuple[str, ...]:
        chains = (below(other) for other in sorted(graph[module] - {module}))
        return (module, *max(chains, key=len, default=()))

    return max((below(module) for module in graph), key=len)


def checks_on_kinds(parsed: dict[str, ast.Module]) -> list[str]:
    """Where a kind of mechanism is asked for outside the room of mechanisms."""
    places = []
    for name, tree in parsed.items():
        if name.startswith("jrr.mechanisms"):
            continue
        for node in ast.walk(tree):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if is_call and node.func.id == "isinstance" and KINDS.search(ast.unparse(node.args[1])):
                places.append(f"{name}:{node.lineno}")
    return places


def repeated_classes(parsed: dict[str, ast.Module]) -> list[str]:
    """Class names that exist more than once."""
    names = Counter(
        node.name
        for tree in parsed.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, count in names.items() if count > 1)


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that lead to it, as "file deal"."""
    for name, command in group.commands.items():
        words = f"{path} {name}".strip()
        yield words, command
        if isinstance(command, click.Group):
            yield from commands(command, words)


def strange_commands() -> list[str]:
    """Commands that are not in the tree."""
    known = set(TREE) | {f"{top} {name}" for top, names in TREE.items() for name in names}
    return sorted(
        words
        for words, _ in commands(cli)
        if words not in known and words.split()[0] not in {"survey", *COMMANDS_NOT_YET}
    )


def long_commands() -> list[str]:
    """Commands with too many options, as "campaign create: 43"."""
    found = []
    for words, command in commands(cli):
        options = sum(isinstance(parameter, click.Option) for parameter in command.params)
        if options > MOST_OPTIONS and words not in LONG_NOT_YET:
            found.append(f"{words}: {options}")
    return found


def main() -> int:
    """Print the counts; 1 where one is above its limit."""
    parsed = modules()
    graph = {name: imports(tree, set(parsed)) for name, tree in parsed.items()}
    chain = longest_chain(graph)
    places = checks_on_kinds(parsed)
    repeated = repeated_classes(parsed)
    strange, long = strange_commands(), long_commands()
    print(f"longest import chain: {len(chain)} files (at most {LONGEST_CHAIN})")
    print(f"checks on kinds of mechanisms: {len(places)} (at most {MOST_CHECKS})")
    print(f"class names that exist twice: {len(repeated)}")
    print(f"commands outside the tree: {len(strange)}")
    print(f"commands with more than {MOST_OPTIONS} options: {len(long)}")
    if len(chain) > LONGEST_CHAIN:
        print("  " + " -> ".join(chain))
    if len(places) > MOST_CHECKS:
        print("  " + " ".join(places))
    for found in (repeated, strange, long):
        if found:
            print("  " + ", ".join(found))
    too_many = len(chain) > LONGEST_CHAIN or len(places) > MOST_CHECKS
    return int(too_many or any((repeated, strange, long)))


if __name__ == "__main__":
    sys.exit(main())
