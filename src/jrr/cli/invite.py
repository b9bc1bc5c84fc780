"""`jrr invite`: one-time invitations, who may use them, and links that people can be sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.operators import FILE, any_operator_of, is_survey_file, operator_options, say
from jrr.cli.options import json_option
from jrr.cli.progress import waiting
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign
    from jrr.survey.surveys import Survey

FORMATS = ("csv", "links", "qr", "letters")  # those of jrr.client.answer_links


@click.command()
@operator_options
@click.option("--count", type=int, help="How many.")
@click.option("-o", "--out", type=FILE, default=Path("invitations.csv"), show_default=True)
@click.option("--from", "source", type=FILE, help="Tell servers of invitations made before.")
@click.option("--page", help="Address of the answer page: makes a link for each person.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="csv",
    show_default=True,
    help="With --page, beside the file: a line each, a QR code each, or letters to print.",
)
@click.option("--language", help="Of letters, such as de.  [default: the survey's first]")
@json_option
def invite(
    count: int | None,
    out: Path,
    source: Path | None,
    page: str | None,
    kind: str,
    language: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Make one-time invitations, and tell the servers whom to accept.

    The file is secret: whoever has an invitation can answer with it, or take its card, until its
    owner does, and whoever has the file can link what dealer and collector know of one person.
    Send the invitations out, then delete it. Where two operators hold a token each, one makes
    the file and both run this: --count N with one token, --from FILE with the other.

    With --page every invitation becomes a link that opens in a browser: the invitation stands after
    the #, which is never sent to a server. Links go into the file (csv), or beside it: lines
    (links), a folder of pictures (qr), an HTML page to print (letters). Of a campaign that anybody
    may answer there is one link for all, and neither --count nor --from.
    """
    from jrr.client.answer_links import PUBLIC_LIMITS, page_address
    from jrr.client.invitations import make_invitations, tell_invitations

    if page is None and kind != "csv":
        raise ArgumentError(f"page must be given for format {kind!r}: where people answer")
    if page is not None:
        page_address(page)  # before there are secrets
    document = _document(options["file"])
    if not document.invitations and page is not None and count is None and source is None:
        target = _links(document, out, kind, page, language, None)
        say(as_json, {"links": 1, "file": str(target), "limits": PUBLIC_LIMITS})
        return
    if (count is None) == (source is None):
        raise ArgumentError("exactly one of --count and --from must be given")
    operator = any_operator_of(**options)
    if source is not None:
        with waiting("telling the servers"):
            invitations, file = tell_invitations(operator, source), source
    else:
        assert count is not None  # one of them is given
        again = ["jrr", "invite", str(options["file"]), "--from"]
        with waiting("making invitations"):
            invitations, file = make_invitations(operator, count, out, again), out
    said: dict[str, Any] = {"invitations": len(invitations), "file": str(file)}
    if page is not None:
        with waiting("writing links"):
            target = _links(document, file, kind, page, language, invitations)
        said |= {"links": str(target)} if target != file else {}
    say(as_json, said)


def _document(file: Path) -> "Campaign | Survey":
    from jrr.cli.operators import read_campaign
    from jrr.survey.surveys import read_survey

    return read_survey(file.read_bytes()) if is_survey_file(file) else read_campaign(file)


def _links(
    document: "Campaign | Survey",
    out: Path,
    kind: str,
    page: str,
    language: str | None,
    invitations: list[str] | None,
) -> Path:
    from jrr.client.answer_links import write_answer_links
    from jrr.reporting.catalogue import text
    from jrr.survey.campaign import Campaign

    if isinstance(document, Campaign):  # a question is nothing to print on a letter
        language = language or "en"
        title = text(language, "letter.title")
    else:
        titles = document.questionnaire.title
        language = language or document.questionnaire.languages[0]
        title = titles.get(language) or next(iter(titles.values()))
    return write_answer_links(
        out,
        kind,  # type: ignore[arg-type]
        page=page,
        link=document.link,
        invitations=invitations,
        title=title,
        language=language,
    )
