"""`jrr contribute`: one person's answer, perturbed on this device."""

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from jrr._base import checks
from jrr.cli.options import console, json_option, print_json
from jrr.reporting.explain import show_epsilon

if TYPE_CHECKING:
    from rich.console import Console

    from jrr.survey.campaign import Campaign

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("link")
@click.option(
    "--invitation",
    envvar="JRR_INVITATION",
    help="Your invitation; asked for if not given.  [env: JRR_INVITATION]",
)
@click.option("--public", is_flag=True, help="The campaign needs no invitation.")
@click.option("--limit", type=float, required=True, help="Most ε you accept (view: cards).")
@click.option("--dealer-limit", type=float, help="Most ε you accept (view: dealer).")
@click.option("--patience", type=float, default=30.0, show_default=True, help="Seconds to wait.")
@click.option("--round", "round_number", type=int, default=0, show_default=True)
@click.option("--covariate", multiple=True, help="A public attribute, as region=north.")
@click.option("--enrol", is_flag=True, help="Only enrol for the deal; answer later.")
@click.option("--cards-only", is_flag=True, help="Only fetch the cards; answer later.")
@click.option("--answer-from", type=click.File("r"), help="Read the answer from a file or -.")
@click.option("--state", type=FOLDER, help="Directory where reports wait to be received.")
@click.option("--ca", type=FILE, help="Certificates to trust, in PEM.")
@json_option
def contribute(
    *,
    link: str,
    invitation: str | None,
    public: bool,
    limit: float,
    dealer_limit: float | None,
    patience: float,
    round_number: int,
    covariate: tuple[str, ...],
    enrol: bool,
    cards_only: bool,
    answer_from: IO[str] | None,
    state: Path | None,
    ca: Path | None,
    as_json: bool,
) -> None:
    """Answer a campaign's question.

    The answer is asked for (or read by --answer-from), never given on the command line, where
    the shell would remember it. It is perturbed here; only the perturbed report is stored and
    sent. After an interruption the same command sends the same report.
    """
    from jrr.client.contributor import Contributor
    from jrr.survey.contributor import read_attributes

    if invitation is None and not public:
        invitation = click.prompt("Your invitation", hide_input=True, err=True)
    person = Contributor(
        link,
        invitation,
        limit=limit,
        dealer_limit=dealer_limit,
        patience=patience,
        state=state,
        ca=ca,
    )
    campaign = person.campaign
    screen = console(to_error=as_json)  # JSON has standard output for itself
    if enrol:
        person.enrol()
        if as_json:
            print_json({"campaign": campaign.hash, "enrolled": True})
        else:
            screen.print("Enrolled. Come back for your card when the cards are dealt.")
        return
    if cards_only:
        there = person.fetch_cards()
        if as_json:
            print_json({"campaign": campaign.hash, "cards": there})
        else:
            screen.print("Cards fetched and kept." if there else "There are no cards to be had.")
        return
    campaign.check_round(round_number)
    receipt = person.resume(round_number)
    earlier = receipt is not None
    if receipt is None:
        given = read_attributes(campaign, _split(covariate))
        person.check_ready(given, round_number)
        if answer_from is None:
            _show_campaign(screen, campaign)
            answer = click.prompt("Your answer", type=click.Choice(campaign.labels), err=as_json)
        else:
            answer = answer_from.read().strip()
        receipt = person.answer(answer, given, round_number)
    if as_json:
        facts = {"campaign": receipt.campaign, "round": receipt.round, "carded": receipt.carded}
        print_json(facts | {"earlier": earlier})
        return
    card = f"answered {'with' if receipt.carded else 'without'} a card"
    if not earlier:
        screen.print(f"Received ({card}). Thank you.")
    elif receipt.before:
        screen.print(
            f"Your earlier report stands ({card}) and was received: nothing new was asked or sent."
        )
    else:
        screen.print(f"Your earlier report ({card}) is received now; nothing new was asked.")


def _split(given: tuple[str, ...]) -> dict[str, str]:
    """Attributes as they are given on the command line."""
    attributes = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise checks.refusal("covariate", text, "as region=north")
        attributes[name.strip()] = value.strip()
    return attributes


def _show_campaign(screen: "Console", campaign: "Campaign") -> None:
    """What somebody should know before they answer."""
    screen.print(campaign.question)
    screen.print(campaign.consent)
    cost = show_epsilon(campaign.cost)
    screen.print(f"It costs you ε = {cost} against {campaign.against}.")
    if campaign.deals and campaign.invitations:
        most = show_epsilon(campaign.guarantee("dealer"))
        screen.print(f"Whoever deals the cards and the collector together: ε = {most}.")
    if campaign.deals and not campaign.enrols:
        screen.print(
            f"Cards come from decks of {campaign.mechanism.moments.deck:,}; the guarantee "
            "is that of one deck."
        )
    if not campaign.invitations:
        screen.print("Anybody can answer this, and as often as they like.")
