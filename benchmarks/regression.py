"""Standard errors of a regression by mechanism: the table of docs/analysis.md.

Run: python -m benchmarks.regression (two minutes)
"""

import itertools

import numpy as np
from scipy.special import expit

import jrr
from jrr.analysis import Regression, SensitiveItem, cells_of, regress, regress_cells

TRUE = np.array([-1.0, 0.8, 0.5])
CELLS = {
    f"{age} × {south}": {"decades": age, "south": south}
    for age, south in itertools.product((-1.5, -0.5, 0.5, 1.5), (0, 1))
}
SIZE, SURVEYS = 250, 20
PEOPLE = SIZE * len(CELLS)
NAMES = np.repeat(list(CELLS), SIZE)
COLUMNS = {key: [CELLS[name][key] for name in NAMES] for key in ("decades", "south")}


def survey(epsilon: float, rng: np.random.Generator) -> dict[str, Regression]:
    eta = [TRUE @ [1, row["decades"], row["south"]] for row in CELLS.values()]
    truth = (rng.random(PEOPLE) < expit(np.repeat(eta, SIZE))).astype(int)
    plain, dealt = jrr.RR(epsilon=epsilon), jrr.plan(PEOPLE, epsilon, mechanism="drr").mechanism
    closed = jrr.MRR.for_epsilon(epsilon, n=PEOPLE, lost=0.01, announced=False)
    items = {
        mechanism: SensitiveItem(mechanism, mechanism.respond(truth, mechanism.deal(rng), rng))
        for mechanism in (jrr.RR(p=1.0), plain, dealt, closed)
    }
    open_answers, by_rr, by_drr = (regress(items[m], COLUMNS) for m in list(items)[:3])
    masked = jrr.MRR.for_epsilon(epsilon, n=SIZE, announced=True)
    reports, sums = [], {}
    for name in CELLS:
        cards = masked.deal(rng)
        reports.append(masked.respond(truth[name == NAMES], cards, rng))
        sums[name] = masked.announce(cards, rng=rng)
    announced = SensitiveItem(masked, np.concatenate(reports))
    return {
        "open": open_answers,
        "RR": by_rr,
        "DRR": by_drr,
        "MRR closed, persons": regress(items[closed], COLUMNS),
        "MRR closed, groups": regress_cells(cells_of(items[closed], COLUMNS), COLUMNS),
        "MRR, sum each": regress_cells(cells_of(announced, COLUMNS, announced=sums), COLUMNS),
    }


def main() -> None:
    rng = np.random.default_rng(1)
    for epsilon in (0.5, 1.0, 2.0):
        errors: dict[str, list[float]] = {}
        for _ in range(SURVEYS):
            try:
                fits = survey(epsilon, rng)
            except jrr.JrrError:
                continue  # no finite coefficients
            for name, fit in fits.items():
                errors.setdefault(name, []).append(float(fit.stderr[1]))
        for name, found in errors.items():
            print(f"ε = {epsilon}: {name:20} {np.median(found):.3f} ({len(found)} surveys)")


if __name__ == "__main__":
    main()
