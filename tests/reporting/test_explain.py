"""Plans in plain words: every number shown is an upper bound and names its view."""

import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jrr
from jrr._base.wording import show_at_least, show_epsilon
from jrr.privacy.cost_table import belief
from jrr.reporting.explain import adversaries, consent, contributor_text, shown_belief
from tests import bare_plans

pytestmark = pytest.mark.heavy


@given(epsilon=st.floats(1e-6, 30), prior=st.floats(0.001, 0.999))
def test_belief_is_bayes_rule(epsilon: float, prior: float) -> None:
    """Odds grow by e^ε; with ε of a real report, no posterior exceeds it."""
    mechanism = jrr.RR(epsilon=epsilon)
    seen = prior * mechanism.p / (prior * mechanism.p + (1 - prior) * mechanism.q)
    assert belief(epsilon, prior) >= seen - 1e-12
    assert belief(epsilon, prior) == pytest.approx(seen, rel=1e-6)
    assert belief(math.inf, prior) == 1


@given(epsilon=st.floats(1e-9, 1e3))
def test_a_shown_epsilon_is_never_below_the_real_one(epsilon: float) -> None:
    shown = Decimal(show_epsilon(epsilon))
    assert shown >= Decimal(repr(epsilon))
    assert float(shown) <= epsilon * 1.0011


@given(epsilon=st.floats(1e-9, 1e3))
def test_what_is_reached_is_never_shown_larger(epsilon: float) -> None:
    shown = Decimal(show_at_least(epsilon))
    assert shown <= Decimal(repr(epsilon))
    assert float(shown) >= epsilon * 0.9989
    assert show_at_least(math.inf) == "unbounded"


def test_short_numbers_are_shown_as_they_are() -> None:
    assert show_epsilon(0.1) == "0.1"
    assert show_epsilon(2.0) == "2"
    assert show_epsilon(math.inf) == "unbounded"
    assert show_epsilon(0.10001) == "0.1001"


@pytest.mark.parametrize("mechanism", ["rr", "jrr", "drr"])
def test_consent_states_the_margin_of_the_plan(mechanism: str) -> None:
    plan = bare_plans.plan(10_000, 1.0, 5, dealer_epsilon=3.0, mechanism=mechanism)
    (margin,) = re.findall(r"±([\d.]+) percentage points", consent(plan))
    exact = 100 * 1.959964 * plan.stderr()
    assert exact * 0.9999 <= float(margin) <= 1.1 * exact


@pytest.mark.parametrize("cap", [None, 3.0])
@pytest.mark.parametrize("mechanism", ["jrr", "drr"])
def test_consent_claims_a_cap_only_where_one_was_set(mechanism: str, cap: float | None) -> None:
    plan = bare_plans.plan(10_000, 1.0, 5, dealer_epsilon=cap, mechanism=mechanism)
    text = consent(plan)
    assert ("kept by a cap" in text) == (cap is not None)
    assert ("No cap on the dealer" in text) == (cap is None)
    told = contributor_text(plan)  # the collector really has all reports
    if math.isinf(plan.everything()):  # an uneven deck, and all other answers known
        assert "answers can become certain (ε unbounded)" in text
        assert "certain if they are the collector" in told
        return
    full = f"ε = {show_epsilon(plan.everything())} at δ = 1e-06"
    ever = "" if cap is None else f", and at most {shown_belief(plan.guarantees['dealer'])} ever"
    assert f"likely, except with a chance of at most 1 in 1,000,000{ever} ({full})." in text
    assert f"(but for a chance of at most 1 in 1,000,000): {full}." in told
    for view in ("report", "cards", "dealer"):
        known = plan.guarantees[view]
        assert f": ε {'unbounded' if math.isinf(known) else '= ' + show_epsilon(known)}." in told


def test_every_adversary_has_its_views_epsilon() -> None:
    plan = bare_plans.plan(1_000, 0.5, 3, dealer_epsilon=2.5, mechanism="drr")
    rows = adversaries(plan, 1e-4)
    for row in rows:
        full = row.view == "everything"
        exact = plan.everything(1e-4) if full else plan.mechanism.epsilon(row.view, 3)
        assert (row.epsilon, row.delta) == (exact, 1e-4 if full else 0.0)
        assert row.sure_epsilon == (plan.surely(1e-4) if full else exact)
        assert row.chance == row.delta
        assert (
            f"(ε = {show_epsilon(row.epsilon)}{' at δ = 0.0001' if full else ''})." in row.sentence
        )
        assert ("except with a chance of at most 1 in 10,000, and at most" in row.sentence) == full
    assert [row.view for row in rows] == ["report", "truths", "cards", "everything", "dealer"]
    nobody = [row.view for row in adversaries(bare_plans.plan(1_000, 0.5, 0, mechanism="drr"))]
    assert nobody == ["report", "everything", "dealer"]
    (only,) = adversaries(bare_plans.plan(1_000, 0.5, mechanism="rr"))
    assert only.view == "report"


def test_masks_have_one_guarantee_without_a_delta() -> None:
    plan = jrr.plan(1_000, 0.5)
    everybody, dealer = adversaries(plan, 1e-4)
    assert (everybody.view, everybody.epsilon, everybody.delta) == (
        "everything",
        plan.mechanism.epsilon("everything", 999),
        0.0,
    )
    assert everybody.chance == 0
    assert "anybody who does not know this card" in everybody.sentence.lower()
    assert dealer.epsilon == plan.mechanism.epsilon("dealer")
    assert consent(plan).count("(ε = 0.5)") == 1
    assert "if they do not know your card" in contributor_text(plan)


@pytest.mark.parametrize(
    ("delta", "shown"), [(1e-6, "1 in 1,000,000"), (0.003, "1 in 333"), (0.02, "2%"), (0.0, None)]
)
def test_a_chance_is_never_shown_smaller(delta: float, shown: str | None) -> None:
    row = adversaries(bare_plans.plan(60, 1.0, dealer_epsilon=2.0, mechanism="drr"), delta)[1]
    assert row.view == "everything"
    assert (f"except with a chance of at most {shown}, and" in row.sentence) == (shown is not None)
    assert ("except" in row.sentence) == (shown is not None)


@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.RR(epsilon=1.0),
        jrr.JRR(100, 0.6, s=0.2),
        jrr.DRR(100, 0.3, 0.1),
        jrr.DRR(100, 0.3),
        jrr.SUE(5, 1.0),
        jrr.OUE(5, 1.0, coupling="dealt", n=100),
        jrr.OUE(5, 1.0, coupling="joint", n=100),
        jrr.OLH(5, 1.0),
        jrr.OLH(5, 1.0, coupling="joint", n=100),
    ],
    ids=repr,
)
def test_instructions_give_the_probabilities(mechanism: jrr.Mechanism) -> None:
    text = mechanism.instructions()
    first: float = getattr(mechanism, "truth", 0.0) or getattr(mechanism, "p", 0.0)
    if isinstance(mechanism, jrr.JRR):
        first = mechanism.p + mechanism.s
    assert f"{100 * first:.3g} of 100 cases" in text
    assert ("card" in text) == (mechanism.moments.deck is not None)


def test_nearly_certain_is_not_shown_as_certain() -> None:
    text = jrr.JRR(100, 0.6, s=0.3999999).instructions()
    assert "100 of 100" not in text
    assert "99.99999 of 100" in text


def test_words_for_contributors() -> None:
    """Second person, roles named before they act, no abbreviation but ε, which is explained."""
    told = contributor_text(bare_plans.plan(1_000, 1.0, 5, dealer_epsilon=3.0, mechanism="drr"))
    assert "the dealer, who deals the cards" in told
    assert "ε is the measure" in told
    assert not re.search(r"\b(RR|JRR|DRR|docs)\b", told)
    nobody = contributor_text(
        bare_plans.plan(1_000, 1.0, dealer_epsilon=3.0, mechanism="drr"), 1e-6, True
    )
    assert "the parties that deal the cards" in nobody
    assert "0 contributors" not in nobody
    open_ended = contributor_text(bare_plans.plan(1_000, 1.0, mechanism="drr"))
    assert "- certain if those who deal the cards" in open_ended
    alone = contributor_text(bare_plans.plan(1_000, 1.0, mechanism="rr"))
    assert "whatever else they know: ε = 1." in alone
    assert "card" not in alone


def test_a_whole_question_is_quoted() -> None:
    plan = bare_plans.plan(1_000, 1.0, mechanism="rr")
    assert "answer the question “Have you?” through randomized" in consent(plan, "Have you?")
    assert "answer whether they have through randomized" in consent(plan, "whether they have")


def test_what_can_become_certain_has_its_chance() -> None:
    """γ = 0 and a small deck: δ(∞) = λ/2·(1-λ)^(n/2), here a little below 1 in 519."""
    plan = bare_plans.plan(100, 0.1, mechanism="drr")
    row = adversaries(plan)[1]
    assert (row.view, row.epsilon) == ("everything", math.inf)
    truth = plan.mechanism.to_dict()["truth"]
    assert row.chance == pytest.approx(truth / 2 * (1 - truth) ** 50, rel=1e-6)
    assert "can become certain, with a chance of at most 1 in 519 (ε unbounded)." in row.sentence
    assert "- certain if they are the collector" in contributor_text(plan)


OF_A_HUNDRED = bare_plans.plan(100, 1.0, mechanism="rr").request


@given(epsilon=st.floats(0.001, 8))
def test_a_shown_belief_is_never_below_the_real_one(epsilon: float) -> None:
    plan = jrr.Plan(replace(OF_A_HUNDRED, epsilon=epsilon), jrr.RR(epsilon=epsilon))
    (shown,) = re.findall(r"at most ([\d.]+)% likely", adversaries(plan)[0].sentence)
    exact = 100 * belief(plan.mechanism.epsilon())
    assert exact <= float(shown) <= exact + 0.1 + 1e-9
