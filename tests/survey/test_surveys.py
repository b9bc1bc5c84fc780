"""Surveys of several items: the document, what it refuses, and what answers cost together."""

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jrr import MRR
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.reporting.cost_table import people_of_100
from jrr.survey.limits import Limits
from jrr.survey.open_answers import as_covariates, check_open_answers, is_asked
from jrr.survey.questionnaire import NOT_ASKED, PREFER_NOT, Questionnaire
from jrr.survey.questionnaire_plan import plan_questionnaire
from jrr.survey.survey_contributor import read_answers
from jrr.survey.survey_creation import SurveyRequest
from jrr.survey.survey_limits import check_survey_limits
from jrr.survey.surveys import Survey, read_survey

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

    def test_one_campaign_twice_is_refused(self) -> None:
        """The ledger would count it once."""
        twice = asked({"name": "a"} | YES_NO, {"name": "b"} | YES_NO)
        document = json.loads(survey_of(twice).to_bytes())
        document["parts"][1]["campaign"] = document["parts"][0]["campaign"]
        data = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        with pytest.raises(DamagedError, match="different campaigns"):
            Survey.from_bytes(data.encode())

    def test_waves_need_invitations(self) -> None:
        with pytest.raises(ArgumentError, match="waves must be 1 without invitations"):
            survey_of(asked({"name": "a"} | YES_NO, waves=2), invitations=False)

    def test_a_document_that_nobody_would_read_is_not_made(self) -> None:
        many = [f"label {'x' * 900} {at}" for at in range(600)]
        item = {"name": "m", "kind": "several", "text": "?", "labels": many}
        with pytest.raises(ArgumentError, match="must be at most"):
            survey_of(asked(item))

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


BY = {"en": "Institute", "de": "Institut"}


class TestWhoAsks:
    def test_it_stands_in_the_document_and_in_the_consent_text(self) -> None:
        item = {"name": "a"} | YES_NO
        document = {"title": "T", "languages": ["en", "de"], "items": [item]}
        plain = survey_of(Questionnaire.from_dict(document))
        assert b'"by"' not in plain.to_bytes()  # absent: documents made before keep their hash
        more = {"by": BY, "contact": "Street 1\n\n12345 Town"}
        survey = survey_of(Questionnaire.from_dict(document | more))
        assert read_survey(survey.to_bytes()) == survey
        assert survey.questionnaire.by == BY
        assert "Institut\n" in survey.consent["de"]
        # Of one line: a blank line would end the details.
        assert survey.consent["en"].endswith(": Street 1, 12345 Town")

    def test_control_characters_are_refused_with_the_name_of_the_field(self) -> None:
        document: dict[str, Any] = {"title": "T", "items": [{"name": "a"} | YES_NO]}
        for field in ("title", "by", "contact"):
            with pytest.raises(ArgumentError, match=f"^{field} must .*BELL|^{field} must .*U.0007"):
                Questionnaire.from_dict(document | {field: "a\x07"})
        document["items"][0]["text"] = "a\u202eb"
        with pytest.raises(ArgumentError, match=r"^text of item 'a' must .*RIGHT-TO-LEFT OVERRIDE"):
            Questionnaire.from_dict(document)


class TestGermanNumbers:
    def test_they_have_commas_and_are_still_compared_with_the_cost(self) -> None:
        item = {"name": "a"} | YES_NO
        document = {"title": "T", "languages": ["de"], "items": [item], "epsilon": 1.2345}
        survey = survey_of(Questionnaire.from_dict(document))
        text = survey.consent["de"]
        assert "ε = 1,235" in text
        assert "höchstens 28." in text
        with pytest.raises(ArgumentError, match="consent must name"):
            replace(survey, consent={"de": text.replace("1,235", "1,135")})


class TestCost:
    def test_the_total_is_the_sum_of_the_parts_in_every_view(self) -> None:
        survey = survey_of(BRANCHED, epsilon=2.0)
        for view in ("report", "cards", "everything", "dealer"):
            losses = [part.campaign.guarantee(view) for part in survey.parts]
            assert sum(losses) <= survey.guarantee(view) <= sum(losses) * (1 + 1e-12)
        assert survey.cost <= 2.0001

    def test_what_people_are_told_holds_for_every_answer_and_wave(self) -> None:
        """Closed decks of DRR have a δ for every answer, "several" one for each label."""
        document = asked(
            {"name": "a"} | YES_NO,
            {"name": "m", "kind": "several", "text": "?", "labels": ["x", "y", "z"]},
            waves=2,
            epsilon=2.0,
        )
        survey = survey_of(document, mechanism="drr", closed_deck=True)
        assert 4e-6 <= survey.delta < 4.0001e-6
        assert "“?” ε = 1" in survey.consent["en"]  # by what is asked, not by the item's name
        assert "at δ = 3e-06" in survey.consent["en"]  # of the item m
        assert "at δ = 8e-06" in survey.consent["en"]  # of both waves
        planned = plan_questionnaire(document, 200, mechanism="drr", announced=False)
        assert planned.delta == pytest.approx(4e-6)
        assert planned.guarantees["everything"] == pytest.approx(survey.cost, rel=1e-9)
        # The one number is of both waves, and against who knows the cards where there is a δ.
        most = 2 * survey.guarantee("dealer")
        assert people_of_100(survey.cost * 2) < people_of_100(most) == 100
        assert "all may have it. So your answers are hardly hidden." in survey.consent["en"]

    @pytest.mark.parametrize("own", [1.5, 4.0])
    def test_two_items_at_small_n_attain_the_sum(self, own: float) -> None:
        """By the joint law of two items' reports, for every pair of pairs of answers.

        Everybody else's cards and answers are known: then the sum tells a noisy card, and the
        report is the coin's answer behind it (tests/mechanisms enumerate whole decks).
        """
        one = MRR.for_epsilon(0.6, n=2, dealer_epsilon=own, announced=True)
        two = MRR.for_epsilon(0.3, n=2, dealer_epsilon=own / 2, announced=True)
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

    def test_numbers_of_numpy_and_labels_of_any_language(self) -> None:
        color = {
            "name": "c",
            "kind": "choice",
            "sensitive": False,
            "text": "?",
            "labels": [{"en": "red", "de": "rot"}, {"en": "blue", "de": "blau"}],
        }
        scale = {"name": "s", "kind": "scale", "text": "?"}
        survey = survey_of(asked(color, scale, languages=["en", "de"]))
        for three in (3, np.int64(3), "3"):
            given, values = read_answers(survey, {"c": "blau", "s": three})
            assert given == {"c": "blue"}
            assert values == {"s": 2}
        for wrong in (3.5, True, None, "six"):
            with pytest.raises(ArgumentError, match="one of '1'"):
                read_answers(survey, {"c": "blau", "s": wrong})

    @pytest.mark.parametrize(
        "answers",
        [
            {"sector": "office", "age": 30, "a": "perhaps secret"},
            {"sector": "my secret place", "age": 30, "a": "no"},
            {"sector": "office", "age": 30},
            {"sector": "office", "age": 30, "a": "no", "b": "no"},
            {"sector": "workshop", "age": 30, "a": "no"},
        ],
        ids=range(5),
    )
    def test_refusals_repeat_no_answer(self, answers: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError) as caught:
            read_answers(survey_of(BRANCHED), answers)
        assert "secret" not in str(caught.value)


def test_a_covariate_may_be_named_as_surveys_are() -> None:
    """What a document is stands in its own fields, not in what is written somewhere in it."""
    from jrr.survey.surveys import is_survey

    survey = survey_of(asked({"name": "a"} | YES_NO))
    assert is_survey(survey.to_bytes())
    campaign = next(iter(survey.campaigns.values()))
    named = replace(campaign, covariates={"jrr_survey": ("no", "yes")})
    assert b'"jrr_survey":' in named.to_bytes()
    assert not is_survey(named.to_bytes())
    for other in (b"", b"[]", b"{", b"[" * 100_000, b'"jrr_survey":', b"7"):
        assert not is_survey(other)
