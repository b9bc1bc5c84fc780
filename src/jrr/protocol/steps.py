"""Steps of a conversation with servers, how long to insist, and refusals; no sockets, no clock.

A conversation is a generator: it yields what should be done next and is sent the outcome. So the
same lines drive one person's client, which waits, and ten thousand at once, which do not. What a
server says instead of what was asked for is a problem document (RFC 9457).
"""

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from jrr.errors import DamagedError, ProtocolError, UnreachableError

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


PREFIX = "urn:jrr:problem:"
ABORTED_DEAL = "aborted"  # a party of a committee broke the rules
MISSING_PARTY = "party-missing"  # a party of a committee did not come, or went away
LEFT_OUT = "left-out"  # enrolled at this party of a committee, but not dealt to
LOST_CARD = "lost"  # whoever holds it complained of it
UNKNOWN_NAME = "unknown-pseudonym"  # not invited, or not enrolled
RESULTS_WAIT = "results-wait"  # not enough new reports since the last result that was shown


def problem_document(kind: str, status: int, detail: str) -> dict[str, object]:
    """The body of a refusal."""
    return {
        "type": f"{PREFIX}{kind}",
        "title": kind.replace("-", " "),
        "status": status,
        "detail": detail,
    }


def read_problem(body: bytes) -> tuple[str, str]:
    """Kind and detail of a refusal, both empty where the body is no problem document."""
    try:
        document = json.loads(body)
        return str(document.get("type", "")).removeprefix(PREFIX), str(document.get("detail", ""))
    except (ValueError, AttributeError, RecursionError):
        return "", ""
