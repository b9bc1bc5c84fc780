"""`jrr demo`: a whole survey, several ways side by side."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from jrr._base.randomness import SecureRandom, SeededRandom, shuffled
from jrr.cli.options import console, dealer_cap, dealer_options, json_option, print_json
from jrr.cli.progress import steps
from jrr.errors import ArgumentError, MissingExtraError
from jrr.mechanisms.registry import mechanism_class
from jrr.reporting import page
from jrr.reporting.explain import OUTSIDE, adversaries, contributor_text
from jrr.research.demo import DemoSurvey, run

NAMES = {"rr": "RR", "jrr": "JRR", "drr": "DRR"}
LONG = {family: f"{mechanism_class(name).title} ({name})" for family, name in NAMES.items()}
FAMILIES = ("auto", *NAMES)


@click.command()
@click.option("-n", "n", type=int, default=10_000, show_default=True, help="Contributors.")
@click.option("--yes", type=float, default=0.1, show_default=True, help="True share of yes.")
@click.option("-e", "--epsilon", type=float, default=0.1, show_default=True, help="ε (cards).")
@click.option("-M", "--colluders", type=int, default=5, show_default=True, help="Colluders.")
@click.option("--mechanism", type=click.Choice(FAMILIES), default="auto", show_default=True)
@click.option("--in-process", is_flag=True, help="Without servers: everything in one process.")
@click.option("--seed", type=int, help="Reproducible, in process; without it randomness is secure.")
@click.option("--committee", is_flag=True, help="No dealer: three parties deal together.")
@click.option("--postgres", is_flag=True, help="Servers on PostgreSQL instead of SQLite.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("jrr-demo"),
    show_default=True,
    help="Directory for the report and its picture.",
)
@dealer_options
@json_option
def demo(
    in_process: bool,
    seed: int | None,
    committee: bool,
    postgres: bool,
    out: Path,
    as_json: bool,
    dealer_epsilon: float | None,
    no_dealer_cap: bool,
    **survey: Any,
) -> None:
    """Run a complete survey: a dealer, a collector, and every contributor over HTTP.

    Starts both servers as processes of their own with embedded databases, invites everybody,
    lets everybody answer, burns the cards, estimates, and stops. RR, JRR and DRR are also run in
    this process, for comparison beside the truth.
    """
    start = time.perf_counter()
    screen = console()
    rng = None if seed is None else SeededRandom(seed)
    cap = dealer_cap(survey["epsilon"], dealer_epsilon, no_dealer_cap)
    with steps(quiet=as_json) as step:
        result = run(
            rng=rng, dealer_epsilon=cap, progress=lambda doing: step(doing, 0, 1), **survey
        )
        over_http = not in_process and seed is None
        if over_http:
            result = _over_http(result, committee, postgres, step)
        elif postgres or committee:
            raise ArgumentError(
                "--postgres and --committee must not be given together with --in-process or --seed"
            )
    seconds = time.perf_counter() - start
    facts = summary(result, seconds)
    how = "They answered in one process."
    if over_http:
        how = "They answered over HTTP" + (
            ", with cards that three parties dealt together." if committee else "."
        )
    written = _write(result, facts, how, committee, out)
    if as_json:
        print_json(facts)
        return
    screen.print(_table(result, over_http))
    chosen = result.outcomes[result.chosen]
    low, high = chosen.estimate.interval()
    inside = "inside" if low[1] <= result.truth <= high[1] else "outside"
    screen.print(f"Chosen: {chosen.mechanism.brief()}; the truth is {inside} its 95% interval.")
    if cap is None:
        screen.print("NO CAP ON THE DEALER was asked for.", style="bold")
    screen.print(f"{written} ({seconds:.1f} seconds)" if over_http else written)


def _over_http(
    result: DemoSurvey, committee: bool, postgres: bool, step: Callable[[str, int, int], None]
) -> DemoSurvey:
    """The chosen mechanism's outcome, replaced by one over the network."""
    try:
        from jrr.research import demonstration, embedded
        from jrr.survey.campaign import ENROL
        from jrr.survey.creation import plan_for
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"servers need {error.name}: pip install 'jrr[serve]', or jrr demo --in-process"
        ) from None
    values = (np.arange(result.n) < round(result.truth * result.n)).astype(np.uint8)
    # Who says yes has nothing to do with who comes when.
    values = shuffled(values, SecureRandom())
    chosen = result.outcomes[result.chosen]
    with tempfile.TemporaryDirectory(prefix="jrr-demo-") as name, ExitStack() as stack:
        folder = Path(name)
        databases = None
        if postgres:
            step("starting PostgreSQL", 0, 1)
            parties = [f"party {number}" for number in range(demonstration.PARTIES)]
            names = parties if committee else ["dealer"]
            databases = stack.enter_context(embedded.postgres(folder, "collector", *names))
        plan = chosen.plan
        if committee:  # n is fixed by enrolment: plan for a guarantee that then holds
            asked = plan.request
            plan = plan_for(
                asked.n,
                ENROL,
                asked.epsilon,
                colluders=asked.colluders,
                dealer_epsilon=asked.dealer_epsilon,
                mechanism=result.chosen,
            )
        ran = demonstration.run(plan, values, folder, databases, step, committee)
    return replace(result, outcomes=result.outcomes | {result.chosen: ran.outcome})


def summary(result: DemoSurvey, seconds: float) -> dict[str, Any]:
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


def _write(result: DemoSurvey, facts: dict[str, Any], how: str, committee: bool, out: Path) -> str:
    """The report; without matplotlib it has no picture."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = result.outcomes[result.chosen]
    estimate, (low, high) = facts["estimate"], facts["interval"]
    parts = [
        page.paragraph(
            f"{result.n:,} people were asked, {100 * result.truth:g}% of whom would truthfully say "
            f"yes. {how} Every device changed its answer at random before sending it. The result "
            f"by {LONG[result.chosen]}: {_percent(estimate)} yes, with an error of "
            f"±{100 * facts['stderr']:.2f} percentage points. The 95% interval is {_percent(low)} "
            f"to {_percent(high)}; intervals made like this hold the truth in 95 of 100 surveys."
        )
    ]
    said = f"Report: {out / 'report.html'}"
    try:
        from jrr.research.draw_demo import draw_survey

        drawn = draw_survey(result, out / "survey.png")
        parts.append(page.picture(drawn, "Estimates beside the truth"))
    except MissingExtraError as error:
        said += f"; no picture: {error}"
    rows = [
        {
            "the same people, asked by": LONG[family],
            "estimate": _percent(outcome.estimate.frequencies[1]),
            "standard error (points)": f"{100 * outcome.estimate.stderr[1]:.2f}",
            "95% interval": " to ".join(_percent(end[1]) for end in outcome.estimate.interval()),
        }
        for family, outcome in result.outcomes.items()
    ]
    parts += [
        page.table(rows),
        page.paragraph(OUTSIDE),
    ]
    parts.append("<h2>What contributors are told</h2>")
    told = contributor_text(chosen.plan, committee=committee)
    parts += [page.paragraph(line) for line in told.splitlines()]
    parts.append("<h2>What somebody can learn of one contributor</h2>")
    learners = adversaries(chosen.plan, committee=committee)
    parts += [page.paragraph(adversary.sentence) for adversary in learners]
    page.write_page(out / "report.html", "A survey that learns nobody's secret", parts)
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _table(result: DemoSurvey, over_http: bool) -> Table:
    request = result.outcomes["rr"].plan.request
    table = Table(
        title=f"{result.n:,} people, {100 * result.truth:g}% yes, ε = {request.epsilon:g} against "
        f"the collector and {request.colluders} colluders",
        title_justify="left",
    )
    for heading in ("", "estimate", "standard error", "95% interval", "variance / RR's"):
        table.add_column(heading, justify="left" if not heading else "right")
    plain = float(result.outcomes["rr"].estimate.stderr[1])
    for family, name in NAMES.items():
        estimate = result.outcomes[family].estimate
        low, high = estimate.interval()
        error = float(estimate.stderr[1])
        here = " (over HTTP)" if over_http and family == result.chosen else ""
        table.add_row(
            name + here,
            f"{100 * estimate.frequencies[1]:.2f}%",
            f"±{100 * error:.2f}",
            f"{100 * low[1]:.1f}% to {100 * high[1]:.1f}%",
            f"{(error / plain) ** 2:.3f}",
        )
    return table
