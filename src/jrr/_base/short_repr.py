"""Values on a screen: long lists are cut, and say how long they are."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

MOST = 8  # entries that are shown whole
_FIRST = 5  # entries that are shown of longer ones


def short(value: Any) -> str:
    """The repr of a value; of long lists, tuples, arrays and mappings the first entries.

    Example:
        >>> short((1, 2, 3)), short(tuple(range(100)))
        ('(1, 2, 3)', '(0, 1, 2, 3, 4, ... 100 in all)')
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, Mapping):
        entries = [f"{key!r}: {short(entry)}" for key, entry in value.items()]
        return f"{{{_cut(entries)}}}"
    if isinstance(value, tuple | list) and len(value) > MOST:
        left, right = "()" if isinstance(value, tuple) else "[]"
        return f"{left}{_cut([repr(entry) for entry in value[: _FIRST + 1]], len(value))}{right}"
    return repr(value)


def _cut(entries: list[str], count: int | None = None) -> str:
    count = len(entries) if count is None else count
    if count <= MOST:
        return ", ".join(entries)
    return f"{', '.join(entries[:_FIRST])}, ... {count} in all"


class ShortRepr:
    """A dataclass whose long fields are cut in its repr."""

    def __repr__(self) -> str:
        shown = (
            f"{field.name}={short(getattr(self, field.name))}"
            for field in fields(self)  # type: ignore[arg-type]  # of dataclasses only
            if field.repr
        )
        return f"{type(self).__name__}({', '.join(shown)})"
