"""Arrays, single reports and announced sums that remember the cards that they came from.

Reports that remember it cannot be written into. Selected rows, copies, pickles, parts and
concatenations remember it too; everything else that is made or computed of them is plain, and of
plain arrays nothing is known. `np.array(reports)` makes a plain copy, which can be written into.
It costs a few microseconds for an array, whatever its length, except that selections keep the
places of cards. Single reports (`respond_one`, `report_from_json`) and sums (`announce`) are plain
numbers, bytes, pairs and lists in every other way, also as JSON.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.mechanisms.parts.describing import Describing

MIXED = "mixed"  # some rows were made with a card, and some without


class _Mark(NamedTuple):
    """What is known of reports, as long as they are of this shape and type."""

    carded: bool | str
    shape: tuple[int, ...]
    dtype: Any


class MarkedReports(np.ndarray[Any, Any]):
    """Reports that know whether they were made with cards: True, False or "mixed".

    Example:
        >>> reports = MarkedReports.of(np.array([1, 0, 1]), carded=False)
        >>> reports[1:].carded, type(reports + 1).__name__, reports.flags.writeable
        (False, 'ndarray', False)
    """

    _mark: _Mark | None = None

    @classmethod
    def of(cls, reports: NDArray[Any], carded: bool | str) -> "MarkedReports":
        """The same numbers, marked; from now on neither array can be written into."""
        reports.flags.writeable = False
        marked = reports.view(cls)
        marked._mark = _Mark(carded, marked.shape, marked.dtype)
        return marked

    @property
    def carded(self) -> bool | str | None:
        """Whether these reports were made with cards; None: nothing is known."""
        mark = self._mark
        if mark is None or self.flags.writeable:
            return None
        return mark.carded if (self.shape, self.dtype) == mark[1:] else None

    def __array_finalize__(self, source: Any) -> None:
        self._mark = None  # only what is listed below keeps a mark

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        result = function(*_plain(args), **_plain(kwargs))
        if function is np.concatenate and len(args) == 1 and kwargs in ({}, {"axis": 0}):
            return _marked_as(result, args[0])
        if function in _SPLITTING and not kwargs and len(args) == 2:
            return [_marked_as(part, [args[0]]) for part in result]
        return result

    def __getitem__(self, key: Any) -> Any:
        found = np.asarray(self)[key]
        if isinstance(key, int | np.integer):
            whole_rows = np.shape(found) == self.shape[1:]
        else:
            whole_rows = isinstance(key, slice | list | np.ndarray) and (
                (found.ndim, found.shape[1:]) == (self.ndim, self.shape[1:])
            )
        return self._keep(found) if whole_rows else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise ArgumentError(
                "reports that remember their cards cannot be written into: make a plain copy "
                "first, np.array(reports), and say carded= where it is counted"
            )
        super().__setitem__(key, value)

    def _keep(self, rows: Any) -> Any:
        """Some of these rows, with what is known of them."""
        carded = self.carded
        if carded is None or not isinstance(rows, np.ndarray) or rows.dtype != self.dtype:
            return rows
        return MarkedReports.of(rows, carded)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        """Selected rows, as of any array; they keep their mark."""
        found = np.asarray(self).take(indices, axis, out, mode)
        rows = out is None and np.ndim(indices) == 1 and (axis == 0 or self.ndim == 1)
        return self._keep(found) if rows else found

    def copy(self, order: Any = "C") -> Any:
        """A copy that keeps its mark; `np.array(reports)` makes one that can be written into."""
        return self._keep(np.array(self, order=order))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        if self.carded is None:
            return np.asarray(self).__reduce__()
        return MarkedReports.of, (np.array(self), self.carded)


_SPLITTING = (np.split, np.array_split)


def _plain(arguments: Any) -> Any:
    """Arguments of a function of numpy, with plain arrays in place of marked ones."""
    if isinstance(arguments, MarkedReports):
        return np.asarray(arguments)
    if isinstance(arguments, Mapping):
        return {name: _plain(one) for name, one in arguments.items()}
    if type(arguments) in (list, tuple):
        return type(arguments)(map(_plain, arguments))
    return arguments


def _marked_as(result: NDArray[Any], parts: Sequence[Any]) -> NDArray[Any]:
    """What holds the rows of these parts, marked as they are; plain if of one nothing is known."""
    filled = [part for part in parts if len(part)] or parts
    marks: set[Any] = {getattr(part, "carded", None) for part in filled}
    if None in marks or any(part.dtype != result.dtype for part in filled):
        return result
    return MarkedReports.of(result, marks.pop() if len(marks) == 1 else MIXED)


class DealtCards(np.ndarray[Any, Any]):
    """The cards of one deck; each can be used once.

    A slice or selection knows its places in the deck, so that parts of a deck can be used one
    after another. Plain arrays (`np.asarray(cards)`) are not watched.
    """

    _used: NDArray[np.bool_] | None = None  # shared by all that came from one deck
    _places: Any = None  # a range, or an array of places; None: not known
    _announced: NDArray[np.int64] | None = None  # how often the deck was announced; shared

    @classmethod
    def of(cls, cards: NDArray[Any]) -> "DealtCards":
        """A deck, fresh."""
        dealt = cards.view(cls)
        dealt._used = np.zeros(len(cards), np.bool_)
        dealt._places = range(len(cards))
        dealt._announced = np.zeros(1, np.int64)
        return dealt

    def __array_finalize__(self, source: Any) -> None:
        self._used = getattr(source, "_used", None)
        self._announced = getattr(source, "_announced", None)
        places = getattr(source, "_places", None)
        # A copy has its rows where the source has them; a selection says so itself (below).
        same = places is not None and self.shape[:1] == (len(places),)
        self._places = places if same else None

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, DealtCards):
            found._places = _selected(self._places, key[0] if isinstance(key, tuple) else key)
            if found._places is not None and found.shape[:1] != (len(found._places),):
                found._places = None
        return found

    def __reduce__(self) -> Any:  # elsewhere nobody would know what is used here
        return np.asarray(self).__reduce__()


def _selected(places: Any, key: Any) -> Any:
    """The places of rows that are selected from some places; None where that is not known."""
    if places is None:
        return None
    if isinstance(key, slice):
        return places[key]
    if isinstance(key, np.ndarray | list):
        return np.asarray(places)[np.asarray(key)]
    return None


def spend(cards: object) -> None:
    """Note that these cards are used now.

    Raises:
        ArgumentError: Some of them have been used before.
    """
    if not isinstance(cards, DealtCards) or cards._used is None or cards._places is None:
        return
    used, places = cards._used, cards._places
    at: Any = places
    if isinstance(places, range):
        stop = None if places.stop < 0 else places.stop
        at = slice(places.start, stop, places.step)
    if used[at].any():
        raise ArgumentError(
            "cards must be fresh, but some of these were used before: the same cards twice would "
            "expose answers; deal again"
        )
    used[at] = True


def note_announced(cards: object, most: int) -> None:
    """Note that sums of this deck's cards are announced now.

    Args:
        cards: The deck, or some of it.
        most: How often that was planned.

    Raises:
        ArgumentError: It was done as often before.
    """
    if not isinstance(cards, DealtCards) or cards._announced is None:
        return
    if cards._announced[0] >= most:
        once = "once" if most == 1 else f"{most} times"
        raise ArgumentError(
            f"cards must be of a deck whose sums were not announced yet as often as planned, "
            f"{once}: two sums can differ by one person's card (announcements= plans several)"
        )
    cards._announced[0] += 1


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


class AnnouncedNumber(int):
    """The sum of cards that are one number each.

    Example:
        >>> told = AnnouncedNumber(-4, cards=100)
        >>> told, told.cards, type(told + 1).__name__
        (-4, 100, 'int')
    """

    cards: int

    def __new__(cls, total: int, cards: int) -> "AnnouncedNumber":
        """A number and of how many cards it is the sum."""
        made = super().__new__(cls, total)
        made.cards = cards
        return made

    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        return type(self), (int(self), self.cards)


class AnnouncedRow(list[int]):
    """The sums of cards that have one number for each value."""

    def __init__(self, totals: Iterable[int], cards: int) -> None:
        super().__init__(totals)
        self.cards = cards

    def __reduce__(self) -> tuple[type, tuple[list[int], int]]:
        return type(self), (list(self), self.cards)


def cards_in(announced: object) -> list[int] | None:
    """Of how many cards each of these sums is; None where one of them does not remember it."""
    several = isinstance(announced, list | tuple) and not isinstance(announced, AnnouncedRow)
    sums: list[Any] = list(cast(Iterable[Any], announced)) if several else [announced]
    known = [one.cards for one in sums if isinstance(one, AnnouncedNumber | AnnouncedRow)]
    return known if known and len(known) == len(sums) else None
