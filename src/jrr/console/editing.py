"""The questionnaire editor without its page: a document from a form, and what buttons change.

A document is as in a file (docs/questionnaires.md), and may be unfinished: what is missing or wrong
is said by `Questionnaire.from_dict`, whose rules are the only ones.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from jrr.console.desk import Form
from jrr.errors import ArgumentError, JrrError
from jrr.survey.questionnaire import KINDS, Questionnaire

KIND_WORDS = {
    "yes-no": "Yes or no",
    "choice": "One of several",
    "several": "Any of several",
    "scale": "Scale",
    "number": "Number",
}
NAMED = ("by", "contact")  # who asks, and whom to ask: may be left out
MOST_ITEMS = 200
_ITEM = re.compile(r"item(\d{1,3})\.kind")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def new_document() -> dict[str, Any]:
    """A questionnaire that asks nothing yet."""
    return {
        "title": {"en": ""},
        "languages": ["en"],
        "epsilon": 1.0,
        "split": "even",
        "waves": 1,
        "items": [],
    }


def editable(questionnaire: Questionnaire) -> dict[str, Any]:
    """A whole questionnaire as a document that can be edited."""
    return questionnaire.to_dict()


def read_document(form: Form) -> dict[str, Any]:
    """The document that a form holds."""
    languages = [part for part in form.get("languages", "en").split() if part] or ["en"]
    numbers = sorted(
        int(match[1]) for name, _ in form.items() if (match := _ITEM.fullmatch(name)) is not None
    )
    items: list[dict[str, Any]] = []
    for number in numbers[:MOST_ITEMS]:
        items.append(_item(form, f"item{number}.", languages, items))
    document: dict[str, Any] = {
        "title": {code: form.get(f"title.{code}") for code in languages},
        "languages": languages,
        "epsilon": _number(form.get("epsilon", "1")),
        "split": form.get("split", "even"),
        "waves": _number(form.get("waves", "1")),
        "items": items,
    }
    for name in NAMED:
        texts = {code: form.get(f"{name}.{code}") for code in languages}
        if any(texts.values()):
            document[name] = texts
    return document


def read_settings(form: Form) -> dict[str, Any]:
    """What a survey has beside its questionnaire: a text before the consent, and its times."""
    languages = form.get("languages", "en").split() or ["en"]
    texts = {code: form.get(f"consent.{code}") for code in languages}
    return {
        "consent": {code: text for code, text in texts.items() if text},
        "opens": form.get("opens"),
        "closes": form.get("closes"),
    }


def survey_options(settings: dict[str, Any]) -> dict[str, Any]:
    """The same as a request for a survey takes them; times are UTC, to the minute.

    Raises:
        ArgumentError: A time is none.
    """
    return {
        "consent": settings.get("consent") or None,
        "opens": _time("opens", settings.get("opens", "")),
        "closes": _time("closes", settings.get("closes", "")),
    }


def _time(name: str, text: str) -> str | None:
    if not text:
        return None
    if not _TIME.fullmatch(text):
        raise ArgumentError(f"{name} must be a time as 2026-01-31T12:00, got {text!r:.40}")
    return f"{text}:00Z"


def changed(document: dict[str, Any], act: str) -> tuple[dict[str, Any], int | None]:
    """The document after a button: add:KIND, up:N, down:N, remove:N, language:CODE, drop:CODE.

    Returns:
        The document, and the item that it was about, for the page to scroll to.
    """
    verb, _, what = act.partition(":")
    items: list[dict[str, Any]] = document["items"]
    if verb == "add" and what in KINDS and len(items) < MOST_ITEMS:
        items.append(_new_item(what, document["languages"], items))
        return document, len(items) - 1
    if verb in ("up", "down", "remove") and what.isdecimal() and int(what) < len(items):
        at = int(what)
        one = items.pop(at)
        if verb == "remove":
            return document, min(at, len(items) - 1) if items else None
        there = max(0, at - 1) if verb == "up" else min(len(items), at + 1)
        items.insert(there, one)
        return document, there
    if verb == "language":
        return _with_language(document, what.strip()), None
    if verb == "drop" and len(document["languages"]) > 1:
        return _without_language(document, what), None
    return document, None


def what_is_wrong(document: dict[str, Any]) -> str:
    """Why the questionnaire cannot be asked like this; "": it can."""
    if not document.get("items"):
        return "Nothing is asked yet: add an item"
    try:
        Questionnaire.from_dict(document)
    except JrrError as error:
        words = str(error)
        return f"{words[:1].upper()}{words[1:]}"
    return ""


def _item(
    form: Form, start: str, languages: list[str], before: list[dict[str, Any]]
) -> dict[str, Any]:
    kind = form.get(f"{start}kind")
    text = {code: form.get(f"{start}text.{code}") for code in languages}
    item: dict[str, Any] = {
        "name": form.get(f"{start}name") or _name(next(iter(text.values())), before),
        "kind": kind,
        "text": text,
        "sensitive": form.get(f"{start}sensitive") == "yes",
        "prefer_not": form.get(f"{start}prefer_not") == "yes",
    }
    if kind in ("choice", "several"):
        item["labels"] = _labels(form, start, languages)
    if kind in ("scale", "number"):
        item["low"] = _number(form.get(f"{start}low") or ("1" if kind == "scale" else "0"))
        item["high"] = _number(form.get(f"{start}high") or ("5" if kind == "scale" else "100"))
    for name in ("weight", "margin"):
        if form.get(f"{start}{name}"):
            item[name] = _number(form.get(f"{start}{name}"))
    branches = dict(_branches(form, start))
    if branches:
        item["only_if"] = branches
    return item


def _branches(form: Form, start: str) -> Iterator[tuple[str, list[str]]]:
    """Open items and the answers to them that an item is asked after."""
    for which in range(MOST_ITEMS):
        other = form.get(f"{start}only_item.{which}")
        if not other:
            return
        answers = [part.strip() for part in form.get(f"{start}only_answers.{which}").split(";")]
        yield other, [answer for answer in answers if answer]


def _labels(form: Form, start: str, languages: list[str]) -> list[dict[str, str]]:
    """Lines of one field for each language; what is missing in one stays empty, and is refused."""
    lines = {
        code: [line.strip() for line in form.raw(f"{start}labels.{code}").splitlines()]
        for code in languages
    }
    lines = {code: [line for line in some if line] for code, some in lines.items()}
    longest = max(map(len, lines.values()), default=0)
    return [
        {code: some[at] if at < len(some) else "" for code, some in lines.items()}
        for at in range(longest)
    ]


def _new_item(kind: str, languages: list[str], before: list[dict[str, Any]]) -> dict[str, Any]:
    item: dict[str, Any] = {
        "name": "",
        "kind": kind,
        "text": dict.fromkeys(languages, ""),
        "sensitive": True,
        "prefer_not": False,
    }
    if kind in ("choice", "several"):
        item["labels"] = []
    if kind in ("scale", "number"):
        item |= {"low": 1, "high": 5} if kind == "scale" else {"low": 0, "high": 100}
    return item


def _with_language(document: dict[str, Any], code: str) -> dict[str, Any]:
    """One language more, whose texts begin as those of the first."""
    if not _LANGUAGE.fullmatch(code):
        raise ArgumentError(f"language must be a code as de or pt-BR, got {code!r:.40}")
    languages = document["languages"]
    if code in languages:
        return document
    first = languages[0]
    languages.append(code)
    for texts in _all_texts(document):
        texts[code] = texts.get(first, "")
    return document


def _without_language(document: dict[str, Any], code: str) -> dict[str, Any]:
    if code in document["languages"]:
        document["languages"].remove(code)
        for texts in _all_texts(document):
            texts.pop(code, None)
    return document


def _all_texts(document: dict[str, Any]) -> list[dict[str, str]]:
    found = [document["title"], *(document[name] for name in NAMED if name in document)]
    for item in document["items"]:
        found += [item["text"], *item.get("labels", ())]
    return found


def _name(text: str, before: list[dict[str, Any]]) -> str:
    """A name for results from the words of a question, which no item before it has."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    words = [word for word in re.split(r"[^a-z0-9]+", plain) if len(word) > 3][:2]
    start = "_".join(words)[:30] or "item"
    start = start if start.isidentifier() else f"item_{start}"
    taken = {item["name"] for item in before}
    numbers = (f"{start}_{at}" for at in range(2, MOST_ITEMS + 2))
    return start if start not in taken else next(one for one in numbers if one not in taken)


def _number(text: str) -> Any:
    """A number, or the text as it is, which is refused where a number is needed."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
