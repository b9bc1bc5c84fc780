"""Admin tokens: operators keep tokens, the server is given their hashes, names and last days.

A setting lists them with blanks between, each as 64 hexadecimal digits, which may have a name
before and a last day after it: `alice=HASH@2027-01-31`. A name may say what its token is for:
`bob:look=HASH` sees counts and results, `eve:deal=HASH` also opens, deals and closes at a dealer;
without such a word a token may do everything. A server reads tokens again on SIGHUP, so that they
can be changed without a restart.
"""

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from jrr.errors import ArgumentError

log = logging.getLogger("jrr.servers")
_NAME = r"([A-Za-z0-9_.\-]{1,32})(?::(look|deal))?"
_ENTRY = re.compile(rf"(?:{_NAME}=)?([0-9a-f]{{64}})(?:@(\d{{4}}-\d\d-\d\d))?")
SILENCE = 60.0  # seconds between two lines about wrong tokens
_OF_NOTHING = hashlib.sha256(b"").hexdigest()


def new_token() -> str:
    """A fresh token, secret."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """What a server is given of a token: admin_token_sha256."""
    return hashlib.sha256(token.encode()).hexdigest()


class Right(StrEnum):
    """What an operator may do."""

    ALL = "all"
    LOOK = "look"  # counts and results; no changes, no files of answers
    DEAL = "deal"  # that, and what a dealer does with surveys that it was given

    def allows(self, act: str | None) -> bool:
        """Whether it covers an act as the audit log names it; None: looking."""
        return self is Right.ALL or act is None or (self is Right.DEAL and act in _DEALING)


_DEALING = frozenset(("open", "deal", "check", "commit", "close", "extend"))


@dataclass(frozen=True, kw_only=True)
class AdminToken:
    """What a server knows of one token, or of somebody whom a proxy has signed in."""

    digest: str
    name: str = ""
    right: Right = Right.ALL
    last_day: date | None = None  # in UTC; None: no end
    is_own: bool = False  # of this process, for requests to itself

    @property
    def shown_name(self) -> str:
        """Its name, or how its hash begins."""
        return self.name or self.digest[:8]


def read_tokens(setting: str) -> tuple[AdminToken, ...]:
    """The tokens that a setting names.

    Args:
        setting: At least one, as above.

    Returns:
        The tokens, in that order.

    Raises:
        ArgumentError: One is not written as it should be, or is the hash of the empty text.

    Example:
        >>> [(one.name, one.last_day) for one in read_tokens("a=" + 64 * "0" + "@2027-01-31")]
        [('a', datetime.date(2027, 1, 31))]
    """
    tokens = []
    for entry in setting.split():
        match = _ENTRY.fullmatch(entry)
        try:
            last = None if match is None or match[4] is None else date.fromisoformat(match[4])
        except ValueError:
            match = None
        if match is None:
            break
        name, right, digest, _ = match.groups()
        if digest == _OF_NOTHING:
            raise ArgumentError("admin_token_sha256 must not be the hash of the empty text")
        tokens.append(
            AdminToken(
                digest=digest, name=name or "", right=Right(right or Right.ALL), last_day=last
            )
        )
    else:
        if tokens:
            return tuple(tokens)
    raise ArgumentError(
        "admin_token_sha256 must be 64 hexadecimal digits (jrr serve token makes them), or several "
        "with blanks between, each perhaps as NAME=DIGITS@LAST-DAY or NAME:look=DIGITS, "
        "NAME:deal=DIGITS"
    )


def read_users(setting: str) -> dict[str, AdminToken]:
    """Whom a proxy may sign in: name -> what a server knows of them.

    Args:
        setting: Names with blanks between, each perhaps with what they may do: "alice bob:look".

    Raises:
        ArgumentError: One is not written so, or stands twice.
    """
    users: dict[str, AdminToken] = {}
    for entry in setting.split():
        match = re.fullmatch(_NAME, entry)
        if match is None or match[1] in users:
            raise ArgumentError(
                f"console_users must be names with blanks between, each once, perhaps as "
                f"NAME:look or NAME:deal, got {entry!r:.80}"
            )
        users[match[1]] = AdminToken(digest="", name=match[1], right=Right(match[2] or Right.ALL))
    return users


class TokenGuard:
    """Tells right tokens from wrong ones."""

    def __init__(self, setting: str) -> None:
        self._tokens: Sequence[AdminToken] = read_tokens(setting)
        self._own: tuple[AdminToken, ...] = ()  # of this process, whatever the setting says
        self._wrong = 0
        self._logged: float | None = None

    def replace(self, setting: str) -> None:
        """From now on these tokens are right, and no others."""
        self._tokens = read_tokens(setting)
        log.warning("admin tokens were read again: %d are in force", len(self._tokens))

    def make_own(self) -> str:
        """A fresh token for requests that this process makes to itself; nobody else knows it."""
        token = new_token()
        self._own = (*self._own, AdminToken(digest=token_digest(token), is_own=True))
        return token

    def who(self, token: str) -> AdminToken | None:
        """The token, while it is good; takes as long whatever differs."""
        return self._find(token_digest(token), (*self._tokens, *self._own))

    def holder(self, digest: str) -> AdminToken | None:
        """The operator's token that has this hash, while it is good."""
        return self._find(digest, self._tokens)

    @staticmethod
    def _find(digest: str, tokens: Sequence[AdminToken]) -> AdminToken | None:
        today = datetime.now(UTC).date()
        right = [hmac.compare_digest(digest, known.digest) for known in tokens]
        good = (
            known
            for is_it, known in zip(right, tokens, strict=True)
            if is_it and (known.last_day is None or today <= known.last_day)
        )
        return next(good, None)

    def note_wrong(self) -> None:
        """A wrong token came: say so in the log, once a minute at most.

        Nobody is made to wait: 256 random bits cannot be guessed, and whoever sent wrong ones
        could keep operators out.
        """
        self._wrong += 1
        now = time.monotonic()
        if self._logged is None or now - self._logged > SILENCE:
            log.warning("a wrong admin token was sent (%d since the start)", self._wrong)
            self._logged = now
