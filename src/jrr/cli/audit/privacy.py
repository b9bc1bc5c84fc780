"""`jrr audit privacy` and `program`: try to refute what is claimed of a mechanism or a program."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.options import all_of, is_given, make_plan, survey_options
from jrr.cli.output import console, json_option, show, wants_json
from jrr.cli.progress import bar
from jrr.cli.values import COUNT, FILE

if TYPE_CHECKING:
    from jrr.research.audit import Subject


VIOLATED = 1  # exit code

trial_options = all_of(
    click.option("--trials", type=COUNT, default=1_000_000, help="Reports to make."),
    click.option("--seed", type=int, help="Reproducible run; else seeded by the system."),
    click.option("--workers", type=COUNT, help="Processes.  [default: one per processor]"),
    click.option("--plot", type=FILE, help="Draw the finding."),
    json_option,
)


def try_claim(
    subject: "Subject", claimed: float, *, plot: Path | None, delta: float = 0.0, **trials: Any
) -> None:
    """Audit, print the finding, and end with 1 if the claim is refuted."""
    from jrr.research.audit import audit

    with bar("auditing") as progress:
        finding = audit(subject, claimed, delta=delta, progress=progress, **trials)
    if plot is not None:
        from jrr.research.audit.verdict import draw_audits

        draw_audits([finding], plot)
    show(finding.to_dict(), finding.sentence)
    if finding.violates:
        click.get_current_context().exit(VIOLATED)


VIEWS = ("report", "cards", "everything", "dealer", "rounds")  # those of jrr.research.audit


@click.command()
@survey_options
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    default="report",
    help="What the adversary sees beside one report; all but report deal decks of 20 unless -n.",
)
@click.option("--delta", type=float, default=1e-3, help="View everything: δ of the claim.")
@click.option("--with-cards", is_flag=True, help="View report: made with a card, freshly dealt.")
@click.option("--rounds", type=COUNT, default=2, help="View rounds: how many.")
@click.option("--claimed", type=float, help="The claim.  [default: the mechanism's own]")
@trial_options
def privacy(
    *, view: str, delta: float, with_cards: bool, rounds: int, claimed: float | None, **options: Any
) -> None:
    """Try to refute the privacy claim of a mechanism.

    Which one is planned as by `jrr plan`.

    \b
    jrr audit privacy -e 1 --mechanism drr
    jrr audit privacy -e 1 --mechanism drr --view cards -n 20 -M 3
    """  # noqa: D301 - click reads the \b
    from jrr.research.audit import views

    names = ("trials", "seed", "workers", "plot")
    trials = {name: options.pop(name) for name in names}
    delta = delta if view == "everything" else 0.0
    if views.deals_decks(view, with_cards=with_cards):
        for name, small in views.SMALL_SURVEY.items():
            if not is_given(name):
                options[name] = small
        views.check_deck(options["n"])
    mechanism, colluders = make_plan(**options).mechanism, options["colluders"]
    subject = views.subject_of(
        mechanism, view, colluders=colluders, rounds=rounds, with_cards=with_cards
    )
    if claimed is None:
        claimed = views.claim_of(mechanism, view, colluders, delta)
    if not mechanism.deals and options["mechanism"] != "rr" and not wants_json():
        console().print(
            f"What was planned is {mechanism.brief()}: nothing with cards is enough more "
            "accurate here, so plain randomized response is audited."
        )
    try_claim(subject, claimed, delta=delta, **trials)


@click.command()
@click.argument("program")
@click.option("--claimed", type=float, required=True, help="The ε that is claimed.")
@click.option("--values", default="0,1", help="Values to perturb, by commas.")
@trial_options
def program(program: str, claimed: float, values: str, **trials: Any) -> None:
    """Try to refute the privacy claim of any program.

    PROGRAM reads values and writes reports, one on each line.

    \b
    jrr audit program "python my_mechanism.py" --values 0,1 --claimed 1
    """  # noqa: D301 - click reads the \b
    from jrr.research.audit import Command

    try_claim(Command(program, values.split(",")), claimed, **trials)
