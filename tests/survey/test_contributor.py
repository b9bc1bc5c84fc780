"""The contributor's conversation without sockets, names, messages, and the dealer's seats."""

import json
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jrr.survey.campaign import Campaign
from jrr.survey.dealer import Dealer
from jrr.survey.dealer_kinds import DealerServer, NoDealer
from jrr.survey.documents import read_body
from jrr.survey.identity import (
    COLLECTOR_ROLE,
    DEALER,
    accepted,
    hashed,
    invitation_secret,
    new_invitation,
    party_role,
    pseudonym,
)
from jrr.survey.problems import UNKNOWN_NAME, problem_document
from jrr.survey.steps import Call, Reply, Save, Step, Wait

from jrr import DRR, JRR, OUE, RR, Mechanism, SeededRandom
from jrr.errors import JrrError, ProtocolError, UnreachableError
from jrr.survey import contributor, messages
from jrr.survey.answers import Receipt
from jrr.survey.limits import Limits, check_limits
from tests.statistics_rules import P_VALUE, accepts_only, chi_square, skewed

SECRET = bytes(range(20))
DEALING = "https://dealer.example"
COLLECTING = "https://collector.example"
LIMITS = Limits(700.0, patience=30.0)
Say = Callable[[Call], Reply]


def campaign(mechanism: Mechanism | None = None, **more: Any) -> Campaign:
    asked = DRR(20, truth=0.5, own=0.1) if mechanism is None else mechanism
    deals = asked.moments.deck is not None
    settings: dict[str, Any] = {
        "question": "Do you?",
        "labels": tuple(f"answer {value}" for value in range(asked.k)),
        "mechanism": asked,
        "dealer": DealerServer(DEALING) if deals else NoDealer(),
        "collector": COLLECTING,
    }
    return Campaign(**(settings | more))


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
    of: Campaign,
    cards: Reply | None = None,
    reports: Reply | None = None,
    document: Reply | None = None,
    status: Reply | None = None,
) -> Say:
    """Two servers that work, except for what is given."""

    def say(call: Call) -> Reply:
        path = call.address.partition(of.hash)[2]
        if path == "/cards":
            return cards or Reply(200, json.dumps({"n": 20, "card": 1}).encode())
        if path == "/reports":
            return reports or Reply(201, b"{}")
        if path == "/status":
            return status or Reply(200, b'{"state":"open","n":null}')
        assert path == ""
        if call.address.startswith(DEALING) and document is not None:
            return document
        return Reply(200, of.to_bytes())

    return say


def _always(reply: Reply, call: Call) -> Reply:
    return reply


def calls(seen: list[Step]) -> list[Call]:
    return [step for step in seen if isinstance(step, Call)]


def waited(seen: list[Step]) -> float:
    return sum(step.seconds for step in seen if isinstance(step, Wait))


# -- one conversation ----------------------------------------------------------------------


def test_a_conversation_when_all_goes_well() -> None:
    asked = campaign()
    receipt, seen = talk(contributor.contribute(asked, SECRET, 1, LIMITS), servers(asked))
    assert receipt == Receipt(asked.hash, True)
    kinds = [type(step) for step in seen]
    assert kinds == [Call, Call, Save, Call]
    first, second, saved, last = seen
    assert first == Call(f"{DEALING}/v1/campaigns/{asked.hash}")
    assert isinstance(second, Call)
    assert second.address == f"{DEALING}/v1/campaigns/{asked.hash}/cards"
    assert isinstance(saved, Save)
    assert last == Call(f"{COLLECTING}/v1/campaigns/{asked.hash}/reports", saved.body)
    document = json.loads(saved.body)
    assert set(document) == {"pseudonym", "carded", "report", "covariates"}
    assert document["pseudonym"] == pseudonym(SECRET, asked.hash, "collector:0").hex()
    assert (
        json.loads(second.body or b"")["pseudonym"] == pseudonym(SECRET, asked.hash, "dealer").hex()
    )


@pytest.mark.statistical
def test_what_leaves_follows_the_law_of_the_mechanism_and_of_the_card() -> None:
    asked = campaign(DRR(20, truth=0.5, own=0.2))
    for card in (0, 1):
        reply = Reply(200, json.dumps({"n": 20, "card": card}).encode())
        source = SeededRandom(card + 1)
        counts: Counter[int] = Counter()
        for _ in range(4_000):
            steps = contributor.contribute(asked, SECRET, 1, LIMITS, rng=source)
            _, seen = talk(steps, servers(asked, reply))
            (body,) = [step.body for step in seen if isinstance(step, Save)]
            counts[json.loads(body)["report"]] += 1
        lie = 0.1 + (0.3 if card == 0 else 0.0)
        chances = [lie, 1 - lie]
        observed = [counts[0], counts[1]]
        assert chi_square(observed, chances) > P_VALUE
        assert chi_square(observed, skewed(chances)) < P_VALUE


def test_the_true_value_is_in_nothing_but_the_report() -> None:
    """Whatever the truth, the steps are the same, but for the one word that is perturbed."""
    asked = campaign(RR(50, 1.0), nonce="1")

    def without_report(value: int) -> list[Any]:
        _, seen = talk(contributor.contribute(asked, SECRET, value, LIMITS), servers(asked))
        found: list[Any] = []
        for step in seen:
            body = step.body if isinstance(step, Call | Save) else b""
            document = json.loads(body or b"{}")
            document.pop("report", None)
            found.append((type(step), document))
        return found

    assert all(without_report(value) == without_report(0) for value in range(1, 50))


def test_the_report_is_saved_before_it_is_sent_and_sent_unchanged() -> None:
    asked = campaign()
    tries = 0

    def say(call: Call) -> Reply:
        nonlocal tries
        if call.address.endswith("/reports"):
            tries += 1
            return Reply([0, 500, 503, 429, 0, 201][tries - 1])
        return servers(asked)(call)

    receipt, seen = talk(contributor.contribute(asked, SECRET, 1, LIMITS), say)
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
    asked = campaign(RR(2, 1.0))
    error, seen = talk(
        contributor.contribute(asked, SECRET, 1, LIMITS), servers(asked, reports=Reply(status))
    )
    assert isinstance(error, UnreachableError)
    assert "for 30 seconds" in str(error)
    pauses = [step.seconds for step in seen if isinstance(step, Wait)]
    assert pauses[:5] == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert max(pauses) <= 5.0
    assert waited(seen) == pytest.approx(30.0)
    assert len(calls(seen)) == len(pauses) + 1


@pytest.mark.parametrize("patience", [0.0, 0.1, 0.2, 1.0, 7.7])
def test_patience_is_kept_to_the_second(patience: float) -> None:
    asked = campaign()
    error, seen = talk(
        contributor.send(asked, b'{"carded":true}', patience),
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
    asked = campaign()
    receipt, seen = talk(
        contributor.contribute(asked, SECRET, 1, LIMITS), servers(asked, cards=reply)
    )
    assert receipt == Receipt(asked.hash, False)
    assert waited(seen) == pytest.approx(30.0 if patient else 0.0)
    assert [json.loads(step.body)["carded"] for step in seen if isinstance(step, Save)] == [False]


def test_somebody_whom_the_dealer_does_not_know_sends_nothing() -> None:
    asked = campaign()
    stranger = json.dumps(problem_document(UNKNOWN_NAME, 404, "not known here")).encode()
    error, seen = talk(
        contributor.contribute(asked, SECRET, 1, LIMITS), servers(asked, cards=Reply(404, stranger))
    )
    assert isinstance(error, ProtocolError)
    assert "not known here" in str(error)
    assert not any(isinstance(step, Save) for step in seen)


def test_a_dealer_that_is_silent_from_the_beginning_costs_the_card_only() -> None:
    asked = campaign()
    receipt, seen = talk(
        contributor.contribute(asked, SECRET, 1, LIMITS), servers(asked, document=Reply(0))
    )
    assert receipt == Receipt(asked.hash, False)
    assert not any(call.address.endswith("/cards") for call in calls(seen))


@pytest.mark.parametrize("status", [400, 401, 403, 409, 413, 422, 301, 204])
def test_a_dealer_that_refuses_otherwise_ends_it_without_an_answer(status: int) -> None:
    asked = campaign()
    body = json.dumps({"detail": "no\x1b[31m\n" + "x" * 1_000}).encode()
    error, seen = talk(
        contributor.contribute(asked, SECRET, 1, LIMITS),
        servers(asked, cards=Reply(status, body)),
    )
    assert isinstance(error, ProtocolError)
    assert str(error).isprintable()  # a server must not write to the terminal
    assert len(str(error)) < 400
    assert not any(isinstance(step, Save) for step in seen)


@pytest.mark.parametrize("status", [404, 409, 410, 413, 422, 302])
def test_a_collector_that_refuses_ends_it(status: int) -> None:
    asked = campaign()
    error, seen = talk(
        contributor.contribute(asked, SECRET, 1, LIMITS),
        servers(asked, reports=Reply(status, b'{"detail":"because"}')),
    )
    assert isinstance(error, ProtocolError)
    assert "because" in str(error)
    assert sum(call.address.endswith("/reports") for call in calls(seen)) == 1


def test_nothing_is_asked_of_anybody_before_the_arguments_are_right() -> None:
    asked = campaign(covariates={"region": ("n", "s")})
    fine = {"region": "n"}
    for value, covariates, limits in (
        (2, fine, LIMITS),
        (-1, fine, LIMITS),
        (1.0, fine, LIMITS),
        (1, {}, LIMITS),
        (1, {"region": "w"}, LIMITS),
        (1, fine | {"more": "x"}, LIMITS),
        (1, fine, Limits(0.1)),
        (1, fine, Limits(700.0, 0.1)),
    ):
        steps = contributor.contribute(
            asked,
            SECRET,
            value,  # type: ignore[arg-type]
            limits,
            covariates=covariates,
        )
        error, seen = talk(steps, servers(asked))
        assert isinstance(error, JrrError)
        assert seen == []


def test_nobody_is_asked_what_could_not_be_sent() -> None:
    asked = campaign(covariates={"region": ("n", "s")})
    fine = {"region": "n"}
    for covariates, words in (
        ({}, "covariates must be exactly those of the campaign: region"),
        ({"region": "w"}, "covariate region must be one of 'n', 's'"),
        (fine | {"more": "x"}, "covariates must be exactly"),
    ):
        steps = contributor.check_ready(asked, covariates, 30.0)
        error, seen = talk(steps, servers(asked))
        assert words in str(error)
        assert seen == []
    for state, words in (("new", "not open yet"), ("closed", "no more answers")):
        status = Reply(200, json.dumps({"state": state, "n": None}).encode())
        error, _ = talk(contributor.check_ready(asked, fine, 30.0), servers(asked, status=status))
        assert isinstance(error, ProtocolError)
        assert words in str(error)
    found, seen = talk(contributor.check_ready(asked, fine, 30.0), servers(asked))
    assert found is None
    assert [call.address.partition(asked.hash)[2] for call in calls(seen)] == ["/status"]


@pytest.mark.parametrize(("status", "before"), [(201, False), (200, True)])
def test_a_receipt_says_whether_the_report_was_there_before(status: int, before: bool) -> None:
    asked = campaign()
    body = b'{"carded":true}'
    say = servers(asked, reports=Reply(status, b"{}"))
    receipt, _ = talk(contributor.send(asked, body, 1.0), say)
    assert receipt.before is before


# -- enrol, then deal ----------------------------------------------------------------------


def announced(n: Any) -> Reply:
    return Reply(200, json.dumps({"state": "open", "n": n}).encode())


def dealt(n: Any, card: Any) -> Reply:
    return Reply(200, json.dumps({"n": n, "card": card}).encode())


def test_after_enrolment_both_servers_must_name_the_same_number() -> None:
    asked = campaign(DRR(21, truth=0.5, own=0.1), dealing="enrol", capacity=60)
    steps = contributor.contribute(asked, SECRET, 1, LIMITS)
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
        steps = contributor.contribute(asked, SECRET, 1, LIMITS)
        error, seen = talk(steps, servers(asked, cards, status=status))
        assert isinstance(error, JrrError), (cards, status)
        assert not any(isinstance(step, Save) for step in seen)


def test_before_the_cards_are_dealt_one_is_told_to_enrol() -> None:
    asked = campaign(DRR(21, truth=0.5, own=0.1), dealing="enrol", capacity=60)
    closed = Reply(200, b'{"state":"closed","n":null}')
    early = Reply(200, b'{"state":"new","n":null}')
    for steps in (
        contributor.contribute(asked, SECRET, 1, LIMITS),
        contributor.check_ready(asked, {}, 30.0),
    ):
        error, _ = talk(steps, servers(asked, Reply(404), status=early))
        assert isinstance(error, ProtocolError)
        assert "enrol first (--enrol)" in str(error)
        assert "come again when the cards are dealt" in str(error)
    error, _ = talk(contributor.check_ready(asked, {}, 30.0), servers(asked, status=closed))
    assert "the campaign is closed" in str(error)
    found, _ = talk(contributor.check_ready(asked, {}, 30.0), servers(asked, status=announced(31)))
    assert found is None


def test_without_a_card_the_chances_are_those_of_the_deck_that_was_dealt() -> None:
    asked = campaign(JRR(21, p=0.7, s=0.2), dealing="enrol", capacity=60)
    steps = contributor.contribute(asked, SECRET, 1, LIMITS)
    receipt, _ = talk(steps, servers(asked, Reply(404), status=announced(31)))
    assert receipt == Receipt(asked.hash, False)
    steps = contributor.contribute(asked, SECRET, 1, LIMITS)
    error, seen = talk(steps, servers(asked, Reply(404), status=announced(None)))
    assert isinstance(error, ProtocolError)
    assert not any(isinstance(step, Save) for step in seen)


# -- the campaign --------------------------------------------------------------------------


def test_fetching_checks_hash_place_and_limits() -> None:
    asked = campaign()
    link = f"{COLLECTING}/v1/campaigns/{asked.hash}"
    found, seen = talk(contributor.fetch(link, LIMITS), servers(asked))
    assert found == asked
    assert calls(seen) == [Call(link)]
    for reply in (Reply(200, asked.to_bytes() + b" "), Reply(200), Reply(404), Reply(301)):
        error, _ = talk(contributor.fetch(link, LIMITS), partial(_always, reply))
        assert isinstance(error, ProtocolError)
    elsewhere = f"https://elsewhere.example/v1/campaigns/{asked.hash}"
    error, _ = talk(contributor.fetch(elsewhere, LIMITS), servers(asked))
    assert "another collector" in str(error)
    error, _ = talk(contributor.fetch(link, Limits(asked.cost * 0.99)), servers(asked))
    assert "more than your limit" in str(error)


def test_an_unbounded_dealer_is_fine_only_for_those_who_set_no_limit() -> None:
    asked = campaign(DRR(100, truth=0.5))
    check_limits(asked, Limits(700.0))
    with pytest.raises(ProtocolError, match="view: dealer"):
        check_limits(asked, Limits(700.0, 700.0))


# -- names ---------------------------------------------------------------------------------


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


def test_names_of_roles_campaigns_and_people_all_differ() -> None:
    roles = [DEALER, COLLECTOR_ROLE, *(party_role(number) for number in range(50))]
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
    listed = accepted(invitations, "0" * 64, DEALER)
    assert listed == sorted(listed)
    assert set(listed) == {
        hashed(pseudonym(invitation_secret(text), "0" * 64, DEALER)) for text in invitations
    }
    assert listed == accepted(invitations[::-1], "0" * 64, DEALER)


# -- messages ------------------------------------------------------------------------------


@given(st.binary(max_size=300))
def test_parsing_any_bytes_gives_an_object_or_a_refusal(body: bytes) -> None:
    try:
        document = read_body(body, "n")
    except JrrError:
        return
    assert set(document) == {"n"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"n":1,"n":2}',
        b'{"n":1,"n":1}',
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
    with pytest.raises(JrrError, match="body must be"):
        read_body(body, "n")


@pytest.mark.parametrize("mechanism", [RR(3, 1.0), OUE(12, 1.0), DRR(20, truth=0.5)], ids=str)
def test_a_report_is_stored_as_it_was_sent(mechanism: Mechanism) -> None:
    asked = campaign(mechanism, covariates={"b": ("ä", "y"), "a": ("1",)})
    report = mechanism.respond_one(1)
    body = messages.report_request(
        pseudonym=b"\1" * 32,
        carded=False,
        mechanism=mechanism,
        report=report,
        covariates={"b": "ä", "a": "1"},
    )
    stored = messages.read_report(asked, mechanism, body)
    assert stored.name == hashed(b"\1" * 32)
    assert (stored.carded, stored.covariates) == (False, '{"a":"1","b":"ä"}')
    swapped = json.dumps(dict(reversed(json.loads(body).items()))).encode()
    assert messages.read_report(asked, mechanism, swapped) == stored


# -- seats ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        JRR(21, p=0.7, s=0.2),
        DRR(20, truth=0.5, own=0.1, k=3, deck=(12, 5, 3)),
        OUE(12, q=0.2, s=0.1, coupling="dealt", n=21),
    ],
    ids=str,
)
def test_every_block_gives_every_seat_once_and_a_whole_deck(mechanism: Mechanism) -> None:
    n = mechanism.moments.deck
    assert n is not None
    dealer = Dealer(mechanism, b"k" * 32)
    places = [dealer.place(arrival) for arrival in range(3 * n)]
    assert [block for block, _ in places] == [at // n for at in range(3 * n)]
    for block in range(3):
        seats = [seat for at, seat in places if at == block]
        assert sorted(seats) == list(range(n))
        assert seats != list(range(n))
        cards = [dealer.card(block, seat) for seat in range(n)]
        if isinstance(mechanism, OUE):
            rows = np.array([list(bytes.fromhex(card)) for card in cards], np.uint8)
            ones = np.unpackbits(rows, axis=1, bitorder="little")[:, :12].sum(axis=0)
            assert set(ones.tolist()) <= {n // 2, n // 2 + 1}
        else:
            deck = mechanism.deal()
            assert deck is not None
            assert Counter(cards) == Counter(int(card) for card in deck)
    again = Dealer(mechanism, b"k" * 32)
    assert [again.place(arrival) for arrival in range(3 * n)] == places
    assert again.card(2, 5) == dealer.card(2, 5)
    other = Dealer(mechanism, b"l" * 32)
    assert [other.place(arrival) for arrival in range(3 * n)] != places


@pytest.mark.statistical
def test_seats_tell_nothing_of_who_came_when() -> None:
    """Over many keys the seat of the first to come is uniform."""
    mechanism = DRR(10, truth=0.5)
    first = [
        Dealer(mechanism, number.to_bytes(32, "little")).place(0)[1] for number in range(6_000)
    ]
    counts = np.bincount(first, minlength=10)
    uniform = [0.1] * 10
    accepts_only(lambda law: chi_square(counts, law), right=uniform, wrong=skewed(uniform))
