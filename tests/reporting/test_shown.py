"""What notebooks show: the same rows as a table, a data frame, text and a picture."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

import jrr
from jrr import tables
from jrr._base.shown import Shown
from jrr.analysis import SensitiveItem, regress, two_way
from jrr.errors import MissingExtraError


def estimate() -> jrr.Estimate:
    return jrr.RR(k=3, p=0.7).estimate([0] * 50 + [1] * 30 + [2] * 20)


def result(by: str | None) -> tables.Result:
    frame = pd.DataFrame({"smokes": ["no", "yes"] * 100, "place": ["<b>", "south"] * 100})
    options: dict[str, Any] = {"labels": ["no", "yes"], "epsilon": 2.0, "keep": ["place"]}
    path = Path("reports.parquet")
    tables.perturb(frame, "smokes", path, rng=jrr.SeededRandom(1), force=True, **options)
    return tables.estimate(path, by=by)


def strings() -> Any:
    search = jrr.HeavyHitters(jrr.Words("ab", 2), 4.0, keep=3)
    return search.find(search.respond(["ab"] * 500, jrr.SeededRandom(1)), 2)


def mean() -> jrr.MeanEstimate:
    return jrr.Numbers(0, 10, jrr.RR(p=0.8)).estimate([1] * 60 + [0] * 40)


def item(answers: list[int]) -> SensitiveItem:
    m = jrr.RR(p=0.9)
    return SensitiveItem(m, m.respond(answers, rng=jrr.SeededRandom(2)))


MADE: dict[str, Callable[[], Shown]] = {
    "plan": lambda: jrr.plan(1_000, 1.0),
    "plan of a number": lambda: jrr.plan_number(1_000, 1.0, low=0, high=10),
    "estimate": estimate,
    "difference": lambda: jrr.difference(estimate(), estimate(), same_deck=False),
    "groups": lambda: result("place").groups,
    "result": lambda: result("place"),
    "mean": mean,
    "difference of means": lambda: mean().minus(mean(), same_deck=False),
    "strings": strings,
    "regression": lambda: regress(item([0, 1, 1, 0, 1] * 40), {"age": [1, 2, 3, 4, 5] * 40}),
    "two answers": lambda: two_way(item([0, 1] * 100), item([0, 0, 1, 1] * 50)),
}


@pytest.mark.parametrize("name", MADE)
def test_rows_are_shown_in_every_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = MADE[name]()
    rows = made.to_rows()
    assert rows
    frame = made.to_frame()
    columns = ["place" if column == "group" and name == "result" else column for column in rows[0]]
    assert list(frame.columns) == columns
    assert len(frame) == len(rows)
    assert frame[made.shown_value].tolist() == [row[made.shown_value] for row in rows]
    text = made.summary()
    assert text.splitlines()[0] == made.heading
    assert len(text.splitlines()) == len(rows) + 2
    shown = made._repr_html_()
    assert shown.count("<tr>") == len(rows) + 1
    assert "<b>" not in shown
    assert html.escape(made.heading) in shown
    made.plot().savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 4_000


def test_figures_are_those_of_the_result() -> None:
    told, frame = estimate(), estimate().to_frame(0.9)
    low, high = told.interval(0.9)
    assert np.allclose(frame["low"], low)
    assert np.allclose(frame["high"], high)
    assert np.allclose(frame["share"], told.frequencies)
    plan = jrr.plan(1_000, 1.0)
    rows = plan.to_frame()
    (chosen,) = rows[rows["chosen"]].to_dict("records")
    assert chosen["stderr"] == pytest.approx(plan.stderr())
    assert chosen["ε dealer"] == plan.guarantees["dealer"]


def test_without_pandas_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("jrr._base.shown.import_module", missing)
    with pytest.raises(MissingExtraError, match="pandas"):
        estimate().to_frame()
