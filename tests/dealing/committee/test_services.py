"""Three parties and a collector as processes: whole surveys over HTTP."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from jrr import DRR, JRR, OLH, Mechanism
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.committee import cards
from jrr.dealing.committee.cards import Envelope, Place, card_key
from jrr.dealing.committee.meeting import Identity
from jrr.dealing.messages import card_request
from jrr.errors import IntegrityError, JrrError
from jrr.protocol.documents import hashed
from jrr.protocol.identity import invitation_secret
from jrr.servers.party.store import PartyStore
from jrr.survey.survey import Survey
from tests.dealing.committee.asking import answer_all, answer_each
from tests.dealing.committee.parties import Part, peers, survey_of, together, warm_up
from tests.dealing.committee.servers import Committee, names_of
from tests.e2e import ask, enrol_all, is_problem, path_of

MECHANISMS: dict[str, tuple[Mechanism, dict[int, int]]] = {
    "JRR": (JRR(11, p=0.7, s=0.2), {1: 6, -1: 6, 0: 1}),
    "DRR": (DRR(13, truth=0.5, own=0.1, k=3), {0: 5, 1: 4, 2: 4}),
    "OLH": (OLH(20, g=4, p=0.7, s=0.1, coupling="joint", n=13), {1: 6, -1: 6, 0: 1}),
}


@pytest.mark.slow_variants("OLH]", "DRR]")
@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_whole_survey_balances_exactly(committee: Committee, kind: str) -> None:
    mechanism, expected = MECHANISMS[kind]
    survey = committee.survey(mechanism)
    operator, people = committee.begin(survey, 14)
    assert committee.states(survey) == ["enrolling"] * 3
    assert all(is_problem(one, 425) == "too-early" for one in committee.fetch(survey, people[0]))
    enrol_all(survey, people[:13])
    enrol_all(survey, people[:5])  # again: changes nothing
    # The last one reaches two of the three parties only.
    key = card_key(people[13], survey.hash).public_key().public_bytes_raw()
    names = names_of(survey, people[13])
    for server, name in zip(committee.parties[:2], names, strict=False):
        body = card_request(name, key)
        assert ask(server.url, "POST", path_of(survey, "seats"), body).status == 201
    assert operator.deal(20.0, 20.0) == 13
    assert operator.deal(20.0, 20.0) == 13  # again: tells, and deals nothing
    assert committee.states(survey) == ["open"] * 3
    dealt = [committee.hand(survey, secret) for secret in people[:13]]
    assert Counter(dealt) == expected
    assert [committee.hand(survey, secret) for secret in people[:13]] == dealt
    first = committee.fetch(survey, people[0])
    assert [one.body for one in first] == [one.body for one in committee.fetch(survey, people[0])]
    # Whoever is not known to all has no card anywhere, and answers without.
    assert [one.status for one in committee.fetch(survey, people[13])] == [404, 404, 404]
    receipts = answer_all(survey, people)
    assert [receipt.carded for receipt in receipts] == [True] * 13 + [False]
    found = operator.estimate("answer")
    assert (found["carded"], found["cardless"]) == (13, 1)
    closed = operator.close()
    assert closed["collector"]["reports"] == 14
    assert all(one.status == 410 for one in committee.fetch(survey, people[0]))
    for party in range(3):
        for table in ("envelopes", "records", "members"):
            query = f"SELECT 1 FROM {table} WHERE survey = '{survey.hash}'"
            assert committee.rows(party, query) == []


def test_parties_store_sealed_shares_only(committee: Committee) -> None:
    survey = committee.survey(JRR(9, p=0.7, s=0.2))
    operator, people = committee.dealt(survey, 10)
    suite = cards._suite()
    cards_tables = [table.name for table in PartyStore.metadata.sorted_tables]
    for number, party in enumerate(committee.parties):
        columns = {
            column[1]
            for table in cards_tables
            for column in committee.rows(number, f"PRAGMA table_info({table})")
        }
        assert columns == {
            *("survey", "slot", "sealed", "record"),
            *("pseudonym", "key", "document", "state", "n", "arrivals", "settled"),
            *("closes", "excess", "unnamed_by", "finding", "accused", "evidence", "deleted"),
        }
        shares = []
        for secret in people:
            given = committee.fetch(survey, secret)[number].json["envelope"]
            envelope = Envelope.from_document(given)
            info = Place(survey.hash, number, envelope.slot).info()
            shares.append(suite.decrypt(envelope.sealed, card_key(secret, survey.hash), info))
        files = [path for path in party.folder.iterdir() if path.name.startswith("party.db")]
        lying = (
            b"".join(path.read_bytes() for path in files)
            + (party.folder / "party.log").read_bytes()
        )
        sealed = committee.rows(
            number, f"SELECT sealed FROM envelopes WHERE survey = '{survey.hash}'"
        )
        assert {len(one) for (one,) in sealed} == {cards.SEALED}
        assert all(one in lying for (one,) in sealed)  # the search would find what is there
        assert not any(share in lying for share in shares)
        assert not any(secret in lying or secret.hex().encode() in lying for secret in people)
        for secret in people:
            for at, name in enumerate(names_of(survey, secret)):
                assert name not in lying
                assert (hashed(name) in lying) == (at == number)  # others' names are unknown
    operator.close()
    for party in committee.parties:
        files = [path for path in party.folder.iterdir() if path.name.startswith("party.db")]
        lying = b"".join(path.read_bytes() for path in files)
        assert not any(one in lying for (one,) in sealed)


# Dishonest operators ----------------------------------------------------------------------------


def _slots(committee: Committee, survey: Survey, secret: bytes) -> int:
    name = hashed(names_of(survey, secret)[1])
    query = f"SELECT pseudonym, slot FROM members WHERE survey = '{survey.hash}'"
    return int(dict(committee.rows(1, query))[name])


def swap(committee: Committee, survey: Survey, people: Sequence[bytes]) -> None:
    first, second = (_slots(committee, survey, secret) for secret in people[:2])
    where = f"survey = '{survey.hash}'"
    sealed = dict(committee.rows(1, f"SELECT slot, sealed FROM envelopes WHERE {where}"))
    for slot, entry in ((first, sealed[second]), (second, sealed[first])):
        committee.change(
            1, f"UPDATE envelopes SET sealed = ? WHERE {where} AND slot = ?", entry, slot
        )


def reseal(committee: Committee, survey: Survey, people: Sequence[bytes]) -> None:
    slot = _slots(committee, survey, people[0])
    key = card_key(people[0], survey.hash).public_key()
    made = cards._suite().encrypt(bytes(8), key, Place(survey.hash, 1, slot).info())
    committee.change(
        1,
        "UPDATE envelopes SET sealed = ? WHERE survey = ? AND slot = ?",
        made,
        survey.hash,
        slot,
    )


def other_alpha(committee: Committee, survey: Survey, people: Sequence[bytes]) -> None:
    committee.change(
        1,
        "UPDATE records SET record = json_set(record, '$.alpha', 5) WHERE survey = ?",
        survey.hash,
    )


def other_roots(committee: Committee, survey: Survey, people: Sequence[bytes]) -> None:
    committee.change(
        1,
        "UPDATE records SET record = json_set(record, '$.roots[1]', ?) WHERE survey = ?",
        "00" * 32,
        survey.hash,
    )


@pytest.mark.parametrize("cheat", [swap, reseal, other_alpha, other_roots])
def test_whoever_is_served_something_else_loses_only_their_own_card(
    committee: Committee, cheat: Callable[[Committee, Survey, Sequence[bytes]], None]
) -> None:
    """What a party served cannot be proven to others; so nobody is convicted, and nothing ends."""
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.dealt(survey, 6)
    before = committee.hand(survey, people[5])  # what it committed to is remembered from here on
    cheat(committee, survey, people)
    (refused,) = answer_each(survey, people[:1])
    assert isinstance(refused, IntegrityError)
    assert "the committee's card is not acceptable: party 1" in str(refused)
    assert operator.show()["collector"]["reports"] == 0  # nothing was sent after it
    assert committee.states(survey) == ["serving"] * 3
    for number, reply in enumerate(committee.fetch(survey, people[0])):
        assert is_problem(reply, 410) == "lost"
        facts = operator.show()[f"party {number}"]
        assert facts["complaints"] == {"proven": {}, "false": {}, "unproven": {"1": 1}}
    # From here on whoever complained answers without a card, and the others have theirs.
    receipts = answer_all(survey, people[:1])
    assert not receipts[0].carded
    if cheat in (swap, reseal):
        assert committee.hand(survey, people[5]) == before
    operator.close()


def test_strangers_cannot_complain(committee: Committee) -> None:
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.dealt(survey, 5)
    for stranger in new_invitations(2):
        names = names_of(survey, invitation_secret(stranger))
        # Nor does somebody's name at another party help.
        names[0] = names_of(survey, people[0])[1]
        for party, name in zip(committee.parties, names, strict=True):
            body = card_request(name)
            assert ask(party.url, "POST", path_of(survey, "complaints"), body).status == 404
    assert set(committee.states(survey)) <= {"open", "serving"}
    assert len([committee.hand(survey, secret) for secret in people]) == 5
    operator.close()


def test_another_key_for_a_name_is_refused_and_cannot_take_its_card(committee: Committee) -> None:
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.begin(survey, 6)
    enrol_all(survey, people)
    other = card_key(bytes(20), survey.hash).public_key().public_bytes_raw()
    for party, name in zip(committee.parties, names_of(survey, people[0]), strict=True):
        body = card_request(name, other)
        reply = ask(party.url, "POST", path_of(survey, "seats"), body)
        assert is_problem(reply, 409) == "conflict"
    # A party that lies about somebody's key excludes that person, and gets no card for it.
    name = hashed(names_of(survey, people[1])[2])
    committee.change(
        2,
        "UPDATE members SET key = ? WHERE survey = ? AND pseudonym = ?",
        other,
        survey.hash,
        name,
    )
    assert operator.deal(20.0, 20.0) == 5
    assert [one.status for one in committee.fetch(survey, people[1])] == [404] * 3
    operator.close()


@pytest.mark.parametrize("key", [bytes(32), b"\1" + bytes(31)], ids=["zero", "one"])
def test_a_key_that_nothing_can_be_sealed_to_is_refused(committee: Committee, key: bytes) -> None:
    """One such member would otherwise end every deal."""
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.begin(survey, 6)
    body = card_request(names_of(survey, people[0])[0], key)
    reply = ask(committee.parties[0].url, "POST", path_of(survey, "seats"), body)
    assert is_problem(reply, 422) == "refused"
    operator.close()


def test_the_key_of_somebody_else_is_refused(committee: Committee) -> None:
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.begin(survey, 6)
    enrol_all(survey, people[:1])
    key = card_key(people[0], survey.hash).public_key().public_bytes_raw()
    for party, name in zip(committee.parties, names_of(survey, people[1]), strict=True):
        body = card_request(name, key)
        reply = ask(party.url, "POST", path_of(survey, "seats"), body)
        assert is_problem(reply, 422) == "refused"
    operator.close()


# Failures ---------------------------------------------------------------------------------------


def deal_with_a_stand_in(
    committee: Committee, survey: Survey, people: Sequence[bytes], die_at: int | None
) -> tuple[list[str], Any]:
    """Parties 0 and 1 deal by their servers; party 2 is a process of ours with its key."""
    warm_up()
    operators = [
        Operator(survey, {number: party.admin})
        for number, party in enumerate(committee.parties[:2])
    ]
    said = [""] * 2

    def deal(number: int) -> None:
        try:
            said[number] = str(operators[number].deal(15.0, 15.0))
        except JrrError as error:
            said[number] = str(error)

    threads = [threading.Thread(target=deal, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    folder = committee.parties[2].folder
    members = [
        (bytes(who), bytes(key))
        for who, key in committee.rows(
            2, f"SELECT pseudonym, key FROM members WHERE survey = '{survey.hash}'"
        )
    ]
    assert len(members) == len(people)
    shown = Identity(str(folder / "party.pem"), str(folder / "party.key"))
    (ended,) = together([Part(survey.to_bytes(), 2, shown, members, 15.0, 15.0, die_at)])
    for thread in threads:
        thread.join()
    return said, ended


@pytest.mark.slow_variants("5]", "9]", "13]")
@pytest.mark.parametrize("die_at", [0, 5, 9, 13, 17])
def test_servers_keep_nothing_of_a_deal_in_which_a_party_died(
    committee: Committee, die_at: int
) -> None:
    survey = committee.survey(JRR(5, p=0.7, s=0.2))
    operator, people = committee.begin(survey, 6)
    enrol_all(survey, people)
    said, ended = deal_with_a_stand_in(committee, survey, people, die_at)
    assert ended.code == 9
    for text in said:
        assert "refused (409): no cards were dealt:" in text
    assert committee.states(survey) == ["enrolling"] * 3
    for party in range(2):
        for table in ("envelopes", "records"):
            query = f"SELECT 1 FROM {table} WHERE survey = '{survey.hash}'"
            assert committee.rows(party, query) == []
    assert operator.deal(20.0, 20.0) == 6
    assert Counter(committee.hand(survey, secret) for secret in people) == {1: 3, -1: 3}
    operator.close()


def test_cards_that_not_all_parties_have_are_dealt_again(committee: Committee) -> None:
    """The stand-in has its part and dies with it: two serve, the third does not."""
    survey = committee.survey(JRR(5, p=0.7, s=0.2))
    operator, people = committee.begin(survey, 6)
    enrol_all(survey, people)
    said, ended = deal_with_a_stand_in(committee, survey, people, None)
    assert (said, ended.code) == (["6", "6"], 0)
    assert committee.states(survey) == ["open", "open", "enrolling"]
    before = committee.rows(0, f"SELECT record FROM records WHERE survey = '{survey.hash}'")
    with pytest.raises(JrrError):
        operator.deal(2.0, 2.0)  # two have dealt, and say so; the third waits in vain
    assert operator.deal(20.0, 20.0, again=True) == 6
    after = committee.rows(0, f"SELECT record FROM records WHERE survey = '{survey.hash}'")
    assert before != after
    assert Counter(committee.hand(survey, secret) for secret in people) == {1: 3, -1: 3}
    operator.close()


def test_a_share_that_was_served_is_not_dealt_again(committee: Committee) -> None:
    """Two serve, the third does not, and somebody asked meanwhile: nobody mixes two decks."""
    survey = committee.survey(JRR(5, p=0.7, s=0.2))
    operator, people = committee.begin(survey, 6)
    enrol_all(survey, people)
    deal_with_a_stand_in(committee, survey, people, None)
    assert [one.status for one in committee.fetch(survey, people[0])] == [200, 200, 425]
    lacking = "given out shares of a deal that parties \\[2\\] do not keep"
    with pytest.raises(JrrError, match=lacking):
        operator.deal(5.0, 5.0, again=True)
    # No card will ever come: people answer without one.
    Operator(survey, {}, committee.collector.admin).open(6)
    receipts = answer_all(survey, people)
    assert not any(receipt.carded for receipt in receipts)
    operator.close()


def test_a_party_whose_certificate_is_not_named_refuses_the_survey(
    committee: Committee,
) -> None:
    operator = committee.operator(survey_of(peers(3)))
    with pytest.raises(JrrError, match="certificate is not in the survey"):
        operator.install()


def test_what_a_committee_cannot_deal_is_refused_when_it_is_created(committee: Committee) -> None:
    from jrr import OUE

    with pytest.raises(JrrError, match="JRR, DRR or OLH"):
        committee.survey(OUE(5, 1.0, coupling="joint", n=10))


@pytest.mark.parametrize(
    "wish",
    [
        {"patience": 0, "join": 1, "again": False},
        {"patience": 1, "join": 1e9, "again": False},
        {"patience": 1, "join": 1, "again": 1},
        {"patience": "1", "join": 1, "again": False},
        {"patience": 1, "join": 1},
        None,
    ],
    ids=str,
)
def test_a_wish_to_deal_that_makes_no_sense_is_refused(committee: Committee, wish: Any) -> None:
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    operator = committee.operator(survey)
    operator.install()
    party = committee.parties[0]
    reply = ask(
        party.url,
        "POST",
        f"{operator.path}/deal",
        json.dumps(wish).encode(),
        {"Authorization": f"Bearer {party.token}"},
    )
    assert is_problem(reply, 422)


def test_every_log_is_empty(committee: Committee) -> None:
    """Nothing above went wrong in a way that a server did not expect."""
    survey = committee.survey(DRR(5, truth=0.5, own=0.1))
    committee.dealt(survey, 5)[0].close()
    for server in (*committee.parties, committee.collector):
        assert (server.folder / f"{server.role}.log").read_text() == ""
