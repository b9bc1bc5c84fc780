"""Numbers in words that people read: what is shown of a chance is never more certain than it is."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal


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
