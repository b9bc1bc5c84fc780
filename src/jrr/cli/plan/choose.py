"""`jrr plan`: which mechanism, how accurate, how private."""

import json
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.cli.lazy import TABLES, CommandWithMore
from jrr.cli.options import delta_option, make_plan, max_bytes_option, survey_options, view_option
from jrr.cli.output import json_option, print_json, show, wants_json
from jrr.cli.plan.hints import meant
from jrr.cli.plan.shown import answer_lines, as_document, detail_lines
from jrr.cli.progress import waiting
from jrr.cli.values import FILE
from jrr.planning.plans import Plan


@click.group(
    cls=CommandWithMore,
    package="jrr.cli.plan",
    table=TABLES["plan"],
    modules={"effect": "number", "margin": "number", "rounds": "explain"},
    meant=meant,
)
@survey_options
@delta_option
@view_option
@max_bytes_option
@click.option("--plot", type=FILE, help="Draw error against frequency.")
@click.option("--lost-plot", type=FILE, help="Draw error against the share of lost cards.")
@click.option("--curve", type=FILE, help="Draw δ against ε in the view everything.")
@click.option("--losses", type=FILE, help="Write the law of the loss in that view, as JSON.")
@click.option("--details", is_flag=True, help="Also all mechanisms, lost cards and costs.")
@json_option
def plan(
    delta: float,
    details: bool,
    plot: Path | None,
    lost_plot: Path | None,
    curve: Path | None,
    losses: Path | None,
    **survey: Any,
) -> None:
    """Choose the most accurate mechanism before a survey, and say what it promises.

    Errors are of the estimated share of one answer. The dealer is capped at ε + 2 unless told
    otherwise. With --details the other mechanisms stand beside it.

    \b
    jrr plan -n 10000 -e 0.1 -M 5
    jrr plan -n 2000 -e 1 --details --plot plan.png
    jrr plan -n 1000 -e 0.1 --view everything
    jrr plan explain -n 10000 -e 1
    """  # noqa: D301 - click reads the \b
    chosen_plan = make_plan(**survey, delta=delta)
    with waiting("writing files"):
        _write_files(chosen_plan, plot, lost_plot, curve, losses)
    if wants_json():
        with waiting("comparing"):
            document = as_document(chosen_plan, delta)
        print_json(document)
        return
    show(None, answer_lines(chosen_plan, delta))  # at once: what follows takes longer
    if details:
        with waiting("comparing"):
            lines = list(detail_lines(chosen_plan, delta))
        show(None, *lines)
    else:
        show(None, "\nBeside the other mechanisms, with cards lost, what it costs: --details")
    pictures = (("Picture", plot), ("Picture", lost_plot), ("Picture", curve))
    files = (*pictures, ("Law of the loss", losses))
    show(None, *(f"{name}: {file}" for name, file in files if file))


def _write_files(
    chosen_plan: Plan,
    plot: Path | None,
    lost_plot: Path | None,
    curve: Path | None,
    losses: Path | None,
) -> None:
    """The pictures and the law that were asked for."""
    if plot or lost_plot or curve:
        from jrr.reporting import plots

        wished = ((plots.draw_plan, plot), (plots.draw_lost_cards, lost_plot))
        for draw, path in (*wished, (plots.draw_losses, curve)):
            if path:
                draw(chosen_plan, path)
    if losses:
        if chosen_plan.losses is None:
            allowed = "for RR, JRR or DRR: no law is known of others"
            raise checks.refusal("losses", str(losses), allowed)
        document = {"mechanism": chosen_plan.mechanism.to_dict(), **chosen_plan.losses.to_dict()}
        write_whole(losses, json.dumps(document) + "\n")
