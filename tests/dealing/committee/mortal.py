"""Parties as real servers that kill themselves, or hang, before a message of the dealing."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jrr.servers.party.routes  # noqa: F401 - so that servers forked from here start at once
from jrr.client.http import Admin
from jrr.dealing.committee import cards, deals
from jrr.dealing.committee.deals import Member
from jrr.dealing.committee.field import PRIME
from jrr.dealing.committee.meeting import Link
from jrr.research.processes import Running, free_port
from jrr.servers.common.certificates import make_certificate
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import new_token, token_digest
from jrr.servers.party.store import PartyStore
from jrr.servers.run import serve
from tests.dealing.committee.parties import _processes, warm_up

STARTS = 20.0  # seconds


@dataclass(frozen=True)
class Fate:
    """What happens before a party's so manyth message of a meeting."""

    message: int
    signal: int = signal.SIGKILL  # SIGSTOP: it hangs


@dataclass(frozen=True)
class Sin:
    """How a party cheats in a deal."""

    spoils: int | None = None  # the slot whose sealed share is not what was checked
    drops: int = 0  # so many of those who enrolled are not named for the roster

    def commit(self) -> None:
        """Change the code of this process."""
        seal, roster = cards.seal_shares, PartyStore.roster

        def spoiled(keys: Any, shares: Any, *more: Any) -> list[bytes]:
            if self.spoils is not None:
                shares = shares.copy()
                shares[self.spoils] = (int(shares[self.spoils]) + 1) % PRIME
            return seal(keys, shares, *more)

        def short(self_: PartyStore, name: str) -> list[Member]:
            return sorted(roster(self_, name), key=lambda member: member[1])[self.drops :]

        setattr(deals, "seal_shares", spoiled)  # noqa: B010
        setattr(PartyStore, "roster", short)  # noqa: B010


def _live(settings: Settings, fate: Fate | Sin | None, log: str, ready: Any) -> None:
    sys.stderr = Path(log).open("a")  # noqa: SIM115 - as long as the process lives
    if isinstance(fate, Sin):
        fate.commit()
        fate = None
    kinds: list[int] = []
    plain = Link.send

    async def send(self: Link, to: int, kind: int, payload: bytes) -> None:
        if fate is not None and len(kinds) == fate.message:
            os.kill(os.getpid(), fate.signal)
        kinds.append(int(kind))
        ready.send_bytes(bytes((int(kind),)))
        await plain(self, to, kind, payload)

    Link.send = send  # type: ignore[method-assign]
    serve(settings, ready=lambda url: ready.send_bytes(b"ready"))


@dataclass
class MortalParty:
    """A party whose server can be killed and started again on the same database."""

    folder: Path
    role: str = "party"
    port: int = field(default_factory=free_port)
    token: str = field(default_factory=new_token)
    process: Any = None
    pipe: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def admin(self) -> Admin:
        return Admin(self.url, self.token)

    def start(self, fate: Fate | Sin | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "party.pem").exists():
            make_certificate(self.folder / "party")
        settings = Settings(
            role="party",
            database=f"sqlite:///{self.folder / 'party.db'}",
            admin_token_sha256=token_digest(self.token),
            port=self.port,
            link_certificate=str(self.folder / "party.pem"),
            link_key=str(self.folder / "party.key"),
        )
        self.pipe, theirs = _processes().Pipe()
        log = str(self.folder / "party.log")
        self.process = _processes().Process(
            target=_live, args=(settings, fate, log, theirs), daemon=True
        )
        self.process.start()
        theirs.close()
        assert self.pipe.poll(STARTS), Path(log).read_text()
        assert self.pipe.recv_bytes() == b"ready"

    def sent(self) -> list[int]:
        """The kinds of messages that it sent since it was started."""
        kinds = []
        try:
            while self.pipe.poll(0):
                kinds.append(self.pipe.recv_bytes()[0])
        except EOFError:
            pass
        return kinds

    def end(self) -> int | None:
        """Kill it, if it lives; how it ended."""
        if self.process is None:
            return None
        self.process.join(0.3)
        died_before: int | None = self.process.exitcode
        if died_before is None:
            self.process.kill()
        self.process.join(STARTS)
        self.process.close()
        self.pipe.close()
        self.process = None
        return died_before

    def restart(self, fate: Fate | Sin | None = None) -> None:
        self.end()
        self.start(fate)

    def running(self) -> Running:
        """As tests of other servers know it."""
        return Running(
            role="party", url=self.url, token=self.token, process=self.process, folder=self.folder
        )


@contextmanager
def mortal_parties(folder: Path, count: int = 3) -> Iterator[list[MortalParty]]:
    """Parties that live until told otherwise."""
    warm_up()
    parties = [MortalParty(folder / f"party{number}") for number in range(count)]
    try:
        for party in parties:
            party.start()
        yield parties
    finally:
        for party in parties:
            party.end()
