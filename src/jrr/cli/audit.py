"""`jrr audit`: tries to refute a privacy claim, of a mechanism here or of any program."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from jrr.cli.counts import COUNT
from jrr.cli.options import console, json_option, make_plan, print_json, survey_options
from jrr.cli.progress import bar
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.research.audit import Subject

VIOLATED = 1  # exit code
VIEWS = (
    "report",
    "cards",
    "everything",
    "dealer",
    "rounds",
)  # as in jrr.research.audit, loaded when used


@click.command("audit")
@survey_options
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    default="report",
    show_default=True,
    help="What the adversary sees beside one report; all but report deal decks of 20 unless -n.",
)
@click.option(
    "--delta", type=float, default=1e-3, show_default=True, help="View everything: δ of the claim."
)
@click.option("--with-cards", is_flag=True, help="View report: made with a card, freshly dealt.")
@click.option("--rounds", type=COUNT, default=2, show_default=True, help="View rounds: how many.")
@click.option("--command", "program", help="Audit a program: values in, reports out, by lines.")
@click.option("--values", default="0,1", show_default=True, help="Values for --command.")
@click.option("--claimed", type=float, help="The claim.  [default: the mechanism's own]")
@click.option("--trials", type=COUNT, default=1_000_000, show_default=True, help="Reports to make.")
@click.option("--seed", type=int, help="Reproducible run; else seeded by the system.")
@click.option("--workers", type=COUNT, help="Processes.  [default: one per processor]")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw the finding.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    view: str,
    delta: float,
    with_cards: bool,
    rounds: int,
    program: str | None,
    values: str,
    claimed: float | None,
    trials: int,
    seed: int | None,
    workers: int | None,
    plot: Path | None,
    as_json: bool,
    **survey: Any,
) -> None:
    """Try to refute a privacy claim by experiment.

    A part of the trials chooses two values and the reports that tell them apart best; the rest
    measures them. A true claim is refuted with chance 1 in 10,000 at most; that nothing is found
    proves nothing. Exit codes: 0 no violation found, 1 violation found.

    \b
    jrr audit -e 1 --mechanism drr
    jrr audit -e 1 --mechanism drr --view cards -n 20 -M 3
    jrr audit --command "python my_mechanism.py" --values 0,1 --claimed 1
    """  # noqa: D301 - click reads the \b
    from jrr.research.audit import Command, audit, choice

    subject: Subject
    delta = delta if view == "everything" and program is None else 0.0
    if program is not None:
        if claimed is None:
            raise ArgumentError("claimed must be given with --command, got none")
        subject = Command(program, values.split(","))
    else:
        if choice.deals_decks(view, with_cards=with_cards):
            for name, small in choice.SMALL_SURVEY.items():
                if context.get_parameter_source(name) is ParameterSource.DEFAULT:
                    survey[name] = small
            choice.check_deck(survey["n"])
        mechanism, colluders = make_plan(**survey).mechanism, survey["colluders"]
        subject = choice.subject_of(
            mechanism, view, colluders=colluders, rounds=rounds, with_cards=with_cards
        )
        if claimed is None:
            claimed = choice.claim_of(mechanism, view, colluders, delta)
        if not mechanism.deals and survey["mechanism"] != "rr" and not as_json:
            console().print(
                f"What was planned is {mechanism.brief()}: nothing with cards is enough more "
                "accurate here, so plain randomized response is audited."
            )
    with bar("auditing", as_json) as progress:
        finding = audit(
            subject, claimed, trials, seed, delta=delta, workers=workers, progress=progress
        )
    if plot is not None:
        from jrr.research.audit.draw import draw_audits

        draw_audits([finding], plot)
    if as_json:
        print_json(finding.to_dict())
    else:
        console().print(finding.sentence)
    if finding.violates:
        context.exit(VIOLATED)
