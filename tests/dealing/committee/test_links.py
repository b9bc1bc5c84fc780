"""Frames and certificates between parties: over TLS on loopback, against one that misbehaves."""

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

import pytest

from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.dealing import Dealt, Kind, deal
from jrr.dealing.committee.meeting import HEADER, MAGIC, Identity, Link, Meeting, Peer, meet
from tests.dealing.committee.memory import nothing_sealed, opened, succeeded
from tests.dealing.committee.parties import certificate, identity, peers

AGREED = b"a" * 32
PATIENCE, JOIN = 1.5, 3.0
LATEST = PATIENCE + JOIN + 60.0  # and time to hang up, on a busy machine
DECK = [1, 1, 2, 2, 3]
ROGUE = 2  # the last party calls the others
Body = Callable[[Link], Coroutine[Any, Any, Any]]
Result = Dealt | BaseException


async def deals(link: Link) -> Dealt:
    """What an honest party does."""
    return await deal(link, DECK, threshold=1, session=link.session, commit_to=nothing_sealed)


def party(
    me: int,
    where: list[Peer],
    body: Body = deals,
    agreement: bytes = AGREED,
    shown: Identity | None = None,
    patience: float = PATIENCE,
    join: float = JOIN,
) -> Awaitable[Any]:
    meeting = Meeting(
        me=me,
        peers=where,
        identity=shown or identity(me),
        agreement=agreement,
        patience=patience,
        join=join,
    )
    return meet(meeting, body)


def all_of(*running: Awaitable[Any]) -> list[Any]:
    """What each ended with; all of them in time."""

    async def run() -> list[Any]:
        return await asyncio.gather(*running, return_exceptions=True)

    start = time.perf_counter()
    found = asyncio.run(run())
    assert time.perf_counter() - start < LATEST
    return found


def against(rogue: Body, agreement: bytes = AGREED) -> list[str]:
    """Two honest parties and one that meets them properly; why the two aborted."""
    where = peers(3)

    async def body(link: Link) -> None:
        with suppress(Abort):
            await rogue(link)
            await asyncio.sleep(LATEST)

    async def run() -> list[Any]:
        third = asyncio.ensure_future(party(ROGUE, where, body, agreement))
        try:
            return list(
                await asyncio.gather(party(0, where), party(1, where), return_exceptions=True)
            )
        finally:
            third.cancel()
            with suppress(asyncio.CancelledError, Abort, OSError):
                await third

    start = time.perf_counter()
    found = asyncio.run(run())
    assert time.perf_counter() - start < LATEST
    for outcome in found:
        assert isinstance(outcome, Abort), repr(outcome)
    return [str(outcome) for outcome in found]


def frame(
    link: Link,
    to: int,
    kind: int = Kind.COMMIT,
    payload: bytes = bytes(32),
    *,
    magic: bytes = MAGIC,
    sender: int = ROGUE,
    receiver: int | None = None,
    session: bytes | None = None,
    number: int | None = None,
    length: int | None = None,
) -> bytes:
    """A frame as the rogue likes it; by default the right one at the protocol's first step."""
    return (
        HEADER.pack(
            magic,
            kind,
            sender,
            to if receiver is None else receiver,
            0,
            link.session if session is None else session,
            link._sent[to] if number is None else number,
            len(payload) if length is None else length,
        )
        + payload
    )


def write(link: Link, to: int, data: bytes) -> None:
    link._streams[to][1].write(data)


def sends(**what: Any) -> Body:
    """A rogue that sends one strange frame to party 0 and the right one to party 1."""

    async def rogue(link: Link) -> None:
        write(link, 1, frame(link, 1))
        write(link, 0, frame(link, 0, **what))

    return rogue


def test_three_parties_on_loopback_deal() -> None:
    where = peers(3)
    found = succeeded(all_of(*(party(me, where) for me in range(3))))
    cards, _ = opened(found)
    assert sorted(cards) == DECK
    assert len({one.record for one in found}) == 1


@pytest.mark.parametrize(
    ("strange", "reason"),
    [
        ({"magic": b"jrrX"}, "sent what is no frame"),
        ({"magic": b"\x16\x03\x01\x02"}, "sent what is no frame"),
        ({"session": bytes(32)}, "in another session"),
        ({"session": AGREED}, "in another session"),
        ({"number": 0}, "sent frame 0 again or out of turn"),
        ({"number": 2}, "sent frame 2 again or out of turn"),
        ({"number": 2**32 - 1}, "again or out of turn"),
        ({"kind": Kind.SEED}, "sent a frame of kind 2 instead of 1"),
        ({"kind": Kind.HELLO}, "sent a frame of kind 0 instead of 1"),
        ({"kind": 200}, "sent a frame of kind 200 instead of 1"),
        ({"sender": 1}, "sent a frame of party 1 for party 0"),
        ({"receiver": 1}, "sent a frame of party 2 for party 1"),
        ({"payload": bytes(33)}, "sent 33 bytes where at most 32 are expected"),
        ({"length": 2**32 - 1}, "sent 4294967295 bytes where at most 32 are expected"),
        ({"length": 2**31}, "sent 2147483648 bytes where at most 32 are expected"),
    ],
    ids=str,
)
def test_a_strange_frame_is_refused_with_a_reason(strange: dict[str, Any], reason: str) -> None:
    reasons = against(sends(**strange))
    assert f"party {ROGUE}" in reasons[0]
    assert reason in reasons[0]
    # The other is told, or sees that party 0 has gone.
    assert "party 0" in reasons[1] or "party 2" in reasons[1]


def test_a_replayed_frame_is_refused() -> None:
    async def rogue(link: Link) -> None:
        first = frame(link, 0)
        write(link, 1, frame(link, 1))
        write(link, 0, first + first)

    assert "sent frame 1 again or out of turn" in against(rogue)[0]


def test_a_frame_that_ends_early_is_refused() -> None:
    for cut in (1, HEADER.size - 1, HEADER.size, HEADER.size + 5):

        async def rogue(link: Link, cut: int = cut) -> None:
            write(link, 1, frame(link, 1))
            write(link, 0, frame(link, 0)[:cut])
            link._streams[0][1].close()

        assert "party 2 went away before its commit" in against(rogue)[0]


@pytest.mark.parametrize("cut", [0, 3, HEADER.size, HEADER.size + 31])
def test_a_party_that_stalls_is_waited_for_no_longer_than_said(cut: int) -> None:
    async def rogue(link: Link) -> None:
        write(link, 1, frame(link, 1))
        write(link, 0, frame(link, 0)[:cut])

    assert against(rogue)[0] == f"party 2 did not send its commit within {PATIENCE:g} s"


def test_half_a_vector_is_not_enough() -> None:
    async def rogue(link: Link) -> None:
        for to in (0, 1):
            await link.send(to, Kind.COMMIT, bytes(32))
            await link.receive(to, Kind.COMMIT, 32)
        await link.send(0, Kind.SEED, bytes(32))
        whole = bytes(4 * 2 * len(DECK))
        write(link, 1, frame(link, 1, Kind.VECTOR, whole)[: HEADER.size + len(whole) // 2])

    assert against(rogue)[1] == f"party 2 did not send its vector within {PATIENCE:g} s"


def test_a_party_that_drips_bytes_does_not_win_time() -> None:
    """The deadline is for the whole frame, not for each byte of it."""

    async def rogue(link: Link) -> None:
        write(link, 1, frame(link, 1))
        for byte in frame(link, 0):
            write(link, 0, bytes([byte]))
            await asyncio.sleep(0.1)

    assert "did not send its commit within" in against(rogue)[0]


def test_a_party_that_takes_nothing_is_given_up() -> None:
    """Full pipes: a vector larger than any buffer, and nobody who reads."""

    async def sends_much(link: Link) -> None:
        await link.send(1, Kind.VECTOR, bytes(64 << 20))

    async def takes_nothing(link: Link) -> None:
        link._streams[0][0]._transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(PATIENCE + 1)

    where = peers(2)
    found = all_of(party(0, where, sends_much), party(1, where, takes_nothing))
    assert isinstance(found[0], Abort)
    assert "party 1 did not take a message" in str(found[0])


def test_why_somebody_gave_up_is_told_in_printable_text() -> None:
    async def rogue(link: Link) -> None:
        text = b"no\x1b[31m more\n" + b"\xff"
        for to in (0, 1):
            write(link, to, frame(link, to, 255, text, number=0))

    assert against(rogue)[0] == "party 2 gave up: no[31m more\ufffd"


def test_a_farewell_that_is_too_long_is_not_read() -> None:
    async def rogue(link: Link) -> None:
        for to in (0, 1):
            write(link, to, frame(link, to, 255, b"x" * 1001))

    assert "sent a frame of kind 255 instead of 1" in against(rogue)[0]


def test_another_agreement_is_another_session() -> None:
    async def rogue(link: Link) -> None:
        await asyncio.sleep(0)

    reasons = against(rogue, agreement=b"b" * 32)
    assert any("in another session: survey, roster or run differ" in one for one in reasons)


# Whoever is not a party -------------------------------------------------------------------------


def trusting(shown: Identity | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    return context


async def call(port: int, shown: Identity | None) -> tuple[Any, Any]:
    """Connect as soon as somebody listens."""
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port, ssl=trusting(shown))
        except ConnectionRefusedError:
            await asyncio.sleep(0.02)


async def raw(port: int, data: bytes) -> socket.socket:
    """A connection without TLS, which stays open."""
    while True:
        try:
            plug = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            await asyncio.sleep(0.02)
            continue
        plug.sendall(data)
        return plug


@pytest.mark.parametrize(
    "data",
    [b"", b"GET / HTTP/1.1\r\n\r\n", MAGIC + bytes(100), b"\x16\x03\x01\xff\xff", b"\xff" * 4096],
    ids=["silence", "http", "frame", "half a hello", "noise"],
)
def test_garbage_instead_of_tls_disturbs_nobody(data: bytes) -> None:
    where = peers(3)
    plugs: list[socket.socket] = []

    async def late(me: int) -> Any:
        await asyncio.sleep(0.5)  # after the garbage
        return await party(me, where)

    async def throw() -> None:
        for port in (where[0].port, where[1].port):
            for _ in range(5):
                plugs.append(await raw(port, data))

    found = all_of(party(0, where), party(1, where), late(2), throw())
    for plug in plugs:
        plug.close()
    assert sorted(opened(succeeded(found[:3]))[0]) == DECK


@pytest.mark.parametrize("shown", [None, 7], ids=["none", "a stranger's"])
def test_whoever_shows_no_party_s_certificate_is_not_let_in(shown: int | None) -> None:
    where = peers(3)
    said: list[BaseException | bytes] = []

    async def stranger() -> None:
        try:
            reader, writer = await call(where[0].port, None if shown is None else identity(shown))
            writer.write(HEADER.pack(MAGIC, Kind.HELLO, 2, 0, 0, AGREED, 0, 16) + bytes(16))
            said.append(await reader.read(1))
            writer.close()
        except OSError as error:  # among them what TLS says
            said.append(error)

    async def late(me: int) -> Any:
        await asyncio.sleep(0.5)
        return await party(me, where)

    found = all_of(party(0, where), party(1, where), late(2), stranger())
    assert sorted(opened(succeeded(found[:3]))[0]) == DECK
    assert isinstance(said[0], OSError) or said[0] == b""


def test_an_impostor_who_comes_instead_is_no_party() -> None:
    where = peers(3)

    async def impostor() -> Any:
        mine = [*where[:2], Peer("127.0.0.1", where[2].port, certificate(7))]
        return await party(2, mine, shown=identity(7))

    found = all_of(party(0, where), party(1, where), impostor())
    assert all(isinstance(one, Abort | OSError) for one in found)
    reasons = [str(one) for one in found[:2]]
    assert any("parties [2] did not come within 3 s" in reason for reason in reasons)


@pytest.mark.parametrize("shown", [7, 1], ids=["a stranger's", "another party's"])
def test_an_impostor_who_listens_instead_is_noticed_by_the_caller(shown: int) -> None:
    where = peers(3)
    taken = [Peer("127.0.0.1", where[0].port, certificate(shown)), *where[1:]]

    async def impostor() -> Any:
        # Also lets everybody in who is in the survey, so that only the caller's check is left.
        return await party(0, taken, shown=identity(shown))

    found = all_of(impostor(), party(2, where))
    assert isinstance(found[1], Abort)
    assert "whoever listens for party 0 shows another certificate" in str(found[1])


def test_a_party_that_is_there_twice_does_not_count_twice() -> None:
    """Two with one key: the first is in, the second is shown the door, and the deal goes on."""
    where = peers(3)
    said: list[bytes] = []

    async def twin() -> None:
        await asyncio.sleep(0.5)  # party 2 waits for party 1
        reader, writer = await call(where[0].port, identity(2))
        header = HEADER.pack(MAGIC, Kind.HELLO, 2, 0, 0, AGREED, 0, 16)
        writer.write(header + bytes(16))
        said.append(await reader.read())
        writer.close()

    async def late() -> Any:
        while not said:
            await asyncio.sleep(0.05)
        return await party(1, where)

    found = all_of(party(0, where), late(), party(2, where), twin())
    assert sorted(opened(succeeded(found[:3]))[0]) == DECK
    assert said == [b""]


def test_two_with_one_key_who_each_have_one_of_the_others_deal_nothing() -> None:
    """Each of two twins reached one party only."""
    where = peers(3)

    async def twin(reaches: int) -> Any:
        reader, writer = await call(where[reaches].port, identity(2))
        header = HEADER.pack(MAGIC, Kind.HELLO, 2, reaches, 0, AGREED, 0, 16)
        writer.write(header + bytes([reaches]) * 16)
        with suppress(OSError):
            await reader.read()
        writer.close()

    found = all_of(party(0, where), party(1, where), twin(0), twin(1))
    for one in found[:2]:
        assert isinstance(one, Abort)
    assert any("in another session" in str(one) for one in found[:2])


def test_a_party_that_connects_and_says_nothing_is_named() -> None:
    where = peers(3)

    async def silent(to: int) -> None:
        reader, writer = await call(where[to].port, identity(2))
        with suppress(OSError):
            await reader.read()
        writer.close()

    found = all_of(party(0, where), party(1, where), silent(0), silent(1))
    for one in found[:2]:
        assert isinstance(one, Abort)
    assert any("party 2 did not send its hello within" in str(one) for one in found[:2])


def test_only_tls_1_3_is_spoken() -> None:
    where = peers(2)

    async def old() -> str:
        context = trusting(identity(1))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        while True:
            try:
                await asyncio.open_connection("127.0.0.1", where[0].port, ssl=context)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
            except (ssl.SSLError, ConnectionError) as error:
                return str(error)
            else:
                return "let in"

    found = all_of(party(0, where, join=1.5), old())
    assert found[1] != "let in"
    assert isinstance(found[0], Abort)


def test_a_port_in_use_is_an_error_and_not_a_hang() -> None:
    where = peers(2)
    with socket.create_server(("127.0.0.1", where[0].port)):
        (found,) = all_of(party(0, where))
    assert isinstance(found, OSError)


def test_headers_have_one_layout() -> None:
    """Fixed forever: parties of different versions must read each other."""
    assert HEADER.size == struct.calcsize("<4sBBBB32sII") == 48
    made = HEADER.pack(MAGIC, 1, 2, 3, 0, b"s" * 32, 4, 5)
    assert made == b"jrrC\1\2\3\0" + b"s" * 32 + b"\4\0\0\0\5\0\0\0"


@pytest.mark.parametrize("count", [2, 4, 5])
def test_other_numbers_of_parties(count: int) -> None:
    where = peers(count)

    async def body(link: Link) -> Dealt:
        return await deal(
            link,
            DECK,
            threshold=(count - 1) // 2,
            session=link.session,
            commit_to=nothing_sealed,
        )

    found: Sequence[Any] = all_of(*(party(me, where, body) for me in range(count)))
    assert sorted(opened(succeeded(found))[0]) == DECK
