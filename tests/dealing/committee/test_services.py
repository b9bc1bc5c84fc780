"""Three parties and a collector as processes: whole campaigns over HTTP."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from jrr.client.fleet import drive_all
from jrr.client.operator import Operator, new_invitations
from jrr.errors import IntegrityError, JrrError
from jrr.mechanisms import DRR, JRR, OLH, Mechanism
from jrr.servers.party.store import PartyStore
from jrr.survey import contributor, messages
from jrr.survey.answers import Receipt
from jrr.survey.campaign import Campaign
from jrr.dealing.committee import cards
from jrr.dealing.committee.cards import Envelope, Place, card_key
from jrr.dealing.committee.meeting import Identity
from jrr.protocol.identity import hashed, invitation_secret
from jrr.survey.limits import Limits
from tests.e2e import answer_all, ask, enrol_all, is_problem, path_of
from tests.dealing.committee.parties import Part, campaign_of, peers, together, warm_up
from tests.dealing.committee.servers import Committee, names_of

QUICK = Limits(700.0, patience=1.0)


def answer_each(campaign: Campaign, secrets: Sequence[bytes]) -> list[Receipt | Exception]:
    """Everybody contributes; failures are part of the answer."""
    return asyncio.run(
        drive_all(contributor.contribute(campaign, secret, 1, QUICK) for secret in secrets)
    )


MECHANISMS: dict[str, tuple[Mechanism, dict[int, int]]] = {
    "JRR": (JRR(11, p=0.7, s=0.2), {1: 6, -1: 6, 0: 1}),
    "DRR": (DRR(13, truth=0.5, own=0.1, k=3), {0: 5, 1: 4, 2: 4}),
    "OLH": (OLH(20, g=4, p=0.7, s=0.1, coupling="joint", n=13), {1: 6, -1: 6, 0: 1}),
}


@pytest.mark.slow_variants("OLH]", "DRR]")
@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_whole_campaign_balances_exactly(committee: Committee, kind: str) -> None:
    mechanism, expected = MECHANISMS[kind]
    campaign = committee.campaign(mechanism)
    operator, people = committee.begin(campaign, 14)
    assert committee.states(campaign) == ["enrolling"] * 3
    assert all(is_problem(one, 425) == "too-early" for one in committee.fetch(campaign, people[0]))
    enrol_all(campaign, people[:13])
    enrol_all(campaign, people[:5])  # again: changes nothing
    # The last one reaches two of the three parties only.
    key = card_key(people[13], campaign.hash).public_key().public_bytes_raw()
    names = names_of(campaign, people[13])
    for server, name in zip(committee.parties[:2], names, strict=False):
        body = messages.card_request(name, key)
        assert ask(server.url, "POST", path_of(campaign, "seats"), body).status == 201
    assert operator.deal(20.0, 20.0) == 13
    assert operator.deal(20.0, 20.0) == 13  # again: tells, and deals nothing
    assert committee.states(campaign) == ["open"] * 3
    hands = [committee.hand(campaign, secret) for secret in people[:13]]
    assert Counter(hands) == expected
    assert [committee.hand(campaign, secret) for secret in people[:13]] == hands
    first = committee.fetch(campaign, people[0])
    assert [one.body for one in first] == [one.body for one in committee.fetch(campaign, people[0])]
    # Whoever is not known to all has no card anywhere, and answers without.
    assert [one.status for one in committee.fetch(campaign, people[13])] == [404, 404, 404]
    receipts = answer_all(campaign, people, [1] * 14)
    assert [receipt.carded for receipt in receipts] == [True] * 13 + [False]
    found = operator.estimate()
    assert (found["carded"], found["cardless"]) == (13, 1)
    closed = operator.close()
    assert closed["collector"]["reports"] == 14
    assert all(one.status == 410 for one in committee.fetch(campaign, people[0]))
    for party in range(3):
        for table in ("envelopes", "records", "members"):
            query = f"SELECT 1 FROM {table} WHERE campaign = '{campaign.hash}'"
            assert committee.rows(party, query) == []


def test_parties_store_sealed_shares_only(committee: Committee) -> None:
    campaign = committee.campaign(JRR(9, p=0.7, s=0.2))
    operator, people = committee.dealt(campaign, 10)
    suite = cards._suite()
    cards_tables = [table.name for table in PartyStore.metadata.sorted_tables]
    for number, party in enumerate(committee.parties):
        columns = {
            column[1]
            for table in cards_tables
            for column in committee.rows(number, f"PRAGMA table_info({table})")
        }
        assert columns == {
            *("campaign", "slot", "sealed", "record"),
            *("pseudonym", "key", "document", "state", "n", "arrivals", "settled"),
            *("excess", "unnamed_by", "finding", "accused", "evidence"),
        }
        shares = []
        for secret in people:
            given = committee.fetch(campaign, secret)[number].json["envelope"]
            envelope = Envelope.from_document(given)
            info = Place(campaign.hash, number, envelope.slot).info()
            shares.append(suite.decrypt(envelope.sealed, card_key(secret, campaign.hash), info))
        files = [path for path in party.folder.iterdir() if path.name.startswith("party.db")]
        lying = (
            b"".join(path.read_bytes() for path in files)
            + (party.folder / "party.log").read_bytes()
        )
        sealed = committee.rows(
            number, f"SELECT sealed FROM envelopes WHERE campaign = '{campaign.hash}'"
        )
        assert {len(one) for (one,) in sealed} == {cards.SEALED}
        assert all(one in lying for (one,) in sealed)  # the search would find what is there
        assert not any(share in lying for share in shares)
        assert not any(secret in lying or secret.hex().encode() in lying for secret in people)
        for secret in people:
            for at, name in enumerate(names_of(campaign, secret)):
                assert name not in lying
                assert (hashed(name) in lying) == (at == number)  # others' names are unknown
    operator.close()
    for party in committee.parties:
        files = [path for path in party.folder.iterdir() if path.name.startswith("party.db")]
        lying = b"".join(path.read_bytes() for path in files)
        assert not any(one in lying for (one,) in sealed)


# Dishonest operators ----------------------------------------------------------------------------


def _slots(committee: Committee, campaign: Campaign, secret: bytes) -> int:
    name = hashed(names_of(campaign, secret)[1])
    query = f"SELECT pseudonym, slot FROM members WHERE campaign = '{campaign.hash}'"
    return int(dict(committee.rows(1, query))[name])


def swap(committee: Committee, campaign: Campaign, people: Sequence[bytes]) -> None:
    first, second = (_slots(committee, campaign, secret) for secret in people[:2])
    where = f"campaign = '{campaign.hash}'"
    sealed = dict(committee.rows(1, f"SELECT slot, sealed FROM envelopes WHERE {where}"))
    for slot, entry in ((first, sealed[second]), (second, sealed[first])):
        committee.change(
            1, f"UPDATE envelopes SET sealed = ? WHERE {where} AND slot = ?", entry, slot
        )


def reseal(committee: Committee, campaign: Campaign, people: Sequence[bytes]) -> None:
    slot = _slots(committee, campaign, people[0])
    key = card_key(people[0], campaign.hash).public_key()
    made = cards._suite().encrypt(bytes(8), key, Place(campaign.hash, 1, slot).info())
    committee.change(
        1,
        "UPDATE envelopes SET sealed = ? WHERE campaign = ? AND slot = ?",
        made,
        campaign.hash,
        slot,
    )


def other_alpha(committee: Committee, campaign: Campaign, people: Sequence[bytes]) -> None:
    committee.change(
        1,
        "UPDATE records SET record = json_set(record, '$.alpha', 5) WHERE campaign = ?",
        campaign.hash,
    )


def other_roots(committee: Committee, campaign: Campaign, people: Sequence[bytes]) -> None:
    committee.change(
        1,
        "UPDATE records SET record = json_set(record, '$.roots[1]', ?) WHERE campaign = ?",
        "00" * 32,
        campaign.hash,
    )


@pytest.mark.parametrize("cheat", [swap, reseal, other_alpha, other_roots])
def test_whoever_is_served_something_else_loses_only_their_own_card(
    committee: Committee, cheat: Callable[[Committee, Campaign, Sequence[bytes]], None]
) -> None:
    """What a party served cannot be proven to others; so nobody is convicted, and nothing ends."""
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.dealt(campaign, 6)
    before = committee.hand(campaign, people[5])  # what it committed to is remembered from here on
    cheat(committee, campaign, people)
    (refused,) = answer_each(campaign, people[:1])
    assert isinstance(refused, IntegrityError)
    assert "the committee's card is not acceptable: party 1" in str(refused)
    assert operator.show()["collector"]["reports"] == 0  # nothing was sent after it
    assert committee.states(campaign) == ["serving"] * 3
    for number, reply in enumerate(committee.fetch(campaign, people[0])):
        assert is_problem(reply, 410) == "lost"
        facts = operator.show()[f"party {number}"]
        assert facts["complaints"] == {"proven": {}, "false": {}, "unproven": {"1": 1}}
    # From here on whoever complained answers without a card, and the others have theirs.
    receipts = answer_all(campaign, people[:1], [1], limits=QUICK)
    assert not receipts[0].carded
    if cheat in (swap, reseal):
        assert committee.hand(campaign, people[5]) == before
    operator.close()


def test_strangers_cannot_complain(committee: Committee) -> None:
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.dealt(campaign, 5)
    for stranger in new_invitations(2):
        names = names_of(campaign, invitation_secret(stranger))
        # Nor does somebody's name at another party help.
        names[0] = names_of(campaign, people[0])[1]
        for party, name in zip(committee.parties, names, strict=True):
            body = messages.card_request(name)
            assert ask(party.url, "POST", path_of(campaign, "complaints"), body).status == 404
    assert set(committee.states(campaign)) <= {"open", "serving"}
    assert len([committee.hand(campaign, secret) for secret in people]) == 5
    operator.close()


def test_another_key_for_a_name_is_refused_and_cannot_take_its_card(committee: Committee) -> None:
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.begin(campaign, 6)
    enrol_all(campaign, people)
    other = card_key(bytes(20), campaign.hash).public_key().public_bytes_raw()
    for party, name in zip(committee.parties, names_of(campaign, people[0]), strict=True):
        body = messages.card_request(name, other)
        reply = ask(party.url, "POST", path_of(campaign, "seats"), body)
        assert is_problem(reply, 409) == "conflict"
    # A party that lies about somebody's key excludes that person, and gets no card for it.
    name = hashed(names_of(campaign, people[1])[2])
    committee.change(
        2,
        "UPDATE members SET key = ? WHERE campaign = ? AND pseudonym = ?",
        other,
        campaign.hash,
        name,
    )
    assert operator.deal(20.0, 20.0) == 5
    assert [one.status for one in committee.fetch(campaign, people[1])] == [404] * 3
    operator.close()


@pytest.mark.parametrize("key", [bytes(32), b"\1" + bytes(31)], ids=["zero", "one"])
def test_a_key_that_nothing_can_be_sealed_to_is_refused(committee: Committee, key: bytes) -> None:
    """One such member would otherwise end every deal."""
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.begin(campaign, 6)
    body = messages.card_request(names_of(campaign, people[0])[0], key)
    reply = ask(committee.parties[0].url, "POST", path_of(campaign, "seats"), body)
    assert is_problem(reply, 422) == "refused"
    operator.close()


def test_the_key_of_somebody_else_is_refused(committee: Committee) -> None:
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    operator, people = committee.begin(campaign, 6)
    enrol_all(campaign, people[:1])
    key = card_key(people[0], campaign.hash).public_key().public_bytes_raw()
    for party, name in zip(committee.parties, names_of(campaign, people[1]), strict=True):
        body = messages.card_request(name, key)
        reply = ask(party.url, "POST", path_of(campaign, "seats"), body)
        assert is_problem(reply, 422) == "refused"
    operator.close()


# Failures ---------------------------------------------------------------------------------------


def deal_with_a_stand_in(
    committee: Committee, campaign: Campaign, people: Sequence[bytes], die_at: int | None
) -> tuple[list[str], Any]:
    """Parties 0 and 1 deal by their servers; party 2 is a process of ours with its key."""
    warm_up()
    operators = [Operator(campaign, None, None, (party.admin,)) for party in committee.parties[:2]]
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
            2, f"SELECT pseudonym, key FROM members WHERE campaign = '{campaign.hash}'"
        )
    ]
    assert len(members) == len(people)
    shown = Identity(str(folder / "party.pem"), str(folder / "party.key"))
    (ended,) = together([Part(campaign.to_bytes(), 2, shown, members, 15.0, 15.0, die_at)])
    for thread in threads:
        thread.join()
    return said, ended


@pytest.mark.parametrize("die_at", [0, 5, 9, 13, 17])
def test_servers_keep_nothing_of_a_deal_in_which_a_party_died(
    committee: Committee, die_at: int
) -> None:
    campaign = committee.campaign(JRR(5, p=0.7, s=0.2))
    operator, people = committee.begin(campaign, 6)
    enrol_all(campaign, people)
    said, ended = deal_with_a_stand_in(committee, campaign, people, die_at)
    assert ended.code == 9
    for text in said:
        assert "refused (409): no cards were dealt:" in text
    assert committee.states(campaign) == ["enrolling"] * 3
    for party in range(2):
        for table in ("envelopes", "records"):
            query = f"SELECT 1 FROM {table} WHERE campaign = '{campaign.hash}'"
            assert committee.rows(party, query) == []
    assert operator.deal(20.0, 20.0) == 6
    assert Counter(committee.hand(campaign, secret) for secret in people) == {1: 3, -1: 3}
    operator.close()


def test_cards_that_not_all_parties_have_are_dealt_again(committee: Committee) -> None:
    """The stand-in has its part and dies with it: two serve, the third does not."""
    campaign = committee.campaign(JRR(5, p=0.7, s=0.2))
    operator, people = committee.begin(campaign, 6)
    enrol_all(campaign, people)
    said, ended = deal_with_a_stand_in(committee, campaign, people, None)
    assert (said, ended.code) == (["6", "6"], 0)
    assert committee.states(campaign) == ["open", "open", "enrolling"]
    before = committee.rows(0, f"SELECT record FROM records WHERE campaign = '{campaign.hash}'")
    with pytest.raises(JrrError):
        operator.deal(2.0, 2.0)  # two have dealt, and say so; the third waits in vain
    assert operator.deal(20.0, 20.0, again=True) == 6
    after = committee.rows(0, f"SELECT record FROM records WHERE campaign = '{campaign.hash}'")
    assert before != after
    assert Counter(committee.hand(campaign, secret) for secret in people) == {1: 3, -1: 3}
    operator.close()


def test_a_share_that_was_served_is_not_dealt_again(committee: Committee) -> None:
    """Two serve, the third does not, and somebody asked meanwhile: nobody mixes two decks."""
    campaign = committee.campaign(JRR(5, p=0.7, s=0.2))
    operator, people = committee.begin(campaign, 6)
    enrol_all(campaign, people)
    deal_with_a_stand_in(committee, campaign, people, None)
    assert [one.status for one in committee.fetch(campaign, people[0])] == [200, 200, 425]
    lacking = "given out shares of a deal that parties \\[2\\] do not keep"
    with pytest.raises(JrrError, match=lacking):
        operator.deal(5.0, 5.0, again=True)
    # No card will ever come: people answer without one.
    Operator(campaign, None, committee.collector.admin).open(6)
    receipts = answer_all(campaign, people, [1] * 6, limits=QUICK)
    assert not any(receipt.carded for receipt in receipts)
    operator.close()


def test_a_party_whose_certificate_is_not_named_refuses_the_campaign(
    committee: Committee,
) -> None:
    operator = committee.operator(campaign_of(peers(3)))
    with pytest.raises(JrrError, match="certificate is not in the campaign"):
        operator.install()


def test_what_a_committee_cannot_deal_is_refused_when_it_is_installed(
    committee: Committee,
) -> None:
    from jrr.mechanisms import OUE

    campaign = committee.campaign(OUE(5, 1.0, coupling="joint", n=10))
    with pytest.raises(JrrError, match="JRR, DRR or OLH"):
        committee.operator(campaign).install()


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
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    operator = committee.operator(campaign)
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
    campaign = committee.campaign(DRR(5, truth=0.5, own=0.1))
    committee.dealt(campaign, 5)[0].close()
    for server in (*committee.parties, committee.collector):
        assert (server.folder / f"{server.role}.log").read_text() == ""
