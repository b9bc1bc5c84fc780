"""`jrr study reproduce`: the paper's figures and tables, and further ones."""

from pathlib import Path
from typing import Any

import click
from rich.text import Text

from jrr.cli.options import is_given, make_plan, seeded, survey_options
from jrr.cli.output import Line, json_option, make_table, show
from jrr.cli.progress import bar, steps
from jrr.cli.values import COUNT, FOLDER
from jrr.errors import ArgumentError
from jrr.reporting.plots import new_figure
from jrr.research.paper.figure import Figure
from jrr.research.paper.reproduce import pick, reproduce_paper
from jrr.research.simulated_surveys import counts_of_question, counts_with_share, simulate_surveys


@click.command()
@click.option("--figure", "names", multiple=True, help="1..8 or a name; may be repeated.")
@click.option("--runs", type=COUNT, default=1000, help="Surveys per point.")
@click.option("--seed", type=int, default=1, help="The same seed, same numbers.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("jrr-reproduction"),
    help="Directory for CSV, PNG, SVG and report.html.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Directory with the raw data sets, instead of the built-in counts.",
)
@click.option("--force", is_flag=True, help="Make finished figures again.")
@json_option
def reproduce(names: tuple[str, ...], out: Path, data: Path | None, **options: Any) -> None:
    """Reproduce the paper: all figures and tables, as CSV, PNG and SVG, and one report.

    RR and JRR as in the paper, and further lines: JRR with exact optimal parameters, DRR.
    Interrupted, it leaves finished figures whole; run again, it goes on. With --data DIR, real
    columns are counted: jrr_kosarak_bits.csv (column bit), jrr_amazon_bits.csv (rating),
    ecommerce_reviews.csv.gz (recommended_ind), whichever are there, and the authors' stored
    results jrr_artifact_results.csv are compared one by one.
    """
    figures = pick(names, data)
    if any(figure.drawing for figure in figures):
        new_figure(1, 1)  # says at once if pictures cannot be drawn
    done, total = 0, sum(figure.steps + 1 for figure in figures)
    with steps("reproducing") as progress:

        def step(figure: Figure, count: int) -> None:
            nonlocal done
            done += count
            progress(figure.key, done, total)

        reproduction = reproduce_paper(figures, out, data=data, step=step, **options)
    rows = [(claim.claim, claim.measured, claim.verdict) for claim in reproduction.claims]
    show(
        {
            "report": str(reproduction.report),
            "files": [str(path) for path in reproduction.files],
            "claims": [vars(claim) for claim in reproduction.claims],
        },
        make_table(("claim", "measured", "verdict"), rows, title="Claims of the paper", left=3),
        f"{len(reproduction.figures)} figures and tables in {out}; all of it in "
        f"{reproduction.report}",
    )


@click.command()
@click.option("-n", "n", type=COUNT, default=10_000, help="Contributors.")
@click.option("-e", "--epsilon", type=float, default=0.1, help="ε, view cards.")
@click.option("-M", "--colluders", type=COUNT, default=5, help="Colluders.")
@click.option(
    "--dealer-epsilon",
    "cap",
    type=float,
    default=2.1,
    help="ε against dealer and collector together, where it is capped.",
)
@click.option("--yes", "frequency", type=float, default=0.1, help="True share of yes.")
@click.option("--out", type=FOLDER, help="Draw them: a directory for one picture each.")
@json_option
def attacks(out: Path | None, **setting: float) -> None:
    """Say what each attack on a survey gains, in numbers.

    \b
    jrr study attacks
    jrr study attacks -n 1000 -e 1 --dealer-epsilon 3 --out attacks
    """  # noqa: D301 - click reads the \b
    from jrr.research.attacks import Setting, all_attacks, draw_attacks

    survey = Setting(**setting)  # type: ignore[arg-type]  # counts are whole
    found = all_attacks(survey)
    if out is not None:
        draw_attacks(out, survey)
    lines: list[Line] = []
    for attack in found:
        lines.append(Text(f"{attack.name} ({attack.who})", style="bold"))
        lines.append(f"{attack.sentence}\n")
    if out is not None:
        lines.append(f"Pictures: {out}")
    show({"attacks": [vars(attack) for attack in found]}, *lines)


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
