"""Committed decks over HTTP: honest campaigns, and every cheat that a dealer's server can try."""

import json
from typing import Any

import pytest

from jrr import DRR, JRR, MRR
from jrr.mechanisms.base import Mechanism
from jrr.survey.cut_and_choose import Published, audit_decks
from jrr.survey.told import ToldSums
from jrr.survey.witnessed import Witnessed
from jrr.survey.witnessing import notes_of
from tests.e2e import Pair, answer_all, ask, path_of, tally_of

DECKS = 4
MECHANISMS = {
    "mrr": MRR(12, own=3.0, card_rate=0.8, total_rate=0.3),
    "drr": DRR(12, truth=0.5, own=0.1),
    "jrr": JRR(12, p=0.7, s=0.2),
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_an_honest_campaign_is_estimated_as_the_library_does_and_passes(
    pair: Pair, mechanism: Mechanism
) -> None:
    campaign = pair.campaign(mechanism, committed_decks=DECKS)
    operator, secrets = pair.begin(campaign, 9)
    sent: list[dict[str, Any]] = []
    receipts = answer_all(campaign, secrets, [1] * 9, kept=sent)
    assert all(receipt.carded for receipt in receipts)
    closed = operator.close()
    assert closed["decks"] == "passed"
    published = Published.from_dict(ask(pair.dealer.url, "GET", path_of(campaign, "decks")).json)
    notes = Witnessed.from_document(ask(pair.collector.url, "GET", path_of(campaign, "notes")).json)
    assert notes.dealt == len(published.marks or ()) == 9
    assert audit_decks(published, notes_of(notes)).passed
    tally = tally_of(mechanism, sent)
    document = operator.estimate()
    if mechanism.masked:
        told = closed["dealer"]["undealt"]
        assert told == {"cards": 3, "sums": [published.undealt["sum"]]}  # type: ignore[index]
        sums = ToldSums.from_document(campaign, {"announced": [], "undealt": told})
        tally, _ = sums.of_round(0).settled(mechanism, {"": tally}, None)
    expected = mechanism.estimate(tally, 1).to_dict(0.95)
    assert document["estimate"] == json.loads(json.dumps(expected))
    assert document["dealer"]["commitments"] == {
        "decks": DECKS,
        "chance": 1 / DECKS,
        "passed": True,
        "ended": True,
        "faults": [],
    }
