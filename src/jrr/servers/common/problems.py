"""Refusals over HTTP, as problem documents (RFC 9457). They never repeat what was sent."""

from collections.abc import Mapping

from jrr.survey.problems import problem_document


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


def unknown_campaign() -> Problem:
    """No such campaign here."""
    return Problem(404, "unknown-campaign", "this server holds no such campaign")


def unknown_name() -> Problem:
    """Not invited, or not enrolled, or no seat left."""
    return Problem(404, "unknown-pseudonym", "this pseudonym is not known here")


def too_early(what: str) -> Problem:
    """Try again later."""
    return Problem(425, "too-early", what, {"Retry-After": "5"})


def busy() -> Problem:
    """The database is in use by somebody else, or does not answer."""
    return Problem(503, "busy", "the database does not answer now: try again", {"Retry-After": "5"})


def gone(what: str) -> Problem:
    """It is over."""
    return Problem(410, "closed", what)


def wrong_state(what: str) -> Problem:
    """Another step must come first."""
    return Problem(409, "wrong-state", what)
