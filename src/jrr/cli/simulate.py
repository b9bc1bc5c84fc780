"""`jrr simulate`: how a planned survey would come out, many times."""

import math
from typing import Any

import click
import numpy as np

from jrr import checks
from jrr.cli.options import console, json_option, make_plan, print_json, survey_options
from jrr.errors import JrrError
from jrr.randomness import SeededRandom
from jrr.simulate import simulate


@click.command("simulate")
@survey_options
@click.option("--yes", type=float, default=0.1, show_default=True, help="True share of answer 1.")
@click.option("--counts", help="True counts of all answers, such as 700,200,100, instead of --yes.")
@click.option("--runs", type=int, default=10_000, show_default=True, help="Surveys to simulate.")
@click.option("--seed", type=int, help="Reproducible run; without it randomness is secure.")
@json_option
def command(
    yes: float, counts: str | None, runs: int, seed: int | None, as_json: bool, **survey: Any
) -> None:
    """Simulate whole surveys, exactly in distribution, and compare with theory.

    \b
    jrr simulate -n 10000 -e 0.1 --yes 0.1
    jrr simulate -n 1000 -k 3 --counts 700,200,100
    """  # noqa: D301 - click reads the \b
    made = make_plan(**survey)
    true = _counts(counts, yes, made.request.n, made.request.k)
    rng = None if seed is None else SeededRandom(seed)
    estimates = simulate(made.mechanism, true, runs, rng)[:, 1]
    expected = math.sqrt(float(made.mechanism.variance(true)[1]))
    n = int(true.sum())
    result = {
        "mechanism": made.mechanism.to_dict(),
        "runs": runs,
        "truth": float(true[1]) / n,
        "mean": float(estimates.mean()) / n,
        "stderr_theory": expected / n,
        "stderr_simulated": float(np.sqrt(np.mean((estimates - true[1]) ** 2))) / n,
        "quantiles": {
            f"{level:g}": float(value) / n
            for level, value in zip(
                (0.025, 0.5, 0.975), np.quantile(estimates, (0.025, 0.5, 0.975)), strict=True
            )
        },
    }
    if as_json:
        print_json(result)
        return
    screen = console()
    low, middle, high = (100 * value for value in result["quantiles"].values())  # type: ignore[attr-defined]
    screen.print(f"{made.mechanism!r}, {runs:,} surveys of {n:,} people")
    screen.print(f"true share of answer 1:  {100 * result['truth']:.3f}%")  # type: ignore[operator]
    screen.print(f"mean estimate:           {100 * result['mean']:.3f}%")  # type: ignore[operator]
    screen.print(f"median, central 95%:     {middle:.2f}%, {low:.2f}% to {high:.2f}%")
    screen.print(f"standard error, theory:  {100 * expected / n:.4f} points")
    screen.print(f"standard error, runs:    {100 * result['stderr_simulated']:.4f} points")  # type: ignore[operator]


def _counts(
    counts: str | None, yes: float, n: int, k: int
) -> "np.ndarray[Any, np.dtype[np.int64]]":
    if counts is not None:
        try:
            return np.array([int(part) for part in counts.split(",")], np.int64)
        except ValueError:
            raise JrrError(
                f"counts must be whole numbers separated by commas, got counts={counts!r}"
            ) from None
    yes = checks.real("yes", yes, "in 0..1", 0.0, 1.0)
    ones = round(yes * n)
    others = np.array([(n - ones) // (k - 1)] * k, np.int64)
    others[: (n - ones) % (k - 1) + 1] += 1
    others[1] = ones
    others[0] += n - others.sum()
    return others
