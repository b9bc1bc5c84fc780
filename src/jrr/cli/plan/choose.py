"""`jrr plan`: which mechanism, how accurate, how private."""

import json
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.cli.counts import CountRange
from jrr.cli.lazy import CommandWithMore, LazyCommand
from jrr.cli.options import (
    console,
    delta_option,
    json_option,
    make_plan,
    print_json,
    survey_options,
    view_option,
)
from jrr.cli.plan.shown import as_document, print_comparison, print_lost_cards, print_statement
from jrr.cli.progress import waiting
from jrr.planning.defaults import MAX_BYTES
from jrr.planning.plans import Plan
from jrr.privacy.views import PlanView

FILE = click.Path(dir_okay=False, path_type=Path)
COMMANDS = {
    "explain": LazyCommand(
        "jrr.cli.plan.explain",
        "explain",
        "Say in plain words what a survey does to its contributors.",
    ),
    "margin": LazyCommand(
        "jrr.cli.plan.margin", "margin", "Say how many people, or which ε, give a wanted margin."
    ),
    "number": LazyCommand(
        "jrr.cli.plan.number", "number", "Choose a mechanism for the mean of a number."
    ),
    "survey": LazyCommand(
        "jrr.cli.plan.survey", "survey", "Say how exact every item of a questionnaire would be."
    ),
    "compare": LazyCommand(
        "jrr.cli.plan.compare",
        "compare",
        "Set cards beside shuffling and secure aggregation, for yes or no.",
    ),
    "two-phase": LazyCommand(
        "jrr.cli.plan.two_phase",
        "two_phase",
        "Say whether it pays to ask a few people first, and plan for the others by what they say.",
    ),
    "rounds": LazyCommand(
        "jrr.cli.plan.rounds",
        "rounds",
        "What all rounds together cost, if the same people report in every one of them.",
    ),
}


@click.group(cls=CommandWithMore, table=COMMANDS)
@survey_options
@delta_option
@view_option
@click.option(
    "--max-bytes",
    type=CountRange(1),
    default=MAX_BYTES,
    show_default=True,
    help="Most bytes of a report in an automatic choice.",
)
@click.option("--plot", type=FILE, help="Draw error against frequency.")
@click.option("--lost-plot", type=FILE, help="Draw error against the share of lost cards.")
@click.option("--curve", type=FILE, help="Draw δ against ε in the view everything.")
@click.option("--losses", type=FILE, help="Write the law of the loss in that view, as JSON.")
@json_option
def plan(
    delta: float,
    view: PlanView,
    max_bytes: int,
    plot: Path | None,
    lost_plot: Path | None,
    curve: Path | None,
    losses: Path | None,
    as_json: bool,
    **survey: Any,
) -> None:
    """Choose a mechanism before a survey, and compare it with the others.

    Standard errors are of the estimated share of one answer. The dealer is capped at ε + 2
    unless told otherwise.

    \b
    jrr plan -n 10000 -e 0.1 -M 5
    jrr plan -n 2000 -e 1 --plot plan.png
    jrr plan -n 1000 -e 0.1 --view everything
    jrr plan explain -n 10000 -e 1
    """  # noqa: D301 - click reads the \b
    chosen_plan = make_plan(**survey, view=view, delta=delta, max_bytes=max_bytes)
    with waiting("writing files"):
        _write_files(chosen_plan, plot, lost_plot, curve, losses)
    if as_json:
        with waiting("comparing"):
            document = as_document(chosen_plan, delta)
        print_json(document)
        return
    screen = console()
    print_comparison(screen, chosen_plan, delta)
    print_lost_cards(screen, chosen_plan)
    print_statement(screen, chosen_plan, delta)
    pictures = (("Picture", plot), ("Picture", lost_plot), ("Picture", curve))
    for name, file in (*pictures, ("Law of the loss", losses)):
        if file:
            screen.print(f"{name}: {file}")


def _write_files(
    chosen_plan: Plan,
    plot: Path | None,
    lost_plot: Path | None,
    curve: Path | None,
    losses: Path | None,
) -> None:
    """The pictures and the law that were asked for."""
    if plot:
        from jrr.reporting.plots import draw_plan

        draw_plan(chosen_plan, plot)
    if lost_plot:
        from jrr.reporting.plots import draw_lost_cards

        draw_lost_cards(chosen_plan, lost_plot)
    if curve:
        from jrr.reporting.plots import draw_losses

        draw_losses(chosen_plan, curve)
    if losses:
        _write_losses(chosen_plan, losses)


def _write_losses(chosen_plan: Plan, path: Path) -> None:
    if chosen_plan.losses is None:
        raise checks.refusal("losses", str(path), "for RR, JRR or DRR: no law is known of others")
    document = {"mechanism": chosen_plan.mechanism.to_dict(), **chosen_plan.losses.to_dict()}
    write_whole(path, json.dumps(document) + "\n")
