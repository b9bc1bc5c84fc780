"""A database that is away, or a disk that is full: said to clients as 503, and logged in one line.

An outage can last for hours and meet thousands of requests. None of them gets a traceback.
"""

import logging
import time

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from jrr.servers.common.problems import Problem, unavailable

log = logging.getLogger("jrr.servers")
AGAIN = 60.0  # seconds between two lines about one outage
_AWAY = ("08", "53", "57", "58", "25006", "28", "3D")  # how states of PostgreSQL begin


class Outages:
    """Tells outages from bugs, and logs each once in a while."""

    def __init__(self) -> None:
        self._logged: float | None = None  # when, while an outage lasts

    def caused(self, error: Exception) -> bool:
        """Whether this is an outage; then a line is logged, now and then."""
        if not is_outage(error):
            return False
        now = time.monotonic()
        if self._logged is None or now - self._logged > AGAIN:
            log.error("the database cannot be used: %s", _reason(error))
            self._logged = now
        return True

    def over(self) -> None:
        """Something was committed."""
        if self._logged is not None:
            log.warning("the database can be used again")
            self._logged = None

    @staticmethod
    def problem() -> Problem:
        """What clients are told."""
        return unavailable()


def is_outage(error: Exception) -> bool:
    """Whether an error is of the database or the disk, and not of a job."""
    if isinstance(error, DBAPIError):
        state = str(getattr(error.orig, "sqlstate", None) or "")
        if state:
            return state.startswith(_AWAY)
        away = error.connection_invalidated
        return away or isinstance(error, OperationalError | InterfaceError)
    return isinstance(error, OSError)


def _reason(error: Exception) -> str:
    """Kind and code of an error: its text may hold what was asked for, or somebody's name."""
    cause = getattr(error, "orig", None) or error
    codes = (getattr(cause, name, None) for name in ("sqlstate", "sqlite_errorname", "strerror"))
    return ", ".join([type(cause).__name__, *(str(code) for code in codes if code)])
