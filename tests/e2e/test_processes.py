"""Servers that stop, crash and come back: what was acknowledged is there, cards stay the same."""

import asyncio
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jrr import DRR, RR
from jrr.client.contributor import Contributor
from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.errors import JrrError, UnreachableError
from jrr.protocol.documents import hashed
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.research.processes import Running, free_port, running, stop
from jrr.servers.common.connections import DEADLINE
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey
from tests.e2e import (
    Pair,
    answer_all,
    ask,
    ask_many,
    card_body,
    cards_of,
    path_of,
    read_rows,
    survey_of,
    upload_body,
)

SEATS = "SELECT pseudonym, block, number FROM seats"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database for one server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/one.db"
    return str(request.getfixturevalue("new_postgres_database")())


def installed(server: Running, survey: Survey, people: int) -> list[bytes]:
    """A survey at one server alone."""
    dealing = {0: server.admin} if server.role == "dealer" else {}
    collector = server.admin if server.role == "collector" else None
    operator = Operator(survey, dealing, collector)
    operator.install()
    invitations = new_invitations(people)
    operator.invite(invitations)
    operator.open()
    return [invitation_secret(text) for text in invitations]


def alone(mechanism: DRR | RR, **urls: str) -> Survey:
    dealer = urls.get("dealer", "http://127.0.0.1:8")
    collector = urls.get("collector", "http://127.0.0.1:9")
    return survey_of(mechanism, dealer, collector, capacity=mechanism.moments.deck or 10_000)


def send_until(
    url: str, path: str, bodies: list[bytes], enough: int, act: Callable[[], None]
) -> dict[bytes, Any]:
    """Send bodies, 16 at a time, and act after so many answers; the answers."""
    answers: dict[bytes, Any] = {}

    async def run() -> None:
        waiting = iter(bodies)
        async with aiohttp.ClientSession() as session:

            async def worker() -> None:
                for body in waiting:
                    try:
                        async with session.post(url + path, data=body) as response:
                            said = await response.json()
                            assert response.status in (200, 201)
                            answers[body] = said
                    except (aiohttp.ClientError, OSError):
                        return
                    if len(answers) == enough:
                        act()

            await asyncio.gather(*(worker() for _ in range(16)))

    asyncio.run(run())
    return answers


@pytest.mark.slow_variants("postgresql]")
def test_after_kill_every_acknowledged_report_is_there(database: str, tmp_path: Path) -> None:
    survey = alone(RR(2, 1.0))
    port = free_port()
    with running("collector", tmp_path, database, port=port) as server:
        people = installed(server, survey, 600)
        bodies = [upload_body(survey, secret, at % 2) for at, secret in enumerate(people)]
        acknowledged = send_until(
            server.url, path_of(survey, "reports"), bodies, 150, server.process.kill
        )
        assert server.process.wait(60) == -signal.SIGKILL
        assert 150 <= len(acknowledged) < 600
    with running("collector", tmp_path, database, port=port) as server:
        names = {bytes(name) for (name,) in read_rows(database, "SELECT pseudonym FROM reports")}
        assert len(names) >= len(acknowledged)
        replies = ask_many(server.url, path_of(survey, "reports"), bodies)
        for body, reply in zip(bodies, replies, strict=True):
            assert reply.status == 200 if body in acknowledged else reply.status in (200, 201)
        # What was there before it came back is what it says was there.
        assert sum(reply.status == 200 for reply in replies) == len(names)
        assert server.admin.get(f"/v1/admin/surveys/{survey.hash}")["reports"] == 600
    assert (tmp_path / "collector.log").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "how"),
    [("sqlite", signal.SIGTERM), ("sqlite", signal.SIGKILL), ("postgresql", signal.SIGKILL)],
    ids=["sqlite-stopped", "sqlite-killed", "postgresql-killed"],
    indirect=["database"],
)
def test_a_dealer_that_comes_back_deals_on_where_it_was(
    database: str, tmp_path: Path, how: signal.Signals
) -> None:
    with running("dealer", tmp_path, database) as server:
        survey = alone(DRR(64, truth=0.5, own=0.1, k=2), dealer=server.url)
        people = installed(server, survey, 64)
        bodies = [card_body(survey, secret) for secret in people]
        done = send_until(
            server.url,
            path_of(survey, "cards"),
            bodies[:40],  # the others come later
            20,
            lambda: server.process.send_signal(how),
        )
        assert server.process.wait(60) == (0 if how == signal.SIGTERM else -how)
        assert 20 <= len(done) <= 40
    before = {bytes(name): (block, seat) for name, block, seat in read_rows(database, SEATS)}
    assert len(before) >= len(done)
    with running("dealer", tmp_path, database) as server:
        cards = cards_of(server.url, survey, people)
        assert Counter(cards) == {0: 32, 1: 32}
        after = {bytes(name): (block, seat) for name, block, seat in read_rows(database, SEATS)}
        assert before.items() <= after.items()
        assert sorted(after.values()) == [(0, seat) for seat in range(64)]
        assert cards_of(server.url, survey, people) == cards
    for body, card in zip(bodies, cards, strict=True):
        if body in done:
            assert done[body]["cards"]["answer"]["card"] == card


@pytest.mark.slow
def test_a_dealer_that_stops_leaves_people_to_answer_without_a_card(
    sqlite_pair: Pair, tmp_path: Path
) -> None:
    collector = sqlite_pair.collector
    with running("dealer", tmp_path) as dealer:
        survey = alone(DRR(20, truth=0.5, own=0.1), dealer=dealer.url, collector=collector.url)
        operator = Operator(survey, {0: dealer.admin}, collector.admin)
        operator.install()
        invitations = new_invitations(20)
        operator.invite(invitations)
        operator.open()
        people = [invitation_secret(text) for text in invitations]
        assert all(receipt.carded for receipt in answer_all(survey, people[:10]))
    start = time.perf_counter()
    late = answer_all(survey, people[10:], limits=Limits(700.0, patience=1.0))
    assert not any(receipt.carded for receipt in late)
    assert time.perf_counter() - start < 60
    found = Operator(survey, {}, collector.admin).estimate("answer")
    assert (found["carded"], found["cardless"]) == (10, 10)


@pytest.mark.slow_variants("postgresql-SIGTERM]", "sqlite-SIGINT]")
@pytest.mark.parametrize(
    ("database", "how"),
    [("sqlite", signal.SIGTERM), ("sqlite", signal.SIGINT), ("postgresql", signal.SIGTERM)],
    ids=["sqlite-SIGTERM", "sqlite-SIGINT", "postgresql-SIGTERM"],
    indirect=["database"],
)
def test_asked_to_stop_a_server_finishes_what_it_has_and_exits_0(
    database: str, tmp_path: Path, how: signal.Signals
) -> None:
    survey = alone(RR(2, 1.0))
    with running("collector", tmp_path, database) as server:
        people = installed(server, survey, 400)
        bodies = [upload_body(survey, secret) for secret in people]
        parts = urlsplit(server.url)
        idle = socket.create_connection((parts.hostname, parts.port or 0))
        half = socket.create_connection((parts.hostname, parts.port or 0))
        half.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        start = 0.0

        def act() -> None:
            nonlocal start
            start = time.perf_counter()
            server.process.send_signal(how)

        acknowledged = send_until(server.url, path_of(survey, "reports"), bodies, 100, act)
        assert server.process.wait(60) == 0
        assert time.perf_counter() - start < DEADLINE - 0.5  # it waited for nobody who is silent
        idle.close()
        half.close()
    assert 100 <= len(acknowledged) < 400
    stored = read_rows(database, "SELECT pseudonym FROM reports")
    names = {bytes(name) for (name,) in stored}
    for body, secret in zip(bodies, people, strict=True):
        if body in acknowledged:
            assert _hash_of(survey, secret) in names
    assert (tmp_path / "collector.log").read_text() == ""


def _hash_of(survey: Survey, secret: bytes) -> bytes:
    return hashed(pseudonym(secret, survey.collector_salt, COLLECTOR))


@pytest.mark.slow
def test_a_request_that_never_ends_does_not_hold_a_server_for_long(tmp_path: Path) -> None:
    survey = alone(RR(2, 1.0))
    with running("collector", tmp_path) as server:
        installed(server, survey, 1)
        parts = urlsplit(server.url)
        with socket.create_connection((parts.hostname, parts.port or 0)) as plug:
            path = path_of(survey, "reports")
            plug.sendall(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{{".encode()
            )
            time.sleep(0.5)
            assert stop(server.process) == 0


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(JrrError, match=rf"host and port must be free.*127\.0\.0\.1:{port}"),
            running("collector", tmp_path, port=port),
        ):
            pass
    said = (tmp_path / "collector.log").read_text()
    assert said.count("\n") == 1


def _certificate(folder: Path, name: str = "127.0.0.1") -> tuple[Path, Path]:
    """A certificate and its key, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jrr test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(name))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, secret


def test_over_tls_with_a_certificate_of_ones_own(tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)
    config = tmp_path / "server.toml"
    config.write_text(f'tls_certificate = "{certificate}"\ntls_key = "{key}"\n')
    config.chmod(0o600)
    more = ("--config", str(config))
    with (
        running("dealer", tmp_path, None, *more) as dealer,
        running("collector", tmp_path, None, *more) as collector,
    ):
        assert dealer.url.startswith("https://127.0.0.1:")
        survey = alone(DRR(20, truth=0.5, own=0.1), dealer=dealer.url, collector=collector.url)
        operator = Operator(
            survey,
            {0: Admin(dealer.url, dealer.token, certificate)},
            Admin(collector.url, collector.token, certificate),
        )
        operator.install()
        invitations = new_invitations(3)
        operator.invite(invitations)
        operator.open()
        for at, invitation in enumerate(invitations[:2]):
            person = Contributor(
                survey.link,
                invitation,
                limit=5.0,
                state=tmp_path / f"state{at}",
                ca=certificate,
            )
            assert person.answer("answer 1").carded
        assert operator.show()["collector"]["reports"] == 2
        # Without the certificate there is nobody to talk to, and nothing is sent.
        stranger = Contributor(
            survey.link, invitations[2], limit=5.0, patience=0.3, state=tmp_path / "state3"
        )
        with pytest.raises(UnreachableError):
            stranger.answer("answer 1")
        with pytest.raises(JrrError, match="cannot be reached"):
            collector.admin.get(operator.path)
        assert list((tmp_path / "state3").glob("*.upload")) == []
        with pytest.raises((OSError, HTTPException)):
            ask(collector.url, "GET", "/healthz")  # in clear
        assert operator.close()["collector"]["reports"] == 2
