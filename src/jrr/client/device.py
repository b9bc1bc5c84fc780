"""What one person's device keeps while taking part: secrets, saved reports, the ledger."""

import contextlib
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from jrr._base import checks
from jrr._base.files import write_once
from jrr.client.http import Http
from jrr.client.ledger import NAME, Ledger
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Rng
from jrr.survey.addresses import split_link
from jrr.survey.identity import invitation_secret, new_invitation, pseudonym
from jrr.survey.limits import Limits
from jrr.survey.promises import DELTA
from jrr.survey.spending import Spent, total
from jrr.survey.steps import Call, Reply, Save, Steps, Wait

T = TypeVar("T")


class Device(ABC):
    """One person's part in one campaign or survey, on that person's own device."""

    def __init__(
        self,
        link: str,
        invitation: str | None = None,
        *,
        limit: float,
        dealer_limit: float | None = None,
        delta: float = DELTA,
        patience: float = 30.0,
        state: str | Path | None = None,
        ledger: str | Path | None = None,
        ca: str | Path | None = None,
        rng: Rng = None,
    ) -> None:
        _, self.name = split_link(link)
        self._link = link.strip()
        self._limits = Limits(
            checks.epsilon("limit", limit),
            None if dealer_limit is None else checks.epsilon("dealer_limit", dealer_limit),
            checks.real("patience", patience, "seconds >= 0", 0.0),
            checks.real("delta", delta, "in [0, 1)", 0.0, 1.0, open_high=True),
        )
        self._state = Path(state) if state is not None else default_state()
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._ledger = Ledger(self._state / NAME if ledger is None else Path(ledger))
        self._invitation = None if invitation is None else invitation_secret(invitation)
        self._http = Http(ca)
        self._rng = rng

    @property
    @abstractmethod
    def _by_invitation(self) -> bool:
        """Whether only invited people may answer."""

    @property
    def spent(self) -> Spent:
        """What all answers in the ledger have cost together."""
        return total(self._ledger.expenses(), self._limits.delta)

    def _file(self, kind: str) -> Path:
        """One's own: several people may share a device."""
        return self._state / f"{self.name[:16]}-{self._person()}.{kind}"

    def _kept_secret(self, path: Path) -> bytes:
        """A secret that is made once and kept in a file."""
        with contextlib.suppress(FileExistsError):
            write_once(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text("ascii"))

    def _device(self) -> bytes:
        """A secret of this device, so that whoever made the invitations cannot fetch the card."""
        return self._kept_secret(self._file("device"))

    def _person(self) -> str:
        """Whose answer it is: several people may share a device."""
        return pseudonym(self._secret(), self.name, "state").hex()[:32]

    def _secret(self) -> bytes:
        if self._invitation is not None:
            return self._invitation
        if self._by_invitation:
            raise ArgumentError("invitation must be given: this campaign is by invitation only")
        # Anybody may answer: a name of one's own, kept so that trying again is the same person.
        path = self._state / f"{self.name}.secret"
        with contextlib.suppress(FileExistsError):
            write_once(path, new_invitation())
        return invitation_secret(path.read_text())

    def _drive(self, steps: Steps[T], save: Callable[[Save], Reply | None] | None = None) -> T:
        """Run a conversation: call, wait, and keep what must survive an interruption."""
        reply: Reply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, Call):
                    reply = self._http.call(step)
                elif isinstance(step, Wait):
                    time.sleep(step.seconds)
                elif isinstance(step, Save):
                    assert save is not None  # who makes a report keeps it
                    reply = save(step)
        except StopIteration as finished:
            result: T = finished.value
            return result

    @staticmethod
    def _keep(path: Path, body: bytes) -> Reply | None:
        """Keep a report in its file; the one that is there already, if another run was faster."""
        try:
            write_once(path, body.decode())
        except FileExistsError:
            return Reply(200, path.read_bytes())
        return None


def default_state() -> Path:
    """Where reports wait until they are received."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "jrr"
