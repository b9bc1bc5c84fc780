"""What notebooks show: the same rows as a table, a data frame, text and a picture."""

import html
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

import jrr
from jrr import tables
from jrr._base.shown import Shown, ShownDocument
from jrr.analysis import SensitiveItem, cells_of, regress, regress_outcome, two_way
from jrr.errors import MissingExtraError
from jrr.estimation.scale_means import scale_mean


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


def mean_result() -> tables.Result:
    frame = pd.DataFrame({"age": [20, 60] * 100, "place": ["north", "south"] * 100})
    options: dict[str, Any] = {"number": (0, 100), "epsilon": 2.0, "keep": ["place"]}
    path = Path("numbers.parquet")
    tables.perturb(frame, "age", path, rng=jrr.SeededRandom(1), force=True, **options)
    return tables.estimate(path, by="place")


def block() -> jrr.Estimate:
    m = jrr.MRR(300, own=3.0, card_rate=0.5, announced_rate=1.0, coin=jrr.Block((2, 3)))
    cards = m.deal(jrr.SeededRandom(1))
    reports = m.respond([[1, 2]] * 300, cards, jrr.SeededRandom(2))
    return m.estimate(reports, announced=m.announce(cards, rng=jrr.SeededRandom(3)))


def daily(change: bool) -> Any:
    rounds = jrr.Longitudinal(jrr.RR(p=0.8), jrr.RR(p=0.9))
    days = [[0] * 60 + [1] * 40, [0] * 50 + [1] * 50]
    return rounds.change(*days) if change else rounds.series(days)


def tree(bins: int, branching: int) -> Any:
    made = jrr.RangeTree.for_epsilon(0, 10, bins=bins, epsilon=3.0, branching=branching)
    return made.estimate(made.respond(np.arange(3_000) % 100 / 10, jrr.SeededRandom(1)))


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
    "group": lambda: result("place").groups[0],
    "differences of groups": lambda: result("place").groups.differences(),
    "differences of means by group": lambda: mean_result().mean_differences(),
    "block": block,
    "rounds": lambda: daily(change=False),
    "change of the same devices": lambda: daily(change=True),
    "ranges": lambda: tree(64, 4),
    "many ranges": lambda: tree(700, 700),
    "two phases": lambda: jrr.plan_two_phases(1_000, 1.0),
    "outcome": lambda: regress_outcome([0, 1] * 200, item([0, 1, 1, 1] * 100)),
    "outcome, linear": lambda: regress_outcome(
        np.arange(400.0), item([0, 1, 1, 1] * 100), link="identity"
    ),
    "regression": lambda: regress(item([0, 1, 1, 0, 1] * 40), {"age": [1, 2, 3, 4, 5] * 40}),
    "mean of a scale": lambda: scale_mean(estimate(), [1, 2, 3]),
    "weighted shares": lambda: cells_of(
        item([0, 1] * 100), {"place": ["north", "south"] * 100}
    ).weighted({"place": {"north": 1, "south": 3}}),
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


@pytest.mark.slow  # makes all of them once more
def test_every_result_is_among_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has rows was made above, so that a new kind of result is tried too."""
    monkeypatch.chdir(tmp_path)
    made = {type(make()) for make in MADE.values()}
    for module in {"jrr.estimation", "jrr.analysis", "jrr.planning", "jrr.telemetry", "jrr.tables"}:
        package = importlib.import_module(module)
        for found in pkgutil.walk_packages(package.__path__, f"{module}."):
            if "engines" not in found.name:
                importlib.import_module(found.name)
    kinds = {*Shown.__subclasses__(), *ShownDocument.__subclasses__()} - {ShownDocument}
    assert len(kinds) > 10
    assert kinds <= made


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


def test_rows_of_ranges_are_those_of_the_estimate() -> None:
    found = tree(64, 4)
    for row in found.to_rows(0.9):
        share, error = found.share(row["start"], row["end"])
        assert (row["share"], row["stderr"]) == pytest.approx((share, error))
        ends = found.share_interval(row["start"], row["end"], 0.9)
        assert (row["low"], row["high"]) == pytest.approx(ends)
    for some in (found, tree(700, 700), tree(2, 5)):
        frame = some.to_frame()
        assert frame["share"].sum() == pytest.approx(1.0)
        assert len(frame) <= 32
        assert frame["end"].tolist() == [*frame["start"].tolist()[1:], 10.0]


def test_without_pandas_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("jrr._base.shown.import_module", missing)
    with pytest.raises(MissingExtraError, match="pandas"):
        estimate().to_frame()


def test_differences_of_means_are_none_where_answers_are_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(result("place").mean_differences()) == []
