"""`jrr study simulate`: how a planned survey would come out, many times."""

from typing import Any

import click
from rich.text import Text

from jrr.cli.options import is_given, make_plan, seeded, survey_options
from jrr.cli.output import Line, json_option, show
from jrr.cli.progress import bar
from jrr.cli.values import COUNT
from jrr.errors import ArgumentError
from jrr.research.simulated_surveys import counts_of_question, counts_with_share, simulate_surveys


@click.command()
@survey_options
@click.option("--yes", type=float, default=0.1, help="True share of answer 1.")
@click.option("--counts", help="True counts of all answers, such as 700,200,100, instead of --yes.")
@click.option(
    "--question",
    help="A real question as a whole survey: alcohol, affair, HIV, drugs, ..., Kosarak, Census.",
)
@click.option("--runs", type=COUNT, default=10_000, help="Surveys to simulate.")
@click.option("--seed", type=int, help="Reproducible run; else seeded by the system.")
@json_option
def simulate(
    *,
    yes: float,
    counts: str | None,
    question: str | None,
    runs: int,
    seed: int | None,
    **survey: Any,
) -> None:
    """Simulate whole surveys, exactly in distribution, and compare with theory.

    \b
    jrr study simulate -n 10000 -e 0.1 --yes 0.1
    jrr study simulate -n 1000 -k 3 --counts 700,200,100
    jrr study simulate -e 1 --question HIV
    """  # noqa: D301 - click reads the \b
    true_counts = None if counts is None else _parsed(counts)
    if question is not None:
        _refuse_people()
        true_counts = counts_of_question(question)
        survey["n"] = sum(true_counts)
    plan = make_plan(**survey)
    n, k, capped = plan.request.n, plan.request.k, plan.request.dealer_epsilon is not None
    if true_counts is None:
        true_counts = counts_with_share(yes, n, k)
    with bar("simulating") as progress:
        result = simulate_surveys(
            plan.mechanism, true_counts, runs, rng=seeded(seed), progress=progress
        )
    people = result.people
    missing = f" ({n - people:,} of {n:,} do not report)" if people < n else ""
    low, middle, high = (100 * value for value in result.quantiles.values())
    lines: list[Line] = [
        f"{plan.mechanism.brief()}, {runs:,} surveys of {people:,} people{missing}",
        f"true share of answer 1:  {100 * result.truth:.3f}%",
        f"mean estimate:           {100 * result.mean:.3f}%",
        f"median, central 95%:     {middle:.2f}%, {low:.2f}% to {high:.2f}%",
        f"standard error, theory:  {100 * result.stderr_theory:.4f} points",
        f"root mean square error:  {100 * result.stderr_simulated:.4f} points",
    ]
    if not capped and plan.mechanism.deals:
        lines.append(Text("NO CAP ON THE DEALER was asked for.", style="bold"))
    show(result.to_dict() | {"dealer_capped": capped}, *lines)


def _refuse_people() -> None:
    """Refuse what a real question brings with it: its people and their answers."""
    for name, option in (("n", "-n"), ("k", "-k"), ("yes", "--yes"), ("counts", "--counts")):
        if is_given(name):
            raise ArgumentError(
                f"{option} must be left out with --question, which has its own people"
            )


def _parsed(counts: str) -> list[int]:
    try:
        return [int(part) for part in counts.split(",")]
    except ValueError:
        raise ArgumentError(
            f"counts must be whole numbers separated by commas, got counts={counts!r}"
        ) from None
