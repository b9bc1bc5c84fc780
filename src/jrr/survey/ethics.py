"""What an ethics board or a data protection officer asks of a survey, as one document.

All of it follows from the survey's document, so that it can be handed in before anything is open.
What the figures say comes from the table of costs that respondents read, too.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jrr.reporting.catalogue import known_languages, texts
from jrr.reporting.catalogue import text as catalogue_text
from jrr.reporting.cost_words import shown_costs
from jrr.reporting.page import STYLE
from jrr.survey.consent import consent_text
from jrr.survey.other_waves import of_next_wave

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

Rows = tuple[tuple[str, ...], ...]


_NARROW = """
.lines{white-space:pre-line}body{overflow-wrap:anywhere}
@media screen{:root{color-scheme:light dark}body{color:CanvasText;background:Canvas}}
@media screen and (max-width:600px){thead{display:none}table,tbody,tr,td{display:block}
td{border:0;padding:.2rem 0}tr{border-bottom:1px solid #ddd;padding:.6rem 0}
td::before{content:attr(data-head);display:block;font-weight:600}}
"""  # on a phone a row is read downwards, each cell below what its column is called


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs below it, and perhaps a table whose first row has its headings."""

    title: str
    paragraphs: tuple[str, ...] = ()
    rows: Rows = ()


@dataclass(frozen=True)
class EthicsDocument:
    """The document in one language."""

    title: str
    language: str
    sections: tuple[Section, ...]

    def markdown(self) -> str:
        """As Markdown; words of the survey are escaped, so that none is taken for a mark."""
        parts = [f"# {_marked(self.title)}"]
        for section in self.sections:
            parts.append(f"## {_marked(section.title)}")
            parts += [_marked(words) for words in section.paragraphs]
            if section.rows:
                lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in section.rows]
                rule = "|" + "---|" * len(section.rows[0])
                parts.append("\n".join([lines[0], rule, *lines[1:]]))
        return "\n\n".join(parts) + "\n"

    def page(self) -> str:
        """As a page to print, which asks nobody for anything."""
        body = "\n".join(map(_section_html, self.sections))
        direction = texts(self.language)["direction"]
        title = html.escape(self.title)
        return (
            f'<!doctype html>\n<html lang="{self.language}" dir="{direction}">\n<head>\n'
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            f"<title>{title}</title>\n<style>{STYLE}{_NARROW}</style>\n"
            f'</head>\n<body>\n<main><h1 dir="auto">{title}</h1>\n{body}\n</main></body>\n</html>\n'
        )


def ethics_document(survey: "Survey", language: str | None = None) -> EthicsDocument:
    """The document of a survey.

    Args:
        survey: What is asked and promised.
        language: In which; None: the survey's first. One that the catalogue lacks: English.
    """
    wished = language or survey.languages[0]
    code = wished.split("-")[0]
    spoken = wished if wished in survey.languages else survey.languages[0]
    known = code if code in known_languages() else "en"
    return _Writer(survey, known, spoken).document()


class _Writer:
    def __init__(self, survey: "Survey", language: str, spoken: str) -> None:
        self.survey, self.language, self.spoken = survey, language, spoken

    def say(self, key: str, **values: str) -> str:
        return catalogue_text(self.language, f"ethics.{key}", **values)

    def document(self) -> EthicsDocument:
        survey = self.survey
        sections = (
            self._purpose(),
            self._questions(),
            self._stored(),
            self._learnt(),
            self._withdrawal(),
            Section(self.say("consent"), (consent_text(survey, self.spoken),)),
            Section(self.say("made"), (self.say("made_of", identity=survey.hash),)),
        )
        title = self.say("title", survey=survey.title[self.spoken])
        return EthicsDocument(title, self.language, sections)

    def _purpose(self) -> Section:
        survey, say = self.survey, self.say
        by = (survey.by or {}).get(self.spoken) or say("not_said")
        contact = (survey.contact or {}).get(self.spoken) or say("not_said")
        lines = [
            say("who", by=by, contact=contact),
            say("people" if survey.invitations else "anybody", count=str(survey.capacity)),
        ]
        if survey.waves > 1:
            lines.append(say("waves", wave=str(survey.wave), waves=str(survey.waves)))
        if survey.opens or survey.closes:
            opens = _minute(survey.opens) or say("open_start")
            closes = _minute(survey.closes) or say("open_end")
            lines.append(say("times", opens=opens, closes=closes))
        if survey.pilot:
            lines.append(say("pilot"))
        return Section(say("purpose"), tuple(lines))

    def _questions(self) -> Section:
        kinds = {True: self.say("changed"), False: self.say("as_it_is")}
        rows = [(self.say("question"), self.say("sent"))]
        rows += [(one.text[self.spoken], kinds[one.sensitive]) for one in self.survey.questions]
        return Section(self.say("questions"), rows=tuple(rows))

    def _stored(self) -> Section:
        survey, say = self.survey, self.say
        until = say("until_deleted")
        if survey.keep_days is not None:
            until = say("until_day", days=str(survey.keep_days), closes=_minute(survey.closes))
        rows = [
            (say("where"), say("what"), say("how_long")),
            (say("device"), say("device_what"), say("device_long")),
            (say("collector", address=survey.collector), say("collector_what"), until),
        ]
        word, keeps = survey.dealing.word, ("what", "keeps", "keeps_more")[self._sums]
        more = str(survey.announcements - 1)
        rows += [
            (say(f"at_{word}", address=address), say(f"{word}_{keeps}", more=more), until)
            for address in survey.dealing.addresses
        ]
        if survey.invitations:
            rows.append((say("inviter"), say("inviter_what"), say("inviter_long")))
        rows.append((say("logs"), say("logs_what"), say("logs_long")))
        return Section(say("stored"), (say("stored_more"),), tuple(rows))

    def _learnt(self) -> Section:
        shown = shown_costs(self.survey.costs, self.language)
        lines = [self.say("learnt_more")]
        if self.survey.deals:
            lines.append(self.say("apart"))
        if self.survey.open:
            lines.append(self.say("open_answers"))
        head = (shown.title, *shown.against)
        return Section(self.say("learnt"), tuple(lines), (head, *shown.rows))

    @property
    def _sums(self) -> int:
        """Of a card: one (0), another of those who answer the next wave (1), or others (2)."""
        if self.survey.announcements == 2 and of_next_wave(self.survey):
            return 1
        return 2 if self.survey.announcements > 1 else 0

    def _withdrawal(self) -> Section:
        keys = ["before_sending", "after_sending"]
        if self.survey.announces:
            keys.append(("sums", "sums_again", "sums_more")[self._sums])
        keys.append("deletion" if self.survey.keep_days is None else "deletion_due")
        values = {"days": str(self.survey.keep_days), "count": str(self.survey.announcements)}
        lines = tuple(self.say(key, **values) for key in (*keys, "backups", "audit"))
        return Section(self.say("withdrawal"), lines)


def _minute(time: str | None) -> str:
    """As people write it; "" where there is none."""
    return (time or "")[:16].replace("T", " ")


def _section_html(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    for words in section.paragraphs:
        parts.append(f'<p class="lines" dir="auto">{html.escape(words)}</p>')
    if section.rows:
        head, *rows = section.rows
        heads = "".join(f'<th dir="auto">{html.escape(cell)}</th>' for cell in head)
        parts.append(f"<table><thead><tr>{heads}</tr></thead><tbody>")
        parts += [_row_html(row, head) for row in rows]
        parts.append("</tbody></table>")
    return "\n".join(parts)


def _row_html(cells: Sequence[str], heads: Sequence[str]) -> str:
    inside = "".join(
        f'<td dir="auto" data-head="{html.escape(head)}">{html.escape(cell)}</td>'
        for head, cell in zip(heads, cells, strict=True)
    )
    return f"<tr>{inside}</tr>"


def _marked(words: str) -> str:
    """Text in which Markdown finds no marks and no HTML."""
    for mark in "\\`*_[]<>#|":
        words = words.replace(mark, f"\\{mark}")
    return words


def _cell(words: str) -> str:
    return " ".join(_marked(words).split())
