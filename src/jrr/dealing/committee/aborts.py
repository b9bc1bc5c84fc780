"""How a deal ends without cards."""

from typing import ClassVar

from jrr.errors import IntegrityError, UnreachableError


class Abort(IntegrityError):  # noqa: N818 - what happens, not what is wrong
    """The deal is over without cards; nothing of it may be used."""


class MissingPartyError(Abort, UnreachableError):
    """The deal is over because a party did not come, or went away: nobody is accused."""

    exit_code: ClassVar[int] = UnreachableError.exit_code
