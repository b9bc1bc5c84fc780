"""The contributor's conversation without sockets, names and messages."""

import json
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jrr import DRR, JRR, OUE, RR, Mechanism, SeededRandom
from jrr.dealing.kinds import Dealers
from jrr.errors import JrrError, ProtocolError, UnreachableError
from jrr.protocol.documents import Message, hashed, read_body
from jrr.protocol.identity import (
    COLLECTOR as COLLECTOR_ROLE,
)
from jrr.protocol.identity import (
    accepted,
    dealer_role,
    invitation_secret,
    new_invitation,
    party_role,
    pseudonym,
)
from jrr.protocol.steps import UNKNOWN_NAME, Call, Reply, Save, Step, Wait, problem_document
from jrr.survey import contributor, messages
from jrr.survey.contributor import Receipt
from jrr.survey.spending import Limits, check_limits
from jrr.survey.survey import Survey
from tests.statistics_rules import P_VALUE, chi_square, skewed
from tests.survey import COLLECTOR, DEALER, survey_by

SECRET = bytes(range(20))
LIMITS = Limits(700.0, patience=30.0)
DECK = DRR(20, truth=0.5, own=0.1)
ENROL = Dealers((DEALER,), enrol_first=True)
FROM_21_TO_60: dict[str, Any] = {"dealing": ENROL, "capacity": 60}
SENT = b'{"reports":{"answer":{"carded":true}}}'  # as much of an upload as a receipt needs
Say = Callable[[Call], Reply]


def answering(
    asked: Survey, answer: Any = 1, limits: Limits = LIMITS, **more: Any
) -> Generator[Step, Reply | None, Receipt]:
    """The conversation of somebody who answers the only question."""
    return contributor.contribute(asked, SECRET, {"answer": answer}, limits, **more)


def talk(steps: Generator[Step, Reply | None, Any], say: Say) -> tuple[Any, list[Step]]:
    """Let somebody answer all calls; what came out (or the error), and every step."""
    seen: list[Step] = []
    reply: Reply | None = None
    try:
        while True:
            step = steps.send(reply)
            seen.append(step)
            reply = say(step) if isinstance(step, Call) else None
            assert len(seen) < 1_000, "it goes on for ever"
    except StopIteration as finished:
        return finished.value, seen
    except JrrError as error:
        return error, seen


def servers(
    of: Survey,
    cards: Reply | None = None,
    reports: Reply | None = None,
    document: Reply | None = None,
    status: Reply | None = None,
) -> Say:
    """Two servers that work, except for what is given."""

    def say(call: Call) -> Reply:
        path = call.address.partition(of.hash)[2]
        if path == "/cards":
            return cards or dealt(20, 1)
        if path == "/reports":
            return reports or Reply(201, b"{}")
        if path == "/status":
            return status or status_of("open", None)
        assert path == ""
        if call.address.startswith(DEALER) and document is not None:
            return document
        return Reply(200, of.to_bytes())

    return say


def dealt(n: Any, card: Any) -> Reply:
    return Reply(200, json.dumps({"n": n, "cards": {"answer": {"card": card}}}).encode())


def status_of(state: str, n: Any) -> Reply:
    return Reply(200, json.dumps({"state": state, "n": n}).encode())


def _always(reply: Reply, call: Call) -> Reply:
    return reply


def calls(seen: list[Step]) -> list[Call]:
    return [step for step in seen if isinstance(step, Call)]


def saved(seen: list[Step]) -> list[Save]:
    return [step for step in seen if isinstance(step, Save)]


def reports_of(step: Save) -> dict[str, Any]:
    reports: dict[str, Any] = json.loads(step.body)["reports"]
    return reports


def waited(seen: list[Step]) -> float:
    return sum(step.seconds for step in seen if isinstance(step, Wait))


# -- one conversation ----------------------------------------------------------------------


def test_a_conversation_when_all_goes_well() -> None:
    asked = survey_by(DECK)
    receipt, seen = talk(answering(asked), servers(asked))
    assert receipt == Receipt(asked.hash, True)
    kinds = [type(step) for step in seen]
    assert kinds == [Call, Call, Save, Call]
    first, second, saved, last = seen
    assert first == Call(f"{DEALER}/v1/surveys/{asked.hash}")
    assert isinstance(second, Call)
    assert second.address == f"{DEALER}/v1/surveys/{asked.hash}/cards"
    assert isinstance(saved, Save)
    assert last == Call(f"{COLLECTOR}/v1/surveys/{asked.hash}/reports", saved.body)
    document = json.loads(saved.body)
    assert set(document) == {"pseudonym", "open", "reports"}
    assert document["reports"].keys() == {"answer"}
    assert document["reports"]["answer"].keys() == {"carded", "report"}
    assert document["pseudonym"] == pseudonym(SECRET, asked.hash, "collector:0").hex()
    (role,) = asked.dealing.roles
    given = json.loads(second.body or b"")["pseudonym"]
    assert given == pseudonym(SECRET, asked.hash, role).hex() != document["pseudonym"]


@pytest.mark.statistical
def test_what_leaves_follows_the_law_of_the_mechanism_and_of_the_card() -> None:
    asked = survey_by(DRR(20, truth=0.5, own=0.2))
    for card in (0, 1):
        reply = dealt(20, card)
        source = SeededRandom(card + 1)
        counts: Counter[int] = Counter()
        for _ in range(4_000):
            steps = answering(asked, rng=source)
            _, seen = talk(steps, servers(asked, reply))
            (body,) = [step.body for step in seen if isinstance(step, Save)]
            counts[json.loads(body)["reports"]["answer"]["report"]] += 1
        lie = 0.1 + (0.3 if card == 0 else 0.0)
        chances = [lie, 1 - lie]
        observed = [counts[0], counts[1]]
        assert chi_square(observed, chances) > P_VALUE
        assert chi_square(observed, skewed(chances)) < P_VALUE


def test_the_true_value_is_in_nothing_but_the_report() -> None:
    """Whatever the truth, the steps are the same, but for the one word that is perturbed."""
    asked = survey_by(RR(50, 1.0), nonce="1")

    def without_report(value: int) -> list[Any]:
        _, seen = talk(answering(asked, value), servers(asked))
        found: list[Any] = []
        for step in seen:
            body = step.body if isinstance(step, Call | Save) else b""
            document = json.loads(body or b"{}")
            document.get("reports", {}).get("answer", {}).pop("report", None)
            found.append((type(step), document))
        return found

    assert all(without_report(value) == without_report(0) for value in range(1, 50))


def test_the_report_is_saved_before_it_is_sent_and_sent_unchanged() -> None:
    asked = survey_by(DECK)
    tries = 0

    def say(call: Call) -> Reply:
        nonlocal tries
        if call.address.endswith("/reports"):
            tries += 1
            return Reply([0, 500, 503, 429, 0, 201][tries - 1])
        return servers(asked)(call)

    receipt, seen = talk(answering(asked), say)
    assert isinstance(receipt, Receipt)
    saved = [at for at, step in enumerate(seen) if isinstance(step, Save)]
    sent = [
        (at, step)
        for at, step in enumerate(seen)
        if isinstance(step, Call) and step.address.endswith("/reports")
    ]
    assert len(saved) == 1
    assert len(sent) == 6
    assert saved[0] < sent[0][0]
    kept = seen[saved[0]]
    assert isinstance(kept, Save)
    assert {step.body for _, step in sent} == {kept.body}


@pytest.mark.parametrize("status", [0, 429, 500, 502, 599])
def test_trouble_is_waited_for_ever_more_slowly_until_patience_ends(status: int) -> None:
    asked = survey_by(RR(2, 1.0))
    error, seen = talk(answering(asked), servers(asked, reports=Reply(status)))
    assert isinstance(error, UnreachableError)
    assert "for 30 seconds" in str(error)
    pauses = [step.seconds for step in seen if isinstance(step, Wait)]
    assert pauses[:5] == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert max(pauses) <= 5.0
    assert waited(seen) == pytest.approx(30.0)
    assert len(calls(seen)) == len(pauses) + 1


@pytest.mark.parametrize("patience", [0.0, 0.1, 0.2, 1.0, 7.7])
def test_patience_is_kept_to_the_second(patience: float) -> None:
    asked = survey_by(DECK)
    error, seen = talk(
        contributor.send(asked, SENT, patience),
        lambda call: Reply(0),
    )
    assert isinstance(error, UnreachableError)
    assert waited(seen) == pytest.approx(patience)


@pytest.mark.parametrize(
    ("reply", "patient"),
    [
        (Reply(404), False),
        (Reply(410), False),
        (Reply(425), True),
        (Reply(0), True),
        (Reply(500), True),
        (Reply(429), True),
    ],
    ids=str,
)
def test_without_a_card_one_answers_without_one(reply: Reply, patient: bool) -> None:
    asked = survey_by(DECK)
    receipt, seen = talk(answering(asked), servers(asked, cards=reply))
    assert receipt == Receipt(asked.hash, False)
    assert waited(seen) == pytest.approx(30.0 if patient else 0.0)
    assert [reports_of(step)["answer"]["carded"] for step in saved(seen)] == [False]


def test_somebody_whom_the_dealer_does_not_know_sends_nothing() -> None:
    asked = survey_by(DECK)
    stranger = json.dumps(problem_document(UNKNOWN_NAME, 404, "not known here")).encode()
    error, seen = talk(answering(asked), servers(asked, cards=Reply(404, stranger)))
    assert isinstance(error, ProtocolError)
    assert "not known here" in str(error)
    assert not any(isinstance(step, Save) for step in seen)


def test_a_dealer_that_is_silent_from_the_beginning_costs_the_card_only() -> None:
    asked = survey_by(DECK)
    receipt, seen = talk(answering(asked), servers(asked, document=Reply(0)))
    assert receipt == Receipt(asked.hash, False)
    assert not any(call.address.endswith("/cards") for call in calls(seen))


@pytest.mark.parametrize("status", [400, 401, 403, 409, 413, 422, 301, 204])
def test_a_dealer_that_refuses_otherwise_ends_it_without_an_answer(status: int) -> None:
    asked = survey_by(DECK)
    body = json.dumps({"detail": "no\x1b[31m\n" + "x" * 1_000}).encode()
    error, seen = talk(
        answering(asked),
        servers(asked, cards=Reply(status, body)),
    )
    assert isinstance(error, ProtocolError)
    assert str(error).isprintable()  # a server must not write to the terminal
    assert len(str(error)) < 400
    assert not any(isinstance(step, Save) for step in seen)


@pytest.mark.parametrize("status", [404, 409, 410, 413, 422, 302])
def test_a_collector_that_refuses_ends_it(status: int) -> None:
    asked = survey_by(DECK)
    error, seen = talk(
        answering(asked),
        servers(asked, reports=Reply(status, b'{"detail":"because"}')),
    )
    assert isinstance(error, ProtocolError)
    assert "because" in str(error)
    assert sum(call.address.endswith("/reports") for call in calls(seen)) == 1


def test_nothing_is_asked_of_anybody_before_the_arguments_are_right() -> None:
    asked = survey_by(DECK, groups={"region": ("n", "s")})
    fine = {"region": "n"}
    for value, open_answers, limits, words in (
        (2, fine, LIMITS, "the answer to 'answer' must be"),
        (-1, fine, LIMITS, "the answer to 'answer' must be"),
        (1.0, fine, LIMITS, "the answer to 'answer' must be"),
        (1, {}, LIMITS, "region"),
        (1, {"region": "w"}, LIMITS, "region"),
        (1, fine | {"more": "x"}, LIMITS, "got one to 'more'"),
        (1, fine, Limits(0.1), "more than your limit"),
        (1, fine, Limits(700.0, 0.1), "more than your limit"),
    ):
        answers = {"answer": value} | open_answers
        error, seen = talk(contributor.contribute(asked, SECRET, answers, limits), servers(asked))
        assert isinstance(error, JrrError)
        assert words in str(error)
        assert seen == []


def test_nobody_is_asked_what_could_not_be_sent() -> None:
    asked = survey_by(DECK)
    for state, words in (("new", "not open yet"), ("closed", "no more answers")):
        error, _ = talk(
            contributor.check_open(asked, 30.0), servers(asked, status=status_of(state, None))
        )
        assert isinstance(error, ProtocolError)
        assert words in str(error)
    found, seen = talk(contributor.check_open(asked, 30.0), servers(asked))
    assert (found.state, found.n) == ("open", None)
    assert [call.address.partition(asked.hash)[2] for call in calls(seen)] == ["/status"]


@pytest.mark.parametrize(("status", "before"), [(201, False), (200, True)])
def test_a_receipt_says_whether_the_report_was_there_before(status: int, before: bool) -> None:
    asked = survey_by(DECK)
    body = SENT
    say = servers(asked, reports=Reply(status, b"{}"))
    receipt, _ = talk(contributor.send(asked, body, 1.0), say)
    assert receipt.before is before


# -- enrol, then deal ----------------------------------------------------------------------


def announced(n: Any) -> Reply:
    return status_of("open", n)


def test_after_enrolment_both_servers_must_name_the_same_number() -> None:
    asked = survey_by(DRR(21, truth=0.5, own=0.1), **FROM_21_TO_60)
    steps = answering(asked)
    receipt, _ = talk(steps, servers(asked, dealt(31, 1), status=announced(31)))
    assert receipt.carded
    for cards, status in (
        (dealt(31, 1), announced(30)),
        (dealt(31, 1), announced(None)),
        (dealt(20, 1), announced(20)),
        (dealt(61, 1), announced(61)),
        (dealt(None, 1), announced(31)),
        (dealt("31", 1), announced(31)),
        (dealt(31.0, 1), announced(31)),
        (dealt(True, 1), announced(True)),
        (dealt(31, 1), Reply(200, b"[]")),
    ):
        steps = answering(asked)
        error, seen = talk(steps, servers(asked, cards, status=status))
        assert isinstance(error, JrrError), (cards, status)
        assert not any(isinstance(step, Save) for step in seen)


def test_before_the_cards_are_dealt_one_is_told_to_enrol() -> None:
    asked = survey_by(DRR(21, truth=0.5, own=0.1), **FROM_21_TO_60)
    closed, early = status_of("closed", None), status_of("new", None)
    for steps in (
        answering(asked),
        contributor.check_open(asked, 30.0),
    ):
        error, _ = talk(steps, servers(asked, Reply(404), status=early))
        assert isinstance(error, ProtocolError)
        assert "enrol first (jrr survey enrol)" in str(error)
        assert "come again when the cards are dealt" in str(error)
    error, _ = talk(contributor.check_open(asked, 30.0), servers(asked, status=closed))
    assert "the survey is closed" in str(error)
    found, _ = talk(contributor.check_open(asked, 30.0), servers(asked, status=announced(31)))
    assert found.n == 31


def test_without_a_card_the_chances_are_those_of_the_deck_that_was_dealt() -> None:
    asked = survey_by(JRR(21, p=0.7, s=0.2), **FROM_21_TO_60)
    steps = answering(asked)
    receipt, _ = talk(steps, servers(asked, Reply(404), status=announced(31)))
    assert receipt == Receipt(asked.hash, False)
    steps = answering(asked)
    error, seen = talk(steps, servers(asked, Reply(404), status=announced(None)))
    assert isinstance(error, ProtocolError)
    assert not any(isinstance(step, Save) for step in seen)


# -- the survey ----------------------------------------------------------------------------


def test_fetching_checks_hash_place_and_limits() -> None:
    asked = survey_by(DECK)
    link = f"{COLLECTOR}/v1/surveys/{asked.hash}"
    found, seen = talk(contributor.fetch_survey(link, LIMITS), servers(asked))
    assert found == asked
    assert calls(seen) == [Call(link)]
    for reply in (Reply(200, asked.to_bytes() + b" "), Reply(200), Reply(404), Reply(301)):
        error, _ = talk(contributor.fetch_survey(link, LIMITS), partial(_always, reply))
        assert isinstance(error, ProtocolError)
    elsewhere = f"https://elsewhere.example/v1/surveys/{asked.hash}"
    error, _ = talk(contributor.fetch_survey(elsewhere, LIMITS), servers(asked))
    assert "another collector" in str(error)
    error, _ = talk(contributor.fetch_survey(link, Limits(asked.cost * 0.99)), servers(asked))
    assert "more than your limit" in str(error)


def test_an_unbounded_dealer_is_fine_only_for_those_who_set_no_limit() -> None:
    asked = survey_by(DRR(100, truth=0.5))
    check_limits(asked.sensitive, Limits(700.0))
    with pytest.raises(ProtocolError, match="view: dealer"):
        check_limits(asked.sensitive, Limits(700.0, 700.0))


# -- names ---------------------------------------------------------------------------------


ROLE = dealer_role(0)


def test_an_invitation_survives_being_copied_by_hand() -> None:
    text = new_invitation()
    secret = invitation_secret(text)
    assert len(secret) == 20
    for written in (
        text.upper(),
        f"  {text}\n",
        "-".join(text[at : at + 8] for at in range(0, 32, 8)),
        " ".join(text),
    ):
        assert invitation_secret(written) == secret
    assert len({new_invitation() for _ in range(1_000)}) == 1_000


@given(st.text() | st.integers() | st.none() | st.binary())
def test_what_is_no_invitation_is_refused_without_repeating_it(text: object) -> None:
    try:
        secret = invitation_secret(text)
    except JrrError as error:
        shown = str(error)
        assert "invitation must be" in shown
        if isinstance(text, str) and len(text.strip()) > 12:
            assert text not in shown
    else:
        assert len(secret) == 20


def test_names_of_roles_surveys_and_people_all_differ() -> None:
    roles = [
        COLLECTOR_ROLE,
        *(dealer_role(number) for number in range(16)),
        *(party_role(number) for number in range(50)),
    ]
    names = {
        pseudonym(bytes([person]) * 20, f"{number:064x}", role)
        for person in range(5)
        for number in range(5)
        for role in roles
    }
    assert len(names) == 5 * 5 * len(roles)
    assert {len(name) for name in names} == {32}


def test_a_server_is_told_sorted_hashes() -> None:
    invitations = [new_invitation() for _ in range(50)]
    listed = accepted(invitations, "0" * 64, ROLE)
    assert listed == sorted(listed)
    assert set(listed) == {
        hashed(pseudonym(invitation_secret(text), "0" * 64, ROLE)) for text in invitations
    }
    assert listed == accepted(invitations[::-1], "0" * 64, ROLE)


# -- messages ------------------------------------------------------------------------------


class _Number(Message):
    n: int


@given(st.binary(max_size=300))
def test_parsing_any_bytes_gives_an_object_or_a_refusal(body: bytes) -> None:
    try:
        document = read_body(body, _Number)
    except JrrError:
        return
    assert type(document.n) is int


@pytest.mark.parametrize(
    "body",
    [
        b'{"n":"1"}',
        b'{"n":1.0}',
        b'{"n":true}',
        b'{"n":NaN}',
        b'{"n":Infinity}',
        b'{"n":1}x',
        b'{"n":1,"m":1}',
        b'{"m":1}',
        b"{}",
        b"[1]",
        b'{"n":' + b"1" * 5_000 + b"}",
        b"[" * 100_000,
        '{"n":1}'.encode("utf-16"),
        b'{"n":"\xff"}',
    ],
    ids=lambda body: str(body)[:20],
)
def test_bodies_that_are_not_exactly_what_is_asked_for(body: bytes) -> None:
    with pytest.raises(JrrError, match=r"body (must be|is not acceptable)"):
        read_body(body, _Number)


@pytest.mark.parametrize("mechanism", [RR(3, 1.0), OUE(12, 1.0), DRR(20, truth=0.5)], ids=str)
def test_a_report_is_stored_as_it_was_sent(mechanism: Mechanism) -> None:
    asked = survey_by(mechanism, groups={"b": ("ä", "y"), "a": ("1", "2")})
    report = mechanism.respond_one(1)
    body = messages.upload(
        b"\1" * 32,
        {"b": "ä", "a": "1"},
        {"answer": messages.report_message(mechanism, report, carded=False, serials=None)},
    )
    stored = messages.read_upload(asked, body)
    assert stored.name == hashed(b"\1" * 32)
    assert stored.open == stored.covariates == '{"a":"1","b":"ä"}'
    kept = mechanism.report_bytes(mechanism.report_format.to_json(report))
    assert stored.reports == {"answer": messages.StoredReport(carded=False, report=kept)}
    swapped = json.dumps(dict(reversed(json.loads(body).items()))).encode()
    assert messages.read_upload(asked, swapped) == stored
