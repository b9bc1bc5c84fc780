"""A draft: what somebody wants to ask, as a TOML file, before anything is planned.

It has the questions, the languages, and one total ε that is split among the sensitive questions. A
survey is made of it once it is known how many people are asked and who runs the servers
(jrr.survey.creation).

Its table [survey] has seldom used settings, which may also be words on a command line. Each is a
field of `SurveyRequest` of the same name, but `consent_file` and `logo_file`, which name files.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.request import MOST_ANNOUNCEMENTS
from jrr.protocol.texts import MOST_OF_ASKER
from jrr.survey.logo import read_logo
from jrr.survey.question import Question, Texts
from jrr.survey.question_reading import (
    checked_fields,
    crossed,
    read_languages,
    read_questions,
    read_texts,
)

UNBOUNDED = "unbounded"  # as a dealer's ε: trusted without bound


def _whole(name: str, value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    return checks.integer(name, value, 0)


def _real(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise checks.refusal(name, value, "a number")
    return number


def _real_or_unbounded(name: str, value: Any) -> float:
    return math.inf if value == UNBOUNDED else _real(name, value)


def _frequency(name: str, value: Any) -> Any:
    ends = value.split(":") if isinstance(value, str) else value
    if isinstance(ends, list | tuple):
        numbers = tuple(_real(name, end) for end in ends)
        return numbers if len(numbers) != 1 else numbers[0]
    return _real(name, value)


def _flag(name: str, value: Any) -> bool:
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise checks.refusal(name, value, "true or false")
    return found


def _list(name: str, value: Any) -> tuple[str, ...]:
    parts = value.split(";") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise checks.refusal(name, value, "texts, with ; between")
    return tuple(checks.text(name, part).strip() for part in parts)


def _texts(name: str, value: Any) -> dict[str, str]:
    """A text for each language; one text alone is for all of them, under the empty name."""
    texts = {"": value} if isinstance(value, str) else value
    if not isinstance(texts, Mapping):
        raise checks.refusal(name, value, "a text, or a table of texts by language")
    return {
        str(language): checks.text(f"{name} in {language}", text)
        for language, text in texts.items()
    }


def _time(name: str, value: Any) -> str:
    if isinstance(value, datetime):  # TOML has times
        utc = value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
        return utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    return checks.text(name, value)


_READ: dict[str, Callable[[str, Any], Any]] = {
    "analyses": _list,
    "colluders": _whole,
    "view": checks.text,
    "delta": _real,
    "dealer_epsilon": _real_or_unbounded,
    "lost": _real,
    "frequency": _frequency,
    "closed_deck": _flag,
    "deck": _whole,
    "verified": _flag,
    "capacity": _whole,
    "opens": _time,
    "closes": _time,
    "min_cell": _whole,
    "results_every": _whole,
    "min_batch": _whole,
    "pilot": _flag,
    "keep_days": _whole,
    "consent": _texts,
    "consent_file": checks.text,
    "consent_version": checks.text,
    "logo": checks.text,
    "logo_file": checks.text,
}
SETTINGS = tuple(_READ)
FILES = ("consent_file", "logo_file")  # settings that name a file


def read_settings(given: object) -> dict[str, Any]:
    """Checked settings.

    Args:
        given: As in a TOML file, or texts of a command line.

    Raises:
        ArgumentError: There is no such setting (the nearest is named), or its value is another.

    Example:
        >>> read_settings({"min_cell": "5", "dealer_epsilon": "unbounded"})
        {'min_cell': 5, 'dealer_epsilon': inf}
    """
    fields = checked_fields("survey", given, SETTINGS, needed=())
    return {name: _READ[name](name, value) for name, value in fields.items()}


def split_settings(texts: Iterable[str]) -> dict[str, str]:
    """Settings as they are typed, each NAME=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise checks.refusal("set", text, "as min_cell=5")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def request_fields(settings: Mapping[str, Any], languages: Iterable[str]) -> dict[str, Any]:
    """Settings as fields of a `SurveyRequest`; reads the files of the consent text and the logo."""
    found = {name: value for name, value in settings.items() if name not in FILES}
    if "logo_file" in settings:
        if "logo" in settings:
            raise checks.refusal(
                "logo_file", settings["logo_file"], "left out where there is a logo"
            )
        found["logo"] = read_logo(Path(settings["logo_file"]))
    file, texts = settings.get("consent_file"), settings.get("consent", {})
    if file is not None:
        if texts:
            raise checks.refusal("consent_file", file, "left out where there is a consent")
        texts = {"": _text(Path(file))}
    if texts:
        found["consent"] = dict.fromkeys(languages, texts[""]) if "" in texts else texts
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"consent_file must be a text in UTF-8, got {file}") from None
    except OSError as error:
        raise checks.refusal("consent_file", str(file), f"readable ({error.strerror})") from None


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
    split: Split = "together"
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
        split = checks.one_of("split", fields.get("split", "together"), SPLITS)
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
