"""Texts that people will read: short enough, printable."""

import unicodedata

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
