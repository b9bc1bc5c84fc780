"""Each person is asked some questions of a shared coin: which, at what cost, with what noise."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import jrr
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.estimates import quantile
from jrr.mechanisms.shifts import most_asked, truth_of
from jrr.protocol.identity import COLLECTOR, invitation_secret, new_invitation, pseudonym
from jrr.survey import plan as planning
from jrr.survey.contributor import read_answers
from jrr.survey.draft import Draft
from jrr.survey.messages import read_upload, report_message, upload
from jrr.survey.plan import PlanOptions, plan_draft
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked
from tests import survey as shared
from tests.statistics_rules import accepts_only, chi_square, skewed

OPEN = {"name": "sector", "kind": "choice", "text": "S?", "labels": ["public", "private"]}
QUESTIONS: list[dict[str, Any]] = [
    OPEN | {"sensitive": False},
    {"name": "a", "kind": "yes-no", "text": "A?", "prefer_not": True},
    {"name": "b", "kind": "choice", "text": "B?", "labels": ["x", "y", "z", "w"]},
    {"name": "c", "kind": "several", "text": "C?", "labels": ["u", "v"]},
    {"name": "e", "kind": "yes-no", "text": "E?", "only_if": {"sector": "public"}},
]


def survey(ask: int | str = 2, **options: Any) -> Survey:
    wish = {"split": "together", "ask": ask, "epsilon": 2.0, "languages": ["en"]}
    return shared.survey_of(shared.asked(*QUESTIONS, **wish), people=1_000, **options)


def person(number: int) -> bytes:
    return number.to_bytes(32, "big")


def everything(made: Survey, name: bytes) -> dict[str, Any]:
    """Answers to whatever this person is asked."""
    answers = {"sector": "public", "a": None, "b": "y", "c": ["v"], "e": "yes"}
    return {key: value for key, value in answers.items() if key not in not_asked(made, name)}


def test_who_is_asked_what_is_even_and_cannot_be_chosen() -> None:
    """Every pair of the four questions, as often; another wave draws anew."""
    made = survey()
    assert [one.ask for one in made.together] == [2]
    assert Survey.from_bytes(made.to_bytes()).together == made.together
    pairs = Counter(not_asked(made, person(at)) for at in range(6_000))
    assert {len(pair) for pair in pairs} == {2}
    assert len(pairs) == 6
    counts = list(pairs.values())
    accepts_only(lambda law: chi_square(counts, law), [1 / 6] * 6, skewed([1 / 6] * 6))
    other = survey()
    assert other.hash != made.hash
    same = sum(not_asked(made, person(at)) == not_asked(other, person(at)) for at in range(600))
    assert 60 < same < 140  # one in six


@pytest.mark.parametrize("ask", [1, 2, 3, "all"])
def test_nobody_loses_more_than_is_promised(ask: int | str) -> None:
    """Whichever questions somebody is asked, on whatever branch: every view, by enumeration."""
    made = survey(ask)
    whole = made.joint["a"]
    most = 0.0
    for left in (0, 1):  # somebody who is not asked E
        names = ["a", "b", "c", "e"][: 4 - left]
        for chosen in itertools.combinations(["a", "b", "c", "e"], whole.stated.ask):
            items = [one for one in made.sensitive if one.asked.name in set(chosen) & set(names)]
            if not items:
                continue
            one = whole._asked_for([item.mechanism.k for item in items])
            for view in ("report", "cards", "everything", "dealer"):
                held = one.epsilon("cards" if view == "everything" else view, made.colluders)
                assert held <= made.guarantee(view)
                assert held <= made.loss(view, items)
            most = max(most, one.epsilon("cards", 5))
    assert most == made.guarantee("cards")  # no bound: somebody loses that much
    assert most > 1.99
    assert made.guarantee("cards") <= 2.0


def test_larger_items_lose_more() -> None:
    """With answers kept as often, the loss rises with every size and with every further item."""

    def loss(sizes: tuple[int, ...]) -> float:
        k = math.prod(sizes)
        coin = jrr.Block(sizes) if len(sizes) > 1 else jrr.Choice(k)
        made = jrr.MRR(
            500, p=truth_of(0.6, k), card_rate=0.2, announced_rate=0.8, coin=coin, alone=0.9
        )
        return made.epsilon("cards", 5)

    for sizes in itertools.product((2, 3, 4), repeat=2):
        for at in range(2):
            larger = list(sizes)
            larger[at] += 1
            assert loss(tuple(larger)) > loss(sizes)
        assert loss((*sizes, 2)) > loss(sizes) > loss(sizes[:1])
    assert most_asked([(2,), (4,), (2, 2), (3,)], 1) == [(4,), (2, 2)]
    for questions in ([(2,), (4,), (2, 2), (3,)], [(2,) * 3, (3, 3), (5,), (2, 4)]):
        for asked in range(1, len(questions) + 1):
            most = most_asked(questions, asked)
            choices = list(itertools.combinations(questions, asked))
            real = {tuple(sorted(itertools.chain(*some), reverse=True)) for some in choices}
            assert set(most) <= real
            for own in real:
                assert max(map(loss, most)) >= loss(own)
                assert any(
                    len(own) <= len(one) and all(a <= b for a, b in zip(own, one, strict=False))
                    for one in most
                )


def test_very_many_choices_have_one_bound() -> None:
    """More than sixteen that cannot be compared: one that has what any of them has."""
    questions = [(2,) * (9 - size) + (size,) for size in range(2, 9)] * 2
    (bound,) = most_asked(questions, 2)
    for some in itertools.combinations(questions, 2):
        own = sorted(itertools.chain(*some), reverse=True)
        assert len(own) <= len(bound)
        assert all(a <= b for a, b in zip(own, bound, strict=False))


def test_a_device_answers_what_it_is_asked_and_nothing_else() -> None:
    made = survey()
    name = person(5)
    left_out = sorted(not_asked(made, name))
    given, values = read_answers(made, everything(made, name), None, name)
    assert {made.by_name[one].asked.name for one in values} | set(left_out) == set("abce")
    more = everything(made, name) | {left_out[0]: "yes"}
    with pytest.raises(ArgumentError, match="questions that are asked of this person, got one to"):
        read_answers(made, more, None, name)
    swapped = dict(everything(made, name))
    del swapped[next(key for key in swapped if key != "sector")]
    swapped[left_out[0]] = "yes"
    with pytest.raises(ArgumentError, match="answers must"):
        read_answers(made, swapped, None, name)
    assert given == {"sector": "public"}


def test_the_collector_takes_no_other_subset() -> None:
    made = survey()
    secret = invitation_secret(new_invitation())
    name = pseudonym(secret, made.collector_salt, COLLECTOR)
    given, values = read_answers(made, everything(made, name), None, name)
    whole = made.joint["a"]

    def body(values: dict[str, int]) -> bytes:
        mechanisms = {one: made.by_name[one].mechanism for one in values}
        reports = whole.respond(mechanisms, values, {}, jrr.SeededRandom(1))
        told = {
            one: report_message(mechanisms[one], report, False, None)
            for one, report in reports.items()
        }
        return upload(name, given, told)

    assert set(read_upload(made, body(values)).reports) == set(values)
    for wrong in (
        {one.name: 0 for one in made.sensitive},
        {one.name: 0 for one in made.sensitive if one.asked.name in not_asked(made, name)},
        dict(list(values.items())[1:]),
    ):
        with pytest.raises(DamagedError, match="exactly the questions that this person is asked"):
            read_upload(made, body(wrong))


def test_errors_of_results_have_the_noise_of_who_was_asked() -> None:
    """Of those who answered: sampling without replacement; of larger populations as any sample."""
    m = jrr.RR(p=0.9)
    reports = [1] * 300 + [0] * 700
    alone, some = m.estimate(reports), m.estimate(reports, asked=0.25)
    share = float(alone.frequencies[1])
    drawn = share * (1 - share) / 1_000 * (1 - 0.25) * 4_000 / 3_999
    assert some.stderr[1] ** 2 == pytest.approx(alone.stderr[1] ** 2 + drawn)
    assert some.population == "respondents"
    assert some.population_size is None
    of_all = some.for_population("sample", 4_000)
    assert of_all.stderr[1] == pytest.approx(some.stderr[1])
    assert of_all.for_population("respondents").stderr[1] == some.stderr[1]
    assert some.for_population("sample").stderr[1] > some.stderr[1]
    wide, narrow = some.interval(), alone.interval()
    assert wide[0][1] < narrow[0][1] < narrow[1][1] < wide[1][1]
    pooled = jrr.pooled(some, some)
    assert pooled.stderr[1] == pytest.approx(some.stderr[1] / math.sqrt(2), rel=1e-3)
    with pytest.raises(ArgumentError, match="of the same population"):
        jrr.pooled(some, alone)
    for wrong in (0, 1.5, "half"):
        with pytest.raises(ArgumentError, match="asked must be"):
            m.estimate(reports, asked=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("frequency", [0.05, 0.5])
def test_intervals_hold_of_those_who_answered(frequency: float) -> None:
    """At least 94.5% of intervals hold the share among all, of whom two fifths were asked."""
    n, runs, rng = 1_000, 1_500, np.random.default_rng(11)
    made = plan_draft(shared.asked(*FIVE, split="together", ask=2, epsilon=2.0), n)
    m = made.questions[0].plan.mechanism
    assert isinstance(m, jrr.MRR)
    rate, held = m.announced_rate, round(frequency * n)
    asked = rng.binomial(n, 0.4, runs)
    ones = rng.hypergeometric(held, n - held, asked)
    p, q = float(m.moments.p[0]), float(m.moments.q[0])
    told = rng.binomial(ones, p) + rng.binomial(asked - ones, q)
    scale = 1 - math.exp(-rate)
    noise = rng.geometric(scale, runs) - rng.geometric(scale, runs)
    hits = naive = 0
    for reports, total in zip(asked.tolist(), (told + noise).tolist(), strict=True):
        tally = tally_of(m, reports, total)
        low, high = m.estimate(tally, asked=0.4).interval()
        hits += bool(low[1] <= held / n <= high[1])
        low, high = m.estimate(tally).interval()
        naive += bool(low[1] <= held / n <= high[1])
    assert hits / runs > 0.945 - 3 * math.sqrt(0.05 * 0.95 / runs)
    if frequency == 0.5:
        assert naive / runs < 0.93  # without the noise of who is asked


def tally_of(m: jrr.MRR, reports: int, total: int) -> Any:
    """So many reports whose numbers, masks taken off with noise, add up to the total."""
    marks = np.zeros(reports, np.int16)
    within = min(max(total, 0), reports)
    marks[:within] = 1
    return m.settle(m.tally(marks, True), announced=within - total)


FIVE: list[dict[str, Any]] = [
    {"name": f"q{at}", "kind": "yes-no", "text": f"Q{at}?"} for at in range(5)
]


def test_drafts_say_how_many_are_asked() -> None:
    for ask in ("auto", "all", 1, 5):
        draft = shared.asked(*FIVE, split="together", ask=ask)
        assert Draft.from_dict(draft.to_dict()) == draft
    assert shared.asked(*FIVE).ask == "auto"
    for wrong, split, words in (
        ("some", "together", "ask must be one of 'auto', 'all'"),
        (0, "together", "ask must be a whole number"),
        (2.5, "together", "ask must be a whole number"),
        (True, "together", "ask must be a whole number"),
        (2, "even", "ask must be 'auto' or 'all' with split='even'"),
    ):
        with pytest.raises(ArgumentError, match=words):
            shared.asked(*FIVE, split=split, ask=wrong)
    for ask, options, words in (
        (6, PlanOptions(), r"ask must be a whole number in 1\.\.5"),
        (2, PlanOptions(mechanism="drr"), "ask must be 'auto' or 'all' without two answers"),
        (2, PlanOptions(announced=False), "ask must be 'all' with a closed deck"),
    ):
        with pytest.raises(ArgumentError, match=words):
            plan_draft(shared.asked(*FIVE, split="together", ask=ask), 2_000, options=options)


def test_margins_in_the_readme() -> None:
    eight = [{"name": f"q{at}", "kind": "yes-no", "text": f"Q{at}?"} for at in range(8)]
    shown = []
    for split, ask in (("together", "auto"), ("together", 4), ("even", "all")):
        made = plan_draft(shared.asked(*eight, split=split, ask=ask, epsilon=2.0), 2_000)
        shown.append(f"±{100 * made.questions[0].margin:.1f}")
    told = " ".join((Path(__file__).parents[2] / "README.md").read_text("utf-8").split())
    assert shown[0] == shown[1]
    assert (
        "eight yes/no questions, 2,000 people, ε = 2, four asked of each: "
        f"{shown[0]} points instead of {shown[2]} "
    ) in told


@pytest.mark.parametrize("ask", ["auto", 1, 2, 3])
def test_margins_of_yes_and_no_hold_for_every_share(ask: int | str) -> None:
    """The noise of who is asked is largest where half say yes: that is what is stated."""
    made = plan_draft(shared.asked(*FIVE, split="together", ask=ask, epsilon=2.0), 2_000)
    item: Any = made.questions[0].plan
    margins = [quantile(0.95) * item.stderr(share) for share in (0.01, 0.1, 0.3, 0.5, 0.8)]
    assert made.questions[0].margin == pytest.approx(max(margins), rel=1e-12)
    assert margins[0] < 0.95 * max(margins)


def test_the_people_for_margins_are_found_by_few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen questions: the fewest people to half a percent, by some plans and not by dozens."""
    questions = [{"name": f"q{at}", "kind": "yes-no", "text": "Q?"} for at in range(15)]
    draft = shared.asked(*questions, split="together", epsilon=2.0)
    tried: list[int] = []

    def counting(draft: Draft, people: int, **options: Any) -> Any:
        tried.append(people)
        return plan_draft(draft, people, **options)

    monkeypatch.setattr(planning, "plan_draft", counting)
    needed = planning.people_for_margins(draft)
    assert len(tried) <= 8
    assert plan_draft(draft, needed).within
    assert not plan_draft(draft, round(needed * 0.99)).within


def test_auto_is_the_best_number() -> None:
    """No other number has a smaller largest quotient of margin and margin wanted."""
    questions = [FIVE[0] | {"margin": 0.01}, *FIVE[1:]]
    margins = {}
    for ask in ("auto", "all", 1, 2, 3, 4, 5):
        made = plan_draft(shared.asked(*questions, split="together", ask=ask, epsilon=1.0), 2_000)
        margins[ask] = max(one.margin / one.question.margin for one in made.questions)
        assert made.guarantees["everything"] <= 1.0
    assert margins["auto"] == min(margins.values())
    assert margins["all"] == margins[5]
    told = made.to_dict()["questions"][0]
    assert told["asked"] == 1.0


@pytest.mark.parametrize("people", [20, 40, 100, 300])
@pytest.mark.parametrize("questions", [3, 8, 15])
def test_every_question_has_answers_enough_for_a_result(people: int, questions: int) -> None:
    """Of fewer than min_cell a survey is not closed: but by a rare chance there are as many."""
    several = [FIVE[0] | {"name": f"q{at}"} for at in range(questions)]

    def too_few(fewest: int) -> float:
        options = PlanOptions(fewest=fewest)
        planned = plan_draft(shared.asked(*several, epsilon=2.0), people, options=options)
        share = planned.questions[0].asked
        missed = stats.binom.cdf(19, people, share) if share < 1 else 0.0
        return questions * float(missed)

    assert too_few(20) < 1e-3
    if (people, questions) == (100, 15):
        assert too_few(0) > 0.5  # as it would be asked for the smallest errors alone


def test_surveys_plan_for_their_own_smallest_result() -> None:
    draft = shared.asked(*(FIVE[0] | {"name": f"q{at}"} for at in range(15)), epsilon=2.0)
    usual, small, pilot = (
        shared.survey_of(draft, people=100, **options).together[0].ask
        for options in ({}, {"min_cell": 5}, {"pilot": True})
    )
    assert usual > small >= pilot


def test_closed_decks_ask_everybody_everything() -> None:
    made = plan_draft(
        shared.asked(*FIVE, split="together", epsilon=2.0),
        2_000,
        options=PlanOptions(announced=False),
    )
    assert [one.ask for one in made.together] == [5]


def test_headers_of_files_say_what_share_was_asked() -> None:
    from jrr.tables.header import Header

    header = Header("reports", jrr.RR(p=0.75), share_asked=0.5)
    assert Header.from_json(header.to_json(), "x") == header
    assert "share_asked" not in json.loads(Header("reports", jrr.RR(p=0.75)).to_json())
    with pytest.raises(DamagedError, match="share_asked must be"):
        Header.from_json(header.to_json().replace('"share_asked": 0.5', '"share_asked": 2'), "x")


def test_many_dealers_of_a_large_block() -> None:
    """What is clamped is each answer's report: a block of all of them need not fit 16 bits."""
    urls = tuple(f"https://dealer{at}.example" for at in range(16))
    draft = shared.asked(*FIVE, split="together", ask=5, epsilon=0.06262)
    made = shared.survey_of(draft, people=5_000, dealers=urls)
    assert made.mechanisms["q0"].to_dict()["dealers"] == 16
    whole = made.joint["q0"].mechanism
    assert whole.epsilon("cards") <= 0.06262
    with pytest.raises(ArgumentError, match="larger where 16 dealers deal"):
        jrr.from_dict(whole.to_dict() | {"dealers": 16})
    assert Survey.from_bytes(made.to_bytes()).together == made.together
