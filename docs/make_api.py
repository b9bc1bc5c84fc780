"""Writes docs/api.md, the Python reference, from signatures and docstrings.

    python docs/make_api.py

What is public, in which order, and what stands above each group is in docs/api.toml.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import griffe

HERE = Path(__file__).parent
TARGET = HERE / "api.md"
WIDTH = 100  # signatures that are longer get a line for each argument
LIST = re.compile(
    r"^(?!(?:[-*]|\d+\.) )(\S.*)\n(?=(?:[-*]|\d+\.) )", re.MULTILINE
)  # right below words


def page() -> str:
    """The whole page."""
    plan = tomllib.loads((HERE / "api.toml").read_text(encoding="utf-8"))
    package = griffe.load(
        "jrr", search_paths=[HERE.parent / "src"], docstring_parser="google", resolve_aliases=True
    )
    parts = [plan["intro"].strip(), table_of_groups(plan["group"])]
    for group in plan["group"]:
        parts += [f"## {group['title']}", group.get("intro", "").strip()]
        for name in group["names"]:
            parts += described(name, target(package, name))
    return "\n\n".join(part for part in parts if part) + "\n"


def table_of_groups(groups: Iterable[dict[str, str]]) -> str:
    """What somebody wants to do, and the group that has it."""
    rows = [
        f"| {group['use']} | [{group['title']}](#{anchor(group['title'])}) |" for group in groups
    ]
    return "\n".join(["| you want to | look at |", "|---|---|", *rows])


def anchor(title: str) -> str:
    """What code hosts and the site make of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def target(package: griffe.Object | griffe.Alias, name: str) -> griffe.Object:
    """The object that a public name stands for."""
    found = package[name.removeprefix("jrr.")]
    return found.final_target if isinstance(found, griffe.Alias) else found


def described(name: str, thing: griffe.Object) -> list[str]:
    """Heading, signature and text of one name, and the members of a class or module in short."""
    parts = [f"### {name}"]
    if isinstance(thing, griffe.Function | griffe.Class):
        parts.append(signature(name.rsplit(".", 1)[-1], thing))
    return [*parts, *text(thing), "\n".join(map(in_short, members(thing)))]


def members(thing: griffe.Object) -> list[griffe.Object]:
    """What a class or module itself adds: public, with a docstring, in the order of the source."""
    if not isinstance(thing, griffe.Class | griffe.Module):
        return []
    # What stands on no page of its own is described with every class that has it.
    private = [base for base in bases(thing) if base.path.startswith("jrr._base")]
    above = [base for base in bases(thing) if base not in private]
    parts: list[griffe.Class] = []
    if thing.name == "Mechanism":  # its parts are described nowhere else, the facts before the rest
        above, parts = [], [above[-1], *above[:-1]]
    inherited = {name for base in above for name in base.members if not name.startswith("_")}
    own = {name for one in (*parts, thing) for name in one.members}
    return [
        member
        for one in (*parts, thing, *private)
        for member in one.members.values()
        if not isinstance(member, griffe.Alias)
        and not member.name.startswith("_")
        and member.name not in inherited
        and (one not in private or member.name not in own)
        and member.has_docstring
        and (isinstance(thing, griffe.Module) or member.is_function or is_property(member))
    ]


def bases(thing: griffe.Object) -> list[griffe.Class]:
    """The classes of jrr that a class stands on; their members are described there."""
    return thing.mro() if isinstance(thing, griffe.Class) else []


def in_short(member: griffe.Object) -> str:
    """One line of a list: how it is called, and the first paragraph of its docstring."""
    called = member.name
    if isinstance(member, griffe.Function) and not is_property(member):
        names = (argument(one, types=False) for one in arguments(member))
        called += f"({', '.join(names)})"
    said = member.docstring.value.split("\n\n")[0] if member.docstring else ""
    return f"- `{called}`: {one_line(said)}"


def is_property(member: griffe.Object) -> bool:
    """Whether it is read like a field."""
    return "property" in member.labels


def signature(name: str, thing: griffe.Function | griffe.Class) -> str:
    """The call as it stands in the source; a long one has a line for each argument."""
    shown: list[str] = []
    for one in arguments(thing):
        if one.kind is griffe.ParameterKind.keyword_only and not any(
            earlier.startswith("*") for earlier in shown
        ):
            shown.append("*")
        shown.append(argument(one))
    returns = getattr(thing, "returns", None)
    end = f" -> {returns}" if returns is not None else ""
    line = f"{name}({', '.join(shown)}){end}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f"){end}"
    return f"```py\n{line}\n```"


def arguments(thing: griffe.Function | griffe.Class) -> list[griffe.Parameter]:
    """All but the object itself."""
    return [one for one in thing.parameters if one.name not in ("self", "cls")]


def argument(one: griffe.Parameter, *, types: bool = True) -> str:
    """One argument with its type and what it is unless given."""
    stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
    star = stars.get(one.kind, "") if one.kind else ""
    if star or one.default is None:
        end = ""
    else:
        end = f" = {one.default}" if types and one.annotation else f"={one.default}"
    return star + one.name + (f": {one.annotation}" if types and one.annotation else "") + end


def text(thing: griffe.Object) -> list[str]:
    """A docstring as Markdown."""
    if thing.docstring is None:
        return []
    return [part for section in thing.docstring.parsed for part in section_text(section)]


def section_text(section: griffe.DocstringSection) -> list[str]:
    """One section of a docstring: words, a list of arguments, an example."""
    kind, value = section.kind, section.value
    if kind is griffe.DocstringSectionKind.text:
        return [LIST.sub(r"\1\n\n", value.strip())]
    if kind is griffe.DocstringSectionKind.admonition:
        return [fenced(value.description)]
    if kind is griffe.DocstringSectionKind.examples:
        return [part.strip() if "text" in form else fenced(part) for form, part in value]
    if kind is griffe.DocstringSectionKind.returns:
        return [f"Returns: {one_line(one.description)}" for one in value]
    if kind is griffe.DocstringSectionKind.raises:
        return [listed("Raises:", [(str(one.annotation), one.description) for one in value])]
    title = "Fields:" if kind is griffe.DocstringSectionKind.attributes else "Arguments:"
    return [listed(title, [(one.name, one.description) for one in value])]


def listed(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A list of names and what they are."""
    return "\n".join([title, "", *(f"- `{name}`: {one_line(words)}" for name, words in rows)])


def one_line(words: str) -> str:
    """Words of several lines on one."""
    return " ".join(words.split())


def fenced(code: str) -> str:
    """An example; tests run it where it stands, in the docstring."""
    return f"```py\n{code.strip()}\n```"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
