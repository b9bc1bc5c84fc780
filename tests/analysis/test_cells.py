"""Cells: every coarser result follows from them, with weights that are constant in a cell."""

import itertools
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis import Cells, SensitiveItem, cells_of
from jrr.errors import ArgumentError
from jrr.estimation.cell_tallies import Cell
from jrr.estimation.groups import estimate_groups
from jrr.estimation.masks import laplace_law
from jrr.estimation.tally import Tally

N = 300
DEPT, GENDER = np.array(["a", "a", "b"] * 100), np.array(["f", "m", "m", "f", "m"] * 60)
BY = {"dept": DEPT, "gender": GENDER}
MASKED = jrr.MRR.for_epsilon(1.0, n=N)


def announced_cells(
    seed: int = 8, merged: dict[str, list[str]] | None = None
) -> tuple[Cells, dict[str, Any]]:
    """Masked answers of everybody, with a sum for each cell."""
    rng = np.random.default_rng(seed)
    cards = MASKED.deal(rng)
    reports = MASKED.respond((DEPT == "b").astype(int), cards, rng)
    whole = {one: name for name, some in (merged or {}).items() for one in some}
    names = np.array([f"{d} × {g}" for d, g in zip(DEPT, GENDER, strict=True)])
    names = np.array([whole.get(name, name) for name in names])
    sums = MASKED.announce_cells(cards, names, rng=rng)
    item = SensitiveItem(MASKED, reports)
    return cells_of(item, BY, announced=sums, merged=merged, min_cell=5), sums


@pytest.mark.parametrize(
    "mechanism",
    [jrr.RR(k=3, epsilon=1.0), jrr.DRR(N, truth=0.5), jrr.JRR(N, p=0.7, s=0.2)],
    ids=str,
)
def test_groups_and_total_are_those_of_the_reports_themselves(mechanism: Any) -> None:
    rng = np.random.default_rng(7)
    reports = mechanism.respond(np.arange(N) % mechanism.k, mechanism.deal(rng), rng)
    item = SensitiveItem(mechanism, reports)
    cells = cells_of(item, BY, min_cell=1)
    for column in ("dept", "gender"):
        tallies = {name: mechanism.tally(reports[name == BY[column]]) for name in set(BY[column])}
        direct = estimate_groups(mechanism, tallies, min_cell=1)
        assert cells.groups(column).to_dict() == direct.to_dict()
    assert [group.name for group in cells.groups()] == ["a × f", "a × m", "b × f", "b × m"]
    assert cells.total().to_dict() == mechanism.estimate(reports).to_dict()
    assert cells_of(item, BY, min_cell=100).groups("gender").hidden == 0
    assert cells_of(item, BY, min_cell=101).groups("dept").hidden == 1
    assert cells.people is not None
    assert [cells.names()[at] for at in cells.people[:3]] == ["a × f", "a × m", "b × m"]


def test_noise_of_announced_sums_adds_up_with_the_cells() -> None:
    cells, sums = announced_cells()
    total = cells.total()
    single = [MASKED.estimate(cell.tally) for cell in cells.cells]
    assert total.counts == pytest.approx(np.sum([one.counts for one in single], axis=0))
    apart = np.sqrt(np.sum([one.count_stderr**2 for one in single], axis=0))
    assert total.count_stderr == pytest.approx(apart)
    assert total.strata[0].known.announcements == len(sums) == 4
    for name, share in (("a", 0.0), ("b", 1.0)):
        (group,) = (group for group in cells.groups("dept") if group.name == name)
        assert abs(group.estimate.frequencies[1] - share) < 4 * group.estimate.stderr[1] < 0.3
    (pair,) = cells.groups("dept").differences()
    errors = [group.estimate.stderr**2 for group in cells.groups("dept")]
    assert pair.difference.stderr**2 == pytest.approx(sum(errors))


def test_groups_that_share_a_merged_cell_are_one() -> None:
    cells, _ = announced_cells(merged={"few": ["a × f", "b × f"]})
    assert cells.names() == ["a × m", "b × m", "a × f + b × f"]
    assert [group.name for group in cells.groups("dept")] == ["a + b"]
    assert [group.name for group in cells.groups("gender")] == ["f", "m"]
    women = cells.groups("gender")[0].estimate
    assert women.n == int((GENDER == "f").sum())
    margins = {"dept": {"a": 60, "b": 40}, "gender": {"f": 1, "m": 1}}
    found = cells.weighted(margins)
    assert found.to_dict()["merged_margins"] == [["a", "b"]]
    sizes = np.array([cell.tally.n for cell in cells.cells])
    assert (found.weights * sizes)[2] == pytest.approx(N / 2)


@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.RR(k=3, epsilon=1.0),
        jrr.DRR(N, truth=0.5, k=3),
        jrr.JRR(N, p=0.7, s=0.2),
        jrr.MRR(N, own=3.0, card_rate=1.0, total_rate=0.2),
    ],
    ids=str,
)
def test_weights_of_cells_are_weights_of_people(mechanism: Any) -> None:
    """The second way: everybody's weight in one tally, whose variance is enumerated elsewhere."""
    rng = np.random.default_rng(9)
    reports = mechanism.respond(np.arange(N) % mechanism.k, mechanism.deal(rng), rng)
    cells = cells_of(SensitiveItem(mechanism, reports), BY)
    found = cells.weighted(
        {("dept", "gender"): {("a", "f"): 1, ("a", "m"): 2, ("b", "f"): 3, ("b", "m"): 4}},
        population="respondents",
    )
    assert cells.people is not None
    person = found.weights[cells.people]
    direct = mechanism.estimate(mechanism.tally(reports, weights=person))
    assert found.estimate.counts == pytest.approx(direct.counts)
    assert found.estimate.stderr == pytest.approx(direct.stderr)
    assert found.estimate.effective_n == pytest.approx(person.sum() ** 2 / (person**2).sum())
    assert [person[(d == DEPT) & (g == GENDER)].sum() for d in "ab" for g in "fm"] == pytest.approx(
        [30, 60, 90, 120]
    )


def test_weighted_masked_shares_by_enumeration() -> None:
    """Every coin and every noise of two cells of two people: unbiased, of the stated variance."""
    m = jrr.MRR(4, own=1.5, card_rate=0.7, announced_rate=1.3)
    truth = {("x",): (1, 0), ("y",): (1, 1)}
    keep = float(m.moments.p[0])
    noise = laplace_law(m.announced_rate)
    mean, variance, stated = 0.0, 0.0, []
    for moved, still in (("x", "y"), ("y", "x")):
        outcomes = []
        for coins in itertools.product((0, 1), repeat=2):
            chance = np.prod([keep if coin else 1 - keep for coin in coins])
            said = sum(x if coin else 1 - x for x, coin in zip(truth[moved,], coins, strict=True))
            outcomes += [
                (chance * c, said + int(z))
                for z, c in zip(noise.numbers, noise.chances, strict=True)
            ]
        values = []
        for _, total in outcomes[:: len(outcomes) // 40]:
            cells = _two_cells(m, {moved: total, still: 1})
            found = cells.weighted({"cell": {"x": 1, "y": 3}}, population="respondents")
            values.append((total, float(found.estimate.counts[1]), found.estimate.count_stderr[1]))
        # The estimate is linear in the sum, so a line through two outcomes holds them all.
        (low, at_low, error), (high, at_high, _) = values[0], values[-1]
        slope = (at_high - at_low) / (high - low)
        assert [v for _, v, _ in values] == pytest.approx(
            [at_low + slope * (total - low) for total, _, _ in values]
        )
        stated.append(error)
        chances, sums = np.array(outcomes).T
        expected = float(chances @ sums)
        mean += slope * expected
        variance += slope**2 * float(chances @ (sums - expected) ** 2)
    base = _two_cells(m, {"x": 0, "y": 0}).weighted({"cell": {"x": 1, "y": 3}})
    assert mean + float(base.estimate.counts[1]) == pytest.approx(0.5 * 1 + 1.5 * 2)
    assert stated == pytest.approx([np.sqrt(variance)] * 2)


def _two_cells(m: jrr.MRR, sums: dict[str, int]) -> Cells:
    return Cells(
        mechanism=m,
        by=("cell",),
        cells=tuple(
            Cell(
                Tally(
                    m.to_dict(),
                    carded=(2 - sums[name], sums[name]),
                    cardless=(0, 0),
                    n_carded=2,
                    n_cardless=0,
                    masked=True,
                    known=(0, 1, 2),  # type: ignore[arg-type]
                ),
                {(name,): 2},
            )
            for name in "xy"
        ),
    )


def test_poststratified_open_answers_have_the_textbook_error() -> None:
    """Σ W² f(1-f)/n of the cells: with no noise and all margins known."""
    m = jrr.RR(p=1.0)
    answers = ((np.arange(N) % 7 < 2) | ((DEPT == "b") & (np.arange(N) % 2 == 0))).astype(int)
    cells = cells_of(SensitiveItem(m, answers), BY)
    shares = {("a", "f"): 0.1, ("a", "m"): 0.3, ("b", "f"): 0.2, ("b", "m"): 0.4}
    found = cells.weighted({("dept", "gender"): shares}).estimate
    mean = variance = 0.0
    for (dept, gender), share in shares.items():
        some = answers[(dept == DEPT) & (gender == GENDER)]
        mean += share * some.mean()
        variance += share**2 * some.mean() * (1 - some.mean()) / len(some)
    assert found.frequencies[1] == pytest.approx(mean)
    assert found.stderr == pytest.approx(np.sqrt(variance))
    # A margin that says nothing new leaves the error of a plain sample.
    same = cells.weighted({"dept": {"a": 200, "b": 100}}).estimate
    plain = m.estimate(answers, population="sample")
    assert same.frequencies == pytest.approx(plain.frequencies)
    assert (same.stderr < plain.stderr).all()
    explained = np.mean([answers[name == DEPT].var() for name in DEPT])
    assert same.stderr[1] ** 2 == pytest.approx(explained / N, rel=0.02)


def test_refusals() -> None:
    cells, _ = announced_cells()
    with pytest.raises(ArgumentError, match="the survey was closed on their cells, no others"):
        cells.groups("age")
    with pytest.raises(ArgumentError, match="margins must be questions among"):
        cells.weighted({"age": {"old": 1}})
    with pytest.raises(ArgumentError, match="must say how many people are b, as some"):
        cells.weighted({"dept": {"a": 1}})
    with pytest.raises(ArgumentError, match="got c, which nobody did"):
        cells.weighted({"dept": {"a": 1, "b": 1, "c": 1}})
    with pytest.raises(ArgumentError, match="people of a must be a number in 1e-9"):
        cells.weighted({"dept": {"a": 0, "b": 1}})
    with pytest.raises(ArgumentError, match="at least one table"):
        cells.weighted({})
    item = SensitiveItem(MASKED, np.zeros(N, int), carded=True)
    with pytest.raises(ArgumentError, match="announced must be of the cells"):
        cells_of(item, {"dept": DEPT}, announced={"north": 1})
    with pytest.raises(ArgumentError, match="at least one open question"):
        cells_of(item, {})
    with pytest.raises(ArgumentError, match="weights must be the same for everybody whose cards"):
        cells_of(item, {"dept": DEPT}, weights=np.ones(N)).total()
    only = cells_of(SensitiveItem(jrr.RR(p=0.75), [0] * 40), {"x": [*"ab"] * 20, "y": [*"ab"] * 20})
    with pytest.raises(ArgumentError, match="weights fit them all"):
        only.weighted({"x": {"a": 1, "b": 1}, "y": {"a": 1, "b": 2}})
