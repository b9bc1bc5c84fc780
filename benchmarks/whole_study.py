"""A study as survey researchers run it: what masked answers, RR and open answers say of it.

2,000 people are invited to two waves; 60% respond to each, men less often than women, and about 37%
to both. There are three departments. Estimated are the shares, groups, a difference of groups, the
change between the waves among everybody and among those who answered both, the poststratified
share, and a logistic regression on department and gender, at ε = 1. Intervals are those that users
see; that of the change among pairs is of these very people.

    python -m benchmarks.whole_study [surveys]
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

import jrr
from jrr.analysis import SensitiveItem, cells_of, regress_cells
from jrr.estimation.cell_tallies import Cells

INVITED, EPSILON, SURVEYS = 2_000, 1.0, 200
DEPARTMENTS, SHARES = np.array(["care", "office", "plant"]), np.array([0.3, 0.3, 0.4])
COEFFICIENTS = np.array([-1.2, 0.5, 0.9, 0.6])  # constant, office, plant, men
GROWTH = 0.4  # of everybody's logarithm of odds between the waves
RESPONSE = {"f": 0.7, "m": 0.5}
WAYS = ("open", "RR", "MRR")
Found = dict[str, tuple[float, bool]]  # standard error, whether the interval held


def chance(dept: Any, gender: Any, wave: int) -> Any:
    """Of a yes."""
    constant, office, plant, men = COEFFICIENTS
    eta = constant + office * (dept == "office") + plant * (dept == "plant")
    return expit(eta + men * (gender == "m") + GROWTH * wave)


def truths() -> dict[str, float]:
    """Of the population that people are drawn from; those who respond are drawn from it too."""
    cells = [(d, g, s / 2) for d, s in zip(DEPARTMENTS, SHARES, strict=True) for g in "fm"]
    answered = [(d, g, s * RESPONSE[g]) for d, g, s in cells]

    def share(some: Any, wave: int = 0) -> float:
        return float(sum(s * chance(d, g, wave) for d, g, s in some) / sum(s for _, _, s in some))

    of = {d: share([one for one in answered if one[0] == d]) for d in DEPARTMENTS}
    return {
        "share of those who respond": share(answered),
        "share of the plant": of["plant"],
        "plant minus care": of["plant"] - of["care"],
        "change between waves": share(answered, 1) - share(answered),
        "poststratified share": share(cells),
        "log odds, plant": COEFFICIENTS[2],
        "log odds, men": COEFFICIENTS[3],
    }


class Wave(NamedTuple):
    """Those who answered one wave."""

    by: dict[str, NDArray[Any]]  # department and gender
    held: NDArray[np.int64]
    both: NDArray[np.bool_]  # who answered the other wave too

    def cells(self, way: str, first: bool, rng: np.random.Generator) -> tuple[Cells, Cells]:
        """Everybody's cells, and those of the people who answered both waves."""
        if way != "MRR":
            mechanism: Any = jrr.RR(p=1.0) if way == "open" else jrr.RR(epsilon=EPSILON)
            by = self.by | {"both": np.where(self.both, "yes", "no")}
            cells = cells_of(SensitiveItem(mechanism, mechanism.respond(self.held, rng=rng)), by)
            return cells, cells.among("both", "yes")
        sums = 2 if first else 1  # announced of each card of the first wave
        masked = jrr.plan(INVITED, EPSILON, mechanism="mrr", announced=sums).mechanism
        cards = masked.deal(rng)[: len(self.held)]
        reports = masked.respond(self.held, cards, rng)
        everybody = self._told(masked, cards, reports, slice(None), not first, rng)
        if first:  # announced once more, of those who answered the second wave too
            return everybody, self._told(masked, cards, reports, self.both, False, rng)
        return everybody, everybody.among("both", "yes")

    def _told(
        self, masked: Any, cards: Any, reports: Any, some: Any, crossed: bool, rng: Any
    ) -> Cells:
        """Cells by department and gender, in the second wave crossed by who answered the first."""
        by = {name: column[some] for name, column in self.by.items()}
        if crossed:
            by["both"] = np.where(self.both, "yes", "no")
        names = [" × ".join(answers) for answers in zip(*by.values(), strict=True)]
        sums = masked.announce_cells(cards[some], names, rng=rng)
        return cells_of(SensitiveItem(masked, reports[some], carded=True), by, announced=sums)


def people(rng: np.random.Generator) -> tuple[Wave, Wave]:
    """Seven in ten say in the second wave what follows from what they said in the first."""
    dept, gender = rng.choice(DEPARTMENTS, INVITED, p=SHARES), rng.choice(["f", "m"], INVITED)
    likely = np.where(gender == "f", RESPONSE["f"], RESPONSE["m"])
    came = [rng.random(INVITED) < likely for _ in (0, 1)]
    lot = rng.random(INVITED)
    lots = [lot, np.where(rng.random(INVITED) < 0.7, lot, rng.random(INVITED))]
    held = [(lots[wave] < chance(dept, gender, wave)).astype(int) for wave in (0, 1)]
    first, second = (
        Wave({"dept": dept[came[at]], "gender": gender[came[at]]}, held[at][came[at]],
             came[1 - at][came[at]])
        for at in (0, 1)
    )  # fmt: skip
    return first, second


def study(rng: np.random.Generator) -> dict[str, Found]:
    """Way -> what is estimated -> standard error, and whether the interval holds the truth."""
    waves, true = people(rng), truths()
    shares = zip(DEPARTMENTS, SHARES, strict=True)
    margins = {("dept", "gender"): {(d, g): s for d, s in shares for g in "fm"}}
    pairs = [wave.held[wave.both].mean() for wave in waves]
    true["change of those in both waves"] = pairs[1] - pairs[0]
    found: dict[str, Found] = {}
    for way in WAYS:
        (first, before), (second, after) = (
            wave.cells(way, at == 0, rng) for at, wave in enumerate(waves)
        )
        groups = first.groups("dept", population="sample")
        by = {group.name: group.estimate for group in groups}
        gap = jrr.difference(by["plant"], by["care"], same_deck=True)
        totals = [one.total(population="sample") for one in (first, second)]
        both = int(waves[0].both.sum())
        told: dict[str, Any] = {
            "share of those who respond": totals[0],
            "share of the plant": by["plant"],
            "plant minus care": gap,
            "change between waves": jrr.difference(
                totals[1], totals[0], same_deck=False, shared=both
            ),
            "change of those in both waves": jrr.difference(
                after.total(), before.total(), same_deck=False, shared=both
            ),
            "poststratified share": first.weighted(margins).estimate,
        }
        found[way] = {name: _of_share(estimate, true[name]) for name, estimate in told.items()}
        fit = regress_cells(first, "dept + gender")
        low, high = fit.interval()
        for name, said in {"dept=plant": "log odds, plant", "gender=m": "log odds, men"}.items():
            at = fit.names.index(name)
            found[way][said] = float(fit.stderr[at]), bool(low[at] <= true[said] <= high[at])
    return found


def _of_share(estimate: Any, truth: float) -> tuple[float, bool]:
    low, high = estimate.interval()
    return float(estimate.stderr[1]), bool(low[1] <= truth <= high[1])


def table(surveys: int, seed: int = 1) -> dict[str, dict[str, tuple[float, float]]]:
    """What is estimated -> way -> median standard error and how often 95% intervals hold."""
    rng = np.random.default_rng(seed)
    runs = [study(rng) for _ in range(surveys)]
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for name in runs[0][WAYS[0]]:
        rows[name] = {}
        for way in WAYS:
            errors, held = zip(*(run[way][name] for run in runs), strict=True)
            rows[name][way] = float(np.median(errors)), float(np.mean(held))
    return rows


def main() -> None:
    """Print the table."""
    surveys = int(sys.argv[1]) if len(sys.argv) > 1 else SURVEYS
    rows = table(surveys)
    print(f"| standard error (intervals that hold), {surveys} studies | open | RR | MRR |")
    print("|---|---|---|---|")
    for name, ways in rows.items():
        cells = (f"{error:.3f} ({held:.1%})" for error, held in ways.values())
        print(f"| {name} | {' | '.join(cells)} |")
    held = np.mean([ways["MRR"][1] for ways in rows.values()])
    print(f"All intervals of MRR together: {held:.1%}")


if __name__ == "__main__":
    main()
