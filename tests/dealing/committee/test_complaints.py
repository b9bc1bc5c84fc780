"""A bad share convicts its party, a false complaint its author, and nobody else loses a card."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from jrr import DRR
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.cards import Envelope, card_key
from jrr.dealing.committee.dealing import Kind
from jrr.dealing.committee.deals import _roster
from jrr.dealing.kinds import evidence_against
from jrr.dealing.messages import ShareEvidence, complaint_request
from jrr.errors import IntegrityError
from jrr.survey.survey import Survey
from tests.dealing.committee.asking import answer_all, answer_each
from tests.dealing.committee.memory import Mesh, Wire
from tests.dealing.committee.mortal import Sin
from tests.dealing.committee.servers import Committee, names_of
from tests.dealing.committee.stage import CARDS, PEOPLE, Stage
from tests.e2e import Answer, ask, enrol_all, is_problem, path_of

CULPRIT = 1


@contextmanager
def sinning(stage: Stage, sin: Sin) -> Iterator[None]:
    stage.parties[CULPRIT].restart(sin)
    try:
        yield
    finally:
        stage.parties[CULPRIT].restart()


def public_key(survey: str, secret: bytes) -> bytes:
    return card_key(secret, survey).public_key().public_bytes_raw()


def answer(survey: Survey, secret: bytes) -> Any:
    """One contributor's receipt, or why there is none."""
    (found,) = answer_each(survey, [secret])
    return found


def shown(committee: Committee, survey: Survey) -> list[dict[str, Any]]:
    """What the operator of each party is shown."""
    found = committee.operator(survey).show()
    return [found[f"party {number}"] for number in range(3)]


def complain(
    committee: Committee, survey: Survey, secret: bytes, evidence: ShareEvidence | None
) -> list[Answer]:
    accused = None if evidence is None else evidence.party
    return [
        ask(
            party.url,
            "POST",
            path_of(survey, "complaints"),
            complaint_request(name, accused, evidence),
        )
        for party, name in zip(committee.parties, names_of(survey, secret), strict=True)
    ]


def evidence_of(
    committee: Committee, survey: Survey, secret: bytes, party: int = CULPRIT
) -> ShareEvidence:
    reply = committee.fetch(survey, secret)[party].json["envelope"]
    key = card_key(secret, survey.hash)
    return evidence_against(party, Envelope.from_document(reply), key)


def test_a_bad_share_costs_its_holder_the_card_and_names_its_party(stage: Stage) -> None:
    survey, people = stage.enrolled()
    with sinning(stage, Sin(spoils=2)):
        assert stage.deal(survey) == str(PEOPLE)  # the parties cannot tell
    committee = stage.committee
    slots = {
        secret: committee.fetch(survey, secret)[0].json["envelope"]["slot"] for secret in people
    }
    (victim,) = [secret for secret, slot in slots.items() if slot == 2]
    refused = answer(survey, victim)
    assert isinstance(refused, IntegrityError)
    assert "party 1 sealed another share than was checked" in str(refused)
    for facts in shown(committee, survey):
        assert facts["complaints"] == {"proven": {"1": 1}, "false": {}, "unproven": {}}
        assert (facts["lost"], facts["false_complaints_of_slots"]) == (1, [])
        assert facts["state"] == "serving"
    for reply in committee.fetch(survey, victim):
        assert is_problem(reply, 410) == "lost"
    others = [secret for secret in people if secret != victim]
    hands = Counter(committee.hand(survey, secret) for secret in others)
    assert sum(hands.values()) == PEOPLE - 1
    assert not hands - Counter(CARDS)
    receipts = answer_all(survey, people)
    assert [receipt.carded for receipt in receipts] == [secret != victim for secret in people]
    (party, *_) = committee.parties
    told = party.admin.get(f"/v1/admin/surveys/{survey.hash}/complaints")
    (kept,) = told["complaints"]
    assert (kept["slot"], kept["finding"], kept["accused"]) == (2, "proven", 1)
    assert kept["evidence"]["party"] == CULPRIT  # for whoever wants to judge it anew
    committee.operator(survey).close()
    assert shown(committee, survey)[0]["burned"]


@pytest.mark.slow
def test_a_false_complaint_names_its_author_and_ends_nobody_else_s_card(
    committee: Committee,
) -> None:
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.dealt(survey, 6)
    evidence = evidence_of(committee, survey, people[0])
    slot = committee.fetch(survey, people[0])[0].json["envelope"]["slot"]
    for reply in complain(committee, survey, people[0], evidence):
        assert (reply.status, reply.json) == (200, {"finding": "false"})
    for facts in shown(committee, survey):
        assert facts["complaints"] == {"proven": {}, "false": {"1": 1}, "unproven": {}}
        assert facts["false_complaints_of_slots"] == [slot]
    # The same again changes nothing, nor does another story.
    for reply in complain(committee, survey, people[0], None):
        assert reply.json == {"finding": "false"}
    assert len([committee.hand(survey, secret) for secret in people[1:]]) == 5
    receipts = answer_all(survey, people)
    assert [receipt.carded for receipt in receipts] == [False] + [True] * 5
    operator.close()


def test_evidence_of_another_s_share_key_or_place_is_refused(committee: Committee) -> None:
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.dealt(survey, 6)
    own, other = (evidence_of(committee, survey, secret) for secret in people[:2])
    for wrong in (
        other,  # somebody else's share, and key
        replace(own, key=other.key),
        replace(own, sealed=other.sealed, path=other.path),
        replace(own, sealed=bytes(56)),
        replace(own, party=2),
        replace(own, party=3),
        replace(own, path=[]),
    ):
        for reply in complain(committee, survey, people[0], wrong):
            assert is_problem(reply, 422)
    for facts in shown(committee, survey):
        assert facts["lost"] == 0
    assert len([committee.hand(survey, secret) for secret in people]) == 6
    operator.close()


# The roster -------------------------------------------------------------------------------------


def test_a_party_that_drops_people_is_named_to_them_and_to_operators(stage: Stage) -> None:
    survey = stage.committee.survey(DRR(3, truth=0.5, own=0.1))
    _, people = stage.committee.begin(survey, PEOPLE)
    enrol_all(survey, people)
    with sinning(stage, Sin(drops=2)):
        assert stage.deal(survey) == "3"
    committee = stage.committee
    facts = shown(committee, survey)
    assert [one["left_out"] for one in facts] == [{"1": 2}, {}, {"1": 2}]
    assert len({one["roster"] for one in facts}) == 1
    by_key = sorted(
        people, key=lambda secret: card_key(secret, survey.hash).public_key().public_bytes_raw()
    )
    for place, secret in enumerate(by_key):
        receipt = answer(survey, secret)
        assert receipt.carded == (place >= 2)
        if not receipt.carded:
            assert (
                "party 0: the parties dealt without this key: it was not named by party 1"
                in receipt.left_out
            )
            assert len(receipt.left_out) == 3
    keys = b"".join(public_key(survey.hash, secret) for secret in by_key[2:])
    text = b"jrr committee roster 1:" + bytes.fromhex(survey.hash) + keys
    assert facts[0]["roster"] == hashlib.sha256(text).hexdigest()
    committee.operator(survey).close()


def agree_on_roster(forge: Any) -> list[Any]:
    """What three parties make of their rosters, over queues that one of them lies on."""
    keys = [
        card_key(bytes([number]) * 20, "ab" * 32).public_key().public_bytes_raw()
        for number in range(4)
    ]
    mesh = Mesh(3, forge)

    async def party(me: int) -> Any:
        known = keys[:3] if me == 2 else keys
        try:
            return await _roster(Wire(me, mesh), [(key, key) for key in known], 10)  # type: ignore[arg-type]
        finally:
            mesh.leave(me)

    async def run() -> list[Any]:
        return await asyncio.gather(*(party(me) for me in range(3)), return_exceptions=True)

    return asyncio.run(run())


def test_a_party_that_announces_two_rosters_is_named() -> None:
    honest = agree_on_roster(lambda message: message[3])
    assert len({tuple(key for key, _ in agreed) for agreed, _ in honest}) == 1
    assert [list(left.values()) for _, left in honest] == [[(2,)], [(2,)], []]

    def two_digests(message: Any) -> bytes:
        lies = message[:3] == (1, 0, Kind.DIGEST)
        return bytes(32) if lies else message[3]

    found = agree_on_roster(two_digests)
    assert all(isinstance(one, Abort) for one in found)
    assert "party 1 announced another roster to parties [0]" in str(found[2])

    def another_roster(message: Any) -> bytes:
        lies = message[:3] == (1, 0, Kind.ROSTER)
        payload: bytes = message[3]
        return payload[:-32] if lies else payload

    found = agree_on_roster(another_roster)
    assert "party 1 sent another roster than it had announced" in str(found[0])
