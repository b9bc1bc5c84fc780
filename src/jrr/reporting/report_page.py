"""A report on a survey as one HTML page: no scripts, no request to anywhere.

Texts of the survey and words of servers stand in it only through `_text`, which escapes them.
"""

import html
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from jrr.reporting.catalogue import text as catalogue_text
from jrr.reporting.cost_words import shown_costs
from jrr.reporting.numerals import Numerals, mean_decimals, sentence, share_decimals
from jrr.reporting.report_facts import (
    Grouping,
    Participation,
    ReportedAnswer,
    ReportedGroups,
    ReportedQuestion,
    SurveyReport,
)
from jrr.reporting.report_words import (
    guarantee_in_words,
    limits_in_words,
    method_statement,
    sayer,
    views_of,
)
from jrr.reporting.svg_bars import Bar, draw_bars

STYLE = "\n" + (files("jrr.reporting") / "report.css").read_text("utf-8")
MOST_BARS = 25  # answers in one picture; the table has all of them
# Nothing may be loaded and nothing run, whatever somebody writes into a label.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_page(report: SurveyReport) -> str:
    """The page.

    Args:
        report: What it tells.

    Returns:
        HTML, in the language of the report.
    """
    return _Page(report).html()


def results_section(report: SurveyReport) -> str:
    """The results of every question as HTML for inside another page, whose style sheet it takes."""
    return _Page(report).results()


def groups_section(report: SurveyReport) -> str:
    """The same by group, for the groupings that the report has."""
    return _Page(report).groupings()


class _Page:
    def __init__(self, report: SurveyReport) -> None:
        self.report = report
        self.say = sayer(report)
        self.numerals = Numerals(report.language)
        self.level = self.numerals.level(report.level)

    def html(self) -> str:
        report, say = self.report, self.say
        sections = {
            "who": self._participation(report.participation),
            "results": self.results(),
            "groups": self.groupings(),
            "method": self._method(),
            "guarantee": "".join(map(_paragraph, guarantee_in_words(report))) + self._learnt(),
            "limits": _listed(limits_in_words(report)),
        }
        shown = {name: body for name, body in sections.items() if body}
        direction = catalogue_text(report.language, "direction")
        links = "".join(f'<li><a href="#{name}">{_text(say(name))}</a></li>' for name in shown)
        parts = [
            f'<!doctype html>\n<html lang="{_text(report.language)}" dir="{_text(direction)}">',
            f'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
            f'content="{_text(_POLICY)}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{_text(report.title)}</title><style>{STYLE}</style></head><body>",
            f'<header><p class="about">{_text(say("about"))}</p><h1>{_text(report.title)}</h1>',
            self._status(),
            f'</header><nav aria-label="{_text(say("contents"))}"><ul>{links}</ul></nav><main>',
            *(
                f'<section id="{name}"><h2>{_text(say(name))}</h2>{body}</section>'
                for name, body in shown.items()
            ),
            f"</main><footer>{self._footer()}</footer></body></html>\n",
        ]
        return "\n".join(parts)

    def _status(self) -> str:
        report, say = self.report, self.say
        words = [say("final" if report.final else "so_far")]
        if report.pilot:
            words = [say("pilot"), *words]
        if report.waves > 1:
            words.append(say("wave", wave=str(report.wave), waves=str(report.waves)))
        if report.opens is not None and report.closes is not None:
            opens, closes = map(_time, (report.opens, report.closes))
            words.append(say("dates", opens=opens, closes=closes))
        return _paragraph(" ".join(words))

    def _footer(self) -> str:
        report = self.report
        words = self.say(
            "footer", version=report.version, made=_time(report.made), identity=report.identity
        )
        return _paragraph(words)

    # -- who took part ---------------------------------------------------------------------

    def _participation(self, people: Participation) -> str:
        say, deals = self.say, self.report.deals

        def row(key: str, part: int, of: str = "", whole: int | None = None) -> tuple[str, ...]:
            share = say(f"who.{of}", share=self.numerals.percent(part / whole, 1)) if whole else ""
            return say(f"who.{key}"), self.numerals.count(part), share

        rows = [] if people.invited is None else [row("invited", people.invited)]
        rows.append(row("answered", people.answered, "of_invited", people.invited))
        if deals and people.carded is not None and people.cardless is not None:
            for key, part in (("carded", people.carded), ("cardless", people.cardless)):
                rows.append(row(key, part, "of_answered", people.answered))
        if deals and people.dealt is None:
            rows.append((say("who.dealt"), say("who.unknown"), ""))
        elif deals and people.dealt is not None:
            rows.append(row("dealt", people.dealt))
            if people.lost is not None:
                rows.append(row("lost", people.lost, "of_dealt", people.dealt))
        width = 3 if any(cells[2] for cells in rows) else 2
        head = ("", say("who.people"), say("who.share"))
        table = _table(say("who.caption"), head[:width], [cells[:width] for cells in rows])
        note = "" if self.report.by_invitation else _note(say("who.anybody"))
        return table + note

    # -- results ---------------------------------------------------------------------------

    def results(self) -> str:
        report = self.report
        words = sentence(
            level=report.level,
            simultaneous=report.simultaneous,
            population=report.population,
            population_size=report.population_size,
            language=report.language,
        )
        return _note(words) + "".join(map(self._question, report.questions))

    def _question(self, question: ReportedQuestion) -> str:
        say, count = self.say, self.numerals.count
        parts = [f"<article><h3>{_text(question.text)}</h3>"]
        if question.asked_if is not None:
            parts.append(_note(say("results.asked_if", conditions=question.asked_if)))
        if question.drawn is not None and question.drawn[0] < question.drawn[1]:
            ask, of = map(count, question.drawn)
            parts.append(_note(say("results.drawn", ask=ask, of=of)))
        if question.n is None:
            parts.append(_paragraph(say("results.none", reason=question.reason or "")))
            return "".join([*parts, "</article>"])
        if question.kind == "several":
            parts.append(_note(say("results.several", whole=self.numerals.level(1.0))))
        parts.append(self._picture(question, question.answers, question.text))
        if len(question.answers) > MOST_BARS:
            shown, every = count(MOST_BARS), count(len(question.answers))
            parts.append(_note(say("results.largest", shown=shown, all=every)))
        if question.ends is not None:
            low, high = (
                say(f"results.{key}", number=self.numerals.short(end))
                if is_open
                else self.numerals.short(end)
                for key, end, is_open in zip(
                    ("or_less", "or_more"), question.ends, question.open_ends, strict=True
                )
            )
            caption = say("results.caption_mean", n=count(question.n), low=low, high=high)
        else:
            caption = say("results.caption", n=count(question.n))
        kind = say("results.mean" if question.is_mean else "results.share")
        interval = say("results.interval", level=self.level)
        error = say("results.stderr" if question.is_mean else "results.stderr_points")
        head: tuple[str, ...] = (say("results.answer"), kind, error, interval)
        rows: list[tuple[str, ...]] = [
            (answer.label, *self._figures(question, answer, question.answers))
            for answer in question.answers
        ]
        if question.is_mean:  # one row, that needs no name
            head, rows = head[1:], [row[1:] for row in rows]
        parts.append(_table(caption, head, rows))
        return "".join([*parts, "</article>"])

    def _picture(
        self, question: ReportedQuestion, answers: Sequence[ReportedAnswer], about: str
    ) -> str:
        if len(answers) > MOST_BARS:
            answers = sorted(answers, key=lambda answer: -answer.value)[:MOST_BARS]
        key = "results.picture_mean" if question.is_mean else "results.picture"
        words = [
            f"{answer.label}: {figures[0]} ({figures[2]})".removeprefix(": ")
            for answer in answers
            for figures in [self._figures(question, answer, answers)]
        ]
        drawing = draw_bars(
            [
                Bar(label=answer.label, value=answer.value, low=answer.low, high=answer.high)
                for answer in answers
            ],
            title=self.say(key, level=self.level, text=about),
            description="; ".join(words),
            show=self.numerals.short if question.is_mean else self.numerals.level,
            ends=question.ends,
        )
        return f"<figure>{drawing}</figure>"

    def _figures(
        self, question: ReportedQuestion, answer: ReportedAnswer, beside: Sequence[ReportedAnswer]
    ) -> tuple[str, str, str]:
        """Value, standard error and interval, with as many decimals as those beside it."""
        numerals = self.numerals
        least = min((one.stderr for one in beside if one.stderr > 0), default=0.0)
        if question.is_mean:
            places = mean_decimals(least)
            value, error, low, high = (
                numerals.number(number, places)
                for number in (answer.value, answer.stderr, answer.low, answer.high)
            )
            return value, error, numerals.interval(low, high)
        places = share_decimals(least)
        value, low, high = (
            numerals.percent(number, places) for number in (answer.value, answer.low, answer.high)
        )
        points = numerals.number(100 * answer.stderr, places)
        return value, points, numerals.interval(low, high)

    # -- groups ----------------------------------------------------------------------------

    def groupings(self) -> str:
        return "".join(map(self._grouping, self.report.groupings))

    def _grouping(self, grouping: Grouping) -> str:
        parts = [f"<h3>{_text(self.say('groups.by', text=grouping.text))}</h3>"]
        if grouping.reason is not None:
            parts.append(_note(self.say("groups.none", reason=grouping.reason)))
        questions = {question.name: question for question in self.report.questions}
        parts += [self._groups(questions[one.question], one) for one in grouping.questions]
        return "".join(parts)

    def _groups(self, question: ReportedQuestion, shown: ReportedGroups) -> str:
        say, count = self.say, self.numerals.count
        parts = [f"<article><h4>{_text(question.text)}</h4>"]
        # Of two answers one says all.
        every = range(len(question.answers))
        picked = [1] if len(every) == 2 and question.kind != "several" else list(every)
        everything = [group.answers[at] for at in picked for group in shown.groups]
        bars, rows = [], []
        for at in picked:
            for group in shown.groups:
                answer, name = group.answers[at], question.answers[at].label
                value, _, interval = self._figures(question, answer, everything)
                rows.append((name, group.label, count(group.n), value, interval))
                label = group.label if len(picked) == 1 else f"{name}: {group.label}"
                bars.append(replace(answer, label=label))
        if rows:
            parts.append(self._picture(question, bars, question.text))
            kind = say("results.mean" if question.is_mean else "results.share")
            head: tuple[str, ...] = (
                say("results.answer"),
                say("groups.group"),
                say("groups.people"),
                kind,
                say("results.interval", level=self.level),
            )
            caption = say("groups.caption", text=question.text, level=self.level)
            cells: list[tuple[str, ...]] = list(rows)
            if len(picked) == 1:  # it stands in the heading of its column
                column = kind if question.is_mean else question.answers[picked[0]].label
                head, cells = (*head[1:3], column, head[4]), [row[1:] for row in rows]
            parts.append(_table(caption, head, cells, words=1 if len(picked) > 1 else None))
        if shown.hidden:
            fewest = count(self.report.min_cell)
            parts.append(_note(say("groups.hidden", min_cell=fewest, hidden=count(shown.hidden))))
        return "".join([*parts, "</article>"])

    # -- method ----------------------------------------------------------------------------

    def _method(self) -> str:
        report, say = self.report, self.say
        statement = f'<div class="quote">{_paragraph(method_statement(report))}</div>'
        views = views_of(report)
        head = (
            say("method.question"),
            say("method.n"),
            *(say(f"method.against_{view}") for view in views),
            say("method.mechanism"),
        )
        rows = []
        for question in report.questions:
            losses = [self.numerals.epsilon(question.perturbation.epsilons[view]) for view in views]
            n = "" if question.n is None else self.numerals.count(question.n)
            brief = question.perturbation.brief.replace("_", " ")
            rows.append((question.name or question.text, n, *losses, brief))
        if len(report.questions) > 1:
            total = [self.numerals.epsilon(report.epsilons[view]) for view in views]
            rows.append((say("method.all"), "", *total, ""))
        table = _table(
            say("method.parameters"), head, rows, total=len(rows) > 1, words=len(head) - 1
        )
        return _note(say("method.use")) + statement + table

    def _learnt(self) -> str:
        """What one answer, this wave and the whole study can tell, and whom."""
        shown = shown_costs(self.report.learnt, self.report.language)
        return _table(shown.title, ("", *shown.against), shown.rows)


def _text(words: str) -> str:
    """Words as they are, whatever they are."""
    return html.escape(words, quote=True)


def _time(written: str) -> str:
    """A time as documents have it, for people."""
    return written.replace("T", " ").replace(":00Z", " UTC").replace("Z", " UTC")


def _paragraph(words: str) -> str:
    return f"<p>{_text(words)}</p>"


def _note(words: str) -> str:
    return f'<p class="note">{_text(words)}</p>'


def _listed(entries: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(entry)}</li>" for entry in entries) + "</ul>"


def _table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    total: bool = False,
    words: int | None = None,
) -> str:
    """Rows whose first cell names them.

    Args:
        caption: What the table shows.
        head: Names of the columns; an empty one has none.
        rows: What stands in them.
        total: Whether the last row is of all the others.
        words: A column of texts beside the first one.
    """

    def cell(tag: str, at: int, content: str, more: str = "") -> str:
        kind = ' class="words"' if at == words else ' class="number"' if tag == "td" else ""
        return f"<{tag}{more}{kind}>{_text(content)}</{tag}>"

    parts = [
        f'<div class="wide" tabindex="0"><table><caption>{_text(caption)}</caption><thead><tr>'
    ]
    for at, name in enumerate(head):
        parts.append(cell("th", at, name, ' scope="col"') if name else "<td></td>")
    parts.append("</tr></thead><tbody>")
    for number, row in enumerate(rows):
        is_total = total and number == len(rows) - 1
        parts.append('<tr class="all">' if is_total else "<tr>")
        parts.append(cell("th", 0, row[0], ' scope="row"'))
        parts += [cell("td", at, content) for at, content in enumerate(row) if at]
        parts.append("</tr>")
    return "".join([*parts, "</tbody></table></div>"])
