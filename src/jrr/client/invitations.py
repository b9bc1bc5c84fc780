"""The file of invitations: made once, told to the servers as hashes, sent out, deleted."""

import csv
import io
import shlex
from collections.abc import Sequence
from pathlib import Path

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.client.answer_links import NOTES
from jrr.client.operator import Operator, new_invitations
from jrr.errors import DamagedError, JrrError
from jrr.protocol.identity import invitation_secret

MOST = 10_000_000  # invitations made at once


def make_invitations(
    operator: Operator,
    count: int,
    out: Path,
    again: list[str],
    names: Sequence[str] = (),
    spare: int = 0,
) -> list[str]:
    """Make fresh invitations, keep them in a private file, and tell the servers of them.

    Args:
        operator: Of the servers to tell.
        count: How many.
        out: The file, which must not exist yet.
        again: The words of a command that tells the servers of the file once more; it is named
            where telling them fails.
        names: Of one's own, beside the first ones; no server is told of them.
        spare: How many more, for people whose invitation is lost.

    Returns:
        The invitations.

    Raises:
        ArgumentError: The file exists, or the survey has no room for so many.
        ProtocolError: A server refuses.
        UnreachableError: A server does not answer; the file is kept.
    """
    count = checks.integer("count", count, 1, MOST) + checks.integer("spare", spare, 0, MOST)
    if out.exists():
        raise checks.refusal("out", str(out), "a file that does not exist yet (or use --from)")
    operator.install()
    operator.check_inviting(count)
    invitations = new_invitations(count)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    notes = new_notes(invitations, names, spare)
    # What people are sent is made by jrr.client.answer_links.
    rows.writerow(["invitation", "program_link", *(NOTES if notes else ())])
    rows.writerows([entry, operator.link, *notes.get(entry, ())] for entry in invitations)
    write_whole(out, text.getvalue(), private=True)
    try:
        operator.invite(invitations)
    except JrrError as error:
        advice = f"{out} is kept: when that is mended, {shlex.join([*again, str(out)])}"
        raise type(error)(f"{error}; {advice}") from None
    return invitations


def tell_invitations(operator: Operator, source: Path) -> list[str]:
    """Tell the servers of invitations that were made before.

    Args:
        operator: Of the servers to tell.
        source: The file that `make_invitations` wrote.

    Returns:
        The invitations.

    Raises:
        ArgumentError: There is no such file.
        DamagedError: It holds no invitations.
        ProtocolError: A server refuses.
        UnreachableError: A server does not answer.
    """
    invitations = read_invitations(source)
    operator.install()
    operator.invite(invitations)
    return invitations


def read_invitations(source: Path) -> list[str]:
    """The invitations in a file that `make_invitations` wrote."""
    if not source.is_file():
        raise checks.refusal("from", str(source), "a file that jrr survey invite wrote")
    try:
        text = source.read_text("utf-8")
    except UnicodeDecodeError:
        text = ""
    return invitations_in(text, "from", str(source))


def notes_in(text: str) -> dict[str, tuple[str, str]]:
    """What stands beside the invitations of a table in the columns of one's own."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    found = {
        str(row.get("invitation") or ""): (str(row.get("name") or ""), str(row.get("spare") or ""))
        for row in rows
    }
    return found if any(any(some) for some in found.values()) else {}


def new_notes(
    invitations: Sequence[str], names: Sequence[str], spare: int
) -> dict[str, tuple[str, str]]:
    """Names of one's own beside fresh invitations, the last of which are spare ones."""
    if not names and not spare:
        return {}
    used = len(invitations) - spare
    named = [*names, *[""] * (used - len(names))]
    notes = [(name, "") for name in named] + [("", "spare")] * spare
    return dict(zip(invitations, notes, strict=True))


def invitations_in(text: str, argument: str, where: str) -> list[str]:
    """The invitations in a table that has a column of them.

    Args:
        text: The table, as CSV.
        argument: What to call it in a refusal.
        where: What it is, in a refusal.

    Raises:
        DamagedError: It holds no invitations, or something else among them.
    """
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""))
        entries = [str(row.get("invitation") or "") for row in rows]
        for entry in entries:
            invitation_secret(entry)
    except csv.Error:
        entries = []
    except JrrError as error:
        raise DamagedError(
            f"{argument} must be a file that jrr survey invite wrote, {where}: {error}"
        ) from None
    if not entries:
        raise DamagedError(
            f"{argument} must be a file that jrr survey invite wrote, with invitations, got "
            f"{argument}={where!r}"
        )
    return entries
