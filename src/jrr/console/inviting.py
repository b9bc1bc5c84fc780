"""Invitations: made once, told to the servers as hashes, given to the browser, kept nowhere."""

import io
import zipfile
from collections.abc import Mapping

from markupsafe import Markup
from starlette.responses import Response

from jrr._base import checks
from jrr.client.invitations import (
    PUBLIC_LIMITS,
    answer_link,
    answer_links_text,
    invitations_in,
    new_notes,
    notes_in,
    page_address,
    to_remind,
)
from jrr.client.letters import grouped, letter_of, qr_svg, usual_words
from jrr.client.operator import new_invitations
from jrr.console.names_files import names_file
from jrr.console.operators import known_tokens, operator_of, take_tokens
from jrr.console.pages import PageRequest, check_sure, download, goto, page, read
from jrr.console.snapshots import counts_of, snapshots_of
from jrr.console.survey_texts import path_of
from jrr.console.surveys import PATH, survey_of
from jrr.errors import ArgumentError

INVITE, REMIND, REMIND_UNUSED, REVOKE, REPLACE = (
    *("invite", "remind", "remind-unused", "revoke", "replace"),
)
ACTS = {  # what may be done with invitations that were made before
    INVITE: "Invite these people (again, or to the next wave)",
    REMIND: "Remind all of them: letters and links once more",
    REMIND_UNUSED: "Remind those whose invitation is unused",
    REVOKE: "Revoke: they count no more, unless they were used",
    REPLACE: "Replace: revoke them, and make as many new ones",
}
MOST = 100_000  # invitations in one file
SHOWN = 20  # of those that were used, in a note
FORMATS = {
    "csv": ("invitations.csv", "text/csv; charset=utf-8", "A table: invitation and link"),
    "links": ("links.txt", "text/plain; charset=utf-8", "Links, a line each, and the table"),
    "letters": ("letters.html", "text/html; charset=utf-8", "Letters to print, and the table"),
}


@page(f"{PATH}/invite")
def _form(request: PageRequest) -> Response:
    survey = survey_of(request)
    address = request.query.get("page") or request.console.settings.answer_page
    link, code = "", None
    if address and not survey.invitations:
        link = answer_link(page_address(address), survey.link)
        code = Markup(qr_svg(link))
    return request.page(
        "invite.html",
        survey=survey,
        tab="invite",
        counts=read(request.console, counts_of, survey),
        known=known_tokens(request, survey),
        formats=FORMATS,
        address=address,
        link=link,
        code=code,
        limits=PUBLIC_LIMITS,
        acts=ACTS,
        usual={code: usual_words(survey, code) for code in survey.languages},
    )


@page(f"{PATH}/invite", "POST")
def _invite(request: PageRequest) -> Response:
    survey = survey_of(request)
    kind = checks.one_of("format", request.form.get("format"), tuple(FORMATS))
    address = request.form.get("page") or request.console.settings.answer_page
    page_address(address)  # before there are secrets
    made_before = request.form.raw("made_before").strip()
    act = checks.one_of("act", request.form.get("act", INVITE), tuple(ACTS))
    if act != INVITE and not made_before:
        raise ArgumentError("made_before must be chosen or pasted: it says who is meant")
    if made_before:  # such as the wave before: the same people
        invitations = invitations_in(made_before, "made_before")
    count = len(invitations) if made_before else _count("How many", request.form.get("count"), 1)
    spare = 0 if made_before else _count("Spare ones", request.form.get("spare") or "0", 0)
    if not made_before and survey.wave > 1:
        raise ArgumentError(
            "made_before must be the table of invitations of the wave before: wave"
            f" {survey.wave} asks the same people, and who has a new one counts as another"
        )
    take_tokens(request, survey)
    operator = operator_of(request.console, survey, request.session)
    operator.install()
    others = [
        number
        for number, address in enumerate(survey.dealing.addresses)
        if address not in request.session.dealer_tokens
    ]
    said, reminder, revoked = "", "", []
    notes: dict[str, tuple[str, str]] = {}
    if act in (REMIND, REMIND_UNUSED):
        reminder = "all"
        if act == REMIND_UNUSED:
            check_sure(request, "the collector then tells you who has answered")
            reminder = "unused"
        notes = notes_in(made_before)
        invitations, left_out = to_remind(operator, invitations, notes, unused=act == REMIND_UNUSED)
        said = f"Reminders for {len(invitations):,} people were downloaded."
        if not invitations:
            said = "Nobody is left to remind."
        said += f" Left out: {left_out}." if left_out else ""
    elif act in (REVOKE, REPLACE):
        used = operator.revoke(invitations)
        revoked = [one for one in invitations if one not in set(used)]
        said = f"Revoked: {len(revoked):,}."
        if used:
            said += f" Used, and left as they are: {len(used):,}, those that begin "
            said += ", ".join(map(_start, used[:SHOWN])) + (" …" if len(used) > SHOWN else ".")
        invitations = new_invitations(len(revoked)) if act == REPLACE else []
        notes = {
            new: (f"instead of {_start(old)}", "")
            for new, old in zip(invitations, revoked, strict=False)
        }
        operator.invite(invitations)
    else:
        if not made_before:
            operator.check_inviting(count + spare)
            invitations = new_invitations(count + spare)
            notes = new_notes(invitations, (), spare)
        operator.invite(invitations)
        found = operator.accepted(invitations) if made_before else invitations
        said = f"{len(found):,} people are invited; the file with their links was downloaded."
        gone, invitations = len(invitations) - len(found), found
        said += f" Left out: {gone:,}, which were revoked." if gone else ""
    snapshots_of(request.console).forget(survey)
    request.session.note(said)
    if not invitations and not (revoked and others):
        return goto(f"{path_of(survey)}/invite")
    language = request.form.get("language") or None  # None: the page begins as the phone says
    own = {code: request.form.get(f"words.{code}") for code in survey.languages}
    words = {
        code: told.replace("\r", "")
        for code, told in own.items()
        if told != usual_words(survey, code)
    }
    told = {
        one: answer_links_text(
            one,  # type: ignore[arg-type]
            page=address,
            link=survey.link,
            invitations=invitations,
            letter=letter_of(survey, language, words=words, reminder=reminder),
            language=language,
            notes=dict.fromkeys(invitations, ("", "")) | notes,
        )
        # Reminders, replacements and the next wave need the table, whatever people are sent.
        for one in dict.fromkeys((kind,) if reminder else (kind, "csv"))
    }
    files = {f"{survey.hash[:8]}-{FORMATS[one][0]}": text for one, text in told.items()}
    if others and not reminder:
        for number in others:
            file = f"for-dealer-{number + 1}.json"
            files[file] = names_file(survey, number, invitations, revoked)
        request.session.note("Give each dealer's operator the file for-dealer that is in it.")
    if len(files) > 1:
        return download(_zipped(files), f"{survey.hash[:8]}-invitations.zip", "application/zip")
    return download(told[kind], next(iter(files)), FORMATS[kind][1])


def _zipped(files: Mapping[str, str]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return sink.getvalue()


def _start(invitation: str) -> str:
    """Enough of an invitation to find it in a table; not enough to use it."""
    return grouped(invitation[:8])


def _count(field: str, wished: str, least: int) -> int:
    if not wished.isdecimal() or not least <= int(wished) <= MOST:
        raise ArgumentError(f"{field} must be {least} to {MOST:,}, got {wished!r:.40}")
    return int(wished)
