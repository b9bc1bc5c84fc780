"""What stands in documents: texts, times and addresses, short enough, printable, in one form."""

import unicodedata
from datetime import UTC, datetime
from urllib.parse import urlsplit

from jrr._base import checks

MOST_OF_ASKER = 500  # characters of who asks, and of whom to ask


def check_text(argument: str, value: object, most: int) -> None:
    """Refuse what is no printable text of at most `most` characters."""
    if not isinstance(value, str) or len(value) > most or not value.strip():
        raise checks.refusal(argument, value, f"a text of at most {most} characters")
    # Neither halves of characters nor commands to somebody's terminal.
    strange = next((one for one in value.replace("\n", "") if not one.isprintable()), None)
    if strange is not None:
        where = value.index(strange) + 1
        name = unicodedata.name(strange, f"U+{ord(strange):04X}")
        allowed = f"a text of printable characters ({name} at character {where} is none)"
        raise checks.refusal(argument, value, allowed)


def read_time(argument: str, value: object) -> datetime | None:
    """A time as documents write it; None for none.

    Args:
        argument: The name of what holds it, for the refusal.
        value: A text such as 2026-01-31T12:00:00Z, or None.

    Raises:
        ArgumentError: It is no such text.
    """
    if value is None:
        return None
    allowed = "a time in UTC as 2026-01-31T12:00:00Z"
    if not isinstance(value, str):
        raise checks.refusal(argument, value, allowed)
    try:
        return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise checks.refusal(argument, value, allowed) from None


_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORTS = {"http": 80, "https": 443}  # where an address names none


def check_address(argument: str, value: object) -> str:
    """An https address without a slash at its end, as https://survey.example.

    http is allowed on this machine only: in the clear, whoever sees the network has card and
    report together.
    """
    allowed = "an address as https://survey.example (http only on this machine)"
    if not isinstance(value, str) or len(value) > 1_000:
        raise checks.refusal(argument, value, allowed)
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise checks.refusal(argument, value, allowed) from None
    has_more = parts.query or parts.fragment or parts.username or value.endswith("/")
    is_plain = value.isascii() and value.isprintable() and " " not in value
    is_local = parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    is_safe = parts.scheme == "https" or is_local
    if not is_safe or not parts.hostname or has_more or not is_plain:
        raise checks.refusal(argument, value, allowed)
    return value


def without_slash(address: str) -> str:
    """An address as people paste it, without the slashes and blanks at its ends.

    Example:
        >>> without_slash(" https://survey.example/ ")
        'https://survey.example'
    """
    return address.strip().rstrip("/")


def origin(address: str) -> tuple[str, str | None, int]:
    """Who answers at a checked address, however it is written: scheme, host and port."""
    parts = urlsplit(address)
    port = parts.port if parts.port is not None else _DEFAULT_PORTS[parts.scheme]
    return parts.scheme, parts.hostname, port


def check_link(value: object) -> tuple[str, int]:
    """Host and port where a party listens for the others, from host:port."""
    host, colon, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise checks.refusal("link", value, "as party.example:7000")
    return host, int(port)


def survey_path(name: str) -> str:
    """Where every server keeps a survey."""
    return f"/v1/surveys/{name}"


def admin_path(name: str) -> str:
    """Where every server keeps a survey for its operator."""
    return f"/v1/admin/surveys/{name}"


def split_link(link: object) -> tuple[str, str]:
    """Collector and hash of a link as https://survey.example/v1/surveys/0123…."""
    kind = survey_path("")
    allowed = f"a link as https://survey.example{kind} and 64 hexadecimal digits"
    if not isinstance(link, str) or len(link) > 2_000:
        raise checks.refusal("link", link, allowed)
    collector, separator, name = without_slash(link).partition(kind)
    if not separator or len(name) != 64 or not set(name) <= set("0123456789abcdef"):
        raise checks.refusal("link", link, allowed)
    return check_address("link", collector), name
