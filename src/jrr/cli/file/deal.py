"""`jrr file deal` and `jrr file deal number`: secret cards into a file."""

from pathlib import Path
from typing import Any

import click

from jrr._base.wording import show_epsilon
from jrr.cli.file.shared import force_option, out_option, seed_option
from jrr.cli.lazy import CommandWithMore
from jrr.cli.options import (
    all_of,
    card_options,
    delta_option,
    guarantee_options,
    make_number_plan,
    make_plan,
    number_options,
    seeded,
    survey_options,
    view_option,
)
from jrr.cli.output import json_option, show
from jrr.cli.progress import bar
from jrr.cli.values import COUNT
from jrr.errors import ArgumentError
from jrr.planning.numbers import NumberPlan
from jrr.planning.plans import Plan

COMMANDS = {"number": "Deal cards for a question about a number."}
_deck_options = all_of(
    out_option,
    click.option("--decks", type=COUNT, default=1, help="Decks of n cards each."),
    view_option,
    delta_option,
    seed_option,
    force_option,
    json_option,
)


@click.group(
    cls=CommandWithMore, package="jrr.cli.file", table=COMMANDS, modules={"number": "deal"}
)
@survey_options
@_deck_options
def deal(out: Path, decks: int, seed: int | None, force: bool, **options: Any) -> None:
    """Deal secret cards into a file, one row per contributor.

    The dealer keeps the file from the collector: whoever holds both sees through the reports
    as far as the view "dealer" says. Takes the options of `jrr plan`. Cards that are numbers
    (MRR) must be of a closed deck, which has to be asked for: of a file nobody tells the dealer
    which cards were used, so it cannot announce their sum.

    \b
    jrr file deal -n 10000 -e 1 --closed-deck -o cards.parquet
    jrr file deal -n 10000 -e 1 --mechanism drr -o cards.parquet
    """  # noqa: D301 - click reads the \b
    _deal(make_plan(**options), out, decks, seed, force)


@click.command()
@number_options
@guarantee_options
@card_options
@_deck_options
def number(out: Path, decks: int, seed: int | None, force: bool, **options: Any) -> None:
    """Deal cards for a question about a number.

    As `jrr file deal`; takes the options of `jrr plan number`.

    \b
    jrr file deal number --range 0:100 --sd 15 -n 10000 -e 1 --closed-deck -o cards.parquet
    """  # noqa: D301 - click reads the \b
    _deal(make_number_plan(**options), out, decks, seed, force)


def _deal(plan: Plan | NumberPlan, out: Path, decks: int, seed: int | None, force: bool) -> None:
    """Deal what was planned, and say what the cards keep."""
    if not plan.mechanism.deals:
        raise ArgumentError(
            f"mechanism must deal cards, but the best plan here is {plan.mechanism.brief()}: "
            "perturb without cards"
        )
    from jrr import tables

    with bar("dealing") as progress:
        header = tables.deal(
            plan.mechanism,
            out,
            decks=decks,
            colluders=plan.request.colluders,
            rng=seeded(seed),
            force=force,
            progress=progress,
        )
    losses = {view: show_epsilon(loss) for view, loss in plan.guarantees.items()}
    show(
        {
            "cards": str(out),
            "mechanism": header.mechanism.to_dict(),
            "decks": list(header.decks),
            "guarantees": dict(plan.guarantees),
            "dealer_capped": plan.request.dealer_epsilon is not None,
        },
        f"{decks * plan.request.n:,} cards in {out}: {plan.mechanism.brief()}\n"
        f"ε {losses['cards']} for one report beside the cards of {plan.request.colluders} "
        f"colluders, {losses['dealer']} against dealer and collector together. Keep the file from "
        "the collector, who has all reports; what it can learn from them: jrr plan explain.",
    )
