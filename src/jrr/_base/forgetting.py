"""Secrets that are overwritten in memory when they are of no more use.

Python does not clear what it frees: a key that nobody refers to any more stays where it was until
the place is used again, which on an idle server may be never.
"""

import ctypes
from typing import Any

from numpy.typing import NDArray

_SHORTEST = 16  # bytes: shorter ones may be shared between strangers by the interpreter


def overwrite(secret: bytes) -> None:
    """Overwrite bytes in place, wherever else they are referred to.

    Args:
        secret: A key that nobody uses any more, made at run time and not a literal.
    """
    if len(secret) >= _SHORTEST:
        place = ctypes.cast(ctypes.c_char_p(secret), ctypes.c_void_p).value
        assert place is not None  # not empty
        ctypes.memset(place, 0, len(secret))


def overwrite_array(array: NDArray[Any] | None) -> None:
    """Overwrite an array in place; None: nothing."""
    if array is not None and array.flags.writeable:
        array.fill(0)
