"""The file of invitations: made once, told to the servers as hashes, sent out, deleted; and links.

In a link to the answer page the invitation stands after the #, which browsers keep to themselves:
no server is told of it.
"""

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from jrr._base import checks
from jrr._base.files import write_whole, write_whole_bytes
from jrr.client.letters import ALL, Letter, letters_page, qr_png
from jrr.client.operator import Operator, new_invitations
from jrr.errors import DamagedError, JrrError
from jrr.protocol.identity import invitation_secret
from jrr.protocol.texts import check_address, without_slash

MOST = 10_000_000  # invitations made at once
SPARE = "spare"  # a column, and what stands in it


def make_invitations(
    operator: Operator,
    count: int,
    out: Path,
    again: list[str],
    names: Sequence[str] = (),
    spare: int = 0,
) -> list[str]:
    """Make fresh invitations, keep them in a private file, and tell the servers of them.

    Args:
        operator: Of the servers to tell.
        count: How many.
        out: The file, which must not exist yet.
        again: The words of a command that tells the servers of the file once more; it is named
            where telling them fails.
        names: Of one's own, beside the first ones; no server is told of them.
        spare: How many more, for people whose invitation is lost.

    Returns:
        The invitations.

    Raises:
        ArgumentError: The file exists, or the survey has no room for so many.
        ProtocolError: A server refuses.
        UnreachableError: A server does not answer; the file is kept.
    """
    count = checks.integer("count", count, 1, MOST) + checks.integer("spare", spare, 0, MOST)
    if out.exists():
        raise checks.refusal("out", str(out), "a file that does not exist yet (or use --from)")
    operator.install()
    operator.check_inviting(count)
    invitations = new_invitations(count)
    notes = new_notes(invitations, names, spare)
    # What people are sent is made by `write_answer_links`.
    rows = [["invitation", "program_link", *(NOTES if notes else ())]]
    rows += [[entry, operator.link, *notes.get(entry, ())] for entry in invitations]
    write_whole(out, _table(rows), private=True)
    try:
        operator.invite(invitations)
    except JrrError as error:
        advice = f"{out} is kept: when that is mended, {shlex.join([*again, str(out)])}"
        raise type(error)(f"{error}; {advice}") from None
    return invitations


def tell_invitations(operator: Operator, source: Path) -> list[str]:
    """Tell the servers of invitations that were made before.

    Args:
        operator: Of the servers to tell.
        source: The file that `make_invitations` wrote.

    Returns:
        The invitations; where the collector was told, without those that were revoked.

    Raises:
        ArgumentError: There is no such file.
        DamagedError: It holds no invitations.
        ProtocolError: A server refuses.
        UnreachableError: A server does not answer.
    """
    invitations = read_invitations(source)
    operator.install()
    operator.invite(invitations)
    return invitations if operator.collector is None else operator.accepted(invitations)


def read_invitations(source: Path) -> list[str]:
    """The invitations in a file that `make_invitations` wrote."""
    if not source.is_file():
        raise checks.refusal("from", str(source), "a file that jrr survey invite wrote")
    try:
        text = source.read_text("utf-8")
    except UnicodeDecodeError:
        text = ""
    return invitations_in(text, "from", str(source))


def notes_in(text: str) -> dict[str, tuple[str, str]]:
    """What stands beside the invitations of a table in the columns of one's own."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    found = {
        str(row.get("invitation") or ""): (str(row.get("name") or ""), str(row.get("spare") or ""))
        for row in rows
    }
    return found if any(any(some) for some in found.values()) else {}


def to_remind(
    operator: Operator, invitations: Sequence[str], notes: "Notes", *, unused: bool
) -> tuple[list[str], str]:
    """Whom to remind: neither spare invitations nor revoked ones, which nobody has or can use.

    Args:
        operator: Of the collector.
        invitations: Of everybody.
        notes: What stands beside them.
        unused: Whether only those who have not answered, whom the collector then names.

    Returns:
        Their invitations, and what was left out, in words.
    """
    handed_out = [one for one in invitations if notes.get(one, ("", ""))[1] != SPARE]
    found = operator.accepted(handed_out)
    counts = {"spare": len(invitations) - len(handed_out), "revoked": len(handed_out) - len(found)}
    if unused:
        used = set(operator.used(found))
        counts |= {"used": len(used)}
        found = [one for one in found if one not in used]
    return found, ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)


def new_notes(
    invitations: Sequence[str], names: Sequence[str], spare: int
) -> dict[str, tuple[str, str]]:
    """Names of one's own beside fresh invitations, the last of which are spare ones."""
    if not names and not spare:
        return {}
    used = len(invitations) - spare
    named = [*names, *[""] * (used - len(names))]
    notes = [(name, "") for name in named] + [("", SPARE)] * spare
    return dict(zip(invitations, notes, strict=True))


def invitations_in(text: str, argument: str, where: str = "") -> list[str]:
    """The invitations in a table that has a column of them.

    Args:
        text: The table, as CSV.
        argument: What to call it in a refusal.
        where: The file that holds it, for a refusal.

    Raises:
        DamagedError: It holds no invitations, or something else among them.
    """
    file = f"a file that jrr survey invite wrote ({where})"
    table = f"{argument} must be {file if where else 'the table that came with the invitations'}"
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""))
        entries = [str(row.get("invitation") or "") for row in rows]
    except csv.Error:
        entries = []
    if not entries or not any(entries):
        raise DamagedError(f"{table}: there is no column “invitation” with any in it")
    for at, entry in enumerate(entries, 1):
        try:
            invitation_secret(entry)
        except JrrError:
            raise DamagedError(f"{table}: row {at} has none, or a mistyped one") from None
    return entries


Format = Literal["csv", "links", "qr", "letters"]
# The first is what people are sent; the last is for programs, and shows a person nothing.
COLUMNS = ("link", "invitation", "program_link")
NOTES = ("name", SPARE)  # of one's own: no server is told of them
Notes = Mapping[str, tuple[str, str]]  # invitation -> what stands in these columns
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


def answer_link(
    page: str, link: str, invitation: str | None = None, language: str | None = None
) -> str:
    """Where somebody answers in a browser.

    Args:
        page: As `page_address` gives it.
        link: Of the survey.
        invitation: None: anybody may answer.
        language: In which the page begins; None: that of the browser.

    Example:
        >>> answer_link("https://a.example/", "https://b.example/v1/surveys/0", "abc")
        'https://a.example/#survey=https://b.example/v1/surveys/0&invitation=abc'
    """
    more = {"invitation": invitation, "language": language}
    told = "".join(f"&{name}={value}" for name, value in more.items() if value is not None)
    return f"{page}#survey={link}{told}"


def write_answer_links(
    out: Path,
    format: Format,
    *,
    page: str,
    link: str,
    invitations: Sequence[str] | None,
    letter: Letter | None = None,
    language: str | None = None,
    exactly: bool = False,
    notes: Notes | None = None,
) -> Path:
    """Write links to the answer page in one of the formats.

    Args:
        out: The file of invitations, or one like it: the result stands beside it, under its name
            with another ending. What holds invitations is private.
        format: "csv" (columns link, which is for people, invitation, and program_link), "links"
            (a line each), "qr" (a folder of PNG pictures and a CSV file that names them) or
            "letters" (HTML, a sheet each).
        page: Address of the answer page.
        link: Of the survey.
        invitations: None: anybody may answer, and there is one link for all.
        letter: What letters say besides.
        language: In which the page begins; None: that of the browser.
        exactly: Whether the result is to have this very name, and no other ending.
        notes: What stands in the columns `NOTES` of a table.

    Returns:
        The file or folder.

    Raises:
        ArgumentError: An address is none, or the file exists already.
        MissingExtraError: QR codes need segno.
    """
    target = out if exactly or format == "csv" else _beside(out, format)
    if format != "csv" and target.exists():
        raise checks.refusal("out", str(target), "a file that does not exist yet")
    if format == "qr":
        people = [None] if invitations is None else list(invitations)
        start = page_address(page)
        links = [answer_link(start, link, one, _begins_in(language)) for one in people]
        _write_pictures(target, people, links)
        return target
    text = answer_links_text(
        format,
        page=page,
        link=link,
        invitations=invitations,
        letter=letter,
        language=language,
        notes=notes,
    )
    write_whole(target, text, private=invitations is not None)
    return target


def answer_links_text(
    format: Format,
    *,
    page: str,
    link: str,
    invitations: Sequence[str] | None,
    letter: Letter | None = None,
    language: str | None = None,
    notes: Notes | None = None,
) -> str:
    """What `write_answer_links` writes: a table (csv), lines (links) or a page (letters)."""
    start = page_address(page)
    people = [None] if invitations is None else list(invitations)
    links = [answer_link(start, link, one, _begins_in(language)) for one in people]
    if format == "links":
        return "".join(f"{one}\n" for one in links)
    if format == "letters":
        assert letter is not None  # of this format
        return letters_page(links, people, page=start, link=link, letter=letter)
    rows = [[shown, one or "", link] for one, shown in zip(people, links, strict=True)]
    if notes:
        rows = [[*row, *notes.get(row[1], ("", ""))] for row in rows]
    return _table([(*COLUMNS, *NOTES) if notes else COLUMNS, *rows])


def _begins_in(language: str | None) -> str | None:
    """In which language the page begins: where letters are in all of them, in the browser's."""
    return None if language == ALL else language


def _beside(out: Path, format: Format) -> Path:
    return {
        "links": out.with_suffix(".txt"),
        "letters": out.with_suffix(".html"),
        "qr": out.with_name(f"{out.stem}-qr"),
    }[format]


def _write_pictures(folder: Path, people: Sequence[str | None], links: Sequence[str]) -> None:
    folder.mkdir(mode=0o700, parents=True)
    digits = len(str(len(links)))
    rows = [["link", "invitation", "picture"]]
    for at, (one, shown) in enumerate(zip(people, links, strict=True), 1):
        name = f"{at:0{digits}}.png"
        write_whole_bytes(folder / name, qr_png(shown))
        rows.append([shown, one or "", name])
    write_whole(folder / "links.csv", _table(rows), private=True)


def _table(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
