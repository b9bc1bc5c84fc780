"""What is asked: one question, its possible answers, and of whom it is asked.

A question is sensitive, and then its answer is perturbed on the contributor's device, or open, and
then sent as it is. Of whom a question is asked may depend on open answers only: that a sensitive
question was shown must not tell the answer to another.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from jrr._base import checks
from jrr.errors import ArgumentError

Kind = Literal["yes-no", "choice", "several", "scale", "number"]
KINDS: tuple[Kind, ...] = ("yes-no", "choice", "several", "scale", "number")
Texts = Mapping[str, str]  # by language

THEN_AND_NOW = "then-and-now"  # in drafts: a choice of the pairs of two times' no and yes
NO_YES = ("no", "yes")  # the answers to "yes-no", in documents and results
PREFER_NOT = "prefer not to say"  # one more answer, where a question has it
FLAGS = ("prefer_not", "or_less", "or_more")  # of a question, left out where they are false
MARGIN = 0.03  # half an interval of 95% that a question is asked for, unless it says otherwise
NOT_ASKED = "not asked"  # stands for the open answer of somebody whom the question was not shown


def usual_margin(kind: Kind, low: float, high: float) -> float:
    """The margin where none is said: of a share, of a number that part of its range."""
    return MARGIN * (high - low) if kind == "number" else MARGIN


@dataclass(frozen=True, kw_only=True)
class Question:
    """One thing that is asked.

    Attributes:
        name: in results; letters, digits and underscores.
        kind: "yes-no", "choice" (one of the labels), "several" (any of them), "scale" (a whole
            number from low to high) or "number" (anything from low to high).
        text: the question, by language.
        labels: the possible answers of "choice" and "several", each by language.
        low: of "scale" and "number".
        high: of "scale" and "number".
        sensitive: whether the answer is perturbed; an open one is sent as it is.
        weight: its share of the budget with the split "weight".
        margin: how exact it is to be with the split "margin": half an interval of 95%.
        prefer_not: whether "prefer not to say" is one more answer.
        or_less: of "number": whether the lowest stands for all below it, too.
        or_more: of "number": whether the highest stands for all above it, too.
        section: what is read above the question, such as what the next ones are about.
        only_if: open questions -> the answers of which it is asked, or () for everybody.
        crossed: of two questions that are asked as one: the name of each and how many answers it
            has; the labels are their pairs, the second one's answers varying fastest.
    """

    name: str
    kind: Kind
    text: Texts
    labels: tuple[Texts, ...] = ()
    low: float = 0.0
    high: float = 1.0
    sensitive: bool = True
    weight: float = 1.0
    margin: float = MARGIN
    prefer_not: bool = False
    or_less: bool = False
    or_more: bool = False
    section: Texts | None = None
    only_if: Mapping[str, tuple[str, ...]] | None = None
    crossed: tuple[tuple[str, int], ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The labels in the first language."""
        return tuple(next(iter(label.values())) for label in self.labels)

    @property
    def values(self) -> int:
        """How many answers can be told apart; for "several" of each label, for "number" 0."""
        if self.kind == "number":
            return 0
        answers = {
            "yes-no": 2,
            "choice": len(self.labels),
            "several": 2,
            "scale": round(self.high - self.low) + 1,
        }[self.kind]
        return answers + self.prefer_not

    @property
    def perturbed(self) -> int:
        """How many separate answers are perturbed: one for each label of "several"."""
        return len(self.labels) if self.kind == "several" else 1

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be told apart, in the first language; for "several" of a label."""
        if self.kind == "number":
            return ()
        if self.kind == "choice":
            words = self.words
        elif self.kind == "scale":
            words = tuple(str(step) for step in range(round(self.low), round(self.high) + 1))
        else:
            words = NO_YES
        return (*words, PREFER_NOT) if self.prefer_not else words

    def margin_words(self, margin: float) -> str:
        """Half an interval: in percentage points, or in the unit of a number."""
        if self.kind == "number":
            return f"±{margin:.3g}" if margin < self.high - self.low else "says nothing"
        return f"±{100 * margin:.2g} points" if margin < 1 else "says nothing"

    def told(self, number: float) -> float:
        """What is told of a number: beyond an end that stands for more, that end."""
        least = self.low if self.or_less else -math.inf
        return min(max(number, least), self.high if self.or_more else math.inf)

    @property
    def allowed_numbers(self) -> str:
        """Which numbers may be answered, in words."""
        low = f"{self.low:g}{' or less' if self.or_less else ''}"
        return f"a number from {low} to {self.high:g}{' or more' if self.or_more else ''}"

    @property
    def as_asked(self) -> "Question":
        """The same without what only the planning needs."""
        return replace(self, weight=1.0, margin=usual_margin(self.kind, self.low, self.high))

    def to_dict(self) -> dict[str, Any]:
        """As a draft has it: what is asked, and what the planning of a sensitive question needs."""
        planned = {"weight": self.weight, "margin": self.margin} if self.sensitive else {}
        return self.to_document() | planned

    def to_document(self) -> dict[str, Any]:
        """As a survey's document has it: what is asked."""
        found: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "text": dict(self.text),
            "sensitive": self.sensitive,
        }
        for name in FLAGS:
            if getattr(self, name):
                found[name] = True
        if self.section is not None:
            found["section"] = dict(self.section)
        if self.labels:
            found["labels"] = [dict(label) for label in self.labels]
        if self.kind in ("scale", "number"):
            found |= {"low": self.low, "high": self.high}
        if self.crossed:
            found["crossed"] = [list(part) for part in self.crossed]
        if self.only_if:
            found["only_if"] = {name: list(answers) for name, answers in self.only_if.items()}
        return found


# Question -> a text, a number or a list of labels; None: prefer not to say.
OpenAnswers = Mapping[str, Any]


def is_asked(question: Question, answers: OpenAnswers) -> bool:
    """Whether a question is shown to somebody with these open answers.

    Every condition must hold. A question that was not shown itself has no answer, and so none that
    a condition could name.
    """
    return all(
        bool(set(_words(answers.get(name))) & set(wanted))
        for name, wanted in (question.only_if or {}).items()
    )


def check_open_answers(questions: Iterable[Question], given: object) -> dict[str, Any]:
    """The open answers of one person: of exactly the open questions that were shown.

    Args:
        questions: the open ones of a survey, in order.
        given: question -> answer: "no" or "yes", a label in the first language, a list of labels, a
            whole number of a scale, a number; None for "prefer not to say".

    Returns:
        The answers in the order of the questions.

    Raises:
        ArgumentError: one is missing, too many, or none of its question's answers.
    """
    if not isinstance(given, Mapping):
        raise ArgumentError(f"open answers must be an object, got {type(given).__name__}")
    checked: dict[str, Any] = {}
    known = set()
    for question in questions:
        known.add(question.name)
        if is_asked(question, checked):
            if question.name not in given:
                raise ArgumentError(f"open answers must have one to {question.name!r}")
            checked[question.name] = check_open_answer(question, given[question.name])
    for name in given:
        if name not in checked:
            other = repr(name) if name in known else "another name"  # somebody's word: not repeated
            raise ArgumentError(
                f"open answers must be to questions that are asked of this person, got {other}"
            )
    return checked


def covariates_of(questions: Iterable[Question]) -> dict[str, tuple[str, ...]]:
    """The open questions by whose answers results can be grouped, with all their values."""
    return {
        question.name: (*question.answers, NOT_ASKED) if question.only_if else question.answers
        for question in questions
        if question.kind in ("yes-no", "choice", "scale")
    }


def as_covariates(questions: Iterable[Question], answers: OpenAnswers) -> dict[str, str]:
    """One person's values of the covariates above; the answers have been checked."""
    found = {}
    for name in covariates_of(questions):
        answer = answers.get(name, NOT_ASKED)
        found[name] = PREFER_NOT if answer is None else str(answer)
    return found


def label_places(question: Question, answer: Any) -> set[int]:
    """Which labels of a question are meant by texts in any of the survey's languages.

    Raises:
        ArgumentError: One of them is no label; it is not repeated.
    """
    places = {text: at for at, label in enumerate(question.labels) for text in label.values()}
    if not isinstance(answer, list | tuple) or not set(map(str, answer)) <= set(places):
        allowed = ", ".join(map(repr, question.words))
        raise ArgumentError(
            f"the answer to {question.name!r} must be one of {allowed:.300}, got another"
        )
    return {places[str(text)] for text in answer}


def in_first_language(question: Question, answer: Any) -> Any:
    """An open answer as it is sent: labels in the survey's first language."""
    if answer is None or question.kind not in ("choice", "several"):
        return answer
    if question.kind == "several":
        return [question.words[at] for at in sorted(label_places(question, answer))]
    (place,) = label_places(question, [answer])
    return question.words[place]


def check_open_answer(question: Question, answer: Any) -> Any:
    """An answer of this question. A refusal does not repeat it: it may be meant for nobody."""
    words = question.words or NO_YES
    allowed = {
        "number": question.allowed_numbers,
        "scale": f"a whole number from {question.low:g} to {question.high:g}",
        "several": f"a list of {', '.join(map(repr, words)):.300}, each once",
    }.get(question.kind, f"one of {', '.join(map(repr, words)):.300}")
    if answer is None and question.prefer_not:
        return None
    try:
        if question.kind == "number":
            number = checks.real("answer", answer, allowed)
            return checks.real(
                "answer", question.told(number), allowed, question.low, question.high
            )
        if question.kind == "scale":
            return checks.integer(
                "answer", answer, math.ceil(question.low), math.floor(question.high)
            )
        if question.kind == "several":
            if isinstance(answer, list) and len(set(map(str, answer))) == len(answer):
                for one in answer:
                    checks.one_of("answer", one, words)
                return [word for word in words if word in answer]
        elif answer in words:
            return answer
    except (ArgumentError, TypeError):
        pass
    raise ArgumentError(f"the answer to {question.name!r} must be {allowed}, got another")


def _words(answer: Any) -> tuple[str, ...]:
    """An open answer as conditions name it."""
    if answer is None:
        return ()
    if isinstance(answer, list):
        return tuple(answer)
    return (f"{answer:g}",) if isinstance(answer, float) else (str(answer),)
