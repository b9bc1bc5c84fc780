"""What one person's device keeps of a survey: secrets, and answers until they are received."""

import contextlib
import os
import secrets
from pathlib import Path

from jrr._base.files import write_once
from jrr.protocol.identity import invitation_secret, new_invitation, pseudonym


class Device:
    """The files of one person for one survey; several people may share a device.

    Args:
        state: The directory.
        survey: The name of the survey.
        invitation: The secret of one's own; None where anybody may answer.
    """

    def __init__(self, state: Path, survey: str, invitation: bytes | None) -> None:
        self._state, self._survey = state, survey
        self.secret = self._made_secret() if invitation is None else invitation

    def _made_secret(self) -> bytes:
        """A secret of one's own where anybody may answer: who tries again is the same person."""
        path = self._state / f"{self._survey}.secret"
        with contextlib.suppress(FileExistsError):
            write_once(path, new_invitation())
        return invitation_secret(path.read_text())

    @property
    def person(self) -> str:
        """A name of this person that nobody else knows."""
        return pseudonym(self.secret, self._survey, "state").hex()[:32]

    def file(self, kind: str) -> Path:
        """One of this person's files."""
        return self._state / f"{self._survey[:16]}-{self.person}.{kind}"

    def own_secret(self) -> bytes:
        """Of this device, so that whoever made the invitations cannot fetch the cards."""
        path = self.file("device")
        with contextlib.suppress(FileExistsError):
            write_once(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text("ascii"))


def default_state() -> Path:
    """Where answers wait until they are received."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "jrr"
