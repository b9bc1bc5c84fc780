"""Values on the command line: counts, files, ranges and frequencies."""

import re
from pathlib import Path
from typing import Any

import click

FILE = click.Path(dir_okay=False, path_type=Path)
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_PLAIN = re.compile(r"[+-]?\d+", re.ASCII)
_BY_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+|\d{1,3}(_\d{3})+", re.ASCII)


def read_count(value: Any) -> int:
    """A whole number, also with thousands as people write them: 10,000 or 10_000.

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


class FrequencyType(click.ParamType[float | tuple[float, ...]]):
    """0.1, or an interval 0.05:0.2."""

    name = "F|LOW:HIGH"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Text to a number or a pair."""
        try:
            numbers = tuple(float(part) for part in str(value).split(":", 1))
        except ValueError:
            self.fail(f"must be a number or LOW:HIGH, got {value!r}", param, ctx)
        return numbers if len(numbers) == 2 else numbers[0]


class RangeType(click.ParamType[tuple[float, float]]):
    """The ends of a number: LOW:HIGH."""

    name = "LOW:HIGH"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Text to two numbers."""
        try:
            low, high = (float(part) for part in str(value).split(":"))
        except ValueError:
            self.fail(f"must be LOW:HIGH, two numbers, got {value!r}", param, ctx)
        return low, high
