"""A campaign whose answer is a number: rounded on the device, its mean at the end."""

import json
import math
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr import MRR
from jrr.cli.app import run
from jrr.client.closing import Ending
from jrr.client.contributor import Contributor
from jrr.client.export import export_reports
from jrr.client.operator import new_invitations
from jrr.errors import ArgumentError, DamagedError
from jrr.survey.answers import read_answer
from jrr.survey.campaign import Campaign
from jrr.survey.contributor import contribute
from jrr.survey.creation import CampaignRequest
from jrr.survey.dealer_kinds import NoDealer
from tests.e2e import LIMITS, Pair, answer_all, ask, path_of, report_body, tally_of
from tests.statistics_rules import SURE

HOURS = MRR.for_epsilon(4.0, n=300, announced=True)


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
    found = operator.estimate(by="shift", level=SURE)
    low, high = found["mean"]["interval"]
    assert low <= 7.5 <= high
    announced = 24 * HOURS.variance([200, 100])[1] ** 0.5 / 300
    assert announced < found["mean"]["stderr"] < 24 / 300**0.5  # and the noise of rounding
    assert [group["name"] for group in found["groups"]] == ["day", "night"]
    for group, mean in zip(found["groups"], (6.0, 9.0), strict=True):
        low, high = group["mean"]["interval"]
        assert low <= mean <= high


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
    in_steps = jrr.Laplace(steps=10, rate=0.1)
    with pytest.raises(ArgumentError, match="of labels where no number is asked for"):
        replace(campaign, mechanism=in_steps, dealer=NoDealer(), number=None, promised=None)
    again = replace(
        campaign, mechanism=in_steps, dealer=NoDealer(), consent="", promised=None, colluders=0
    )
    assert Campaign.from_bytes(again.to_bytes()) == again
    assert (again.last_value, campaign.last_value) == (10, 1)
    document["number"] = [24.0, 0.0]
    with pytest.raises(DamagedError, match="high"):
        Campaign.from_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def test_the_command_makes_the_document(tmp_path: Path) -> None:
    out = tmp_path / "campaign.json"
    command = ["campaign", "create", "-n", "300", "--question", "How many hours?"]
    command += ["--number", "0:24", "--dealer", "https://d.example"]
    assert run([*command, "--collector", "https://c.example", "-o", str(out)]) == 0
    assert json.loads(out.read_text())["number"] == [0.0, 24.0]


# -- in steps, with noise -------------------------------------------------------------------


def in_steps(epsilon: float, **more: Any) -> CampaignRequest:
    settings: dict[str, Any] = {
        "question": "How many hours?",
        "n": 1_000,
        "epsilon": epsilon,
        "dealer_epsilon": epsilon + 2,
        "number": (0, 24),
        "collector": "https://collector.example",
        "dealer": "https://dealer.example",
    }
    return CampaignRequest(**settings | more)


def test_steps_where_they_are_worth_it() -> None:
    """As plan_number would choose, where it gains enough."""
    for epsilon, closed, name in ((0.5, False, "MRR"), (3.0, False, "MaskedLaplace")):
        campaign = in_steps(epsilon, closed_deck=closed).campaign()
        assert campaign.mechanism.name == name
        assert campaign.cost <= epsilon
        assert campaign.guarantee("dealer") <= epsilon + 2
        assert Campaign.from_bytes(campaign.to_bytes()) == campaign
    planned = jrr.plan_number(1_000, 3.0, 0, 24, announced=True, dealer_epsilon=5.0)
    assert in_steps(3.0).campaign().mechanism == planned.mechanism
    assert in_steps(3.0, mechanism="mrr").campaign().mechanism.name == "MRR"
    # Numbers near an end are rounded with little noise.
    assert in_steps(1.5, frequency=0.02).campaign().mechanism.name == "MRR"
    several = ("https://one.example", "https://two.example")
    campaign = in_steps(3.0, dealer=None, dealers=several).campaign()
    assert (campaign.mechanism.name, campaign.mechanism.steps) == ("MRR", 1)


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "closed"])
def test_the_mean_of_a_number_in_steps(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], announced: bool
) -> None:
    mechanism = jrr.MaskedLaplace.for_epsilon(3.0, n=80, announced=announced)
    campaign = sqlite_pair.campaign(mechanism, number=(0.0, 24.0), labels=("0", "24"), capacity=100)
    operator, people = sqlite_pair.begin(campaign, 100)
    rng = jrr.SeededRandom(5)
    truth = np.linspace(2.0, 13.0, 100)
    values = [read_answer(campaign, float(hours), rng) for hours in truth]
    assert {1, 8} < set(values) <= set(range(campaign.last_value + 1))
    sent: list[dict[str, Any]] = []
    assert all(r.carded for r in answer_all(campaign, people[:80], values[:80], kept=sent))
    for person, value in zip(people[80:], values[80:], strict=True):  # 20 could reach no dealer
        body = report_body(campaign, person, mechanism.respond_one_step(value, None, rng))
        path = path_of(campaign, "reports")
        assert ask(sqlite_pair.collector.url, "POST", path, body).status == 201
        sent.append(json.loads(body))
    operator.close()
    found = operator.estimate()
    assert (found["carded"], found["cardless"]) == (80, 20)
    low, high = operator.estimate(level=SURE)["mean"]["interval"]
    assert low <= truth.mean() <= high
    # The same from what was sent, with what the dealer told.
    question = jrr.Numbers(0.0, 24.0, mechanism)
    tally = tally_of(mechanism, sent)
    if announced:
        told = found["sums"]["announced"][0]["sums"][""]["sum"]
        tally = mechanism.settle(tally, announced=told)
    expected = question.estimate(tally, found["decks"])
    assert found["mean"] == expected.to_dict()
    assert expected.stderr < 24 * 0.5 / 100**0.5  # better than one rounded to an end, without noise
    # And from the exported file.
    export_reports(operator, tmp_path / "reports.csv")
    capsys.readouterr()
    assert run(["file", "estimate", str(tmp_path / "reports.csv"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["estimate"]
    assert {name: document[name] for name in found["mean"]} == found["mean"]


def test_what_the_collector_refuses_of_a_number_in_steps(sqlite_pair: Pair) -> None:
    mechanism = jrr.MaskedLaplace.for_epsilon(3.0, n=80, announced=True)
    campaign = sqlite_pair.campaign(
        mechanism, number=(0.0, 24.0), labels=("0", "24"), invitations=False
    )
    operator = sqlite_pair.operator(campaign)
    operator.install()
    operator.open()
    form, alone = mechanism.report_format, math.ceil(40 / mechanism.alone_rate)
    assert alone + mechanism.steps < form.high
    for carded, report, status in (
        (False, alone + mechanism.steps, 201),
        (False, alone + mechanism.steps + 1, 422),
        (False, -alone, 201),
        (False, -alone - 1, 422),
        (True, form.high + 1, 422),
        (True, form.low - 1, 422),
    ):
        body = report_body(campaign, secrets.token_bytes(20), report, carded=carded)
        reply = ask(sqlite_pair.collector.url, "POST", path_of(campaign, "reports"), body)
        assert reply.status == status
    steps = contribute(campaign, secrets.token_bytes(20), mechanism.steps + 1, LIMITS)
    with pytest.raises(ArgumentError, match="value must be a whole number"):
        next(steps)
