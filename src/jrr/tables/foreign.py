"""Spreadsheets and files of statistics packages, read whole: .xlsx, .sav, .dta.

Values that have labels (SPSS, Stata) become their labels; numbers without a fraction are written
without one, so that 1.0 and "1" are the same answer.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr.errors import ArgumentError, DamagedError, MissingExtraError

ENDINGS = (".xlsx", ".sav", ".zsav", ".dta")


def is_foreign(path: Path) -> bool:
    """Whether a name ends as one of these files."""
    return path.name.lower().endswith(ENDINGS)


def read_foreign(path: Path) -> Any:
    """An Arrow table of texts.

    Args:
        path: a file that exists.

    Raises:
        MissingExtraError: where the package that reads it is not installed.
        DamagedError: where it cannot be read.
    """
    if path.name.lower().endswith(".xlsx"):
        names, columns = _read_spreadsheet(path)
    else:
        names, columns = _read_statistics(path)
    texts = [pa.array([_text(value) for value in column], pa.string()) for column in columns]
    return pa.table(texts, names=names)


def _read_spreadsheet(path: Path) -> tuple[list[str], list[Sequence[Any]]]:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtraError(f"{path} needs openpyxl", "formats") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [tuple(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception as error:  # whatever is wrong with a zip file or its XML
        raise DamagedError(f"{path} cannot be read as a spreadsheet: {error}") from None
    while rows and not any(value is not None for value in rows[-1]):
        rows.pop()  # rows that were only formatted
    if not rows:
        raise ArgumentError(f"{path} must have a first row with the names of its columns, got none")
    width = max(at + 1 for row in rows for at, value in enumerate(row) if value is not None)
    names = ["" if name is None else str(name) for name in rows[0][:width]]
    full = [(*row[:width], *(None,) * (width - len(row))) for row in rows[1:]]
    return names, [[row[at] for row in full] for at in range(width)]


def _read_statistics(path: Path) -> tuple[list[str], list[Sequence[Any]]]:
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise MissingExtraError(f"{path} needs pyreadstat", "formats") from None
    read = pyreadstat.read_dta if path.name.lower().endswith(".dta") else pyreadstat.read_sav
    try:
        columns, about = read(str(path), output_format="dict")
    except Exception as error:  # its errors have no common class
        raise DamagedError(f"{path} cannot be read: {error}") from None
    labels = about.variable_value_labels
    return list(columns), [
        [labels.get(name, {}).get(value, value) for value in column]
        for name, column in columns.items()
    ]


def _text(value: Any) -> str | None:
    if value is None or value != value:  # also "not a number"
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
