"""Questions whose answers share one coin: one loss for all of them, results as of any other."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

import jrr
from jrr._base.exact import SCALE
from jrr._base.wording import show_epsilon
from jrr.dealing.kinds import Nobody
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.shifts import most_asked, truth_of
from jrr.protocol.documents import canonical_json
from jrr.survey import plan as planning
from jrr.survey.consent import consent_text
from jrr.survey.plan import PlanOptions, plan_draft
from jrr.survey.spending import Limits, check_limits, expenses_of
from jrr.survey.survey import Survey
from jrr.survey.survey_document import Together
from tests import survey as shared
from tests.golden.make_contributors import Words

QUESTIONS: list[dict[str, Any]] = [
    {"name": "a", "kind": "yes-no", "text": "A?"},
    {"name": "b", "kind": "choice", "text": "B?", "labels": ["x", "y", "z"]},
    {"name": "c", "kind": "several", "text": "C?", "labels": ["u", "v"]},
]
NUMBER = {"name": "d", "kind": "number", "text": "D?", "low": 0, "high": 10}


def survey(*more: dict[str, Any], people: int = 1_000, **options: Any) -> Survey:
    ask = options.pop("ask", "all")
    wish = {"split": "together", "ask": ask, "epsilon": 2.0, "languages": ["en"]}
    draft = shared.asked(*QUESTIONS, *more, **wish)
    return shared.survey_of(draft, people=people, **options)


def test_one_coin_has_the_whole_budget() -> None:
    made = survey()
    assert [one.questions for one in made.together] == [("a", "b", "c")]
    assert 1.999 < made.guarantee("everything") <= 2.0
    assert 3.999 < made.guarantee("dealer") <= 4.0
    assert made.loss("everything", made.sensitive[:1]) == made.guarantee("everything")
    assert made.costs.answer == made.costs.wave
    assert Survey.from_bytes(made.to_bytes()) == made
    entries = expenses_of(made.sensitive)
    assert [entry.question for entry in entries] == ["a+b+c.1+c.2"]
    check_limits(made.sensitive, Limits(2.0))
    assert "ε = 2" in consent_text(made, "en")


def test_what_is_stated_is_what_devices_do() -> None:
    """ε of the block by enumerating what the coin says, from the document's figures alone."""
    made = survey()
    (stated,) = made.together
    sizes = [one.mechanism.k for one in made.sensitive]
    assert sizes == [2, 3, 2, 2]
    k = math.prod(sizes)
    gain = stated.keep
    first = made.sensitive[0].mechanism
    assert isinstance(first, jrr.MRR)
    c = first.card_rate + first.announced_rate
    falls = [math.exp(-c if size == 2 else -2 * c) for size in sizes]
    rest = (1 - gain) / k * math.prod(1 + (n - 1) * f for n, f in zip(sizes, falls, strict=True))
    loss = math.log((gain + rest) / (gain * math.prod(falls) + rest))
    assert made.guarantee("everything") == pytest.approx(loss, rel=1e-9)
    for one in made.sensitive:
        assert isinstance(one.mechanism, jrr.MRR)
        assert one.mechanism.p == gain + (1 - gain) / one.mechanism.k
        assert one.mechanism.p == truth_of(gain, one.mechanism.k)


@pytest.mark.parametrize("asked", [["a"], ["a", "b"], ["c.1", "b", "a"]])
@pytest.mark.parametrize("with_cards", [True, False, None])
def test_reports_of_somebody_who_is_asked_some_of_them(
    asked: list[str], with_cards: bool | None
) -> None:
    """Over all words: all true answers with the chance that is stated, else evenly any others.

    Also where nobody deals (None).
    """
    made = survey() if with_cards is not None else without_dealer()
    whole = made.joint["a"]
    mechanisms = {name: made.by_name[name].mechanism for name in asked}
    sizes = [one.k for one in mechanisms.values()]
    values = dict.fromkeys(asked, 1)
    cards = {
        name: 0 if one.k == 2 else np.zeros(one.k, np.int16) for name, one in mechanisms.items()
    }
    kept = whole.stated.keep if with_cards else whole.stated.alone
    k = math.prod(sizes)
    lies = -(-(1 - Fraction(truth_of(kept, k))) * SCALE // (k - 1)) * (k - 1)
    found: dict[tuple[int, ...], int] = {}
    part = int(lies) // (k - 1)
    # One word in the middle of every part that lies, and one that tells the truth.
    for u in [part * at + part // 2 for at in range(k - 1)] + [int(lies) + 5]:
        source = Words([2 * u])
        reports = whole.respond(mechanisms, values, cards if with_cards else {}, source)
        told = []
        for name in asked:
            report = reports[name]
            marks = [report] if isinstance(report, int) else np.frombuffer(report, "<i2").tolist()
            told.append(report if with_cards is None or len(marks) == 1 else marks.index(1))
        found[tuple(told)] = found.get(tuple(told), 0) + 1
    assert set(found) == set(itertools.product(*map(range, sizes)))
    assert set(found.values()) == {1}


def without_dealer(**options: Any) -> Survey:
    return survey(dealers=(), mechanism="rr", **options)


@pytest.mark.parametrize("ask", ["all", 2, "auto"])
def test_where_nobody_deals_the_coin_is_alone(ask: int | str) -> None:
    """ε of whoever is asked the most, by the law of all that the device says."""
    made = without_dealer(ask=ask)
    (stated,) = made.together
    assert stated.keep == stated.alone
    assert not made.dealt
    k = max(map(math.prod, most_asked([(2,), (3,), (2, 2)], stated.ask)))
    law = {True: stated.keep + (1 - stated.keep) / k, False: (1 - stated.keep) / k}
    for view in ("report", "cards", "everything", "dealer"):
        assert made.guarantee(view) == pytest.approx(math.log(law[True] / law[False]), rel=1e-9)
        assert 1.999 < made.guarantee(view) <= 2.0
    for one in made.sensitive:
        assert one.mechanism == jrr.RR(one.mechanism.k, p=truth_of(stated.keep, one.mechanism.k))
    assert Survey.from_bytes(made.to_bytes()) == made
    assert made.costs.wave.collector.epsilon == pytest.approx(2.0)
    assert [entry.question for entry in expenses_of(made.sensitive)] == ["a+b+c.1+c.2"]
    with pytest.raises(ArgumentError, match="mechanism of a must be what keep"):
        changed(made, together=(structs.replace(stated, alone=stated.alone * 0.99),))
    with pytest.raises(ArgumentError, match="mechanism of a must be what keep"):
        changed(survey(ask=ask), mechanisms=made.mechanisms, dealing=Nobody(), colluders=0)


def test_margins_without_a_dealer() -> None:
    """Five yes-no questions at ε = 2: less than half of an even split's, at the same ε."""
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"Q{at}?"} for at in range(5)]
    rr = PlanOptions(mechanism="rr")
    shown = []
    for split in ("together", "even"):
        planned = plan_draft(shared.asked(*asked, split=split, epsilon=2.0), 2_000, options=rr)
        assert planned.guarantees["everything"] <= 2.0
        assert [one.ask for one in planned.together] == [2] * (split == "together")
        shown.append(f"±{100 * planned.questions[0].margin:.1f}")
    page = (Path(__file__).parents[2] / "docs" / "surveys.md").read_text("utf-8")
    assert f"where nobody deals {shown[0]} instead of {shown[1]}" in page


def test_a_number_has_a_coin_of_its_own() -> None:
    made = survey(NUMBER)
    assert [one.questions for one in made.together] == [("a", "b", "c")]
    joint = made.loss("everything", made.sensitive[:1])
    number = made.by_name["d"].guarantee("everything")
    assert joint + number == pytest.approx(2.0, abs=1e-3)
    assert made.guarantee("everything") == pytest.approx(joint + number)
    words = consent_text(made, "en")
    shown = (show_epsilon(joint), show_epsilon(number))  # rounded up
    assert "“A?”, “B?”, “C?” together ε = {}; “D?” ε = {}".format(*shown) in words


@pytest.mark.parametrize("ask", ["auto", 2])
@pytest.mark.parametrize("days", [None, 0.1, 3.0])
def test_numbers_and_the_shared_coin_miss_their_margins_alike(
    ask: int | str, days: float | None
) -> None:
    """No other share of the number makes the worst quotient of margin and wanted one smaller."""
    number = NUMBER if days is None else NUMBER | {"margin": days}
    draft = shared.asked(*QUESTIONS, number, split="together", ask=ask, epsilon=2.0)
    planned = plan_draft(draft, 1_000)
    missed = [one.margin / one.question.margin for one in planned.questions]
    assert missed[-1] == pytest.approx(max(missed[:-1]), rel=0.15)
    asked = planning._SharedPlan(1_000, 2.0, 4.0, PlanOptions())
    number_share = planned.questions[-1].epsilon / 2.0
    for share in (0.7 * number_share, min(1.4 * number_share, 0.9)):
        parts = [1 - share, 1 - share, 1 - share, share]
        items = asked.items(draft.sensitive, parts, ask)
        other = asked.questions(draft.sensitive, parts, items)
        assert max(missed) <= 1.01 * planning._worst_margin(other)
    assert planned.guarantees["everything"] <= 2.0


def test_margins_beside_an_even_split() -> None:
    """Five yes/no items at ε = 2, three of them asked: less than half of the width of intervals."""
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"Q{at}?"} for at in range(5)]
    margins = {}
    for split in ("even", "together"):
        draft = shared.asked(*asked, split=split, epsilon=2.0, languages=["en"])
        planned = plan_draft(draft, 2_000)
        assert planned.guarantees["everything"] <= 2.0 + 1e-9
        margins[split] = planned.questions[0].margin
    assert margins["together"] < 0.45 * margins["even"]
    shown = f"±{100 * margins['together']:.1f} points instead of ±{100 * margins['even']:.1f} for"
    assert shown in (Path(__file__).parents[2] / "docs" / "surveys.md").read_text("utf-8")


def changed(made: Survey, **fields: Any) -> Survey:
    return replace(made, promised=None, study=None, **fields)


def test_refusals() -> None:
    made = survey(NUMBER)
    (stated,) = made.together
    for together, words in (
        ((structs.replace(stated, questions=("a", "x")),), "together must be sensitive questions"),
        ((structs.replace(stated, questions=("a",)),), "together must be sensitive questions"),
        ((stated, stated), "together must be sensitive questions, each of them once"),
        (
            (structs.replace(stated, questions=("a", "a", "b")),),
            "together must be sensitive questions",
        ),
        ((structs.replace(stated, keep=stated.keep * 0.9),), "mechanism of a must be what keep"),
        ((structs.replace(stated, alone=stated.alone * 1.1),), "mechanism of a must be what keep"),
        ((structs.replace(stated, questions=("a", "d"), ask=2),), "mechanism of d must be what"),
        ((structs.replace(stated, ask=0),), r"ask must be a whole number in 1\.\.3"),
        ((structs.replace(stated, ask=4),), r"ask must be a whole number in 1\.\.3"),
    ):
        with pytest.raises(ArgumentError, match=words):
            changed(made, together=together)
    document = json.loads(made.to_bytes())
    document["guarantees"]["everything"] *= 0.95
    with pytest.raises(DamagedError, match="guarantees must not be less than what holds"):
        Survey.from_bytes(canonical_json(document))


def test_a_later_wave_keeps_the_promise() -> None:
    asked = shared.asked(*QUESTIONS, split="together", waves=2, languages=["en"])
    first = shared.survey_of(asked, people=1_000, epsilon=1.0)
    second = shared.survey_of(asked, people=1_000, epsilon=1.0, after=first)
    assert second.together
    second.check_after(first)
    assert isinstance(second.together[0], Together)


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 6.0])
def test_a_later_wave_beside_numbers_keeps_it_too(epsilon: float) -> None:
    """Where the first wave took less than its cap, what is left is used up but for rounding."""
    asked = shared.asked(*QUESTIONS, NUMBER, split="together", ask="all", waves=2)
    first = shared.survey_of(asked, people=30, epsilon=epsilon)
    second = shared.survey_of(asked, people=30, epsilon=epsilon, after=first)
    second.check_after(first)
    assert second.whole_study.promised.dealer <= first.whole_study.promised.dealer


@pytest.mark.parametrize("mechanism", ["auto", "rr", "jrr", "drr", "mrr"])
@pytest.mark.parametrize("split", ["even", "together"])
def test_no_plan_spends_more_than_was_asked_for(mechanism: str, split: str) -> None:
    draft = shared.asked(*QUESTIONS[:2], NUMBER, split=split, epsilon=2.0, languages=["en"])
    planned = plan_draft(draft, 300, options=PlanOptions(mechanism=mechanism))
    assert planned.guarantee("cards") <= 2.0 + 1e-9
    assert planned.guarantee("dealer") <= 4.0 + 1e-9


def test_one_coin_only_where_it_is_more_exact() -> None:
    """Of twelve questions at ε = 1 a coin for all would hardly ever keep the answers.

    For three of them drawn for each person it keeps most.
    """
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"Q{at}?"} for at in range(14)]
    for number in (12, 14):
        plans = {
            split: plan_draft(
                shared.asked(*asked[:number], split=split, ask="all", languages=["en"]), 2_000
            )
            for split in ("even", "together")
        }
        assert not plans["together"].together
        assert plans["together"].questions[0].margin == plans["even"].questions[0].margin
        some = plan_draft(shared.asked(*asked[:number], split="together", languages=["en"]), 2_000)
        assert [one.ask for one in some.together] == [3]
        assert some.questions[0].margin < 0.4 * plans["even"].questions[0].margin
