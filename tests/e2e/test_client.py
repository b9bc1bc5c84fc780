"""A contributor's client when servers lie, stall, stop or lose their replies."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, RR
from jrr.client.contributor import Contributor
from jrr.client.http import Http
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.errors import JrrError, ProtocolError, UnreachableError
from jrr.protocol.documents import canonical_json, hash_of
from jrr.protocol.identity import dealer_role, invitation_secret, new_invitation, pseudonym
from jrr.survey.survey import Survey
from tests.e2e import (
    Pair,
    Recorder,
    enrol_all,
    http_reply,
    pretender,
    proxy,
)

pytestmark = pytest.mark.slow_variants("postgresql")

MECHANISM = DRR(20, truth=0.5, own=0.1)
Say = Callable[[str, str, bytes], bytes]


def begun(pair: Pair, people: int = 20, **more: Any) -> tuple[Survey, Operator, list[str]]:
    survey = pair.survey(more.pop("mechanism", MECHANISM), **more)
    operator = pair.operator(survey)
    operator.install()
    invitations = new_invitations(people)
    operator.invite(invitations)
    operator.open()
    return survey, operator, invitations


def person(survey: Survey, invitation: str | None, state: Path, **more: Any) -> Contributor:
    settings: dict[str, Any] = {"limit": 10.0, "patience": 1.0, "state": state}
    return Contributor(survey.link, invitation, **(settings | more))


def nothing_sent(pair: Pair, survey: Survey, state: Path) -> None:
    """Refused before anything was told or even written down."""
    admin = pair.collector.admin
    assert admin.get(f"/v1/admin/surveys/{survey.hash}")["reports"] == 0
    assert not state.exists() or list(state.glob("*.upload")) == []


def test_an_answer_by_label_and_by_number(pair: Pair, tmp_path: Path) -> None:
    survey, operator, invitations = begun(pair)
    first = person(survey, invitations[0], tmp_path / "a")
    assert first.survey == survey
    receipt = first.answer("answer 1")
    assert (receipt.survey, receipt.carded) == (survey.hash, True)
    assert person(survey, invitations[1].upper(), tmp_path / "b").answer(0).carded
    grouped = "-".join(invitations[2][at : at + 4] for at in range(0, 32, 4))
    assert person(survey, f" {grouped}\n", tmp_path / "c").answer(0).carded
    assert operator.show()["collector"]["reports"] == 3


def test_answers_that_are_not_in_the_survey(sqlite_pair: Pair, tmp_path: Path) -> None:
    survey, _, invitations = begun(sqlite_pair, groups={"region": ("n", "s")})
    me = person(survey, invitations[0], tmp_path)
    region = {"region": "n"}
    for answer in ("maybe", "", 2, -1, 1.0, True, None, "answer  1"):
        with pytest.raises(JrrError, match="the answer to 'answer' must be one of"):
            me.answer({"answer": answer} | region)
    for given, words in (
        ({}, "region"),
        ({"region": "w"}, "region"),
        (region | {"more": "x"}, "got one to 'more'"),
    ):
        with pytest.raises(JrrError, match=words):
            me.answer({"answer": 1} | given)
    with pytest.raises(JrrError, match="must have one to 'answer'"):
        me.answer(region)
    with pytest.raises(JrrError, match="by question where there are several: region, answer"):
        me.answer(1)
    nothing_sent(sqlite_pair, survey, tmp_path)
    assert me.answer({"answer": 1} | region).carded


def test_wrong_invitations(pair: Pair, tmp_path: Path) -> None:
    survey, _, invitations = begun(pair)
    for text in (
        "",
        "x",
        invitations[0][:-1],
        invitations[0] + "a",
        "1" * 32,
        "ä" * 32,
        "a" * 5000,
    ):
        with pytest.raises(JrrError, match="invitation must be 34 letters and digits") as error:
            person(survey, text, tmp_path)
        assert len(str(error.value)) < 200
        assert not text or len(text) < 3 or text not in str(error.value)  # it may be a secret
    with pytest.raises(JrrError, match="by invitation only"):
        person(survey, None, tmp_path).answer(1)
    # One that nobody issued: without a card, and then the collector does not know it either.
    with pytest.raises(ProtocolError, match="404"):
        person(survey, new_invitation(), tmp_path / "stranger").answer(1)
    nothing_sent(pair, survey, tmp_path)


def test_wrong_links(tmp_path: Path) -> None:
    name = "0" * 64
    for link in (
        "",
        "x",
        "http://a",
        f"http://a/v1/surveys/{name}0",
        f"/v1/surveys/{'A' * 64}",
        f"/v1/surveys/{name}",
        f"ftp://a/v1/surveys/{name}",
        f"file:///etc/v1/surveys/{name}",
        f"http://a/v1/surveys/{name}",  # in the clear, to another machine
    ):
        with pytest.raises(JrrError, match="link must be"):
            Contributor(link, new_invitation(), limit=1.0, state=tmp_path)
    for limit in (0.0, -1.0, float("nan"), float("inf"), "1"):
        with pytest.raises(JrrError, match="limit"):
            Contributor(f"https://a/v1/surveys/{name}", limit=limit, state=tmp_path)  # type: ignore[arg-type]


def test_a_survey_that_costs_more_than_the_limit(pair: Pair, tmp_path: Path) -> None:
    survey, _, invitations = begun(pair)
    cost, dealer = survey.guarantee("everything"), survey.guarantee("dealer")
    assert cost > survey.guarantee("cards")
    for limits, words in (
        ({"limit": cost * 0.999}, "view: everything"),
        ({"limit": cost, "dealer_limit": dealer * 0.999}, "view: dealer"),
    ):
        with pytest.raises(ProtocolError, match=words):
            person(survey, invitations[0], tmp_path, **limits).answer(1)
    nothing_sent(pair, survey, tmp_path)
    me = person(survey, invitations[0], tmp_path, limit=cost, dealer_limit=dealer)
    assert me.answer(1).carded


# -- servers that lie ----------------------------------------------------------------------


def collector_that_says(document: bytes) -> Say:
    return lambda method, path, body: http_reply(200, document)


def lying_dealer(pair: Pair, say: Callable[[Survey], Say], tmp_path: Path, **more: Any) -> str:
    """The words of the refusal when the dealer is not the one that was agreed on."""
    box: list[Survey] = []

    def reply(method: str, path: str, body: bytes) -> bytes:
        return say(box[0])(method, path, body)

    with pretender(reply) as url:
        survey = pair.survey(MECHANISM, dealing=Dealers((url,)), **more)
        box.append(survey)
        operator = Operator(survey, {}, pair.collector.admin)
        operator.install()
        invitations = new_invitations(1)
        operator.invite(invitations)
        operator.open()
        with pytest.raises(JrrError) as error:
            person(survey, invitations[0], tmp_path).answer(1)
        nothing_sent(pair, survey, tmp_path)
        return str(error.value)


def test_a_dealer_with_another_survey(pair: Pair, tmp_path: Path) -> None:
    def other(survey: Survey) -> Say:
        data = survey.to_bytes().replace(b"Do you?", b"Do I???")
        return lambda method, path, body: http_reply(200, data)

    assert "different surveys" in lying_dealer(pair, other, tmp_path / "a")

    def space(survey: Survey) -> Say:
        return lambda method, path, body: http_reply(200, survey.to_bytes() + b" ")

    assert "different surveys" in lying_dealer(pair, space, tmp_path / "b")


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"{" * 100_000,
        b"{}",
        b'{"cards":[]}',
        b'{"cards":{}}',
        b'{"cards":{"answer":0}}',
        b'{"cards":{"answer":{}}}',
        b'{"cards":{"other":{"card":0}}}',
        b'{"cards":{"answer":{"card":[]}}}',
        b'{"cards":{"answer":{"card":[0]}}}',
        b'{"cards":{"answer":{"card":2}}}',
        b'{"cards":{"answer":{"card":-1}}}',
        b'{"cards":{"answer":{"card":0.0}}}',
        b'{"cards":{"answer":{"card":true}}}',
        b'{"cards":{"answer":{"card":"0"}}}',
        b'{"cards":{"answer":{"card":null}}}',
        b'{"cards":{"answer":{"card":NaN}}}',
        b"\xff\xff",
    ],
)
def test_a_dealer_with_cards_from_no_deck(sqlite_pair: Pair, reply: bytes, tmp_path: Path) -> None:
    def say(survey: Survey) -> Say:
        def answer(method: str, path: str, body: bytes) -> bytes:
            return http_reply(200, reply if method == "POST" else survey.to_bytes())

        return answer

    said = lying_dealer(sqlite_pair, say, tmp_path)
    assert len(said) < 300
    assert said.isprintable()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(sqlite_pair: Pair, status: int, tmp_path: Path) -> None:
    elsewhere = Recorder()
    with proxy(sqlite_pair.dealer.url, elsewhere) as trap:

        def say(survey: Survey) -> Say:
            def answer(method: str, path: str, body: bytes) -> bytes:
                if method == "GET":
                    return http_reply(200, survey.to_bytes())
                return http_reply(status, b"", f"Location: {trap}{path}")

            return answer

        assert str(status) in lying_dealer(sqlite_pair, say, tmp_path)

        def moved(method: str, path: str, body: bytes) -> bytes:
            return http_reply(status, b"", f"Location: {trap}{path}")

        with pretender(moved) as url, pytest.raises(ProtocolError, match=str(status)):
            Contributor(
                f"{url}/v1/surveys/{'0' * 64}", limit=1.0, patience=0.2, state=tmp_path
            ).answer(1)
    assert elsewhere.all == b""


def test_a_collector_with_another_survey_or_none(pair: Pair, tmp_path: Path) -> None:
    survey, _, invitations = begun(pair)
    for document, words in (
        (survey.to_bytes() + b" ", "another survey than the link names"),
        (b"", "another survey than the link names"),
        (b"{}", "another survey than the link names"),
    ):
        with (
            pretender(collector_that_says(document)) as url,
            pytest.raises(ProtocolError, match=words),
        ):
            Contributor(
                f"{url}/v1/surveys/{survey.hash}", invitations[0], limit=9.0, state=tmp_path
            ).answer(1)
    # The right document at the wrong place: somebody in the middle.
    with (
        pretender(collector_that_says(survey.to_bytes())) as url,
        pytest.raises(ProtocolError, match="another collector"),
    ):
        Contributor(
            f"{url}/v1/surveys/{survey.hash}", invitations[0], limit=9.0, state=tmp_path
        ).answer(1)
    nothing_sent(pair, survey, tmp_path)


def test_a_document_that_promises_more_than_holds(sqlite_pair: Pair, tmp_path: Path) -> None:
    box: list[bytes] = []
    with pretender(lambda method, path, body: http_reply(200, box[0])) as url:
        honest = sqlite_pair.survey(MECHANISM, collector=url)
        document = json.loads(honest.to_bytes())
        document["guarantees"]["cards"] = 0.01
        box.append(canonical_json(document))
        link = f"{url}/v1/surveys/{hash_of(box[0])}"
        with pytest.raises(JrrError, match="guarantees must not be less than what holds: cards"):
            Contributor(link, new_invitation(), limit=0.1, state=tmp_path).answer(1)


def test_servers_that_name_different_numbers_of_people(pair: Pair, tmp_path: Path) -> None:
    survey = pair.survey(
        DRR(21, truth=0.5, own=0.1),
        dealing=Dealers((pair.dealer.url,), enrol_first=True),
        capacity=60,
    )
    operator = pair.operator(survey)
    operator.install()
    invitations = new_invitations(30)
    operator.invite(invitations)
    operator.open()
    me = person(survey, invitations[0], tmp_path / "me", patience=0.3)
    me.enrol()
    enrol_all(survey, [invitation_secret(text) for text in invitations[1:]])
    assert Operator(survey, {0: pair.dealer.admin}).deal() == 30
    with pytest.raises(ProtocolError, match="has not said how many"):
        me.answer(1)  # the collector is not open
    pair.collector.admin.post(f"{operator.path}/open", {"n": 29})
    with pytest.raises(ProtocolError, match="different numbers of people"):
        me.answer(1)
    nothing_sent(pair, survey, tmp_path / "me")


FOR_EVER = 60.0  # seconds


def endless(first: bytes, then: bytes, pause: float = 0.0) -> Callable[[socket.socket], None]:
    def talk(plug: socket.socket) -> None:
        plug.recv(65536)
        plug.sendall(first)
        end = time.monotonic() + FOR_EVER
        while time.monotonic() < end:
            plug.sendall(then)
            time.sleep(pause)

    return talk


@contextmanager
def crude(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on bare sockets, for what is hardly HTTP."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plug, _ = listening.accept()
            except OSError:
                return
            with plug:
                try:
                    talk(plug)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def once(data: bytes, reset: bool = False) -> Callable[[socket.socket], None]:
    def talk(plug: socket.socket) -> None:
        plug.recv(65536)
        plug.sendall(data)
        if reset:
            time.sleep(0.05)
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return talk


@pytest.mark.parametrize(
    "talk",
    [
        once(b""),
        once(b"", reset=True),
        once(b"\0\0\0\0"),
        once(b"SSH-2.0-OpenSSH\r\n"),
        once(b"HTTP/1.1 abc\r\n\r\n"),
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", reset=True),
        once(b"HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nshort", reset=True),
        once(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
        once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nshort"),
        once(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n"),
        once(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"),
        once(b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.01),
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100_000),
        endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x", 0.1),
        endless(b"HTTP/1.1 503 No\r\nContent-Length: 1000\r\n\r\n", b"x", 0.1),
    ],
    ids=[
        "nothing",
        "reset",
        "zeros",
        "another protocol",
        "no status",
        "short",
        "short and reset",
        "refusal and reset",
        "no length",
        "bad chunks",
        "short chunk",
        "many headers",
        "long header",
        "refusal in bad chunks",
        "continue for ever",
        "talk for ever",
        "byte by byte",
        "refuse byte by byte",
    ],
)
def test_replies_that_are_hardly_http(
    talk: Callable[[socket.socket], None], tmp_path: Path
) -> None:
    """Whatever comes, it is one of two errors, and it comes in time."""
    with crude(talk) as url:
        link = f"{url}/v1/surveys/{'0' * 64}"
        me = Contributor(link, new_invitation(), limit=1.0, patience=0.0, state=tmp_path)
        me._http = Http(timeout=1.0)
        start = time.perf_counter()
        with pytest.raises((ProtocolError, UnreachableError)):
            me.answer(1)
        assert time.perf_counter() - start < FOR_EVER - 10


# -- lost replies and lost servers ---------------------------------------------------------


@contextmanager
def behind_proxies(pair: Pair) -> Iterator[tuple[dict[str, Recorder], dict[str, Any]]]:
    """Recorders, and what a survey needs to be spoken to through them."""
    seen = {"dealer": Recorder(), "collector": Recorder()}
    with (
        proxy(pair.dealer.url, seen["dealer"]) as dealer,
        proxy(pair.collector.url, seen["collector"]) as collector,
    ):
        yield seen, {"dealing": Dealers((dealer,)), "collector": collector}


def bodies(seen: Recorder) -> list[bytes]:
    """The bodies of the reports in recorded traffic."""
    found = []
    for part in bytes(seen.sent).split(b"POST ")[1:]:
        head, _, body = part.partition(b"\r\n\r\n")
        if b"/reports" in head.split(b"\r\n")[0]:
            found.append(body.partition(b"GET ")[0])
    return found


def test_after_a_lost_acknowledgement_the_same_bytes_are_sent(pair: Pair, tmp_path: Path) -> None:
    with behind_proxies(pair) as (seen, addresses):
        survey, operator, invitations = begun(pair, **addresses)
        seen["collector"].drop_replies = 2
        me = person(survey, invitations[0], tmp_path, patience=10.0)
        assert me.answer(1).carded
        sent = bodies(seen["collector"])
        assert len(sent) == 3
        assert len(set(sent)) == 1
        # Once it is received, nothing of it is left.
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".sent", ".sqlite"]
        assert me.answer(0).before  # and it is not answered again
        assert len(bodies(seen["collector"])) == 3
        assert operator.show()["collector"]["reports"] == 1


def test_after_a_lost_card_the_same_card_comes(pair: Pair, tmp_path: Path) -> None:
    with behind_proxies(pair) as (seen, addresses):
        survey, operator, invitations = begun(pair, **addresses)
        seen["dealer"].drop_replies = 2
        assert person(survey, invitations[0], tmp_path, patience=10.0).answer(1).carded
        assert operator.show()["dealer"]["seats"] == 1
        asked = (
            pseudonym(invitation_secret(invitations[0]), survey.hash, dealer_role(0)).hex().encode()
        )
        assert bytes(seen["dealer"].sent).count(asked) == 3


def test_a_report_is_kept_before_it_is_sent_and_sent_later(pair: Pair, tmp_path: Path) -> None:
    with behind_proxies(pair) as (seen, addresses):
        survey, operator, invitations = begun(pair, **addresses)
        me = person(survey, invitations[0], tmp_path, patience=0.5)
        assert me.resume() is None
        assert me.survey == survey
        seen["collector"].refuse = True
        with pytest.raises(UnreachableError, match=r"did not answer for 0\.5 seconds"):
            me.answer(1)
        (kept,) = tmp_path.glob("*.upload")
        report = kept.read_bytes()
        assert bodies(seen["collector"]) == []
        assert operator.show()["collector"]["reports"] == 0
        # Another answer does not make another report.
        for answer in (0, 1, 0):
            with pytest.raises(UnreachableError):
                person(survey, invitations[0], tmp_path, patience=0.0).answer(answer)
        assert kept.read_bytes() == report
        seen["collector"].refuse = False
        again = person(survey, invitations[0], tmp_path)
        receipt = again.resume()
        assert receipt is not None
        assert receipt.carded == json.loads(report)["reports"]["answer"]["carded"]
        assert bodies(seen["collector"]) == [report]
        assert again.answer(0) == receipt
        assert set(bodies(seen["collector"])) == {report}
        assert operator.show()["collector"]["reports"] == 1


def test_answering_many_times_sends_one_report(pair: Pair, tmp_path: Path) -> None:
    with behind_proxies(pair) as (seen, addresses):
        survey, operator, invitations = begun(pair, **addresses)
        receipts = {person(survey, invitations[0], tmp_path).answer(at % 2) for at in range(12)}
        assert len(receipts) == 1
        assert len(set(bodies(seen["collector"]))) == 1
        assert operator.show()["collector"]["reports"] == 1
        asked = (
            pseudonym(invitation_secret(invitations[0]), survey.hash, dealer_role(0)).hex().encode()
        )
        assert bytes(seen["dealer"].sent).count(asked) == 1


def test_cards_that_were_fetched_ahead_are_used_without_the_dealer(
    pair: Pair, tmp_path: Path
) -> None:
    with behind_proxies(pair) as (seen, addresses):
        survey, operator, invitations = begun(pair, **addresses)
        me = person(survey, invitations[0], tmp_path, patience=0.3)
        assert me.fetch_cards()
        assert me.fetch_cards()
        (kept,) = tmp_path.glob("*.cards")
        assert kept.stat().st_mode & 0o777 == 0o600
        seen["dealer"].refuse = True
        later = person(survey, invitations[0], tmp_path, patience=0.3)
        assert later.answer(1).carded
        other = person(survey, invitations[1], tmp_path, patience=0.3)
        assert not other.fetch_cards()
        assert not other.answer(1).carded
        seen["dealer"].refuse = False
        shown = operator.show()
        assert (shown["dealer"]["seats"], shown["collector"]["reports"]) == (1, 2)


def test_two_people_at_one_computer_answer_each_for_themselves(pair: Pair, tmp_path: Path) -> None:
    survey, operator, invitations = begun(pair)
    for invitation in invitations[:3]:
        person(survey, invitation, tmp_path).answer(1)
    assert operator.show()["collector"]["reports"] == 3


def test_an_open_survey_gives_one_device_one_name(pair: Pair, tmp_path: Path) -> None:
    survey = pair.survey(MECHANISM, invitations=False)
    operator = pair.operator(survey)
    operator.install()
    operator.open()
    for _ in range(2):
        assert person(survey, None, tmp_path / "one").answer(1).carded
    assert person(survey, None, tmp_path / "two").answer(1).carded
    shown = operator.show()
    assert (shown["collector"]["reports"], shown["dealer"]["seats"]) == (2, 2)
    for path in (tmp_path / "one").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_place_to_keep_the_report_nothing_is_sent(
    sqlite_pair: Pair, tmp_path: Path
) -> None:
    survey, _, invitations = begun(sqlite_pair)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(OSError, match="file"):
        person(survey, invitations[0], file / "state")
    state = tmp_path / "state"
    me = person(survey, invitations[0], state)
    assert me.survey == survey
    state.rmdir()  # as good as read-only, also for those who may write anywhere
    with pytest.raises((OSError, JrrError)):
        me.answer(1)
    nothing_sent(sqlite_pair, survey, state)


def test_enrolling_and_coming_back(pair: Pair, tmp_path: Path) -> None:
    survey = pair.survey(
        DRR(3, truth=0.5, own=0.1),
        dealing=Dealers((pair.dealer.url,), enrol_first=True),
        capacity=5,
    )
    operator = pair.operator(survey)
    operator.install()
    invitations = new_invitations(4)
    operator.invite(invitations)
    people = [
        person(survey, text, tmp_path / str(at), patience=0.3)
        for at, text in enumerate(invitations)
    ]
    with pytest.raises(JrrError, match="425"):
        people[0].enrol()  # not open yet
    operator.open()
    for me in people[:3]:
        me.enrol()
        me.enrol()
    with pytest.raises(ProtocolError):
        people[0].answer(1)  # before the deal
    nothing_sent(pair, survey, tmp_path / "0")
    assert operator.deal() == 3
    assert [me.answer(1).carded for me in people] == [True, True, True, False]
    with pytest.raises(ProtocolError, match="410"):
        people[3].enrol()
    arrival, _, more = begun(pair)
    with pytest.raises(JrrError, match="nothing to enrol for"):
        person(arrival, more[0], tmp_path / "x").enrol()


def test_a_card_is_asked_for_under_the_dealers_name_only(sqlite_pair: Pair, tmp_path: Path) -> None:
    with behind_proxies(sqlite_pair) as (seen, addresses):
        survey, _, invitations = begun(sqlite_pair, **addresses)
        person(survey, invitations[0], tmp_path).answer(1)
        name = pseudonym(invitation_secret(invitations[0]), survey.hash, dealer_role(0))
        assert name.hex().encode() in bytes(seen["dealer"].sent)
        assert name.hex().encode() not in seen["collector"].all


def test_without_cards_only_the_collector_is_spoken_to(pair: Pair, tmp_path: Path) -> None:
    survey, operator, invitations = begun(pair, mechanism=RR(2, 1.0))
    assert not person(survey, invitations[0], tmp_path).answer(1).carded
    assert operator.show()["collector"]["reports"] == 1
