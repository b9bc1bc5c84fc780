"""The picture of who asks: a small PNG that stands in the survey's document, in base64.

So it has the survey's name (its hash), and no page asks another server for it.
"""

import base64
import binascii
from pathlib import Path

from jrr._base import checks

MOST = 24_000  # characters of base64
WIDEST = 1_000  # pixels, also of its height: a device must be able to show it
_ALLOWED = f"a PNG in base64, at most {MOST:,} characters, and {WIDEST:,} pixels wide and high"
_START = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def check_logo(value: object) -> None:
    """Refuse what is no such picture.

    Raises:
        ArgumentError: It is none, or too large.
    """
    if not isinstance(value, str):
        raise checks.refusal("logo", value, _ALLOWED)
    try:
        picture = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        picture = b""
    sides = [int.from_bytes(picture[at : at + 4], "big") for at in (16, 20)]
    if len(value) > MOST or not picture.startswith(_START) or not 1 <= min(sides) <= WIDEST:
        raise checks.refusal("logo", f"{value:.40}", _ALLOWED)
    if max(sides) > WIDEST:
        raise checks.refusal("logo", f"{sides[0]} × {sides[1]} pixels", _ALLOWED)


def read_logo(file: Path) -> str:
    """A file as documents have it.

    Raises:
        ArgumentError: It cannot be read, or is no such picture.
    """
    try:
        found = base64.b64encode(file.read_bytes()).decode()
    except OSError as error:
        raise checks.refusal("logo_file", str(file), f"readable ({error.strerror})") from None
    check_logo(found)
    return found
