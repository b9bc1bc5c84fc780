"""Surveys of several items: the document, what it refuses, and what answers cost together."""

import dataclasses
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from jrr import MRR
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.survey.limits import Limits
from jrr.survey.open_answers import as_covariates, check_open_answers, is_asked
from jrr.survey.questionnaire import NOT_ASKED, PREFER_NOT, Questionnaire
from jrr.survey.survey_contributor import read_answers
from jrr.survey.survey_creation import SurveyRequest
from jrr.survey.survey_limits import check_survey_limits
from jrr.survey.surveys import Survey

YES_NO = {"kind": "yes-no", "text": "?"}
OPEN: dict[str, Any] = {
    "name": "sector",
    "kind": "choice",
    "labels": ["office", "workshop"],
    "text": "Where?",
    "sensitive": False,
}


def asked(*items: dict[str, Any], **more: Any) -> Questionnaire:
    return Questionnaire.from_dict({"title": "T", "items": list(items)} | more)


def survey_of(questionnaire: Questionnaire, people: int = 200, **more: Any) -> Survey:
    options: dict[str, Any] = {"dealers": ("https://dealer.example",)} | more
    return SurveyRequest(
        questionnaire=questionnaire,
        people=people,
        collector="https://collector.example",
        **options,
    ).survey()


BRANCHED = asked(
    OPEN,
    {"name": "age", "kind": "number", "low": 15, "high": 80, "text": "Age?", "sensitive": False},
    {"name": "a"} | YES_NO,
    {"name": "b", "only_if": {"sector": "workshop"}} | YES_NO,
)


class TestDocument:
    def test_bytes_are_read_again(self) -> None:
        survey = survey_of(BRANCHED)
        again = Survey.from_bytes(survey.to_bytes())
        assert again == survey
        assert again.hash == survey.hash
        assert again.link == f"https://collector.example/v1/surveys/{survey.hash}"

    def test_one_item_is_the_campaign_of_one_question(self) -> None:
        survey = survey_of(asked({"name": "a"} | YES_NO))
        (part,) = survey.parts
        assert survey.cost == part.campaign.cost
        assert survey.cost_line == part.campaign.cost_line

    @pytest.mark.parametrize(
        ("spoil", "reason"),
        [
            (lambda d: d.update(guarantees=d["guarantees"] | {"everything": 0.5}), "not be less"),
            (lambda d: d["parts"].reverse(), "in this order"),
            (lambda d: d["parts"].pop(), "in this order"),
            (lambda d: d["parts"][0]["campaign"].update(question="Another?"), "text of its item"),
            (lambda d: d["parts"][0]["campaign"].update(labels=["yes", "no"]), "answers of its"),
            (lambda d: d["parts"][1]["campaign"].update(capacity=7), "the same capacity"),
            (lambda d: d["parts"][0]["campaign"].update(covariates={}), "open items"),
            (lambda d: d.update(wave=2), "wave"),
            (lambda d: d.update(panel="00"), "panel"),
            (lambda d: d.update(jrr_survey=2), "version 1"),
            (lambda d: d.update(more=1), "exactly of"),
            (lambda d: d["consent"].update(texts={"en": "It costs ε = 0.2."}), "other figures"),
            (lambda d: d["consent"].update(texts={}), "a text for each of en"),
        ],
        ids=range(13),
    )
    def test_what_is_not_as_it_should_be(self, spoil: Any, reason: str) -> None:
        document = json.loads(survey_of(BRANCHED).to_bytes())
        spoil(document)
        data = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        with pytest.raises(DamagedError, match=reason):
            Survey.from_bytes(data.encode())

    def test_dealers_are_asked_for(self) -> None:
        with pytest.raises(ArgumentError, match="dealers must be"):
            survey_of(BRANCHED, dealers=())

    def test_a_wave_needs_the_one_before_and_a_place_among_those_announced(self) -> None:
        two = asked({"name": "a"} | YES_NO, waves=2)
        first = survey_of(two)
        second = survey_of(two, after=first)
        assert (second.wave, second.panel) == (2, first.hash)
        assert "wave 2 of 2" in second.consent["en"]
        with pytest.raises(ArgumentError, match="wave must be at most 2"):
            survey_of(two, after=second)


class TestCost:
    def test_the_total_is_the_sum_of_the_parts_in_every_view(self) -> None:
        survey = survey_of(BRANCHED, epsilon=2.0)
        for view in ("report", "cards", "everything", "dealer"):
            losses = [part.campaign.guarantee(view) for part in survey.parts]
            assert sum(losses) <= survey.guarantee(view) <= sum(losses) * (1 + 1e-12)
        assert survey.cost <= 2.0001

    @pytest.mark.parametrize("own", [1.5, 4.0])
    def test_two_items_at_small_n_attain_the_sum(self, own: float) -> None:
        """By the joint law of two items' reports, for every pair of pairs of answers.

        Everybody else's cards and answers are known: then the sum tells a noisy card, and the
        report is the coin's answer behind it (tests/mechanisms enumerate whole decks).
        """
        one = MRR.for_epsilon(2, 0.6, own, announced=True)
        two = MRR.for_epsilon(2, 0.3, own / 2, announced=True)
        laws = [_laws(mechanism) for mechanism in (one, two)]
        worst = 0.0
        for mine, other in itertools.product(itertools.product((0, 1), repeat=2), repeat=2):
            joint = [
                np.multiply.outer(laws[0][answers[0]], laws[1][answers[1]])
                for answers in (mine, other)
            ]
            worst = max(worst, float(np.max(np.log(joint[0] / joint[1]))))
        total = one.epsilon("everything") + two.epsilon("everything")
        assert worst == pytest.approx(total, rel=1e-9)

    def test_a_limit_is_refused_with_what_each_item_costs(self) -> None:
        survey = survey_of(BRANCHED, epsilon=2.0)
        with pytest.raises(ProtocolError, match=r"a ε = 1.*b ε = 1"):
            check_survey_limits(survey.parts, Limits(1.5))
        assert check_survey_limits(survey.parts, Limits(2.01)).answers == 2
        # Whoever is not asked the second item pays for the first alone.
        shown = survey.asked({"sector": "office", "age": 30.0})
        assert check_survey_limits(shown, Limits(1.5)).epsilon <= 1.01


def _laws(mechanism: MRR) -> dict[int, Any]:
    """The law of one person's report, relative, for either answer; the card is announced noise."""
    places = np.arange(-60, 61)
    card = np.exp(-float(mechanism.step) * np.abs(places))
    truth = math.exp(mechanism.own) / (1 + math.exp(mechanism.own))
    shifted = np.stack([card[1:], card[:-1]])
    return {0: np.array([truth, 1 - truth]) @ shifted, 1: np.array([1 - truth, truth]) @ shifted}


class TestOpenAnswers:
    def test_branches(self) -> None:
        b = BRANCHED.items[3]
        assert is_asked(b, {"sector": "workshop"})
        assert not is_asked(b, {"sector": "office"})
        assert not is_asked(b, {})

    def test_a_condition_on_an_item_that_was_not_asked_does_not_hold(self) -> None:
        chain = asked(
            OPEN,
            {"name": "tool", "sensitive": False, "only_if": {"sector": "workshop"}} | YES_NO,
            {"name": "c", "only_if": {"tool": "no"}} | YES_NO,
        )
        answers = check_open_answers(chain, {"sector": "office"})
        assert not is_asked(chain.items[2], answers)
        assert as_covariates(chain, answers) == {"sector": "office", "tool": NOT_ASKED}
        with pytest.raises(ArgumentError, match="asked of this person, got 'tool'"):
            check_open_answers(chain, {"sector": "office", "tool": "no"})

    @pytest.mark.parametrize(
        ("answers", "reason"),
        [
            ({"sector": "office"}, "'age'"),
            ({"sector": "elsewhere", "age": 20}, "office"),
            ({"sector": "office", "age": 14}, "from 15 to 80"),
            ({"sector": "office", "age": "30"}, "from 15 to 80"),
            ({"sector": None, "age": 30}, "'sector'"),
            ([], "an object"),
        ],
        ids=range(6),
    )
    def test_refusals(self, answers: Any, reason: str) -> None:
        with pytest.raises(ArgumentError, match=reason):
            check_open_answers(BRANCHED, answers)

    def test_prefer_not_to_say_is_a_value_of_its_own(self) -> None:
        one = asked(OPEN | {"prefer_not": True}, {"name": "a"} | YES_NO)
        assert as_covariates(one, check_open_answers(one, {"sector": None})) == {
            "sector": PREFER_NOT
        }


class TestAnswers:
    def test_values_of_every_kind(self) -> None:
        survey = survey_of(
            asked(
                {"name": "a"} | YES_NO,
                {"name": "s", "kind": "scale", "text": "?", "prefer_not": True},
                {"name": "m", "kind": "several", "text": "?", "labels": ["x", "y"]},
                {"name": "n", "kind": "number", "text": "?", "low": 0, "high": 1},
                {
                    "name": "c",
                    "kind": "choice",
                    "text": {"en": "?", "de": "?"},
                    "labels": [{"en": "one", "de": "eins"}, {"en": "two", "de": "zwei"}],
                },
                languages=["en", "de"],
            )
        )
        told = {"a": "yes", "s": 3, "m": ["y"], "n": 1, "c": "zwei"}
        given, values = read_answers(survey, told)
        assert given == {}
        assert values == {"a": 1, "s": 2, "m.1": 0, "m.2": 1, "n": 1, "c": 1}
        assert read_answers(survey, told | {"s": None})[1]["s"] == 5

    @pytest.mark.parametrize(
        "answers",
        [
            {"sector": "office", "age": 30, "a": "perhaps secret"},
            {"sector": "office", "age": 30},
            {"sector": "office", "age": 30, "a": "no", "b": "no"},
            {"sector": "workshop", "age": 30, "a": "no"},
        ],
        ids=range(4),
    )
    def test_refusals_repeat_no_answer(self, answers: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError) as caught:
            read_answers(survey_of(BRANCHED), answers)
        assert "secret" not in str(caught.value)


class TestRememberedCoins:
    def test_only_where_they_cost_no_more_than_fresh_ones(self) -> None:
        two = asked({"name": "a"} | YES_NO, waves=2)
        wide = survey_of(two)  # ε = 1, cap 3
        assert wide.remembers("a")
        tight = survey_of(two, epsilon=0.05, dealer_epsilon=0.15)
        assert not tight.remembers("a")
        assert not survey_of(asked({"name": "a"} | YES_NO)).remembers("a")
        scale = asked({"name": "s", "kind": "scale", "text": "?"}, waves=2)
        assert not survey_of(scale).remembers("s")
        alone = survey_of(two, dealers=(), mechanism="rr")
        assert not alone.remembers("a")

    def test_documents_of_different_waves_ask_the_same_question(self) -> None:
        two = asked({"name": "a"} | YES_NO, waves=2)
        first = survey_of(two)
        second = survey_of(two, after=first)
        changed = dataclasses.replace(first.campaigns["a"], nonce=second.campaigns["a"].nonce)
        assert changed.mechanism == second.campaigns["a"].mechanism
