"""Open answers: sent as they are, checked here, and what they decide about later items."""

import math
from collections.abc import Mapping
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.survey.questionnaire import NO_YES, NOT_ASKED, PREFER_NOT, Item, Questionnaire

OpenAnswers = Mapping[str, Any]  # item -> a text, a number or a list of labels; None: prefer not


def is_asked(item: Item, answers: OpenAnswers) -> bool:
    """Whether an item is shown to somebody with these open answers.

    Every condition must hold. An item that was not shown itself has no answer, and so none that a
    condition could name.
    """
    return all(
        bool(set(_words(answers.get(name))) & set(wanted))
        for name, wanted in (item.only_if or {}).items()
    )


def check_open_answers(questionnaire: Questionnaire, given: object) -> dict[str, Any]:
    """The open answers of one person: of exactly the open items that were shown.

    Args:
        questionnaire: which asks for them.
        given: item -> answer: "no" or "yes", a label in the first language, a list of labels, a
            whole number of a scale, a number; None for "prefer not to say".

    Returns:
        The answers in the order of the items.

    Raises:
        ArgumentError: one is missing, too many, or none of its item's answers.
    """
    if not isinstance(given, Mapping):
        raise ArgumentError(f"open answers must be an object, got {type(given).__name__}")
    checked: dict[str, Any] = {}
    for item in questionnaire.open:
        if is_asked(item, checked):
            if item.name not in given:
                raise ArgumentError(f"open answers must have one to {item.name!r}")
            checked[item.name] = _checked(item, given[item.name])
    for name in given:
        if name not in checked:
            raise ArgumentError(
                f"open answers must be to items that are asked of this person, got {name!r:.80}"
            )
    return checked


def covariates_of(questionnaire: Questionnaire) -> dict[str, tuple[str, ...]]:
    """The open items by whose answers results can be grouped, with all their values."""
    return {
        item.name: (*item.answers, NOT_ASKED) if item.only_if else item.answers
        for item in questionnaire.open
        if item.kind in ("yes-no", "choice", "scale")
    }


def as_covariates(questionnaire: Questionnaire, answers: OpenAnswers) -> dict[str, str]:
    """One person's values of the covariates above; the answers have been checked."""
    found = {}
    for name in covariates_of(questionnaire):
        answer = answers.get(name, NOT_ASKED)
        found[name] = PREFER_NOT if answer is None else str(answer)
    return found


def _checked(item: Item, answer: Any) -> Any:
    if answer is None:
        if item.prefer_not:
            return None
        raise ArgumentError(f"the answer to {item.name!r} must be given: it has no other way out")
    argument = f"the answer to {item.name!r}"
    if item.kind == "number":
        return checks.real(
            argument, answer, f"from {item.low:g} to {item.high:g}", item.low, item.high
        )
    if item.kind == "scale":
        return checks.integer(argument, answer, math.ceil(item.low), math.floor(item.high))
    words = tuple(next(iter(label.values())) for label in item.labels) or NO_YES
    if item.kind == "several":
        if not isinstance(answer, list) or len({str(one) for one in answer}) != len(answer):
            raise ArgumentError(f"{argument} must be a list of labels, each once")
        for one in answer:
            checks.one_of(argument, one, words)
        return [word for word in words if word in answer]
    return checks.one_of(argument, answer, words)


def _words(answer: Any) -> tuple[str, ...]:
    """An open answer as conditions name it."""
    if answer is None:
        return ()
    if isinstance(answer, list):
        return tuple(answer)
    return (f"{answer:g}",) if isinstance(answer, float) else (str(answer),)
