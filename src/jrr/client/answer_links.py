"""Links to the answer page, one for each invitation, as files that people can be sent.

The invitation stands after the #, which browsers keep to themselves: no server is told of it.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from jrr._base import checks
from jrr._base.files import write_whole, write_whole_bytes
from jrr.client.letters import letters_page
from jrr.client.qr import qr_png
from jrr.survey.addresses import check_address, is_survey_link, without_slash

Format = Literal["csv", "links", "qr", "letters"]
FORMATS: tuple[Format, ...] = ("csv", "links", "qr", "letters")
PUBLIC_LIMITS = (
    "One link for all: anybody who has it may answer, also several times from several devices; "
    "nothing tells people from one another, results count devices, and those whose answers are "
    "the same can say so as often as they like. For results that count people, invite them."
)


def page_address(page: str) -> str:
    """The address of an answer page, ready for what follows the #.

    Raises:
        ArgumentError: It is none, by https (http on this machine only).

    Example:
        >>> page_address("https://page.example/page")
        'https://page.example/page/'
    """
    address = check_address("page", without_slash(page))
    return address if address.endswith(".html") else f"{address}/"


def answer_link(page: str, link: str, invitation: str | None = None) -> str:
    """Where somebody answers in a browser.

    Args:
        page: As `page_address` gives it.
        link: Of the campaign or survey.
        invitation: None: anybody may answer.

    Example:
        >>> answer_link("https://a.example/", "https://b.example/v1/campaigns/0", "abc")
        'https://a.example/#campaign=https://b.example/v1/campaigns/0&invitation=abc'
    """
    kind = "survey" if is_survey_link(link) else "campaign"
    more = "" if invitation is None else f"&invitation={invitation}"
    return f"{page}#{kind}={link}{more}"


def write_answer_links(
    out: Path,
    format: Format,
    *,
    page: str,
    link: str,
    invitations: Sequence[str] | None,
    title: str,
    language: str = "en",
) -> Path:
    """Write links to the answer page in one of the formats.

    Args:
        out: The file of invitations, or one like it: the result stands beside it, under its name
            with another ending. What holds invitations is private.
        format: "csv" (columns invitation, link, answer_link), "links" (a line each), "qr" (a
            folder of PNG pictures and a CSV file that names them) or "letters" (HTML, a sheet
            each).
        page: Address of the answer page.
        link: Of the campaign or survey.
        invitations: None: anybody may answer, and there is one link for all.
        title: Of the survey, on letters.
        language: Of the letters.

    Returns:
        The file or folder.

    Raises:
        ArgumentError: An address is none, or the file exists already.
        MissingExtraError: QR codes need segno.
    """
    start = page_address(page)
    target = out if format == "csv" else _target(out, format)
    if format == "qr":
        people = [None] if invitations is None else list(invitations)
        _write_pictures(target, people, [answer_link(start, link, one) for one in people])
        return target
    text = answer_links_text(
        format, page=page, link=link, invitations=invitations, title=title, language=language
    )
    write_whole(target, text, private=invitations is not None)
    return target


def answer_links_text(
    format: Format,
    *,
    page: str,
    link: str,
    invitations: Sequence[str] | None,
    title: str,
    language: str = "en",
) -> str:
    """What `write_answer_links` writes: a table (csv), lines (links) or a page (letters)."""
    start = page_address(page)
    people = [None] if invitations is None else list(invitations)
    links = [answer_link(start, link, one) for one in people]
    if format == "links":
        return "".join(f"{one}\n" for one in links)
    if format == "letters":
        bare = answer_link(start, link)
        return letters_page(links, people, address=bare, link=link, title=title, language=language)
    rows = [[one or "", link, shown] for one, shown in zip(people, links, strict=True)]
    return _table([["invitation", "link", "answer_link"], *rows])


def _target(out: Path, format: Format) -> Path:
    target = {
        "links": out.with_suffix(".txt"),
        "letters": out.with_suffix(".html"),
        "qr": out.with_name(f"{out.stem}-qr"),
    }[format]
    if target.exists():
        raise checks.refusal("out", str(target), "a file that does not exist yet")
    return target


def _write_pictures(folder: Path, people: Sequence[str | None], links: Sequence[str]) -> None:
    folder.mkdir(mode=0o700, parents=True)
    digits = len(str(len(links)))
    rows = [["invitation", "answer_link", "picture"]]
    for at, (one, shown) in enumerate(zip(people, links, strict=True), 1):
        name = f"{at:0{digits}}.png"
        write_whole_bytes(folder / name, qr_png(shown))
        rows.append([one or "", shown, name])
    write_whole(folder / "links.csv", _table(rows), private=True)


def _table(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
