"""A study as survey researchers run it: what masked answers, RR and open answers say of it.

2,000 people are invited, 60% respond, men less often than women; two waves ask other people, in
three departments. Estimated are the shares, groups, a difference of groups, the change between the
waves, the poststratified share, and a logistic regression on department and gender, at ε = 1.

    python -m benchmarks.whole_study [surveys]
"""

import sys
from typing import Any

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
Found = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]  # estimates, standard errors


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


def cells_by(way: str, dept: Any, gender: Any, held: Any, rng: np.random.Generator) -> Cells:
    """The answers of a wave, made one way."""
    by = {"dept": dept, "gender": gender}
    if way != "MRR":
        mechanism: Any = jrr.RR(p=1.0) if way == "open" else jrr.RR(epsilon=EPSILON)
        return cells_of(SensitiveItem(mechanism, mechanism.respond(held, rng=rng)), by)
    masked = jrr.MRR.for_epsilon(EPSILON, n=INVITED)
    cards = masked.deal(rng)[: len(held)]
    names = [f"{d} × {g}" for d, g in zip(dept, gender, strict=True)]
    sums = masked.announce_cells(cards, names, rng=rng)
    item = SensitiveItem(masked, masked.respond(held, cards, rng), carded=True)
    return cells_of(item, by, announced=sums)


def study(rng: np.random.Generator) -> dict[str, dict[str, tuple[float, float]]]:
    """Way -> what is estimated -> estimate and standard error."""
    people = []
    for wave in (0, 1):
        dept, gender = rng.choice(DEPARTMENTS, INVITED, p=SHARES), rng.choice(["f", "m"], INVITED)
        came = rng.random(INVITED) < np.where(gender == "f", RESPONSE["f"], RESPONSE["m"])
        dept, gender = dept[came], gender[came]
        held = (rng.random(len(dept)) < chance(dept, gender, wave)).astype(int)
        people.append((dept, gender, held))
    shares = zip(DEPARTMENTS, SHARES, strict=True)
    margins = {("dept", "gender"): {(d, g): s for d, s in shares for g in "fm"}}
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for way in WAYS:
        first, second = (cells_by(way, *one, rng) for one in people)
        groups = first.groups("dept", population="sample")
        by = {group.name: group.estimate for group in groups}
        pair = next(p for p in groups.differences() if {p.first, p.second} == {"care", "plant"})
        sign = 1 if pair.first == "plant" else -1
        gap = pair.difference
        totals = [one.total(population="sample") for one in (first, second)]
        change = jrr.difference(totals[1], totals[0], same_deck=False)
        whole = first.weighted(margins).estimate
        fit = regress_cells(first, "dept + gender")
        at = {name: place for place, name in enumerate(fit.names)}

        def one(estimate: Any) -> tuple[float, float]:
            return float(estimate.frequencies[1]), float(estimate.stderr[1])

        def slope(name: str, fit: Any = fit, at: Any = at) -> tuple[float, float]:
            return float(fit.coefficients[at[name]]), float(fit.stderr[at[name]])

        found[way] = {
            "share of those who respond": one(totals[0]),
            "share of the plant": one(by["plant"]),
            "plant minus care": (sign * float(gap.frequencies[1]), float(gap.stderr[1])),
            "change between waves": one(change),
            "poststratified share": one(whole),
            "log odds, plant": slope("dept=plant"),
            "log odds, men": slope("gender=m"),
        }
    return found


def table(surveys: int, seed: int = 1) -> dict[str, dict[str, tuple[float, float]]]:
    """What is estimated -> way -> median standard error and how often 95% intervals hold."""
    rng, true = np.random.default_rng(seed), truths()
    runs = [study(rng) for _ in range(surveys)]
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for name, truth in true.items():
        rows[name] = {}
        for way in WAYS:
            values, errors = np.array([run[way][name] for run in runs]).T
            held = np.abs(values - truth) <= 1.96 * errors
            rows[name][way] = float(np.median(errors)), float(held.mean())
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
