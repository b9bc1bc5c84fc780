"""Single reports that remember whether they were made with a card, and what any reports remember.

`respond_one` and `report_from_json` make them. They are plain numbers, bytes or pairs in every
other way; what is computed from them is plain, and of what is plain nobody knows anything.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from jrr.mechanisms.marked_arrays import MarkedReports

R = TypeVar("R")
UNKNOWN = -1  # beside 1 (made with a card) and 0 (made without one)


class MarkedNumber(int):
    """A report that is a whole number.

    Example:
        >>> report = marked_report(1, carded=False)
        >>> report, report.carded, report == 1
        (1, False, True)
    """

    carded: bool


class MarkedBytes(bytes):
    """A report that is a row of bytes."""

    carded: bool


class MarkedPair(tuple[int, int]):
    """A report that is a seed and a number."""

    carded: bool


def marked_report(report: R, *, carded: bool) -> R:
    """The same report, which remembers whether it was made with a card.

    Args:
        report: a whole number, bytes, or a pair of a seed and a number.
        carded: whether it was made with a card.
    """
    kind: Any = MarkedNumber
    if isinstance(report, bytes):
        kind = MarkedBytes
    elif isinstance(report, tuple):
        kind = MarkedPair
    marked: R = kind(report)
    marked.carded = carded  # type: ignore[attr-defined]
    return marked


def remembered(report: object) -> bool | None:
    """Whether one report was made with a card; None where it does not remember."""
    mark = getattr(report, "carded", None)
    return mark if isinstance(mark, bool) else None


def remembered_of(reports: object) -> bool | str | NDArray[np.int8] | None:
    """What reports remember of their cards, taken together.

    Returns:
        True or False where it is the same for all of them; MIXED for an array of both kinds; for
        a list of both kinds 1 (made with a card), 0 (without one) or UNKNOWN for each report;
        None where nothing at all is known.
    """
    if isinstance(reports, MarkedReports):
        return reports.carded
    if not isinstance(reports, list | tuple):
        return None
    marks = [remembered(report) for report in reports]
    kinds = set(marks)
    if len(kinds) <= 1:
        return kinds.pop() if kinds else None
    return np.array([UNKNOWN if mark is None else mark for mark in marks], np.int8)
