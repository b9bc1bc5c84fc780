"""Invitations: made once, told to the servers as hashes, given to the browser, kept nowhere."""

import io
import zipfile
from collections.abc import Mapping

from markupsafe import Markup
from starlette.responses import Response

from jrr._base import checks
from jrr.client.answer_links import PUBLIC_LIMITS, answer_link, answer_links_text, page_address
from jrr.client.invitations import invitations_in
from jrr.client.letters import letter_of
from jrr.client.operator import new_invitations
from jrr.client.qr import qr_svg
from jrr.console.counts import counts_of
from jrr.console.names_files import names_file
from jrr.console.pages import PageRequest, download, page
from jrr.console.snapshots import snapshots_of
from jrr.console.surveys import PATH, known_tokens, operator_of, read, survey_of, take_tokens
from jrr.errors import ArgumentError

MOST = 100_000  # invitations in one file
FORMATS = {
    "csv": ("invitations.csv", "text/csv; charset=utf-8", "A table: invitation and link"),
    "links": ("links.txt", "text/plain; charset=utf-8", "Links, a line each"),
    "letters": (
        "letters.html",
        "text/html; charset=utf-8",
        "Letters to print, with a QR code each",
    ),
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
    )


@page(f"{PATH}/invite", "POST")
def _invite(request: PageRequest) -> Response:
    survey = survey_of(request)
    kind = checks.one_of("format", request.form.get("format"), tuple(FORMATS))
    address = request.form.get("page") or request.console.settings.answer_page
    page_address(address)  # before there are secrets
    made_before = request.form.raw("made_before").strip()
    if made_before:  # such as the wave before: the same people
        invitations = invitations_in(made_before, "made_before", "what was pasted or chosen")
    count = len(invitations) if made_before else _count(request.form.get("count"))
    if not made_before and survey.wave > 1:
        raise ArgumentError(
            "made_before must be the table of invitations of the wave before: wave"
            f" {survey.wave} asks the same people, and who has a new one counts as another"
        )
    take_tokens(request, survey)
    operator = operator_of(request.console, survey, request.session)
    operator.install()
    if not made_before:
        operator.check_inviting(count)
        invitations = new_invitations(count)
    operator.invite(invitations)
    snapshots_of(request.console).forget(survey)
    language = request.form.get("language") or None  # None: the page begins as the phone says
    body = answer_links_text(
        kind,  # type: ignore[arg-type]
        page=address,
        link=survey.link,
        invitations=invitations,
        letter=letter_of(survey, language),
        language=language,
    )
    name, content, _ = FORMATS[kind]
    others = [
        number
        for number, address in enumerate(survey.dealing.addresses)
        if address not in request.session.dealer_tokens
    ]
    request.session.note(_said(len(invitations), len(others)))
    if not others:
        return download(body, f"{survey.hash[:8]}-{name}", content)
    files = {f"{survey.hash[:8]}-{name}": body}
    for number in others:
        file = f"for-dealer-{number + 1}.json"
        files[file] = names_file(survey, number, invitations)
    return download(_zipped(files), f"{survey.hash[:8]}-invitations.zip", "application/zip")


def _said(count: int, others: int) -> str:
    """What was done, for the page after the download."""
    words = f"{count:,} people are invited; the file with their links was downloaded."
    if others:
        words += " Give each dealer's operator the file for-dealer that is in it."
    return words


def _zipped(files: Mapping[str, str]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return sink.getvalue()


def _count(wished: str) -> int:
    if not wished.isdecimal() or not 1 <= int(wished) <= MOST:
        raise ArgumentError(f"count must be 1 to {MOST:,}, got {wished!r:.40}")
    return int(wished)
