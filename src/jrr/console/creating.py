"""From a draft to a survey that this collector holds."""

from collections.abc import Sequence

from starlette.responses import Response

from jrr._base import checks
from jrr.console.drafts import StoredDraft, drop_draft, find_draft, keep_choices
from jrr.console.editing import survey_options
from jrr.console.numbers import read_number, read_percent
from jrr.console.operators import operator_of
from jrr.console.pages import Console, Form, PageRequest, goto, in_words, page, read
from jrr.console.plan_tables import TRUST
from jrr.console.snapshots import counts_of
from jrr.console.survey_draft import CHOICE_NAMES, copied
from jrr.console.survey_texts import path_of
from jrr.console.surveys import PATH, all_surveys, survey_of
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError, ProtocolError
from jrr.estimation.groups import MIN_CELL
from jrr.servers.common.jobs import utc_now
from jrr.survey.analyses import AnalysisPlan, analysis_lines
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey

USUAL = {
    **{"people": "2000", "response": "60", "trust": "2", "lost": "3", "min_cell": str(MIN_CELL)},
    **{"results_every": "1", "min_batch": "1"},
    **dict.fromkeys(("dealers", "after", "public", "pilot", "keep_days", "unverified"), ""),
}


@page("/drafts/{draft}/create")
def _form(request: PageRequest) -> Response:
    draft: StoredDraft = read(request.console, find_draft, request.path("draft"))
    return _shown(request, draft, {})


def _shown(
    request: PageRequest,
    draft: StoredDraft,
    given: dict[str, str],
    words: str = "",
    status: int = 200,
    planned: Sequence[AnalysisPlan] = (),
) -> Response:
    asked = Draft.from_dict(draft.document)
    return request.page(
        "create.html",
        status,
        section="",
        draft=draft,
        asked=asked,
        fields=USUAL | {"collector": request.origin} | draft.settings["form"] | given,
        trust=TRUST,
        settings=draft.settings,
        waves=_waves_before(request.console, asked),
        words=words,
        planned=analysis_lines(planned),
        impossible=any(one.refused for one in planned),
    )


@page(f"{PATH}/next-wave", "POST")
def _next_wave(request: PageRequest) -> Response:
    survey = survey_of(request)
    if survey.wave >= survey.waves:
        raise ArgumentError("the survey must have a wave after this one")
    draft = copied(request, survey, after=survey.hash)
    request.session.note(
        f"A draft of wave {survey.wave + 1}, with the people, dealers and trust of this one. Its "
        "people keep their invitations."
    )
    return goto(draft.path)


@page(f"{PATH}/copy", "POST")
def _copy(request: PageRequest) -> Response:
    draft = copied(request, survey_of(request))
    request.session.note("A copy to change, and to create as another survey, or as a test.")
    return goto(draft.path)


@page(f"{PATH}/correct", "POST")
def _correct(request: PageRequest) -> Response:
    """Words of a survey that nobody has answered: another document takes its place."""
    survey = survey_of(request)
    if read(request.console, counts_of, survey).answered:
        raise ArgumentError(
            "the survey must have no answers yet to be corrected: people answered these words"
        )
    draft = copied(request, survey, corrects=survey.hash)
    request.session.note(
        "Correct what is wrong, then create the survey anew. The one with the mistake is deleted "
        "here when you do. Its invitations can be used for the new one: choose their table on "
        "the page Invite; links and letters must be sent anew."
    )
    return goto(draft.path)


def _waves_before(console: Console, asked: Draft) -> list[Survey]:
    """Surveys whose people may be asked again."""
    if asked.waves == 1:
        return []
    return [survey for survey in read(console, all_surveys) if survey.wave < asked.waves]


@page("/drafts/{draft}/create", "POST")
def _create(request: PageRequest) -> Response:
    draft: StoredDraft = read(request.console, find_draft, request.path("draft"))
    given = {name: value for name, value in request.form.items() if name != "csrf"}
    planned: list[AnalysisPlan] = []
    try:
        wanted = _request(request, draft)
        if wanted.draft.analyses:
            planned = wanted.planned_analyses()
        survey = wanted.survey(utc_now())
    except ArgumentError as error:
        return _shown(request, draft, given, in_words(error), 422)
    if given.get("act") == "plan":
        return _shown(request, draft, given, planned=planned)
    if any(one.refused for one in planned) and given.get("anyway") != "yes":
        words = "Not everything that you want to make of it will be possible: see below"
        return _shown(request, draft, given, words, 422, planned)
    # First: of two surveys that are one wave of a panel the second one is refused.
    _replace_corrected(request, draft)
    try:
        operator_of(request.console, survey, request.session, deals=False).install()
    except ProtocolError as error:  # such as a wave that these people have had
        return _shown(request, draft, given, in_words(error), 422)
    kept = {name: given[name] for name in CHOICE_NAMES if name in given}
    keep_choices(request.console.engine, survey.hash, kept)
    if not survey.pilot:
        drop_draft(request.console.engine, draft.name)
    request.session.note("Created. Nobody can answer before it is opened.")
    return goto(path_of(survey))


def _replace_corrected(request: PageRequest, draft: StoredDraft) -> None:
    """Delete the survey whose words were corrected, unless somebody has answered it meanwhile."""
    console, name = request.console, str(draft.settings["form"].get("corrects", ""))
    wrong = [survey for survey in read(console, all_surveys) if survey.hash == name]
    for survey in wrong:
        try:
            operator_of(console, survey, request.session, deals=False).delete()
        except ProtocolError as error:
            request.session.note(f"The survey with the mistake is still here: {error}", "warn")
        else:
            request.session.note("The survey with the mistake is deleted here.")
            if survey.deals:
                request.session.note(
                    "At the dealer it is left as it is: its operator can delete it there."
                )


def _request(request: PageRequest, draft: StoredDraft) -> SurveyRequest:
    form = request.form
    asked = Draft.from_dict(draft.document)
    trust = checks.one_of("trust", form.get("trust", USUAL["trust"]), tuple(TRUST))
    dealers = tuple(form.get("dealers").split())
    people = checks.integer("people", _whole(form, "people"), 2, 10**9)
    min_cell, is_pilot, before = _whole(form, "min_cell"), form.get("pilot") == "yes", None
    if not is_pilot and min_cell > people:  # there would never be a result
        raise checks.refusal("min_cell", min_cell, f"at most {people}, the people to invite")
    if form.get("after"):
        waves = {survey.hash: survey for survey in _waves_before(request.console, asked)}
        before = waves[checks.one_of("after", form.get("after"), tuple(waves))]
    return SurveyRequest(
        draft=asked,
        people=people,
        response=read_percent("response", _typed(form, "response"), 100.0, is_above=True),
        collector=form.get("collector") or request.origin,
        dealing=Dealers(dealers) if dealers else Nobody(),
        mechanism="auto" if dealers else "rr",
        dealer_epsilon=asked.epsilon + float(trust),
        lost=read_percent("lost", _typed(form, "lost"), 99.0),
        min_cell=min_cell,
        results_every=_whole(form, "results_every"),
        min_batch=_whole(form, "min_batch"),
        invitations=form.get("public") != "yes",
        pilot=is_pilot,
        keep_days=_whole(form, "keep_days") if form.get("keep_days") else None,
        verified=False if form.get("unverified") == "yes" else None,
        after=before,
        **survey_options(draft.settings),
    )


def _typed(form: Form, name: str) -> str:
    return form.get(name, USUAL[name])


def _whole(form: Form, name: str) -> int:
    number = read_number(name, _typed(form, name))
    if not number.is_integer():
        raise ArgumentError(f"{name} must be a whole number, got {number!r}")
    return int(number)
