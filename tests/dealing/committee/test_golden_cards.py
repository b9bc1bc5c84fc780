"""Cards of committees as they were sealed once: they open today, and what is spoiled convicts."""

import json
from typing import Any

import pytest
from msgspec import convert

from jrr.dealing.committee.cards import BadShareError, Envelope, Record, card_key, open_card
from jrr.dealing.committee.complaints import Finding, judge
from jrr.dealing.messages import ShareEvidence
from jrr.mechanisms.registry import from_dict
from jrr.survey.survey import Survey
from tests.golden import make_committee_cards


def test_golden_cards_open_in_python() -> None:
    golden = json.loads(make_committee_cards.PATH.read_text("utf-8"))
    spoiled = golden.pop("spoiled")
    assert set(golden) == set(make_committee_cards.MECHANISMS)
    for entry in golden.values():
        survey = Survey.from_bytes(entry["document"].encode())
        mechanism = from_dict(survey.dealt[0].for_people(entry["n"]).to_dict())
        record = Record.from_document(entry["record"])
        for slot in entry["slots"]:
            key = card_key(bytes.fromhex(slot["device"]), survey.hash)
            envelopes = [Envelope.from_document(one) for one in slot["envelopes"]]
            assert open_card(mechanism, key, record, envelopes) == slot["card"]
    check_spoiled(spoiled)


def check_spoiled(entry: dict[str, Any]) -> None:
    """Only the first slot is lost, and its evidence convicts party 1."""
    survey = Survey.from_bytes(entry["document"].encode())
    record = Record.from_document(entry["record"])
    mechanism = survey.dealt[0].for_people(entry["n"])
    for number, slot in enumerate(entry["slots"]):
        key = card_key(bytes.fromhex(slot["device"]), survey.hash)
        envelopes = [Envelope.from_document(one) for one in slot["envelopes"]]
        if number:
            assert open_card(mechanism, key, record, envelopes) == slot["card"]
            continue
        with pytest.raises(BadShareError, match="party 1 sealed another share") as caught:
            open_card(mechanism, key, record, envelopes)
        assert (caught.value.party, caught.value.provable) == (1, True)
        verdict = judge(
            convert(entry["evidence"], ShareEvidence),
            record=record,
            slot=number,
            holder=bytes.fromhex(slot["key"]),
            excess=envelopes[0].excess,
        )
        assert (verdict.finding, verdict.accused) == (Finding.PROVEN, 1)
