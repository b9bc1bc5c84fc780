"""Counts the public calls whose arguments are described, and fails where they become fewer.

    of the reference    functions, classes and their methods that docs/api.md shows
    of all of jrr       every function and method without an underscore in src/jrr

Run by `make lint`; `--list` prints what is missing. A call counts where it takes arguments; it is
documented where its docstring, or for a class that of its constructor, has a section `Args:` or
`Attributes:`. In the reference a method that stands for one of a parent's is described by it.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]
LEAST_OF_REFERENCE = 0.9  # share of calls
LEAST_OF_ALL = 0.22
SECTIONS = ("Args:", "Attributes:")
Def = ast.FunctionDef | ast.AsyncFunctionDef


def describes(text: str | None) -> bool:
    """Whether a docstring has a list of arguments."""
    return any(line.strip() in SECTIONS for line in (text or "").splitlines())


def calls_of_reference() -> Iterator[tuple[str, bool]]:
    """Each call that the reference shows, and whether its arguments are described."""
    plan = tomllib.loads((ROOT / "docs" / "api.toml").read_text(encoding="utf-8"))
    package = griffe.load("jrr", search_paths=[ROOT / "src"], resolve_aliases=True)
    for name in (name for group in plan["group"] for name in group["names"]):
        thing = package[name.removeprefix("jrr.")]
        thing = thing.final_target if isinstance(thing, griffe.Alias) else thing
        if isinstance(thing, griffe.Function):
            yield from call(name, thing)
        if isinstance(thing, griffe.Class):
            made = thing.all_members.get("__init__")
            texts = [one.docstring.value for one in (thing, made) if one and one.docstring]
            if [one for one in thing.parameters if one.name not in ("self", "cls")]:
                yield name, any(map(describes, texts))
            for member in thing.members.values():
                if isinstance(member, griffe.Function) and not member.name.startswith("_"):
                    yield from call(f"{name}.{member.name}", member, thing)


def call(
    name: str, function: griffe.Function, owner: griffe.Class | None = None
) -> Iterator[tuple[str, bool]]:
    """One function, in its own words or those of a parent; nothing where it takes no arguments."""
    if not [one for one in function.parameters if one.name not in ("self", "cls")]:
        return
    same = [one.members[function.name] for one in parents(owner) if function.name in one.members]
    texts = [one.docstring.value for one in (function, *same) if one.docstring]
    yield name, any(map(describes, texts))


def parents(owner: griffe.Class | None) -> list[griffe.Class]:
    """The classes of jrr that a class is made from."""
    return [] if owner is None else owner.mro()


def calls_of_all() -> Iterator[tuple[str, bool]]:
    """The same of every public function and method in the sources."""
    for path in sorted((ROOT / "src" / "jrr").rglob("*.py")):
        room = path.relative_to(ROOT / "src" / "jrr").with_suffix("").as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            owned = node.body if isinstance(node, ast.ClassDef) else [node]
            owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            if owner.startswith("_"):
                continue
            for one in owned:
                if isinstance(one, Def) and not one.name.startswith("_") and takes(one):
                    yield f"{room}: {owner}{one.name}", describes(ast.get_docstring(one))


def takes(function: Def) -> bool:
    """Whether it takes arguments of which a reader must be told."""
    said = {ast.unparse(one) for one in function.decorator_list}
    if said & {"property", "cached_property", "overload"}:
        return False
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return bool([one for one in names if one not in ("self", "cls")] or given.vararg or given.kwarg)


def main() -> int:
    """Print both shares; 1 where one is below its limit."""
    kept = True
    for what, calls, least in (
        ("the reference", list(calls_of_reference()), LEAST_OF_REFERENCE),
        ("all of jrr", list(calls_of_all()), LEAST_OF_ALL),
    ):
        described = sum(yes for _, yes in calls)
        share = described / len(calls)
        kept &= share >= least
        print(
            f"public calls of {what} whose arguments are described: {described} of {len(calls)}, "
            f"{share:.1%} (at least {least:.0%})"
        )
        if "--list" in sys.argv:
            print("  " + "\n  ".join(name for name, yes in calls if not yes))
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
