"""`jrr file quantiles`: a number in detail."""

from pathlib import Path
from typing import Any

import click

from jrr.cli.file.report_lines import (
    all_lines,
    lines_of,
    number_in,
    read_reports_of,
    refuse_overwriting,
    report_options,
    write_and_show,
    written_options,
)
from jrr.cli.file.shared import announced_option, engine_options
from jrr.cli.options import level_option, seeded
from jrr.cli.output import json_option, make_table, show
from jrr.cli.values import COUNT, OLD_FILE, RangeType
from jrr.telemetry.ranges import RangeTree


@click.group("quantiles")
def quantiles() -> None:
    """Estimate quantiles and the distribution of a number, such as seconds or bytes."""


@quantiles.command("perturb")
@click.argument("numbers", type=OLD_FILE)
@report_options
@click.option("--range", "ends", type=RangeType(), required=True, help="Ends of the number.")
@click.option("--bins", type=COUNT, default=1024, help="Bins, at least.")
@click.option("--clip", is_flag=True, help="Numbers beyond an end count as the end.")
@written_options
def perturb_numbers(
    numbers: Path,
    out: Path,
    epsilon: float,
    ends: tuple[float, float],
    bins: int,
    clip: bool,
    seed: int | None,
    force: bool,
) -> None:
    """Perturb numbers, one on each line of a file, into a file of reports.

    \b
    jrr file quantiles perturb seconds.txt --range 0:60 --clip -e 1 -o reports.jsonl
    """  # noqa: D301 - click reads the \b
    refuse_overwriting(out, force)
    tree = RangeTree.for_epsilon(*ends, bins=bins, epsilon=epsilon, clip=clip)
    reports = tree.respond([number_in(line) for line in lines_of(numbers)], seeded(seed))
    write_and_show(out, tree, reports, force, tree.epsilon(), bins=tree.bins)


@quantiles.command("estimate")
@click.argument("reports", nargs=-1, required=True)
@click.option("--at", default="0.25,0.5,0.75", help="Quantiles, by commas.")
@level_option
@announced_option
@engine_options
@json_option
def estimate_quantiles(
    reports: tuple[str, ...], at: str, level: float, announced: Any, **where: Any
) -> None:
    """Estimate quantiles of the number from files of reports (JSON lines, Parquet, Arrow, CSV).

    With --engine the rows are read where they lie, as by `jrr file estimate`.
    """
    wanted = [number_in(part, "at") for part in at.split(",")]
    if all_lines(reports, where):
        tree, told = read_reports_of(RangeTree, reports)
        found = tree.estimate(told, announced)
    else:
        from jrr import tables

        found = tables.distribution(*reports, announced=announced, **where)
    result = found.to_dict(level, wanted)
    rows = [
        (f"{row['q']:g}", f"{row['quantile']:.5g}", "{:.5g} to {:.5g}".format(*row["interval"]))
        for row in result["quantiles"]
    ]
    show(
        result,
        make_table(("quantile", "number", f"{100 * level:g}% interval"), rows, left=0),
        f"{found.n:,} reports, {found.tree.bins:,} bins. Intervals end at ends of bins.",
    )
