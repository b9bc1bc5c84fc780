"""The editor of drafts: texts, order, languages, kinds, and how it looks to people."""

import json
import secrets
import tomllib
from typing import Any

from starlette.responses import Response

from jrr.console.drafts import StoredDraft, add_draft, change_draft, drop_draft, find_draft
from jrr.console.editing import (
    CHOSEN,
    KIND_WORDS,
    NAMED,
    changed,
    left_out,
    new_document,
    read_document,
    read_settings,
    stored_settings,
    survey_options,
    what_is_wrong,
)
from jrr.console.pages import PREVIEW, PageRequest, download, goto, in_words, page, read, render
from jrr.console.survey_draft import copied
from jrr.errors import ArgumentError, JrrError
from jrr.survey.draft import Draft
from jrr.survey.draft_toml import draft_toml
from jrr.survey.question import FLAGS
from jrr.survey.survey import read_survey

YOURS = "your version"
SPLIT_WORDS = {  # how a draft divides ε -> how the page says it
    "together": "together: one coin for all",
    "even": "the same for each",
    "weight": "by the questions' weights",
    "margin": "by the wanted margins",
}
EMPTY: dict[str, Any] = {  # of a question whose document leaves something out
    "sensitive": True,
    **dict.fromkeys(FLAGS, False),
    "section": {},
    "only_if": {},
    "labels": [],
    "crossed": [],
    "low": "",
    "high": "",
    "margin": "",
    "weight": "",
}


def _side(request: PageRequest, draft: StoredDraft) -> dict[str, Any]:
    """What stands beside the editor: whether it can be asked, and how it looks."""
    wrong, address = what_is_wrong(draft.document), ""
    if not wrong:
        asked = Draft.from_dict(draft.document)
        try:
            more = survey_options(draft.settings)
            address = request.console.more[PREVIEW](asked, request.origin, more)
        except JrrError as error:
            wrong = in_words(error)
    return {"draft": draft, "wrong": wrong, "preview": address}


def _shown(question: dict[str, Any]) -> dict[str, Any]:
    """A question with every field that the page has, and numbers as people write them."""
    return {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in (EMPTY | question).items()
    }


def _draft(request: PageRequest) -> StoredDraft:
    found: StoredDraft = read(request.console, find_draft, request.path("draft"))
    return found


def _written(request: PageRequest, draft: StoredDraft, *, is_step: bool) -> bool:
    """Write it unless it is another than the form was made for."""
    version = request.form.get("version")
    draft.version = int(version) if version.isdecimal() and len(version) < 10 else -1
    windows = request.form.get("windows")
    return change_draft(request.console.engine, draft, windows, is_step=is_step)


@page("/drafts/new", "POST")
def _new(request: PageRequest) -> Response:
    draft = StoredDraft(new_document())
    add_draft(request.console.engine, draft)
    return goto(draft.path)


@page("/drafts/import")
def _import_form(request: PageRequest) -> Response:
    return request.page("import.html", section="")


@page("/drafts/import", "POST")
def _import(request: PageRequest) -> Response:
    text = request.form.raw("text")
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"the file must be TOML, got {error}") from None
    if "jrr_survey" in document:  # a survey, to ask something like it
        return goto(copied(request, read_survey(text.strip().encode())).path)
    asked = Draft.from_dict(document)
    draft = StoredDraft(asked.to_dict())
    settings = draft.document.pop("survey", {})
    draft.settings |= stored_settings(settings, asked.languages)
    add_draft(request.console.engine, draft)
    if left_out(settings):
        request.session.note(left_out(settings), "warn")
    return goto(draft.path)


@page("/drafts/{draft}")
def _edit(request: PageRequest) -> Response:
    draft = _draft(request)
    return request.page(
        "edit.html",
        section="",
        document=draft.document,
        settings=draft.settings,
        named={name: draft.document.get(name) or {} for name in NAMED},
        questions=[_shown(question) for question in draft.document["questions"]],
        kinds=KIND_WORDS,
        splits=SPLIT_WORDS,
        conflict=False,
        windows=f"{draft.writer}:{secrets.token_hex(8)}",
        **_side(request, draft),
    )


@page("/drafts/{draft}", "POST")
def _change(request: PageRequest) -> Response:
    draft = _draft(request)
    act = request.form.get("act", "save")
    if act == "language":
        act = f"language:{request.form.get('language')}"
    draft.document, about = changed(read_document(request.form), act)
    draft.settings |= read_settings(request.form)
    if not _written(request, draft, is_step=True):
        yours = StoredDraft(_marked(draft.document), settings=draft.settings)
        add_draft(request.console.engine, yours)
        request.session.note(
            "Somebody else, or another window of yours, changed this draft meanwhile. Nothing of "
            "theirs was overwritten: what you wrote is kept as this draft of its own. Take over "
            "what is missing in one of them, then delete the other.",
            "warn",
        )
        return goto(yours.path)
    if act == "next":
        return goto(f"{draft.path}/create")
    return goto(draft.path + ("" if about is None else f"#question{about}"))


@page("/drafts/{draft}/quick", "POST")
def _quick(request: PageRequest) -> Response:
    """Keep what was written, and answer with what stands beside it."""
    draft = _draft(request)
    draft.document = read_document(request.form)
    draft.settings |= read_settings(request.form)
    kept = _written(request, draft, is_step=False)
    return render("edit_side.html", conflict=not kept, **_side(request, draft))


def _marked(document: dict[str, Any]) -> dict[str, Any]:
    """With a title that tells it from the draft that somebody else changed."""
    title = {code: f"{text} ({YOURS})" for code, text in document["title"].items()}
    return document | {"title": title}


@page("/drafts/{draft}/survey.toml")
def _export(request: PageRequest) -> Response:
    draft = _draft(request)
    form = draft.settings["form"]
    settings = {name: value for name, value in survey_options(draft.settings).items() if value}
    settings |= {name: int(form[name]) for name in CHOSEN if form.get(name, "").isdecimal()}
    settings |= {"verified": False} if form.get("unverified") == "yes" else {}
    text = draft_toml(Draft.from_dict(draft.document | ({"survey": settings} if settings else {})))
    return download(text, f"survey-{draft.name[:8]}.toml", "application/toml")


@page("/drafts/{draft}/delete", "POST")
def _delete(request: PageRequest) -> Response:
    draft = _draft(request)
    if request.form.get("sure") != "yes":
        raise ArgumentError("sure must be ticked: a draft that is deleted cannot be brought back")
    drop_draft(request.console.engine, draft.name)
    request.session.note("The draft is deleted.")
    return goto("/")
