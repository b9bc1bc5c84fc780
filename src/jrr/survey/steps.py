"""Steps of a conversation with servers, and how long to insist on an answer; no sockets, no clock.

A conversation is a generator: it yields what should be done next and is sent the outcome. So the
same lines drive one person's client, which waits, and ten thousand at once, which do not.
"""

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from jrr.errors import DamagedError, ProtocolError, UnreachableError
from jrr.survey.problems import read_problem

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0  # seconds between two tries
T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request to make."""

    address: str
    body: bytes | None = None  # None: GET


@dataclass(frozen=True)
class Reply:
    """What came back; status 0 where nothing did."""

    status: int
    body: bytes = b""
    retry_after: float = 0.0  # seconds after which the server wants to be asked again

    @property
    def gave_up(self) -> bool:
        """Whether trying again later may help: nothing came, or the server had trouble."""
        return self.status == 0 or self.status == 429 or self.status >= 500


@dataclass(frozen=True)
class Wait:
    """Time to let pass."""

    seconds: float


@dataclass(frozen=True)
class Save:
    """A perturbed report to keep before it is sent: only this one may ever be sent.

    Where one is kept already, the driver replies with that one.
    """

    body: bytes
    mechanism: "Mechanism | None" = field(default=None, compare=False)  # by which it was made


Step = Call | Wait | Save
Steps = Generator[Step, Reply | None, T]


def insist(
    call: Call, patience: float, *, silence_is_fine: bool = False, also: tuple[int, ...] = ()
) -> Steps[Reply]:
    """Ask again, ever more slowly, or when the server says, while patience lasts.

    Args:
        call: What to ask.
        patience: Seconds to wait between tries, in all.
        silence_is_fine: Return the last reply instead of an error where none was good.
        also: Statuses besides trouble and silence after which to ask again.

    Returns:
        A reply of a server that had no trouble.

    Raises:
        UnreachableError: Patience is over.
    """
    pause, waited = FIRST_WAIT, 0.0
    while True:
        reply = cast(Reply, (yield call))
        if not reply.gave_up and reply.status not in also:
            return reply
        if waited >= patience:
            break
        wait = min(max(pause, reply.retry_after), patience - waited)
        yield Wait(wait)
        waited += max(pause, wait)
        pause = min(2 * pause, LONGEST_WAIT)
    if silence_is_fine:
        return reply
    raise unreachable(call.address, reply, patience)


def seconds_of(retry_after: str | None) -> float:
    """What a server says in Retry-After, as far as it is a number of seconds; else 0.

    Example:
        >>> seconds_of("3"), seconds_of(None), seconds_of("Wed, 21 Oct 2026 07:28:00 GMT")
        (3.0, 0.0, 0.0)
    """
    text = (retry_after or "").strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0.0


def unreachable(address: str, reply: Reply, patience: float) -> UnreachableError:
    """A server that had trouble, or said nothing, as long as patience lasted."""
    said = f"said {reply.status}" if reply.status else "did not answer"
    return UnreachableError(f"{address} {said} for {patience:g} seconds")


def read_reply(body: bytes, who: str) -> dict[str, Any]:
    """The JSON object in a reply.

    Raises:
        DamagedError: There is none.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise DamagedError(f"{who} must reply with a JSON object")
    return document


def refused(who: str, reply: Reply) -> ProtocolError:
    """The reason that a server gives, in one line of printable text."""
    _, detail = read_problem(reply.body)
    return ProtocolError(
        f"{who} refused ({reply.status}): {printable(detail) or 'no reason given'}"
    )


def printable(text: str) -> str:
    """What a server says, in one short line of printable text."""
    return "".join(letter for letter in text if letter.isprintable())[:300]
