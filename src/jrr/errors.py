"""Everything that jrr raises on purpose, in one tree.

ValueError
└── JrrError               any refusal or failure that jrr foresees; exit code 1
    ├── ArgumentError      an argument is refused: its name, its value, what is allowed; 2
    ├── DamagedError       a file or a message is not what it should be; 3
    ├── ProtocolError      a server or a survey says no; 4
    ├── UnreachableError   a server does not answer; try again later; 5
    ├── IntegrityError     somebody broke the rules, such as a party of a committee; 6
    ├── MissingExtraError  an optional part of jrr is not installed; 7
    └── InterruptedRunError    somebody asked to stop; nothing is half-written; 130

The number is the exit code of a command that ends so (docs/cli.md). JrrError is a ValueError
because callers of the first versions caught it as one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class JrrError(ValueError):
    """The root: whatever jrr refuses or fails at on purpose."""

    exit_code: ClassVar[int] = 1


class ArgumentError(JrrError):
    """An argument is refused; the message names it, its value and what is allowed."""

    exit_code: ClassVar[int] = 2


class DamagedError(JrrError):
    """A file or a message cannot be read as what it claims to be."""

    exit_code: ClassVar[int] = 3


class ProtocolError(JrrError):
    """A server or a survey refuses: closed, unknown, contradictory, beyond a limit."""

    exit_code: ClassVar[int] = 4


class UnreachableError(JrrError):
    """A server does not answer, or not now; the same request may succeed later."""

    exit_code: ClassVar[int] = 5


class IntegrityError(JrrError):
    """Somebody did not keep to the rules, and it was noticed."""

    exit_code: ClassVar[int] = 6


class MissingExtraError(JrrError):
    """An optional part of jrr is needed and not installed; the message names the extra."""

    exit_code: ClassVar[int] = 7

    def __init__(self, needs: str, extra: str | None = None) -> None:
        # Nothing is on PyPI yet, so that the bare name would install what is not ours.
        how = "" if extra is None else f": pip install '.[{extra}]' in a clone of jrr"
        super().__init__(needs + how)


@contextmanager
def needed(needs: str, extra: str) -> Iterator[None]:
    """Say which extra has what an import inside does not find: "QR codes need" segno."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{needs} {error.name}", extra) from None


class InterruptedRunError(JrrError):
    """Somebody asked to stop; nothing is half-written."""

    exit_code: ClassVar[int] = 130
