"""One set of defaults, dealers only where they gain something, and what a choice costs."""

import json
import math

import pytest

import jrr
from jrr.cli.app import run
from jrr.planning.alternatives import alternatives
from jrr.planning.choice import LEAST_GAIN, MAX_BYTES, costs_of
from jrr.survey.draft import one_question
from jrr.survey.plan import plan_draft


def on_the_command_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["plan", "--json", *arguments]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(("n", "epsilon"), [(10_000, 0.1), (2_000, 1.0), (4, 2.0)])
def test_python_and_the_command_line_answer_alike(
    n: int, epsilon: float, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = jrr.plan(n, epsilon)
    assert plan.request.colluders == min(5, n - 1)
    assert plan.request.dealer_epsilon == epsilon + 2
    document = on_the_command_line(capsys, "-n", str(n), "-e", str(epsilon))
    assert document["mechanism"] == plan.mechanism.to_dict()
    assert document["colluders"] == plan.request.colluders
    assert document["dealer_epsilon"] == plan.request.dealer_epsilon
    (asked,) = plan_draft(one_question("Do you?"), n, epsilon=epsilon).questions
    assert asked.plan.mechanism == plan.mechanism


def test_giving_up_the_cap_must_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    free = jrr.plan(10_000, 0.1, dealer_epsilon=math.inf, mechanism="drr")
    assert free.request.dealer_epsilon is None
    assert free.guarantees["dealer"] == math.inf
    document = on_the_command_line(
        capsys, "-n", "10000", "-e", "0.1", "--no-dealer-cap", "--mechanism", "drr"
    )
    assert document["mechanism"] == free.mechanism.to_dict()
    assert document["dealer_capped"] is False


def test_searches_share_the_defaults() -> None:
    people = jrr.required_n(0.02, 0.5)
    same = jrr.required_n(0.02, 0.5, 5, dealer_epsilon=2.5)
    assert people == same > jrr.required_n(0.02, 0.5, 0, dealer_epsilon=math.inf)
    epsilon = jrr.required_epsilon(0.02, 5_000)
    assert epsilon == jrr.required_epsilon(0.02, 5_000, 5, dealer_above=2.0)


def test_no_dealer_where_cards_do_nothing() -> None:
    assert not jrr.plan(1_000, 2, 200, 32, mechanism="drr").mechanism.deals
    tiny = jrr.plan(20, 1, 0, 2, math.inf, 1e-6, "everything", "drr")
    assert not tiny.mechanism.deals
    for family in ("olh-joint", "sue-joint", "oue-dealt"):
        mechanism = jrr.plan(1_000, 2, 200, 32, mechanism=family).mechanism
        assert not mechanism.deals or mechanism.to_dict()["s"] > 0


@pytest.mark.slow_variants("100-5-2.0", "1000-50-2.0")
@pytest.mark.parametrize("k", [2, 3, 32])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(("n", "colluders"), [(20, 0), (100, 5), (1_000, 50), (10_000, 5)])
def test_a_dealer_gains_what_is_stated(n: int, colluders: int, epsilon: float, k: int) -> None:
    plan = jrr.plan(n, epsilon, colluders, k)
    plain = jrr.plan(n, epsilon, colluders, k, mechanism="rr")
    if plan.mechanism.deals:
        assert plan.stderr() ** 2 <= (1 - LEAST_GAIN) * plain.stderr() ** 2
        assert plan.everything(1e-6) <= max(2 * epsilon, plan.guarantees["dealer"])
    if plan.mechanism.deals and plan.losses is None:
        assert plan.guarantees["dealer"] <= 2 * epsilon


def test_costs_are_those_of_what_is_made() -> None:
    for mechanism in (
        jrr.RR(epsilon=1.0),
        jrr.JRR(100, 0.6, s=0.3),
        jrr.DRR(100, 0.3, k=300),
        jrr.OUE(20, epsilon=1.0, coupling="dealt", n=100),
        jrr.OLH(1_000, epsilon=1.0),
    ):
        costs = costs_of(mechanism, 100)
        cards = mechanism.deal()
        reports = mechanism.respond([0] * 100, cards)
        assert costs.report_bytes == mechanism.report_format.pack(reports).shape[1]
        assert costs.card_bytes == (0 if cards is None else cards[:1].nbytes)
        assert (costs.deal_seconds > 0) == mechanism.deals
        assert costs.respond_seconds > 0


def test_large_domains_send_small_reports_unless_told_otherwise() -> None:
    for k in (1_000, 100_000):
        plan = jrr.plan(1_000_000, 1.0, k=k)
        assert plan.costs.report_bytes <= MAX_BYTES
        assert plan.costs.deal_seconds < 60
        assert plan.everything(1e-6) <= 2.0
        large = jrr.plan(1_000_000, 1.0, k=k, dealer_epsilon=2.0, max_bytes=10**6)
        assert large.stderr() <= plan.stderr()
        notes = {row.name: row.note for row in plan.compare()}
        assert "left out of the automatic choice" in notes["SUE + dealt"]
    assert "bytes a report, more than max_bytes=1,000" in notes["OUE"]
    with pytest.raises(jrr.JrrError, match="max_bytes must be"):
        jrr.plan(100, 1.0, max_bytes=0)


def test_the_table_of_a_plan_shows_the_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "-n", "1000", "-e", "1", "-k", "100", "--details"]) == 0
    shown = capsys.readouterr().out
    assert "bytes a report" in shown
    assert "to deal" in shown
    document = on_the_command_line(capsys, "-n", "1000", "-k", "100", "--max-bytes", "12")
    assert document["costs"]["report_bytes"] <= 12  # type: ignore[index]


def test_alternatives_keep_the_same_cap() -> None:
    names = [row.name for row in alternatives(200, 0.5, 1e-4)]
    assert "DRR, dealer capped at 2.5" in names
