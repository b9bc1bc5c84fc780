"""The answers of one person: given as words, read from a file, or asked for on a terminal."""

import json
import sys
from collections.abc import Collection, Iterable
from typing import IO, TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.reporting.catalogue import text as catalogue_text
from jrr.survey.contributor import find_label
from jrr.survey.question import check_open_answer, in_first_language, is_asked

if TYPE_CHECKING:
    from jrr.survey.question import Question
    from jrr.survey.survey import Survey


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
