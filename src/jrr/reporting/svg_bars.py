"""Shares and means as pictures inside a page: bars or marks with their intervals, as SVG.

A picture has no colours or fonts of its own: the page's style sheet gives them by class, so that it
is dark on dark pages. Places across are in percent and heights in pixels, so that it fits every
width while its letters stay as large as those of the page.
"""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MOST_LETTERS = 46  # of a label: what fits beside nothing else on a phone
_LABEL, _BAR, _GAP, _AXIS = 18, 14, 8, 26  # heights
_MOST_TICKS = 6


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row: a value with its interval; without one where low and high are the value."""

    label: str
    value: float
    low: float
    high: float


def draw_bars(
    rows: Sequence[Bar],
    *,
    title: str,
    description: str,
    show: Callable[[float], str] = "{:g}".format,
    ends: tuple[float, float] | None = None,
) -> str:
    """An SVG element with one row below another.

    Args:
        rows: what is shown, from the top.
        title: what the picture is of, for those who do not see it.
        description: the same numbers in words, for them.
        show: how a number of the axis is written.
        ends: draw marks on an axis from one end to the other, as for means; None: bars from 0.

    Returns:
        The element; everything in it is escaped.

    Example:
        >>> bar = Bar(label="yes", value=0.3, low=0.2, high=0.4)
        >>> draw_bars([bar], title="Shares", description="yes 30%")[:29]
        '<svg class="bars" role="img" '
    """
    numbers = [end for row in rows for end in (row.low, row.high, row.value)]
    ticks = axis_ticks(min([*numbers, *(ends or (0.0,))]), max([*numbers, *(ends or (0.0,))]))
    first, last = ticks[0], ticks[-1]

    def place(number: float) -> str:
        return f"{100 * (number - first) / (last - first):.2f}%"

    height = len(rows) * (_LABEL + _BAR + _GAP) + _AXIS
    parts = [
        f'<svg class="bars" role="img" width="100%" height="{height}" '
        f'aria-label="{html.escape(title)}">',
        f"<desc>{html.escape(description)}</desc>",
    ]
    foot = height - _AXIS
    for tick in ticks:
        anchor = "start" if tick == first else "end" if tick == last else "middle"
        kind = "zero" if tick == 0 and ends is None else "grid"
        parts.append(_line(kind, place(tick), 0, place(tick), foot))
        parts.append(
            f'<text class="tick" x="{place(tick)}" y="{foot + 17}" text-anchor="{anchor}">'
            f"{html.escape(show(tick))}</text>"
        )
    for number, row in enumerate(rows):
        top = number * (_LABEL + _BAR + _GAP)
        middle = top + _LABEL + _BAR / 2
        parts.append(f'<text class="label" x="0" y="{top + 13}">{_short(row.label)}</text>')
        if ends is None:
            low, high = sorted((0.0, row.value))
            width = 100 * (high - low) / (last - first)
            parts.append(
                f'<rect class="bar" x="{place(low)}" y="{top + _LABEL}" width="{width:.2f}%" '
                f'height="{_BAR}"/>'
            )
        if row.low < row.high:
            parts.append(_line("error", place(row.low), middle, place(row.high), middle))
            for end in (row.low, row.high):
                parts.append(_line("error", place(end), middle - 4, place(end), middle + 4))
        if ends is not None:
            parts.append(f'<circle class="mark" cx="{place(row.value)}" cy="{middle:g}" r="5"/>')
    return "".join([*parts, "</svg>"])


def axis_ticks(low: float, high: float) -> list[float]:
    """Round numbers a step apart, the first at most `low` and the last at least `high`.

    Example:
        >>> axis_ticks(0.0, 0.37)
        [0.0, 0.1, 0.2, 0.3, 0.4]
    """
    if not high > low:
        low, high = low - 0.5, low + 0.5
    step = 10.0 ** math.floor(math.log10(high - low))
    for factor in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
        size = step * factor
        first, last = math.floor(low / size + 1e-9), math.ceil(high / size - 1e-9)
        if last - first < _MOST_TICKS:
            break
    return [float(f"{number * size:.12g}") for number in range(first, max(last, first + 1) + 1)]


def _line(kind: str, x1: str, y1: float, x2: str, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1}" y1="{y1:g}" x2="{x2}" y2="{y2:g}"/>'


def _short(label: str) -> str:
    """A label in one line; where it is cut, the whole of it shows when pointed at."""
    line = " ".join(label.split())
    if len(line) <= _MOST_LETTERS:
        return html.escape(line)
    return f"<title>{html.escape(line)}</title>{html.escape(line[: _MOST_LETTERS - 1].rstrip())}…"
