"""Numbers as people write them into forms."""

import re

from jrr._base import checks
from jrr.errors import ArgumentError

THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")


def read_number(name: str, text: str) -> float:
    """A number with a decimal point; commas may stand between thousands and nowhere else.

    A comma that was left out would make 0,5 a 5: ten times the privacy loss that was meant.

    Raises:
        ArgumentError: It is none.
    """
    text = text.strip()
    try:
        return float(text.replace(",", "") if THOUSANDS.fullmatch(text) else text)
    except ValueError:
        allowed = "a number, with a point before decimals, as 2000 or 0.5"
        raise ArgumentError(f"{name} must be {allowed}, got {text!r:.40}") from None


def read_percent(name: str, text: str, high: float, *, is_above: bool = False) -> float:
    """A share from a percentage, which is refused in the unit that it was typed in.

    is_above: 0% is refused.
    """
    allowed = f"{'above' if is_above else 'from'} 0 and at most {high:g}"
    number = read_number(name, text)
    typed = int(number) if number.is_integer() else number  # refused as it was typed
    return checks.real(name, typed, allowed, 0.0, high, open_low=is_above) / 100
