"""What one person's device keeps of a survey: secrets and answers, until these are received.

Then all of it is overwritten and removed; a mark says that answers were sent.
"""

import contextlib
import os
import secrets
from functools import cached_property
from pathlib import Path

from jrr._base.files import write_once
from jrr.protocol.identity import invitation_secret, new_invitation, pseudonym

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
