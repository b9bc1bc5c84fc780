"""Arrays that remember where they came from: reports made with or without cards, dealt cards.

They are numpy arrays in every other way. What is computed from them is a plain array; slices,
selections, copies, pickles and concatenations keep what is known of their rows. Of an array that
was written into, and of one that was only made in the shape of another, nothing is known. It costs
a few microseconds for an array, whatever its length, except that selections keep the places of
cards.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from jrr.errors import ArgumentError

MIXED = "mixed"  # some rows were made with a card, and some without


class MarkedReports(np.ndarray[Any, Any]):
    """Reports that know whether they were made with cards: True, False or "mixed".

    Example:
        >>> reports = MarkedReports.of(np.array([1, 0, 1]), carded=False)
        >>> reports[1:].carded, type(reports + 1).__name__
        (False, 'ndarray')
    """

    carded: bool | str | None = None  # None: nothing is known

    @classmethod
    def of(cls, reports: NDArray[Any], carded: bool) -> "MarkedReports":
        """The same numbers, marked."""
        marked = reports.view(cls)
        marked.carded = carded
        return marked

    def __array_finalize__(self, source: Any) -> None:
        self.carded = getattr(source, "carded", None)

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        result = super().__array_function__(function, types, args, kwargs)
        if function in _WRITING and isinstance(args[0], MarkedReports):
            args[0].forget()
        if not isinstance(result, np.ndarray):
            return result
        if function is np.concatenate:
            return _marked_as(result, args[0])
        return np.asarray(result) if function in _ONLY_SHAPE else result

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self.carded is None or getattr(value, "carded", None) is not self.carded:
            self.forget()

    def forget(self) -> None:
        """From now on nothing is known of these rows, nor of the arrays that this is a part of."""
        array: Any = self
        while isinstance(array, MarkedReports):
            array.carded = None
            array = array.base

    def __deepcopy__(self, memo: Any) -> "MarkedReports":
        return self.copy()

    def __reduce__(self) -> Any:
        rebuild, args, state = cast(tuple[Any, Any, Any], super().__reduce__())
        return rebuild, args, (self.carded, state)

    def __setstate__(self, state: Any) -> None:
        carded, own = state
        super().__setstate__(own)
        self.carded = carded


_WRITING = (np.copyto, np.put, np.place, np.putmask, np.put_along_axis)
_ONLY_SHAPE = (np.empty_like, np.zeros_like, np.ones_like, np.full_like)


def _marked_as(result: NDArray[Any], parts: Sequence[Any]) -> NDArray[Any]:
    """A concatenation, marked as its parts are; nothing is known if of one nothing is."""
    marks = {getattr(part, "carded", None) for part in parts if len(part)}
    marked = result.view(MarkedReports)
    marked.carded = marks.pop() if len(marks) == 1 else None if None in marks else MIXED
    return marked


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
