"""`jrr deal`, `perturb`, `shuffle`, `keys`: from a column of labels to a file of reports."""

from pathlib import Path
from typing import Any

import click

from jrr._base.randomness import SeededRandom
from jrr._base.wording import show_epsilon
from jrr.cli.counts import COUNT
from jrr.cli.options import (
    MechanismType,
    RangeType,
    console,
    delta_option,
    json_option,
    make_number_plan,
    make_plan,
    number_options,
    print_json,
    survey_options,
    view_option,
)
from jrr.cli.progress import bar
from jrr.errors import ArgumentError
from jrr.planning.numbers import NumberPlan
from jrr.planning.plans import Plan
from jrr.privacy.views import PlanView

FILE = click.Path(dir_okay=False, path_type=Path)
force_option = click.option("--force", is_flag=True, help="Overwrite an existing output.")
seed_option = click.option(
    "--seed", type=int, help="For tests: reproducible, and so not private. Default: secure."
)


@click.command()
@survey_options
@number_options
@click.option("-o", "--out", type=FILE, required=True, help="Parquet, Arrow or CSV file.")
@click.option("--decks", type=COUNT, default=1, show_default=True, help="Decks of n cards each.")
@view_option
@delta_option
@seed_option
@force_option
@json_option
def deal(
    *,
    number: tuple[float, float] | None,
    mean: float | None,
    sd: float | None,
    out: Path,
    decks: int,
    view: PlanView,
    delta: float,
    seed: int | None,
    force: bool,
    as_json: bool,
    **survey: Any,
) -> None:
    """Deal secret cards into a file, one row per contributor.

    The dealer keeps the file from the collector: whoever holds both sees through the reports
    as far as the view "dealer" says. Takes the options of `jrr plan`. Cards that are numbers
    (MRR) must be of a closed deck, which has to be asked for: of a file nobody tells the dealer
    which cards were used, so it cannot announce their sum.

    \b
    jrr deal -n 10000 -e 1 --closed-deck -o cards.parquet
    jrr deal -n 10000 -e 1 --mechanism drr -o cards.parquet
    jrr deal -n 10000 -e 1 --number 0:100 --sd 15 --closed-deck -o cards.parquet
    """  # noqa: D301 - click reads the \b
    plan: Plan | NumberPlan
    if number is None:
        if mean is not None or sd is not None:
            raise ArgumentError("--mean and --sd must be given with --number")
        plan = make_plan(**survey, view=view, delta=delta)
    else:
        about: Any = {"mean": mean, "sd": sd, "view": view, "delta": delta}
        plan = make_number_plan(number, **about, **survey)
    if not plan.mechanism.deals:
        raise ArgumentError(
            f"mechanism must deal cards, but the best plan here is {plan.mechanism.brief()}: "
            "perturb without cards"
        )
    from jrr import tables

    with bar("dealing", as_json) as progress:
        header = tables.deal(
            plan.mechanism,
            out,
            decks=decks,
            colluders=plan.request.colluders,
            rng=_seeded(seed),
            force=force,
            progress=progress,
        )
    document = {
        "cards": str(out),
        "mechanism": header.mechanism.to_dict(),
        "decks": list(header.decks),
        "guarantees": dict(plan.guarantees),
        "dealer_capped": plan.request.dealer_epsilon is not None,
    }
    if as_json:
        print_json(document)
        return
    console().print(
        f"{decks * plan.request.n:,} cards in {out}: {plan.mechanism.brief()}\n"
        f"ε {show_epsilon(plan.guarantees['cards'])} for one report beside the cards of "
        f"{plan.request.colluders} colluders, {show_epsilon(plan.guarantees['dealer'])} against "
        "dealer and collector together. Keep the file from the collector, who has all reports; "
        "what it can learn from them: jrr explain."
    )


@click.command()
@click.argument("data", type=FILE)
@click.option("--column", required=True, help="The column with the true answers.")
@click.option(
    "-e",
    "--epsilon",
    type=float,
    help="ε of each report; with cards, the most their mechanism may lose (view: cards).",
)
@click.option("--cards", type=FILE, help="Cards that `jrr deal` wrote; used once.")
@click.option("--cardless", is_flag=True, help="Rows beyond the last card answer without one.")
@click.option("--labels", help="The possible answers, separated by commas.")
@click.option("--labels-file", type=FILE, help="The possible answers, one per line.")
@click.option("--other", help="The label that stands for everything not listed.")
@click.option("--missing", help='The label of empty cells, as "prefer not to say".')
@click.option("--skip-missing", is_flag=True, help="Leave rows with empty cells out.")
@click.option(
    "--number",
    type=RangeType(),
    help="A column of numbers in this range: their mean is asked for (--mechanism rr or laplace).",
)
@click.option("--bins", help="A column of numbers: their histogram, by edges such as 0,18,30,65.")
@click.option("--clip", is_flag=True, help="Numbers beyond an end count as the end.")
@click.option(
    "--mechanism",
    type=MechanismType(cards=False),
    default="auto",
    show_default=True,
    help="Without cards; auto takes the most accurate.",
)
@click.option("--keep", multiple=True, help="A public column to copy, for --by and --weight.")
@click.option("--delimiter", help="Between columns of a CSV file.  [default: found]")
@click.option("--encoding", help="Of a CSV file, as cp1252.  [default: found, or UTF-8]")
@click.option("--seal", type=FILE, help="Seal each report to this public key (`jrr keys`).")
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
    skip_missing: bool,
    number: tuple[float, float] | None,
    bins: str | None,
    out: Path | None,
    seed: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Perturb a column of labels or numbers into a file of reports.

    Reads CSV (also .csv.gz), Parquet and Arrow, and with the extra [formats] .xlsx (the first
    sheet), .sav and .dta. Reports keep the order of the rows.

    \b
    jrr perturb data.csv --column smokes --epsilon 1
    jrr perturb data.csv --column smokes --epsilon 1 --cards cards.parquet --keep region
    jrr perturb data.csv --column age --number 0:100 --clip --epsilon 1
    jrr perturb data.csv --column age --bins 0,18,30,65,120 --epsilon 1
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
        answers = tables.Labels(names, other=other, declined=missing, skip_missing=skip_missing)
    numeric = number is not None or bins is not None
    if answers is None and (other or missing or (skip_missing and not numeric)):
        raise ArgumentError(
            "labels must be given together with --other, --missing and --skip-missing "
            "(--labels or --labels-file)"
        )
    target = out or default_output(data)
    with bar("perturbing", as_json) as progress:
        header = tables.perturb(
            data,
            out=target,
            labels=answers,
            number=number,
            bins=None if bins is None else _edges(bins),
            skip_missing=skip_missing and numeric,
            rng=_seeded(seed),
            progress=progress,
            **options,
        )
    m, guarantees = header.mechanism, header.guarantees
    if as_json:
        print_json(
            {
                "reports": str(target),
                "mechanism": m.to_dict(),
                "labels": list(header.labels),
                "labels_from_data": answers is None and not numeric,
                "number": None if header.number is None else list(header.number[:2]),
                "guarantees": guarantees,
            }
        )
        return
    screen = console()
    screen.print(f"{target}: {m.brief()}")
    screen.print(
        f"ε {show_epsilon(guarantees['report'])} of one report alone, "
        f"{show_epsilon(guarantees['cards'])} beside the cards of {header.colluders} colluders, "
        f"{show_epsilon(guarantees['dealer'])} against dealer and collector together. What a "
        "collector can learn from all reports: jrr explain."
        if header.decks
        else f"ε {show_epsilon(guarantees['report'])} against everybody who sees the report."
    )
    if answers is None and not numeric:
        screen.print(
            "The labels were taken from the data and are not protected: give --labels to avoid it."
        )


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@click.option("-o", "--out", type=FILE, required=True, help="Parquet, Arrow or CSV file.")
@seed_option
@force_option
@json_option
def shuffle(
    *, reports: tuple[Path, ...], out: Path, seed: int | None, force: bool, as_json: bool
) -> None:
    """Put reports of one or several files into one file in uniformly random order.

    Every column but the report itself, and whether a card was held, is dropped. Sealed reports
    stay sealed: the shuffler cannot read them.

    \b
    jrr shuffle monday.parquet tuesday.parquet -o shuffled.parquet
    """  # noqa: D301 - click reads the \b
    from jrr import tables

    with bar("shuffling", as_json) as progress:
        header, rows = tables.shuffle(
            list(reports), out, rng=_seeded(seed), force=force, progress=progress
        )
    if as_json:
        print_json({"out": str(out), "reports": rows, "mechanism": header.mechanism.to_dict()})
        return
    console().print(f"{rows:,} reports in random order in {out}")


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@force_option
@json_option
def keys(name: Path, force: bool, as_json: bool) -> None:
    """Make the collector's keys: NAME.key (secret) and NAME.pub, for sealed reports."""
    from jrr.tables import seal

    private, public = seal.make_keys(name, force)
    if as_json:
        print_json({"private": str(private), "public": str(public)})
        return
    console().print(f"{public}: give it to contributors. {private}: keep it secret.")


def _edges(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentError(f"--bins must be numbers between commas, got {text!r}") from None


def _seeded(seed: int | None) -> SeededRandom | None:
    return None if seed is None else SeededRandom(seed)
