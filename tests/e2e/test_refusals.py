"""Bad input of every kind: refused as a problem document, never the server's fault, not stored."""

import asyncio
import json
import random
import string
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from jrr import DRR, JRR, OLH, OUE, RR, SeededRandom
from jrr.client.operator import Operator
from jrr.dealing.kinds import Dealers
from jrr.errors import JrrError
from jrr.protocol.documents import hash_of, hashed
from jrr.protocol.identity import COLLECTOR, pseudonym
from jrr.research.processes import running
from tests.e2e import (
    PROBLEM,
    Pair,
    ask,
    ask_many,
    card_body,
    enrol_all,
    is_problem,
    nothing_logged,
    path_of,
    raw,
    survey_of,
    upload_body,
)

pytestmark = pytest.mark.slow_variants("postgresql")

LIMIT = 2 << 20  # bytes of a body
NO_FLAGS: tuple[Any, ...] = (0, 1, "true", None, [])
NO_REPORTS: tuple[Any, ...] = (None, [], 1, "1")


@pytest.fixture(autouse=True)
def _silent(sqlite_pair: Pair) -> Iterator[None]:
    """Whatever was sent, no server had to log anything."""
    yield
    nothing_logged(sqlite_pair)


def stored(pair: Pair) -> int:
    return sum(
        int(pair.rows(role, f"SELECT count(*) FROM {table}")[0][0])
        for role, tables in (
            ("dealer", ("surveys", "invited", "seats")),
            ("collector", ("surveys", "invited", "people", "reports")),
        )
        for table in tables
    )


def authorised(server: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}"}


def enrolling(pair: Pair) -> Dealers:
    """Cards for exactly those who enrol."""
    return Dealers((pair.dealer.url,), enrol_first=True)


def reported(report: Any, **more: Any) -> dict[str, Any]:
    """The reports of an upload, with anything for a report."""
    return {"answer": {"carded": False, "report": report} | more}


# -- reports -------------------------------------------------------------------------------


def test_reports_that_are_not_acceptable(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1, k=3), groups={"region": ("north", "south")})
    _, people = pair.begin(survey, 20)
    before = stored(pair)
    me = people[0]
    good = upload_body(survey, me, 1, groups={"region": "north"})
    text = good.decode()
    bad: list[bytes] = [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"1",
        b"{}",
        b"{" * 100_000,
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        good[:-1],
        good[: len(good) // 2],
        good + b"x",
        good + good,
        b"\xef\xbb\xbf" + good,
        b"\xff\xfe" + good,
        text.encode("utf-16"),
        good.replace(b"north", b"nor\xff"),
        good.replace(b"north", b"nor\\ud800"),
        good.replace(b"north", b"nor\\u0000th"),
        b"\0" * 100,
        json.dumps(json.loads(good) | {"more": 1}).encode(),
        *(
            json.dumps({k: v for k, v in json.loads(good).items() if k != missing}).encode()
            for missing in ("pseudonym", "open", "reports")
        ),
        good.replace(b'"report": 1', b'"report": NaN'),
        good.replace(b'"report": 1', b'"report": Infinity'),
        good.replace(b'"report": 1', b'"report": -Infinity'),
        good.replace(b'"report": 1', b'"report": 1e400'),
        good.replace(b'"report": 1', b'"report": ' + b"9" * 5_000),
    ]
    wrong: dict[str, list[Any]] = {
        "reports": [
            *map(reported, (3, -1, 1.0, 1.5, "1", True, None, [1], {}, 1 << 70, "")),
            *(reported(1, carded=carded) for carded in NO_FLAGS),
            reported(1, more=1),
            reported(1, serials=[None]),
            reported(1, serials=["0" * 32]),
            {"answer": {"report": 1}},
            {"answer": {"carded": False}},
            *({"answer": report} for report in NO_REPORTS),
            *({}, None, [], "answer"),
            {"other": reported(1)["answer"]},
            reported(1) | {"other": reported(1)["answer"]},
        ],
        "pseudonym": [
            "",
            "0" * 63,
            "0" * 65,
            "g" * 64,
            "A" * 64,
            " " * 64,
            "ab " * 21 + " ",
            "٠" * 64,
            1,
            None,
            [],
            "0" * 100_000,
        ],
        "open": [
            {},
            None,
            [],
            "north",
            {"region": "west"},
            {"region": ["north"]},
            {"region": {"north": 1}},
            {"region": None},
            {"region": 1},
            {"region": "north", "sex": "f"},
            {"region": "north", "answer": "answer 1"},
            {"Region": "north"},
        ],
    }
    for name, values in wrong.items():
        bad += [
            upload_body(survey, me, 1, groups={"region": "north"}, **{name: value})
            for value in values
        ]
    replies = ask_many(pair.collector.url, path_of(survey, "reports"), bad)
    for body, reply in zip(bad, replies, strict=True):
        try:
            assert is_problem(reply, 413, 422) in ("too-large", "refused")
        except AssertionError:
            raise AssertionError(f"{body[:300]!r} was answered by {reply}") from None
    assert stored(pair) == before
    assert ask(pair.collector.url, "POST", path_of(survey, "reports"), good).status == 201
    assert stored(pair) == before + 2  # a person, and a report


def test_a_key_that_is_said_twice_is_refused(pair: Pair) -> None:
    """Which of two reports is meant, nobody can say; the two could be read differently."""
    survey = pair.survey(RR(2, 1.0))
    _, people = pair.begin(survey, 2)
    body = upload_body(survey, people[0], 1).replace(b'"report": 1', b'"report": 0, "report": 1')
    assert body.count(b'"report"') == 2
    before = stored(pair)
    reply = ask(pair.collector.url, "POST", path_of(survey, "reports"), body)
    assert is_problem(reply, 422) == "refused"
    assert stored(pair) == before


@pytest.mark.parametrize(
    ("mechanism", "bad"),
    [
        (RR(3, 1.0), [3, -1, "0", None]),
        (JRR(20, p=0.7, s=0.2), [2, -1, True]),
        (
            OUE(12, q=0.2, s=0.1, coupling="dealt", n=20),
            ["", "00", "000", "00000", "0010", "00f0", "00F0", "zz00", " 000", 0, None, ["0000"]],
        ),
        (
            OLH(100, p=0.5, g=8, s=0.3, coupling="joint", n=20),
            [
                0,
                "1",
                [],
                ["1"],
                ["1", 0, 0],
                [1, 0],
                ["-1", 0],
                ["01", 0],
                ["+1", 0],
                [" 1", 0],
                ["1_0", 0],
                ["١", 0],
                ["", 0],
                [str(1 << 64), 0],
                ["1", 8],
                ["1", -1],
                ["1", "0"],
                ["1", None],
                ["1" * 5_000, 0],
            ],
        ),
    ],
    ids=["rr", "jrr", "oue", "olh"],
)
def test_reports_out_of_the_domain(pair: Pair, mechanism: Any, bad: list[Any]) -> None:
    survey = pair.survey(mechanism)
    _, people = pair.begin(survey, 20)
    good_report = mechanism.respond_one(0, None, SeededRandom(1))
    good = {"RR": 2, "JRR": 1, "OUE": "ff0f", "OLH": [str((1 << 64) - 1), 7]}[mechanism.name]

    def body(report: Any) -> bytes:
        return upload_body(survey, people[0], good_report, reports=reported(report))

    before = stored(pair)
    for report in bad:
        reply = ask(pair.collector.url, "POST", path_of(survey, "reports"), body(report))
        assert is_problem(reply, 413, 422) in ("too-large", "refused"), report
    assert stored(pair) == before
    assert ask(pair.collector.url, "POST", path_of(survey, "reports"), body(good)).status == 201


def test_problems_never_repeat_what_was_sent(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1), groups={"region": ("n", "s")})
    _, people = pair.begin(survey, 20)
    token = "7391848261"
    wrong: list[dict[str, Any]] = [
        *({"reports": reported(report)} for report in (int(token), token, [token])),
        {"reports": reported(1, carded=token)},
        {"reports": reported(1, serials=[token])},
        {"reports": reported(1, **{token: 1})},
        {"reports": {token: reported(1)["answer"]}},
        {"open": {"region": token}},
        {"open": {token: "n"}},
        {"open": {"region": "n", token: "n"}},
        {"pseudonym": token},
        {token: 1},
    ]
    for changes in wrong:
        body = upload_body(survey, people[0], groups={"region": "n"}, **changes)
        reply = ask(pair.collector.url, "POST", path_of(survey, "reports"), body)
        assert is_problem(reply, 422) == "refused"
        assert token.encode() not in reply.body, changes
    for path in ("seats", "cards"):
        reply = ask(
            pair.dealer.url,
            "POST",
            path_of(survey, path),
            json.dumps({"pseudonym": token}).encode(),
        )
        assert is_problem(reply, 422) == "refused"
        assert token.encode() not in reply.body


def test_random_changes_of_a_report_are_taken_or_refused_but_never_break(pair: Pair) -> None:
    survey = pair.survey(OUE(12, q=0.2, s=0.1, coupling="dealt", n=40), capacity=400)
    _, people = pair.begin(survey, 400)
    source = random.Random(5)
    empty = survey.sensitive[0].mechanism.respond_one(0, None, SeededRandom(2))
    bodies = []
    for at in range(400):
        report = source.randrange(1 << 12).to_bytes(2, "little").hex()
        data = bytearray(upload_body(survey, people[at], empty, reports=reported(report)))
        for _ in range(source.choice([0, 1, 1, 2, 5, 50])):
            kind = source.randrange(4)
            place = source.randrange(len(data))
            if kind == 0:
                data[place] = source.randrange(256)
            elif kind == 1:
                del data[place : place + source.randrange(1, 5)]
            elif kind == 2:
                data[place:place] = source.choice(
                    [b"{", b"}", b'"', b"\\", b"\0", b"[[", b"null", b",", b"1e999", b"\xff"]
                )
            else:
                data[place:place] = data[: source.randrange(len(data))]
            if not data:
                break
        bodies.append(bytes(data))
    replies = ask_many(pair.collector.url, path_of(survey, "reports"), bodies)
    taken = 0
    for body, reply in zip(bodies, replies, strict=True):
        if reply.status in (200, 201):
            taken += reply.status == 201
            json.loads(body)
        else:
            is_problem(reply, 404, 409, 413, 422)
    query = f"SELECT count(*) FROM reports WHERE survey = '{survey.hash}'"
    assert pair.rows("collector", query) == [(taken,)]
    assert 30 < taken < 300
    estimate = pair.collector.admin.get(f"/v1/admin/surveys/{survey.hash}/estimate?question=answer")
    assert estimate["estimate"]["n"] == taken


# -- sizes ---------------------------------------------------------------------------------


def said_status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else 0


@pytest.mark.parametrize("role", ["dealer", "collector"])
def test_bodies_that_are_too_large_or_lie_about_their_size(sqlite_pair: Pair, role: str) -> None:
    pair = sqlite_pair
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    pair.begin(survey, 2)
    server = getattr(pair, role)
    path = path_of(survey, "cards" if role == "dealer" else "reports")
    before = stored(pair)
    large = b" " * (LIMIT + 1)
    honest = ask(server.url, "POST", path, large)
    assert is_problem(honest, 413) == "too-large"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n".encode()

    def send(headers: bytes, body: bytes, cut: bool = False) -> bytes:
        reply = raw(server.url, head + headers + b"\r\n" + body, 3.0, half_close=cut)
        if said_status(reply) not in (0, 400):  # 400 may be the words of the HTTP parser
            assert PROBLEM.encode() in reply, reply
        assert said_status(reply) < 500
        return reply

    # Claims to be huge and is small; claims to be small and is huge.
    assert said_status(send(b"Content-Length: 99999999999999999999\r\n", b"{}")) in (400, 413)
    assert said_status(send(b"Content-Length: 9999999\r\n", b"{}")) == 413
    # What follows is no second request: the parser may say so first. A server that hangs up while
    # we still talk resets the connection, and its reply may be lost on the way: not every time.
    replies = (send(b"Content-Length: 2\r\n", b"{}" + large) for _ in range(20))
    assert said_status(next(filter(None, replies), b"")) in (400, 422)
    # No length at all: no body.
    assert said_status(send(b"", b"")) == 422
    # In pieces, without a length.
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    chunked = send(b"Transfer-Encoding: chunked\r\n", piece * 40 + b"0\r\n\r\n")
    assert said_status(chunked) in (413, 0)  # 0: it hung up while we were still talking
    small = b"2\r\n{}\r\n0\r\n\r\n"
    assert said_status(send(b"Transfer-Encoding: chunked\r\n", small)) == 422
    for broken in (b"zz\r\n", b"-1\r\n{}\r\n", b"2\r\n{}XX"):
        assert said_status(send(b"Transfer-Encoding: chunked\r\n", broken, True)) in (0, 400)
    for length in (b"-1", b"+2", b"2, 3", b"0x2", b"2\r\nContent-Length: 3", b""):
        assert said_status(send(b"Content-Length: " + length + b"\r\n", b"{}")) in (
            0,
            400,
            413,
            422,
        )
    # Cut off in the middle.
    assert said_status(send(b"Content-Length: 100\r\n", b'{"pseudonym":', True)) in (0, 400)
    assert stored(pair) == before
    assert ask(server.url, "GET", "/readyz").status == 200


def test_a_chunked_body_of_the_right_size_is_taken(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(RR(2, 1.0))
    _, people = sqlite_pair.begin(survey, 1)
    body = upload_body(survey, people[0])
    head = f"POST {path_of(survey, 'reports')} HTTP/1.1\r\nHost: x\r\n".encode()
    pieces = b"".join(b"%x\r\n%s\r\n" % (1, body[at : at + 1]) for at in range(len(body)))
    data = head + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"
    assert said_status(raw(sqlite_pair.collector.url, data)) == 201


# -- names, states, times ------------------------------------------------------------------


def test_unknown_surveys_and_pseudonyms(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    other = pair.survey(DRR(20, truth=0.5, own=0.1))
    _, people = pair.begin(survey, 20)
    _, strangers = pair.begin(other, 20)
    before = stored(pair)
    missing = pair.survey(DRR(20, truth=0.5, own=0.1))  # nobody has it
    for url, where, body in (
        (pair.dealer.url, "cards", card_body(missing, people[0])),
        (pair.dealer.url, "seats", card_body(missing, people[0])),
        (pair.collector.url, "reports", upload_body(missing, people[0])),
    ):
        reply = ask(url, "POST", path_of(missing, where), body)
        assert is_problem(reply, 404) == "unknown-survey"
    for url, where, body in (
        (pair.dealer.url, "cards", card_body(survey, strangers[0])),
        (pair.dealer.url, "cards", card_body(other, people[0])),
        (pair.collector.url, "reports", upload_body(survey, strangers[0])),
        (pair.collector.url, "reports", upload_body(other, people[0])),
    ):
        for at in (survey, other):
            reply = ask(url, "POST", path_of(at, where), body)
            assert is_problem(reply, 404) == "unknown-pseudonym"
    # The dealer's name is nobody at the collector, and a stored hash opens no door.
    name = pseudonym(people[0], survey.hash, survey.dealing.roles[0])
    own = pseudonym(people[0], survey.collector_salt, COLLECTOR)
    for wrong in (name, hashed(name), hashed(own)):
        body = upload_body(survey, people[0], pseudonym=wrong.hex())
        reply = ask(pair.collector.url, "POST", path_of(survey, "reports"), body)
        assert is_problem(reply, 404) == "unknown-pseudonym"
    for server in (pair.dealer, pair.collector):
        for path in (path_of(missing), path_of(missing, "status")):
            assert is_problem(ask(server.url, "GET", path), 404) == "unknown-survey"
    assert stored(pair) == before


def test_too_early_too_late_and_cards_where_there_are_none(pair: Pair) -> None:
    past, future = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
    mechanism = DRR(20, truth=0.5, own=0.1)
    for times, status, kind in (
        ({"opens": future}, 425, "too-early"),
        ({"closes": past}, 410, "closed"),
        ({"opens": past, "closes": "2001-01-01T00:00:01Z"}, 410, "closed"),
    ):
        survey = pair.survey(mechanism, **times)
        operator, people = pair.begin(survey, 20)
        for url, where, body in (
            (pair.dealer.url, "cards", card_body(survey, people[0])),
            (pair.collector.url, "reports", upload_body(survey, people[0])),
        ):
            reply = ask(url, "POST", path_of(survey, where), body)
            assert is_problem(reply, status) == kind
        shown = operator.show()
        assert (shown["dealer"]["seats"], shown["collector"]["reports"]) == (0, 0)
        late = pair.survey(mechanism, dealing=enrolling(pair), capacity=40, **times)
        _, people = pair.begin(late, 20)
        reply = ask(pair.dealer.url, "POST", path_of(late, "seats"), card_body(late, people[0]))
        assert is_problem(reply, status) == kind
    within = pair.survey(mechanism, opens=past, closes=future)
    _, people = pair.begin(within, 20)
    assert (
        ask(
            pair.collector.url, "POST", path_of(within, "reports"), upload_body(within, people[0])
        ).status
        == 201
    )
    # Installed, not opened.
    waiting = pair.survey(mechanism)
    pair.operator(waiting).install()
    for url, where, body in (
        (pair.dealer.url, "cards", card_body(waiting, people[0])),
        (pair.collector.url, "reports", upload_body(waiting, people[0])),
    ):
        assert is_problem(ask(url, "POST", path_of(waiting, where), body), 425) == "too-early"
    # Cards where nobody deals any, seats where nobody enrols.
    plain = pair.survey(RR(2, 1.0))
    _, people = pair.begin(plain, 2)
    body = upload_body(plain, people[0], carded=True)
    reply = ask(pair.collector.url, "POST", path_of(plain, "reports"), body)
    assert is_problem(reply, 422) == "refused"
    reply = ask(pair.dealer.url, "POST", path_of(within, "seats"), card_body(within, people[0]))
    assert is_problem(reply, 409) == "no-enrolment"


# -- addresses, methods, headers -----------------------------------------------------------


@pytest.mark.slow_variants("postgres_pair")
@pytest.mark.parametrize("role", ["dealer", "collector"])
@pytest.mark.parametrize("kind", ["sqlite_pair", "postgres_pair"])
def test_addresses_that_are_no_survey(kind: str, role: str, request: pytest.FixtureRequest) -> None:
    pair: Pair = request.getfixturevalue(kind)
    server = getattr(pair, role)
    before = stored(pair)
    for name in (
        "0" * 63,
        "0" * 65,
        "A" * 64,
        "%00" * 64,
        "0" * 63 + "%00",
        "0" * 64 + "%0a",
        "0" * 64 + "%0d%0aX-Injected:%201",
        "..",
        "%2e%2e",
        "../../etc/passwd",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "%ff%fe" * 32,
        "%d9%a0" * 64,
        "%F0%9F%92%A9" * 64,
        "'%20OR%201=1--",
        "0" * 60_000,
        "%",
        "%zz",
        "*",
        "",
    ):
        for prefix in ("/v1/surveys/", "/v1/admin/surveys/"):
            for method, end in (
                ("GET", ""),
                ("GET", "/status"),
                ("POST", "/cards"),
                ("POST", "/reports"),
                ("POST", "/close"),
            ):
                body = b"{}" if method == "POST" else None
                reply = ask(server.url, method, prefix + name + end, body, authorised(server))
                if reply.kind == "text/plain" and reply.status == 400:
                    continue  # no HTTP at all, says the parser
                is_problem(reply, 404, 405, 422)
    for path in ("/", "/v1", "/docs", "/redoc", "/v2/surveys", "//", "/healthz/", "/%00"):
        reply = ask(server.url, "GET", path)
        if reply.status != 307:
            is_problem(reply, 404)
    assert stored(pair) == before


def test_wrong_methods(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(DRR(20, truth=0.5, own=0.1))
    sqlite_pair.begin(survey, 2)
    before = stored(sqlite_pair)
    for server in (sqlite_pair.dealer, sqlite_pair.collector):
        for method, path in (
            ("POST", path_of(survey)),
            ("DELETE", path_of(survey)),
            ("PUT", path_of(survey)),
            ("PATCH", path_of(survey, "status")),
            ("GET", path_of(survey, "reports" if server.role == "collector" else "cards")),
            ("OPTIONS", path_of(survey)),
            ("PATCH", f"/v1/admin/surveys/{survey.hash}"),
            ("TRACE", "/healthz"),
            ("BREW", "/healthz"),
        ):
            reply = ask(server.url, method, path, headers=authorised(server))
            if (reply.status, reply.kind) != (400, "text/plain"):  # the parser knows no BREW
                assert is_problem(reply, 405) == "method-not-allowed"
        assert ask(server.url, "HEAD", path_of(survey)).status in (200, 405)
        # Each role has only its own doors.
        other = "reports" if server.role == "dealer" else "cards"
        reply = ask(server.url, "POST", path_of(survey, other), b"{}")
        assert is_problem(reply, 404) == "not-found"
    assert stored(sqlite_pair) == before


def test_odd_headers_change_nothing(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(RR(2, 1.0))
    _, people = sqlite_pair.begin(survey, 40)
    url, path = sqlite_pair.collector.url, path_of(survey, "reports")
    odd = [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": ""},
        {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "Forwarded": "for=1"},
        {"Host": "evil.example"},
        {"Host": ""},
        {"Accept": "text/html"},
        {"Cookie": "a=b; " * 500},
        {"Authorization": "Bearer x"},
        {"X-HTTP-Method-Override": "DELETE"},
        {"Accept-Encoding": "\xff"},
        {"Expect": "100-continue"},
        {"Range": "bytes=0-1"},
        {"If-None-Match": "*"},
    ]
    for at, headers in enumerate(odd):
        assert ask(url, "POST", path, upload_body(survey, people[at]), headers).status == 201
    body = upload_body(survey, people[30])
    refused = (
        {"Content-Encoding": "gzip"},  # what is sent is read as it is
        {"Upgrade": "websocket", "Connection": "Upgrade"},
    )
    for headers in refused:
        assert ask(url, "POST", path, body, headers).status in (200, 201, 400, 415, 422)
    many = "".join(f"X-{number}: {'y' * 50}\r\n" for number in range(2_000))
    reply = raw(url, f"GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n".encode())
    assert said_status(reply) < 500
    for line in (
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01" * 20,
    ):
        assert said_status(raw(url, line, wait=3.0)) < 500
    injected = b"GET /healthz?x=%0d%0aX-Injected:1 HTTP/1.1\r\nHost: x\r\n\r\n"
    assert b"X-Injected" not in raw(url, injected)


# -- operators -----------------------------------------------------------------------------

STEPS = (
    ("PUT", ""),
    ("GET", ""),
    ("POST", "/invitations"),
    ("POST", "/open"),
    ("POST", "/close"),
)
OWN_STEPS = {
    "dealer": (("POST", "/deal"), ("POST", "/check")),
    "collector": (
        ("GET", "/closing"),
        ("GET", "/closing/request?dealer=0"),
        ("POST", "/discard"),
        ("POST", "/sums"),
        ("GET", "/estimate?question=answer"),
        ("GET", "/estimates"),
        ("GET", "/change"),
        ("GET", "/export"),
    ),
}


@pytest.mark.parametrize("role", ["dealer", "collector"])
def test_without_the_token_nothing_can_be_done(sqlite_pair: Pair, role: str) -> None:
    pair = sqlite_pair
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    pair.begin(survey, 2)
    new = pair.survey(DRR(20, truth=0.5, own=0.1))
    server = getattr(pair, role)
    other = pair.collector if role == "dealer" else pair.dealer
    before = stored(pair)
    wrong: list[dict[str, str]] = [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {other.token}"},
        {"Authorization": f"Basic {server.token}"},
        {"Authorization": server.token},
        {"Authorization": f"Bearer {server.token}x"},
        {"Authorization": f"Bearer {server.token[:-1]}"},
        {"Authorization": "Bearer \xe9\xff"},
        {"Authorization": "Bearer " + "x" * 20_000},
        {"X-Authorization": f"Bearer {server.token}"},
    ]
    for method, end in (*STEPS, *OWN_STEPS[role]):
        about = new if method == "PUT" else survey
        for headers in wrong:
            path = f"/v1/admin/surveys/{about.hash}{end}"
            body = about.to_bytes() if method == "PUT" else b'{"n":null}'
            reply = ask(server.url, method, path, body, headers)
            kind = is_problem(reply, 401)
            assert kind == "wrong-token"
            assert server.token.encode() not in reply.body
    assert stored(pair) == before
    state = pair.operator(survey).show()[role]["state"]
    assert state == "open"
    lower = {"Authorization": f"bearer {server.token}"}
    assert ask(server.url, "GET", f"/v1/admin/surveys/{survey.hash}", headers=lower).status == 200


def test_documents_that_are_not_a_survey(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    data = survey.to_bytes()
    document = json.loads(data)
    before = stored(pair)

    def canonical(changed: dict[str, Any]) -> bytes:
        return json.dumps(
            changed, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        ).encode()

    asked = document["questions"][0]

    def question(**changes: Any) -> bytes:
        return canonical(document | {"questions": [asked | changes]})

    assert canonical(document) == question() == data
    bad = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"{" * 50_000,
        data[:-1],
        data + b"\n",
        json.dumps(document).encode(),  # blanks
        json.dumps(dict(reversed(document.items())), separators=(",", ":")).encode(),
        data.replace(b'"capacity":20', b'"capacity":20,"capacity":20'),
        canonical(document | {"jrr_survey": 2}),
        canonical(document | {"jrr_survey": True}),
        canonical(document | {"more": 1}),
        canonical({k: v for k, v in document.items() if k != "nonce"}),
        canonical(document | {"guarantees": document["guarantees"] | {"cards": 0.01}}),
        canonical(document | {"guarantees": document["guarantees"] | {"cards": "unbounded!"}}),
        canonical(document | {"guarantees": {}}),
        question(mechanism=asked["mechanism"] | {"truth": 2}),
        question(mechanism=asked["mechanism"] | {"mechanism": "XRR"}),
        question(mechanism=[]),
        question(labels=[{"en": "a"}]),
        question(labels=[{"en": "a"}, {"en": "a"}]),
        question(labels=[1, 2]),
        question(labels=[{"de": "a"}, {"de": "b"}]),
        question(text={"en": ""}),
        question(text={}),
        question(name=""),
        question(kind="riddle"),
        question(sensitive=False),
        question(sensitive=1),
        question(more=1),
        question(colluders=20),
        question(colluders=-1),
        canonical(document | {"questions": []}),
        canonical(document | {"questions": {}}),
        canonical(document | {"questions": [asked, asked]}),
        canonical(document | {"title": {"en": ""}}),
        canonical(document | {"languages": []}),
        canonical(document | {"capacity": 0}),
        canonical(document | {"capacity": 1 << 80}),
        canonical(document | {"colluders": 20}),
        canonical(document | {"colluders": -1}),
        canonical(document | {"opens": "tomorrow"}),
        canonical(document | {"opens": "2026-01-01T00:00:00Z", "closes": "2025-01-01T00:00:00Z"}),
        canonical(document | {"collector": "ftp://x"}),
        canonical(document | {"collector": "javascript:alert(1)"}),
        canonical(document | {"dealing": {"kind": "nobody"}}),
        canonical(document | {"dealing": {"kind": "dealers"}}),
        canonical(document | {"dealing": document["dealing"] | {"urls": []}}),
        canonical(document | {"dealing": document["dealing"] | {"urls": [survey.collector]}}),
        canonical(document | {"consent": {"texts": {"en": ""}}}),
        canonical(document | {"consent": {"texts": {}, "version": "1"}}),
        canonical(document | {"consent": {"texts": {"en": "x" * 1_100_000}, "version": "1"}}),
        data.replace(b'"capacity":20', b'"capacity":NaN'),
        data.replace(b'"capacity":20', b'"capacity":20.0'),
    ]
    for server in (pair.dealer, pair.collector):
        for body in bad:
            path = f"/v1/admin/surveys/{hash_of(body)}"
            reply = ask(server.url, "PUT", path, body, authorised(server))
            assert is_problem(reply, 422) == "refused", body[:200]
        # The right document under a wrong name.
        for name in ("0" * 64, hash_of(data + b" ")):
            path = f"/v1/admin/surveys/{name}"
            reply = ask(server.url, "PUT", path, data, authorised(server))
            assert is_problem(reply, 422) == "refused"
    assert stored(pair) == before
    pair.operator(survey).install()


def test_steps_with_bad_bodies(pair: Pair) -> None:
    survey = pair.survey(DRR(21, truth=0.5, own=0.1), dealing=enrolling(pair), capacity=40)
    operator, people = pair.begin(survey, 30)
    before = stored(pair)
    bad: dict[str, list[Any]] = {
        "invitations": [
            None,
            {},
            {"names": None},
            {"names": "00" * 32},
            {"names": [1]},
            {"names": [None]},
            {"names": ["0" * 63]},
            {"names": ["g" * 64]},
            {"names": ["ab " * 21 + " "]},
            {"names": [["00" * 32]]},
            {"names": ["00" * 32, "x"]},
            {"names": [], "more": 1},
        ],
        "open": [
            None,
            {},
            {"n": "31"},
            {"n": 20},
            {"n": 41},
            {"n": -1},
            {"n": 21.0},
            {"n": True},
            {"n": [21]},
            {"n": 1 << 70},
            {"n": None},
            {"n": 25, "more": 1},
        ],
        "close": [
            None,
            [],
            {"by": 1},
            {"merge_small": 1},
            {"allow_small": "true"},
            {"discard": []},
            {"discard": {"answer": "00" * 16}},
            {"discard": {"answer": [1]}},
            {"discard": {"answer": ["x"]}},
            {"more": 1},
        ],
        "discard": [None, {}, {"serials": []}, {"serials": {"answer": [1]}}],
        "sums": [
            None,
            {},
            {"announced": [], "undealt": {}},
            {"announced": [], "undealt": {}, "decks": "1"},
            {"announced": [], "undealt": {}, "decks": -1},
            {"announced": [], "undealt": {}, "decks": 1.5},
            {"announced": [], "undealt": {}, "decks": 1 << 70},
            {"announced": [], "undealt": {}, "decks": []},
            {"announced": [], "undealt": {}, "decks": True},
            {"announced": {}, "undealt": {}, "decks": 1},
            {"announced": [], "undealt": [], "decks": 1},
        ],
    }
    for step, documents in bad.items():
        for document in documents:
            reply = ask(
                pair.collector.url,
                "POST",
                f"{operator.path}/{step}",
                json.dumps(document).encode(),
                authorised(pair.collector),
            )
            assert is_problem(reply, 422) == "refused", (step, document)
    at_dealer: dict[str, list[Any]] = {
        "invitations": bad["invitations"],
        "check": [None, [], 1],
        "close": [{"request": 1}, {"request": []}, {"without_sum": 1}, {"more": 1}],
    }
    for step, documents in at_dealer.items():
        for document in documents:
            reply = ask(
                pair.dealer.url,
                "POST",
                f"{operator.path}/{step}",
                json.dumps(document).encode(),
                authorised(pair.dealer),
            )
            assert is_problem(reply, 422) == "refused", (step, document)
    assert stored(pair) == before
    shown = operator.show()
    assert (shown["dealer"]["state"], shown["collector"]["state"]) == ("enrolling", "new")
    # In the wrong order.
    arrival = pair.survey(DRR(20, truth=0.5, own=0.1))
    other = pair.operator(arrival)
    other.install()
    headers = authorised(pair.dealer)
    reply = ask(pair.dealer.url, "POST", f"{other.path}/deal", b"null", headers)
    assert is_problem(reply, 409) == "no-enrolment"
    enrol_all(survey, people[:25])
    assert operator.deal() == 25
    with pytest.raises(JrrError, match="409"):
        pair.collector.admin.post(f"{operator.path}/open", {"n": 26})
    assert operator.show()["collector"]["n"] == 25


def test_more_invitations_than_the_capacity_are_refused_all_together(pair: Pair) -> None:
    survey = pair.survey(DRR(20, truth=0.5, own=0.1))
    operator, _ = pair.begin(survey, 15)

    def names(count: int, start: int) -> dict[str, list[str]]:
        return {"names": [f"{number:064x}" for number in range(start, start + count)]}

    for server in (pair.dealer, pair.collector):
        with pytest.raises(JrrError, match=r"409.*capacity 20"):
            server.admin.post(f"{operator.path}/invitations", names(6, 0))
        assert server.admin.get(operator.path)["invited"] == 15
        assert server.admin.post(f"{operator.path}/invitations", names(5, 0)) == {"invited": 20}
        # The same once more is no more.
        server.admin.post(f"{operator.path}/invitations", names(5, 0))
        with pytest.raises(JrrError, match="409"):
            server.admin.post(f"{operator.path}/invitations", names(1, 1_000))


def test_a_failed_step_does_not_undo_somebody_elses_report(pair: Pair) -> None:
    """Requests share commits: what is refused must not take along what was acknowledged."""
    survey = pair.survey(DRR(20, truth=0.5, own=0.1), capacity=300)
    operator, people = pair.begin(survey, 300)
    empty = pair.survey(DRR(5, truth=0.5, own=0.1), dealing=enrolling(pair), capacity=10)
    pair.begin(empty, 1)
    source = random.Random(3)
    reports = [upload_body(survey, secret, at % 2) for at, secret in enumerate(people)]
    cards = [card_body(survey, secret) for secret in people]
    names = [f"{number:064x}" for number in range(2)]
    jobs: list[tuple[str, str, bytes, dict[str, str]]] = []
    for at in range(300):
        jobs.append((pair.collector.url, path_of(survey, "reports"), reports[at], {}))
        jobs.append((pair.dealer.url, path_of(survey, "cards"), cards[at], {}))
        if at % 4 == 0:
            for server in (pair.dealer, pair.collector):
                # Over the capacity; too few people; not a number of people: all refused.
                mine = authorised(server)
                over = json.dumps({"names": names}).encode()
                jobs.append((server.url, f"{operator.path}/invitations", over, mine))
                step = "deal" if server.role == "dealer" else "open"
                path = f"/v1/admin/surveys/{empty.hash}/{step}"
                jobs.append((server.url, path, b'{"n": 1}', mine))
    source.shuffle(jobs)

    async def run() -> list[int]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64)) as session:

            async def one(job: tuple[str, str, bytes, dict[str, str]]) -> int:
                url, path, body, headers = job
                async with session.post(url + path, data=body, headers=headers) as response:
                    await response.read()
                    return response.status

            return list(await asyncio.gather(*(one(job) for job in jobs)))

    statuses = asyncio.run(run())
    for (_, path, _, _), status in zip(jobs, statuses, strict=True):
        if path.endswith("/reports"):
            assert status == 201
        elif path.endswith("/cards"):
            assert status == 200
        elif path.endswith("/invitations"):
            assert status == 409
        else:
            assert status == 422
    shown = operator.show()
    assert (shown["collector"]["reports"], shown["collector"]["invited"]) == (300, 300)
    assert (shown["dealer"]["seats"], shown["dealer"]["invited"]) == (300, 300)
    query = f"SELECT pseudonym FROM reports WHERE survey = '{survey.hash}'"
    found = {bytes(name) for (name,) in pair.rows("collector", query)}
    assert found == {
        hashed(pseudonym(secret, survey.collector_salt, COLLECTOR)) for secret in people
    }


def test_closing_one_survey_disturbs_nobody_in_another(pair: Pair) -> None:
    """Closing rewrites tables that other surveys are writing to."""
    survey = pair.survey(RR(2, 1.0))
    operator, people = pair.begin(survey, 800)
    closing = [pair.survey(DRR(20, truth=0.5, own=0.1)) for _ in range(10)]
    operators = [pair.begin(entry, 20)[0] for entry in closing]
    failures: list[Exception] = []

    def close() -> None:
        for entry in operators:
            try:
                entry.close()
            except JrrError as error:
                failures.append(error)

    thread = threading.Thread(target=close)
    thread.start()
    replies = []
    try:
        bodies = [upload_body(survey, secret) for secret in people]
        for start in range(0, 800, 50):
            replies += ask_many(
                pair.collector.url, path_of(survey, "reports"), bodies[start : start + 50]
            )
    finally:
        thread.join(60)
    assert failures == []
    assert {reply.status for reply in replies} == {201}
    assert operator.show()["collector"]["reports"] == 800


@pytest.mark.slow
def test_a_database_user_without_special_rights_can_close(
    new_postgres_database: Any, tmp_path: Path
) -> None:
    """A server's own user in PostgreSQL owns its database and nothing more."""
    import psycopg

    database = new_postgres_database()
    user = "plain_" + "".join(random.Random(database).choices(string.ascii_lowercase, k=8))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {user} LOGIN NOSUPERUSER".encode())
        name = database.split("/")[3].partition("?")[0]
        connection.execute(f'ALTER DATABASE "{name}" OWNER TO {user}'.encode())
        connection.execute(f"ALTER SCHEMA public OWNER TO {user}".encode())
    own = database.replace("//postgres:@", f"//{user}:@")
    assert own != database
    with running("collector", tmp_path, own) as server:
        survey = survey_of(RR(2, 1.0), "", server.url, capacity=5)
        operator = Operator(survey, {}, server.admin)
        operator.install()
        operator.open()
        assert operator.close()["collector"]["state"] == "closed"
        assert operator.close()["collector"]["state"] == "closed"
    assert (tmp_path / "collector.log").read_text() == ""
