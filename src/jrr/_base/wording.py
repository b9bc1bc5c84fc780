"""Numbers and values as people read them: no chance looks more certain than it is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np


def of_hundred(probability: float, start: bool = False) -> str:
    """A probability as cases of 100, to three digits, or as many as it takes not to look certain.

    Example:
        >>> of_hundred(0.25)
        'in 25 of 100 cases'
    """
    for digits in range(3, 18):
        shown = f"{100 * probability:.{digits}g}"
        if 0 < float(shown) < 100 or probability in (0, 1):
            break
    return f"{'In' if start else 'in'} {shown} of 100 cases"


def show_epsilon(epsilon: float) -> str:
    """Four digits, rounded up: what is shown is never less than what holds."""
    return "unbounded" if math.isinf(epsilon) else rounded_up(epsilon, 4)


def show_at_least(epsilon: float) -> str:
    """Four digits, rounded down: what is reached is never shown larger."""
    down = Context(prec=4, rounding=ROUND_FLOOR).create_decimal(repr(epsilon))
    return f"{down.normalize():f}" if math.isfinite(epsilon) else "unbounded"


def show_guarantee(epsilon: float, delta: float) -> str:
    """ε, and the δ at which it holds where that is not 0.

    Example:
        >>> show_guarantee(1.37512, 1e-6)
        'ε = 1.376 at δ = 1e-06'
    """
    at = f" at δ = {delta:g}" if delta and not math.isinf(epsilon) else ""
    return f"ε {'' if math.isinf(epsilon) else '= '}{show_epsilon(epsilon)}{at}"


def rounded_up(number: float, digits: int) -> str:
    """So many digits, never less than the number."""
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(number))
    return f"{up.normalize():f}"


def percentage_points(shown: str) -> str:
    """A number, already formatted, with its unit.

    Example:
        >>> percentage_points("1"), percentage_points("0.5")
        ('1 percentage point', '0.5 percentage points')
    """
    return f"{shown} percentage {'point' if shown == '1' else 'points'}"


def aligned(numbers: Sequence[float], digits: int = 3, *, up: bool = False) -> list[str]:
    """Numbers of one column or table with equally many decimals.

    The smallest that is not 0 is shown with `digits` digits, but nothing beyond six decimals.

    Args:
        numbers: what is shown together; infinity is "unbounded".
        digits: of the smallest number.
        up: round up, for guarantees.

    Example:
        >>> aligned([0.5, 12.25, 0.03141])
        ['0.5000', '12.2500', '0.0314']
    """
    finite = [abs(number) for number in numbers if math.isfinite(number) and number]
    least = min(finite, default=1.0)
    places = min(6, max(0, digits - 1 - math.floor(math.log10(least))))
    step, rounding = Decimal(1).scaleb(-places), ROUND_CEILING if up else ROUND_HALF_EVEN
    return [
        f"{Decimal(repr(float(number))).quantize(step, rounding):f}"
        if math.isfinite(number)
        else "unbounded"
        for number in numbers
    ]


def counted(count: int, one: str, many: str) -> str:
    """A number and what it counts."""
    return f"{count:,} {one if count == 1 else many}"


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
