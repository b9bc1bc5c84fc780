"""How parties meet: each calls those before it, all show the certificates that are pinned.

Certificates are pinned: a peer is a party because it holds that party's key.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from jrr.dealing.committee.aborts import Abort, MissingPartyError
from jrr.dealing.committee.dealing import Kind, exchange, new_run, together
from jrr.dealing.committee.link import NOTICES, Link
from jrr.errors import ProtocolError

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
