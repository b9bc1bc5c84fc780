"""A contributor's ledger: what every answer has cost, kept on the contributor's own device.

One SQLite file, readable by its owner only. Every entry is made in a transaction that first holds
what was spent against the limits, so that two programs at once cannot both spend what is left. An
entry is made before its report is sent: whatever happens then, nothing was sent that is not in it.

It holds neither answers nor reports.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from jrr.errors import DamagedError
from jrr.survey.spending import Expense

NAME = "ledger.sqlite"
PATIENCE = 60.0  # seconds to wait for another program that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    survey TEXT NOT NULL,
    person TEXT NOT NULL,
    question TEXT NOT NULL,
    expense TEXT NOT NULL,
    PRIMARY KEY (survey, person, question)
)
"""


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
        """What every answer so far has cost."""
        with self._open() as connection:
            return _expenses(connection)

    def answered(self, survey: str, person: str) -> set[str]:
        """The questions of a survey that somebody has answered.

        Args:
            survey: Its hash.
            person: A name of the contributor in this survey that nobody else knows.
        """
        with self._open() as connection:
            return _answered(connection, survey, person)

    def enter(
        self, person: str, expenses: Iterable[Expense], check: Callable[[list[Expense]], object]
    ) -> None:
        """Enter answers that are sent together: all of them or none; not again what is here.

        Args:
            person: A name of the contributor in this survey that nobody else knows.
            expenses: What each answer costs.
            check: Is given what was spent before, and raises where the entries must not be made.
        """
        entered = list(expenses)
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")  # nobody else spends meanwhile
            try:
                # Entered and not sent, as after a power cut: the same answer is not paid twice.
                if any(
                    one.question not in _answered(connection, one.survey, person) for one in entered
                ):
                    check(_expenses(connection))
                connection.executemany(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
                    [
                        (one.survey, person, one.question, json.dumps(one.to_dict()))
                        for one in entered
                    ],
                )
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

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


def _answered(connection: sqlite3.Connection, survey: str, person: str) -> set[str]:
    query = "SELECT question FROM answers WHERE survey = ? AND person = ?"
    return {name for (name,) in connection.execute(query, (survey, person))}


def _expenses(connection: sqlite3.Connection) -> list[Expense]:
    rows = connection.execute("SELECT expense FROM answers").fetchall()
    try:
        return [Expense.from_dict(json.loads(text)) for (text,) in rows]
    except json.JSONDecodeError:
        raise DamagedError("a ledger must hold the answers that jrr entered into it") from None
