"""An auditor takes cards over HTTP: an honest dealer passes, a lying one is noticed."""

import csv
import json
from pathlib import Path

import pytest

from jrr import DRR
from jrr.cli.app import run
from jrr.client.card_audits import audit_dealer
from jrr.client.operator import new_invitations
from jrr.errors import JrrError
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from jrr.survey.identity import invitation_secret
from tests.e2e import Pair, answer_all, http_reply, pretender

MECHANISM = DRR(120, truth=0.5, own=0.1)


def test_an_honest_dealer_passes_and_the_estimate_says_what_was_audited(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = sqlite_pair.campaign(MECHANISM)
    operator, secrets = sqlite_pair.begin(campaign, 60)
    invitations = new_invitations(40)
    operator.invite(invitations)
    document, people = tmp_path / "campaign.json", tmp_path / "auditors.csv"
    document.write_bytes(campaign.to_bytes())
    with people.open("w", newline="") as file:
        csv.writer(file).writerows([["invitation"], *[[text] for text in invitations]])
    assert run(["audit-cards", str(document), "--from", str(people), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"]
    assert found["audited"] == sum(found["faces"].values()) == 40
    answer_all(campaign, secrets, [1] * 60)
    facts = operator.estimate(audited=40)["dealer"]
    assert facts["audited"] == 40
    chances = [size["caught"] for size in facts["sizes"]]
    assert chances == sorted(chances)
    assert operator.estimate()["dealer"]["audited"] == 0


def test_a_dealer_that_deals_one_face_to_everybody_is_noticed() -> None:
    known: dict[str, Campaign] = {}

    def reply(method: str, path: str, body: bytes) -> bytes:
        campaign = known["it"]
        if path.endswith("/cards"):
            dealt = {"campaign": campaign.hash, "n": 120, "cards": [1]}
            return http_reply(200, json.dumps(dealt).encode())
        if path.endswith("/status"):
            return http_reply(200, b'{"state":"open","n":null}')
        return http_reply(200, campaign.to_bytes())

    with pretender(reply) as url:
        known["it"] = Campaign(
            question="Do you?",
            labels=("no", "yes"),
            mechanism=MECHANISM,
            dealer=DealerServer(url),
            collector="https://collector.example",
            capacity=120,
        )
        secrets = [invitation_secret(text) for text in new_invitations(30)]
        found = audit_dealer(known["it"], secrets)
    assert not found.passed
    assert found.faces == {"0": 0, "1": 30}


def test_cards_that_cannot_be_audited_are_refused(sqlite_pair: Pair) -> None:
    from jrr import RR

    with pytest.raises(JrrError, match="no cards"):
        audit_dealer(sqlite_pair.campaign(RR(2, 1.0)), [])
