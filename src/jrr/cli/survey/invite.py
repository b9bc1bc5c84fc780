"""`jrr survey invite`: one-time invitations, and links that people can be sent."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jrr._base import checks
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, read_survey_file
from jrr.cli.values import COUNT, FILE
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.client.invitations import Notes
    from jrr.client.operator import Operator
    from jrr.survey.survey import Survey

INVITATIONS = Path("invitations.csv")
FORMATS = ("csv", "links", "qr", "letters")  # those of jrr.client.invitations


class _Told(NamedTuple):
    """What letters and links say."""

    language: str | None
    page_knows: bool
    words: dict[str, str]
    reminder: str


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
@click.option(
    "--names",
    type=FILE,
    help="Names or numbers of your own, a line each: a column of the file, for you alone.",
)
@click.option("--spare", type=click.INT, default=0, help="So many more, to replace lost ones.")
@click.option(
    "--letter",
    multiple=True,
    help="Your own words for letters, as LANGUAGE=FILE, such as en=letter.txt.",
)
@click.option(
    "--remind",
    type=click.Choice(("all", "unused")),
    help="With --from and --page: writes reminders, to everybody, or to those whose invitation is "
    "unused; then the collector tells who has answered.",
)
@click.option(
    "--revoke", is_flag=True, help="With --from: invitations that nobody has used count no more."
)
@click.option("--replace", is_flag=True, help="The same, and -o gets as many new ones.")
@json_option
def invite(
    count: int | None,
    out: Path | None,
    source: Path | None,
    page: str | None,
    kind: str,
    language: str | None,
    page_knows: bool,
    names: Path | None,
    spare: int,
    letter: tuple[str, ...],
    remind: str | None,
    revoke: bool,
    replace: bool,
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

    Who is who is your own affair: --names puts a column of yours into the file, and no server is
    told of it. A lost invitation is replaced by --from LOST.csv --replace -o NEW.csv; one that was
    used is left alone, and named.
    """
    from jrr.client.invitations import (
        PUBLIC_LIMITS,
        make_invitations,
        notes_in,
        page_address,
        tell_invitations,
    )

    if page is None and kind != "csv":
        raise ArgumentError(f"page must be given for format {kind!r}: where people answer")
    if page is not None:
        page_address(page)  # before there are secrets
    own = _lines_of(names)
    if own and count is None and source is None:
        count = len(own)
    if own and len(own) > (count or 0):
        raise checks.refusal("names", f"{len(own)} lines", f"at most {count}, those to be invited")
    if (revoke or replace or remind) and source is None:
        raise ArgumentError("from must be given: the file of the invitations that are meant")
    if language not in (None, "all") and not re.fullmatch(
        r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", str(language)
    ):
        raise checks.refusal("language", language, "a code such as en or de, or all")
    survey = read_survey_file(options["file"])
    told = _Told(language, page_knows, _words(letter), remind or "")
    if not survey.invitations and page is not None and count is None and source is None:
        target = _links(survey, out or INVITATIONS, kind, page, None, told)
        _say({"links": 1, "file": str(target), "limits": PUBLIC_LIMITS})
        return
    if (count is None) == (source is None):
        raise ArgumentError("exactly one of --count and --from must be given")
    if source is not None and out is not None and page is None:
        raise checks.refusal("out", str(out), "left out with --from, unless --page makes links")
    if source is not None and out is not None and out.exists():
        raise checks.refusal("out", str(out), "a file that does not exist yet")
    operator = operator_of(**options)
    if revoke or replace:
        assert source is not None  # refused above
        _say(_replaced(operator, source, out, page, told, make_new=replace))
        return
    if remind is not None:
        assert source is not None  # refused above
        _say(_reminded(operator, source, out, kind, page, told))
        return
    if source is not None:
        with waiting("telling the servers"):
            invitations, file = tell_invitations(operator, source), source
    else:
        assert count is not None  # one of them is given
        again = ["jrr", "survey", "invite", str(options["file"]), "--from"]
        file = out or INVITATIONS
        with waiting("making invitations"):
            invitations = make_invitations(operator, count, file, again, own, spare)
    said: dict[str, Any] = {"invitations": len(invitations), "file": str(file)}
    if page is not None:
        notes = notes_in(file.read_text("utf-8"))
        with waiting("writing links"):
            if source is None:  # whatever else is made, the file names what people are sent
                _links(survey, file, "csv", page, invitations, told, notes=notes)
            exactly = source is not None and out is not None
            beside = out if exactly and out is not None else file
            target = file
            if source is not None or kind != "csv":
                target = _links(survey, beside, kind, page, invitations, told, exactly, notes)
        said |= {"links": str(target)} if target != file else {}
    _say(said)


def _links(
    survey: "Survey",
    out: Path,
    kind: str,
    page: str,
    invitations: list[str] | None,
    told: "_Told",
    exactly: bool = False,
    notes: "Notes | None" = None,
) -> Path:
    from jrr.client.invitations import write_answer_links
    from jrr.client.letters import letter_of

    return write_answer_links(
        out,
        kind,  # type: ignore[arg-type]
        page=page,
        link=survey.link,
        invitations=invitations,
        letter=letter_of(
            survey,
            told.language,
            page_knows=told.page_knows,
            words=told.words,
            reminder=told.reminder,
        ),
        language=told.language,
        exactly=exactly,
        notes=notes,
    )


def _lines_of(file: Path | None) -> list[str]:
    """The lines of a file, without those at its end that are empty."""
    return [] if file is None else _read("names", file).rstrip().splitlines()


def _words(letters: tuple[str, ...]) -> dict[str, str]:
    """Language -> the words in a file."""
    found = {}
    for one in letters:
        code, equals, name = one.partition("=")
        if not equals:
            raise checks.refusal("letter", one, "as LANGUAGE=FILE")
        found[code] = _read("letter", Path(name)).strip()
    return found


def _read(argument: str, file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise checks.refusal(argument, str(file), "a text file in UTF-8") from None


def _replaced(
    operator: "Operator",
    source: Path,
    out: Path | None,
    page: str | None,
    told: "_Told",
    *,
    make_new: bool,
) -> dict[str, Any]:
    """Revoke invitations that nobody has used; make as many new ones."""
    from jrr.client.invitations import make_invitations, notes_in, read_invitations

    if make_new and (out is None or out.exists()):
        raise checks.refusal("out", out and str(out), "a file for the new ones that does not exist")
    invitations = read_invitations(source)
    with waiting("revoking invitations"):
        used = operator.revoke(invitations)
    left = [one for one in invitations if one not in used]
    said: dict[str, Any] = {"revoked": len(left), "used": len(used)}
    said |= {"left_alone": " ".join(used)} if used else {}
    if make_new and left:
        assert out is not None  # refused above
        before = notes_in(_read("from", source))
        names = [before.get(one, ("", ""))[0] for one in left]
        again = ["jrr", "survey", "invite", "SURVEY", "--from"]
        made = make_invitations(operator, len(left), out, again, names if any(names) else ())
        if page is not None:
            notes = notes_in(out.read_text("utf-8"))
            _links(operator.survey, out, "csv", page, made, told, notes=notes)
        said |= {"new": len(made), "file": str(out)}
    return said


def _reminded(
    operator: "Operator", source: Path, out: Path | None, kind: str, page: str | None, told: "_Told"
) -> dict[str, Any]:
    """Write links or letters once more, for all or for those who have not answered."""
    from jrr.client.invitations import notes_in, read_invitations, to_remind

    if page is None:
        raise ArgumentError("page must be given for reminders: where people answer")
    notes = notes_in(_read("from", source))
    is_unused = told.reminder == "unused"
    invitations, left_out = to_remind(operator, read_invitations(source), notes, unused=is_unused)
    if not invitations:
        return {"reminders": 0, "left_out": left_out}
    target = out or source.with_name(f"{source.stem}-reminder{source.suffix}")
    made = _links(operator.survey, target, kind, page, invitations, told, out is not None, notes)
    said = {"reminders": len(invitations), "file": str(made)}
    return said | ({"left_out": left_out} if left_out else {})


def _say(facts: dict[str, Any]) -> None:
    show(facts, ", ".join(f"{name}: {value}" for name, value in facts.items()))
