"""Refusals over HTTP, as problem documents (RFC 9457). They never repeat what was sent."""

import random
from collections.abc import Mapping

from jrr.protocol.steps import UNKNOWN_NAME, problem_document

RETRY_AFTER = (1, 4)  # seconds, drawn anew for everybody


class Problem(Exception):  # noqa: N818 - the name of RFC 9457
    """A reply that is not what was asked for."""

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})

    def document(self) -> dict[str, object]:
        """The body of the reply."""
        return problem_document(self.kind, self.status, self.detail)


def unknown_survey() -> Problem:
    """No such survey here."""
    return Problem(404, "unknown-survey", "this server holds no such survey")


def unknown_name() -> Problem:
    """Not invited, or not enrolled, or no seat left."""
    return Problem(404, UNKNOWN_NAME, "this pseudonym is not known here")


def too_early(what: str) -> Problem:
    """Try again later."""
    return Problem(425, "too-early", what, {"Retry-After": "5"})


def gone(what: str) -> Problem:
    """It is over."""
    return Problem(410, "closed", what)


def wrong_state(what: str) -> Problem:
    """Another step must come first."""
    return Problem(409, "wrong-state", what)


def too_large(limit: int) -> Problem:
    """A body of more bytes than there is room for."""
    return Problem(413, "too-large", f"a body may have at most {limit} bytes")


def busy() -> Problem:
    """More is asked than can be done in time."""
    return Problem(503, "busy", "more is asked than can be done now", _later())


def unavailable() -> Problem:
    """What the server needs, its database or disk, is away."""
    return Problem(503, "unavailable", "the server's database cannot be used now", _later())


def _later() -> dict[str, str]:
    # Not all at the same time again.
    return {"Retry-After": str(random.randint(*RETRY_AFTER))}
