"""Spreadsheets and files of statistics packages, read whole: .xlsx, .sav, .dta.

Values that have labels (SPSS, Stata) become their labels; numbers without a fraction are written
without one, so that 1.0 and "1" are the same answer. And how a CSV file of any program is written:
its encoding and the sign between its columns.
"""

import codecs
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError, needed

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
    with needed(f"{path} needs", "formats"):
        import openpyxl
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
    with needed(f"{path} needs", "formats"):
        import pyreadstat
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


DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 1 << 20  # bytes at the start of a file
_MARKS = (  # at the start of a file; the longer first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def find_writing(
    path: Path, delimiter: str | None = None, encoding: str | None = None
) -> tuple[str, str]:
    """The delimiter and the encoding of a CSV file, compressed or not.

    Args:
        path: a file that exists.
        delimiter: one sign; None: the one that occurs most in the first line, of comma, semicolon,
            tab and bar.
        encoding: its name; None: by the mark at the start of the file, or UTF-8.

    Returns:
        Both.

    Raises:
        ArgumentError: where a delimiter or an encoding is none.
        DamagedError: where the text is not UTF-8 and nobody said what it is.
    """
    with pa.input_stream(str(path), compression="detect") as stream:
        start = bytes(stream.read(_LOOKED_AT))
    encoding = _found_encoding(path, start) if encoding is None else _known(encoding)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(start)
    if delimiter is not None:
        if len(str(delimiter)) != 1 or not str(delimiter).isascii():
            raise checks.refusal("delimiter", delimiter, "one sign, as ; or a tab")
        return delimiter, encoding
    return _found_delimiter(text), encoding


def _known(encoding: Any) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise checks.refusal("encoding", encoding, "the name of one, as utf-8 or cp1252") from None


def _found_encoding(path: Path, start: bytes) -> str:
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    try:
        # Not final: the last character may be cut in two.
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        raise DamagedError(
            f"{path} must be text in UTF-8, or its encoding must be given: often it is cp1252 "
            "(--encoding cp1252)"
        ) from None
    return "utf-8"


def _found_delimiter(text: str) -> str:
    """By the first line, what stands in quotes left out."""
    counts = dict.fromkeys(DELIMITERS, 0)
    quoted = False
    for letter in text.lstrip("\ufeff\r\n"):
        if letter == '"':
            quoted = not quoted
        elif letter in "\r\n" and not quoted:
            break
        elif letter in counts and not quoted:
            counts[letter] += 1
    return max(DELIMITERS, key=lambda sign: counts[sign])
