"""A survey whose answer is a number: rounded on the device, its mean at the end."""

import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr import MRR
from jrr.cli.app import run
from jrr.client.contributor import Contributor
from jrr.client.ending import Ending
from jrr.client.operator import EstimateWish, new_invitations
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError, DamagedError
from jrr.protocol.documents import canonical_json
from jrr.survey.contributor import contribute, value_of
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey
from tests.e2e import LIMITS, Pair, answer_all, ask, path_of, tally_of, upload_body
from tests.statistics_rules import SURE

HOURS = MRR.for_epsilon(4.0, n=300, announced=True)


def test_the_mean_of_a_number(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(HOURS, number=(0.0, 24.0), groups={"shift": ("day", "night")})
    assert Survey.from_bytes(survey.to_bytes()).sensitive[0].number == (0.0, 24.0)
    operator, people = sqlite_pair.begin(survey, 300)
    truth = np.where(np.arange(300) < 150, 6.0, 9.0)
    shifts = [{"shift": "day" if at < 150 else "night"} for at in range(300)]
    answer_all(survey, people, truth.tolist(), groups=shifts)
    operator.close(Ending(by="shift"))
    found = operator.estimate("answer", EstimateWish(by="shift", level=SURE))
    low, high = found["mean"]["interval"]
    assert low <= 7.5 <= high
    announced = 24 * HOURS.variance([200, 100])[1] ** 0.5 / 300
    assert announced < found["mean"]["stderr"] < 24 / 300**0.5  # and the noise of rounding
    assert [group["name"] for group in found["groups"]] == ["day", "night"]
    for group, mean in zip(found["groups"], (6.0, 9.0), strict=True):
        low, high = group["mean"]["interval"]
        assert low <= mean <= high


def test_a_number_is_typed_and_not_repeated(sqlite_pair: Pair, tmp_path: Path) -> None:
    survey = sqlite_pair.survey(HOURS, number=(0.0, 24.0))
    operator = sqlite_pair.operator(survey)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()
    person = Contributor(survey.link, invitation, limit=5.0, state=tmp_path / "state")
    for strange in ("25", "many", "nan"):
        with pytest.raises(ArgumentError, match="a number from 0 to 24, got another") as refusal:
            person.answer(strange)
        assert strange not in str(refusal.value)
    assert person.answer("7.25").carded


def request_of(epsilon: float, people: int = 1_000, **more: Any) -> SurveyRequest:
    asked = one_question("How many hours?", number=(0, 24))
    settings: dict[str, Any] = {
        "draft": asked,
        "people": people,
        "epsilon": epsilon,
        "collector": "https://collector.example",
        "dealing": Dealers(("https://dealer.example",)),
    }
    return SurveyRequest(**settings | more)


def test_documents() -> None:
    survey = request_of(1.0, 300).survey()
    (question,) = survey.sensitive
    assert (question.labels, question.mechanism.steps > 1) == (("0", "24"), True)
    document = json.loads(survey.to_bytes())
    (asked,) = document["questions"]
    assert (asked["kind"], asked["low"], asked["high"]) == ("number", 0.0, 24.0)
    in_steps = {"answer": jrr.Piecewise(1.0, steps=10)}
    fresh: dict[str, Any] = {
        "mechanisms": in_steps,
        "dealing": Nobody(),
        "consent": {"en": "{cost}"},
        "colluders": 0,
        **dict.fromkeys(("promised", "informed", "study")),
    }
    again = replace(survey, **fresh)
    assert Survey.from_bytes(again.to_bytes()) == again
    assert again.sensitive[0].mechanism.steps == 10
    labelled = replace(request_of(1.0, 300), draft=one_question("Q?")).survey()
    with pytest.raises(ArgumentError, match="mechanism of answer must be one of 2 values"):
        replace(labelled, **fresh)
    asked["low"], asked["high"] = 24.0, 0.0
    with pytest.raises(DamagedError, match="high"):
        Survey.from_bytes(canonical_json(document))


# -- in steps, with noise -------------------------------------------------------------------


def in_steps(epsilon: float, **more: Any) -> Survey:
    return request_of(epsilon, dealer_epsilon=epsilon + 2, **more).survey()


def test_steps_where_they_are_worth_it() -> None:
    """As plan_number would choose."""
    for epsilon, closed in ((0.5, False), (3.0, False), (3.0, True)):
        survey = in_steps(epsilon, closed_deck=closed)
        assert survey.mechanisms["answer"].name == "MRR"
        assert survey.mechanisms["answer"].steps > 1
        assert survey.cost <= epsilon
        assert survey.guarantee("dealer") <= epsilon + 2
        assert Survey.from_bytes(survey.to_bytes()) == survey
    planned = jrr.plan_number(1_000, 3.0, 0, 24, announced=True, dealer_epsilon=5.0)
    assert in_steps(3.0).mechanisms["answer"] == planned.mechanism
    for epsilon, word, name in (
        (0.5, "rr", "RR"),
        (3.0, "rr", "Piecewise"),
        (3.0, "olh", "Piecewise"),
    ):
        survey = in_steps(epsilon, mechanism=word, dealing=Nobody())
        assert survey.mechanisms["answer"].name == name
    several = Dealers(("https://one.example", "https://two.example"))
    mechanism = in_steps(3.0, dealing=several).mechanisms["answer"]
    assert mechanism == planned.mechanism.for_dealers(2)


@pytest.mark.slow_variants("closed]")
@pytest.mark.parametrize("announced", [True, False], ids=["announced", "closed"])
def test_the_mean_of_a_number_in_steps(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], announced: bool
) -> None:
    rates: Any = {"announced_rate" if announced else "total_rate": 0.1, "card_rate": 0.1}
    mechanism = jrr.MRR(80, own=5.0, coin=jrr.Window(16, 3), **rates)
    survey = sqlite_pair.survey(mechanism, number=(0.0, 24.0), capacity=100)
    operator, people = sqlite_pair.begin(survey, 100)
    rng = jrr.SeededRandom(5)
    truth = np.linspace(2.0, 13.0, 100)
    question = survey.sensitive[0]
    values = [value_of(question, float(hours), rng) for hours in truth]
    assert {1, 8} < set(values) <= set(range(question.mechanism.steps + 1))
    sent: list[dict[str, Any]] = []
    assert all(r.carded for r in answer_all(survey, people[:80], truth[:80].tolist(), kept=sent))
    for person, value in zip(people[80:], values[80:], strict=True):  # 20 could reach no dealer
        body = upload_body(survey, person, mechanism.respond_one_step(value, None, rng))
        path = path_of(survey, "reports")
        assert ask(sqlite_pair.collector.url, "POST", path, body).status == 201
        sent.append(json.loads(body)["reports"]["answer"])
    operator.close()
    found = operator.estimate("answer")
    assert (found["carded"], found["cardless"]) == (80, 20)
    low, high = operator.estimate("answer", EstimateWish(level=SURE))["mean"]["interval"]
    assert low <= truth.mean() <= high
    # The same from what was sent, with what the dealer told.
    numbers = jrr.Numbers(0.0, 24.0, mechanism)
    tally = tally_of(mechanism, sent)
    if announced:
        (told,) = (one["sum"] for one in found["sums"]["announced"][""])
        tally = mechanism.settle(tally, announced=told)
    expected = numbers.estimate(tally, found["decks"])
    assert found["mean"] == expected.to_dict()
    assert expected.stderr < 24 * 0.5 / 100**0.5  # better than one rounded to an end, without noise
    # And from the exported file.
    file = tmp_path / "answers.parquet"
    file.write_bytes(operator.export("parquet"))
    capsys.readouterr()
    assert run(["file", "estimate", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["estimates"]["answer"]["estimate"]
    assert {name: document[name] for name in found["mean"]} == found["mean"]


def test_what_the_collector_refuses_of_a_number_in_steps(sqlite_pair: Pair) -> None:
    window = jrr.Window(16, 3)
    mechanism = jrr.MRR(80, own=5.0, card_rate=0.1, announced_rate=0.1, coin=window)
    survey = sqlite_pair.survey(mechanism, number=(0.0, 24.0), invitations=False)
    operator = sqlite_pair.operator(survey)
    operator.install()
    operator.open()
    form = mechanism.report_format
    for carded, report, status in (
        (False, window.largest, 201),
        (False, window.largest + 1, 422),
        (False, 0, 201),
        (False, -1, 422),
        (True, form.high + 1, 422),
        (True, form.low - 1, 422),
    ):
        body = upload_body(survey, secrets.token_bytes(20), report, carded=carded)
        reply = ask(sqlite_pair.collector.url, "POST", path_of(survey, "reports"), body)
        assert reply.status == status
    steps = contribute(survey, secrets.token_bytes(20), {"answer": 24.5}, LIMITS)
    with pytest.raises(ArgumentError, match="a number from 0 to 24, got another"):
        next(steps)
