"""Texts and times of documents: short enough, printable, in one form."""

import unicodedata
from datetime import UTC, datetime

from jrr._base import checks

MOST_OF_ASKER = 500  # characters of who asks, and of whom to ask


def check_text(argument: str, value: object, most: int, empty: bool = False) -> None:
    """Refuse what is no printable text of at most `most` characters."""
    if not isinstance(value, str) or len(value) > most or not (value.strip() or empty):
        raise checks.refusal(argument, value, f"a text of at most {most} characters")
    # Neither halves of characters nor commands to somebody's terminal.
    strange = next((one for one in value.replace("\n", "") if not one.isprintable()), None)
    if strange is not None:
        where = value.index(strange) + 1
        name = unicodedata.name(strange, f"U+{ord(strange):04X}")
        allowed = f"a text of printable characters ({name} at character {where} is none)"
        raise checks.refusal(argument, value, allowed)


def read_time(argument: str, value: object) -> datetime | None:
    """A time as documents write it; None for none.

    Args:
        argument: The name of what holds it, for the refusal.
        value: A text such as 2026-01-31T12:00:00Z, or None.

    Raises:
        ArgumentError: It is no such text.
    """
    if value is None:
        return None
    allowed = "a time in UTC as 2026-01-31T12:00:00Z"
    if not isinstance(value, str):
        raise checks.refusal(argument, value, allowed)
    try:
        return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise checks.refusal(argument, value, allowed) from None
