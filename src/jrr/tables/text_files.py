"""How a CSV file is written: its encoding and the sign between its columns, found or told."""

import codecs
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr.errors import DamagedError

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
