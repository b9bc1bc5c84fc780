"""`jrr simulate`: how a planned survey would come out, many times."""

import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from jrr._base import checks
from jrr._base.randomness import SeededRandom
from jrr.cli.options import console, json_option, make_plan, print_json, survey_options
from jrr.cli.progress import bar
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism, Rng
from jrr.mechanisms.dealt import even_deck
from jrr.mechanisms.simulation import as_generator, simulate
from jrr.research.paper.catalogue import DATA_SETS, SENSITIVE

LEVELS = (0.025, 0.5, 0.975)
CELLS = 2_000_000  # counts simulated at a time: a fraction of a second


@click.command("simulate")
@survey_options
@click.option("--yes", type=float, default=0.1, show_default=True, help="True share of answer 1.")
@click.option("--counts", help="True counts of all answers, such as 700,200,100, instead of --yes.")
@click.option(
    "--question",
    help="A real question as a whole survey: alcohol, affair, HIV, drugs, ..., Kosarak, Census.",
)
@click.option("--runs", type=int, default=10_000, show_default=True, help="Surveys to simulate.")
@click.option("--seed", type=int, help="Reproducible run; else seeded by the system.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    yes: float,
    counts: str | None,
    question: str | None,
    runs: int,
    seed: int | None,
    as_json: bool,
    **survey: Any,
) -> None:
    """Simulate whole surveys, exactly in distribution, and compare with theory.

    \b
    jrr simulate -n 10000 -e 0.1 --yes 0.1
    jrr simulate -n 1000 -k 3 --counts 700,200,100
    jrr simulate -e 1 --question HIV
    """  # noqa: D301 - click reads the \b
    if question is not None:
        _alone(context)
        known = {entry.name: entry for entry in (*SENSITIVE, *DATA_SETS)}
        entry = known[checks.one_of("question", question, tuple(known))]
        survey["n"], counts = entry.n, f"{entry.n - entry.ones},{entry.ones}"
    made = make_plan(**survey)
    n, k = made.request.n, made.request.k
    true = _parsed(counts) if counts is not None else _with_share(yes, n, k)
    rng = None if seed is None else SeededRandom(seed)
    runs = checks.integer("runs", runs, 1)
    with bar("simulating", as_json) as progress:
        estimates = _estimates(made.mechanism, true, runs, rng, progress)
    people = sum(true)
    quantiles = [float(value) / people for value in np.quantile(estimates, LEVELS)]
    truth = true[1] / people
    mean = float(estimates.mean()) / people
    theory = math.sqrt(float(made.mechanism.variance(true)[1])) / people
    simulated = math.sqrt(float(np.mean((estimates - true[1]) ** 2))) / people
    if as_json:
        print_json(
            {
                "mechanism": made.mechanism.to_dict(),
                "dealer_capped": made.request.dealer_epsilon is not None,
                "runs": runs,
                "people": people,
                "truth": truth,
                "mean": mean,
                "stderr_theory": theory,
                "stderr_simulated": simulated,
                "quantiles": dict(zip(map(str, LEVELS), quantiles, strict=True)),
            }
        )
        return
    screen = console()
    missing = f" ({n - people:,} of {n:,} do not report)" if people < n else ""
    low, middle, high = (100 * value for value in quantiles)
    screen.print(f"{made.mechanism.brief()}, {runs:,} surveys of {people:,} people{missing}")
    screen.print(f"true share of answer 1:  {100 * truth:.3f}%")
    screen.print(f"mean estimate:           {100 * mean:.3f}%")
    screen.print(f"median, central 95%:     {middle:.2f}%, {low:.2f}% to {high:.2f}%")
    screen.print(f"standard error, theory:  {100 * theory:.4f} points")
    screen.print(f"root mean square error:  {100 * simulated:.4f} points")
    if made.request.dealer_epsilon is None and made.mechanism.deals:
        screen.print("NO CAP ON THE DEALER was asked for.", style="bold")


def _alone(context: click.Context) -> None:
    """Refuse what a real question brings with it: its people and their answers."""
    for name, option in (("n", "-n"), ("k", "-k"), ("yes", "--yes"), ("counts", "--counts")):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise ArgumentError(
                f"{option} must be left out with --question, which has its own people"
            )


def _estimates(
    mechanism: Mechanism,
    true: list[int],
    runs: int,
    rng: Rng,
    progress: Callable[[int, int | None], None],
) -> Floats:
    """Estimated counts of answer 1, some surveys at a time: numpy cannot be interrupted."""
    generator = as_generator(rng)
    each = max(1, CELLS // mechanism.k)
    parts = []
    for done in range(0, runs, each):
        parts.append(simulate(mechanism, true, min(each, runs - done), generator)[:, 1].copy())
        progress(min(done + each, runs), runs)
    return np.concatenate(parts)


def _parsed(counts: str) -> list[int]:
    try:
        return [int(part) for part in counts.split(",")]
    except ValueError:
        raise ArgumentError(
            f"counts must be whole numbers separated by commas, got counts={counts!r}"
        ) from None


def _with_share(yes: float, n: int, k: int) -> list[int]:
    """A share of answer 1, all others alike."""
    ones = round(checks.real("yes", yes, "in 0..1", 0.0, 1.0) * n)
    first, *others = even_deck(n - ones, k - 1)
    return [first, ones, *others]
