"""Counts what the architecture promises to keep small, and fails where it has grown.

    longest chain of imports between files                                at most 13
    isinstance checks on kinds of mechanisms outside mechanisms/          at most 10
    lines outside dealing/ that ask which way cards are dealt             fewer than 10
    class names that exist more than once                                 none
    options of a command                                                  at most 25
    commands beside those of the tree below                               none
    lines of src/jrr, with a list by room                                 at most 73,000
    layers in the contract of the room survey                             exactly 4
    lines of src/jrr with the word campaign, which is gone                none
    nouns: classes that docs/api.md shows, errors left out                at most 70

Run by `make lint`. `--since REV` prints the lines by room of an earlier revision beside those of
now; e1615e3 was the last before surveys had one document. tools/count_journeys.py counts the files
that one answer, and a whole survey, run through. Imports below `if TYPE_CHECKING:` do not count:
they run only in type checkers.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

from jrr.cli.app import cli

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
LONGEST_CHAIN = 13
MOST_CHECKS = 10
KINDS = re.compile(r"\b(RR|JRR|DRR|MRR|SUE|OUE|OLH|Unary|Categorical)\b")

MOST_DEALING = 9
DEALING = re.compile(
    r"\.(enrols|leave_out|enrol_first)\b"
    r"|isinstance\([^()]*\b(Nobody|Dealers|Committee|Groups)\b"
)
WRITTEN = {".css", ".html", ".js", ".json", ".py"}
MOST_LINES = 73_000  # the goal is 54,000
SURVEY_LAYERS = 4
MOST_NOUNS = 70  # the goal is about 60
NOUN = re.compile(r"^### jrr\.(?!errors\.)(?:\w+\.)*([A-Z]\w*)$", re.MULTILINE)

MOST_OPTIONS = 25
TREE = {  # a command, and those below it
    "plan": {"compare", "effect", "explain", "margin", "number", "rounds", "survey", "two-phase"},
    "survey": {
        *("create", "invite", "open", "enrol", "deal", "deal-in-group", "answer", "ledger"),
        *("show", "close", "change", "export", "report", "delete", "extend", "ethics"),
    },
    "file": {
        *("deal", "deal number", "perturb", "estimate", "pool", "database", "shuffle"),
        *("convert", "keys", "heavy-hitters", "heavy-hitters perturb", "heavy-hitters find"),
        *("quantiles", "quantiles perturb", "quantiles estimate"),
    },
    "serve": {"dealer", "collector", "page", "party", "all", "certificate", "token"},
    "audit": {"cards", "privacy", "program"},
    "study": {"reproduce", "simulate", "bench", "bench serve", "attacks"},
    "demo": set(),
}


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


def source_lines() -> Iterator[tuple[str, int, str]]:
    """File below src/jrr, number and text of every line of text."""
    package = SOURCE / "jrr"
    for path in sorted(package.rglob("*")):
        if path.suffix in WRITTEN and path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                yield path.relative_to(package).as_posix(), number, line


def lines_by_room(lines: list[tuple[str, int, str]]) -> Counter[str]:
    """How many lines of Python each room has."""
    return Counter(room_of(file) for file, _, _ in lines if file.endswith(".py"))


def asks_about_dealing(lines: list[tuple[str, int, str]]) -> list[str]:
    """Where it is asked which way cards are dealt, outside the room that knows."""
    return [
        f"{file}:{number}"
        for file, number, line in lines
        if not file.startswith("dealing/") and file.endswith((".py", ".html"))
        if DEALING.search(line)
    ]


def room_of(file: str) -> str:
    """The room of a file below src/jrr."""
    return file.partition("/")[0].removesuffix(".py")


def lines_at(revision: str) -> Counter[str]:
    """The same at an earlier revision."""
    prefix = "src/jrr/"
    names = _git("ls-tree", "-r", "--name-only", revision, prefix).split()
    files = [name for name in names if name.endswith(".py")]
    found: Counter[str] = Counter()
    for name in files:
        found[room_of(name.removeprefix(prefix))] += _git("show", f"{revision}:{name}").count("\n")
    return found


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def print_since(revision: str) -> None:
    """Lines by room, then and now, as a table of Markdown."""
    then, now = lines_at(revision), lines_by_room(list(source_lines()))
    rooms = sorted(then | now, key=lambda room: -now[room])
    print("| room | then | now | change |\n|---|--:|--:|--:|")
    for room in rooms:
        print(f"| {room} | {then[room]:,} | {now[room]:,} | {now[room] - then[room]:+,} |")
    totals = then.total(), now.total()
    print(f"| all | {totals[0]:,} | {totals[1]:,} | {totals[1] - totals[0]:+,} |")


def nouns() -> list[str]:
    """What a reader of the Python reference has to learn: its classes, errors left out."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    return sorted(name for name in NOUN.findall(text) if name != name.upper() or len(name) < 5)


def survey_layers() -> int:
    """Lines of the contract within the room survey."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == ["jrr.survey"]
    )
    return len(contract["layers"])


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that lead to it, as "file deal"."""
    context = click.Context(group)
    for name in group.list_commands(context):
        words, command = f"{path} {name}".strip(), group.get_command(context, name)
        assert command is not None  # it is listed
        yield words, command
        if isinstance(command, click.Group):
            yield from commands(command, words)


def strange_commands() -> list[str]:
    """Commands that are not in the tree."""
    known = set(TREE) | {f"{top} {name}" for top, names in TREE.items() for name in names}
    return sorted(words for words, _ in commands(cli) if words not in known)


def long_commands() -> list[str]:
    """Commands with too many options, as "survey create: 43"."""
    found = []
    for words, command in commands(cli):
        options = sum(isinstance(parameter, click.Option) for parameter in command.params)
        if options > MOST_OPTIONS:
            found.append(f"{words}: {options}")
    return found


@dataclass(frozen=True)
class Count:
    """Something that is counted, and where it is."""

    what: str
    found: int
    most: int
    places: Sequence[str] = ()
    least: int = 0

    @property
    def kept(self) -> bool:
        """Whether it is within its limits."""
        return self.least <= self.found <= self.most

    def __str__(self) -> str:
        limit = "exactly" if self.least == self.most > 0 else "at most"
        line = f"{self.what}: {self.found:,} ({limit} {self.most:,})"
        return line if self.kept or not self.places else f"{line}\n  {' '.join(self.places)}"


def counts() -> Iterator[Count]:
    """Everything that is counted."""
    parsed, lines = modules(), list(source_lines())
    graph = {name: imports(tree, set(parsed)) for name, tree in parsed.items()}
    chain = longest_chain(graph)
    yield Count("files in the longest chain of imports", len(chain), LONGEST_CHAIN, chain)
    rooms = lines_by_room(lines)
    by_room = [f"{room} {count:,}" for room, count in rooms.most_common()]
    print("lines by room: " + ", ".join(by_room))
    yield Count("lines", rooms.total(), MOST_LINES)
    asked = asks_about_dealing(lines)
    yield Count("lines that ask which way cards are dealt", len(asked), MOST_DEALING, asked)
    gone = [f"{file}:{number}" for file, number, line in lines if "campaign" in line.lower()]
    yield Count("lines with the word campaign", len(gone), 0, gone)
    layers = survey_layers()
    yield Count("layers within survey", layers, SURVEY_LAYERS, least=SURVEY_LAYERS)
    places = checks_on_kinds(parsed)
    yield Count("checks on kinds of mechanisms", len(places), MOST_CHECKS, places)
    repeated = repeated_classes(parsed)
    yield Count("class names that exist twice", len(repeated), 0, repeated)
    strange = strange_commands()
    yield Count("commands outside the tree", len(strange), 0, strange)
    long = long_commands()
    yield Count(f"commands with more than {MOST_OPTIONS} options", len(long), 0, long)
    named = nouns()
    yield Count("nouns", len(named), MOST_NOUNS, named)


def main() -> int:
    """Print the counts; 1 where one is outside its limits."""
    if "--since" in sys.argv:
        print_since(sys.argv[sys.argv.index("--since") + 1])
        return 0
    found = list(counts())
    for count in found:
        print(count)
    return int(not all(count.kept for count in found))


if __name__ == "__main__":
    sys.exit(main())
