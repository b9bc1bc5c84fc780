"""How parties meet, and what they send: binary frames over mutual TLS, with deadlines.

Each calls those before it, all show certificates. These are pinned: a peer is a party because it
holds that party's key. A frame:

    magic 4 | kind 1 | sender 1 | receiver 1 | flag 1 | session 32 | number 4 | length 4 | payload

The flag is 0, or 1 where a party gives up because another one is missing.

A frame of another session, sender, receiver or number is refused, so that nothing can be
replayed or put in another place; a length beyond what the protocol expects is never read.

Whoever waits for a while tells the others for whom (a notice). So one that is late because it
waits itself is not taken for the one that hangs: it is given more time, and whom it waits for is
named. A party that gives up says why, and the others stop at once.
"""

import asyncio
import contextlib
import hashlib
import ssl
import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from jrr.dealing.committee.aborts import Abort, MissingPartyError
from jrr.dealing.committee.dealing import Kind, exchange, new_run, together
from jrr.errors import ProtocolError

T = TypeVar("T")

MAGIC = b"jrrC"
HEADER = struct.Struct("<4sBBBB32sII")
ABORT = 255  # a kind of frame: one gives up
NOTICE = 254  # a kind of frame: for whom one waits, and for which kind of message
MISSING = 1  # flag of an abort
LONGEST_REASON = 1000  # bytes
CHUNK = 1 << 20
NOTICES = 4  # while patience lasts
Header = tuple[bytes, int, int, int, int, bytes, int, int]


@dataclass
class Traffic:
    """Bytes and messages that went out, for the books."""

    sent: int = 0
    messages: int = 0


@dataclass
class _Inbox:
    """What came from one party: the header of its next message, and for whom it waits."""

    headers: "asyncio.Queue[Header | None]"  # None: nothing comes any more
    read: asyncio.Event  # the payload after the last header was read
    listener: "asyncio.Task[None] | None" = None
    waits_for: tuple[int, int, float] | None = None  # party, kind of message, when it told


@dataclass(frozen=True)
class _Wait:
    """A wait for one party: to send, or to take, a message of a kind."""

    party: int
    kind: int
    since: float
    latest: float  # however much the other one waits itself
    failure: str = field(compare=False)  # what to say of the party if it is late


class Link:
    """A mesh of connections; a Channel for jrr.dealing.committee.dealing."""

    def __init__(self, me: int, parties: int, session: bytes, patience: float) -> None:
        self.me = me
        self.parties = parties
        self.traffic = Traffic()
        self.session = session
        self.joining = 0.0  # seconds that others may take until they have met everybody
        self._patience = patience
        self._streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._inboxes: dict[int, _Inbox] = {}
        self._ended: asyncio.Future[Abort] = asyncio.get_running_loop().create_future()
        self._sent = dict.fromkeys(range(parties), 0)
        self._received = dict.fromkeys(range(parties), 0)
        self._halfway: set[int] = set()  # parties that have a part of a message only

    def attach(
        self, party: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Use this connection for messages to and from a party."""
        if party in self._streams or party == self.me or not 0 <= party < self.parties:
            raise Abort(f"party {party} is there already, or is none")
        self._streams[party] = (reader, writer)
        inbox = self._inboxes[party] = _Inbox(asyncio.Queue(), asyncio.Event())
        inbox.listener = asyncio.create_task(self._listen(party, inbox))

    @property
    def attached(self) -> set[int]:
        """Who is connected."""
        return set(self._streams)

    def begin(self, session: bytes) -> None:
        """From here on messages belong to this session."""
        self.session = session

    async def send(self, to: int, kind: int, payload: bytes) -> None:
        """Send a frame; Abort if the other end takes it too slowly."""
        number = self._sent[to]
        self._sent[to] += 1
        header = HEADER.pack(MAGIC, kind, self.me, to, 0, self.session, number, len(payload))
        self.traffic.sent += len(header) + len(payload)
        self.traffic.messages += 1
        try:
            await self._in_time(
                self._write(to, header, payload), self._wait(to, kind, "did not take a message")
            )
        except (OSError, ssl.SSLError):
            raise MissingPartyError(f"the connection to party {to} broke") from None

    async def _write(self, to: int, header: bytes, payload: bytes) -> None:
        writer = self._streams[to][1]
        self._halfway.add(to)
        writer.write(header)
        for start in range(0, len(payload), CHUNK):
            writer.write(payload[start : start + CHUNK])
            if start + CHUNK >= len(payload):
                self._halfway.discard(to)
            await writer.drain()
        self._halfway.discard(to)

    async def receive(self, sender: int, kind: int, size: int) -> bytes:
        """The next frame of a party, which must be of this kind and at most this long."""
        name = Kind(kind).name.lower()
        try:
            return await self._in_time(
                self._take(sender, kind, size), self._wait(sender, kind, f"did not send its {name}")
            )
        except asyncio.IncompleteReadError:
            raise MissingPartyError(f"party {sender} went away before its {name}") from None
        except (OSError, ssl.SSLError):
            raise MissingPartyError(
                f"the connection to party {sender} broke before its {name}"
            ) from None

    async def _take(self, sender: int, kind: int, size: int) -> bytes:
        inbox = self._inboxes[sender]
        header = await inbox.headers.get()
        if header is None:
            assert inbox.listener is not None  # it said so
            await inbox.listener  # why nothing comes any more
            raise asyncio.IncompleteReadError(b"", HEADER.size)
        magic, received, origin, to, _, session, number, length = header
        if magic != MAGIC:
            raise Abort(f"party {sender} sent what is no frame")
        if (origin, to) != (sender, self.me):
            raise Abort(f"party {sender} sent a frame of party {origin} for party {to}")
        if session != self.session:
            raise Abort(f"party {sender} is in another session: survey, roster or run differ")
        if number != self._received[sender]:
            raise Abort(f"party {sender} sent frame {number} again or out of turn")
        if received != kind:
            raise Abort(f"party {sender} sent a frame of kind {received} instead of {kind}")
        if length > size:
            raise Abort(f"party {sender} sent {length} bytes where at most {size} are expected")
        self._received[sender] += 1
        payload = await self._streams[sender][0].readexactly(length)
        inbox.read.set()
        return payload

    # Who waits for whom --------------------------------------------------------------------------

    async def _listen(self, party: int, inbox: _Inbox) -> None:
        """Take notices and farewells whenever they come; leave messages to who expects them."""
        reader = self._streams[party][0]
        try:
            while True:
                header = HEADER.unpack(await reader.readexactly(HEADER.size))
                magic, kind, origin, to, flag, _, _, length = header
                # Of any session: whoever gives up may have begun another one before or after us.
                ours = (magic, origin, to) == (MAGIC, party, self.me)
                if ours and kind == NOTICE and length == 2:
                    awaited, message = await reader.readexactly(2)
                    if awaited < self.parties and awaited != party:
                        inbox.waits_for = (awaited, message, self._now())
                elif ours and kind == ABORT and length <= LONGEST_REASON:
                    self._end(party, flag, await reader.readexactly(length))
                else:
                    inbox.read.clear()
                    inbox.headers.put_nowait(header)
                    await inbox.read.wait()
        finally:
            inbox.headers.put_nowait(None)

    def _end(self, party: int, flag: int, reason: bytes) -> None:
        text = reason.decode("utf-8", "replace")
        shown = "".join(letter for letter in text if letter.isprintable())
        kind = MissingPartyError if flag == MISSING else Abort
        if not self._ended.done():
            self._ended.set_result(kind(f"party {party} gave up: {shown}"))

    def _wait(self, party: int, kind: int, failure: str) -> _Wait:
        now = self._now()
        more = self.joining if kind == Kind.HELLO else 0.0
        return _Wait(party, kind, now, now + more + self._patience * self.parties, failure)

    async def _in_time(self, work: Coroutine[Any, Any, T], wait: _Wait) -> T:
        """What some work gives; Abort where it takes too long, or somebody gives up meanwhile."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                left = self._deadline(wait) - self._now()
                if left <= 0:
                    raise self._late(wait)
                await asyncio.wait(
                    (task, self._ended),
                    timeout=min(left, self._patience / NOTICES),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if self._ended.done() and not task.done():
                    raise self._ended.result()
                if not task.done():
                    self.tell_waiting(wait.party, wait.kind)
            return task.result()
        finally:
            task.cancel()

    def _deadline(self, wait: _Wait) -> float:
        told = self._notice(wait)
        begun = wait.since if told is None else told[2]
        return min(begun + self._patience, wait.latest)

    def _notice(self, wait: _Wait) -> tuple[int, int, float] | None:
        """For whom the awaited party waits itself, if it said so meanwhile."""
        told = self._inboxes[wait.party].waits_for
        return told if told is not None and told[2] > wait.since else None

    def _late(self, wait: _Wait) -> MissingPartyError:
        told = self._notice(wait)
        if told is not None:
            return MissingPartyError(
                f"party {told[0]} did not send its {_name(told[1])}, as party {wait.party} says, "
                "which waits for it"
            )
        return MissingPartyError(f"party {wait.party} {wait.failure} within {self._patience:g} s")

    def tell_waiting(self, party: int, kind: int) -> None:
        """Tell everybody for whom one waits: at the end of the chain, as far as it is known."""
        inbox = self._inboxes.get(party)
        told = inbox.waits_for if inbox is not None else None
        if told is not None and told[2] > self._now() - self._patience and told[0] != self.me:
            party, kind = told[:2]
        for other, (_, writer) in self._streams.items():
            if other == party or other in self._halfway or writer.is_closing():
                continue
            header = (MAGIC, NOTICE, self.me, other, 0, self.session, 0, 2)
            writer.write(HEADER.pack(*header) + bytes((party, kind)))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    async def close(self, reason: str | None = None, missing: bool = False) -> None:
        """Tell the others why, if there is a reason, and close; missing: a party is not there."""
        flag = MISSING if missing else 0
        for party, (_, writer) in self._streams.items():
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError, RuntimeError):
                if reason is not None and party not in self._halfway:
                    text = reason.encode()[:LONGEST_REASON]
                    header = (MAGIC, ABORT, self.me, party, flag, self.session, 0, len(text))
                    writer.write(HEADER.pack(*header) + text)
                async with asyncio.timeout(1.0):
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        listeners = [one.listener for one in self._inboxes.values() if one.listener is not None]
        for listener in listeners:
            listener.cancel()
        await asyncio.gather(*listeners, return_exceptions=True)
        self._streams.clear()


def _name(kind: int) -> str:
    return Kind(kind).name.lower() if kind in set(Kind) else "message"


@dataclass(frozen=True)
class Peer:
    """Where a party listens for the others, and the certificate it shows."""

    host: str
    port: int
    certificate: str  # PEM

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the certificate."""
        loaded = load_pem_x509_certificate(self.certificate.encode())
        return hashlib.sha256(loaded.public_bytes(Encoding.DER)).digest()


@dataclass(frozen=True)
class Identity:
    """One's own certificate and key, as files."""

    certificate: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """Who meets whom, and how long they wait for each other."""

    me: int  # one's own place among the peers
    peers: list[Peer]  # all parties, in order
    identity: Identity
    agreement: bytes  # 32 bytes that are the same for all who mean the same deal
    patience: float  # seconds for each message
    join: float  # seconds until all are there
    listen: tuple[str, int] | None = None  # where to wait for the others, if not as peers[me] says


async def meet(meeting: Meeting, body: Callable[[Link], Coroutine[Any, Any, T]]) -> T:
    """Connect to all other parties, agree on a session, run `body`, close the links.

    Parties with larger numbers call those with smaller ones.
    """
    me, peers, identity, join = meeting.me, meeting.peers, meeting.identity, meeting.join
    link = Link(me, len(peers), meeting.agreement, meeting.patience)
    link.joining = join
    waiting = set(range(me + 1, len(peers)))
    everybody_here = asyncio.Event()
    if not waiting:
        everybody_here.set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        party = _party_of(writer, peers)
        if party not in waiting:  # a stranger, or somebody who is here already
            writer.close()
            return
        waiting.discard(party)
        link.attach(party, reader, writer)
        if not waiting:
            everybody_here.set()

    host, port = meeting.listen or (peers[me].host, peers[me].port)
    server = await asyncio.start_server(
        accept, host, port, ssl=_context(identity, peers, server=True), ssl_handshake_timeout=join
    )
    reason: str | None = "stopped"
    missing = False
    try:
        telling = asyncio.create_task(_tell_for_whom_one_waits(link, meeting))
        try:
            async with asyncio.timeout(join):
                await together([], [_attach(link, meeting, party) for party in range(me)])
                await everybody_here.wait()
        except TimeoutError:
            absent = _absent(link)
            raise MissingPartyError(f"parties {absent} did not come within {join:g} s") from None
        finally:
            telling.cancel()
        session = await _agree_on_session(link, meeting.agreement)
        link.begin(session)
        result = await body(link)
        reason = None
        return result
    except Abort as abort:
        reason, missing = str(abort), isinstance(abort, MissingPartyError)
        raise
    except ProtocolError as error:  # what the survey refuses, such as too few people
        reason = str(error)
        raise
    finally:
        await link.close(reason, missing)
        server.close()


def _absent(link: Link) -> list[int]:
    return sorted(set(range(link.parties)) - {link.me} - link.attached)


async def _tell_for_whom_one_waits(link: Link, meeting: Meeting) -> None:
    """Those who are here already must not take this party for the one that hangs."""
    while True:
        await asyncio.sleep(meeting.patience / NOTICES)
        for party in _absent(link)[:1]:
            link.tell_waiting(party, Kind.HELLO)


async def _attach(link: Link, meeting: Meeting, party: int) -> None:
    reader, writer = await _call(meeting.peers[party], meeting.identity, meeting.peers, party)
    link.attach(party, reader, writer)


async def _agree_on_session(link: Link, agreement: bytes) -> bytes:
    """Hash of what was agreed and of everybody's fresh nonce: no run is like another."""
    nonces = await exchange(link, Kind.HELLO, new_run(), 16)
    return hashlib.sha256(b"jrr committee session 1:" + agreement + b"".join(nonces)).digest()


async def _call(
    peer: Peer, identity: Identity, peers: list[Peer], party: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, again and again until the other side listens; the caller sets the deadline."""
    context = _context(identity, peers, server=False)
    while True:
        try:
            reader, writer = await asyncio.open_connection(peer.host, peer.port, ssl=context)
        except ssl.SSLCertVerificationError:
            raise Abort(f"whoever listens for party {party} shows another certificate") from None
        except (OSError, ssl.SSLError):
            await asyncio.sleep(0.05)
            continue
        if _party_of(writer, peers) != party:
            writer.close()
            raise Abort(f"whoever listens for party {party} shows another certificate")
        return reader, writer


def _party_of(writer: asyncio.StreamWriter, peers: list[Peer]) -> int | None:
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    fingerprint = hashlib.sha256(shown or b"").digest()
    return next((n for n, peer in enumerate(peers) if peer.fingerprint == fingerprint), None)


def _context(identity: Identity, peers: list[Peer], server: bool) -> ssl.SSLContext:
    """Both sides show a certificate, and only those of the parties are good."""
    purpose = ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT
    context = ssl.SSLContext(purpose)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the certificate itself is pinned
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(identity.certificate, identity.key)
    context.load_verify_locations(cadata="\n".join(peer.certificate for peer in peers))
    return context
