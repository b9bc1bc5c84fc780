"""Counts on the command line, also with thousands as people write them: 10,000 or 10_000."""

import re
from typing import Any

import click

_PLAIN = re.compile(r"[+-]?\d+", re.ASCII)
_BY_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+|\d{1,3}(_\d{3})+", re.ASCII)


def read_count(value: Any) -> int:
    """A whole number from text; what could mean two numbers is refused.

    Raises:
        BadParameter: It is none, or its thousands are not where they should be.
    """
    text = str(value).strip()
    if _BY_THOUSANDS.fullmatch(text):
        text = text.replace(",", "").replace("_", "")
    elif not _PLAIN.fullmatch(text):
        raise click.BadParameter(
            f"must be a whole number, as 10000, 10,000 or 10_000, got {value!r}"
        )
    return int(text)


class CountType(click.ParamType[int]):
    """A whole number."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Text to a number."""
        return read_count(value)


class CountRange(click.IntRange):
    """A whole number within bounds."""

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Text to a number."""
        return int(super().convert(read_count(value), param, ctx))


COUNT = CountType()
