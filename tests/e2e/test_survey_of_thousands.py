"""A panel of 2,000 invited people over HTTP, as a researcher would run it; repeated."""

import asyncio
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr.client.fleet import drive_all
from jrr.client.operator import EstimateWish, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.protocol.identity import invitation_secret
from jrr.protocol.steps import Steps
from jrr.survey.contributor import contribute, fetch_hands
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from tests.e2e import LIMITS, Pair
from tests.statistics_rules import OFF, accepts_only

PEOPLE, RESPONSE, VANISH, CARDLESS, RUNS = 2_000, 0.6, 0.03, 0.05, 2
LEVEL = 0.95
QUESTIONS: list[dict[str, Any]] = [
    {
        "name": "sector",
        "kind": "choice",
        "text": "Where do you work?",
        "labels": ["office", "workshop"],
        "sensitive": False,
    },
    {"name": "age", "kind": "number", "text": "Age?", "low": 15, "high": 80, "sensitive": False},
    {"name": "drinks", "kind": "yes-no", "text": "Do you drink at work?"},
    {"name": "mood", "kind": "scale", "text": "How are you?", "prefer_not": True},
    {"name": "pills", "kind": "several", "text": "Which?", "labels": ["red", "blue"]},
    {"name": "days", "kind": "number", "text": "Days ill?", "low": 0, "high": 20},
    {
        "name": "welding",
        "kind": "yes-no",
        "text": "Ever without a mask?",
        "only_if": {"sector": "workshop"},
    },
]
DRAFT = Draft.from_dict(
    {"title": "Health at work", "epsilon": 2.0, "waves": 2, "ask": "all", "questions": QUESTIONS}
)


def wave_at(pair: Pair, after: Survey | None = None) -> Survey:
    return SurveyRequest(
        draft=DRAFT,
        people=PEOPLE,
        response=RESPONSE,
        dealing=Dealers((pair.dealer.url,)),
        collector=pair.collector.url,
        after=after,
    ).survey()


def answers_of(rng: np.random.Generator, wave: int) -> dict[str, Any]:
    """Somebody's answers; more people drink in the second wave."""
    workshop = rng.random() < 0.4
    answers: dict[str, Any] = {
        "sector": "workshop" if workshop else "office",
        "age": float(rng.integers(18, 66)),
        "drinks": "yes" if rng.random() < 0.1 + 0.1 * wave else "no",
        "mood": None if rng.random() < 0.1 else int(rng.integers(1, 6)),
        "pills": [one for one in ("red", "blue") if rng.random() < 0.3],
        "days": float(rng.integers(0, 21)),
    }
    if workshop:
        answers["welding"] = "yes" if rng.random() < 0.5 else "no"
    return answers


def without_cards(steps: Steps[Any]) -> Steps[Any]:
    """A conversation in which no dealer can be reached."""
    from jrr.protocol.steps import Call, Reply

    reply: Reply | None = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as finished:
            return finished.value
        is_dealers = isinstance(step, Call) and step.address.endswith("/cards")
        reply = Reply(410, b"{}") if is_dealers else (yield step)


def one_wave(
    survey: Survey, secrets: list[bytes], rng: np.random.Generator, wave: int
) -> list[dict[str, Any]]:
    """Some answer, some vanish with their card, some have none; the answers that were sent."""
    told: list[dict[str, Any]] = []
    conversations: list[Steps[Any]] = []
    for secret in secrets:
        if rng.random() > RESPONSE:
            continue
        if rng.random() < VANISH:
            conversations.append(fetch_hands(survey, secret, 5.0))
            continue
        answers = answers_of(rng, wave)
        steps = contribute(survey, secret, answers, LIMITS)
        conversations.append(without_cards(steps) if rng.random() < CARDLESS else steps)
        told.append(answers)
    results = asyncio.run(drive_all(conversations))
    assert not [one for one in results if isinstance(one, Exception)]
    return told


def truths(told: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Question -> the shares among those who were asked."""

    def shares(values: list[int], k: int) -> list[float]:
        return list(np.bincount(values, minlength=k) / len(values))

    return {
        "drinks": shares([int(one["drinks"] == "yes") for one in told], 2),
        "mood": shares([5 if one["mood"] is None else one["mood"] - 1 for one in told], 6),
        "pills.1": shares([int("red" in one["pills"]) for one in told], 2),
        "pills.2": shares([int("blue" in one["pills"]) for one in told], 2),
        "welding": shares([int(one["welding"] == "yes") for one in told if "welding" in one], 2),
    }


@pytest.mark.slow
@pytest.mark.statistical
def test_every_truth_is_inside_its_interval_as_often_as_stated(sqlite_pair: Pair) -> None:
    """Two waves, two runs: 2,000 invited, 60% answer, 3% vanish after their card, 5% have none."""
    rng = np.random.default_rng(2026)
    inside: list[bool] = []
    shifted: list[bool] = []  # the control: truths that are off by 30% of the whole range
    for _ in range(RUNS):
        first = wave_at(sqlite_pair)
        second = wave_at(sqlite_pair, after=first)
        invitations = new_invitations(PEOPLE)
        secrets = [invitation_secret(text) for text in invitations]
        for wave, survey in enumerate((first, second)):
            operator = sqlite_pair.operator(survey)
            operator.install()
            operator.invite(invitations)
            operator.open()
            told = one_wave(survey, secrets, rng, wave)
            assert operator.show()["collector"]["reports"] == len(told)
            operator.close()
            found = operator.estimates(EstimateWish(level=LEVEL))
            for name, truth in truths(told).items():
                estimate = found[name]["estimate"]
                for at in range(1, len(truth)):  # shares of yes and no are one figure
                    low, high = estimate["interval"][at]
                    inside.append(low <= truth[at] <= high)
                    shifted.append(low <= truth[at] + OFF <= high)
            days = found["days"]["mean"]
            mean = float(np.mean([one["days"] for one in told]))
            low, high = days["interval"]
            inside.append(low <= mean <= high)
            shifted.append(low <= mean + OFF * 20 <= high)

    def p_value(found: list[bool]) -> float:
        return float(stats.binom.sf(found.count(False) - 1, len(found), 1 - LEVEL))

    accepts_only(p_value, inside, shifted)
