"""Single reports that remember whether they were made with a card, and what any reports remember.

`respond_one` and `report_from_json` make them. They are plain numbers, bytes or pairs in every
other way; what is computed from them is plain, and of what is plain nobody knows anything.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.marked_arrays import MarkedReports

if TYPE_CHECKING:
    from jrr.mechanisms.parts.describing import Describing

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


_KINDS: dict[type, Any] = {int: MarkedNumber, bytes: MarkedBytes, tuple: MarkedPair}


def marked_report(report: R, *, carded: bool) -> R:
    """The same number, bytes or pair, which remembers whether it was made with a card."""
    kind = next(kind for plain, kind in _KINDS.items() if isinstance(report, plain))
    marked: R = kind(report)
    marked.carded = carded  # type: ignore[attr-defined]
    return marked


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
    marks = [getattr(report, "carded", None) for report in reports]
    marks = [mark if isinstance(mark, bool) else None for mark in marks]
    kinds = set(marks)
    if len(kinds) <= 1:
        return kinds.pop() if kinds else None
    return np.array([UNKNOWN if mark is None else mark for mark in marks], np.int8)


def carded_flags(
    mechanism: "Describing", reports: object, n: int, carded: ArrayLike | bool | None
) -> NDArray[np.bool_]:
    """Whose reports were made with a card, as `Mechanism.carded_flags` says it."""
    known = remembered_of(reports) if mechanism.deals else False
    if carded is None:
        return _remembered_flags(mechanism.name, known, n)
    if isinstance(carded, bool | np.bool_):
        flags: NDArray[np.bool_] = np.broadcast_to(np.bool_(carded), n)
    else:
        flags = checks.flags("carded", carded, n)
    if not mechanism.deals and flags.any():
        raise ArgumentError(f"carded must be False for {mechanism.name}, which deals no cards")
    if isinstance(known, bool) and (flags != known).any():
        raise ArgumentError(
            f"carded must be {known} for these reports, which were made "
            f"{'with' if known else 'without'} cards, got {not known} for some of them"
        )
    if isinstance(known, np.ndarray) and ((known != flags) & (known != UNKNOWN)).any():
        raise ArgumentError(
            "carded must say of each report what it remembers of its card, got the opposite"
        )
    return flags


def _remembered_flags(
    name: str, known: bool | str | NDArray[np.int8] | None, n: int
) -> NDArray[np.bool_]:
    """One flag for each report where they all remember, or a refusal."""
    if isinstance(known, bool):
        return np.broadcast_to(np.bool_(known), n)
    if known is None:
        raise _must_say_carded(name, "these reports do not remember it")
    if isinstance(known, str):
        raise _must_say_carded(name, "some of them were made with a card, and some without")
    if (known == UNKNOWN).any():
        raise _must_say_carded(name, "some of these reports do not remember it")
    return np.equal(known, 1)


def _must_say_carded(name: str, because: str) -> ArgumentError:
    return ArgumentError(
        "carded must be True, False or a boolean array of one flag per report, to say which "
        f"reports were made with a card of {name}: {because}. Lists, plain arrays and "
        "columns of tables remember nothing"
    )
