"""One survey: who has answered, what the results are so far, by group and since the wave before."""

from dataclasses import replace
from typing import Any

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from jrr.client.report import ReportWish
from jrr.client.survey_operator import SurveyOperator
from jrr.console.counts import counts_of
from jrr.console.desk import Desk, Visit, goto, page, render
from jrr.console.held import KIND, HeldDocument, all_held, held_of, operator_of, read, take_tokens
from jrr.console.looking import Look, facts_of, looks_of, report_of
from jrr.errors import ArgumentError, JrrError
from jrr.reporting.report_facts import CampaignReport
from jrr.reporting.report_page import groups_section, results_section
from jrr.reporting.report_words import limits_in_words
from jrr.protocol.states import CLOSED
from jrr.survey.surveys import Survey


def routes(desk: Desk) -> list[Route]:
    """Their addresses."""
    looks = looks_of(desk)
    drawn: dict[str, tuple[Look, Markup]] = {}  # the latest results of each survey, as HTML

    def results_of(held: HeldDocument, look: Look) -> Markup:
        """Drawn once for all pages that are open."""
        kept = drawn.get(held.name)
        if kept is None or kept[0] is not look:
            kept = drawn[held.name] = (look, _results(look.report))
        return kept[1]

    base = f"/{KIND}/{{name}}"

    def watch(visit: Visit) -> Response:
        held = held_of(visit)
        counts = read(desk, counts_of, held.document)
        look = looks.latest(held)
        return visit.page(
            "watch.html",
            held=held,
            tab="watch",
            facts=facts_of(held, counts, look),
            known=[at in visit.session.dealer_tokens for at in held.dealers],
            dealer_error="" if look is None else look.dealer_error,
            results=None if look is None else results_of(held, look),
        )

    def results(visit: Visit) -> Response:
        """A part of the page, when more has come."""
        held = held_of(visit)
        seen = looks.look(held, visit.session)
        return render("results.html", results=results_of(held, seen))

    def dealers(visit: Visit) -> Response:
        """Keep dealers' tokens for this session, once they have said that these are theirs."""
        held = held_of(visit)
        take_tokens(visit, held)
        looks.forget(held)
        visit.session.note("The dealer's counts are shown until you sign out.")
        return goto(held.path)

    return [
        page(desk, base, watch),
        page(desk, f"{base}/results", results),
        page(desk, f"{base}/dealers", dealers, "POST"),
        page(desk, f"{base}/groups", _groups),
        page(desk, f"{base}/waves", _waves),
    ]


def _results(report: CampaignReport) -> Markup:
    """The results; where no item has one and all for the same reason, that reason once."""
    reasons = {item.reason for item in report.items}
    if len(report.items) > 1 and len(reasons) == 1 and None not in reasons:
        reason = str(next(iter(reasons)))
        reason = f"{reason[:1].upper()}{reason[1:]}"
        listed = Markup("").join(Markup("<li>{}</li>").format(item.text) for item in report.items)
        return Markup("<article><h3>No result yet</h3><p>{}.</p><ul>{}</ul></article>").format(
            reason, listed
        )
    return Markup(results_section(report)) + _limits(report)


def _limits(report: CampaignReport) -> Markup:
    """What a reader might take from the numbers and should not; nothing where there are none."""
    if all(item.n is None for item in report.items):
        return Markup("")
    listed = Markup("").join(
        Markup("<li>{}</li>").format(words) for words in limits_in_words(report)
    )
    return Markup("<article><h3>How to read these numbers</h3><ul>{}</ul></article>").format(listed)


def _groups(visit: Visit) -> Response:
    held, by = held_of(visit), visit.query.get("by")
    sections, has_any = None, True
    if by:
        if by not in held.covariates:
            raise ArgumentError(f"by must be one of {', '.join(held.covariates)}, got {by!r}")
        report = _in_console_words(report_of(visit.desk, held, None, ReportWish(by=(by,))))
        sections = Markup(groups_section(report))
        has_any = any(one.items or one.reason for one in report.groupings)
    counts = read(visit.desk, counts_of, held.document)
    return visit.page(
        "groups.html",
        held=held,
        tab="groups",
        by=by,
        sections=sections,
        has_any=has_any,
        must_choose=held.announces and counts.state != CLOSED,
    )


def _in_console_words(report: CampaignReport) -> CampaignReport:
    """A grouping that was not chosen at the end, told without an option of the command line."""
    groupings = []
    for one in report.groupings:
        told, found, _ = (one.reason or "").partition(": close a campaign with --by")
        words = f"{told}. It was chosen when the survey was closed, and cannot be chosen again"
        groupings.append(replace(one, reason=words) if found else one)
    return replace(report, groupings=tuple(groupings))


def _waves(visit: Visit) -> Response:
    held, since = held_of(visit), visit.query.get("since")
    paired = visit.query.get("paired") == "yes"
    others = _other_waves(visit.desk, held)
    rows: list[dict[str, Any]] = []
    words = which = ""
    if since:
        other = next((other for other in others if other.name == since), None)
        if other is None:
            raise ArgumentError(f"since must be another wave of these people, got {since!r}")
        # From the earlier to the later one, whichever of them is looked at.
        earlier, later = sorted((other, held), key=lambda one: _survey_of(one).wave)
        operator = operator_of(visit.desk, later)
        assert isinstance(operator, SurveyOperator)  # of a survey
        which = f"from wave {_survey_of(earlier).wave} to wave {_survey_of(later).wave}"
        try:
            found = operator.change(_survey_of(earlier), paired=paired)
            asked = {name: one.question for name, one in _survey_of(later).campaigns.items()}
            rows = [row | {"item": asked[row["item"]]} for row in change_rows(found["changes"])]
        except JrrError as error:
            words = str(error)
    return visit.page(
        "waves.html",
        held=held,
        tab="waves",
        others=others,
        since=since,
        paired=paired,
        rows=rows,
        words=words,
        which=which,
    )


def _survey_of(held: HeldDocument) -> Survey:
    assert isinstance(held.document, Survey)  # only surveys have waves
    return held.document


def _other_waves(desk: Desk, held: HeldDocument) -> list[HeldDocument]:
    """Surveys of the same people, the latest first."""
    mine = held.document
    if not isinstance(mine, Survey):
        return []
    found = [
        other
        for other in read(desk, all_held)
        if isinstance(other.document, Survey)
        and other.name != held.name
        and other.document.collector_salt == mine.collector_salt
    ]
    return sorted(found, key=lambda other: -other.document.wave)


def change_rows(changes: dict[str, Any]) -> list[dict[str, Any]]:
    """What has changed, a line each: item, answer, change and interval as they are shown."""
    rows = []
    for name, facts in changes.items():
        if "refused" in facts:
            rows.append({"item": name, "answer": "", "change": "", "interval": facts["refused"]})
        elif "mean" in facts:
            low, high = facts["mean"]["interval"]
            moved = facts["mean"]["change"]
            shown = {"change": f"{moved:+.4g}", "interval": f"{low:+.4g} to {high:+.4g}"}
            rows.append({"item": name, "answer": "mean"} | shown)
        else:
            for label, moved, (low, high) in zip(
                facts["labels"], facts["difference"], facts["interval"], strict=True
            ):
                shown = {
                    "change": f"{100 * moved:+.2f} points",
                    "interval": f"{100 * low:+.2f} to {100 * high:+.2f}",
                }
                rows.append({"item": name, "answer": label} | shown)
    return rows
