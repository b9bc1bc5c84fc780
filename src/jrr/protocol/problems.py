"""Problem documents (RFC 9457): what a server says instead of what was asked for."""

import json

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
