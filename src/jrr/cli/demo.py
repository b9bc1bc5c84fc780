"""`jrr demo`: a whole survey, several ways side by side."""

import time
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from jrr.cli.options import console, dealer_cap, dealer_options, json_option, print_json
from jrr.demo import Survey, run
from jrr.errors import MissingExtraError
from jrr.randomness import SeededRandom

NAMES = {"rr": "RR", "jrr": "JRR", "drr": "DRR"}
FAMILIES = ("auto", *NAMES)


@click.command()
@click.option("-n", "n", type=int, default=10_000, show_default=True, help="Contributors.")
@click.option("--yes", type=float, default=0.1, show_default=True, help="True share of yes.")
@click.option("-e", "--epsilon", type=float, default=0.1, show_default=True, help="ε (cards).")
@click.option("-M", "--colluders", type=int, default=5, show_default=True, help="Colluders.")
@click.option("--mechanism", type=click.Choice(FAMILIES), default="auto", show_default=True)
@click.option("--seed", type=int, help="Reproducible run; without it randomness is secure.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("jrr-demo"),
    show_default=True,
    help="Directory for the picture.",
)
@dealer_options
@json_option
def demo(
    seed: int | None,
    out: Path,
    as_json: bool,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    **survey: Any,
) -> None:
    """Run a complete survey in this process: plan, deal, respond, tally, estimate.

    RR, JRR and DRR answer the same question; prints estimates with error bars beside the
    truth and draws them.
    """
    start = time.perf_counter()
    screen = console()
    rng = None if seed is None else SeededRandom(seed)
    cap = dealer_cap(survey["epsilon"], dealer_epsilon, no_dealer_cap)
    if as_json:
        result = run(rng=rng, dealer_epsilon=cap, **survey)
    else:
        with screen.status("planning") as status:
            result = run(rng=rng, dealer_epsilon=cap, progress=status.update, **survey)
        screen.print(_table(result))
    picture = _draw(result, out)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(summary(result, seconds))
        return
    chosen = result.outcomes[result.chosen]
    low, high = chosen.estimate.interval()
    inside = "inside" if low[1] <= result.truth <= high[1] else "outside"
    screen.print(f"Chosen: {chosen.mechanism!r}; the truth is {inside} its 95% interval.")
    if cap is None:
        screen.print("NO CAP ON THE DEALER was asked for.", style="bold")
    screen.print(picture)


def summary(result: Survey, seconds: float) -> dict[str, Any]:
    """The one line of JSON."""
    chosen = result.outcomes[result.chosen]
    low, high = chosen.estimate.interval()
    return {
        "reports": chosen.estimate.n,
        "truth": result.truth,
        "estimate": float(chosen.estimate.frequencies[1]),
        "stderr": float(chosen.estimate.stderr[1]),
        "interval": [float(low[1]), float(high[1])],
        "rr_stderr": float(result.outcomes["rr"].estimate.stderr[1]),
        "mechanism": chosen.mechanism.name,
        "seconds": round(seconds, 3),
    }


def _draw(result: Survey, out: Path) -> str:
    try:
        from jrr.plots import draw_survey

        out.mkdir(parents=True, exist_ok=True)
        return f"Picture: {draw_survey(result, out / 'survey.png')}"
    except MissingExtraError as error:
        return f"No picture: {error}"


def _table(result: Survey) -> Table:
    request = result.outcomes["rr"].plan.request
    table = Table(
        title=f"{result.n:,} people, {100 * result.truth:g}% yes, ε = {request.epsilon:g} against "
        f"the collector and {request.colluders} colluders",
        title_justify="left",
    )
    for heading in ("", "estimate", "standard error", "95% interval", "variance / RR's"):
        table.add_column(heading, justify="left" if not heading else "right")
    plain = result.outcomes["rr"].plan.stderr(result.truth)
    for family, name in NAMES.items():
        estimate = result.outcomes[family].estimate
        low, high = estimate.interval()
        error = float(estimate.stderr[1])
        table.add_row(
            name,
            f"{100 * estimate.frequencies[1]:.2f}%",
            f"±{100 * error:.2f}",
            f"{100 * low[1]:.1f}% to {100 * high[1]:.1f}%",
            f"{(result.outcomes[family].plan.stderr(result.truth) / plain) ** 2:.3f}",
        )
    return table
