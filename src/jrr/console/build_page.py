"""The questionnaire editor: texts, order, languages, kinds, and how it looks to people."""

import json
import tomllib
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from jrr.console.desk import PREVIEW, Desk, Visit, download, goto, page, render
from jrr.console.drafts import Draft, add_draft, change_draft, drop_draft, find_draft
from jrr.console.editing import (
    KIND_WORDS,
    NAMED,
    changed,
    editable,
    new_document,
    read_document,
    read_settings,
    survey_options,
    what_is_wrong,
)
from jrr.console.held import read
from jrr.errors import ArgumentError, JrrError
from jrr.survey.questionnaire import SPLITS, Questionnaire
from jrr.survey.questionnaire_toml import questionnaire_toml

EMPTY: dict[str, Any] = {"only_if": {}, "labels": [], "low": "", "high": ""} | dict.fromkeys(
    ("margin", "weight"), ""
)


def routes(desk: Desk) -> list[Route]:
    """Their addresses."""

    def side(visit: Visit, draft: Draft) -> dict[str, Any]:
        """What stands beside the editor: whether it can be asked, and how it looks."""
        wrong, address = what_is_wrong(draft.document), ""
        if not wrong:
            questionnaire = Questionnaire.from_dict(draft.document)
            try:
                more = survey_options(draft.settings)
                address = desk.more[PREVIEW](questionnaire, visit.origin, more)
            except JrrError as error:
                wrong = str(error)
        return {"draft": draft, "wrong": wrong, "preview": address}

    def edit(visit: Visit) -> Response:
        draft = _draft(visit)
        return visit.page(
            "edit.html",
            section="",
            document=draft.document,
            settings={"consent": {}, "opens": "", "closes": ""} | draft.settings,
            named={name: draft.document.get(name) or {} for name in NAMED},
            items=[_shown(item) for item in draft.document["items"]],
            kinds=KIND_WORDS,
            splits=SPLITS,
            **side(visit, draft),
        )

    def change(visit: Visit) -> Response:
        draft = _draft(visit)
        act = visit.form.get("act", "save")
        if act == "language":
            act = f"language:{visit.form.get('language')}"
        draft.document, about = changed(read_document(visit.form), act)
        draft.settings = read_settings(visit.form)
        if not change_draft(desk.engine, _as_seen(visit, draft), is_step=True):
            visit.session.note(
                "Not saved: the draft was changed in another window meanwhile. This is it now.",
                "warn",
            )
            return goto(draft.path)
        if act == "next":
            return goto(f"{draft.path}/create")
        return goto(draft.path + ("" if about is None else f"#item{about}"))

    def quick(visit: Visit) -> Response:
        """Keep what was written, and answer with what stands beside it."""
        draft = _draft(visit)
        draft.document, draft.settings = read_document(visit.form), read_settings(visit.form)
        change_draft(desk.engine, _as_seen(visit, draft), is_step=False)
        return render("edit_side.html", **side(visit, draft))

    return [
        page(desk, "/drafts/new", _new, "POST"),
        page(desk, "/drafts/import", _import_form),
        page(desk, "/drafts/import", _import, "POST"),
        page(desk, "/drafts/{draft}", edit),
        page(desk, "/drafts/{draft}", change, "POST"),
        page(desk, "/drafts/{draft}/quick", quick, "POST"),
        page(desk, "/drafts/{draft}/survey.toml", _export),
        page(desk, "/drafts/{draft}/delete", _delete, "POST"),
    ]


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    """An item with every field that the page has, and numbers as people write them."""
    return {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in (EMPTY | item).items()
    }


def _draft(visit: Visit) -> Draft:
    found: Draft = read(visit.desk, find_draft, visit.path("draft"))
    return found


def _as_seen(visit: Visit, draft: Draft) -> Draft:
    """With the version that the form was made for."""
    version = visit.form.get("version")
    draft.version = int(version) if version.isdecimal() and len(version) < 10 else -1
    return draft


def _new(visit: Visit) -> Response:
    draft = Draft(new_document())
    add_draft(visit.desk.engine, draft)
    return goto(draft.path)


def _import_form(visit: Visit) -> Response:
    return visit.page("import.html", section="")


def _import(visit: Visit) -> Response:
    text = visit.form.raw("text")
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"the file must be TOML, got {error}") from None
    if "questionnaire" in document:  # the document of a survey holds one
        document = document["questionnaire"]
    draft = Draft(editable(Questionnaire.from_dict(document)))
    add_draft(visit.desk.engine, draft)
    return goto(draft.path)


def _export(visit: Visit) -> Response:
    draft = _draft(visit)
    text = questionnaire_toml(Questionnaire.from_dict(draft.document))
    return download(text, f"questionnaire-{draft.name[:8]}.toml", "application/toml")


def _delete(visit: Visit) -> Response:
    draft = _draft(visit)
    if visit.form.get("sure") != "yes":
        raise ArgumentError("sure must be ticked: a draft that is deleted cannot be brought back")
    drop_draft(visit.desk.engine, draft.name)
    visit.session.note("The draft is deleted.")
    return goto("/")
