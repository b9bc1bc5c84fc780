"""`jrr file perturb`: a column of labels or numbers becomes a file of reports."""

from pathlib import Path
from typing import Any

import click

from jrr._base.wording import show_epsilon
from jrr.cli.file.shared import force_option, seed_option
from jrr.cli.options import MechanismType, seeded
from jrr.cli.output import json_option, show
from jrr.cli.progress import bar
from jrr.cli.values import FILE, RangeType
from jrr.errors import ArgumentError


@click.command()
@click.argument("data", type=FILE)
@click.option("--column", required=True, help="The column with the true answers.")
@click.option(
    "-e",
    "--epsilon",
    type=float,
    help="ε of each report; with cards, the most their mechanism may lose (view: cards).",
)
@click.option("--cards", type=FILE, help="Cards that `jrr file deal` wrote; used once.")
@click.option("--cardless", is_flag=True, help="Rows beyond the last card answer without one.")
@click.option("--labels", help="The possible answers, separated by commas.")
@click.option("--labels-file", type=FILE, help="The possible answers, one per line.")
@click.option("--other", help="The label that stands for everything not listed.")
@click.option("--missing", help='The label of empty cells, as "prefer not to say".')
@click.option("--skip-missing", is_flag=True, help="Leave rows with empty cells out.")
@click.option(
    "--number",
    type=RangeType(),
    help="A column of numbers in this range: asks for their mean (--mechanism rr, piecewise).",
)
@click.option("--bins", help="A column of numbers: their histogram, by edges such as 0,18,30,65.")
@click.option("--clip", is_flag=True, help="Numbers beyond an end count as the end.")
@click.option(
    "--mechanism",
    type=MechanismType(cards=False),
    default="auto",
    help="Without cards; auto takes the most accurate.",
)
@click.option("--keep", multiple=True, help="A public column to copy, for --by and --weight.")
@click.option("--delimiter", help="Between columns of a CSV file.  [default: found]")
@click.option("--encoding", help="Of a CSV file, as cp1252.  [default: found, or UTF-8]")
@click.option("--seal", type=FILE, help="Seal each report to this public key (`jrr file keys`).")
@click.option("-o", "--out", type=FILE, help="Default: DATA with .reports.parquet at its end.")
@seed_option
@force_option
@json_option
def perturb(
    *,
    data: Path,
    labels: str | None,
    labels_file: Path | None,
    other: str | None,
    missing: str | None,
    number: tuple[float, float] | None,
    bins: str | None,
    out: Path | None,
    seed: int | None,
    **options: Any,
) -> None:
    """Perturb a column of labels or numbers into a file of reports.

    Reads CSV (also .csv.gz), Parquet and Arrow, and with the extra [formats] .xlsx (the first
    sheet), .sav and .dta. Reports keep the order of the rows.

    \b
    jrr file perturb data.csv --column smokes --epsilon 1
    jrr file perturb data.csv --column smokes --epsilon 1 --cards cards.parquet --keep region
    jrr file perturb data.csv --column age --number 0:100 --clip --epsilon 1
    jrr file perturb data.csv --column age --bins 0,18,30,65,120 --epsilon 1
    """  # noqa: D301 - click reads the \b
    from jrr import tables
    from jrr.tables.perturbing import default_output

    if labels is not None and labels_file is not None:
        raise ArgumentError("--labels and --labels-file must not be given together")
    answers = None
    if labels is not None or labels_file is not None:
        names = tuple(label.strip() for label in (labels or "").split(","))
        if labels_file is not None:
            names = tables.Labels.read_names(labels_file)
        answers = tables.Labels(names, other=other, declined=missing)
    numeric = number is not None or bins is not None
    if answers is None and (other or missing):
        raise ArgumentError(
            "labels must be given together with --other and --missing (--labels or --labels-file)"
        )
    target = out or default_output(data)
    with bar("perturbing") as progress:
        header = tables.perturb(
            data,
            out=target,
            labels=answers,
            number=number,
            bins=None if bins is None else _edges(bins),
            rng=seeded(seed),
            progress=progress,
            **options,
        )
    m, guarantees = header.mechanism, header.guarantees
    losses = {view: show_epsilon(loss) for view, loss in guarantees.items()}
    from_data = answers is None and not numeric
    lines = [
        f"{target}: {m.brief()}",
        f"ε {losses['report']} of one report alone, {losses['cards']} beside the cards of "
        f"{header.colluders} colluders, {losses['dealer']} against dealer and collector together. "
        "What a collector can learn from all reports: jrr plan explain."
        if header.decks
        else f"ε {losses['report']} against everybody who sees the report.",
    ]
    if from_data:
        lines.append(
            "The labels were taken from the data and are not protected: give --labels to avoid it."
        )
    show(
        {
            "reports": str(target),
            "mechanism": m.to_dict(),
            "labels": list(header.labels),
            "labels_from_data": from_data,
            "number": None if header.number is None else list(header.number[:2]),
            "guarantees": guarantees,
        },
        *lines,
    )


def _edges(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentError(f"--bins must be numbers between commas, got {text!r}") from None
