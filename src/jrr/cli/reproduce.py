"""`jrr reproduce`: the paper's figures and tables, and further ones."""

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jrr.cli.options import console, json_option, print_json
from jrr.reporting.plots import new_figure
from jrr.research.paper import artifact
from jrr.research.paper.catalogue import DATA_SETS, from_directory
from jrr.research.paper.claims import claims
from jrr.research.paper.report import write_report
from jrr.research.paper.reproduce import FIGURES, Figure, finished, pick, reproduce


@click.command("reproduce")
@click.option("--figure", "wanted", multiple=True, help="1..8 or a name; may be repeated.")
@click.option("--runs", type=int, default=1000, show_default=True, help="Surveys per point.")
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
def command(
    wanted: tuple[str, ...],
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
    chosen = pick(wanted)
    if any(figure.drawing for figure in chosen):
        new_figure(1, 1)  # says at once if pictures cannot be drawn
    data_sets = DATA_SETS if data is None else from_directory(data)
    if data is not None and not wanted and (data / artifact.FILE).exists():
        chosen = (*chosen, artifact.figure(data / artifact.FILE))
    screen = console()
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        disable=as_json or not screen.is_terminal,
    )
    done = []
    with progress:
        bar = progress.add_task("reproducing", total=sum(f.steps + 1 for f in chosen))

        def step(figure: Figure, count: int) -> None:
            progress.update(bar, advance=count, description=figure.key)

        for figure, rows in reproduce(chosen, out, runs, seed, data_sets, step, force):
            progress.advance(bar)
            done.append((figure, rows))
    made = {figure.key for figure, _ in done}
    # Figures of earlier runs belong into the report too, in their usual order.
    kept = [pair for pair in finished(out, runs, seed, data_sets) if pair[0].key not in made]
    places = {figure.key: place for place, figure in enumerate(FIGURES)}
    done = sorted(done + kept, key=lambda pair: places.get(pair[0].key, len(places)))
    found = list(claims({figure.key: rows for figure, rows in done}, data_sets))
    report = write_report(out / "report.html", done, found, {"runs": runs, "seed": seed})
    if as_json:
        files = [str(out / f"{figure.key}.csv") for figure, _ in done if figure.key in made]
        print_json(
            {"report": str(report), "files": files, "claims": [vars(claim) for claim in found]}
        )
        return
    table = Table(title="Claims of the paper", title_justify="left")
    for heading in ("claim", "measured", "verdict"):
        table.add_column(heading)
    for claim in found:
        table.add_row(claim.claim, claim.measured, claim.verdict)
    screen.print(table)
    screen.print(f"{len(done)} figures and tables in {out}; all of it in {report}")
