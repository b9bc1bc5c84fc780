"""Questionnaires: several items asked of the same people, described in a TOML file.

An item is sensitive, and then perturbed on the contributor's device, or open, and then sent as it
is. One total ε is split among the sensitive items. Which items somebody sees may depend on open
answers only: that a sensitive item was shown must not tell the answer to another.
"""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.survey.texts import MOST_OF_ASKER, check_text

Kind = Literal["yes-no", "choice", "several", "scale", "number"]
KINDS: tuple[Kind, ...] = ("yes-no", "choice", "several", "scale", "number")
Split = Literal["even", "weight", "margin"]
SPLITS: tuple[Split, ...] = ("even", "weight", "margin")
Texts = Mapping[str, str]  # by language

_TOP = (
    "title",
    "by",
    "contact",
    "languages",
    "epsilon",
    "split",
    "waves",
    "items",
)
_FIELDS = (
    "name",
    "kind",
    "text",
    "labels",
    "low",
    "high",
    "sensitive",
    "weight",
    "margin",
    "prefer_not",
    "only_if",
)
NO_YES = ("no", "yes")  # the answers to "yes-no", in documents and results
PREFER_NOT = "prefer not to say"  # one more answer, where an item has it
NOT_ASKED = "not asked"  # stands for the open answer of somebody whom the item was not shown
_MOST_ITEMS = 200
_MOST_LABELS = 1_000
_MOST_WAVES = 1_000


@dataclass(frozen=True, kw_only=True)
class Item:
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
        only_if: open items -> the answers of which it is asked, or () for everybody.
    """

    name: str
    kind: Kind
    text: Texts
    labels: tuple[Texts, ...] = ()
    low: float = 0.0
    high: float = 1.0
    sensitive: bool = True
    weight: float = 1.0
    margin: float = 0.03
    prefer_not: bool = False
    only_if: Mapping[str, tuple[str, ...]] | None = None

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
    def questions(self) -> int:
        """How many separate answers are perturbed: one for each label of "several"."""
        return len(self.labels) if self.kind == "several" else 1

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be told apart, in the first language; for "several" of a label."""
        if self.kind == "number":
            return ()
        if self.kind == "choice":
            words = tuple(next(iter(label.values())) for label in self.labels)
        elif self.kind == "scale":
            words = tuple(str(step) for step in range(round(self.low), round(self.high) + 1))
        else:
            words = NO_YES
        return (*words, PREFER_NOT) if self.prefer_not else words

    def to_dict(self) -> dict[str, Any]:
        """As a questionnaire's document has it."""
        found: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "text": dict(self.text),
            "sensitive": self.sensitive,
            "prefer_not": self.prefer_not,
        }
        if self.labels:
            found["labels"] = [dict(label) for label in self.labels]
        if self.kind in ("scale", "number"):
            found |= {"low": self.low, "high": self.high}
        if self.sensitive:
            found |= {"weight": self.weight, "margin": self.margin}
        if self.only_if:
            found["only_if"] = {name: list(answers) for name, answers in self.only_if.items()}
        return found


@dataclass(frozen=True, kw_only=True)
class Questionnaire:
    """Items with one total budget.

    Example:
        >>> document = {
        ...     "title": "Work",
        ...     "items": [
        ...         {"name": "bribed", "kind": "yes-no", "text": "Have you taken a bribe?"},
        ...         {
        ...             "name": "sector", "kind": "choice", "text": "Where do you work?",
        ...             "labels": ["public", "private"], "sensitive": False,
        ...         },
        ...     ],
        ... }
        >>> [item.name for item in Questionnaire.from_dict(document).sensitive]
        ['bribed']
    """

    title: Texts
    languages: tuple[str, ...]
    items: tuple[Item, ...]
    epsilon: float = 1.0  # of one wave
    split: Split = "even"
    waves: int = 1  # how often the same people are asked
    by: Texts | None = None  # who asks: an organisation or a person
    contact: Texts | None = None  # whom to ask: a mail address, a number, a postal address

    @property
    def sensitive(self) -> tuple[Item, ...]:
        """The items whose answers are perturbed."""
        return tuple(item for item in self.items if item.sensitive)

    @property
    def open(self) -> tuple[Item, ...]:
        """The items whose answers are sent as they are."""
        return tuple(item for item in self.items if not item.sensitive)

    def to_dict(self) -> dict[str, Any]:
        """A document that `from_dict` reads."""
        named = {"by": self.by, "contact": self.contact}
        found: dict[str, Any] = {
            name: dict(texts) for name, texts in named.items() if texts is not None
        }
        return found | {
            "title": dict(self.title),
            "languages": list(self.languages),
            "epsilon": self.epsilon,
            "split": self.split,
            "waves": self.waves,
            "items": [item.to_dict() for item in self.items],
        }

    @classmethod
    def from_dict(cls, document: object) -> "Questionnaire":
        """The questionnaire that a document describes.

        Raises:
            ArgumentError: for an unknown field (the nearest known one is named), an item or label
                twice, a branch on a sensitive or later item, or anything out of its range.
        """
        fields = _checked_fields("questionnaire", document, _TOP, needed=("title", "items"))
        languages = _languages(fields.get("languages", ["en"]))
        listed = fields["items"]
        if not isinstance(listed, list) or not 1 <= len(listed) <= _MOST_ITEMS:
            raise ArgumentError(
                f"items must be 1 to {_MOST_ITEMS} tables [[items]], got {listed!r:.80}"
            )
        items: list[Item] = []
        for entry in listed:
            item = _item(entry, languages)
            _check_place(item, items)
            items.append(item)
        if not any(item.sensitive for item in items):
            raise ArgumentError("items must have at least one with sensitive = true, got none")
        asker = {
            name: _texts(name, fields[name], languages, MOST_OF_ASKER)
            for name in ("by", "contact")
            if name in fields
        }
        return cls(
            **asker,
            title=_texts("title", fields["title"], languages),
            languages=languages,
            items=tuple(items),
            epsilon=checks.epsilon("epsilon", fields.get("epsilon", 1.0)),
            split=checks.one_of("split", fields.get("split", "even"), SPLITS),  # type: ignore[arg-type]
            waves=checks.integer("waves", fields.get("waves", 1), 1, _MOST_WAVES),
        )

    @classmethod
    def read(cls, path: str | Path) -> "Questionnaire":
        """The questionnaire in a TOML file.

        Raises:
            ArgumentError: where the file is not TOML, or as `from_dict` does.
        """
        try:
            with Path(path).open("rb") as file:
                document = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ArgumentError(f"{path} must be a TOML file, got {error}") from None
        return cls.from_dict(document)


def _item(entry: object, languages: tuple[str, ...]) -> Item:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    where = f"item {name!r}" if isinstance(name, str) else "item"
    fields = _checked_fields(where, entry, _FIELDS, needed=("name", "kind", "text"))
    if not isinstance(name, str) or not name.isidentifier() or len(name) > 60:
        raise checks.refusal("name", name, "letters, digits and underscores, at most 60")
    if name.endswith("_carded"):
        raise checks.refusal("name", name, "without _carded at its end: exports need that")
    kind: Any = checks.one_of("kind", fields["kind"], KINDS)
    sensitive = _flag(where, "sensitive", fields.get("sensitive", True))
    low, high = _range(where, kind, fields)
    prefer_not = _flag(where, "prefer_not", fields.get("prefer_not", False))
    if prefer_not and sensitive and kind == "number":
        raise ArgumentError(
            f"prefer_not of {where} must be false: a perturbed number has no answer beside it; ask "
            "with a yes-no item before it, or with a scale"
        )
    return Item(
        name=name,
        kind=kind,
        text=_texts(f"text of {where}", fields["text"], languages),
        labels=_labels(where, kind, fields.get("labels"), languages),
        low=low,
        high=high,
        sensitive=sensitive,
        weight=checks.positive("weight", fields.get("weight", 1.0)),
        margin=checks.real("margin", fields.get("margin", 0.03), "above 0", 0.0, open_low=True),
        prefer_not=prefer_not,
        only_if=_branches(where, fields.get("only_if")),
    )


def _check_place(item: Item, before: Sequence[Item]) -> None:
    """Refuse an item twice, and branches that would tell a sensitive answer."""
    known = {one.name: one for one in before}
    if item.name in known:
        raise ArgumentError(f"items must have different names, got {item.name!r} twice")
    for name, answers in (item.only_if or {}).items():
        if name not in known:
            raise ArgumentError(
                f"only_if of item {item.name!r} must name an item before it, got {name!r}"
                + _nearest(name, known)
            )
        other = known[name]
        if other.sensitive:
            raise ArgumentError(
                f"only_if of item {item.name!r} must not depend on the sensitive item {name!r}: "
                "whoever sees that the item was asked would know that answer"
            )
        possible = _open_answers(other)
        for answer in answers:
            if possible is not None and answer not in possible:
                raise ArgumentError(
                    f"only_if of item {item.name!r} must be answers of {name!r}, got {answer!r}"
                    + _nearest(answer, possible)
                )


def _open_answers(item: Item) -> tuple[str, ...] | None:
    """The answers that a branch may name; None where any text may be one."""
    if item.kind == "yes-no":
        return NO_YES
    if item.kind in ("choice", "several"):
        return tuple(next(iter(label.values())) for label in item.labels)
    return None


def _branches(where: str, given: object) -> Mapping[str, tuple[str, ...]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ArgumentError(f"only_if of {where} must be a table of items, got {given!r:.80}")
    found = {}
    for name, answers in given.items():
        listed = [answers] if isinstance(answers, str) else answers
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise ArgumentError(f"only_if of {where} must list answers, got {answers!r:.80}")
        found[str(name)] = tuple(listed)
    return found


def _labels(where: str, kind: Kind, given: object, languages: tuple[str, ...]) -> tuple[Texts, ...]:
    if kind not in ("choice", "several"):
        if given is not None:
            raise ArgumentError(
                f"labels of {where} must be left out for {kind!r}, got {given!r:.80}"
            )
        return ()
    fewest = 2 if kind == "choice" else 1
    if not isinstance(given, list) or not fewest <= len(given) <= _MOST_LABELS:
        raise ArgumentError(
            f"labels of {where} must be {fewest} to {_MOST_LABELS} texts, got {given!r:.80}"
        )
    labels = tuple(_texts(f"labels of {where}", one, languages) for one in given)
    meant: dict[str, int] = {}
    for at, label in enumerate(labels):
        for text in label.values():
            if meant.setdefault(text, at) != at and len(set(label.values())) > 1:
                raise ArgumentError(
                    f"labels of {where} must mean one thing in all languages, got {text!r} for two"
                )
    for language in languages:
        texts = [label[language] for label in labels]
        twice = next((text for text in texts if texts.count(text) > 1), None)
        if twice is not None:
            raise ArgumentError(f"labels of {where} must be different, got {twice!r} twice")
    return labels


def _range(where: str, kind: Kind, fields: Mapping[str, Any]) -> tuple[float, float]:
    if kind not in ("scale", "number"):
        given = next((name for name in ("low", "high") if name in fields), None)
        if given is not None:
            raise ArgumentError(f"{given} of {where} must be left out for {kind!r}")
        return 0.0, 1.0
    defaults = (1.0, 5.0) if kind == "scale" else (None, None)
    ends = [
        checks.real(name, fields.get(name, default), "a finite number", -1e12, 1e12)
        for name, default in zip(("low", "high"), defaults, strict=True)
    ]
    if not ends[0] < ends[1]:
        raise ArgumentError(f"high of {where} must be above low={ends[0]!r}, got {ends[1]!r}")
    if kind == "scale" and (any(end != round(end) for end in ends) or ends[1] - ends[0] > 100):
        raise ArgumentError(f"low and high of {where} must be whole numbers at most 100 apart")
    return ends[0], ends[1]


def _texts(argument: str, given: object, languages: tuple[str, ...], most: int = 2_000) -> Texts:
    """A text by language; one text alone is the same in all of them."""
    if isinstance(given, str):
        given = dict.fromkeys(languages, given)
    if not isinstance(given, Mapping) or set(given) != set(languages):
        raise ArgumentError(
            f"{argument} must be a text, or one for each of {', '.join(languages)}, "
            f"got {given!r:.80}"
        )
    for text in given.values():
        if not isinstance(text, str) or not text.strip() or len(text) > most:
            raise ArgumentError(f"{argument} must be 1 to {most:,} characters, got {text!r:.80}")
        check_text(argument, text, most)
    return {language: given[language].strip() for language in languages}


def _languages(given: object) -> tuple[str, ...]:
    allowed = "a list of language codes such as en or de, each once"
    if not isinstance(given, list) or not given or len(set(map(str, given))) != len(given):
        raise checks.refusal("languages", given, allowed)
    for code in given:
        if not isinstance(code, str) or not code.replace("-", "").isalpha() or len(code) > 20:
            raise checks.refusal("languages", given, allowed)
    return tuple(given)


def _flag(where: str, name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise ArgumentError(f"{name} of {where} must be true or false, got {given!r:.80}")
    return given


def _checked_fields(
    where: str, document: object, known: Sequence[str], needed: Sequence[str]
) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise ArgumentError(f"{where} must be a table, got {document!r:.80}")
    for name in document:
        if name not in known:
            raise ArgumentError(
                f"{where} must have no field {name!r}{_nearest(str(name), known)}; "
                f"known are {', '.join(known)}"
            )
    for name in needed:
        if name not in document:
            raise ArgumentError(f"{where} must have the field {name!r}")
    return document


def _nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]!r}?)" if close else ""
