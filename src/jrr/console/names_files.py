"""Whom a dealer is to accept, as a file for its operator: hashes that only this dealer can use.

From the file of invitations a dealer's operator could answer in people's place, and find them
at the other servers. From this one nothing of that follows.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jrr.errors import DamagedError
from jrr.protocol.identity import accepted

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

_HEX = 64  # digits of a hash


def names_file(survey: "Survey", number: int, invitations: Sequence[str]) -> str:
    """The file for the dealer with this number."""
    role = survey.dealing.roles[number]
    names = accepted(list(invitations), survey.hash, role)
    told = {"survey": survey.hash, "dealer": survey.dealing.addresses[number]}
    return json.dumps(told | {"names": [name.hex() for name in names]})


def read_names_file(text: str, survey: str, dealer: str) -> list[str]:
    """The hashes in such a file, in hexadecimal digits.

    Raises:
        DamagedError: It is no such file, or for another survey or dealer.
    """
    try:
        document = json.loads(text)
        found, names = (document["survey"], document["dealer"]), document["names"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedError("people must be a file that the console made for a dealer") from None
    if found != (survey, dealer):
        raise DamagedError(
            f"people must be a file for survey {survey[:12]} at {dealer}, got one for "
            f"{str(found[0])[:12]} at {str(found[1])[:80]}"
        )
    if not isinstance(names, list) or not all(_is_hash(name) for name in names):
        raise DamagedError("people must be a list of hashes")
    return names


def _is_hash(name: object) -> bool:
    return isinstance(name, str) and len(name) == _HEX and set(name) <= set("0123456789abcdef")
