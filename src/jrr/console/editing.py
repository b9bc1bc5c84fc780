"""The editor of drafts without its page: a document from a form, and what buttons change.

A document is as in a file of TOML, and may be unfinished: what is missing or wrong is said by
`Draft.from_dict`, whose rules are the only ones.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jrr._base import checks
from jrr.console.numbers import THOUSANDS, read_number
from jrr.console.pages import Form, in_words
from jrr.errors import ArgumentError, JrrError
from jrr.survey.analyses import cells_for
from jrr.survey.draft import FILES, Draft, request_fields
from jrr.survey.question import FLAGS, THEN_AND_NOW

KIND_WORDS = {
    "yes-no": "Yes or no",
    "choice": "One of several",
    "several": "Any of several",
    "scale": "Scale",
    "number": "Number",
    THEN_AND_NOW: "Then and now",
}
ENDS = {"scale": ("1", "5"), "number": ("0", "100")}  # where nobody has written any
NAMED = ("by", "contact")  # who asks, and whom to ask: may be left out
LISTED = ("analyses", "cells")  # a line each
CHOSEN = ("min_cell", "results_every", "min_batch", "keep_days")  # when a survey is created
MOST_QUESTIONS = 200
_QUESTION = re.compile(r"question(\d{1,3})\.kind")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def new_document() -> dict[str, Any]:
    """A draft that asks nothing yet."""
    return {
        "title": {"en": ""},
        "languages": ["en"],
        "epsilon": 1.0,
        "split": "together",
        "ask": "auto",
        "waves": 1,
        "questions": [],
    }


def read_document(form: Form) -> dict[str, Any]:
    """The document that a form holds."""
    languages = [part for part in form.get("languages", "en").split() if part] or ["en"]
    numbers = sorted(
        int(match[1])
        for name, _ in form.items()
        if (match := _QUESTION.fullmatch(name)) is not None
    )
    questions: list[dict[str, Any]] = []
    for number in numbers[:MOST_QUESTIONS]:
        questions.append(_question(form, f"question{number}.", languages, questions))
    document: dict[str, Any] = {
        "title": {code: form.get(f"title.{code}") for code in languages},
        "languages": languages,
        "epsilon": _number(form.get("epsilon", "1")),
        "split": form.get("split", "together"),
        "ask": _number(form.get("ask", "auto").strip() or "auto"),
        "waves": _number(form.get("waves", "1")),
        "questions": questions,
    }
    for name in NAMED:
        texts = {code: form.get(f"{name}.{code}") for code in languages}
        if any(texts.values()):
            document[name] = texts
    for name in LISTED:
        lines = [line.strip() for line in form.raw(name).splitlines() if line.strip()]
        if lines:
            document[name] = lines
    if form.get("announcements"):
        document["announcements"] = _number(form.get("announcements"))
    return document


def read_settings(form: Form) -> dict[str, Any]:
    """What a survey has beside its draft: a text before the consent, its times, a logo."""
    languages = form.get("languages", "en").split() or ["en"]
    texts = {code: form.get(f"consent.{code}") for code in languages}
    return {
        "consent": {code: text for code, text in texts.items() if text},
        "opens": form.get("opens"),
        "closes": form.get("closes"),
        "logo": form.get("logo"),
    }


def stored_settings(settings: Mapping[str, Any], languages: Iterable[str]) -> dict[str, Any]:
    """What a file says of them, with what the page that creates the survey is filled in with."""
    for name in settings.keys() & set(FILES):  # a file of the server's is nobody's business
        instead = name.removesuffix("_file")
        raise checks.refusal(name, settings[name], f"left out here: what is in it, as {instead}")
    found = request_fields(settings, languages)
    stored = {name: (found.get(name) or "")[:16] for name in ("opens", "closes")}  # to the minute
    form = {name: str(found[name]) for name in CHOSEN if name in found}
    form |= {"pilot": "yes"} if found.get("pilot") else {}
    form |= {"unverified": "yes"} if found.get("verified") is False else {}
    words = {"consent": found.get("consent", {}), "logo": found.get("logo", "")}
    return {**words, **stored, "form": form}


def left_out(settings: Mapping[str, Any]) -> str:
    """What a file says that these pages have no field for, in words; "": nothing."""
    names = sorted(
        settings.keys() - {"consent", "logo", "opens", "closes", "pilot", "verified", *CHOSEN}
    )
    if not names:
        return ""
    return (
        f"Left out, because these pages have no fields for it: {', '.join(names)}. To keep it, "
        "create the survey by jrr survey create."
    )


def survey_options(settings: dict[str, Any]) -> dict[str, Any]:
    """The same as a request for a survey takes them; times are UTC, to the minute.

    Raises:
        ArgumentError: A time is none.
    """
    return {
        "consent": settings["consent"] or None,
        "logo": settings["logo"] or None,
        "opens": _time("opens", settings["opens"]),
        "closes": _time("closes", settings["closes"]),
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
        The document, and the question that it was about, for the page to scroll to.
    """
    verb, _, what = act.partition(":")
    questions: list[dict[str, Any]] = document["questions"]
    if verb == "add" and what in KIND_WORDS and len(questions) < MOST_QUESTIONS:
        questions.append(_new_question(what, document["languages"]))
        return document, len(questions) - 1
    if verb in ("up", "down", "remove") and what.isdecimal() and int(what) < len(questions):
        at = int(what)
        one = questions.pop(at)
        if verb == "remove":
            return document, min(at, len(questions) - 1) if questions else None
        there = max(0, at - 1) if verb == "up" else min(len(questions), at + 1)
        questions.insert(there, one)
        return document, there
    if verb == "language":
        return _with_language(document, what.strip()), None
    if verb == "drop" and len(document["languages"]) > 1:
        return _without_language(document, what), None
    return document, None


def what_is_wrong(document: dict[str, Any]) -> str:
    """Why a draft cannot be asked like this; "": it can."""
    if not document.get("questions"):
        return "Nothing is asked yet: add a question"
    try:
        cells_for(Draft.from_dict(document))
    except JrrError as error:
        return in_words(error)
    return ""


def _question(
    form: Form, start: str, languages: list[str], before: list[dict[str, Any]]
) -> dict[str, Any]:
    kind = form.get(f"{start}kind")
    text = {code: form.get(f"{start}text.{code}") for code in languages}
    question: dict[str, Any] = {
        "name": form.get(f"{start}name") or _name(next(iter(text.values())), before),
        "kind": kind,
        "text": text,
        "sensitive": form.get(f"{start}sensitive") == "yes",
        "prefer_not": form.get(f"{start}prefer_not") == "yes",
    }
    if kind == "number":
        question |= {flag: form.get(f"{start}{flag}") == "yes" for flag in FLAGS}
    section = {code: form.get(f"{start}section.{code}") for code in languages}
    if any(section.values()):
        question["section"] = section
    question |= _of_kind(form, start, kind, languages)
    for name in ("weight", "margin"):
        if form.get(f"{start}{name}"):
            question[name] = _number(form.get(f"{start}{name}"))
    branches = dict(_branches(form, start))
    if branches:
        question["only_if"] = branches
    return question


def _branches(form: Form, start: str) -> Iterator[tuple[str, list[str]]]:
    """Open questions and the answers to them that a question is asked after."""
    for which in range(MOST_QUESTIONS):
        other = form.get(f"{start}only_question.{which}")
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


def _new_question(kind: str, languages: list[str]) -> dict[str, Any]:
    """A question without a word; what else its kind has is as where a form leaves it out."""
    texts = dict.fromkeys(languages, "")
    # Numbers have no such answer beside them that costs nothing in accuracy.
    refuses = kind != "number"
    question = {"name": "", "kind": kind, "text": texts, "sensitive": True, "prefer_not": refuses}
    return question | _of_kind(Form([]), "", kind, languages)


def _of_kind(form: Form, start: str, kind: str, languages: list[str]) -> dict[str, Any]:
    """Labels, or the ends of a number."""
    if kind in ("choice", "several"):
        crossed = form.get(f"{start}crossed")
        return {"labels": _labels(form, start, languages)} | (
            {"crossed": json.loads(crossed)} if crossed else {}
        )
    if kind in ENDS:
        ends = zip(("low", "high"), ENDS[kind], strict=True)
        return {name: _number(form.get(f"{start}{name}") or usual) for name, usual in ends}
    return {}


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
    for question in document["questions"]:
        found += [question["text"], *question.get("labels", ())]
        found += [question["section"]] if question.get("section") else []
    return found


def _name(text: str, before: list[dict[str, Any]]) -> str:
    """A name for results from the words of a question, which no question before it has."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    words = [word for word in re.split(r"[^a-z0-9]+", plain) if len(word) > 3][:2]
    start = "_".join(words)[:30] or "question"
    start = start if start.isidentifier() else f"question_{start}"
    taken = {question["name"] for question in before}
    numbers = (f"{start}_{at}" for at in range(2, MOST_QUESTIONS + 2))
    return start if start not in taken else next(one for one in numbers if one not in taken)


def _number(text: str) -> Any:
    """A number, or the text as it is, which is refused where a number is needed."""
    try:  # 1,000 is a thousand, and 0,5 a half
        number = read_number("", text if THOUSANDS.fullmatch(text) else text.replace(",", "."))
    except ArgumentError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
