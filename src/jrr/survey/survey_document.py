"""A survey as its document, and back: which fields there are, and of what kind.

Shared facts stand once, then the questions; a sensitive question has its mechanism. What follows
from the rest is left out, but for what people are promised.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from jrr.dealing.kinds import AnyDealing
from jrr.errors import ArgumentError
from jrr.estimation.groups import MIN_CELL
from jrr.mechanisms.registry import from_dict
from jrr.protocol.documents import Message, plain, read_document
from jrr.protocol.texts import MOST_OF_ASKER
from jrr.survey.promises import DELTA
from jrr.survey.question_reading import read_languages, read_questions, read_texts
from jrr.survey.study import Study, loss_from_json, loss_to_json

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

VERSION = 1


class _Consent(Message):
    texts: dict[str, str]
    version: str


class Together(Message):
    """Questions whose answers share one coin (jrr.survey.together).

    Attributes:
        questions: their names.
        ask: how many of them each person is asked; which ones follows from the invitation.
        keep: the chance that all true answers are taken, by somebody with cards.
        alone: the same without cards.
    """

    questions: tuple[str, ...]
    ask: int
    keep: float
    alone: float


class SurveyDocument(Message):
    """The fields of a survey's document; those with a default are left out where they have it."""

    jrr_survey: int
    title: dict[str, str]
    languages: list[str]
    questions: list[dict[str, Any]]
    dealing: AnyDealing
    collector: str
    capacity: int
    guarantees: dict[str, Any]
    consent: _Consent
    study: dict[str, Any]
    nonce: str
    colluders: int = 0
    by: dict[str, str] | None = None
    contact: dict[str, str] | None = None
    logo: str | None = None
    opens: str | None = None
    closes: str | None = None
    invitations: bool = True
    min_cell: int = MIN_CELL
    results_every: int = 1
    min_batch: int = 1
    pilot: bool = False
    keep_days: int | None = None
    waves: int = 1
    wave: int = 1
    panel: str | None = None
    delta: float = DELTA
    together: tuple[Together, ...] = ()
    cells: tuple[str, ...] = ()
    analyses: tuple[str, ...] = ()


_PLAIN = (  # fields that stand in the document as they are
    "collector",
    "capacity",
    "nonce",
    "colluders",
    "logo",
    "opens",
    "closes",
    "invitations",
    "min_cell",
    "results_every",
    "min_batch",
    "pilot",
    "keep_days",
    "waves",
    "wave",
    "panel",
    "delta",
    "cells",
    "analyses",
)
_DEFAULTS = {
    one.name: one.default
    for one in msgspec.structs.fields(SurveyDocument)
    if one.default is not msgspec.NODEFAULT
}


def document_of(survey: "Survey") -> dict[str, Any]:
    """The document; `read_survey_document` reads it."""
    assert survey.promised is not None
    assert survey.informed is not None
    questions = []
    for question in survey.questions:
        entry = question.to_document()
        if question.sensitive:
            entry["mechanism"] = survey.mechanisms[question.name].to_dict()
            if question.name in survey.informed:
                entry["everything"] = loss_to_json(survey.informed[question.name])
        questions.append(entry)
    document: dict[str, Any] = {name: getattr(survey, name) for name in _PLAIN}
    document |= {
        "jrr_survey": VERSION,
        "title": dict(survey.title),
        "languages": list(survey.languages),
        "questions": questions,
        "dealing": plain(survey.dealing),
        "guarantees": {view: loss_to_json(loss) for view, loss in survey.promised.items()},
        "consent": {"texts": dict(survey.consent), "version": survey.consent_version},
        "study": survey.whole_study.to_dict(),
        "together": tuple(plain(one) for one in survey.together),
        "by": None if survey.by is None else dict(survey.by),
        "contact": None if survey.contact is None else dict(survey.contact),
    }
    return {
        name: value
        for name, value in document.items()
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }


def read_survey_document(data: bytes) -> dict[str, Any]:
    """The fields of a `Survey`, from the bytes of its document.

    Raises:
        DamagedError: It is no such document; the message names the field.
        ArgumentError: A field is out of its range.
    """
    document = read_document("survey", data, SurveyDocument)
    if document.jrr_survey != VERSION:
        raise ArgumentError(f"survey must be of version {VERSION}, got {document.jrr_survey}")
    languages = read_languages(document.languages)
    mechanisms, informed, listed = {}, {}, []
    for entry in document.questions:
        asked = dict(entry)
        mechanism, everything = asked.pop("mechanism", None), asked.pop("everything", None)
        name = str(asked.get("name"))
        if "weight" in asked or "margin" in asked:
            raise ArgumentError(f"question {name!r:.80} must have no weight and no margin")
        if mechanism is not None:
            mechanisms[name] = from_dict(mechanism)
        if everything is not None:
            informed[name] = loss_from_json(f"everything of {name:.80}", everything)
        listed.append(asked)
    asker = {
        name: read_texts(name, texts, languages, MOST_OF_ASKER)
        for name, texts in (("by", document.by), ("contact", document.contact))
        if texts is not None
    }
    return {
        **{name: getattr(document, name) for name in _PLAIN},
        **asker,
        "title": read_texts("title", document.title, languages),
        "languages": languages,
        "questions": read_questions(listed, languages),
        "mechanisms": mechanisms,
        "informed": informed,
        "dealing": document.dealing,
        "promised": {
            view: loss_from_json(f"guarantees {view}", loss)
            for view, loss in document.guarantees.items()
        },
        "consent": document.consent.texts,
        "consent_version": document.consent.version,
        "study": Study.from_dict(document.study),
        "together": document.together,
    }
