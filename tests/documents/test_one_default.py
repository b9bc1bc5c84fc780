"""Announced sums are the default everywhere, and the README's figures are those of the program."""

import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import jrr
from jrr.cli.app import run
from jrr.planning.lost_cards import lost_cards
from jrr.research.attacks import liar_bias as measured_liar_bias
from jrr.research.attacks.catalogue import Setting
from jrr.research.demo import run as demonstrate

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text("utf-8").split())
N = 10_000


def printed(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(list(arguments)) == 0
    return capsys.readouterr().out


def ten_lines() -> dict[str, Any]:
    """The variables of the README's first block of code, after it has run."""
    text = (ROOT / "README.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    return names


def description_of_the_picture() -> str:
    """What the README's picture says about itself: the standard errors that it shows."""
    with Image.open(ROOT / "docs" / "demo.png") as picture:
        return str(picture.info["Description"])


@pytest.mark.parametrize(
    "call",
    [
        jrr.plan,
        jrr.required_n,
        jrr.required_epsilon,
        jrr.plan_number,
        jrr.MRR.for_epsilon,
    ],
    ids=lambda call: call.__qualname__,
)
def test_sums_are_announced_unless_a_closed_deck_is_asked_for(call: Any) -> None:
    assert inspect.signature(call).parameters["announced"].default is True


@pytest.mark.slow_variants("0.1-4]", "1.0-2]")
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_library_and_the_command_plan_the_same(
    k: int, epsilon: float, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ("plan", "-n", str(N), "-e", str(epsilon), "-k", str(k), "--json")
    for more, announced in (((), True), (("--closed-deck",), False)):
        said = json.loads(printed(*plan, *more, capsys=capsys))
        planned = jrr.plan(N, epsilon, k=k, announced=announced)
        assert planned.mechanism.announced is said["announced"] is announced
        assert said["mechanism"] == planned.mechanism.to_dict()
        assert said["stderr"] == planned.stderr()


def test_one_figure_in_picture_code_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    """0.24 points: what `jrr plan` says is what the README's code has and its picture shows."""
    said = json.loads(printed("plan", "-n", str(N), "-e", "1", "--json", capsys=capsys))
    figure = 100 * said["stderr"]
    assert round(figure, 4) == 0.2388
    assert f"MRR {figure:.2f}" in README
    assert 100 * ten_lines()["plan"].stderr() == figure
    drawn = dict(re.findall(r"(\w+) ([\d.]+)", description_of_the_picture()))
    assert float(drawn["mrr"]) == pytest.approx(figure, rel=1e-5)
    rr = next(row for row in said["compare"] if row["name"] == "RR")
    assert float(drawn["rr"]) == pytest.approx(100 * rr["expected_stderr"], rel=1e-5)
    assert f"RR has a standard error of {100 * rr['expected_stderr']:.2f} percentage" in README


def test_the_picture_is_of_the_default_survey() -> None:
    survey = demonstrate(rng=jrr.SeededRandom(7))
    shown = description_of_the_picture()
    for name, outcome in survey.outcomes.items():
        assert f"{name} {100 * float(outcome.estimate.stderr[1]):.6g}" in shown
    assert survey.outcomes["mrr"].mechanism == jrr.plan(N, 1.0).mechanism
    assert f"{survey.vanished} vanished" in README


def test_what_a_closed_deck_costs() -> None:
    """Planned for 1% of lost cards, where 1% or 3% are lost."""
    expected, more = (
        100 * row.stderr["MRR, closed deck"] for row in lost_cards(jrr.plan(N, 1.0), [0.01, 0.03])
    )
    assert expected == 100 * jrr.plan(N, 1.0, announced=False).stderr()
    assert f"{expected:.2f} points with 1% lost, {more:.2f} with an unplanned 3%" in README


def test_the_catch() -> None:
    """MRR at ε = 1 is as accurate as RR at ε = 3, and 3 is what dealer and collector can reach."""
    plan = jrr.plan(N, 1.0)
    strong = jrr.plan(N, 3.0, mechanism="rr")
    assert plan.stderr() == pytest.approx(strong.stderr(), rel=0.015)
    assert plan.stderr() < 0.26 * jrr.plan(N, 1.0, mechanism="rr").stderr()
    assert 1 - 1e-6 < plan.mechanism.epsilon("everything", N - 1) <= 1
    assert 3 - 1e-6 < plan.guarantees["dealer"] <= 3
    assert (
        "MRR at ε = 1 has the accuracy of randomized response at ε = 3 with a guarantee of ε = 1 "
        "against everybody who does not know the card; if dealer and collector collude, it is 3."
    ) in README


@pytest.mark.parametrize(("epsilon", "people"), [(1.0, "40"), (0.1, "2,323")])
def test_what_one_liar_moves(
    epsilon: float, people: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = jrr.plan(N, epsilon)
    # The largest report that the collector accepts, instead of what one person sends on average.
    moved, before = (
        plan.mechanism.estimate(
            plan.mechanism.settle(plan.mechanism.tally(reports, carded=True), announced=0)
        ).counts[1]
        for reports in ([0, plan.mechanism.most_support], [0, 0])
    )
    honest = float(plan.mechanism.moments.q[0]) / float(plan.mechanism.moments.gain[0])
    assert plan.one_liar == pytest.approx(moved - before - honest)
    assert f"{plan.one_liar:,.0f}" == people
    assert people in README
    setting = Setting(epsilon=epsilon, cap=epsilon + 2)
    assert measured_liar_bias(setting.mechanisms["MRR announced"]) == plan.one_liar
    command = ("plan", "-n", str(N), "-e", str(epsilon))
    said = json.loads(printed(*command, "--json", capsys=capsys))
    assert said["one_liar"] == plan.one_liar
    assert {row["name"]: row["one_liar"] for row in said["compare"]}["MRR"] == plan.one_liar
    shown = " ".join(printed(*command, capsys=capsys).split())
    assert f"estimated to hold an answer by {people}; in a survey over a network" in shown
    compared = " ".join(printed(*command, "--details", capsys=capsys).split())
    assert f"MRR {people}." in compared


def test_a_verified_liar_is_one_under_rr() -> None:
    """The same figure in plans, in reports (tests/client/test_verified.py) and in the README."""
    for known in (None, 0.3, (0.2, 0.4)):
        rr = jrr.plan(N, 1.0, mechanism="rr", frequency=known)
        assert rr.one_liar == pytest.approx(math.e / (math.e - 1))  # p/(2p-1), q = 1-p
        verified = jrr.plan(N, 1.0, frequency=known).one_liar_verified
        assert verified == pytest.approx(rr.one_liar)
    assert f"a liar moves {rr.one_liar:.1f} people, as under RR" in README
