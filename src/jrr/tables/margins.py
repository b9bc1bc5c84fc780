"""Margins of a population from a file: how many people gave each answer, for weights."""

import csv
import io
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.tables.formats import readable

PEOPLE = "people"  # the column of a file of margins that counts


def read_margins(path: str | Path) -> dict[Any, dict[Any, float]]:
    r"""Margins of a population, as `Cells.weighted` takes them, from a CSV file.

    The column `people` says how many people, or what share of them; the others are open questions.
    A row that leaves questions empty belongs to the margin of those it names, so that one file can
    hold several margins: one for raking by department and gender has rows such as
    "north,,5000" and ",f,4500" under the header "dept,gender,people".

    Args:
        path: the file.

    Returns:
        Question, or several -> answer, or one to each -> people.

    Raises:
        ArgumentError: there is no such file, no column people, a row without an answer, the same
            answers twice, or what is no number.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name, "margins.csv")
        >>> _ = file.write_text("dept,gender,people\nnorth,,60\nsouth,,40\n,f,0.5\n,m,0.5\n")
        >>> read_margins(file)
        {'dept': {'north': 60.0, 'south': 40.0}, 'gender': {'f': 0.5, 'm': 0.5}}
        >>> folder.cleanup()
    """
    file = Path(path)
    if not file.is_file():
        raise checks.refusal("margins", str(path), "a CSV file that exists")
    with readable(file), file.open(encoding="utf-8-sig", newline="") as opened:
        return margins_in(opened.read(), str(path))


def margins_in(text: str, name: str) -> dict[Any, dict[Any, float]]:
    """The same from the text of such a file.

    Args:
        text: what it holds.
        name: what refusals call it.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or PEOPLE not in rows[0]:
        raise checks.refusal("margins", name, f"a CSV file with rows and a column {PEOPLE!r}")
    found: dict[Any, dict[Any, float]] = {}
    for number, row in enumerate(rows, 2):
        where = f"{Path(name).name}, line {number}"
        given = {
            name: (text or "").strip()
            for name, text in row.items()
            if name not in (PEOPLE, None) and (text or "").strip()
        }
        if None in row or not given:
            raise ArgumentError(f"{where}: every row must have an answer and as many cells")
        try:
            people = float(row[PEOPLE])
        except (TypeError, ValueError):
            raise checks.refusal(f"{where}: {PEOPLE}", row[PEOPLE], "a number") from None
        names, answers = tuple(given), tuple(given.values())
        key: Any = names[0] if len(names) == 1 else names
        answer: Any = answers[0] if len(names) == 1 else answers
        table = found.setdefault(key, {})
        if answer in table:
            raise ArgumentError(f"{where}: {' × '.join(answers)} must stand once, got it twice")
        table[answer] = people
    return found
