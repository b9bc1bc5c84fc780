"""Arguments, checked once and refused clearly: argument, value, what is allowed."""

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import CO_VARKEYWORDS
from types import CodeType
from typing import Any, ParamSpec, SupportsIndex, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr.errors import ArgumentError

P = ParamSpec("P")
T = TypeVar("T")
_SHOWN = 80  # characters of a refused value that an error repeats
_RAREST = 1e-12  # chance of an error below which intervals have no end in floating point


def refusal(argument: str, value: object, allowed: str) -> ArgumentError:
    """The one form of every refusal."""
    try:
        shown = repr(value)
    except ValueError:  # a number of thousands of digits
        shown = "a very long number"
    if len(shown) > _SHOWN:
        shown = shown[: _SHOWN - 3] + "..."
    named = "" if " " in argument else f"{argument}="  # words are said once
    return ArgumentError(f"{argument} must be {allowed}, got {named}{shown}")


def names_checked(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, which says what was meant where it is called with a name it has not."""
    name = function.__name__
    call = function.__qualname__.split(".")[-2] if name == "__init__" else name
    code: CodeType = function.__code__
    if code.co_flags & CO_VARKEYWORDS:
        return function
    allowed = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def called(*values: P.args, **named: P.kwargs) -> T:
        if not named.keys() <= {*allowed}:
            _refuse_names(call, named.keys() - {*allowed}, allowed, *values[:1])
        return function(*values, **named)

    return called


def init_checked(made: type[T]) -> type[T]:
    """The same class, the constructor of which says what was meant."""
    made.__init__ = names_checked(made.__init__)  # type: ignore[method-assign]
    return made


def _refuse_names(
    call: str, unknown: Collection[str], allowed: Sequence[str], owner: object = None
) -> None:
    from difflib import get_close_matches  # seldom needed

    for name in unknown:
        if name.startswith("eps") and "epsilon" not in allowed and hasattr(owner, "for_epsilon"):
            raise TypeError(f"{call}() has no argument {name!r}: see {call}.for_epsilon()")
        begins = [one for one in allowed if one.startswith(name)]
        close = begins or get_close_matches(name, allowed, 1)
        listed = ", ".join(one for one in allowed if one not in ("self", "cls"))
        meant = f"did you mean {close[0]}=?" if close else f"it has {listed}"
        raise TypeError(f"{call}() has no argument {name!r}: {meant}")


def exactly_one(**given: object) -> None:
    """Refuse unless exactly one of two arguments that mean the same is given."""
    if sum(value is not None for value in given.values()) != 1:
        got = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ArgumentError(f"exactly one of {' and '.join(given)} must be given, got {got}")


def integer(argument: str, value: object, low: int, high: int | None = None) -> int:
    """A whole number in low..high; booleans and floats are refused."""
    allowed = f"a whole number >= {low}" if high is None else f"a whole number in {low}..{high}"
    if isinstance(value, bool | np.bool_):
        raise refusal(argument, value, allowed)
    try:
        number = operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise refusal(argument, value, allowed) from None
    if number < low or (high is not None and number > high):
        raise refusal(argument, value, allowed)
    return number


def real(
    argument: str,
    value: object,
    allowed: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """A finite real number between low and high."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise refusal(argument, value, allowed)
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        raise refusal(argument, value, allowed) from None
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if not math.isfinite(number) or below or above:
        raise refusal(argument, value, allowed)
    return number


def domain(value: object, most: int = 1 << 32) -> int:
    """A number of possible values."""
    k = integer("k", value, 2)
    if k > most:
        raise refusal("k", value, f"at most {most} (OLH takes larger domains)")
    return k


def deck_size(value: object) -> int:
    """A number of contributors who are dealt from one deck."""
    n = integer("n", value, 2)
    if n > 10**15:
        raise refusal("n", value, "at most 10**15")
    return n


def epsilon(argument: str, value: object) -> float:
    """A privacy budget; e^700 is about the largest number there is."""
    return real(argument, value, "a finite number > 0, at most 700", 0.0, 700.0, open_low=True)


def delta(value: object) -> float:
    """The δ of a guarantee: a chance below 1."""
    return real("delta", value, "in [0, 1)", 0.0, 1.0, open_high=True)


def positive(argument: str, value: object) -> float:
    """A finite real number above 0, such as a privacy budget."""
    return real(argument, value, "a finite number > 0", low=0.0, open_low=True)


def level(value: object) -> float:
    """A confidence level between 0 and 1, both excluded, whose normal quantile is finite."""
    found = real("level", value, "a number in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    if found > 1 - _RAREST:
        raise refusal("level", value, f"a number in (0, 1), at most 1 - {_RAREST:g}")
    return found


def symbols(argument: str, values: ArrayLike, k: int) -> NDArray[Any]:
    """A one-dimensional array of whole numbers 0..k-1, in whatever integer type it came."""
    allowed = f"a one-dimensional array of whole numbers in 0..{k - 1}"
    array = array_of(argument, values, allowed)
    if array.ndim != 1:
        raise ArgumentError(f"{argument} must be {allowed}, got shape {array.shape}")
    if array.size == 0:
        return array.astype(np.uint8)
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"{argument} must be {allowed}, got dtype {array.dtype}")
    # Read as unsigned, a negative number is huge: one pass finds both kinds of stranger.
    unsigned = array.view(array.dtype.str.replace("i", "u"))
    if int(unsigned.max()) >= k:
        worst = array[np.argmax(unsigned >= k)]
        raise ArgumentError(f"{argument} must be {allowed}, got {argument} with {int(worst)}")
    return array


def symbol(argument: str, value: object, k: int) -> int:
    """One whole number 0..k-1; False and True are 0 and 1, as in arrays."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    return integer(argument, value, 0, k - 1)


def array_of(argument: str, values: ArrayLike, allowed: str) -> NDArray[Any]:
    """Whatever numpy makes of the values, or a refusal."""
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        raise refusal(argument, values, allowed) from None


def signs(argument: str, values: ArrayLike, length: int) -> NDArray[Any]:
    """An array of +1, -1 and 0 with `length` entries."""
    allowed = "whole numbers +1, -1 or 0 (blank)"
    array = array_of(argument, values, allowed)
    same_length(argument, array, "values", length)
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"{argument} must be {allowed}, got dtype {array.dtype}")
    strange = (array > 1) | (array < -1)
    if strange.any():
        raise ArgumentError(f"{argument} must be {allowed}, got {int(array[np.argmax(strange)])}")
    return array


def same_length(argument: str, array: NDArray[Any], other: str, length: int) -> None:
    """Refuse an array whose length differs from another one's."""
    if array.shape != (length,):
        raise ArgumentError(
            f"{argument} must be a one-dimensional array as long as {other} ({length}), "
            f"got shape {array.shape}"
        )


def flags(argument: str, values: ArrayLike, length: int) -> NDArray[np.bool_]:
    """A boolean array of the given length."""
    array = array_of(argument, values, f"a boolean array of length {length}")
    if array.dtype != np.bool_ or array.shape != (length,):
        raise ArgumentError(
            f"{argument} must be True, False or a boolean array of length {length}, "
            f"got dtype {array.dtype}, shape {array.shape}"
        )
    return array


def amounts(argument: str, values: ArrayLike, length: int) -> NDArray[np.float64]:
    """Non-negative finite numbers, one per value of the domain (true counts may be expected)."""
    allowed = f"{length} non-negative numbers, one per value"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal(argument, values, allowed) from None
    if array.shape != (length,) or not np.isfinite(array).all() or (array < 0).any():
        raise refusal(argument, values, allowed)
    return array


def one_of(argument: str, value: object, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise refusal(argument, value, f"one of {listed}" if allowed else "left out: there is none")
    return value


def text(argument: str, value: object) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise refusal(argument, value, "a text")
    return value


def names(argument: str, value: object) -> tuple[str, ...]:
    """A list of texts; a single text is refused, which Python would iterate letter by letter."""
    if not isinstance(value, tuple | list) or not all(isinstance(name, str) for name in value):
        raise refusal(argument, value, "a list of names")
    return tuple(value)


def from_hex(argument: str, document: object, width: int) -> bytes:
    """The bytes behind hexadecimal digits: lower-case, as there is one way to write them."""
    allowed = f"{2 * width} lower-case hexadecimal digits"
    if not isinstance(document, str) or len(document) != 2 * width:
        raise refusal(argument, document, allowed)
    try:
        row = bytes.fromhex(document)
    except ValueError:
        raise refusal(argument, document, allowed) from None
    if row.hex() != document:
        raise refusal(argument, document, allowed)
    return row


def exact_fields(
    document: object, names: Collection[str], argument: str = "document"
) -> dict[str, Any]:
    """The fields of an object that has these and no others, or a refusal."""
    if not isinstance(document, Mapping) or set(document) != set(names):
        raise refusal(argument, document, f"an object with exactly {sorted(names)}")
    return dict(document)
