"""The facts of a report on a survey, fetched from its servers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jrr import __version__
from jrr._base import checks
from jrr.client.operator import COLLECTOR, EstimateWish, Operator
from jrr.errors import DamagedError
from jrr.estimation.told_sums import MERGED_BY
from jrr.protocol.states import CLOSED
from jrr.reporting.catalogue import known_languages, text
from jrr.reporting.report_facts import (
    Grouping,
    Participation,
    Perturbation,
    ReportedAnswer,
    ReportedGroup,
    ReportedGroups,
    ReportedQuestion,
    SurveyReport,
)
from jrr.survey.promises import EVERYTHING
from jrr.survey.question import NO_YES, NOT_ASKED, PREFER_NOT, Question
from jrr.survey.survey import VIEWS, Survey

if TYPE_CHECKING:
    from jrr.estimation.estimates import Population
    from jrr.survey.sensitive import SensitiveQuestion

_WORDS = {  # answers as documents have them -> keys of the catalogue
    NO_YES[0]: "no",
    NO_YES[1]: "yes",
    PREFER_NOT: "prefer_not",
    NOT_ASKED: "not_asked",
}
Results = Mapping[str, Any]  # question -> the collector's estimate, or why there is none


@dataclass(frozen=True, kw_only=True)
class ReportWish:
    """What a report is to say, and in which language."""

    language: str | None = None  # None: the first one of the survey
    level: float = 0.95  # of the intervals
    simultaneous: bool = False  # whether those of one question hold all at once
    population: "Population | str" = "respondents"  # whom they speak of
    population_size: int | None = None
    by: tuple[str, ...] | None = None  # open questions to group by; None: all of them

    def groups_by(self, name: str) -> bool:
        """Whether results by this open question are wished for."""
        return self.by is None or name in self.by

    def results(self, operator: Operator, *by: str) -> Results:
        """All results; what may be shown is the collector's decision."""
        return operator.estimates(
            EstimateWish(
                level=self.level,
                by=by or None,
                simultaneous=self.simultaneous,
                population=self.population,
                population_size=self.population_size,
            )
        )


@dataclass(frozen=True, kw_only=True)
class _NamedResults:
    """A sensitive question of a report, and how its results are named."""

    question: Question
    answers: Sequence["SensitiveQuestion"]  # one, or one for each label of "several"
    labels: Sequence[Sequence[str | None]]  # of each of them; None: not shown


def survey_report(
    operator: Operator, wish: ReportWish, made: datetime | None = None
) -> SurveyReport:
    """The report on a survey.

    Args:
        operator: Of the collector, and of those who deal if cards that were lost are to be counted.
        wish: What it is to say.
        made: The time to name; None: now.

    Raises:
        ArgumentError: There is no such level or language.
        DamagedError: A server's reply is not what it should be.
        ProtocolError: A server refuses.
        UnreachableError: A server does not answer.
    """
    survey = operator.survey
    operator.at_collector()
    language = _language(wish.language, survey.languages)
    fetched = _Fetch(operator, wish, language)
    servers = operator.show()
    is_final = servers[COLLECTOR]["state"] == CLOSED
    asked = [
        _asked(survey, question, language) for question in survey.questions if question.sensitive
    ]
    results = wish.results(operator)
    questions = tuple(fetched.question(one, results, is_final) for one in asked)
    groups = [one for one in survey.open if one.name in survey.covariates]
    now = datetime.now(UTC) if made is None else made
    return SurveyReport(
        title=_in(survey.title, language),
        language=language,
        identity=survey.hash,
        version=__version__,
        made=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        final=is_final,
        pilot=survey.pilot,
        opens=survey.opens,
        closes=servers[COLLECTOR]["closes"],
        wave=survey.wave,
        waves=survey.waves,
        level=checks.level(wish.level),
        simultaneous=wish.simultaneous,
        population=wish.population,
        population_size=wish.population_size,
        participation=_participation(survey, servers, questions),
        questions=questions,
        open_questions={one.name: _in(one.text, language) for one in survey.open},
        groupings=tuple(
            fetched.grouping(one, asked, questions) for one in groups if wish.groups_by(one.name)
        ),
        min_cell=survey.smallest_group,
        colluders=survey.colluders,
        epsilons={view: survey.guarantee(view) for view in VIEWS},
        deltas={view: survey.total_delta if view == EVERYTHING else 0.0 for view in VIEWS},
        learnt=survey.costs,
        deals=survey.deals,
        announces=survey.announces,
        verified=survey.dealing.is_verified,
        one_liar=(survey.one_liar(survey.dealing.is_verified), survey.one_liar(verified=False)),
        by_invitation=survey.invitations,
    )


def _participation(
    survey: Survey, servers: Mapping[str, Any], questions: Sequence[ReportedQuestion]
) -> Participation:
    counts = servers[COLLECTOR]
    # A committee deals to everybody who has enrolled at once, and counts no seats.
    dealing = [one.get("seats", one.get("n")) for name, one in servers.items() if name != COLLECTOR]
    dealt = [count for count in dealing if count is not None]
    # Whoever is asked a question has answered it: the largest is of everybody, or of nearly all.
    # A question without cards says nothing of who had one.
    dealt_to = {one.asked.name for one in survey.dealt}
    shown = [one for one in questions if one.n is not None and one.name in dealt_to]
    most = max(shown, key=lambda one: one.n or 0, default=None)
    is_whole = most is not None and most.n == counts["reports"]
    return Participation(
        answered=counts["reports"],
        invited=counts["invited"] if survey.invitations else None,
        dealt=max(dealt, default=None),
        carded=most.carded if most is not None and is_whole else None,
        cardless=most.cardless if most is not None and is_whole else None,
    )


class _Fetch:
    """Results of single questions, as a report has them."""

    def __init__(self, operator: Operator, wish: ReportWish, language: str) -> None:
        self.operator, self.wish, self.language = operator, wish, language

    def question(self, asked: _NamedResults, results: Results, is_final: bool) -> ReportedQuestion:
        """One question with its result, or why there is none."""
        question, survey = asked.question, self.operator.survey
        mechanism = survey.mechanisms[question.name]
        drawn = survey.together_with(asked.answers[0].name)
        found = ReportedQuestion(
            name=question.name,
            text=_in(question.text, self.language),
            kind=question.kind,
            asked_if=_conditions(survey, question, self.language),
            drawn=None if drawn is None else (drawn.ask, len(drawn.questions)),
            ends=asked.answers[0].number,
            open_ends=(question.or_less, question.or_more),
            perturbation=Perturbation(
                mechanism=mechanism.name,
                title=mechanism.title,
                brief=mechanism.brief(),
                parameters=mechanism.to_dict(),
                answers=len(asked.answers),
                epsilons={view: survey.loss(view, asked.answers) for view in VIEWS},
            ),
        )
        answers: list[ReportedAnswer] = []
        n = carded = cardless = 0
        for one, labels in zip(asked.answers, asked.labels, strict=True):
            document = results.get(one.name, {})
            with self._reading():
                if "estimate" not in document:
                    return replace(found, reason=self._reason(one, document, is_final))
                answers += _answers(document, labels, self.language)
                n, carded = int(document["estimate"]["n"]), int(document["carded"])
                cardless = int(document["cardless"])
        return replace(found, answers=tuple(answers), n=n, carded=carded, cardless=cardless)

    def _reason(self, one: "SensitiveQuestion", document: Mapping[str, Any], is_final: bool) -> str:
        reports = int(document["reports"])
        if not reports:
            # Whoever closed it may have deleted what was too few for a sum.
            nobody = "deleted" if is_final and one.mechanism.announced else "nobody"
            return text(self.language, f"report.results.{nobody}")
        if "too_few" in document:
            return text(
                self.language,
                "report.results.too_few",
                reports=str(reports),
                min_cell=str(one.survey.smallest_group),
            )
        return _why(document)

    def grouping(
        self, by: Question, asked: Sequence[_NamedResults], questions: Sequence[ReportedQuestion]
    ) -> Grouping:
        """Every question that has a result, by an open one; or why the collector shows none."""
        results = self.wish.results(self.operator, by.name)
        shown: list[ReportedGroups] = []
        reason = None
        for one, question in zip(asked, questions, strict=True):
            if question.n is None:
                continue
            refused = [
                results.get(answer.name, {})
                for answer in one.answers
                if "groups" not in results.get(answer.name, {})
            ]
            if refused:  # such as sums that are of other groups
                with self._reading():
                    reason = _why(refused[0])
                continue
            groups = self._groups(one, by, results)
            if len(groups.groups) + groups.hidden > 1:  # one group alone is everybody
                shown.append(groups)
        return Grouping(
            name=by.name, text=_in(by.text, self.language), questions=tuple(shown), reason=reason
        )

    def _groups(self, asked: _NamedResults, by: Question, results: Results) -> ReportedGroups:
        people: dict[str, int] = {}
        answers: dict[str, list[ReportedAnswer]] = {}
        hidden = 0
        for one, labels in zip(asked.answers, asked.labels, strict=True):
            document = results[one.name]
            with self._reading():
                for group in document["groups"]:
                    name = str(group["name"])
                    people[name] = int(group["n"])
                    answers.setdefault(name, []).extend(
                        _answers({**group}, labels, self.language, inner=True)
                    )
                hidden = max(hidden, int(document["groups_too_small"]))
        values, words = self.operator.survey.covariates[by.name], _words(by, self.language)
        order = [*values, *people]  # as they are asked, not by alphabet
        whole = max(map(len, answers.values()), default=0)
        groups = [
            ReportedGroup(
                label=group_words(name, values, words), n=people[name], answers=tuple(answers[name])
            )
            for name in dict.fromkeys(order)
            if name in people and len(answers[name]) == whole
        ]
        return ReportedGroups(question=asked.question.name, groups=tuple(groups), hidden=hidden)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn whatever is missing in a reply into a refusal of the reply."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            address = self.operator.survey.collector
            raise DamagedError(f"{address} must reply with an estimate: {error!r:.80}") from None


def _why(document: Mapping[str, Any]) -> str:
    """In the collector's words, why there is no result."""
    reason = next(document[kind] for kind in ("waits", "too_few", "refused") if kind in document)
    return str(reason).rstrip(".")


def group_words(name: str, values: Sequence[str], words: Mapping[str, str]) -> str:
    """A group as people of a language read it; of one that was merged, each of its values."""
    if name in values:
        return words.get(name, name)
    members = name.split(MERGED_BY)
    if not set(members) <= set(values):  # such as values that hold the same sign themselves
        return words.get(name, name)
    return MERGED_BY.join(words.get(value, value) for value in members)


def _language(wanted: str | None, spoken: Sequence[str]) -> str:
    """The language of the page: the catalogue's, or one that the survey was asked in."""
    if wanted is None:
        return spoken[0]
    return checks.one_of("language", wanted, tuple(dict.fromkeys((*spoken, *known_languages()))))


def _in(texts: Mapping[str, str], language: str) -> str:
    """A text in a language, or else in the first one of the survey."""
    return texts.get(language, next(iter(texts.values())))


def _words(question: Question, language: str) -> dict[str, str]:
    """Answers as documents have them -> as people of a language read them."""
    words = {answer: text(language, key) for answer, key in _WORDS.items()}
    return words | {next(iter(label.values())): _in(label, language) for label in question.labels}


def _asked(survey: Survey, question: Question, language: str) -> _NamedResults:
    answers = [one for one in survey.sensitive if one.asked is question]
    words = _words(question, language)
    labels: list[list[str | None]] = []
    for one in answers:
        if one.label is None:
            labels.append([words.get(answer, answer) for answer in question.answers])
            continue
        # Of one label among several: who chose it, and who would not say.
        chosen = _in(question.labels[one.label], language)
        labels.append(
            [
                None
                if answer == NO_YES[0]
                else chosen
                if answer == NO_YES[1]
                else f"{chosen}: {words.get(answer, answer)}"
                for answer in question.answers
            ]
        )
    return _NamedResults(question=question, answers=answers, labels=labels)


def _conditions(survey: Survey, question: Question, language: str) -> str | None:
    """Of whom a question was asked, in words."""
    if not question.only_if:
        return None
    known = {one.name: one for one in survey.open}
    found = []
    for name, answers in question.only_if.items():
        words = _words(known[name], language)
        wanted = ", ".join(_quoted(words.get(answer, answer), language) for answer in answers)
        quoted = _quoted(_in(known[name].text, language), language)
        found.append(text(language, "report.results.condition", question=quoted, answers=wanted))
    return "; ".join(found)


def _quoted(words: str, language: str) -> str:
    return text(language, "quoted", words=words)


def _answers(
    document: Mapping[str, Any], labels: Sequence[str | None], language: str, inner: bool = False
) -> list[ReportedAnswer]:
    """The answers of an estimate; inner: of one group in it."""
    if "mean" in document:
        mean = document["mean"]
        return [_answer("", mean["mean"], mean["stderr"], mean["interval"])]
    shares = document if inner else document["estimate"]
    rows = zip(labels, shares["frequencies"], shares["stderr"], shares["interval"], strict=True)
    told = [_answer(label, *numbers) for label, *numbers in rows if label is not None]
    change = document.get("crossed", {}).get("change")
    if change is not None:  # of yes: that of no is the same with another sign
        numbers = (change[name][-1] for name in ("value", "stderr", "interval"))
        yes = text(language, "yes")
        told.append(_answer(text(language, "then_and_now.change", answer=yes), *numbers))
    return told


def _answer(label: str, value: float, stderr: float, interval: Sequence[float]) -> ReportedAnswer:
    low, high = interval
    numbers = [float(number) for number in (value, stderr, low, high)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("not a number")
    return ReportedAnswer(
        label=label, value=numbers[0], stderr=numbers[1], low=numbers[2], high=numbers[3]
    )
