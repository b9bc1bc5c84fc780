"""A contributor's ledger: what every answer has cost, kept on the contributor's own device.

One SQLite file, readable by its owner only. Every entry is made in a transaction that first holds
what was spent against the limits, so that two programs at once cannot both spend what is left. An
entry is made before its report is sent: whatever happens then, nothing was sent that is not in it.

It holds no answer. It holds the perturbed report, so that a question that is asked again can be
answered by the same report, which costs nothing more.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jrr.errors import DamagedError
from jrr.mechanisms.base import Mechanism
from jrr.survey.spending import Expense

NAME = "ledger.sqlite"
PATIENCE = 60.0  # seconds to wait for another program that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    campaign TEXT NOT NULL,
    person TEXT NOT NULL,
    question TEXT NOT NULL,
    expense TEXT,
    mechanism TEXT NOT NULL,
    report TEXT NOT NULL,
    PRIMARY KEY (campaign, person)
)
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One report: its question, its cost, and the report as it was sent."""

    campaign: str
    person: str  # a name of this contributor in this campaign, that nobody else knows
    question: str  # a hash of question, labels and mechanism
    expense: Expense | None  # None: an earlier report, sent again
    mechanism: Mechanism  # by which it was made
    report: Any  # in JSON


class Ledger:
    """The file.

    Args:
        path: Where it is, or will be made.

    Raises:
        DamagedError: It is no ledger.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def expenses(self) -> list[Expense]:
        """What every answer so far has cost; reports that were sent again cost nothing."""
        with self._open() as connection:
            return _expenses(connection)

    def has_answered(self, campaign: str, person: str) -> bool:
        """Whether somebody has answered a campaign."""
        query = "SELECT 1 FROM answers WHERE campaign = ? AND person = ?"
        with self._open() as connection:
            return connection.execute(query, (campaign, person)).fetchone() is not None

    def enter(self, entry: Entry, check: Callable[[list[Expense]], object]) -> None:
        """Enter a report, unless it is there already.

        Args:
            entry: What is entered.
            check: Is given what was spent before, and raises where the entry must not be made.
        """
        self.enter_all([entry], check)

    def enter_all(self, entries: Iterable[Entry], check: Callable[[list[Expense]], object]) -> None:
        """Enter reports that are sent together: all of them or none.

        Args:
            entries: What is entered.
            check: Is given what was spent before, and raises where the entries must not be made.
        """
        entered = list(entries)
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")  # nobody else spends meanwhile
            try:
                # Entered and not sent, as after a power cut: the same answer is not paid twice.
                if any(not _is_paid(connection, entry) for entry in entered):
                    check(_expenses(connection))
                for entry in entered:
                    _insert(connection, entry)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

    def remembered(self, question: str) -> Any | None:
        """The last report that was made for a question; None where there is none."""
        with self._open() as connection:
            row = connection.execute(
                "SELECT report FROM answers WHERE question = ? ORDER BY rowid DESC", (question,)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.suppress(FileExistsError):  # SQLite would let everybody read it
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE)
            yield connection
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # the disk, or another program
                raise OSError(f"{self.path}: {error}") from None
            raise DamagedError(f"{self.path} must be a ledger that jrr keeps: {error}") from None
        finally:
            connection.close()


def _is_paid(connection: sqlite3.Connection, entry: Entry) -> bool:
    """Whether an entry costs nothing more: an earlier report sent again, or one that is here."""
    there = connection.execute(
        "SELECT expense FROM answers WHERE campaign = ? AND person = ?",
        (entry.campaign, entry.person),
    ).fetchone()
    return entry.expense is None or (there is not None and there[0] is not None)


def _insert(connection: sqlite3.Connection, entry: Entry) -> None:
    expense = None if entry.expense is None else json.dumps(entry.expense.to_dict())
    connection.execute(
        "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)",
        (
            entry.campaign,
            entry.person,
            entry.question,
            expense,
            entry.mechanism.to_json(),
            json.dumps(entry.report),
        ),
    )


def _expenses(connection: sqlite3.Connection) -> list[Expense]:
    rows = connection.execute("SELECT expense FROM answers WHERE expense IS NOT NULL").fetchall()
    try:
        return [Expense.from_dict(json.loads(text)) for (text,) in rows]
    except json.JSONDecodeError:
        raise DamagedError("a ledger must hold the answers that jrr entered into it") from None
