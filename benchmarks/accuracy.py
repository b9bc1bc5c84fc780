"""Mean squared errors against theory, and the peers as oracles of ours."""

import math
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.cases import Case, true_counts
from benchmarks.child import Child
from benchmarks.ours import mechanism

N = 1_000
RUNS = {2: 1_000, 64: 100}  # by k: 64 values say more in one run than 2
OURS_MORE = 10  # ours is fast: so many times the runs
MOST_Z = 4.0  # about one false alarm in a thousand benchmarks


def accuracy(case: Case, children: Mapping[str, Child]) -> dict[str, object]:
    """Empirical over theoretical mean squared error of the estimated counts, by contender."""
    theory = float(mechanism(case).variance(true_counts(N, case.k)).mean())
    measured = {}
    for name, child in children.items():
        runs = RUNS[case.k] * (1 if "ldp" in name else OURS_MORE)
        measured[name] = _summary(child.ask("errors", N, runs=runs)["errors"])
    ours = measured["ours"]
    rows = {
        name: {
            "mse_over_theory": mean / theory,
            "standard_error": error / theory,
            "z_against_theory": (mean - theory) / error,
            "z_against_ours": (mean - ours[0]) / math.hypot(error, ours[1]),
        }
        for name, (mean, error) in measured.items()
    }
    return {"case": case.name, "n": N, "theory_mse": theory, "contenders": rows}


def agreement(found: Mapping[str, object]) -> list[dict[str, object]]:
    """One result per contender: its error agrees with theory, and a peer's with ours."""
    results = []
    rows = found["contenders"]
    assert isinstance(rows, dict)
    for name, row in rows.items():
        worst = max(abs(row["z_against_theory"]), abs(row["z_against_ours"]))
        results.append(
            {
                "what": f"{found['case']} {name}, mean squared error against "
                + ("theory" if name == "ours" else "theory and ours"),
                "z": [row["z_against_theory"], row["z_against_ours"]],
                "at_most": MOST_Z,
                "kept": worst <= MOST_Z,
            }
        )
    return results


def _summary(errors: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return statistics.fmean(errors), statistics.stdev(errors) / math.sqrt(len(errors))
