"""`jrr survey invite`: one-time invitations, and links that people can be sent."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, read_survey_file
from jrr.cli.values import COUNT, FILE
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

INVITATIONS = Path("invitations.csv")
FORMATS = ("csv", "links", "qr", "letters")  # those of jrr.client.answer_links


@click.command()
@operator_options
@click.option("--count", type=COUNT, help="How many.")
@click.option(
    "-o",
    "--out",
    type=FILE,
    help="With --count: the file of invitations. With --from: what is made of them.  [default: "
    "invitations.csv; with --from beside that file]",
)
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
@click.option(
    "--language",
    help="Of letters, and in which the page begins, such as de.  [default: letters in the "
    "survey's first, the page in the browser's]",
)
@click.option(
    "--page-knows",
    is_flag=True,
    help="Letters: the page opens this survey by itself (jrr serve page --survey), so that nobody "
    "has to type its address.",
)
@json_option
def invite(
    count: int | None,
    out: Path | None,
    source: Path | None,
    page: str | None,
    kind: str,
    language: str | None,
    page_knows: bool,
    **options: Any,
) -> None:
    """Make one-time invitations, and tell the servers whom to accept.

    The file is secret: whoever has an invitation can answer with it, or take its card, until its
    owner does, and whoever has the file can link what dealer and collector know of one person.
    Send the invitations out, then delete it. Where two operators hold a token each, one makes
    the file and both run this: --count N with one token, --from FILE with the other.

    With --page every invitation becomes a link that opens in a browser: the invitation stands after
    the #, which is never sent to a server. Links go into the file, whose first column, link, is
    what people are sent (program_link is for programs), and beside it: lines (links), a folder of
    pictures (qr), an HTML page to print (letters). Of a survey that anybody may answer there is
    one link for all, and neither --count nor --from.
    """
    from jrr.client.answer_links import PUBLIC_LIMITS, page_address
    from jrr.client.invitations import make_invitations, tell_invitations

    if page is None and kind != "csv":
        raise ArgumentError(f"page must be given for format {kind!r}: where people answer")
    if page is not None:
        page_address(page)  # before there are secrets
    if language is not None and not re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", language):
        raise checks.refusal("language", language, "a code such as en or de")
    survey = read_survey_file(options["file"])
    if not survey.invitations and page is not None and count is None and source is None:
        target = _links(survey, out or INVITATIONS, kind, page, None, language, page_knows)
        _say({"links": 1, "file": str(target), "limits": PUBLIC_LIMITS})
        return
    if (count is None) == (source is None):
        raise ArgumentError("exactly one of --count and --from must be given")
    if source is not None and out is not None and page is None:
        raise checks.refusal("out", str(out), "left out with --from, unless --page makes links")
    if source is not None and out is not None and out.exists():
        raise checks.refusal("out", str(out), "a file that does not exist yet")
    operator = operator_of(**options)
    if source is not None:
        with waiting("telling the servers"):
            invitations, file = tell_invitations(operator, source), source
    else:
        assert count is not None  # one of them is given
        again = ["jrr", "survey", "invite", str(options["file"]), "--from"]
        file = out or INVITATIONS
        with waiting("making invitations"):
            invitations = make_invitations(operator, count, file, again)
    said: dict[str, Any] = {"invitations": len(invitations), "file": str(file)}
    if page is not None:
        wish = (language, page_knows)
        with waiting("writing links"):
            if source is None:  # whatever else is made, the file names what people are sent
                _links(survey, file, "csv", page, invitations, *wish)
            exactly = source is not None and out is not None
            beside = out if exactly and out is not None else file
            target = file
            if source is not None or kind != "csv":
                target = _links(survey, beside, kind, page, invitations, *wish, exactly)
        said |= {"links": str(target)} if target != file else {}
    _say(said)


def _links(
    survey: "Survey",
    out: Path,
    kind: str,
    page: str,
    invitations: list[str] | None,
    language: str | None,
    page_knows: bool,
    exactly: bool = False,
) -> Path:
    from jrr.client.answer_links import write_answer_links
    from jrr.client.letters import letter_of

    return write_answer_links(
        out,
        kind,  # type: ignore[arg-type]
        page=page,
        link=survey.link,
        invitations=invitations,
        letter=letter_of(survey, language, page_knows=page_knows),
        language=language,
        exactly=exactly,
    )


def _say(facts: dict[str, Any]) -> None:
    show(facts, ", ".join(f"{name}: {value}" for name, value in facts.items()))
