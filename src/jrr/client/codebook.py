"""The codebook of a survey's export: what every column is, and how to estimate from it."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jrr import __version__
from jrr._base.documents import csv_text
from jrr.mechanisms.report_formats import BitsFormat, MaskedFormat, NumberFormat
from jrr.survey.other_waves import AFTER, wave_columns
from jrr.survey.study import loss_to_json
from jrr.survey.survey import VIEWS, Survey

if TYPE_CHECKING:
    from jrr.survey.question import Question
    from jrr.survey.sensitive import SensitiveQuestion

FIELDS = (
    "column",
    "question",
    "text",
    "kind",
    "answers",
    "protection",  # "open" or "perturbed"
    "asked_if",
    "mechanism",
    "meaning",
    "estimate",
)
_OPEN = {
    "yes-no": "the answer: no or yes",
    "choice": "the answer: one of the answers, in the first language",
    "several": "the answers that were chosen, in the first language; in CSV by semicolons",
    "scale": "the answer: a whole number",
    "number": "the answer: a number",
}
_EMPTY = "empty where it was not asked"
_DECLINED = " or where somebody would not say"


def columns_of(survey: Survey, language: str | None = None) -> list[dict[str, str]]:
    """One row for every column of an export, in its order; every cell is a text."""
    word = language or survey.languages[0]
    rows = [_open_column(question, word) for question in survey.open]
    rows += [_wave_column(name) for name in wave_columns(survey)]
    for one in survey.sensitive:
        rows += [_report_column(one, word), _card_column(one)]
    return [{field: row.get(field, "") for field in FIELDS} for row in rows]


def codebook_csv(survey: Survey, language: str | None = None) -> str:
    """The codebook as a CSV file."""
    return csv_text(FIELDS, columns_of(survey, language))


def codebook_json(survey: Survey, results: Mapping[str, Any], language: str | None = None) -> str:
    """The same with all that a program needs to estimate by itself.

    Args:
        survey: Which was asked.
        results: Question -> the collector's estimate, as `Operator.estimates` returns it; what
            dealers told of their cards is taken from it.
        language: As for `columns_of`.
    """
    columns: list[dict[str, Any]] = []
    for row in columns_of(survey, language):
        column: dict[str, Any] = dict(row)
        one = survey.by_name.get(row["column"])
        if one is not None:
            result = results.get(one.name, {})
            column |= {
                "parameters": one.mechanism.to_dict(),
                "epsilon": {view: loss_to_json(one.guarantee(view)) for view in VIEWS},
                "decks": result.get("decks"),
                "sums": result.get("sums"),
            }
        columns.append(column)
    document = {
        "survey": survey.hash,
        "pilot": survey.pilot,
        "title": dict(survey.title),
        "wave": survey.wave,
        "jrr": __version__,
        "rows": "one for each person who answered, in no order that tells who they are",
        "epsilon": {view: loss_to_json(survey.guarantee(view)) for view in VIEWS},
        "delta": survey.total_delta,
        "questions": [question.to_document() for question in survey.questions],
        "columns": columns,
    }
    if survey.together:
        document["together"] = [
            {"questions": list(one.questions), "ask": one.ask} for one in survey.together
        ]
        document["note"] = (
            "Answers to questions named in `together` were changed by one coin: estimates of each "
            "are right, tables of two of them from single rows are not."
        )
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _open_column(question: "Question", language: str) -> dict[str, str]:
    row = _about(question, language) | {"column": question.name, "protection": "open"}
    declined = _DECLINED if question.prefer_not else ""
    meaning = f"{_OPEN[question.kind]}; {_EMPTY}{declined}"
    return row | {"meaning": meaning, "estimate": "as it is: nothing was changed"}


def _wave_column(name: str) -> dict[str, str]:
    meaning = "whether this person answered the wave before: no or yes"
    if name == AFTER:
        meaning = "whether this person answered the next wave: no or yes; empty until it is closed"
    return {"column": name, "protection": "open", "meaning": meaning, "estimate": "as it is"}


def _report_column(one: "SensitiveQuestion", language: str) -> dict[str, str]:
    row = _about(one.asked, language)
    stated = one.survey.together_with(one.name)
    if stated is not None and stated.ask < len(stated.questions):
        drawn = f"drawn for each person: {stated.ask} of {len(stated.questions)} questions"
        row["asked_if"] = "; ".join(filter(None, (row["asked_if"], drawn)))
    if one.label is not None:
        row["text"] += f" {one.asked.labels[one.label][language]}"
    mechanism = one.mechanism
    return row | {
        "column": one.name,
        "protection": "perturbed",
        "mechanism": mechanism.brief(),
        "meaning": f"{_meaning(one)}; {_EMPTY}",
        "estimate": _estimate(one),
    }


def _card_column(one: "SensitiveQuestion") -> dict[str, str]:
    return {
        "column": f"{one.name}_carded",
        "question": one.asked.name,
        "protection": "open",
        "answers": "false, true",
        "meaning": f"whether {one.name} was made with a card; {_EMPTY}",
        "estimate": "those with and without a card are estimated apart, and their counts added",
    }


def _about(question: "Question", language: str) -> dict[str, str]:
    conditions = (
        f"{name}: {' or '.join(answers)}" for name, answers in (question.only_if or {}).items()
    )
    answers = ", ".join(question.answers) or question.allowed_numbers.removeprefix("a number from ")
    if question.kind == "several" and not question.sensitive:
        answers = ", ".join(question.words)
    return {
        "question": question.name,
        "text": question.text[language],
        "kind": question.kind,
        "answers": answers,
        "asked_if": "; ".join(conditions),
    }


def _meaning(one: "SensitiveQuestion") -> str:
    """What a report is; never an answer."""
    mechanism, form = one.mechanism, one.mechanism.report_format
    asked = f"; answers are numbered from 0: {', '.join(one.labels)}"
    if one.number is not None:
        low, high = one.number
        asked = f"; the number was first rounded by chance to {low:g} (0) or {high:g} (1)"
        if mechanism.steps > 1:
            steps = f"rounded by chance to one of {mechanism.steps} steps from {low:g} to {high:g}"
            mask = ", plus a secret whole number" if mechanism.deals else ""
            return f"a report: a whole number near the number, {steps}, or any other{mask}"
    if isinstance(form, NumberFormat):
        return f"a report: the number of an answer, which may be another than the true one{asked}"
    if isinstance(form, MaskedFormat) and mechanism.k == 2:
        return f"a report: 0 or 1, maybe changed, plus a secret whole number{asked}"
    if isinstance(form, MaskedFormat):
        return (
            "a report: for every answer 0 or 1, maybe changed, plus a secret whole number; in CSV "
            f"by blanks{asked}"
        )
    if isinstance(form, BitsFormat):
        return (
            "a report: a bit for every answer, maybe changed, as hexadecimal digits; bit v is bit "
            f"v mod 8, the least first, of byte v div 8{asked}"
        )
    return f"a report as {mechanism.title} makes it{asked}"


def _estimate(one: "SensitiveQuestion") -> str:
    mechanism = one.mechanism
    if one.number is not None and mechanism.steps > 1:
        low, high = one.number
        off = ", the dealers' sums taken off" if mechanism.announced else ""
        carded, alone = (
            f"{(high - low) / float(m.gain[0])!r} * ((sum of the reports{told}) / n - {m.base!r})"
            for m, told in ((mechanism.moments, off), (mechanism.moments.without_cards(), ""))
        )
        how = f"mean = {low:g} + {carded}"
        if mechanism.deals:
            how += f" with a card, {low:g} + {alone} without"
        return f"{how}. The R file beside this one does it, with standard errors"
    moments = mechanism.moments
    formula = "count = (support - n q) / (p - q)"
    chances = f"p = {float(moments.p[0])!r}, q = {float(moments.q[0])!r}"
    without = moments.without_cards()
    if mechanism.masked:
        off = "the dealers' sums taken off" if mechanism.announced else "as cards nearly cancel"
        support = f"support = the sum of the reports of an answer, {off}"
        alone = f"p = {float(without.p[0])!r}, q = {float(without.q[0])!r}"
        how = f"{formula} with {support}; with a card {chances}, without {alone}"
    else:
        how = f"{formula} with support = reports that name or mark the answer; {chances}"
    if one.number is not None:
        low, high = one.number
        how += f"; mean = {low:g} + {high - low:g} * count of 1 / n"
    return f"{how}. The R file beside this one does it, with standard errors"
