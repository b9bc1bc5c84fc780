"""`jrr study reproduce`: the paper's figures and tables, and further ones."""

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jrr.cli.counts import COUNT
from jrr.cli.options import console, json_option, print_json
from jrr.reporting.plots import new_figure
from jrr.research.paper.figure import Figure
from jrr.research.paper.reproduce import ReproductionRequest, reproduce_paper


@click.command()
@click.option("--figure", "names", multiple=True, help="1..8 or a name; may be repeated.")
@click.option("--runs", type=COUNT, default=1000, show_default=True, help="Surveys per point.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed, same numbers.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("jrr-reproduction"),
    show_default=True,
    help="Directory for CSV, PNG, SVG and report.html.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Directory with the raw data sets, instead of the built-in counts.",
)
@click.option("--force", is_flag=True, help="Make finished figures again.")
@json_option
def reproduce(
    *,
    names: tuple[str, ...],
    runs: int,
    seed: int,
    out: Path,
    data: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Reproduce the paper: all figures and tables, as CSV, PNG and SVG, and one report.

    RR and JRR as in the paper, and further lines: JRR with exact optimal parameters, DRR.
    Interrupted, it leaves finished figures whole; run again, it goes on. With --data DIR, real
    columns are counted: jrr_kosarak_bits.csv (column bit), jrr_amazon_bits.csv (rating),
    ecommerce_reviews.csv.gz (recommended_ind), whichever are there, and the authors' stored
    results jrr_artifact_results.csv are compared one by one.
    """
    request = ReproductionRequest(
        names=names, out=out, runs=runs, seed=seed, data=data, force=force
    )
    figures = request.figures()
    if any(figure.drawing for figure in figures):
        new_figure(1, 1)  # says at once if pictures cannot be drawn
    screen = console()
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        disable=as_json or not screen.is_terminal,
    )
    with progress:
        bar = progress.add_task("reproducing", total=sum(figure.steps + 1 for figure in figures))

        def step(figure: Figure, count: int) -> None:
            progress.update(bar, advance=count, description=figure.key)

        reproduction = reproduce_paper(request, step)
    if as_json:
        print_json(
            {
                "report": str(reproduction.report),
                "files": [str(path) for path in reproduction.files],
                "claims": [vars(claim) for claim in reproduction.claims],
            }
        )
        return
    table = Table(title="Claims of the paper", title_justify="left")
    for heading in ("claim", "measured", "verdict"):
        table.add_column(heading)
    for claim in reproduction.claims:
        table.add_row(claim.claim, claim.measured, claim.verdict)
    screen.print(table)
    count = len(reproduction.figures)
    screen.print(f"{count} figures and tables in {out}; all of it in {reproduction.report}")
