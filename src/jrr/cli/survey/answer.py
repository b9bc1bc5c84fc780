"""`jrr survey enrol`, `answer`, `ledger`: one person's answers, perturbed here, and their costs."""

import json
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.wording import counted, show_guarantee
from jrr.cli.options import all_of
from jrr.cli.output import Line, console, json_option, show, wants_json
from jrr.cli.progress import waiting
from jrr.cli.values import FILE, FOLDER
from jrr.errors import ArgumentError, ProtocolError
from jrr.reporting.catalogue import text as catalogue_text
from jrr.survey.contributor import find_label
from jrr.survey.promises import DELTA
from jrr.survey.question import check_open_answer, in_first_language, is_asked

if TYPE_CHECKING:
    from rich.console import Console

    from jrr.client.contributor import Contributor
    from jrr.survey.contributor import Receipt
    from jrr.survey.question import Question
    from jrr.survey.spending import Spent
    from jrr.survey.survey import Survey

contributor_options = all_of(
    click.argument("link"),
    click.option(
        "--invitation",
        envvar="JRR_INVITATION",
        help="Your invitation; asked for if not given.  [env: JRR_INVITATION]",
    ),
    click.option("--public", is_flag=True, help="The survey needs no invitation."),
    click.option(
        "--limit",
        type=float,
        required=True,
        help="Most ε at δ you accept against the collector (view: everything), over all your "
        "answers.",
    ),
    click.option(
        "--dealer-limit",
        type=float,
        help="Most ε you accept against dealer and collector together (view: dealer), over all.",
    ),
    click.option("--delta", type=float, default=DELTA, help="The δ of --limit, over all."),
    click.option("--patience", type=float, default=30.0, help="Seconds to wait."),
    click.option("--state", type=FOLDER, help="Directory where answers wait to be received."),
    click.option(
        "--ledger", type=FILE, help="File that adds up your costs.  [default: in --state]"
    ),
    click.option("--ca", type=FILE, help="Certificates to trust, in PEM."),
)


def contributor_of(
    *, link: str, invitation: str | None, public: bool, **options: Any
) -> "Contributor":
    """The contributor on this device; asks for the invitation where one is needed."""
    from jrr.client.contributor import Contributor
    from jrr.protocol.texts import split_link

    split_link(link)  # before anything is asked
    if invitation is None and not public:
        invitation = _ask_invitation()
    return Contributor(link, invitation, **options)


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


@click.command()
@contributor_options
@json_option
def enrol(**options: Any) -> None:
    """Take part in the next deal, where people enrol first.

    Answer when the cards are dealt.
    """
    person = contributor_of(**options)
    with waiting("reading the survey, and reckoning what it costs"):
        survey = person.survey
    with waiting("enrolling"):
        person.enrol()
    show(
        {"survey": survey.hash, "enrolled": True},
        "Enrolled. Come back and answer when the cards are dealt.",
    )


def ask_choice(
    question: str, labels: tuple[str, ...], *, hidden: bool = False, to_error: bool = False
) -> str:
    """One of several labels, chosen by its number or its text, in capitals or not.

    Args:
        question: What is asked.
        labels: The choices.
        hidden: The answer must not stay on the screen, also not in a refusal.
        to_error: Ask on standard error, where standard output is for JSON.

    Returns:
        The label.
    """
    numbered = not any(label.strip().isdecimal() for label in labels)  # "2" must mean one thing
    for number, label in enumerate(labels, 1):
        click.echo(f"  {number}  {label}" if numbered else f"  {label}", err=to_error)
    how = "number or text" if numbered else "text"
    hidden = hidden and sys.stdin.isatty()  # what is piped in stands on no screen
    shown = f"{question} ({how}{', not shown' if hidden else ''})"
    while True:
        text = click.prompt(shown, hide_input=hidden, err=to_error)
        place = find_label(labels, text)
        if place is None and numbered and text.strip().isdecimal():
            place = int(text) - 1 if 1 <= int(text) <= len(labels) else None
        if place is not None:
            return labels[place]
        click.echo("That is none of them. Please try again.", err=to_error)


def language_of(survey: "Survey", language: str | None) -> str:
    """In which questions are asked."""
    if language is None:
        return survey.languages[0]
    return checks.one_of("language", language, survey.languages)


def check_given(survey: "Survey", texts: Iterable[str]) -> dict[str, Any]:
    """Open answers as they are typed, each NAME=ANSWER.

    Raises:
        ArgumentError: One is to no open question, or none of its answers, and is not repeated.
    """
    by_name = {question.name: question for question in survey.questions}
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        question = by_name.get(name.strip())
        if not equals or question is None:
            known = ", ".join(question.name for question in survey.open) or "none"
            raise ArgumentError(
                f"answers on the command line must be as NAME=ANSWER, with the name of an open "
                f"question ({known})"
            )
        if question.sensitive:
            raise ArgumentError(
                f"the answer to {question.name!r} must not stand on the command line, where it is "
                "remembered: leave it out to be asked, or give --answers-from FILE"
            )
        answer = in_first_language(question, _typed(question, value.strip()))
        found[question.name] = check_open_answer(question, answer)
    return found


def _typed(question: "Question", value: str) -> Any:
    """A word as the kind of answer that the question has."""
    if question.kind == "several":
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        if question.kind == "number":
            return float(value)
        if question.kind == "scale":
            return int(value)
    except ValueError:
        return value  # refused with all that is allowed
    return value


def read_answers_file(
    survey: "Survey", file: IO[str], given: dict[str, Any], left_out: Collection[str]
) -> dict[str, Any]:
    """Answers by question from JSON, or the only answer that is left, as it stands there."""
    text = file.read().strip()
    try:
        document = json.loads(text)
    except ValueError:
        document = text
    if isinstance(document, dict):
        return given | document
    left = [
        question.name
        for question in survey.questions
        if question.name not in {*given, *left_out} and is_asked(question, given)
    ]
    if len(left) != 1:  # the text is not repeated: somebody's answers stand in it
        raise ArgumentError(
            "answers_from must be a JSON object by question, got something else; wanted are "
            f"{', '.join(left)}"
        )
    question = next(one for one in survey.questions if one.name == left[0])
    is_text = question.kind in ("yes-no", "choice") and not isinstance(document, list)
    return given | {left[0]: text if is_text else document}


def ask_all(
    survey: "Survey",
    language: str,
    given: dict[str, Any],
    left_out: Collection[str],
    *,
    to_error: bool,
) -> dict[str, Any]:
    """Every question that applies and has no answer yet, one after another.

    Args:
        survey: Which asks.
        language: In which.
        given: Open answers that are known.
        left_out: Questions that are not for this person.
        to_error: Whether questions are shown on the error stream.
    """
    answers: dict[str, Any] = {}
    openly: dict[str, Any] = {}  # open answers, which decide what is asked next
    questions = [one for one in survey.questions if one.name not in left_out]
    for number, question in enumerate(questions, 1):
        if not is_asked(question, openly):
            continue
        name = question.name
        if name in given:
            answers[name] = given[name]
        else:
            how = "changed here before it is sent" if question.sensitive else "sent as it is"
            text = f"{question.text[language]} ({how})"
            click.echo(f"\n{number}/{len(questions)} {text}", err=to_error)
            try:
                answers[name] = _ask(question, language, to_error)
            except click.Abort as error:
                if sys.stdin.isatty() or not isinstance(error.__context__, EOFError):
                    raise
                raise ArgumentError(
                    f"the answer to {name!r} must be given (by --answers-from FILE"
                    f"{'' if question.sensitive else f', or as {name}=ANSWER'}): nobody is there "
                    "to be asked"
                ) from None
        if not question.sensitive:
            openly[name] = answers[name]
    # What was given and is not asked is refused when answers are read.
    return answers | {name: value for name, value in given.items() if name not in answers}


def _ask(question: "Question", language: str, to_error: bool) -> Any:
    hidden = question.sensitive
    if question.kind == "number":
        words = question.allowed_numbers.capitalize()
        return click.prompt(
            words, type=float, hide_input=hidden and sys.stdin.isatty(), err=to_error
        )
    decline = (catalogue_text(language, "prefer_not"),) if question.prefer_not else ()
    no_yes = (catalogue_text(language, "no"), catalogue_text(language, "yes"))
    if question.kind == "several":
        return _ask_several(question, language, (*no_yes, *decline), to_error)
    if question.kind == "yes-no":
        shown: tuple[str, ...] = no_yes
        values: tuple[Any, ...] = ("no", "yes")
    elif question.kind == "choice":
        shown = tuple(label[language] for label in question.labels)
        values = question.words
    else:
        steps = range(round(question.low), round(question.high) + 1)
        shown, values = tuple(map(str, steps)), tuple(steps)
    chosen = ask_choice("Your answer", (*shown, *decline), hidden=hidden, to_error=to_error)
    return dict(zip(shown, values, strict=True)).get(chosen)  # None: prefers not to say


def _ask_several(
    question: "Question", language: str, words: tuple[str, ...], to_error: bool
) -> Any:
    """One question for each label; who prefers not to say of one says so of all."""
    chosen = []
    for label in question.labels:
        click.echo(f"- {label[language]}", err=to_error)
        said = ask_choice("Your answer", words, hidden=question.sensitive, to_error=to_error)
        if said == words[1]:
            chosen.append(next(iter(label.values())))
        elif said != words[0]:
            return None
    return chosen


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


@click.command()
@click.option("--state", type=FOLDER, help="Directory of `jrr survey answer`.")
@click.option("--ledger", "file", type=FILE, help="The file.  [default: in --state]")
@click.option("--delta", type=float, default=DELTA, help="δ of all together.")
@json_option
def ledger(state: Path | None, file: Path | None, delta: float) -> None:
    """Show what your answers on this device have cost together.

    \b
    jrr survey ledger
    """  # noqa: D301 - click reads the \b
    from jrr.client.device import LEDGER, Ledger, default_state
    from jrr.survey.spending import total

    path = file or (state or default_state()) / LEDGER
    entries = Ledger(path).expenses() if path.exists() else []
    spent = total(entries, delta)
    surveys = sorted({entry.survey for entry in entries})
    answers = counted(spent.answers, "answer", "answers")
    show(
        {
            "ledger": str(path),
            "answers": spent.answers,
            "everything": {"epsilon": spent.epsilon, "delta": delta},
            "guarantees": dict(spent.pure),
            "surveys": surveys,
        },
        f"{answers} in {counted(len(surveys), 'survey', 'surveys')} ({path})",
        f"Against collectors, who have all reports: {show_guarantee(spent.epsilon, delta)} "
        "(view: everything)",
        f"Against whoever sees the reports: {show_guarantee(spent.pure['report'], 0.0)}",
        f"Against dealers and collectors together: {show_guarantee(spent.pure['dealer'], 0.0)} "
        "(view: dealer)",
    )
