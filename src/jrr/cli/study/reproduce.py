"""`jrr study reproduce`: the paper's figures and tables, and further ones."""

from pathlib import Path
from typing import Any

import click

from jrr.cli.output import json_option, make_table, show
from jrr.cli.progress import steps
from jrr.cli.values import COUNT
from jrr.reporting.plots import new_figure
from jrr.research.paper.figure import Figure
from jrr.research.paper.reproduce import pick, reproduce_paper


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
