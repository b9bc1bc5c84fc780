"""Analyses that a survey is planned for: what each needs, how exact it is, or why it cannot be.

A draft names analyses: "totals", "groups: dept × gender", "pairs", "regression: dept, gender". From
them follow the cells on which the survey is closed. What will not be possible is said with the
sentence by which it would be refused afterwards.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.estimation.estimates import quantile
from jrr.estimation.raking import hang_together
from jrr.estimation.told_sums import CROSSED_BY, MERGED_BY, crossed, why_no_cells, why_not_by
from jrr.planning.effects import effect_stderr, group_stderr
from jrr.survey.draft import Draft
from jrr.survey.grouping import MOST_CELLS, CardGrouping
from jrr.survey.grouping import cells_of as open_answers
from jrr.survey.other_waves import (
    NO_SECOND_SUM,
    asked_of_others,
    needs_sums,
    wave_answers,
    why_no_pairs,
)
from jrr.survey.question import covariates_of

if TYPE_CHECKING:
    from jrr.survey.plan import DraftPlan, QuestionPlan
    from jrr.survey.survey import Survey

KINDS = ("totals", "groups", "weights", "pairs", "regression")
USUAL_SHARE = 0.1  # of people who hold an answer, where nothing is known


@dataclass(frozen=True)
class Analysis:
    """One analysis.

    Attributes:
        kind: "totals", "groups", "weights" (by margins of these questions), "pairs" or
            "regression".
        by: the open questions that it needs.
    """

    kind: str
    by: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: str, draft: "Draft | Survey") -> "Analysis":
        """An analysis as a draft says it; several questions by "×" or commas.

        Raises:
            ArgumentError: There is no such analysis, or no such open question.

        Example:
            >>> from jrr.survey.draft import one_question
            >>> draft = one_question("Bribed?", groups={"dept": ("a", "b"), "sex": ("f", "m")})
            >>> Analysis.read("groups: dept × sex", draft)
            Analysis(kind='groups', by=('dept', 'sex'))
        """
        kind, _, rest = words.partition(":")
        kind = checks.one_of("analyses", kind.strip(), KINDS)
        names = tuple(name.strip() for name in rest.replace("×", ",").split(",") if name.strip())
        known = tuple(question.name for question in draft.open)
        by = tuple(checks.one_of(f"{kind} of analyses", name, known) for name in names)
        if kind in ("totals", "pairs") and by:
            raise checks.refusal("analyses", words, f"{kind} without questions")
        if kind in ("groups", "weights") and not by:
            raise checks.refusal("analyses", words, f"{kind}: and open questions, with × between")
        return cls(kind, by or (tuple(covariates_of(draft.open)) if kind == "regression" else ()))

    def __str__(self) -> str:
        return f"{self.kind}: {CROSSED_BY.join(self.by)}" if self.by else self.kind


@dataclass(frozen=True, kw_only=True)
class AnalysisPlan:
    """What will come of one analysis.

    Attributes:
        analysis: which.
        margins: question -> half of the expected interval of 95% (of groups of equal sizes, the
            smallest named cell; of pairs, of the change; of a regression, of the logarithm of odds
            for what half of the people are).
        words: the same in words.
        refused: why it will not be possible; "" where it will.
        note: what to know of it.
    """

    analysis: Analysis
    margins: dict[str, float]
    words: str
    refused: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "analysis": str(self.analysis),
            "margins": self.margins,
            "refused": self.refused,
            "note": self.note,
        }


def cells_for(draft: Draft) -> tuple[str, ...]:
    """The open questions to close on: those that are named, and those that analyses need."""
    wanted = [name for one in _analyses(draft) for name in one.by]
    usable = covariates_of(draft.open)
    for name in draft.cells:
        checks.one_of("cells", name, tuple(usable))
    return tuple(dict.fromkeys((*draft.cells, *(name for name in wanted if name in usable))))


def cells_of(draft: Draft, wave: int = 1) -> int:
    """How many cells a wave is to be closed on: a later one on who answered the one before, too."""
    values = covariates_of(draft.open) | wave_answers(wave)
    return math.prod(len(values[name]) for name in (*wave_answers(wave), *cells_for(draft)))


def plan_analyses(
    draft: Draft,
    planned: "DraftPlan",
    min_cell: int,
    survey: "Survey | None" = None,
    *,
    wave: int = 1,
) -> list[AnalysisPlan]:
    """What will come of each analysis of a draft.

    Args:
        draft: Which names them.
        planned: How its sensitive questions are asked.
        min_cell: Reports in the smallest cell of which a sum is told.
        survey: Whose second sums tell of pairs: this wave, or the last one's wave before. None: it
            is not made yet, and not all that stands against pairs is known.
        wave: Which is planned.
    """
    values = covariates_of(draft.open)
    cells, of_pairs = cells_of(draft, wave), cells_of(draft)
    people = planned.people * planned.response
    in_cell = people * min((one.asked for one in planned.questions), default=1.0) / max(cells, 1)
    found = []
    for one in _analyses(draft):
        refused = _why_not(one, draft, planned, cells)
        unpaired = _unpaired(survey, planned) if one.kind == "pairs" and not refused else {}
        if unpaired and len(unpaired) == len(planned.questions):
            refused, unpaired = next(iter(unpaired.values())), {}
        apart = () if one.kind == "weights" else one.by
        groups = math.prod(len(values[name]) for name in apart if name in values)
        size, sums = people / max(groups, 1), max(1, cells // max(groups, 1))
        note = ""
        if in_cell < min_cell:
            note = (
                f"on average {in_cell:.0f} answers to a question are in a cell, and sums are told "
                f"of {min_cell} at least: cells will be merged"
            )
        factor = 1.0
        if one.kind == "pairs":
            size, sums, factor = people * planned.response, of_pairs, math.sqrt(2)
        margins = [
            (
                part,
                factor * part.margin_among(size / people, sums)
                if one.kind != "regression"
                else _coefficient_margin(part, cells),
            )
            for part in planned.questions
            if part.question.name not in unpaired
        ]
        note = "; ".join([*filter(None, [note]), *(f"not {n}: {w}" for n, w in unpaired.items())])
        found.append(
            AnalysisPlan(
                analysis=one,
                margins={} if refused else {part.question.name: margin for part, margin in margins},
                words=", ".join(_words(one, *each) for each in margins),
                refused=refused,
                note=note,
            )
        )
    return found


def _unpaired(survey: "Survey | None", planned: "DraftPlan") -> dict[str, str]:
    """Question -> why it cannot be compared among those who answer two waves."""
    if survey is None:
        branches = [one for one in planned.questions if one.question.only_if]
        masked = [one.question.name for one in branches if needs_sums(one.plan.mechanism)]
        return {name: asked_of_others(name) for name in masked}
    found = {}
    for part in planned.questions:
        for one in survey.sensitive:
            if one.asked.name == part.question.name and needs_sums(one.mechanism):
                reason = why_no_pairs(survey, one.name)
                if reason is not None:
                    found[part.question.name] = reason
    return found


def _analyses(draft: Draft) -> list[Analysis]:
    return [Analysis.read(words, draft) for words in draft.analyses]


def _words(one: Analysis, part: "QuestionPlan", margin: float) -> str:
    if one.kind == "regression" and part.question.kind != "number":
        return f"{part.question.name} ±{margin:.2g} of the log odds"
    return f"{part.question.name} {part.question.margin_words(margin)}"


def _coefficient_margin(part: "QuestionPlan", sums: int) -> float:
    """Of the coefficient of what half of the people are: logistic, and of a number linear."""
    half, share = part.plan.request.reporters / 2, USUAL_SHARE
    if part.question.kind == "number":  # drawn people count as if they gave one end or the other
        drawn = (part.question.high - part.question.low) ** 2 / 4 / half
        of_half = group_stderr(part.plan, half, sums / 2, compared=True) ** 2 + drawn
        return quantile(0.95) * math.sqrt(2 * of_half)
    each = (half, half)
    error = effect_stderr(part.plan, (share, share), each, scale="log odds", sums=sums / 2)
    return quantile(0.95) * error


def _why_not(one: Analysis, draft: Draft, planned: "DraftPlan", cells: int) -> str:
    """Why an analysis will not be possible; "" where it will."""
    announced = any(part.plan.mechanism.announced for part in planned.questions)
    if one.kind == "pairs" and draft.waves < 2:
        return "pairs need two waves: set waves = 2"
    if one.kind == "pairs" and draft.announcements == 1 and announced:
        return NO_SECOND_SUM
    numbers = [name for name in one.by if name not in covariates_of(draft.open)]
    if numbers and (announced or one.kind != "regression"):
        return why_no_cells(numbers, announced)
    if announced and cells > MOST_CELLS:
        return f"there would be {cells:,} cells, at most {MOST_CELLS:,} are told"
    if announced and one.kind == "regression" and not one.by:
        return "regression of masked answers goes through cells: name open questions"
    return ""


def lost_by_closing(survey: "Survey", by: Sequence[str]) -> dict[str, str]:
    """Analysis -> the sentence by which it will be refused if the survey is closed on these cells.

    Of the planned ones; in a later wave also of pairs, which every panel plans.
    """
    needed = _needed(survey)
    return {name: why_not_by(some, by) for name, some in needed.items() if not set(some) <= set(by)}


def joined_by_merging(survey: "Survey", grouping: CardGrouping) -> dict[str, str]:
    """Planned analysis -> which of its groups have no result of their own if cells are merged."""
    cells, found = open_answers(survey, grouping.by), {}
    for name, some in _needed(survey).items():
        if set(some) <= set(grouping.by):
            places = [grouping.by.index(one) for one in some]
            joined = hang_together(
                [
                    {crossed([cells[cell][at] for at in places]) for cell in together}
                    for together in grouping.merged.values()
                ]
            )
            groups = [MERGED_BY.join(sorted(one)) for one in joined if len(one) > 1]
            if groups:
                found[name] = ", ".join(dict.fromkeys(groups))
    return found


def _needed(survey: "Survey") -> dict[str, tuple[str, ...]]:
    """Analysis -> the questions by whose cells it is made."""
    needed: dict[str, tuple[str, ...]] = {"pairs": tuple(wave_answers(survey.wave))}
    for words in survey.analyses:
        one = Analysis.read(words, survey)
        if one.kind != "pairs":
            needed[str(one)] = tuple(name for name in one.by if name in survey.covariates)
    return needed


def analysis_lines(plans: Iterable[AnalysisPlan]) -> list[str]:
    """In words, one line for each."""
    found = []
    for plan in plans:
        words = f"not possible: {plan.refused}" if plan.refused else plan.words
        found.append(f"{plan.analysis}: {words}" + (f" ({plan.note})" if plan.note else ""))
    return found
