"""Writes the contents of the pages of theory from their results: `python docs/make_contents.py`.

A result begins a line in bold letters with its kind, its number and its title in brackets; contents
name kind and number.
"""

import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
PAGES = ("theory.md", "theory-jrr.md", "theory-uses.md")
BEGIN = "<!-- contents: made by docs/make_contents.py -->\n\n"
END = "\n<!-- end of contents -->\n"
SECTION = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
RESULT = re.compile(
    r"^\*\*(?P<name>(?:Definition|Lemma|Theorem|Corollary) [\w.]*\w)"
    r"(?: \((?P<title>(?:[^()]|\([^()]*\))*)\))?\.\*\*",
    re.MULTILINE,
)


def page(name: str) -> str:
    """The whole page, with a new table of contents."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table(after) + END + after


def table(text: str) -> str:
    """One row for each section: its results by number."""
    heads = [*SECTION.finditer(text)]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    rows = ["| Section | Results |", "|---|---|"]
    for head, end in zip(heads, ends, strict=True):
        results = numbers(RESULT.finditer(text, head.end(), end))
        title = head["title"].replace(". ", " ", 1)
        rows.append(f"| [{title}](#{anchor(head['title'])}) | {results} |")
    return "\n".join(rows) + "\n"


def numbers(results: Iterator[re.Match[str]]) -> str:
    """Kinds of results with their numbers: "Lemma 0.1, 0.2; Theorem 1"."""
    found: dict[str, list[str]] = {}
    for result in results:
        kind, number = result["name"].split()
        found.setdefault(kind, []).append(number)
    return "; ".join(f"{kind} {', '.join(each)}" for kind, each in found.items())


def anchor(title: str) -> str:
    """What code hosts and the site make of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    for name in PAGES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
