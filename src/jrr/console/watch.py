"""Pages of all surveys, and of one: who has answered, results so far, by group and by wave."""

from functools import lru_cache

from markupsafe import Markup
from starlette.responses import Response

from jrr.client.report import ReportWish
from jrr.console.drafts import all_drafts
from jrr.console.operators import known_tokens, operator_of, take_tokens
from jrr.console.pages import Console, PageRequest, goto, in_words, page, read, render
from jrr.console.silent_dealers import silent_dealers
from jrr.console.snapshots import (
    Snapshot,
    by_day,
    count_invited,
    counts_of,
    facts_of,
    report_of,
    snapshots_of,
)
from jrr.console.survey_texts import groupings, here, name_of, path_of
from jrr.console.surveys import PATH, all_surveys, deleted_surveys, survey_of
from jrr.errors import ArgumentError, JrrError
from jrr.protocol.states import CLOSED, OPEN
from jrr.reporting.numerals import ChangeRow, change_rows, gains
from jrr.reporting.report_facts import SurveyReport
from jrr.reporting.report_page import groups_section, results_section
from jrr.reporting.report_words import limits_in_words
from jrr.survey.survey import Survey

_ORDER = {OPEN: 0, CLOSED: 2}


@page("/")
def _home(request: PageRequest) -> Response:
    console = request.console
    rows = [
        (survey, read(console, counts_of, survey), read(console, count_invited, survey))
        for survey in read(console, all_surveys)
    ]
    rows.sort(key=lambda row: (_ORDER.get(row[1].state, 1), name_of(row[0]).casefold()))
    return request.page(
        "home.html",
        rows=rows,
        drafts=read(console, all_drafts),
        deleted=read(console, deleted_surveys),
    )


@page(PATH)
def _watch(request: PageRequest) -> Response:
    console, survey = request.console, survey_of(request)
    latest = snapshots_of(console).latest(survey, request.session)
    counts = read(console, counts_of, survey)
    return request.page(
        "watch.html",
        survey=survey,
        tab="watch",
        facts=facts_of(survey, counts, latest),
        silent=silent_dealers(console).last(survey) if counts.state == OPEN else "",
        closes=counts.closes,
        days=read(console, by_day, survey),
        known=known_tokens(request, survey),
        dealer_error="" if latest is None else latest.dealer_error,
        results=None if latest is None else _drawn(latest),
    )


@page(f"{PATH}/results")
def _latest_results(request: PageRequest) -> Response:
    """A part of the page, when more has come."""
    latest = snapshots_of(request.console).take(survey_of(request), request.session)
    return render("results.html", results=_drawn(latest))


@page(f"{PATH}/dealers", "POST")
def _dealers(request: PageRequest) -> Response:
    """Keep dealers' tokens for this session, once they have said that these are theirs."""
    survey = survey_of(request)
    take_tokens(request, survey)
    snapshots_of(request.console).forget(survey)
    request.session.note("The dealer's counts are shown until you sign out.")
    return goto(path_of(survey))


@lru_cache(maxsize=32)
def _drawn(latest: Snapshot) -> Markup:
    """The results as HTML, drawn once for all pages that are open."""
    return _results(latest.report)


def _results(report: SurveyReport) -> Markup:
    """The results; where no question has one and all for the same reason, that reason once."""
    reasons = {question.reason for question in report.questions}
    if len(report.questions) > 1 and len(reasons) == 1 and None not in reasons:
        reason = str(next(iter(reasons)))
        reason = f"{reason[:1].upper()}{reason[1:]}"
        listed = Markup("").join(
            Markup("<li>{}</li>").format(question.text) for question in report.questions
        )
        return Markup("<article><h3>No result yet</h3><p>{}.</p><ul>{}</ul></article>").format(
            reason, listed
        )
    return Markup(results_section(report)) + _limits(report)


def _limits(report: SurveyReport) -> Markup:
    """What a reader might take from the numbers and should not; nothing where there are none."""
    if all(question.n is None for question in report.questions):
        return Markup("")
    listed = Markup("").join(
        Markup("<li>{}</li>").format(words) for words in limits_in_words(report)
    )
    return Markup("<article><h3>How to read these numbers</h3><ul>{}</ul></article>").format(listed)


@page(f"{PATH}/groups")
def _groups(request: PageRequest) -> Response:
    survey, by = survey_of(request), request.query.get("by")
    sections, has_any = None, True
    if by:
        if by not in groupings(survey):
            known = ", ".join(groupings(survey).values())
            raise ArgumentError(f"By the answers to must be one of {known}, got {by!r:.40}")
        report = report_of(request.console, survey, None, ReportWish(by=(by,)))
        sections = Markup(groups_section(report))
        has_any = any(one.questions or one.reason for one in report.groupings)
    counts = read(request.console, counts_of, survey)
    return request.page(
        "groups.html",
        survey=survey,
        tab="groups",
        by=by,
        sections=sections,
        has_any=has_any,
        must_choose=survey.announces and counts.state != CLOSED,
    )


@page(f"{PATH}/waves")
def _waves(request: PageRequest) -> Response:
    survey, since = survey_of(request), request.query.get("since")
    paired = request.query.get("paired") == "yes"
    others = _other_waves(request.console, survey)
    rows: list[ChangeRow] = []
    gained: list[str] = []
    words = which = ""
    if since:
        other = next((other for other in others if other.hash == since), None)
        if other is None:
            raise ArgumentError(f"since must be another wave of these people, got {since!r}")
        # From the earlier to the later one, whichever of them is looked at.
        earlier, later = sorted((other, survey), key=lambda one: one.wave)
        which = f"from wave {earlier.wave} to wave {later.wave}"
        try:
            found = operator_of(request.console, later).change(earlier, paired=paired)
            rows = [
                row._replace(question=later.by_name[row.question].text, interval=here(row.interval))
                for row in change_rows(found["changes"])
            ]
            asked = {name: one.text for name, one in later.by_name.items()}
            gained = list(gains(found["changes"], asked))
        except JrrError as error:
            words = here(in_words(error))
    return request.page(
        "waves.html",
        survey=survey,
        tab="waves",
        others=others,
        since=since,
        paired=paired,
        rows=rows,
        gained=gained,
        words=words,
        which=which,
    )


def _other_waves(console: Console, survey: Survey) -> list[Survey]:
    """Surveys of the same people, the latest first."""
    found = [
        other
        for other in read(console, all_surveys)
        if other.hash != survey.hash and other.collector_salt == survey.collector_salt
    ]
    return sorted(found, key=lambda other: -other.wave)
