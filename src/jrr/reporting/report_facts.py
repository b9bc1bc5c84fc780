"""What a report on a survey tells: plain values, fetched by whoever talks to the servers."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jrr.privacy.cost_table import CostTable


@dataclass(frozen=True, kw_only=True)
class ReportedAnswer:
    """One number of a result: the share of an answer, or the mean of a number."""

    label: str
    value: float
    stderr: float
    low: float  # of the interval
    high: float


@dataclass(frozen=True, kw_only=True)
class ReportedGroup:
    """The same question among people who share an open answer."""

    label: str
    n: int
    answers: tuple[ReportedAnswer, ...]


@dataclass(frozen=True, kw_only=True)
class ReportedGroups:
    """A question by the answers to an open one."""

    question: str  # its name
    groups: tuple[ReportedGroup, ...]
    hidden: int  # groups that are too small to be shown


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """All questions by an open one, or why there is nothing to show."""

    name: str
    text: str
    questions: tuple[ReportedGroups, ...]
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """How the answers to a question were perturbed, and what that loses."""

    mechanism: str  # its name
    title: str
    brief: str  # name and parameters in a few words
    parameters: Mapping[str, Any]  # in full
    answers: int  # perturbed answers: one for each label of "several"
    epsilons: Mapping[str, float]  # view -> ε of all of them


@dataclass(frozen=True, kw_only=True)
class ReportedQuestion:
    """The result of one sensitive question."""

    name: str
    text: str
    kind: str  # "yes-no", "choice", "several", "scale" or "number"
    perturbation: Perturbation
    asked_if: str | None = None  # of whom it was asked; None: of everybody
    drawn: tuple[int, int] | None = None  # each person was asked so many of so many such questions
    n: int | None = None  # people whose answers are here; None: no result yet
    carded: int = 0
    cardless: int = 0
    answers: tuple[ReportedAnswer, ...] = ()
    ends: tuple[float, float] | None = None  # of a number, whose mean is told
    open_ends: tuple[bool, bool] = (False, False)  # whether they stand for all beyond, too
    reason: str | None = None  # why there is no result

    @property
    def is_mean(self) -> bool:
        """Whether the number is a mean, and not shares."""
        return self.ends is not None


@dataclass(frozen=True, kw_only=True)
class Participation:
    """Who took part."""

    answered: int
    invited: int | None = None  # None: anybody could answer
    dealt: int | None = None  # people who fetched cards; None: not known here, or no cards
    carded: int | None = None  # of those who answered; None: no result yet
    cardless: int | None = None

    @property
    def lost(self) -> int | None:
        """People whose cards never came back with a report."""
        if self.dealt is None or self.carded is None:
            return None
        return max(0, self.dealt - self.carded)


@dataclass(frozen=True, kw_only=True)
class SurveyReport:
    """Everything that the page of a survey says."""

    title: str
    language: str
    identity: str  # hash of the document
    version: str  # of jrr
    made: str  # when, in UTC
    final: bool
    opens: str | None
    closes: str | None
    wave: int  # which of them
    waves: int
    level: float
    simultaneous: bool
    population: str
    population_size: int | None
    participation: Participation
    questions: tuple[ReportedQuestion, ...]
    open_questions: Mapping[str, str]  # name -> text
    groupings: tuple[Grouping, ...]
    min_cell: int
    colluders: int
    epsilons: Mapping[str, float]  # view -> ε of all answers of a person together
    deltas: Mapping[str, float]  # view -> the δ at which that holds; 0: outright
    learnt: CostTable  # what one answer, this wave and the whole study can tell
    deals: bool  # whether there were cards
    announces: bool  # whether the dealer announced sums of them
    verified: bool  # whether dealers committed to cards, and answers were proved
    one_liar: tuple[float, float]  # people whom one liar moves at most: as it is, and unverified
    by_invitation: bool
    pilot: bool = False  # a test, and no result

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; an ε without bound is "unbounded"."""
        document: dict[str, Any] = _plain(asdict(self))
        document["participation"]["lost"] = self.participation.lost
        document["learnt"] = self.learnt.to_dict()
        return document


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return "unbounded" if isinstance(value, float) and math.isinf(value) else value
