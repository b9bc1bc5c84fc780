"""`jrr audit privacy`: tries to refute what a mechanism claims."""

from typing import Any

import click

from jrr.cli.audit.trials import trial_options, try_claim
from jrr.cli.options import is_given, make_plan, survey_options
from jrr.cli.output import console, wants_json
from jrr.cli.values import COUNT

VIEWS = ("report", "cards", "everything", "dealer", "rounds")  # those of jrr.research.audit


@click.command()
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
@click.option("--claimed", type=float, help="The claim.  [default: the mechanism's own]")
@trial_options
def privacy(
    *,
    view: str,
    delta: float,
    with_cards: bool,
    rounds: int,
    claimed: float | None,
    **options: Any,
) -> None:
    """Try to refute the privacy claim of a mechanism.

    Which one is planned as by `jrr plan`.

    \b
    jrr audit privacy -e 1 --mechanism drr
    jrr audit privacy -e 1 --mechanism drr --view cards -n 20 -M 3
    """  # noqa: D301 - click reads the \b
    from jrr.research.audit import choice

    names = ("trials", "seed", "workers", "plot")
    trials = {name: options.pop(name) for name in names}
    delta = delta if view == "everything" else 0.0
    if choice.deals_decks(view, with_cards=with_cards):
        for name, small in choice.SMALL_SURVEY.items():
            if not is_given(name):
                options[name] = small
        choice.check_deck(options["n"])
    mechanism, colluders = make_plan(**options).mechanism, options["colluders"]
    subject = choice.subject_of(
        mechanism, view, colluders=colluders, rounds=rounds, with_cards=with_cards
    )
    if claimed is None:
        claimed = choice.claim_of(mechanism, view, colluders, delta)
    if not mechanism.deals and options["mechanism"] != "rr" and not wants_json():
        console().print(
            f"What was planned is {mechanism.brief()}: nothing with cards is enough more "
            "accurate here, so plain randomized response is audited."
        )
    try_claim(subject, claimed, delta=delta, **trials)
