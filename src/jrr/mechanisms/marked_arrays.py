"""Arrays that remember where they came from: reports made with or without cards, dealt cards.

Reports that remember it cannot be written into. Selected rows, copies, pickles, parts and
concatenations remember it too; everything else that is made or computed of them is plain, and of
plain arrays nothing is known. `np.array(reports)` makes a plain copy, which can be written into.
It costs a few microseconds for an array, whatever its length, except that selections keep the
places of cards.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr.errors import ArgumentError

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
    _announced: NDArray[np.bool_] | None = None  # whether the deck's sum was announced; shared

    @classmethod
    def of(cls, cards: NDArray[Any]) -> "DealtCards":
        """A deck, fresh."""
        dealt = cards.view(cls)
        dealt._used = np.zeros(len(cards), np.bool_)
        dealt._places = range(len(cards))
        dealt._announced = np.zeros(1, np.bool_)
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


def note_announced(cards: object) -> None:
    """Note that the sum of this deck is announced now.

    Raises:
        ArgumentError: It was announced before.
    """
    if not isinstance(cards, DealtCards) or cards._announced is None:
        return
    if cards._announced[0]:
        raise ArgumentError(
            "cards must be of a deck whose sum was not announced yet: two sums can differ by one "
            "person's card"
        )
    cards._announced[0] = True
