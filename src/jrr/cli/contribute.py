"""`jrr contribute`: one person's answer, perturbed on this device."""

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.wording import show_guarantee
from jrr.cli.asking import ask_choice
from jrr.cli.contribute_survey import contribute_to_survey
from jrr.cli.options import console, json_option, print_json
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError, ProtocolError
from jrr.protocol.addresses import is_survey_link
from jrr.survey.promises import DELTA

if TYPE_CHECKING:
    from rich.console import Console

    from jrr.client.contributor import Contributor
    from jrr.survey.answers import Receipt
    from jrr.survey.campaign import Campaign
    from jrr.survey.spending import Spent

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
@click.option(
    "--limit",
    type=float,
    required=True,
    help="Most ε at δ you accept against the collector (view: everything), over all your answers.",
)
@click.option(
    "--dealer-limit",
    type=float,
    help="Most ε you accept against dealer and collector together (view: dealer), over all.",
)
@click.option(
    "--delta", type=float, default=DELTA, show_default=True, help="The δ of --limit, over all."
)
@click.option("--patience", type=float, default=30.0, show_default=True, help="Seconds to wait.")
@click.option("--covariate", multiple=True, help="A public attribute, as region=north.")
@click.option("--enrol", is_flag=True, help="Only enrol for the deal; answer later.")
@click.option("--cards-only", is_flag=True, help="Only fetch the cards; answer later.")
@click.option("--card", type=FILE, help="The card that your own group dealt (jrr mpc group).")
@click.option("--cardless", is_flag=True, help="Answer without the card of a group of your own.")
@click.option(
    "--answer-from",
    type=click.File("r"),
    help="Read the answer from a file or -; for a survey, a JSON object of items and answers.",
)
@click.option("--language", help="Of a survey, as en or de.  [default: its first]")
@click.option("--agree", is_flag=True, help="You agree to take part: do not ask.")
@click.option(
    "--repeat",
    is_flag=True,
    help="Send the report that you made for the same question before; it costs nothing more.",
)
@click.option("--state", type=FOLDER, help="Directory where reports wait to be received.")
@click.option("--ledger", type=FILE, help="File that adds up your costs.  [default: in --state]")
@click.option("--ca", type=FILE, help="Certificates to trust, in PEM.")
@json_option
def contribute(
    *,
    link: str,
    invitation: str | None,
    public: bool,
    covariate: tuple[str, ...],
    enrol: bool,
    cards_only: bool,
    card: Path | None,
    cardless: bool,
    answer_from: IO[str] | None,
    agree: bool,
    repeat: bool,
    language: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer a campaign's question, or a survey's.

    The answer is asked for (or read by --answer-from), never given on the command line, where
    the shell would remember it, and not shown on the screen. It is perturbed here; only the
    perturbed report is stored and sent. After an interruption the same command sends the same
    report. What your answers cost adds up in a ledger on this device (jrr ledger), and --limit
    holds for all of them together.
    """
    from jrr.client.contributor import Contributor
    from jrr.client.survey_contributor import SurveyContributor

    if invitation is None and not public:
        invitation = _ask_invitation()
    if is_survey_link(link):
        if covariate or enrol or cards_only or card or cardless or repeat:
            raise ArgumentError(
                "--covariate, --enrol, --cards-only, --card, --cardless and --repeat must be "
                "left out for a survey: it asks for everything itself"
            )
        contribute_to_survey(
            SurveyContributor(link, invitation, **options),
            limit=options["limit"],
            language=language,
            answer_from=answer_from,
            agree=agree,
            as_json=as_json,
        )
        return
    person = Contributor(link, invitation, **options)
    with waiting("reading the campaign, and reckoning what it costs"):
        campaign = person.campaign
    screen = console(to_error=as_json)  # JSON has standard output for itself
    if enrol:
        with waiting("enrolling"):
            person.enrol()
        if as_json:
            print_json({"campaign": campaign.hash, "enrolled": True})
        else:
            screen.print("Enrolled. Come back for your card when the cards are dealt.")
        return
    if cards_only:
        with waiting("fetching cards"):
            there = person.fetch_cards()
        if as_json:
            print_json({"campaign": campaign.hash, "cards": there})
        else:
            screen.print("Cards fetched and kept." if there else "There are no cards to be had.")
        return
    receipt = person.resume()
    earlier = receipt is not None
    if receipt is None:
        asks = answer_from is None
        given = _attributes(campaign, _split(covariate), asks=asks and not repeat, as_json=as_json)
        person.check_ready(given)
        if card is not None:
            person.take_card(card)
        if repeat:
            receipt = person.repeat(given)
            if receipt is None:
                raise ArgumentError(
                    "repeat must be left out: no report to this question is remembered here"
                )
            earlier = True
        else:
            after = _checked(person)
            if campaign.by_groups and not person.has_cards and not cardless:
                raise ArgumentError(
                    "card must be given: contributors deal among themselves (jrr mpc group); "
                    "--cardless answers without one"
                )
            if asks:
                _show_campaign(screen, campaign)
                _show_spending(screen, person, after, options["limit"])
                asked = agree or not sys.stdin.isatty()  # a script was told to by somebody
                if not asked and not click.confirm("Do you agree to take part?", err=as_json):
                    raise ProtocolError("you did not agree to take part: nothing was sent")
            answer = _answer(campaign, answer_from, as_json)
            with waiting("sending"):
                receipt = person.answer(answer, given)
    _say_receipt(receipt, earlier, screen, as_json)


def _ask_invitation() -> str:
    """Asked for until it has no slip of the pen: before anything else is asked."""
    from jrr.protocol.identity import invitation_secret

    while True:
        text: str = click.prompt("Your invitation", hide_input=True, err=True)
        try:
            invitation_secret(text)
        except ArgumentError as error:
            if not sys.stdin.isatty():
                raise
            click.echo(str(error), err=True)
        else:
            return text


def _attributes(
    campaign: "Campaign", given: dict[str, str], *, asks: bool, as_json: bool
) -> dict[str, str]:
    """The public attributes; those that are missing are asked for, if a person can be."""
    from jrr.survey.answers import read_attributes

    if asks and sys.stdin.isatty():
        for name, values in campaign.covariates.items():
            if name not in given:
                given[name] = ask_choice(f"{name} (sent as it is)", values, to_error=as_json)
    return read_attributes(campaign, given)


def _checked(person: "Contributor") -> "Spent":
    """What will have been spent; a refusal says what would cost nothing."""
    try:
        with waiting("adding up what your answers cost"):
            return person.check_spending()
    except ProtocolError as error:
        advice = ""
        if person.can_repeat():
            advice = "; --repeat sends the report that you made before, which costs nothing more"
        raise ProtocolError(f"{error}{advice}") from None


def _answer(campaign: "Campaign", answer_from: IO[str] | None, as_json: bool) -> str:
    if answer_from is not None:
        return answer_from.read().strip()
    if campaign.number is not None:
        low, high = campaign.number
        words = f"Your answer, a number from {low:g} to {high:g}"
        # What is piped in stands on no screen.
        text: str = click.prompt(words, hide_input=sys.stdin.isatty(), err=as_json)
        return text
    return ask_choice("Your answer", campaign.labels, hidden=True, to_error=as_json)


def _say_receipt(receipt: "Receipt", earlier: bool, screen: "Console", as_json: bool) -> None:
    if as_json:
        facts = {"campaign": receipt.campaign, "carded": receipt.carded}
        more = {"left_out": list(receipt.left_out)} if receipt.left_out else {}
        print_json(facts | {"earlier": earlier} | more)
        return
    card = f"answered {'with' if receipt.carded else 'without'} a card"
    if receipt.left_out:
        screen.print("You had enrolled, but you were dealt no card. The parties say:")
        for line in receipt.left_out:
            screen.print(f"  {line}", markup=False)
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
    screen.print(f"An answer costs you {campaign.cost_line}.")
    if campaign.deals and campaign.invitations:
        most = show_guarantee(campaign.guarantee("dealer"), 0.0)
        screen.print(f"Whoever deals the cards and the collector together: {most}.")
    if campaign.deals and not campaign.enrols:
        screen.print(
            f"Cards come from decks of {campaign.mechanism.moments.deck:,}; the guarantee "
            "is that of one deck."
        )
    if not campaign.invitations:
        screen.print("Anybody can answer this, and as often as they like.")


def _show_spending(screen: "Console", person: "Contributor", after: "Spent", limit: float) -> None:
    """What the ledger says, before the answer is asked for."""
    before = person.spent
    screen.print(
        f"You have spent {show_guarantee(before.epsilon, before.delta)} in {before.answers} "
        f"{'answer' if before.answers == 1 else 'answers'}; with this campaign it will be "
        f"{show_guarantee(after.epsilon, after.delta)} of your limit {limit:g}."
    )
