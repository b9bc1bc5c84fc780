"""A draft: what somebody wants to ask, as a TOML file, before anything is planned.

It has the questions, the languages, and one total ε that is split among the sensitive questions. A
survey is made of it once it is known how many people are asked and who runs the servers
(jrr.survey.creation).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.request import MOST_ANNOUNCEMENTS
from jrr.protocol.texts import MOST_OF_ASKER
from jrr.survey.question import Question, Texts
from jrr.survey.question_reading import (
    checked_fields,
    crossed,
    read_languages,
    read_questions,
    read_texts,
)
from jrr.survey.settings import read_settings

Split = Literal["even", "weight", "margin", "together"]
SPLITS: tuple[Split, ...] = ("even", "weight", "margin", "together")
AUTO, ALL = "auto", "all"
MOST_WAVES = 1_000

_FIELDS = (
    *("title", "by", "contact", "languages", "epsilon", "split", "ask", "waves"),
    *("cells", "announcements", "analyses", "cross"),
    *("survey", "questions"),
)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """Questions with one total budget.

    Example:
        >>> document = {
        ...     "title": "Work",
        ...     "questions": [
        ...         {"name": "bribed", "kind": "yes-no", "text": "Have you taken a bribe?"},
        ...         {
        ...             "name": "sector", "kind": "choice", "text": "Where do you work?",
        ...             "labels": ["public", "private"], "sensitive": False,
        ...         },
        ...     ],
        ... }
        >>> [question.name for question in Draft.from_dict(document).sensitive]
        ['bribed']
    """

    title: Texts
    languages: tuple[str, ...]
    questions: tuple[Question, ...]
    epsilon: float = 1.0  # of one wave
    split: Split = "even"
    ask: int | str = AUTO  # of questions that share a coin, how many each person is asked
    waves: int = 1  # how often the same people are asked
    cells: tuple[str, ...] = ()  # open questions on whose crossing the survey is to be closed
    announcements: int | None = None  # sums that a card may be in; None: 2 where a wave follows
    analyses: tuple[str, ...] = ()  # what is to be made of it (jrr.survey.analyses)
    by: Texts | None = None  # who asks: an organisation or a person
    contact: Texts | None = None  # whom to ask: a mail address, a number, a postal address
    settings: Mapping[str, Any] = field(default_factory=dict)  # the table [survey], for creation

    @property
    def sensitive(self) -> tuple[Question, ...]:
        """The questions whose answers are perturbed."""
        return tuple(question for question in self.questions if question.sensitive)

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions whose answers are sent as they are."""
        return tuple(question for question in self.questions if not question.sensitive)

    def announced_in(self, wave: int = 1) -> int:
        """In how many sums a card may be: as it says; two where a wave follows, for pairs."""
        if self.announcements is not None:
            return self.announcements
        return 2 if wave < self.waves else 1

    def to_dict(self) -> dict[str, Any]:
        """A document that `from_dict` reads."""
        named = {"title": self.title, "by": self.by, "contact": self.contact}
        found: dict[str, Any] = {
            name: dict(texts) for name, texts in named.items() if texts is not None
        }
        return found | {
            "languages": list(self.languages),
            "epsilon": self.epsilon,
            "split": self.split,
            "ask": self.ask,
            "waves": self.waves,
            **({"cells": list(self.cells)} if self.cells else {}),
            **({} if self.announcements is None else {"announcements": self.announcements}),
            **({"analyses": list(self.analyses)} if self.analyses else {}),
            **({"survey": dict(self.settings)} if self.settings else {}),
            "questions": [question.to_dict() for question in self.questions],
        }

    @classmethod
    def from_dict(cls, document: object) -> "Draft":
        """The draft that a document describes; two questions that it crosses are one.

        Raises:
            ArgumentError: An unknown field (the nearest known one is named), a question or label
                twice, a branch on a sensitive or later question, or anything out of its range.
        """
        fields = checked_fields("draft", document, _FIELDS, needed=("title", "questions"))
        languages = read_languages(fields.get("languages", ["en"]))
        asker = {
            name: read_texts(name, fields[name], languages, MOST_OF_ASKER)
            for name in ("by", "contact")
            if name in fields
        }
        split = checks.one_of("split", fields.get("split", "even"), SPLITS)
        questions = read_questions(fields["questions"], languages)
        return cls(
            **asker,
            title=read_texts("title", fields["title"], languages),
            languages=languages,
            questions=crossed(questions, fields.get("cross", []), languages),
            epsilon=checks.epsilon("epsilon", fields.get("epsilon", 1.0)),
            split=split,  # type: ignore[arg-type]
            ask=_read_ask(fields.get("ask", AUTO), split),
            waves=checks.integer("waves", fields.get("waves", 1), 1, MOST_WAVES),
            cells=_names("cells", fields.get("cells", [])),
            announcements=_announcements(fields.get("announcements")),
            analyses=_names("analyses", fields.get("analyses", [])),
            settings=read_settings(fields.get("survey", {})),
        )

    @classmethod
    def read(cls, path: str | Path) -> "Draft":
        """The draft in a TOML file.

        Raises:
            ArgumentError: The file is not TOML, or as `from_dict` does.
        """
        try:
            with Path(path).open("rb") as file:
                document = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ArgumentError(f"{path} must be a TOML file, got {error}") from None
        return cls.from_dict(document)


def _read_ask(ask: object, split: str) -> int | str:
    """How many of the questions that share a coin each person is asked."""
    if isinstance(ask, str):
        return checks.one_of("ask", ask, (AUTO, ALL))
    if split != "together":
        allowed = f"{AUTO!r} or {ALL!r} with split={split!r}: some are asked with 'together' only"
        raise checks.refusal("ask", ask, allowed)
    return checks.integer("ask", ask, 1)


def _names(argument: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise checks.refusal(argument, given, "a list of texts")
    return tuple(given)


def _announcements(given: object) -> int | None:
    return None if given is None else checks.integer("announcements", given, 1, MOST_ANNOUNCEMENTS)


def one_question(
    text: str,
    *,
    labels: tuple[str, ...] = ("no", "yes"),
    number: tuple[float, float] | None = None,
    groups: dict[str, tuple[str, ...]] | None = None,
    language: str = "en",
    **more: Any,
) -> Draft:
    """The draft of one sensitive question, named "answer".

    Args:
        text: What is asked.
        labels: The possible answers.
        number: Instead of labels, the ends between which the answer lies.
        groups: Open questions before it, name -> possible answers, by which results are grouped.
        language: Of all texts.
        **more: Further fields of a draft: title (the question unless given), by, contact, epsilon.

    Returns:
        The draft; its answers "no" and "yes" make it a yes-no question.
    """
    kind: dict[str, Any] = {"kind": "choice", "labels": list(labels)}
    if number is not None:
        kind = {"kind": "number", "low": number[0], "high": number[1]}
    elif tuple(labels) == ("no", "yes"):
        kind = {"kind": "yes-no"}
    asked_openly = [
        {"name": name, "kind": "choice", "text": name, "labels": list(answers), "sensitive": False}
        for name, answers in (groups or {}).items()
    ]
    given = {name: value for name, value in more.items() if value is not None}
    return Draft.from_dict(
        {
            "title": text[:2_000],
            "languages": [language],
            "questions": [*asked_openly, {"name": "answer", "text": text, **kind}],
        }
        | given
    )
