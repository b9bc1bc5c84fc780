"""Messages between parties: fixed binary frames over mutual TLS, with deadlines.

    magic 4 | kind 1 | sender 1 | receiver 1 | flag 1 | session 32 | number 4 | length 4 | payload

The flag is 0, or 1 where a party gives up because another one is missing.

A frame of another session, sender, receiver or number is refused, so that nothing can be
replayed or put in another place; a length beyond what the protocol expects is never read.
Certificates are pinned: a peer is a party because it holds that party's key.
"""

import asyncio
import contextlib
import hashlib
import ssl
import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from jrr.survey.committee.dealing import (
    Abort,
    Kind,
    MissingPartyError,
    exchange,
    new_run,
    together,
)

MAGIC = b"jrrC"
HEADER = struct.Struct("<4sBBBB32sII")
ABORT = 255
MISSING = 1  # flag of an abort
CHUNK = 1 << 20
T = TypeVar("T")


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


@dataclass
class Traffic:
    """Bytes and messages that went out, for the books."""

    sent: int = 0
    messages: int = 0


class Link:
    """A mesh of connections; a Channel for jrr.survey.committee.dealing."""

    def __init__(self, me: int, parties: int, session: bytes, patience: float) -> None:
        self.me = me
        self.parties = parties
        self.traffic = Traffic()
        self.session = session
        self._patience = patience
        self._streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._sent = dict.fromkeys(range(parties), 0)
        self._received = dict.fromkeys(range(parties), 0)

    def attach(
        self, party: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Use this connection for messages to and from a party."""
        if party in self._streams or party == self.me or not 0 <= party < self.parties:
            raise Abort(f"party {party} is there already, or is none")
        self._streams[party] = (reader, writer)

    def begin(self, session: bytes) -> None:
        """From here on messages belong to this session."""
        self.session = session

    async def send(self, to: int, kind: int, payload: bytes) -> None:
        """Send a frame; Abort if the other end takes it too slowly."""
        number = self._sent[to]
        self._sent[to] += 1
        header = HEADER.pack(MAGIC, kind, self.me, to, 0, self.session, number, len(payload))
        writer = self._streams[to][1]
        self.traffic.sent += len(header) + len(payload)
        self.traffic.messages += 1
        try:
            async with asyncio.timeout(self._patience):
                writer.write(header)
                for start in range(0, len(payload), CHUNK):
                    writer.write(payload[start : start + CHUNK])
                    await writer.drain()
        except TimeoutError:
            raise MissingPartyError(
                f"party {to} did not take a message in {self._patience:g} s"
            ) from None
        except (OSError, ssl.SSLError):
            raise MissingPartyError(f"the connection to party {to} broke") from None

    async def receive(self, sender: int, kind: int, size: int) -> bytes:
        """The next frame of a party, which must be of this kind and at most this long."""
        name = Kind(kind).name.lower()
        try:
            async with asyncio.timeout(self._patience):
                return await self._next(sender, kind, size)
        except TimeoutError:
            raise MissingPartyError(
                f"party {sender} did not send its {name} within {self._patience:g} s"
            ) from None
        except asyncio.IncompleteReadError:
            raise MissingPartyError(f"party {sender} went away before its {name}") from None
        except (OSError, ssl.SSLError):
            raise MissingPartyError(
                f"the connection to party {sender} broke before its {name}"
            ) from None

    async def _next(self, sender: int, kind: int, size: int) -> bytes:
        reader = self._streams[sender][0]
        header = HEADER.unpack(await reader.readexactly(HEADER.size))
        magic, received, origin, to, flag, session, number, length = header
        if magic != MAGIC:
            raise Abort(f"party {sender} sent what is no frame")
        if received == ABORT and session == self.session and length <= 1000:
            reason = (await reader.readexactly(length)).decode("utf-8", "replace")
            shown = "".join(letter for letter in reason if letter.isprintable())
            kind_of_abort = MissingPartyError if flag == MISSING else Abort
            raise kind_of_abort(f"party {sender} gave up: {shown}")
        if (origin, to) != (sender, self.me):
            raise Abort(f"party {sender} sent a frame of party {origin} for party {to}")
        if session != self.session:
            raise Abort(f"party {sender} is in another session: campaign, roster or run differ")
        if number != self._received[sender]:
            raise Abort(f"party {sender} sent frame {number} again or out of turn")
        if received != kind:
            raise Abort(f"party {sender} sent a frame of kind {received} instead of {kind}")
        if length > size:
            raise Abort(f"party {sender} sent {length} bytes where at most {size} are expected")
        self._received[sender] += 1
        return await reader.readexactly(length)

    async def close(self, reason: str | None = None, missing: bool = False) -> None:
        """Tell the others why, if there is a reason, and hang up; missing: a party is not there."""
        flag = MISSING if missing else 0
        for party, (_, writer) in self._streams.items():
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError, RuntimeError):
                if reason is not None:
                    text = reason.encode()[:1000]
                    header = (MAGIC, ABORT, self.me, party, flag, self.session, 0, len(text))
                    writer.write(HEADER.pack(*header) + text)
                async with asyncio.timeout(1.0):
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        self._streams.clear()


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """Who meets whom, and how long they wait for each other."""

    me: int  # one's own place among the peers
    peers: list[Peer]  # all parties, in order
    identity: Identity
    agreement: bytes  # 32 bytes that are the same for all who mean the same round
    patience: float  # seconds for each message
    join: float  # seconds until all are there
    listen: tuple[str, int] | None = None  # where to wait for the others, if not as peers[me] says


async def meet(meeting: Meeting, body: Callable[[Link], Coroutine[Any, Any, T]]) -> T:
    """Connect to all other parties, agree on a session, run `body`, hang up.

    Parties with larger numbers call those with smaller ones.
    """
    me, peers, identity, join = meeting.me, meeting.peers, meeting.identity, meeting.join
    link = Link(me, len(peers), meeting.agreement, meeting.patience)
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
        try:
            async with asyncio.timeout(join):
                calls = [_call(peers[party], identity, peers, party) for party in range(me)]
                for party, (reader, writer) in enumerate(await together([], calls)):
                    link.attach(party, reader, writer)
                await everybody_here.wait()
        except TimeoutError:
            absent = sorted(set(range(len(peers))) - {me} - set(link._streams))
            raise MissingPartyError(f"parties {absent} did not come within {join:g} s") from None
        session = await _agree_on_session(link, meeting.agreement)
        link.begin(session)
        result = await body(link)
        reason = None
        return result
    except Abort as abort:
        reason, missing = str(abort), isinstance(abort, MissingPartyError)
        raise
    finally:
        await link.close(reason, missing)
        server.close()


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
