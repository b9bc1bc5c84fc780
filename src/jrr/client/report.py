"""The facts of a report on a campaign or survey, fetched from its servers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from jrr import __version__
from jrr._base import checks
from jrr.client.http import ResultsWaitError
from jrr.client.operator import COLLECTOR, CampaignSummary, Operator
from jrr.client.survey_operator import SurveyOperator
from jrr.errors import DamagedError, ProtocolError
from jrr.estimation.estimates import Population
from jrr.reporting.catalogue import FALLBACK, known_languages, text
from jrr.reporting.report_facts import (
    CampaignReport,
    Grouping,
    Participation,
    Perturbation,
    ReportedAnswer,
    ReportedGroup,
    ReportedGroups,
    ReportedItem,
)
from jrr.survey.campaign import Campaign
from jrr.survey.grouping import MERGED_BY
from jrr.survey.promises import EVERYTHING
from jrr.survey.questionnaire import NO_YES, NOT_ASKED, PREFER_NOT, Item
from jrr.survey.states import CLOSED
from jrr.survey.surveys import VIEWS, Survey, SurveyPart

_WORDS = {  # answers as documents have them -> keys of the catalogue
    NO_YES[0]: "no",
    NO_YES[1]: "yes",
    PREFER_NOT: "prefer_not",
    NOT_ASKED: "not_asked",
}


@dataclass(frozen=True, kw_only=True)
class ReportWish:
    """What a report is to say, and in which language."""

    language: str | None = None  # None: the first one of the survey
    level: float = 0.95  # of the intervals
    simultaneous: bool = False  # whether those of one question hold all at once
    population: Population | str = "respondents"  # whom they speak of
    population_size: int | None = None
    by: tuple[str, ...] | None = None  # covariates to group by; None: all of them

    def groups_by(self, name: str) -> bool:
        """Whether results by this covariate are wished for."""
        return self.by is None or name in self.by

    def estimate(self, operator: Operator, by: str) -> dict[str, Any]:
        """A part's estimate by group; what may be shown is the collector's decision."""
        return operator.estimate(self.level, by, **self._intervals())

    def summary(self, operator: Operator) -> CampaignSummary:
        """A part's counts and estimate."""
        return operator.summary(self.level, **self._intervals())

    def _intervals(self) -> dict[str, Any]:
        return {
            "simultaneous": self.simultaneous,
            "population": self.population,
            "population_size": self.population_size,
        }


@dataclass(frozen=True, kw_only=True)
class _AskedItem:
    """One item of a report: the campaigns that ask it, and how their results are named."""

    name: str
    text: str
    kind: str
    operators: Sequence[Operator]
    labels: Sequence[Sequence[str | None]]  # of each campaign's answers; None: not shown
    epsilons: Mapping[str, float]
    asked_if: str | None = None

    @property
    def campaign(self) -> Campaign:
        """One of them."""
        return self.operators[0].campaign


def campaign_report(
    operator: Operator, wish: ReportWish, made: datetime | None = None
) -> CampaignReport:
    """The report on a campaign that asks one question.

    Args:
        operator: Of the collector, and of the dealer if cards that were lost are to be counted.
        wish: What it is to say.
        made: The time to name; None: now.

    Raises:
        ArgumentError: There is no such level or language.
        DamagedError: A server's reply is not what it should be.
        ProtocolError: A server refuses.
        UnreachableError: A server does not answer.
    """
    campaign = operator.campaign
    operator.at_collector()
    language = _language(wish.language, (FALLBACK,))
    epsilons = {view: campaign.guarantee(view) for view in VIEWS}
    asked = _AskedItem(
        name="",
        text=campaign.question,
        kind="choice" if campaign.number is None else "number",
        operators=[operator],
        labels=[campaign.labels],
        epsilons=epsilons,
    )
    fetched = _Fetch(wish, language)
    items = (fetched.item(asked),)
    servers = operator.show()
    counts = servers[COLLECTOR]
    # A committee deals to everybody who has enrolled at once, and has no seats.
    dealing = [one.get("seats", one.get("n")) for name, one in servers.items() if name != COLLECTOR]
    seats = [count for count in dealing if count is not None]
    return fetched.report(
        title=campaign.question,
        identity=campaign.hash,
        campaign=campaign,
        final=counts["state"] == CLOSED,
        participation=Participation(
            answered=counts["reports"],
            invited=counts["invited"] if campaign.invitations else None,
            dealt=max(seats) if seats else None,
            carded=items[0].carded if items[0].n is not None else None,
            cardless=items[0].cardless if items[0].n is not None else None,
        ),
        items=items,
        groupings=tuple(
            fetched.grouping(name, name, {}, [asked], items)
            for name in campaign.covariates
            if wish.groups_by(name)
        ),
        open_items={name: name for name in campaign.covariates},
        epsilons=epsilons,
        delta=0.0 if campaign.mechanism.pure else campaign.delta,
        learnt=campaign.costs,
        deals=campaign.deals,
        announces=campaign.announces,
        made=made,
    )


def survey_report(
    operator: SurveyOperator, wish: ReportWish, made: datetime | None = None
) -> CampaignReport:
    """The report on a survey of several items; arguments as for `campaign_report`."""
    survey = operator.survey
    operator.at_collector()
    language = _language(wish.language, survey.questionnaire.languages)
    fetched = _Fetch(wish, language)
    asked = [
        _asked_item(operator, survey, item, parts, language)
        for item, parts in _parts_by_item(survey)
    ]
    items = tuple(map(fetched.item, asked))
    servers = operator.show()
    counts = servers[COLLECTOR]
    dealt = [
        seats
        for name, one in servers.items()
        if name != COLLECTOR
        for seats in one["parts"].values()
    ]
    # Whoever is asked an item has answered it: the largest is of everybody, or of nearly all.
    most = max((item for item in items if item.n is not None), key=_people, default=None)
    opened = survey.questionnaire.open
    groups = {item.name: item for item in opened if item.name in survey.first.covariates}
    return fetched.report(
        title=_in(survey.questionnaire.title, language),
        identity=survey.hash,
        campaign=survey.first,
        final=counts["state"] == CLOSED,
        participation=Participation(
            answered=counts["reports"],
            invited=counts["invited"] if survey.invitations else None,
            dealt=max(dealt) if dealt else None,
            carded=None if most is None or most.n != counts["reports"] else most.carded,
            cardless=None if most is None or most.n != counts["reports"] else most.cardless,
        ),
        items=items,
        groupings=tuple(
            fetched.grouping(name, _in(item.text, language), _words(item, language), asked, items)
            for name, item in groups.items()
            if wish.groups_by(name)
        ),
        open_items={item.name: _in(item.text, language) for item in opened},
        epsilons={view: survey.guarantee(view) for view in VIEWS},
        delta=survey.delta,
        learnt=survey.costs,
        deals=survey.deals,
        announces=any(one.announces for one in survey.campaigns.values()),
        wave=survey.wave,
        waves=survey.questionnaire.waves,
        made=made,
    )


class _Fetch:
    """Results of single items, as a report has them."""

    def __init__(self, wish: ReportWish, language: str) -> None:
        self.wish, self.language = wish, language

    def item(self, asked: _AskedItem) -> ReportedItem:
        mechanism = asked.campaign.mechanism
        found = ReportedItem(
            name=asked.name,
            text=asked.text,
            kind=asked.kind,
            asked_if=asked.asked_if,
            ends=asked.campaign.number,
            perturbation=Perturbation(
                mechanism=mechanism.name,
                title=mechanism.title,
                brief=mechanism.brief(),
                parameters=mechanism.to_dict(),
                answers=len(asked.operators),
                epsilons=asked.epsilons,
            ),
        )
        answers: list[ReportedAnswer] = []
        for operator, labels in zip(asked.operators, asked.labels, strict=True):
            summary = self.wish.summary(operator)
            document = summary.estimate
            if document is None:
                return replace(found, reason=self._reason(asked.campaign, summary), answers=())
            with _reading(operator):
                answers += _answers(document, labels)
                n, carded = int(document["estimate"]["n"]), int(document["carded"])
                cardless = int(document["cardless"])
        return replace(found, answers=tuple(answers), n=n, carded=carded, cardless=cardless)

    def _reason(self, campaign: Campaign, summary: CampaignSummary) -> str:
        if summary.waits is not None:
            return summary.waits.rstrip(".")
        if not summary.too_few:
            # Whoever closed it may have deleted what was too few for a sum.
            is_over = summary.servers["collector"]["state"] == CLOSED
            nobody = "deleted" if is_over and campaign.announces else "nobody"
            return text(self.language, f"report.results.{nobody}")
        return text(
            self.language,
            "report.results.too_few",
            reports=str(summary.too_few),
            min_cell=str(campaign.smallest_group),
        )

    def grouping(
        self,
        name: str,
        words: str,
        labels: Mapping[str, str],
        asked: Sequence[_AskedItem],
        items: Sequence[ReportedItem],
    ) -> Grouping:
        """Every item that has a result, by one covariate; or why the collector shows none."""
        shown: list[ReportedGroups] = []
        reason = None
        for one, item in zip(asked, items, strict=True):
            if item.n is None:
                continue
            try:
                groups = self._groups(one, name, labels)
                if len(groups.groups) + groups.hidden > 1:  # one group alone is everybody
                    shown.append(groups)
            except ResultsWaitError as refused:
                reason = str(refused).rstrip(".")
            except ProtocolError as refused:  # such as sums that are of other groups
                reason = _without_address(str(refused))
        return Grouping(name=name, text=words, items=tuple(shown), reason=reason)

    def _groups(self, asked: _AskedItem, by: str, names: Mapping[str, str]) -> ReportedGroups:
        people: dict[str, int] = {}
        answers: dict[str, list[ReportedAnswer]] = {}
        hidden = 0
        for operator, labels in zip(asked.operators, asked.labels, strict=True):
            document = self.wish.estimate(operator, by)
            with _reading(operator):
                for group in document["groups"]:
                    name = str(group["name"])
                    people[name] = int(group["n"])
                    answers.setdefault(name, []).extend(_answers({**group}, labels, inner=True))
                hidden = max(hidden, int(document["groups_too_small"]))
        order = [*asked.campaign.covariates[by], *people]  # as they are asked, not by alphabet
        whole = max(map(len, answers.values()), default=0)
        groups = [
            ReportedGroup(
                label=group_words(name, asked.campaign.covariates[by], names),
                n=people[name],
                answers=tuple(answers[name]),
            )
            for name in dict.fromkeys(order)
            if name in people and len(answers[name]) == whole
        ]
        return ReportedGroups(item=asked.name, groups=tuple(groups), hidden=hidden)

    def report(
        self,
        *,
        campaign: Campaign,
        epsilons: Mapping[str, float],
        delta: float,
        made: datetime | None,
        wave: int = 1,
        waves: int = 1,
        **facts: Any,
    ) -> CampaignReport:
        """The whole of it."""
        now = datetime.now(UTC) if made is None else made
        return CampaignReport(
            language=self.language,
            version=__version__,
            made=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            opens=campaign.opens,
            closes=campaign.closes,
            wave=wave,
            waves=waves,
            level=checks.level(self.wish.level),
            simultaneous=self.wish.simultaneous,
            population=self.wish.population,
            population_size=self.wish.population_size,
            min_cell=campaign.smallest_group,
            colluders=campaign.colluders,
            by_invitation=campaign.invitations,
            epsilons=epsilons,
            deltas={view: delta if view == EVERYTHING else 0.0 for view in epsilons},
            **facts,
        )


def group_words(name: str, values: Sequence[str], words: Mapping[str, str]) -> str:
    """A group as people of a language read it; of one that was merged, each of its values."""
    if name in values:
        return words.get(name, name)
    members = name.split(MERGED_BY)
    if not set(members) <= set(values):  # such as values that hold the same sign themselves
        return words.get(name, name)
    return MERGED_BY.join(words.get(value, value) for value in members)


def _people(item: ReportedItem) -> int:
    return item.n or 0


def _language(wanted: str | None, spoken: Sequence[str]) -> str:
    """The language of the page: the catalogue's, or one that the survey was asked in."""
    if wanted is None:
        return spoken[0]
    return checks.one_of("language", wanted, tuple(dict.fromkeys((*spoken, *known_languages()))))


def _in(texts: Mapping[str, str], language: str) -> str:
    """A text in a language, or else in the first one of the survey."""
    return texts.get(language, next(iter(texts.values())))


def _words(item: Item, language: str) -> dict[str, str]:
    """Answers as documents have them -> as people of a language read them."""
    words = {answer: text(language, key) for answer, key in _WORDS.items()}
    return words | {next(iter(label.values())): _in(label, language) for label in item.labels}


def _parts_by_item(survey: Survey) -> list[tuple[Item, list[SurveyPart]]]:
    return [
        (item, [part for part in survey.parts if part.item is item])
        for item in survey.questionnaire.sensitive
    ]


def _asked_item(
    operator: SurveyOperator, survey: Survey, item: Item, parts: Sequence[SurveyPart], language: str
) -> _AskedItem:
    words = _words(item, language)
    labels: list[list[str | None]] = []
    for part in parts:
        if part.label is None:
            labels.append([words.get(answer, answer) for answer in item.answers])
            continue
        # Of one label among several: who chose it, and who would not say.
        chosen = _in(item.labels[part.label], language)
        labels.append(
            [
                None
                if answer == NO_YES[0]
                else chosen
                if answer == NO_YES[1]
                else f"{chosen}: {words.get(answer, answer)}"
                for answer in item.answers
            ]
        )
    return _AskedItem(
        name=item.name,
        text=_in(item.text, language),
        kind=item.kind,
        operators=[operator.operator(part) for part in parts],
        labels=labels,
        epsilons={view: survey.loss(view, [part.name for part in parts]) for view in VIEWS},
        asked_if=_conditions(survey, item, language),
    )


def _conditions(survey: Survey, item: Item, language: str) -> str | None:
    """Of whom an item was asked, in words."""
    if not item.only_if:
        return None
    known = {one.name: one for one in survey.questionnaire.open}
    found = []
    for name, answers in item.only_if.items():
        words = _words(known[name], language)
        wanted = ", ".join(_quoted(words.get(answer, answer), language) for answer in answers)
        question = _quoted(_in(known[name].text, language), language)
        found.append(text(language, "report.results.condition", question=question, answers=wanted))
    return "; ".join(found)


def _quoted(words: str, language: str) -> str:
    return text(language, "quoted", words=words)


def _answers(
    document: Mapping[str, Any], labels: Sequence[str | None], inner: bool = False
) -> list[ReportedAnswer]:
    """The answers of an estimate; inner: of one group in it."""
    if "mean" in document:
        mean = document["mean"]
        return [_answer("", mean["mean"], mean["stderr"], mean["interval"])]
    shares = document if inner else document["estimate"]
    rows = zip(labels, shares["frequencies"], shares["stderr"], shares["interval"], strict=True)
    return [_answer(label, *numbers) for label, *numbers in rows if label is not None]


def _answer(label: str, value: float, stderr: float, interval: Sequence[float]) -> ReportedAnswer:
    low, high = interval
    numbers = [float(number) for number in (value, stderr, low, high)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("not a number")
    return ReportedAnswer(
        label=label, value=numbers[0], stderr=numbers[1], low=numbers[2], high=numbers[3]
    )


@contextmanager
def _reading(operator: Operator) -> Iterator[None]:
    """Turn whatever is missing in a reply into a refusal of the reply."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        address = operator.campaign.collector
        raise DamagedError(f"{address} must reply with an estimate: {error!r:.80}") from None


def _without_address(words: str) -> str:
    """A server's refusal without where it came from, which readers of a page need not know."""
    _, found, detail = words.partition("): ")
    return (detail if found else words).rstrip(".")
