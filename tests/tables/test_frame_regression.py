"""Regressions from frames of reports: what the same people without perturbation say."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import jrr
from jrr.analysis import OutcomeRegression, Regression, SensitiveItem, regress, two_way
from jrr.errors import ArgumentError
from jrr.tables import headers_of, items_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

CLOSE = 300.0  # so large an ε that answers are as good as told
RNG = np.random.default_rng(3)
PEOPLE = 600
AGE = RNG.integers(18, 80, PEOPLE)
BRIBE = RNG.random(PEOPLE) < 0.2 + AGE / 200
THEFT = RNG.random(PEOPLE) < np.where(BRIBE, 0.6, 0.2)
DATA: dict[str, Any] = {
    "bribe": np.where(BRIBE, "yes", "no").tolist(),
    "theft": np.where(THEFT, "yes", "no").tolist(),
    "age": AGE.tolist(),
    "region": (["south", "north"] * PEOPLE)[:PEOPLE],
    "moved": np.where(RNG.random(PEOPLE) < 0.5, "yes", "no").tolist(),
    "income": (1_000 + 300 * BRIBE + RNG.normal(0, 50, PEOPLE)).tolist(),
}
ASKED = {"bribe": ["no", "yes"], "theft": ["no", "yes"]}
FORMULA = "age + C(region)"


def of_truth(held: Any, **wish: Any) -> Regression:
    item = SensitiveItem(jrr.RR(p=1.0), np.asarray(held, int))
    return regress(item, FORMULA, data=DATA, **wish)


@pytest.mark.parametrize("split", ["even", "block"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_what_is_explained_is_what_was_held(make: Any, split: str) -> None:
    reports = jrr.perturb_frame(make(DATA), ASKED, CLOSE, split=split)
    expected = of_truth(BRIBE)
    found = jrr.regress_frame(reports, f"bribe ~ {FORMULA}")
    assert isinstance(found, Regression)
    assert found.names == ("(intercept)", "age", "C(region)=south")
    assert found.coefficients == pytest.approx(expected.coefficients, abs=1e-6)
    assert found.stderr == pytest.approx(expected.stderr, abs=1e-6)
    for no in ("no", 0):
        opposite = jrr.regress_frame(reports, f"bribe ~ {FORMULA}", value=no)
        assert isinstance(opposite, Regression)
        assert opposite.coefficients == pytest.approx(-expected.coefficients, abs=1e-6)
    of_income = jrr.regress_frame(reports, "income ~ bribe", link="identity")
    assert isinstance(of_income, OutcomeRegression)
    means = [np.mean(np.asarray(DATA["income"])[held == BRIBE]) for held in (False, True)]
    assert of_income.outcome.coefficients == pytest.approx([means[0], means[1] - means[0]])
    for outcome, truth in (("moved", np.asarray(DATA["moved"]) == "yes"), ("theft", THEFT)):
        fit = jrr.regress_frame(reports, f"{outcome} ~ bribe")
        assert isinstance(fit, OutcomeRegression)
        odds = [np.mean(truth[held == BRIBE]) for held in (False, True)]
        logits = np.log(odds) - np.log1p(-np.array(odds))
        assert fit.outcome.coefficients == pytest.approx(
            [logits[0], logits[1] - logits[0]], abs=1e-5
        )
    shares = two_way(*items_of(reports, "bribe", "theft")).shares
    for first, second in itertools.product((0, 1), repeat=2):
        assert shares[first][second] == pytest.approx(
            np.mean((first == BRIBE) & (second == THEFT)), abs=1e-9
        )


def test_one_coin_for_several_columns_is_named() -> None:
    """Of the four combinations the coin tells the true one, or any of them by chance."""
    reports = jrr.perturb_frame(pa.table(DATA), ASKED, 2.0, split="block")
    first, second = items_of(reports)
    coin = jrr.RR(4, epsilon=2.0)
    assert first.shared == second.shared
    assert first.shared is not None
    assert first.shared.questions == ("bribe", "theft")
    assert first.shared.keep + (1 - first.shared.keep) / 4 == pytest.approx(coin.p, rel=1e-12)
    (alone,) = items_of(pa.table(reports).drop_columns(["bribe"]), "theft")
    assert alone.shared is not None
    assert alone.shared.keep == pytest.approx(first.shared.keep, rel=1e-12)
    for item in items_of(jrr.perturb_frame(pa.table(DATA), ASKED, 2.0)):
        assert item.shared is None


def test_rows_without_a_report_and_weights() -> None:
    some = DATA | {"bribe": [None, *DATA["bribe"][1:]], "weight": [2.0] + [1.0] * (PEOPLE - 1)}
    asked: dict[str, Any] = ASKED | {"bribe": {"labels": ["no", "yes"], "skip_missing": True}}
    reports = jrr.perturb_frame(pd.DataFrame(some), asked, CLOSE)
    assert [len(item) for item in items_of(reports, "theft")] == [PEOPLE]
    assert [len(item) for item in items_of(reports, "theft", "bribe")] == [PEOPLE - 1] * 2
    found = jrr.regress_frame(reports, f"theft ~ {FORMULA}", weight="weight")
    expected = of_truth(THEFT, weights=some["weight"])
    assert isinstance(found, Regression)
    assert found.coefficients == pytest.approx(expected.coefficients, abs=1e-6)
    fit = jrr.regress_frame(reports, "bribe ~ age")
    assert isinstance(fit, Regression)
    assert fit.n == PEOPLE - 1


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("bribe + age", "formula must be such as"),
        ("income ~ age", r"with one of \['bribe', 'theft'\] on the left"),
        ("income ~ bribe + theft", "on the left, or one on the right"),
        ("income ~ age*bribe", "a term of its own"),
        ("town ~ bribe", "formula must be one of"),
        ("region ~ bribe + town", "town"),
    ],
)
def test_formulas_that_are_refused(formula: str, match: str) -> None:
    reports = jrr.perturb_frame(pa.table(DATA), ASKED, 2.0)
    with pytest.raises(ArgumentError, match=match):
        jrr.regress_frame(reports, formula)


def test_columns_that_are_refused() -> None:
    how = {"labels": ["no", "yes"], "mechanism": "olh"}
    reports = jrr.perturb_frame(pd.DataFrame(DATA), {"bribe": how, "age": (0, 100)}, 2.0)
    with pytest.raises(ArgumentError, match="not the mean of a number"):
        jrr.regress_frame(reports, "age ~ region")
    with pytest.raises(ArgumentError, match="OLH"):
        jrr.regress_frame(reports, "bribe ~ region")
    with pytest.raises(ArgumentError, match="questions must be one of"):
        items_of(reports, "region")
    with pytest.raises(ArgumentError, match="questions must be one of"):
        items_of(reports.drop(columns="age"), "age", headers=headers_of(reports))
    lost = pd.DataFrame(reports.to_dict("list"))
    for lookup in (lambda: jrr.regress_frame(lost, "bribe ~ region"), lambda: items_of(lost)):
        with pytest.raises(ArgumentError, match="say which mechanism made them"):
            lookup()
    again = jrr.perturb_frame(pd.DataFrame(DATA), ASKED, CLOSE)
    found = jrr.regress_frame(
        pd.DataFrame(again.to_dict("list")), "bribe ~ age", headers=headers_of(again)
    )
    expected = jrr.regress_frame(again, "bribe ~ age")
    assert found.to_dict() == expected.to_dict()
