"""What notebooks show of a result: a table, a picture, a data frame, all from the same rows."""

import json
from collections.abc import Mapping
from html import escape
from importlib import import_module
from typing import Any, ClassVar

from jrr.errors import MissingExtraError

Row = dict[str, Any]


class Shown:
    """A result that is rows of a table.

    Attributes:
        shown_value: the column that a picture draws, with `low` and `high` where rows have them.
        shown_heading: what stands above the table of a notebook; {0} is the result.
    """

    shown_value: ClassVar[str] = "share"
    shown_heading: ClassVar[str] = "{0.__class__.__name__}"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows, all with the same columns.

        Args:
            level: of intervals.
        """
        raise NotImplementedError

    @property
    def heading(self) -> str:
        """What stands above the table of a notebook."""
        return self._heading()

    def _heading(self) -> str:
        return self.shown_heading.format(self)

    def to_frame(self, level: float = 0.95) -> Any:
        """The rows as a data frame of pandas.

        Args:
            level: of intervals.

        Raises:
            MissingExtraError: where pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError:
            raise MissingExtraError("to_frame needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.to_rows(level))

    def summary(self, level: float = 0.95) -> str:
        """The heading and the rows as text.

        Args:
            level: of intervals.
        """
        columns, cells = _cells(self.to_rows(level))
        lines = [columns, *cells]
        widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
        shown = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        return "\n".join([self.heading, *shown])

    def plot(self, level: float = 0.95) -> Any:
        """A picture of the rows, with their intervals.

        Args:
            level: of intervals.

        Returns:
            A figure of matplotlib, which a notebook shows; `.savefig(path)` writes it.

        Raises:
            MissingExtraError: where matplotlib is not installed.
        """
        # By name: drawing is done above all rooms that have results, and only when asked for.
        draw = import_module("jrr.reporting.plots").draw_rows
        return draw(self.to_rows(level), self.shown_value, self.heading)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        columns, cells = _cells(self.to_rows())
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in cells
        )
        caption = f"<caption>{escape(self.heading)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


class ShownDocument(Shown):
    """One that is also a result document: plain numbers, with the intervals of one level."""

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The document.

        Args:
            level: of the intervals.
        """
        raise NotImplementedError

    def to_json(self, level: float = 0.95) -> str:
        """The result document of `to_dict` as one line of JSON.

        Args:
            level: the chance with which an interval holds.
        """
        return json.dumps(self.to_dict(level), sort_keys=True)


def value_rows(columns: Mapping[str, Any]) -> list[Row]:
    """Rows from columns of the same length.

    Args:
        columns: name of the column -> its cells.
    """
    names = list(columns)
    lists = [
        cells.tolist() if hasattr(cells, "tolist") else list(cells) for cells in columns.values()
    ]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*lists, strict=True)]


def _cells(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    columns = list(rows[0]) if rows else []
    return columns, [[_text(row[name]) for name in columns] for row in rows]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
