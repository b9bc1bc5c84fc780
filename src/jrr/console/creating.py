"""From a draft to a survey that this collector holds."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from jrr._base import checks
from jrr.console.drafts import StoredDraft, add_draft, drop_draft, find_draft
from jrr.console.editing import survey_options
from jrr.console.numbers import read_number
from jrr.console.pages import Console, PageRequest, goto, in_words, page
from jrr.console.survey_draft import draft_of
from jrr.console.survey_texts import path_of
from jrr.console.surveys import PATH, all_surveys, operator_of, read, survey_of
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError, ProtocolError
from jrr.estimation.groups import MIN_CELL
from jrr.servers.common.jobs import utc_now
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.promises import COST
from jrr.survey.survey import Survey

TRUST = {"1": "little: ε + 1", "2": "as usual: ε + 2", "4": "much: ε + 4"}


def routes(console: Console) -> list[Route]:
    """Their addresses."""
    return [
        page(console, "/drafts/{draft}/create", _form),
        page(console, "/drafts/{draft}/create", _create, "POST"),
        page(console, f"{PATH}/next-wave", _next_wave, "POST"),
    ]


def _form(request: PageRequest) -> Response:
    draft: StoredDraft = read(request.console, find_draft, request.path("draft"))
    return _shown(request, draft, {})


def _shown(
    request: PageRequest,
    draft: StoredDraft,
    given: dict[str, str],
    words: str = "",
    status: int = 200,
) -> Response:
    asked = Draft.from_dict(draft.document)
    usual = {
        "people": "2000",
        "response": "60",
        "dealers": "",
        "collector": request.origin,
        "trust": "2",
        "lost": "3",
        "min_cell": str(MIN_CELL),
        "results_every": "1",
        "min_batch": "1",
        "after": "",
        "public": "",
    }
    return request.page(
        "create.html",
        status,
        section="",
        draft=draft,
        asked=asked,
        fields=usual | given,
        trust=TRUST,
        settings={"consent": {}, "opens": "", "closes": ""} | draft.settings,
        waves=_waves_before(request.console, asked),
        words=words,
    )


def _next_wave(request: PageRequest) -> Response:
    """A draft of the same questions and words before consent; its times are new."""
    survey = survey_of(request)
    if survey.wave >= survey.waves:
        raise ArgumentError("the survey must have a wave after this one")
    own = {language: words.removesuffix(COST) for language, words in survey.consent.items()}
    consent = {language: words.strip() for language, words in own.items() if words.strip()}
    draft = StoredDraft(draft_of(survey).to_dict(), settings={"consent": consent})
    add_draft(request.console.engine, draft)
    request.session.note(
        f"A draft of wave {survey.wave + 1}. On the next page choose whose wave it is, under The "
        "same people as in; its people keep their invitations."
    )
    return goto(draft.path)


def _waves_before(console: Console, asked: Draft) -> list[Survey]:
    """Surveys whose people may be asked again."""
    if asked.waves == 1:
        return []
    return [survey for survey in read(console, all_surveys) if survey.wave < asked.waves]


def _create(request: PageRequest) -> Response:
    draft: StoredDraft = read(request.console, find_draft, request.path("draft"))
    given = {name: value for name, value in request.form.items() if name != "csrf"}
    try:
        survey = _request(request, draft).survey(utc_now())
    except ArgumentError as error:
        return _shown(request, draft, given, str(error), 422)
    try:
        operator_of(request.console, survey, request.session, deals=False).install()
    except ProtocolError as error:  # such as a wave that these people have had
        return _shown(request, draft, given, in_words(error), 422)
    drop_draft(request.console.engine, draft.name)
    request.session.note("Created. Nobody can answer before it is opened.")
    return goto(path_of(survey))


def _request(request: PageRequest, draft: StoredDraft) -> SurveyRequest:
    form = request.form
    asked = Draft.from_dict(draft.document)
    trust = checks.one_of("trust", form.get("trust", "2"), tuple(TRUST))
    dealers = tuple(form.get("dealers").split())
    settings: dict[str, Any] = {
        "mechanism": "auto" if dealers else "rr",
        "dealer_epsilon": asked.epsilon + float(trust),
        "lost": _number(request, "lost", "3") / 100,
        "min_cell": _whole(request, "min_cell", str(MIN_CELL)),
        "results_every": _whole(request, "results_every", "1"),
        "min_batch": _whole(request, "min_batch", "1"),
        "invitations": form.get("public") != "yes",
    } | survey_options(draft.settings)
    after = form.get("after")
    if after:
        waves = {survey.hash: survey for survey in _waves_before(request.console, asked)}
        settings["after"] = waves[checks.one_of("after", after, tuple(waves))]
    return SurveyRequest(
        draft=asked,
        people=_whole(request, "people", "2000"),
        response=_response(request),
        collector=form.get("collector") or request.origin,
        dealing=Dealers(dealers) if dealers else Nobody(),
        **settings,
    )


def _response(request: PageRequest) -> float:
    percent = _number(request, "response", "60")
    if not 0 < percent <= 100:
        raise ArgumentError(f"response must be above 0 and at most 100 percent, got {percent:g}")
    return percent / 100


def _number(request: PageRequest, name: str, usual: str) -> float:
    return read_number(name, request.form.get(name) or usual)


def _whole(request: PageRequest, name: str, usual: str) -> int:
    number = _number(request, name, usual)
    if not number.is_integer():
        raise ArgumentError(f"{name} must be a whole number, got {number!r}")
    return int(number)
