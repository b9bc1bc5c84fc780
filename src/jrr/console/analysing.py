"""Analyses of a closed survey: groups and differences, two questions, regression, weights.

All figures are those of `jrr.load_survey` on the file that the collector exports, and so are the
words where something cannot be known.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from jrr._base import checks
from jrr.analysis import OutcomeRegression, Regression
from jrr.analysis.crossed import parts_of
from jrr.console.operators import operator_of
from jrr.console.pages import Form, PageRequest, in_words, page, read
from jrr.console.snapshots import counts_of
from jrr.console.survey_texts import groupings
from jrr.console.surveys import PATH, survey_of
from jrr.errors import ArgumentError, JrrError
from jrr.estimation.means import MeanEstimate
from jrr.estimation.scale_means import ScaleMean
from jrr.protocol.states import CLOSED
from jrr.reporting.svg_bars import Bar, draw_bars
from jrr.survey.survey import Survey
from jrr.tables.loaded import LoadedSurvey, load_survey
from jrr.tables.margins import margins_in

MOST_PAIRS = 200  # differences that anybody reads
_FIELDS = ("what", "question", "second", "population", "formula", "value", "link", "margins")
_USUAL = dict.fromkeys(_FIELDS, "")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures, and the same as a picture."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    picture: Markup
    words: str = ""  # below it


@dataclass(frozen=True, kw_only=True)
class _Number:
    """One estimated number and how it is shown."""

    label: tuple[str, ...]
    value: float
    low: float
    high: float
    percent: bool = True

    @property
    def shown(self) -> tuple[str, str]:
        if self.percent:
            low, high = f"{100 * self.low:.1f}", f"{100 * self.high:.1f}"
            return f"{100 * self.value:.1f}%", f"{low} to {high}%"
        return f"{self.value:.4g}", f"{self.low:.4g} to {self.high:.4g}"


@page(f"{PATH}/analysis")
def _analysis(request: PageRequest) -> Response:
    survey, wish = survey_of(request), request.query
    tables: list[Figures] = []
    words = ""
    is_closed = read(request.console, counts_of, survey).state == CLOSED
    what = wish.get("what")
    if what and not is_closed:
        words = "Analyses need all answers: close the survey first."
    elif what:
        try:
            made = _MADE[checks.one_of("what", what, tuple(_MADE))]
            with _loaded(request, survey) as loaded:
                tables = list(made(loaded, wish))
        except JrrError as error:
            words = f"{in_words(error)}."
    return request.page(
        "analysis.html",
        survey=survey,
        tab="analysis",
        wish=_USUAL | dict(wish.items()),
        ticked=[name for name in survey.covariates if wish.get(f"by_{name}")],
        sensitive={name: _text(survey, name) for name in survey.by_name},
        is_closed=is_closed,
        tables=tables,
        words=words,
    )


@contextmanager
def _loaded(request: PageRequest, survey: Survey) -> Iterator[LoadedSurvey]:
    """The export, in a file that is gone afterwards."""
    operator = operator_of(request.console, survey, request.session, deals=False)
    with TemporaryDirectory() as folder:
        file = Path(folder, "answers.parquet")
        file.write_bytes(operator.export("parquet"))
        yield load_survey(survey, file)


def _text(survey: Survey, name: str) -> str:
    return survey.by_name[name].text


def _table(caption: str, head: Sequence[str], numbers: Sequence[_Number], **more: str) -> Figures:
    """Rows of numbers with their intervals, and a picture of them."""
    value = head[-1]
    rows = [(*one.label, *one.shown) for one in numbers]
    ends = [one.low for one in numbers] + [one.high for one in numbers]
    is_share = all(one.percent for one in numbers)
    drawing = draw_bars(
        [
            Bar(label=" · ".join(one.label), value=one.value, low=one.low, high=one.high)
            for one in numbers
        ],
        title=caption,
        description="; ".join(": ".join([", ".join(row[:-2]), row[-2]]) for row in rows),
        show=(lambda number: f"{100 * number:.0f}%") if is_share else "{:g}".format,
        ends=None if is_share else (min(ends), max(ends)),
    )
    shown = (*head[:-1], value, "Interval, 95%")
    return Figures(caption=caption, head=shown, rows=rows, picture=Markup(drawing), **more)


def _by(loaded: LoadedSurvey, wish: Form) -> tuple[str, ...]:
    """The open questions that were ticked; none: all that can be used."""
    ticked = tuple(name for name in loaded.survey.covariates if wish.get(f"by_{name}"))
    name = wish.get("question")
    return ticked or loaded.closed_by(name) or tuple(loaded.groupings)


def _groups(loaded: LoadedSurvey, wish: Form) -> Iterator[Figures]:
    """Shares, or means, of every group, and all differences of two."""
    name = checks.one_of("question", wish.get("question"), loaded.sensitive)
    population = "sample" if wish.get("population") else "respondents"
    by, text = _by(loaded, wish), _text(loaded.survey, name)
    about = f"{text} – by {', '.join(groupings(loaded.survey)[one] for one in by)}"
    groups = loaded.groups(name, *by, population=population)
    labels = loaded.survey.by_name[name].labels
    chosen = [1] if len(labels) == 2 else range(len(labels))
    hidden = f"{groups.hidden} groups are too small to be shown." if groups.hidden else ""
    pairs, means = groups.differences()[:MOST_PAIRS], {}
    has_shares = loaded.header(name).numbers is None
    if not has_shares or loaded.survey.by_name[name].asked.kind == "scale":
        try:
            means = loaded.means(name, *by, population=population)
        except ArgumentError as refusal:
            if not has_shares:
                raise
            hidden = f"{hidden} No means: {refusal}.".strip()  # the shares are shown all the same
    if has_shares:
        shares, gaps = [], []
        for at in chosen:
            for one in groups:
                low, high = one.estimate.interval()
                label = (one.name, f"{one.estimate.n:,}", labels[at])
                share = float(one.estimate.frequencies[at])
                shares.append(_Number(label=label, value=share, low=low[at], high=high[at]))
            for first, second, gap in pairs:
                low, high = gap.interval()
                which = (f"{first} minus {second}", labels[at])
                value = float(gap.frequencies[at])
                gaps.append(_Number(label=which, value=value, low=low[at], high=high[at]))
        yield _table(about, ("Group", "People", "Answer", "Share"), shares, words=hidden)
        if gaps:
            yield _table(f"{about}: differences", ("Groups", "Answer", "Difference"), gaps)
    if means:
        rows = [_mean((group, f"{one.n:,}"), one) for group, one in means.items()]
        yield _table(f"{about}: means", ("Group", "People", "Mean"), rows, words=hidden)
        deals = loaded.header(name).mechanism.deals
        rows = [
            _mean((f"{first} minus {second}",), _less(means[first], means[second], deals))
            for first, second, _ in pairs
        ]
        if rows:
            yield _table(f"{about}: differences of means", ("Groups", "Difference"), rows)


def _less(first: Any, second: Any, same_deck: bool) -> Any:
    if isinstance(first, MeanEstimate):
        return first.minus(second, same_deck=same_deck)
    return first.minus(second)


def _mean(label: tuple[str, ...], one: Any) -> _Number:
    low, high = one.interval()
    value = one.mean if isinstance(one, MeanEstimate | ScaleMean) else one.difference
    return _Number(label=label, value=value, low=low, high=high, percent=False)


def _two(loaded: LoadedSurvey, wish: Form) -> Iterator[Figures]:
    """Which answers to two sensitive questions go together."""
    name = checks.one_of("question", wish.get("question"), loaded.sensitive)
    parts = loaded.survey.by_name[name].asked.crossed
    if parts:  # two that were asked as one
        numbers = [
            _Number(label=(part, str(at + 1)), value=value, low=low, high=high)
            for part, told in parts_of(loaded.total(name), parts).items()
            for at, (value, (low, high)) in enumerate(
                zip(told["value"], told["interval"], strict=True)
            )
        ]
        yield _table(_text(loaded.survey, name), ("Part", "Answer", "Share"), numbers)
        return
    names = [
        checks.one_of("question", wish.get(one), loaded.sensitive) for one in ("question", "second")
    ]
    if names[0] == names[1]:
        raise ArgumentError("second must be another question")
    table = loaded.two_way(*names)
    low, high = table.interval()
    labels = [loaded.survey.by_name[name].labels for name in names]
    numbers = [
        _Number(
            label=(first, second), value=float(table.shares[i, j]), low=low[i, j], high=high[i, j]
        )
        for i, first in enumerate(labels[0])
        for j, second in enumerate(labels[1])
    ]
    heads = [_text(loaded.survey, name) for name in names]
    yield _table(f"Both answers of {table.n:,} people", (*heads, "Share"), numbers)


def _regression(loaded: LoadedSurvey, wish: Form) -> Iterator[Figures]:
    """What explains an answer, or what it explains."""
    link: Any = "identity" if wish.get("link") == "identity" else "logit"
    formula, value = wish.get("formula"), wish.get("value") or None
    found = loaded.regress(formula, value=value, link=link)
    fits: dict[str, Regression | None]
    if isinstance(found, OutcomeRegression):
        fits = {wish.get("formula"): found.outcome, "The sensitive answer itself": found.sensitive}
    else:
        fits = {wish.get("formula"): found}
    for caption, fit in fits.items():
        if fit is None:
            continue
        low, high = fit.interval()
        numbers = [
            _Number(label=(name,), value=value, low=low[at], high=high[at], percent=False)
            for at, (name, value) in enumerate(zip(fit.names, fit.coefficients, strict=True))
        ]
        scale = "log odds" if fit.link == "logit" else "change of the share or mean"
        words = f"{fit.n:,} people; from {fit.method}."
        yield _table(caption, ("Covariate", f"Coefficient ({scale})"), numbers, words=words)


def _weights(loaded: LoadedSurvey, wish: Form) -> Iterator[Figures]:
    """Shares of the population, by its margins."""
    name = checks.one_of("question", wish.get("question"), loaded.sensitive)
    found = loaded.weighted(name, margins_in(wish.raw("margins"), "margins"))
    numbers = []
    labels = loaded.survey.by_name[name].labels
    before = loaded.total(name, population="sample")
    for which, estimate in (("without weights", before), ("weighted", found.estimate)):
        low, high = estimate.interval()
        numbers += [
            _Number(label=(label, which), value=float(share), low=low[at], high=high[at])
            for at, (label, share) in enumerate(zip(labels, estimate.frequencies, strict=True))
        ]
    effects = ", ".join(
        f"{label} {effect:.2f}" for label, effect in zip(labels, found.design_effect, strict=True)
    )
    words = f"Design effects: {effects}. Intervals are of the population."
    yield _table(_text(loaded.survey, name), ("Answer", "", "Share"), numbers, words=words)


_MADE: dict[str, Callable[[LoadedSurvey, Form], Iterator[Figures]]] = {
    "groups": _groups,
    "two": _two,
    "regression": _regression,
    "weights": _weights,
}
