"""`jrr contribute` to a survey of several items: asked one after another, sent together."""

import json
import sys
from typing import IO, TYPE_CHECKING, Any

import click

from jrr._base.wording import show_guarantee
from jrr.cli.asking import ask_choice
from jrr.cli.options import console, print_json
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError, ProtocolError
from jrr.reporting.catalogue import text as catalogue_text

if TYPE_CHECKING:
    from jrr.client.survey_contributor import SurveyContributor
    from jrr.survey.questionnaire import Item
    from jrr.survey.surveys import Survey


def contribute_to_survey(
    person: "SurveyContributor",
    *,
    limit: float,
    language: str | None,
    answer_from: IO[str] | None,
    agree: bool,
    as_json: bool,
) -> None:
    """Ask all items that apply, perturb every sensitive answer here, send them in one upload.

    answer_from: A JSON object, item -> answer, instead of asking.
    """
    with waiting("reading the survey, and reckoning what it costs"):
        survey = person.survey
    screen = console(to_error=as_json)
    receipt = person.resume()
    earlier = receipt is not None
    if receipt is None:
        person.check_ready()
        after = person.check_spending()
        if answer_from is not None:
            answers = _read_answers(answer_from)
        else:
            spoken = _language(survey, language)
            screen.print(survey.questionnaire.title[spoken], style="bold")
            screen.print(survey.consent[spoken])
            before = person.spent
            screen.print(
                f"You have spent {show_guarantee(before.epsilon, before.delta)} so far; with this "
                f"survey it will be at most {show_guarantee(after.epsilon, after.delta)} of your "
                f"limit {limit:g}."
            )
            asked = agree or not sys.stdin.isatty()  # a script was told to by somebody
            if not asked and not click.confirm("Do you agree to take part?", err=as_json):
                raise ProtocolError("you did not agree to take part: nothing was sent")
            answers = _ask(survey, spoken, as_json)
        with waiting("sending"):
            receipt = person.answer(answers)
    if as_json:
        facts = {"survey": survey.hash, "carded": receipt.carded, "earlier": earlier}
        print_json(facts)
        return
    card = f"answered {'with' if receipt.carded else 'without'} cards"
    if earlier:
        screen.print(f"Your earlier answers stand ({card}): nothing new was asked or sent.")
    else:
        screen.print(f"Received ({card}). Thank you.")


def _language(survey: "Survey", language: str | None) -> str:
    known = survey.questionnaire.languages
    if language is None:
        return known[0]
    if language not in known:
        raise ArgumentError(f"language must be one of {', '.join(known)}, got {language!r}")
    return language


def _read_answers(file: IO[str]) -> dict[str, Any]:
    try:
        answers = json.loads(file.read())
    except ValueError:
        answers = None
    if not isinstance(answers, dict):  # not repeated: somebody's answers stand in it
        raise ArgumentError("answer_from must be a JSON object, item -> answer, got something else")
    return answers


def _ask(survey: "Survey", language: str, as_json: bool) -> dict[str, Any]:
    """Every item that applies, one after another."""
    from jrr.survey.open_answers import is_asked

    answers: dict[str, Any] = {}
    given: dict[str, Any] = {}  # open answers, which decide what is asked next
    items = survey.questionnaire.items
    for number, item in enumerate(items, 1):
        if not is_asked(item, given):
            continue
        how = "changed here before it is sent" if item.sensitive else "sent as it is"
        click.echo(f"\n{number}/{len(items)} {item.text[language]} ({how})", err=as_json)
        answers[item.name] = _ask_item(item, language, as_json)
        if not item.sensitive:
            given[item.name] = answers[item.name]
    return answers


def _ask_item(item: "Item", language: str, as_json: bool) -> Any:
    hidden = item.sensitive
    if item.kind == "number":
        words = f"A number from {item.low:g} to {item.high:g}"
        return click.prompt(
            words, type=float, hide_input=hidden and sys.stdin.isatty(), err=as_json
        )
    decline = (catalogue_text(language, "prefer_not"),) if item.prefer_not else ()
    no_yes = (catalogue_text(language, "no"), catalogue_text(language, "yes"))
    if item.kind == "several":
        return _ask_several(item, language, (*no_yes, *decline), as_json)
    if item.kind == "yes-no":
        shown: tuple[str, ...] = no_yes
        values: tuple[Any, ...] = ("no", "yes")
    elif item.kind == "choice":
        shown = tuple(label[language] for label in item.labels)
        values = tuple(next(iter(label.values())) for label in item.labels)
    else:
        steps = range(round(item.low), round(item.high) + 1)
        shown, values = tuple(map(str, steps)), tuple(steps)
    chosen = ask_choice("Your answer", (*shown, *decline), hidden=hidden, to_error=as_json)
    return dict(zip(shown, values, strict=True)).get(chosen)  # None: prefers not to say


def _ask_several(item: "Item", language: str, words: tuple[str, ...], as_json: bool) -> Any:
    """One question for each label; who prefers not to say of one says so of all."""
    chosen = []
    for label in item.labels:
        click.echo(f"- {label[language]}", err=as_json)
        said = ask_choice("Your answer", words, hidden=item.sensitive, to_error=as_json)
        if said == words[1]:
            chosen.append(next(iter(label.values())))
        elif said != words[0]:
            return None
    return chosen
