"""`jrr file deal` and `jrr file deal number`: secret cards into a file."""

from pathlib import Path
from typing import Any

import click

from jrr._base.wording import show_epsilon
from jrr.cli.counts import COUNT
from jrr.cli.file.shared import FILE, force_option, seed_option, seeded
from jrr.cli.lazy import CommandWithMore, LazyCommand
from jrr.cli.options import (
    all_of,
    card_options,
    console,
    delta_option,
    guarantee_options,
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

COMMANDS = {
    "number": LazyCommand(
        "jrr.cli.file.deal", "number", "Deal cards for a question about a number."
    ),
}
_deck_options = all_of(
    click.option("-o", "--out", type=FILE, required=True, help="Parquet, Arrow or CSV file."),
    click.option(
        "--decks", type=COUNT, default=1, show_default=True, help="Decks of n cards each."
    ),
    view_option,
    delta_option,
    seed_option,
    force_option,
    json_option,
)


@click.group(cls=CommandWithMore, table=COMMANDS)
@survey_options
@_deck_options
def deal(view: PlanView, delta: float, **options: Any) -> None:
    """Deal secret cards into a file, one row per contributor.

    The dealer keeps the file from the collector: whoever holds both sees through the reports
    as far as the view "dealer" says. Takes the options of `jrr plan`. Cards that are numbers
    (MRR) must be of a closed deck, which has to be asked for: of a file nobody tells the dealer
    which cards were used, so it cannot announce their sum.

    \b
    jrr file deal -n 10000 -e 1 --closed-deck -o cards.parquet
    jrr file deal -n 10000 -e 1 --mechanism drr -o cards.parquet
    """  # noqa: D301 - click reads the \b
    deck = {name: options.pop(name) for name in ("out", "decks", "seed", "force", "as_json")}
    _deal_planned(make_plan(**options, view=view, delta=delta), **deck)


@click.command()
@number_options
@guarantee_options
@card_options
@_deck_options
def number(ends: tuple[float, float], view: PlanView, delta: float, **options: Any) -> None:
    """Deal cards for a question about a number.

    As `jrr file deal`; takes the options of `jrr plan number`.

    \b
    jrr file deal number --range 0:100 --sd 15 -n 10000 -e 1 --closed-deck -o cards.parquet
    """  # noqa: D301 - click reads the \b
    deck = {name: options.pop(name) for name in ("out", "decks", "seed", "force", "as_json")}
    _deal_planned(make_number_plan(ends, view=view, delta=delta, **options), **deck)


def _deal_planned(
    plan: Plan | NumberPlan, *, out: Path, decks: int, seed: int | None, force: bool, as_json: bool
) -> None:
    """Deal what was planned, and say what the cards keep."""
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
            rng=seeded(seed),
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
        "what it can learn from them: jrr plan explain."
    )
