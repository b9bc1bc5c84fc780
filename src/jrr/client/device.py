"""What one person's device keeps: of a survey until it has answered, and what answers cost.

Secrets and answers are overwritten and removed once they are received; a mark says that answers
were sent. The ledger of costs is one SQLite file, readable by its owner only. Every entry is made
in a transaction that first compares what was spent with the limits, so that two programs at once
cannot both spend what is left. An entry is made before its report is sent: whatever happens then,
nothing was sent that is not in it. It holds neither answers nor reports.
"""

import contextlib
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jrr._base.files import write_once, write_whole
from jrr.dealing.deck import card_from_json, card_to_json
from jrr.dealing.interface import Hand, Hands
from jrr.errors import DamagedError, JrrError
from jrr.protocol.identity import invitation_secret, new_invitation, pseudonym
from jrr.survey.spending import Expense

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.survey import Survey


FORGOTTEN = ("cards", "upload", "device")  # kinds of files that a received answer leaves behind


class Device:
    """The files of one person for one survey; several people may share a device.

    Args:
        state: The directory.
        survey: The name of the survey.
        invitation: The secret of one's own; None where anybody may answer.
    """

    def __init__(self, state: Path, survey: str, invitation: bytes | None) -> None:
        self._state, self._survey, self._invitation = state, survey, invitation

    @cached_property
    def secret(self) -> bytes:
        """Of the invitation; where anybody may answer, one's own: who tries again is the same."""
        if self._invitation is not None:
            return self._invitation
        with contextlib.suppress(FileExistsError):
            write_once(self._own_invitation, new_invitation())
        return invitation_secret(self._own_invitation.read_text())

    @property
    def _own_invitation(self) -> Path:
        return self._state / f"{self._survey}.secret"

    @property
    def person(self) -> str:
        """A name of this person that nobody else knows."""
        return pseudonym(self.secret, self._survey, "state").hex()[:32]

    def file(self, kind: str) -> Path:
        """One of this person's files."""
        return self._state / f"{self._survey[:16]}-{self.person}.{kind}"

    @property
    def mark(self) -> Path:
        """The file that says that answers were sent; it outlives a secret of one's own."""
        if self._invitation is None:
            return self._state / f"{self._survey[:16]}-anybody.sent"
        return self.file("sent")

    def own_secret(self) -> bytes:
        """Of this device, so that whoever made the invitations cannot fetch the cards."""
        path = self.file("device")
        with contextlib.suppress(FileExistsError):
            write_once(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text("ascii"))

    def forget(self, mark: str) -> None:
        """The answers were received: keep a mark of it, and nothing of them.

        First the mark: whoever is interrupted in between does not answer again.
        """
        with contextlib.suppress(FileExistsError):
            write_once(self.mark, mark)
        if self._invitation is None and not self._own_invitation.exists():
            return
        for kind in FORGOTTEN:
            _overwrite(self.file(kind))
        if self._invitation is None:
            _overwrite(self._own_invitation)


def _overwrite(path: Path) -> None:
    """Remove a file, if it is there, after its bytes were overwritten."""
    with contextlib.suppress(FileNotFoundError):
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()


def default_state() -> Path:
    """Where answers wait until they are received."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "jrr"


LEDGER = "ledger.sqlite"
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


def keep_cards(path: Path, survey: "Survey", hands: Hands, *, once: bool = False) -> None:
    """Write cards into a private file.

    Args:
        path: The file.
        survey: Whose cards they are.
        hands: The cards.
        once: Whether the file must not exist yet.

    Raises:
        FileExistsError: It does.
    """
    cards = {
        name: _to_json(survey.by_name[name].for_people(hands.n), hand)
        for name, hand in hands.cards.items()
    }
    text = json.dumps({"n": hands.n, "cards": cards})
    if once:
        write_once(path, text)
    else:
        write_whole(path, text, private=True)


def read_cards(path: Path, survey: "Survey") -> Hands:
    """The cards that `keep_cards` wrote.

    Raises:
        DamagedError: The file holds something else.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
        n = document["n"]
        cards = {
            name: _from_json(survey.by_name[name].for_people(n), entry)
            for name, entry in document["cards"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, JrrError):
        raise DamagedError(f"{path} must be cards that jrr fetched: delete it") from None
    return Hands(cards, n)


def _to_json(mechanism: "Mechanism", hand: Hand) -> dict[str, Any]:
    """One card, or one from each of several dealers."""
    if hand.proving is not None:
        return {"proving": hand.proving.to_document(), "serials": hand.serials}
    several = isinstance(hand.card, tuple)
    cards = hand.card if several else (hand.card,)
    return {
        "cards": [card_to_json(mechanism, card) for card in cards],
        "several": several,
        "serials": hand.serials,
    }


def _from_json(mechanism: "Mechanism", entry: Any) -> Hand:
    if "proving" in entry:
        from jrr.dealing.verified.proving import Proving  # needs rbcl

        return Hand(None, tuple(entry["serials"]), Proving.from_document(entry["proving"]))
    cards = tuple(card_from_json(mechanism, card) for card in entry["cards"])
    serials = None if entry["serials"] is None else tuple(entry["serials"])
    return Hand(cards if entry["several"] else cards[0], serials)
