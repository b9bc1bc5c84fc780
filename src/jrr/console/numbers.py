"""Numbers as people write them into forms."""

import re

from jrr.errors import ArgumentError

_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")


def read_number(name: str, text: str) -> float:
    """A number with a decimal point; commas may stand between thousands and nowhere else.

    A comma that was left out would make 0,5 a 5: ten times the privacy loss that was meant.

    Raises:
        ArgumentError: It is none.
    """
    text = text.strip()
    try:
        return float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        allowed = "a number, with a point before decimals, as 2000 or 0.5"
        raise ArgumentError(f"{name} must be {allowed}, got {text!r:.40}") from None
