"""The table of docs/security.md says what the library computes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr.dealing.kinds import Dealers
from jrr.mechanisms.registry import families
from jrr.mechanisms.request import Request
from jrr.planning.plans import epsilon_of_everything, stderr
from jrr.research.attacks import liar_bias, shift_bias, swap_bias
from jrr.research.attacks.cards import block_epsilon, sybil_epsilon
from jrr.research.attacks.catalogue import Setting
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from tests import bare_plans

pytestmark = pytest.mark.heavy

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
VIEWS = ("report", "truths", "cards", "dealer")
CASES = [(e, kind) for e in (0.1, 1.0) for kind in ("rr", "jrr", "drr")]


def cells(view: str) -> list[float]:
    (row,) = re.findall(rf"^\|[^|]*\| `{view}` \|(.*)\|$", PAGE, re.MULTILINE)
    return [float(cell) for cell in row.split("|")]


def pairs(request: Request) -> jrr.Mechanism:
    """The page speaks of JRR as in the paper: as many plus as minus cards."""
    return jrr.JRR.best_even(request)


@pytest.mark.parametrize(("at", "case"), list(enumerate(CASES)))
def test_table(at: int, case: tuple[float, str]) -> None:
    epsilon, kind = case
    request = Request(10_000, epsilon, 5, dealer_epsilon=epsilon + 2)
    mechanism = pairs(request) if kind == "jrr" else families()[kind].best(request)
    guarantees = mechanism.guarantees(5)
    for view in VIEWS:
        shown = cells(view)[at]
        assert guarantees[view] <= shown  # rounded up, never down
        assert shown - guarantees[view] < 2e-3
    full = epsilon_of_everything(mechanism, 5, 1e-6)
    assert full <= cells("everything")[at] < full + 2e-3
    (errors,) = re.findall(r"^\| the standard error .*? \| \|(.*)\|$", PAGE, re.MULTILINE)
    assert 100 * stderr(mechanism, request, 0.1) == pytest.approx(
        float(errors.split("|")[at]), rel=5e-3
    )


def test_figures_in_words() -> None:
    shown = re.search(r"`everything` of JRR is ([\d.]+) at ε = 0.1", PAGE)
    assert shown is not None
    uncapped = epsilon_of_everything(pairs(Request(10_000, 0.1, 5)), 5, 1e-6)
    assert uncapped <= float(shown[1]) < uncapped + 2e-3
    shown = re.search(r"a loss beyond ([\d.]+) \(DRR, ε = 1\)", PAGE)
    assert shown is not None
    sure = bare_plans.plan(10_000, 1.0, 5, dealer_epsilon=3.0, mechanism="drr").surely(1e-6)
    assert sure <= float(shown[1]) < sure + 2e-3


SYBILS = ("share of fakes", lambda mechanism, share: sybil_epsilon(mechanism, share / 100))
BLOCKS = ("B", lambda mechanism, size: block_epsilon(mechanism, int(size), 5))


@pytest.mark.parametrize(("heading", "epsilon"), [SYBILS, BLOCKS], ids=["sybils", "blocks"])
def test_tables_of_attacks(
    heading: str, epsilon: Callable[[jrr.JRR | jrr.DRR, float], float]
) -> None:
    lines = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    first, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    at = [float(re.sub(r"[^\d.]", "", cell.replace("planned (5)", "0.05"))) for cell in first[1:]]
    mechanisms = Setting().mechanisms
    assert [row[0] for row in rows] == ["JRR", "JRR, capped", "DRR", "DRR, capped"]
    for name, *shown in rows:
        mechanism = mechanisms[name.replace(",", "")]
        assert isinstance(mechanism, jrr.JRR | jrr.DRR)
        for place, cell in zip(at, shown, strict=True):
            exact = epsilon(mechanism, place)
            assert exact <= float(cell.replace("∞", "inf")) * (1 + 1e-9)  # rounded up
            assert float(cell.replace("∞", "inf")) <= exact + 1e-3


def test_liars_behind_a_shared_coin() -> None:
    questions = [{"name": name, "kind": "yes-no", "text": name} for name in "abcdef"]
    said = []
    for ask in ("auto", "all"):
        draft = {"title": "Six", "epsilon": 1.5, "ask": ask, "questions": questions}
        survey = SurveyRequest(
            draft=Draft.from_dict(draft),
            people=2_000,
            collector="https://collector.example",
            dealing=Dealers(("https://dealer.example",)),
        ).survey()
        (shared,) = survey.together
        mechanism: Any = survey.sensitive[0].mechanism
        for strength in (mechanism.p, mechanism.alone):
            said.append(f"{strength / (2 * strength - 1):.1f}")  # p/(2p-1) = (1-q)/λ
        assert said[-1] == f"{liar_bias(mechanism, verified=True):.1f}"
        assert shared.ask == (3 if ask == "auto" else 6)
    words = "adds {} people and one without {} where everybody is asked three of them, as planned "
    assert (words + "by default, {} and {} where everybody is asked all").format(*said) in PAGE


def test_the_table_of_liars() -> None:
    lines = PAGE[PAGE.index("| mechanism | one lying contributor") :].split("\n\n")[0].splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    settings = [Setting(), Setting(epsilon=1.0, cap=3.0)]
    names = {"MRR, closed deck": "MRR closed", "MRR, announced sum": "MRR announced"}
    (proved,) = (line for row, line in rows.items() if row.startswith("MRR, verified"))
    moved = [f"{setting.reach('MRR verified'):.1f}" for setting in settings]
    assert " / ".join(moved) == proved.split("|")[2].strip()
    for row in ("RR", "JRR", "DRR", *names):
        shown = re.findall(r"-?[\d,.]+\d", "".join(rows[row].split("|")[2:5]))
        mechanisms = [setting.mechanisms[names.get(row, row)] for setting in settings]
        exact = [liar_bias(mechanism, 0.1) for mechanism in mechanisms]
        if row in names:
            exact += [shift_bias(mechanism) for mechanism in mechanisms]
        elif row != "RR":
            given, instead = (1, -1) if row == "JRR" else (1, 0)
            exact += [swap_bias(mechanism, 0.1, given, instead) for mechanism in mechanisms]
        for text, number in zip(shown, exact, strict=False):
            digits = len(text.partition(".")[2])
            assert float(text.replace(",", "")) == pytest.approx(number, abs=0.51 * 10**-digits)
        assert len(shown) >= len(exact)
