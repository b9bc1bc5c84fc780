"""Whom a dealer is to accept, as a file for its operator: hashes that only this dealer can use.

From the file of invitations a dealer's operator could answer in people's place, and find them
at the other servers. From this one nothing of that follows.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jrr.errors import DamagedError
from jrr.protocol.identity import accepted

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

_HEX = 64  # digits of a hash


def names_file(
    survey: "Survey", number: int, invitations: Sequence[str], revoked: Sequence[str] = ()
) -> str:
    """The file for the dealer with this number: whom to accept, and whom no longer."""
    role = survey.dealing.roles[number]
    names = accepted(list(invitations), survey.hash, role)
    told: dict[str, Any] = {"survey": survey.hash, "dealer": survey.dealing.addresses[number]}
    told |= {"names": [name.hex() for name in names]}
    if revoked:
        gone = accepted(list(revoked), survey.hash, role)
        told |= {"revoked": [name.hex() for name in gone]}
    return json.dumps(told)


def read_names_file(text: str, survey: str, dealer: str) -> tuple[list[str], list[str]]:
    """The hashes in such a file, in hexadecimal digits: whom to accept, and whom no longer.

    Raises:
        DamagedError: It is no such file, or for another survey or dealer.
    """
    try:
        document = json.loads(text)
        found, names = (document["survey"], document["dealer"]), document["names"]
        revoked = document.get("revoked", [])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedError("accepted must be a file that the console made for a dealer") from None
    if found != (survey, dealer):
        raise DamagedError(
            f"accepted must be a file for survey {survey[:12]} at {dealer}, got one for "
            f"{str(found[0])[:12]} at {str(found[1])[:80]}"
        )
    for some in (names, revoked):
        if not isinstance(some, list) or not all(_is_hash(name) for name in some):
            raise DamagedError("accepted must be a list of hashes")
    return names, revoked


def _is_hash(name: object) -> bool:
    return isinstance(name, str) and len(name) == _HEX and set(name) <= set("0123456789abcdef")
