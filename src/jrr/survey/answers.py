"""From what somebody answered to the values that are perturbed."""

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.numbers import Numbers
from jrr.survey.question import NO_YES, check_open_answers, in_first_language, label_places

if TYPE_CHECKING:
    from jrr.mechanisms.base import Rng
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey

Answers = Mapping[str, Any]  # question -> label, number, or list of labels of "several"


def read_answers(
    survey: "Survey", answers: Answers, rng: "Rng" = None, person: bytes | None = None
) -> tuple[dict[str, Any], dict[str, int]]:
    """Open answers, and for every perturbed answer that is asked for its value.

    Args:
        survey: Which asks.
        answers: Question -> a label in any of the survey's languages, a number, a list of labels of
            "several"; None for "prefer not to say".
        rng: Rounds numbers by chance; by default the system's secure one.
        person: As for `Survey.asked`.

    Raises:
        ArgumentError: A question that is asked has no answer, one that is not asked has one, or an
            answer is none of its question's. What was answered is not repeated.
    """
    first = {
        one.name: in_first_language(one, answers[one.name])
        for one in survey.open
        if one.name in answers
    }
    given = check_open_answers(survey.open, first)
    asked = survey.asked(given, person)
    names = {one.asked.name for one in asked}
    for name in names - set(answers):
        raise ArgumentError(f"answers must have one to {name!r}")
    extra = set(answers) - names - set(given)
    if extra:
        raise ArgumentError(
            "answers must be to questions that are asked of this person, got one to "
            f"{min(extra)!r:.80}"
        )
    return given, {one.name: value_of(one, answers[one.asked.name], rng) for one in asked}


def value_of(one: "SensitiveQuestion", answer: Any, rng: "Rng" = None) -> int:
    """The value that an answer stands for. A refusal does not repeat the answer."""
    question = one.asked
    if answer is None and question.prefer_not:
        return len(question.answers) - 1
    try:
        if question.kind == "several":
            return int(one.label in label_places(question, answer))
        if question.kind == "number":
            ends = Numbers(question.low, question.high, one.mechanism)
            number = checks.real("answer", float(answer), question.allowed_numbers)
            return int(ends.steps([question.told(number)], rng)[0])
        if question.kind == "choice" and not isinstance(answer, str):
            return checks.integer("answer", answer, 0, len(question.labels) - 1)
        if question.kind == "choice":
            return _place_of_label(one, answer)
        if question.kind == "scale":
            answer = str(operator.index(answer)) if not isinstance(answer, str | bool) else answer
        elif isinstance(answer, bool):
            answer = NO_YES[answer]
        elif not isinstance(answer, str):
            answer = NO_YES[checks.integer("answer", answer, 0, 1)]
        place = find_label(question.answers, str(answer))
        if place is None:
            raise ArgumentError("no label")
    except (ArgumentError, TypeError, ValueError):
        told = ", ".join(map(repr, question.answers)) if question.kind != "number" else ""
        allowed = {
            "several": "a list of its labels",
            "number": question.allowed_numbers,
        }.get(question.kind, f"one of {told:.500}")
        raise ArgumentError(
            f"the answer to {question.name!r} must be {allowed}, got another"
        ) from None
    return place


def _place_of_label(one: "SensitiveQuestion", answer: str) -> int:
    """Of a label in any language, in capitals or not."""
    for texts in zip(*(label.values() for label in one.asked.labels), strict=True):
        place = find_label(texts, answer)
        if place is not None:
            return place
    raise ArgumentError("no label")


def find_label(labels: Sequence[str], text: str) -> int | None:
    """Where a text stands among labels; capitals and blanks around it matter only if they must.

    Args:
        labels: All different.
        text: As somebody typed it.

    Returns:
        Its place; None where it is none of them, or could be two.

    Example:
        >>> find_label(("No", "Yes"), "yes "), find_label(("a", "A", "b"), "A")
        (1, 1)
    """
    wanted = text.strip()
    for same in (str, str.casefold):
        places = [at for at, label in enumerate(labels) if same(label) == same(wanted)]
        if len(places) == 1:
            return places[0]
    return None
