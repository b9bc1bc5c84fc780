"""Letters of invitation: one HTML page to print, a sheet for each person, with a QR code.

It asks nobody for anything: styles and codes stand in the page itself.
"""

from collections.abc import Sequence
from html import escape
from urllib.parse import urlsplit

from jrr.client.qr import qr_svg
from jrr.reporting.catalogue import known_languages, text, texts
from jrr.survey.addresses import split_link

GROUP = 4  # letters of an invitation that are printed together
STYLE = """
@page { size: A4; margin: 22mm 20mm; }
body { font: 12pt/1.5 Georgia, serif; color: #111; background: #fff; margin: 0; }
main { max-width: 170mm; margin: 0 auto; padding: 8mm; break-after: page; }
main:last-child { break-after: auto; }
h1 { font-size: 18pt; line-height: 1.25; margin: 0 0 6mm; }
p, ol { margin: 0 0 4mm; }
.scan { display: flex; gap: 8mm; align-items: center; margin: 8mm 0; break-inside: avoid; }
.qr { width: 52mm; height: 52mm; flex: none; }
.code { font: 13pt/1.5 "DejaVu Sans Mono", Consolas, monospace; letter-spacing: .02em; }
.address { font: 9.5pt/1.4 "DejaVu Sans Mono", Consolas, monospace; overflow-wrap: anywhere; }
.small { font-size: 10pt; color: #333; }
@media screen { main { border-bottom: 1px dashed #999; } }
"""


def grouped(invitation: str) -> str:
    """An invitation as it is printed, in groups of letters; the page takes it so, too.

    Example:
        >>> grouped("abcdefghij")
        'abcd efgh ij'
    """
    starts = range(0, len(invitation), GROUP)
    return " ".join(invitation[at : at + GROUP] for at in starts)


def letters_page(
    links: Sequence[str],
    invitations: Sequence[str | None],
    *,
    address: str,
    link: str,
    title: str,
    language: str,
) -> str:
    """The page.

    Args:
        links: To the answer page, one for each letter.
        invitations: Beside them; None: anybody may answer.
        address: Of the answer page with the survey, and without an invitation.
        link: Of the campaign or survey.
        title: Over each letter.
        language: Of the letters; English where the catalogue lacks it.

    Returns:
        HTML.
    """
    code = language.split("-")[0]
    known = code if code in known_languages() else "en"
    who = urlsplit(split_link(link)[0]).netloc
    sheets = "\n".join(
        _letter(shown, one, address=address, who=who, title=title, language=known)
        for shown, one in zip(links, invitations, strict=True)
    )
    direction = texts(known)["direction"]
    return (
        f'<!doctype html>\n<html lang="{known}" dir="{direction}">\n<head>\n'
        '<meta charset="utf-8">\n<meta name="robots" content="noindex">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{sheets}\n</body>\n</html>\n"
    )


def _letter(
    shown: str, invitation: str | None, *, address: str, who: str, title: str, language: str
) -> str:
    def say(key: str, **values: str) -> str:
        return escape(text(language, f"letter.{key}", **values))

    parts = [
        "<main>",
        f'<h1 dir="auto">{escape(title)}</h1>',
        f"<p>{say('asks', who=who)}</p>",
        f"<p>{say('changed')} {say('choice')}</p>",
        '<div class="scan">',
        qr_svg(shown),
        f"<div><p>{say('scan')}</p>",
    ]
    if invitation is not None:
        parts += [
            f"<p>{say('type')}</p>",
            f'<p class="code" dir="ltr">{escape(grouped(invitation))}</p>',
        ]
    parts += [
        "</div></div>",
        f'<p>{say("address")}<br><span class="address" dir="ltr">{escape(address)}</span></p>',
        f'<p class="small">{say("yours" if invitation is not None else "public")}</p>',
        "</main>",
    ]
    return "\n".join(parts)
