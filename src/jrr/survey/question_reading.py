"""Reads questions as people write them in TOML, and as documents have them."""

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.protocol.texts import check_text
from jrr.survey.other_waves import AFTER, BEFORE
from jrr.survey.question import (
    FLAGS,
    KINDS,
    NO_YES,
    THEN_AND_NOW,
    Kind,
    Question,
    Texts,
    usual_margin,
)

MOST_QUESTIONS = 200
MOST_CROSSED = 30  # pairs of answers that somebody can choose from
_MOST_LABELS = 1_000
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
    *FLAGS,
    "section",
    "only_if",
    "crossed",
)


def read_questions(listed: object, languages: tuple[str, ...]) -> tuple[Question, ...]:
    """The questions that a list of tables describes.

    Raises:
        ArgumentError: An unknown field (the nearest known one is named), a question or label
            twice, a branch on a sensitive or later question, anything out of its range, or no
            sensitive question.
    """
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_QUESTIONS:
        raise ArgumentError(
            f"questions must be 1 to {MOST_QUESTIONS} tables [[questions]], got {listed!r:.80}"
        )
    questions: list[Question] = []
    for entry in listed:
        question = _question(entry, languages)
        _check_place(question, questions)
        questions.append(question)
    if not any(question.sensitive for question in questions):
        raise ArgumentError("questions must have at least one that is sensitive, got none")
    return tuple(questions)


def crossed(
    questions: tuple[Question, ...], pairs: object, languages: tuple[str, ...]
) -> tuple[Question, ...]:
    """The same with one question in the place of each pair, which has an answer for each pair.

    So every cell of the table of two questions has a mask of its own. It stands where the first of
    the two stood.

    Args:
        questions: as `read_questions` reads them.
        pairs: of names of sensitive questions with one answer each.
        languages: of all texts.

    Raises:
        ArgumentError: A name is none of such a question or stands twice, both are not asked of the
            same people, or there are too many pairs of answers.
    """
    if not isinstance(pairs, list) or not all(isinstance(pair, list) for pair in pairs):
        raise checks.refusal("cross", pairs, "a list of pairs of questions")
    possible = {
        one.name: one
        for one in questions
        if one.sensitive and one.kind in ("yes-no", "choice", "scale")
    }
    entries = {one.name: one.to_dict() for one in questions}
    for pair in pairs:
        if len(pair) != 2 or len({*map(str, pair)} & set(possible)) != 2:
            allowed = "pairs of two sensitive questions of kind yes-no, choice or scale, each once"
            raise checks.refusal("cross", pair, f"{allowed} ({', '.join(possible)})")
        first, second = (possible.pop(name) for name in pair)
        del entries[second.name]
        entries[first.name] = _crossed(first, second, languages)
    return read_questions(list(entries.values()), languages) if pairs else questions


def _crossed(first: Question, second: Question, languages: tuple[str, ...]) -> dict[str, Any]:
    if first.only_if != second.only_if:
        told = f"questions with the same only_if, unlike {first.name!r} and {second.name!r}"
        raise checks.refusal("cross", [first.name, second.name], told)
    both = [_told(one, languages) for one in (first, second)]
    if len(both[0]) * len(both[1]) > MOST_CROSSED:
        raise checks.refusal(
            "cross",
            [first.name, second.name],
            f"questions with at most {MOST_CROSSED} pairs of answers, not "
            f"{len(both[0]) * len(both[1])}",
        )

    def numbered(one: Texts, other: Texts, between: str) -> dict[str, str]:
        return {code: f"(1) {one[code]}{between}(2) {other[code]}" for code in languages}

    return first.to_dict() | {
        "name": f"{first.name}_{second.name}",
        "kind": "choice",
        "crossed": [[one.name, len(some)] for one, some in zip((first, second), both, strict=True)],
        "text": numbered(first.text, second.text, " "),
        "labels": [numbered(one, other, ", ") for one in both[0] for other in both[1]],
        "prefer_not": first.prefer_not or second.prefer_not,
        "weight": first.weight + second.weight,
        "margin": min(first.margin, second.margin),
    }


def _told(question: Question, languages: tuple[str, ...]) -> Sequence[Texts]:
    """Its answers in all languages, without "prefer not to say"."""
    if question.kind == "choice":
        return question.labels
    if question.kind == "yes-no":
        return [{code: _words_of(code, word) for code in languages} for word in NO_YES]
    steps = range(round(question.low), round(question.high) + 1)
    return [dict.fromkeys(languages, str(step)) for step in steps]


def _question(entry: object, languages: tuple[str, ...]) -> Question:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    where = f"question {name!r}" if isinstance(name, str) else "question"
    fields = checked_fields(where, entry, _FIELDS, needed=("name", "kind", "text"))
    if not isinstance(name, str) or not name.isidentifier() or len(name) > 60:
        raise checks.refusal("name", name, "letters, digits and underscores, at most 60")
    if name == "__proto__":
        raise checks.refusal("name", name, "another name: JavaScript means something else by it")
    if name in (BEFORE, AFTER):
        raise checks.refusal("name", name, "another name: it is that of who answered other waves")
    if name.endswith("_carded"):
        raise checks.refusal("name", name, "without _carded at its end: exports need that")
    kind: Any = checks.one_of(f"kind of {where}", fields["kind"], (*KINDS, THEN_AND_NOW))
    if kind == THEN_AND_NOW:
        pairs = [
            {code: _words_of(code, f"then_and_now.{at}") for code in languages} for at in range(4)
        ]
        both = [["then", 2], ["now", 2]]
        kind, fields = "choice", {"labels": pairs, **fields, "crossed": both}
    sensitive = _flag(where, "sensitive", fields.get("sensitive", True))
    low, high = _range(where, kind, fields)
    flags = {flag: _flag(where, flag, fields.get(flag, False)) for flag in FLAGS}
    for flag in ("or_less", "or_more"):
        if flags[flag] and kind != "number":
            raise ArgumentError(f"{flag} of {where} must be left out for {kind!r}")
    if flags["prefer_not"] and sensitive and kind == "number":
        raise ArgumentError(
            f"prefer_not of {where} must be false: a perturbed number has no answer beside it; ask "
            "with a yes-no question before it, or with a scale"
        )
    return Question(
        name=name,
        kind=kind,
        text=read_texts(f"text of {where}", fields["text"], languages),
        labels=_labels(where, kind, fields.get("labels"), languages),
        low=low,
        high=high,
        sensitive=sensitive,
        weight=checks.positive(f"weight of {where}", fields.get("weight", 1.0)),
        margin=_margin(where, kind, fields.get("margin", usual_margin(kind, low, high))),
        **flags,
        section=_section(where, fields.get("section"), languages),
        only_if=_branches(where, fields.get("only_if")),
        crossed=_parts(where, fields),
    )


def _margin(where: str, kind: str, given: object) -> float:
    """Half an interval: a part of 1 for shares, in the unit of a number."""
    most, unit = (math.inf, "") if kind == "number" else (1.0, " and at most 1 (0.03: 3 points)")
    return checks.real(f"margin of {where}", given, f"above 0{unit}", 0.0, most, open_low=True)


def _parts(where: str, fields: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The two questions that one was made of."""
    given, labels = fields.get("crossed"), fields.get("labels")
    if given is None:
        return ()
    try:
        (first, rows), (second, columns) = given
        pairs = checks.integer("answers", rows, 2) * checks.integer("answers", columns, 2)
        if isinstance(labels, list) and len(labels) == pairs and str(first) != str(second):
            return (str(first), rows), (str(second), columns)
    except (TypeError, ValueError):
        pass
    told = "two names with numbers of answers, whose pairs are the labels"
    raise checks.refusal(f"crossed of {where}", given, told)


def _section(where: str, given: object, languages: tuple[str, ...]) -> Texts | None:
    return None if given is None else read_texts(f"section of {where}", given, languages)


def _words_of(language: str, key: str) -> str:
    from jrr.reporting.catalogue import text  # of no use on a device, which reads documents

    return text(language, key)


def _check_place(question: Question, before: Sequence[Question]) -> None:
    """Refuse a question twice, and branches that would tell a sensitive answer."""
    known = {one.name: one for one in before}
    if question.name in known:
        raise ArgumentError(f"questions must have different names, got {question.name!r} twice")
    for name, answers in (question.only_if or {}).items():
        if name not in known:
            raise ArgumentError(
                f"only_if of question {question.name!r} must name a question before it, got "
                f"{name!r}" + _nearest(name, known)
            )
        other = known[name]
        if other.sensitive:
            raise ArgumentError(
                f"only_if of question {question.name!r} must not depend on the sensitive question "
                f"{name!r}: whoever sees that the question was asked would know that answer"
            )
        possible = _open_answers(other)
        for answer in answers:
            if possible is not None and answer not in possible:
                raise ArgumentError(
                    f"only_if of question {question.name!r} must be answers of {name!r}, got "
                    f"{answer!r}" + _nearest(answer, possible)
                )


def _open_answers(question: Question) -> tuple[str, ...] | None:
    """The answers that a branch may name; None where any text may be one."""
    if question.kind == "yes-no":
        return NO_YES
    if question.kind in ("choice", "several"):
        return question.words
    return None


def _branches(where: str, given: object) -> Mapping[str, tuple[str, ...]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ArgumentError(f"only_if of {where} must be a table of questions, got {given!r:.80}")
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
        got = str(len(given)) if isinstance(given, list) else f"{given!r:.80}"
        raise ArgumentError(
            f"labels of {where} must be {fewest} to {_MOST_LABELS} texts, got {got}"
        )
    labels = tuple(read_texts(f"labels of {where}", one, languages) for one in given)
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
        checks.real(f"{name} of {where}", fields.get(name, default), "a finite number", -1e12, 1e12)
        for name, default in zip(("low", "high"), defaults, strict=True)
    ]
    if not ends[0] < ends[1]:
        raise ArgumentError(f"high of {where} must be above low={ends[0]!r}, got {ends[1]!r}")
    if kind == "scale" and (any(end != round(end) for end in ends) or ends[1] - ends[0] > 100):
        raise ArgumentError(f"low and high of {where} must be whole numbers at most 100 apart")
    return ends[0], ends[1]


def read_texts(
    argument: str, given: object, languages: tuple[str, ...], most: int = 2_000
) -> Texts:
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


def read_languages(given: object) -> tuple[str, ...]:
    """Codes of languages, each once.

    Raises:
        ArgumentError: They are anything else.
    """
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


def checked_fields(
    where: str, document: object, known: Sequence[str], needed: Sequence[str]
) -> Mapping[str, Any]:
    """A table that has all needed fields and no unknown one, whose nearest known one is named.

    Raises:
        ArgumentError: It has not.
    """
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
