"""`jrr demo`: a whole survey, several ways side by side."""

import math
import time
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from jrr._base.wording import show_epsilon
from jrr.cli.options import dealer_cap, dealer_options, seeded
from jrr.cli.output import Line, json_option, make_table, show
from jrr.cli.progress import steps
from jrr.cli.values import COUNT, FOLDER, CountRange
from jrr.errors import ArgumentError, MissingExtraError
from jrr.research.demo import NAMES, VANISHING, DemoSurvey, demo_summary, run, write_demo_page

FAMILIES = ("auto", *NAMES)


@click.command()
@click.option("-n", "n", type=COUNT, default=10_000, help="Contributors.")
@click.option("--yes", type=float, default=0.1, help="True share of yes.")
@click.option("-e", "--epsilon", type=float, default=1.0, help="ε.")
@click.option(
    "--vanishing",
    type=float,
    default=VANISHING,
    help="Share of people who take a card and never report.",
)
@click.option("-M", "--colluders", type=COUNT, default=5, help="Colluders.")
@click.option("--mechanism", type=click.Choice(FAMILIES), default="auto")
@click.option("--in-process", is_flag=True, help="Without servers: everything in one process.")
@click.option("--seed", type=int, help="Reproducible, in process; without it randomness is secure.")
@click.option("--committee", is_flag=True, help="No dealer: three parties deal together.")
@click.option(
    "--dealers",
    type=CountRange(1, 16),
    default=1,
    help="Several dealers, whose cards everybody adds: one honest one is enough.",
)
@click.option("--postgres", is_flag=True, help="Servers on PostgreSQL instead of SQLite.")
@click.option(
    "--out", type=FOLDER, default=Path("jrr-demo"), help="Directory for the report and its picture."
)
@dealer_options
@json_option
def demo(
    *,
    in_process: bool,
    seed: int | None,
    committee: bool,
    dealers: int,
    postgres: bool,
    out: Path,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    **survey: Any,
) -> None:
    """Run a complete survey: a dealer, a collector, and every contributor over HTTP.

    Starts both servers as processes of their own with embedded databases, invites everybody,
    lets everybody answer but a few who vanish with their card, lets the dealer announce the sum of
    the cards that were used, burns the cards, estimates, and stops. RR, JRR, DRR and MRR are also
    run in this process at the same ε, for comparison beside the truth.
    """
    start = time.perf_counter()
    cap = dealer_cap(dealer_epsilon, no_dealer_cap)
    networked = not in_process and seed is None
    if not networked and (postgres or committee or dealers > 1):
        raise ArgumentError(
            "--postgres, --committee and --dealers must not be given together with --in-process or "
            "--seed"
        )
    if committee and dealers > 1:
        raise ArgumentError("--committee and --dealers must not be given together")
    with steps() as step:
        result = run(
            rng=seeded(seed), dealer_epsilon=cap, progress=lambda doing: step(doing, 0, 1), **survey
        )
        if networked:
            try:
                from jrr.research.demonstration import over_http
            except ModuleNotFoundError as error:
                needs = f"jrr demo needs {error.name}, or --in-process"
                raise MissingExtraError(needs, "demo") from None
            result = over_http(
                result, committee=committee, dealers=dealers, postgres=postgres, progress=step
            )
    seconds = time.perf_counter() - start
    facts = demo_summary(result, seconds)
    how = "They answered in one process."
    if networked:
        how = "They answered over HTTP"
        if committee:
            how += ", with cards that three parties dealt together"
        elif dealers > 1:
            how += f", with a card from each of {dealers} dealers"
        how += "."
    written = write_demo_page(result, facts, out, how=how, committee=committee)
    chosen = result.outcomes[result.chosen]
    low, high = facts["interval"]
    inside = "inside" if low <= result.truth <= high else "outside"
    lines: list[Line] = [
        _table(result, networked),
        f"Chosen: {chosen.mechanism.brief()}; the truth is {inside} its 95% interval.",
    ]
    if cap == math.inf:
        lines.append(Text("NO CAP ON THE DEALER was asked for.", style="bold"))
    show(facts, *lines, f"{written} ({seconds:.1f} seconds)" if networked else written)


def _table(result: DemoSurvey, over_http: bool) -> Table:
    request = result.outcomes["rr"].plan.request
    plain = float(result.outcomes["rr"].estimate.stderr[1])
    rows = []
    for family, name in NAMES.items():
        plan, estimate = result.outcomes[family].plan, result.outcomes[family].estimate
        low, high = estimate.interval()
        error = float(estimate.stderr[1])
        rows.append(
            (
                f"{name} (over HTTP)" if over_http and family == result.chosen else name,
                f"{100 * estimate.frequencies[1]:.2f}%",
                f"±{100 * error:.2f}",
                f"{100 * low[1]:.1f}% to {100 * high[1]:.1f}%",
                f"{(error / plain) ** 2:.3f}",
                show_epsilon(plan.everything()),
                show_epsilon(plan.guarantees["dealer"]),
            )
        )
    headings = ("", "estimate", "standard error", "95% interval", "variance / RR's")
    return make_table(
        (*headings, "ε, all else known", "ε, with dealer"),
        rows,
        title=f"{result.n:,} people, {100 * result.truth:.3g}% yes, ε = {request.epsilon:g} in the "
        f"view cards, {request.colluders} colluders, {result.vanished:,} vanished with a card",
    )
