"""Invitations: made once, told to the servers as hashes, given to the browser, kept nowhere."""

import io
import zipfile
from collections.abc import Mapping

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from jrr._base import checks
from jrr.client.answer_links import PUBLIC_LIMITS, answer_link, answer_links_text, page_address
from jrr.client.invitations import invitations_in
from jrr.client.letters import letter_of
from jrr.client.operator import new_invitations
from jrr.client.qr import qr_svg
from jrr.console.counts import counts_of
from jrr.console.desk import Desk, Visit, download, page
from jrr.console.held import KIND, HeldDocument, held_of, operator_of, read, take_tokens
from jrr.console.looking import looks_of
from jrr.console.names_files import names_file
from jrr.errors import ArgumentError
from jrr.survey.surveys import Survey

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


def routes(desk: Desk) -> list[Route]:
    """Their addresses."""
    looks = looks_of(desk)

    def form(visit: Visit) -> Response:
        held = held_of(visit)
        address = visit.query.get("page") or desk.settings.answer_page
        link, code = "", None
        if address and not held.first.invitations:
            link = answer_link(page_address(address), held.document.link)
            code = Markup(qr_svg(link))
        return visit.page(
            "invite.html",
            held=held,
            tab="invite",
            counts=read(desk, counts_of, held.document),
            known=[at in visit.session.dealer_tokens for at in held.dealers],
            formats=FORMATS,
            address=address,
            link=link,
            code=code,
            limits=PUBLIC_LIMITS,
            languages=_languages(held),
            wave=_wave(held),
            is_last=_wave(held) == _waves(held),
        )

    def invite(visit: Visit) -> Response:
        held = held_of(visit)
        kind = checks.one_of("format", visit.form.get("format"), tuple(FORMATS))
        address = visit.form.get("page") or desk.settings.answer_page
        page_address(address)  # before there are secrets
        made_before = visit.form.raw("made_before").strip()
        if made_before:  # such as the wave before: the same people
            invitations = invitations_in(made_before, "made_before", "what was pasted or chosen")
        count = len(invitations) if made_before else _count(visit.form.get("count"))
        if not made_before and _wave(held) > 1:
            raise ArgumentError(
                "made_before must be the table of invitations of the wave before: wave"
                f" {_wave(held)} asks the same people, and who has a new one counts as another"
            )
        take_tokens(visit, held)
        operator = operator_of(desk, held, visit.session)
        operator.install()
        if not made_before:
            operator.check_inviting(count)
            invitations = new_invitations(count)
        operator.invite(invitations)
        looks.forget(held)
        language = visit.form.get("language") or None  # None: the page begins as the phone says
        body = answer_links_text(
            kind,  # type: ignore[arg-type]
            page=address,
            link=held.document.link,
            invitations=invitations,
            letter=letter_of(held.document, language),
            language=language,
        )
        name, content, _ = FORMATS[kind]
        others = [
            number
            for number, address in enumerate(held.dealers)
            if address not in visit.session.dealer_tokens
        ]
        visit.session.note(_said(len(invitations), len(others)))
        if not others:
            return download(body, f"{held.name[:8]}-{name}", content)
        files = {f"{held.name[:8]}-{name}": body}
        for number in others:
            file = f"for-dealer-{number + 1}.json"
            files[file] = names_file(held, number, invitations)
        return download(_zipped(files), f"{held.name[:8]}-invitations.zip", "application/zip")

    base = f"/{KIND}/{{name}}/invite"
    return [page(desk, base, form), page(desk, base, invite, "POST")]


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


def _wave(held: HeldDocument) -> int:
    return held.document.wave if isinstance(held.document, Survey) else 1


def _waves(held: HeldDocument) -> int:
    return held.document.questionnaire.waves if isinstance(held.document, Survey) else 1


def _languages(held: HeldDocument) -> tuple[str, ...]:
    is_survey = isinstance(held.document, Survey)
    return held.document.questionnaire.languages if is_survey else ("en",)  # type: ignore[union-attr]
