"""`jrr survey answer`: one person's answers, perturbed on this device."""

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from jrr._base.wording import counted, show_guarantee
from jrr.cli.output import Line, console, json_option, show, wants_json
from jrr.cli.progress import waiting
from jrr.cli.survey.answers import ask_all, check_given, language_of, read_answers_file
from jrr.cli.survey.contributing import contributor_of, contributor_options
from jrr.cli.values import FILE
from jrr.errors import ArgumentError, ProtocolError

if TYPE_CHECKING:
    from rich.console import Console

    from jrr.client.contributor import Contributor
    from jrr.survey.contributor import Receipt
    from jrr.survey.spending import Spent
    from jrr.survey.survey import Survey


@click.command()
@contributor_options
@click.argument("open_answers", nargs=-1, metavar="[NAME=ANSWER]...")
@click.option("--cards-only", is_flag=True, help="Only fetch the cards; answer later.")
@click.option(
    "--card", type=FILE, help="The card that your own group dealt (jrr survey deal-in-group)."
)
@click.option("--cardless", is_flag=True, help="Answer without the card of a group of your own.")
@click.option(
    "--answers-from",
    type=click.File("r"),
    help="Read answers from a file or -: a JSON object by question, or the only one that is left.",
)
@click.option("--language", help="As en or de.  [default: the survey's first]")
@click.option("--agree", is_flag=True, help="You agree to take part: do not ask.")
@json_option
def answer(
    *,
    open_answers: tuple[str, ...],
    cards_only: bool,
    card: Path | None,
    cardless: bool,
    answers_from: IO[str] | None,
    language: str | None,
    agree: bool,
    **options: Any,
) -> None:
    """Answer a survey; what is sensitive is perturbed here.

    Open questions may be answered as NAME=ANSWER. Sensitive answers are asked for (or read by
    --answers-from), never given on the command line, where the shell would remember them, and not
    shown on the screen; only perturbed reports are stored and sent. After an interruption the same
    command sends the same reports. What your answers cost adds up in a ledger on this device (jrr
    survey ledger), and --limit holds for all of them together.
    """
    person = contributor_of(**options)
    with waiting("reading the survey, and reckoning what it costs"):
        survey = person.survey
    spoken = language_of(survey, language)
    if cards_only:
        with waiting("fetching cards"):
            there = person.fetch_cards()
        words = "Cards fetched and kept." if there else "There are no cards to be had."
        show({"survey": survey.hash, "cards": there}, words)
        return
    receipt = person.resume()
    earlier = receipt is not None
    if receipt is None:
        given = check_given(survey, open_answers)
        person.check_ready()
        if card is not None:
            person.take_card(card)
        with waiting("adding up what your answers cost"):
            after = person.check_spending()
        by_groups = survey.deals and not survey.dealing.addresses
        if by_groups and not person.has_cards and not cardless:
            raise ArgumentError(
                "card must be given: contributors deal among themselves (jrr survey "
                "deal-in-group); --cardless answers without one"
            )
        if answers_from is not None:
            answers = read_answers_file(survey, answers_from, given, person.not_asked)
        else:
            to_error = wants_json()  # JSON has standard output for itself
            screen = console(to_error)
            _show_survey(screen, survey, spoken)
            _show_spending(screen, person, after, options["limit"])
            asked = agree or not sys.stdin.isatty()  # a script was told to by somebody
            if not asked and not click.confirm("Do you agree to take part?", err=to_error):
                raise ProtocolError("you did not agree to take part: nothing was sent")
            answers = ask_all(survey, spoken, given, person.not_asked, to_error=to_error)
        with waiting("sending"):
            receipt = person.answer(answers)
    _show_receipt(receipt, earlier)


def _show_survey(screen: "Console", survey: "Survey", language: str) -> None:
    """What somebody should know before they answer."""
    from jrr.survey.consent import consent_text

    screen.print(survey.title[language], style="bold")
    screen.print(consent_text(survey, language))
    if not survey.invitations:
        screen.print("Anybody can answer this, and as often as they like.")


def _show_spending(screen: "Console", person: "Contributor", after: "Spent", limit: float) -> None:
    """What the ledger says, before anything is asked."""
    before = person.spent
    screen.print(
        f"You have spent {show_guarantee(before.epsilon, before.delta)} in "
        f"{counted(before.answers, 'answer', 'answers')}; with this survey it will be at most "
        f"{show_guarantee(after.epsilon, after.delta)} of your limit {limit:g}."
    )


def _show_receipt(receipt: "Receipt", earlier: bool) -> None:
    facts: dict[str, Any] = {"survey": receipt.survey, "carded": receipt.carded, "earlier": earlier}
    card = f"answered {'with' if receipt.carded else 'without'} cards"
    lines: list[Line] = []
    if receipt.left_out:
        facts["left_out"] = list(receipt.left_out)
        lines.append("You had enrolled, but you were dealt no card. The parties say:")
        lines += [f"  {line}" for line in receipt.left_out]
    if not earlier:
        lines.append(f"Received ({card}). Thank you.")
    elif receipt.before:
        lines.append(
            f"Your earlier answers stand ({card}) and were received: nothing new was asked or sent."
        )
    else:
        lines.append(f"Your earlier answers ({card}) are received now; nothing new was asked.")
    show(facts, *lines)
