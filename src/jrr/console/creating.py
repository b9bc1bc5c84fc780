"""From a draft to a survey that this collector holds."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from jrr._base import checks
from jrr.console.desk import Desk, Visit, goto, in_words, page
from jrr.console.drafts import Draft, add_draft, drop_draft, find_draft
from jrr.console.editing import editable, survey_options
from jrr.console.held import KIND, HeldDocument, all_held, held_of, operator_of, read
from jrr.console.numbers import read_number
from jrr.errors import ArgumentError, ProtocolError
from jrr.estimation.groups import MIN_CELL
from jrr.reporting.lay import consent_text
from jrr.servers.common.jobs import utc_now
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.survey_creation import SurveyRequest, facts_of
from jrr.survey.surveys import Survey

TRUST = {"1": "little: ε + 1", "2": "as usual: ε + 2", "4": "much: ε + 4"}


def routes(desk: Desk) -> list[Route]:
    """Their addresses."""
    return [
        page(desk, "/drafts/{draft}/create", _form),
        page(desk, "/drafts/{draft}/create", _create, "POST"),
        page(desk, f"/{KIND}/{{name}}/next-wave", _next_wave, "POST"),
    ]


def _form(visit: Visit) -> Response:
    draft: Draft = read(visit.desk, find_draft, visit.path("draft"))
    return _shown(visit, draft, {})


def _shown(
    visit: Visit, draft: Draft, given: dict[str, str], words: str = "", status: int = 200
) -> Response:
    asked = Questionnaire.from_dict(draft.document)
    usual = {
        "people": "2000",
        "response": "60",
        "dealers": "",
        "collector": visit.origin,
        "trust": "2",
        "lost": "3",
        "min_cell": str(MIN_CELL),
        "results_every": "1",
        "min_batch": "1",
        "after": "",
        "public": "",
    }
    return visit.page(
        "create.html",
        status,
        section="",
        draft=draft,
        questionnaire=asked,
        fields=usual | given,
        trust=TRUST,
        settings={"consent": {}, "opens": "", "closes": ""} | draft.settings,
        waves=_waves_before(visit.desk, asked),
        words=words,
    )


def _next_wave(visit: Visit) -> Response:
    """A draft of the same questions and words before consent; its times are new."""
    survey = held_of(visit).document
    if not isinstance(survey, Survey) or survey.wave >= survey.questionnaire.waves:
        raise ArgumentError("the survey must have a wave after this one")
    own = {}
    for language, words in survey.consent.items():
        own[language] = words.removesuffix(consent_text(facts_of(survey, language), language))
    consent = {language: words.strip() for language, words in own.items() if words.strip()}
    draft = Draft(editable(survey.questionnaire), settings={"consent": consent})
    add_draft(visit.desk.engine, draft)
    visit.session.note(
        f"A draft of wave {survey.wave + 1}. On the next page choose whose wave it is, under The "
        "same people as in; its people keep their invitations."
    )
    return goto(draft.path)


def _waves_before(desk: Desk, asked: Questionnaire) -> list[HeldDocument]:
    """Surveys whose people may be asked again."""
    if asked.waves == 1:
        return []
    return [
        held
        for held in read(desk, all_held)
        if isinstance(held.document, Survey) and held.document.wave < asked.waves
    ]


def _create(visit: Visit) -> Response:
    draft: Draft = read(visit.desk, find_draft, visit.path("draft"))
    given = {name: value for name, value in visit.form.items() if name != "csrf"}
    try:
        survey = _request(visit, draft).survey(utc_now())
    except ArgumentError as error:
        return _shown(visit, draft, given, str(error), 422)
    held = HeldDocument(survey)
    try:
        operator_of(visit.desk, held).install()
    except ProtocolError as error:  # such as a wave that these people have had
        return _shown(visit, draft, given, in_words(error), 422)
    drop_draft(visit.desk.engine, draft.name)
    visit.session.note("Created. Nobody can answer before it is opened.")
    return goto(held.path)


def _request(visit: Visit, draft: Draft) -> SurveyRequest:
    form = visit.form
    asked = Questionnaire.from_dict(draft.document)
    trust = checks.one_of("trust", form.get("trust", "2"), tuple(TRUST))
    dealers = tuple(form.get("dealers").split())
    settings: dict[str, Any] = {
        "mechanism": "auto" if dealers else "rr",
        "dealer_epsilon": asked.epsilon + float(trust),
        "lost": _number(visit, "lost", "3") / 100,
        "min_cell": _whole(visit, "min_cell", str(MIN_CELL)),
        "results_every": _whole(visit, "results_every", "1"),
        "min_batch": _whole(visit, "min_batch", "1"),
        "invitations": form.get("public") != "yes",
    } | survey_options(draft.settings)
    after = form.get("after")
    if after:
        waves = {held.name: held.document for held in _waves_before(visit.desk, asked)}
        settings["after"] = waves[checks.one_of("after", after, tuple(waves))]
    return SurveyRequest(
        questionnaire=asked,
        people=_whole(visit, "people", "2000"),
        response=_response(visit),
        collector=form.get("collector") or visit.origin,
        dealers=dealers,
        **settings,
    )


def _response(visit: Visit) -> float:
    percent = _number(visit, "response", "60")
    if not 0 < percent <= 100:
        raise ArgumentError(f"response must be above 0 and at most 100 percent, got {percent:g}")
    return percent / 100


def _number(visit: Visit, name: str, usual: str) -> float:
    return read_number(name, visit.form.get(name) or usual)


def _whole(visit: Visit, name: str, usual: str) -> int:
    number = _number(visit, name, usual)
    if not number.is_integer():
        raise ArgumentError(f"{name} must be a whole number, got {number!r}")
    return int(number)
