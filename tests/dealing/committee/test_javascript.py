"""The JavaScript client takes cards of a committee that runs, and of what Python sealed once."""

import json
from typing import Any

import pytest

from jrr import JRR
from jrr.client.operator import new_invitations
from jrr.mechanisms.registry import from_dict
from jrr.survey.campaign import Campaign
from jrr.dealing.committee.cards import BadShareError, Envelope, Record, card_key, open_card
from jrr.dealing.committee.complaints import Finding, ShareEvidence, judge
from tests.e2e import tally_of
from tests.e2e.test_javascript_client import by_script
from tests.golden import make_committee_cards
from tests.dealing.committee.servers import Committee

PEOPLE = 6


def test_golden_cards_open_in_python() -> None:
    golden = json.loads(make_committee_cards.PATH.read_text("utf-8"))
    spoiled = golden.pop("spoiled")
    assert set(golden) == set(make_committee_cards.MECHANISMS)
    for entry in golden.values():
        campaign = Campaign.from_bytes(entry["document"].encode())
        mechanism = from_dict(campaign.for_people(entry["n"]).to_dict())
        record = Record.from_document(entry["record"])
        for slot in entry["slots"]:
            key = card_key(bytes.fromhex(slot["device"]), campaign.hash)
            envelopes = [Envelope.from_document(one) for one in slot["envelopes"]]
            assert open_card(mechanism, key, record, envelopes) == slot["card"]
    check_spoiled(spoiled)


def check_spoiled(entry: dict[str, Any]) -> None:
    """Only the first slot is lost, and its evidence convicts party 1."""
    campaign = Campaign.from_bytes(entry["document"].encode())
    record = Record.from_document(entry["record"])
    mechanism = campaign.for_people(entry["n"])
    for number, slot in enumerate(entry["slots"]):
        key = card_key(bytes.fromhex(slot["device"]), campaign.hash)
        envelopes = [Envelope.from_document(one) for one in slot["envelopes"]]
        if number:
            assert open_card(mechanism, key, record, envelopes) == slot["card"]
            continue
        with pytest.raises(BadShareError, match="party 1 sealed another share") as caught:
            open_card(mechanism, key, record, envelopes)
        assert (caught.value.party, caught.value.provable) == (1, True)
        verdict = judge(
            ShareEvidence.from_document(entry["evidence"]),
            record=record,
            slot=number,
            holder=bytes.fromhex(slot["key"]),
            excess=envelopes[0].excess,
        )
        assert (verdict.finding, verdict.accused) == (Finding.PROVEN, 1)


def test_people_enrol_and_answer_in_javascript(committee: Committee) -> None:
    campaign = committee.campaign(JRR(n=5, p=0.6, s=0.25))
    operator = committee.operator(campaign)
    operator.install()
    invitations = new_invitations(PEOPLE)
    operator.invite(invitations)
    operator.open()
    people = {
        "link": campaign.link,
        "invitations": invitations,
        "values": [at % 2 for at in range(PEOPLE)],
        "covariates": {},
    }
    storages = by_script(people | {"act": "enrol"})
    assert operator.deal(20.0, 20.0) == PEOPLE
    bodies = by_script(people | {"act": "answer", "storages": storages})
    sent = [json.loads(body) for body in bodies]
    assert all(entry["carded"] for entry in sent)
    operator.close()
    dealt = campaign.for_people(PEOPLE)
    counted = dealt.estimate(tally_of(dealt, sent)).to_dict()
    assert operator.estimate()["estimate"]["frequencies"] == counted["frequencies"]
