"""Writes the table of contents of docs/theory.md from its results: `python docs/make_contents.py`.

A result begins a line in bold letters with its kind, its number and its title in brackets.
"""

import re
from pathlib import Path

TARGET = Path(__file__).with_name("theory.md")
BEGIN = "<!-- contents: made by docs/make_contents.py -->\n\n"
END = "\n<!-- end of contents -->\n"
SECTION = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
RESULT = re.compile(
    r"^\*\*(?P<name>(?:Definition|Lemma|Theorem|Corollary) [\w.]*\w)"
    r"(?: \((?P<title>(?:[^()]|\([^()]*\))*)\))?\.\*\*",
    re.MULTILINE,
)
ERRATUM = re.compile(r"^### (E\d+)\. ", re.MULTILINE)


def page() -> str:
    """The whole page, with a new table of contents."""
    text = TARGET.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table(after) + END + after


def table(text: str) -> str:
    """One row for each section: its results by number and title."""
    heads = [*SECTION.finditer(text)]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    rows = ["| Section | Results |", "|---|---|"]
    for head, end in zip(heads, ends, strict=True):
        results = [
            f"{result['name']} {result['title'] or ''}".strip()
            for result in RESULT.finditer(text, head.end(), end)
        ]
        if errata := ERRATUM.findall(text, head.end(), end):
            results.append(f"{errata[0]} to {errata[-1]}")
        title = head["title"].replace(". ", " ", 1)
        rows.append(f"| [{title}](#{anchor(head['title'])}) | {'; '.join(results)} |")
    return "\n".join(rows) + "\n"


def anchor(title: str) -> str:
    """What code hosts and the site make of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
