"""Letters of invitation: one HTML page to print, a sheet for each person; and QR codes of links.

It asks nobody for anything: styles and codes stand in the page itself.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jrr._base import checks
from jrr.errors import needed
from jrr.protocol.texts import split_link
from jrr.reporting.catalogue import known_languages, text, texts

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


GROUP = 4  # letters of an invitation that are printed together
STYLE = "\n" + (files("jrr.client") / "letters.css").read_text("utf-8")


def grouped(invitation: str) -> str:
    """An invitation as it is printed, in groups of letters; the page takes it so, too.

    Example:
        >>> grouped("abcdefghij")
        'abcd efgh ij'
    """
    starts = range(0, len(invitation), GROUP)
    return " ".join(invitation[at : at + GROUP] for at in starts)


REMINDERS = ("", "all", "unused")  # none; to everybody; to those who have not answered
ALL = "all"  # as a language: every one of the survey


@dataclass(frozen=True, kw_only=True)
class Letter:
    """What every letter says."""

    title: str  # over it
    language: str = "en"  # English where the catalogue lacks it
    by: str | None = None  # who asks; None: the collector's host
    contact: str | None = None  # whom to ask
    page_knows: bool = False  # whether the page opens this survey without being told which
    words: str | None = None  # one's own, instead of what the catalogue says of the survey
    reminder: str = ""  # one of `REMINDERS`
    waves: int = 1  # how often its invitation can be used
    logo: str | None = None  # of who asks: a PNG in base64
    also: tuple["Letter", ...] = ()  # the same in other languages, on the same sheet


def letter_of(
    survey: "Survey",
    language: str | None,
    *,
    page_knows: bool = False,
    words: Mapping[str, str] | None = None,
    reminder: str = "",
) -> Letter:
    """What letters of a survey say.

    Args:
        survey: To which they invite.
        language: None: its first; `ALL`: each, one below the other.
        page_knows: Whether the page opens this survey without being told which.
        words: One's own, by language, instead of `usual_words`.
        reminder: One of `REMINDERS`.
    """
    more = {"page_knows": page_knows, "words": words, "reminder": reminder}
    if language == ALL:
        first, *others = (letter_of(survey, code, **more) for code in survey.languages)  # type: ignore[arg-type]
        return replace(first, also=tuple(others))
    language = language or survey.languages[0]
    spoken = language if language in survey.languages else survey.languages[0]
    by, contact = ((told or {}).get(spoken) for told in (survey.by, survey.contact))
    title = survey.title[spoken]
    if title in _texts_of_questions(survey):  # a question is nothing to print on a letter
        title = text(language, "letter.title")
    return Letter(
        title=title,
        language=language,
        by=by,
        contact=contact,
        page_knows=page_knows,
        words=(words or {}).get(spoken),
        reminder=checks.one_of("reminder", reminder, REMINDERS),
        waves=survey.waves,
        logo=survey.logo,
    )


def usual_words(survey: "Survey", language: str) -> str:
    """What letters say of a survey unless somebody writes something else."""
    who = (survey.by or {}).get(language) or urlsplit(survey.collector).netloc
    asks, changed, choice = (
        text(language, f"letter.{key}", who=who) for key in ("asks", "changed", "choice")
    )
    return f"{asks}\n\n{changed} {choice}"


def _texts_of_questions(survey: "Survey") -> set[str]:
    return {words for question in survey.questions for words in question.text.values()}


def letters_page(
    links: Sequence[str],
    invitations: Sequence[str | None],
    *,
    page: str,
    link: str,
    letter: Letter,
) -> str:
    """The page.

    Args:
        links: To the answer page, one for each letter.
        invitations: Beside them; None: anybody may answer.
        page: Address of the answer page, for who cannot scan.
        link: Of the survey.
        letter: What every letter says.

    Returns:
        HTML.
    """
    known = _known(letter)
    sheets = "\n".join(
        _sheet(shown, one, page=page, link=link, letter=letter)
        for shown, one in zip(links, invitations, strict=True)
    )
    direction = texts(known)["direction"]
    return (
        f'<!doctype html>\n<html lang="{known}" dir="{direction}">\n<head>\n'
        '<meta charset="utf-8">\n<meta name="robots" content="noindex">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(letter.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{sheets}\n</body>\n</html>\n"
    )


def _known(letter: Letter) -> str:
    """The language of the catalogue's words in a letter."""
    code = letter.language.split("-")[0]
    return code if code in known_languages() else "en"


def _sheet(shown: str, invitation: str | None, *, page: str, link: str, letter: Letter) -> str:
    """One person's, with the code once and the words in each language."""
    parts = [_words(shown, invitation, page=page, link=link, letter=letter, is_first=True)]
    parts += [
        _words(shown, invitation, page=page, link=link, letter=one, is_first=False)
        for one in letter.also
    ]
    if letter.logo:  # letters of base64 need no escaping
        src = f"data:image/png;base64,{letter.logo}"
        parts.insert(0, f'<img class="logo" alt="{escape(letter.by or "")}" src="{src}">')
    return "\n".join(("<main>", *parts, "</main>"))


def _words(
    shown: str, invitation: str | None, *, page: str, link: str, letter: Letter, is_first: bool
) -> str:
    language = _known(letter)

    def say(key: str, **values: str) -> str:
        return escape(text(language, f"letter.{key}", **values))

    def typed(words: str, kind: str = "address") -> str:
        return f'<p class="{kind}" dir="ltr">{escape(words)}</p>'

    who = letter.by or urlsplit(split_link(link)[0]).netloc
    parts = [
        f'<section lang="{escape(letter.language)}"><h1 dir="auto">{escape(letter.title)}</h1>'
    ]
    if letter.reminder:
        parts += [f"<p>{say(f'reminder_{letter.reminder}')}</p>"]
    if letter.words:
        parts += [f'<p class="lines" dir="auto">{escape(letter.words)}</p>']
    else:
        parts += [f"<p>{say('asks', who=who)}</p>", f"<p>{say('changed')} {say('choice')}</p>"]
    parts += [
        '<div class="scan">',
        qr_svg(shown) if is_first else "",
        f"<div><p>{say('scan')}</p>",
        f"<p>{say('open')}</p>",
        typed(page, "code"),
    ]
    if not letter.page_knows:
        before, _, name = link.rpartition("/")
        parts += [f"<p>{say('survey')}</p>", typed(f"{before}/ {grouped(name)}")]
    if invitation is not None:
        parts += [f"<p>{say('type')}</p>", typed(grouped(invitation), "code")]
    parts += ["</div></div>"]
    if letter.contact:
        parts += [f'<p class="lines">{say("contact", contact=letter.contact)}</p>']
    parts += [
        f'<p class="small">{say(_last(letter, invitation), waves=str(letter.waves))}</p>',
        "</section>",
    ]
    return "\n".join(parts)


def _last(letter: Letter, invitation: str | None) -> str:
    """What the invitation is worth, and what becomes of the letter."""
    if invitation is None:
        return "public"
    return "yours" if letter.waves == 1 else "yours_waves"


_SCALE = 6  # dots of the picture for each of the code
_BORDER = 4  # white around the code, as readers need it


def _code(text: str) -> Any:
    with needed("QR codes need", "cli"):
        import segno
    return segno.make(text, error="m", micro=False)


def qr_png(text: str) -> bytes:
    """A picture of a code."""
    written = io.BytesIO()
    _code(text).save(written, kind="png", scale=_SCALE, border=_BORDER)
    return written.getvalue()


def qr_svg(text: str) -> str:
    """A code as an SVG element, black on white whatever the page's colours are."""
    drawn: str = _code(text).svg_inline(
        scale=1, border=_BORDER, dark="#000", light="#fff", omitsize=True, svgclass="qr"
    )
    return drawn


def qr_characters(text: str) -> str:
    """A code for a terminal, two rows of it in a line of characters."""
    written = io.StringIO()
    _code(text).terminal(out=written, border=1, compact=True)
    return written.getvalue()
