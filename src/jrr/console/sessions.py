"""Who is signed in: sessions in the server's memory, each behind a random name in a cookie.

Nothing of a session is written anywhere. A restart of the server, its end, an hour of silence, or
the end of the admin token (or another right of it) ends it.
"""

import hashlib
import hmac
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from jrr.servers.common.tokens import AdminToken

IDLE = 60 * 60.0  # seconds of silence after which a session ends
LONGEST = 12 * 60 * 60.0  # seconds after which it ends in any case
MOST = 100  # sessions at a time
MOST_NOTES = 5


@dataclass
class Session:
    """One operator's browser."""

    holder: AdminToken  # where the token is taken away, or its right or end, the session ends
    begun: float
    seen: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    dealer_tokens: dict[str, str] = field(default_factory=dict)  # address -> token, typed in
    notes: list[tuple[str, str]] = field(default_factory=list)  # kind and words, shown once

    @property
    def operator(self) -> str:
        """Who it is."""
        return self.holder.shown_name

    def note(self, words: str, kind: str = "done") -> None:
        """Something to say on the next page."""
        self.notes = [*self.notes, (kind, words)][-MOST_NOTES:]

    def taken_notes(self) -> list[tuple[str, str]]:
        """What is to be said now, and not again."""
        taken, self.notes = self.notes, []
        return taken

    def accepts(self, csrf: str) -> bool:
        """Whether a form came from one of this session's pages."""
        return hmac.compare_digest(csrf.encode(), self.csrf.encode())


class Sessions:
    """All of them, by the hash of what the cookie says."""

    def __init__(
        self, is_good: Callable[[AdminToken], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_good = is_good
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    def begin(self, holder: AdminToken) -> tuple[str, Session]:
        """A new session and the name of it for the cookie; never one that a browser brought."""
        now = self._clock()
        session = Session(holder=holder, begun=now, seen=now)
        self._forget_old(now)
        while len(self._sessions) >= MOST:  # of whoever has the most: nobody signs others out
            most = Counter(one.holder for one in self._sessions.values()).most_common(1)[0][0]
            of_most = {key: one for key, one in self._sessions.items() if one.holder == most}
            del self._sessions[min(of_most, key=lambda key: of_most[key].seen)]
        name = secrets.token_urlsafe(32)
        self._sessions[_key(name)] = session
        return name, session

    def find(self, name: str | None, *, is_act: bool = True) -> Session | None:
        """The session of a cookie, while it lasts.

        is_act: Whether this counts as the operator doing something; a page that only listens
            does not.
        """
        if not name:
            return None
        now, key = self._clock(), _key(name)
        session = self._sessions.get(key)
        if session is None:
            return None
        if self._is_over(session, now):
            del self._sessions[key]
            return None
        if is_act:
            session.seen = now
        return session

    def end(self, name: str | None) -> None:
        """Sign out."""
        if name:
            self._sessions.pop(_key(name), None)

    def _is_over(self, session: Session, now: float) -> bool:
        silent, old = now - session.seen > IDLE, now - session.begun > LONGEST
        return silent or old or not self._is_good(session.holder)

    def _forget_old(self, now: float) -> None:
        self._sessions = {
            key: session
            for key, session in self._sessions.items()
            if not self._is_over(session, now)
        }


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
