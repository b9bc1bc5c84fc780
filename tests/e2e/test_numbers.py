"""A campaign whose answer is a number: rounded on the device, its mean at the end."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jrr
from jrr import MRR
from jrr.cli.app import run
from jrr.client.closing import Ending
from jrr.client.contributor import Contributor
from jrr.client.operator import new_invitations
from jrr.errors import ArgumentError, DamagedError
from jrr.survey.answers import read_answer
from jrr.survey.campaign import Campaign
from jrr.survey.creation import CampaignRequest
from jrr.survey.dealer_kinds import NoDealer
from tests.e2e import Pair, answer_all

HOURS = MRR.for_epsilon(300, 4.0, announced=True)


def test_the_mean_of_a_number(sqlite_pair: Pair) -> None:
    campaign = sqlite_pair.campaign(
        HOURS, number=(0.0, 24.0), labels=("0", "24"), covariates={"shift": ("day", "night")}
    )
    assert Campaign.from_bytes(campaign.to_bytes()).number == (0.0, 24.0)
    operator, people = sqlite_pair.begin(campaign, 300)
    truth = np.where(np.arange(300) < 150, 6.0, 9.0)
    rng = jrr.SeededRandom(3)
    values = [read_answer(campaign, float(hours), rng) for hours in truth]
    assert set(values) == {0, 1}
    shifts = [{"shift": "day" if at < 150 else "night"} for at in range(300)]
    answer_all(campaign, people, values, covariates=shifts)
    operator.close(ending=Ending(by="shift"))
    found = operator.estimate(by="shift")
    low, high = found["mean"]["interval"]
    assert low <= 7.5 <= high
    announced = 24 * HOURS.variance([200, 100])[1] ** 0.5 / 300
    assert announced < found["mean"]["stderr"] < 24 / 300**0.5  # and the noise of rounding
    assert [group["name"] for group in found["groups"]] == ["day", "night"]
    for group, mean in zip(found["groups"], (6.0, 9.0), strict=True):
        low, high = group["mean"]["interval"]
        assert low - 1 <= mean <= high + 1


def test_from_the_command_line(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One person answers by typing a number; it is neither shown nor repeated."""
    campaign = sqlite_pair.campaign(HOURS, number=(0.0, 24.0), labels=("0", "24"))
    operator = sqlite_pair.operator(campaign)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()
    person = Contributor(campaign.link, invitation, limit=5.0, state=tmp_path / "state")
    for strange in ("25", "many", "nan"):
        with pytest.raises(ArgumentError, match="a number from 0 to 24, got another") as refusal:
            person.answer(strange)
        assert strange not in str(refusal.value)
    assert person.answer("7.25").carded


def test_documents() -> None:
    request = CampaignRequest(
        question="How many hours?",
        n=300,
        epsilon=1.0,
        number=(0, 24),
        collector="https://collector.example",
        dealer="https://dealer.example",
    )
    campaign = request.campaign()
    assert campaign.labels == ("0", "24")
    document = json.loads(campaign.to_bytes())
    assert document["number"] == [0.0, 24.0]
    assert "number" not in json.loads(
        CampaignRequest(
            question="Q?",
            n=300,
            epsilon=1.0,
            collector="https://collector.example",
            dealer="https://dealer.example",
        )
        .campaign()
        .to_bytes()
    )
    with pytest.raises(ArgumentError, match="noise in steps is for files"):
        replace(campaign, mechanism=jrr.Laplace(steps=10, rate=0.1), dealer=NoDealer())
    document["number"] = [24.0, 0.0]
    with pytest.raises(DamagedError, match="high"):
        Campaign.from_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def test_the_command_makes_the_document(tmp_path: Path) -> None:
    out = tmp_path / "campaign.json"
    command = ["campaign", "create", "-n", "300", "--question", "How many hours?"]
    command += ["--number", "0:24", "--dealer", "https://d.example"]
    assert run([*command, "--collector", "https://c.example", "-o", str(out)]) == 0
    assert json.loads(out.read_text())["number"] == [0.0, 24.0]
