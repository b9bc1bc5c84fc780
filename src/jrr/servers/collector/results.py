"""From stored reports to what the operator is told of a question."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.analysis.crossed import parts_of
from jrr.errors import JrrError
from jrr.estimation.groups import estimate_groups, without_remainder
from jrr.estimation.raking import Answers
from jrr.mechanisms.numbers import Numbers
from jrr.protocol.steps import RESULTS_WAIT
from jrr.servers.common.problems import Problem
from jrr.survey.other_waves import AFTER, BEFORE, YES

if TYPE_CHECKING:
    from jrr.estimation.estimates import Estimate
    from jrr.estimation.tally import Tally
    from jrr.estimation.told_sums import CardSums
    from jrr.servers.collector.store import CollectorStore, CollectorSurvey
    from jrr.survey.sensitive import SensitiveQuestion

_REFUSED = {RESULTS_WAIT: "waits", "too-few": "too_few", "no-reports": "too_few"}


@dataclass(frozen=True, kw_only=True)
class EstimateQuery:
    """What the operator wants to know."""

    level: float = 0.95  # of the confidence intervals
    by: tuple[str, ...] | None = None  # open questions: one estimate per group of their crossing
    simultaneous: bool = False  # whether the intervals of all answers hold at once
    population: str = "respondents"  # whom they speak of
    population_size: int | None = None  # whom the respondents were drawn from


def find_question(held: "CollectorSurvey", name: str) -> "SensitiveQuestion":
    """A perturbed answer of the survey; refuses another name."""
    return held.survey.by_name[checks.one_of("question", name, tuple(held.survey.by_name))]


def fix_results(store: "CollectorStore", held: "CollectorSurvey", name: str, reports: int) -> None:
    """Where results must be some reports apart, go on to the next one if it is time.

    A result is fixed first, and shown when `results_apart` more reports have come. So any two
    results that are shown are that far apart, the final one of all reports included.
    """
    every = held.survey.results_apart
    if every == 1 or held.is_final or find_question(held, name).mechanism.announced:
        return
    fixed = store.fixed_results(held.name, held.numbers[name])
    if reports - (0 if fixed is None else fixed.next.n) < every:
        return
    now = tallies(store, held, name)[()]
    shown = None if fixed is None else fixed.next
    store.fix_results(held.name, held.numbers[name], shown=shown, following=now)


def estimates(
    store: "CollectorStore", held: "CollectorSurvey", wish: EstimateQuery
) -> dict[str, Any]:
    """Question -> its estimate, or in words why there is none."""
    _check_by(held, wish.by)
    counts = store.report_counts(held)
    found: dict[str, Any] = {}
    for name in held.numbers:
        try:
            found[name] = estimate(store, held, name, wish)
        except Problem as problem:
            kind = _REFUSED.get(problem.kind, "refused")
            found[name] = {kind: problem.detail, "reports": counts[name]}
        except JrrError as error:
            found[name] = {"refused": str(error), "reports": counts[name]}
    return found


def estimate(
    store: "CollectorStore", held: "CollectorSurvey", name: str, wish: EstimateQuery
) -> dict[str, Any]:
    """The estimate of a question so far, or the final one."""
    survey, question = held.survey, find_question(held, name)
    _check_by(held, wish.by)
    if question.mechanism.announced and not held.is_final:
        raise Problem(
            409,
            RESULTS_WAIT,
            "the cards in the reports hide everything until the dealers announce their sums, when "
            "the survey is closed",
        )
    if survey.results_apart > 1 and not held.is_final:
        found: Mapping[Answers, Tally] = _shown(store, held, name, wish)
    else:
        asked = held.told_of(name, wish.by or ()).questions(wish.by or ())
        found = tallies(store, held, name, asked)
    whole, groups = _without_masks(held, question, found, wish.by or ())
    fewest = survey.fewest_to_show(final=held.is_final)
    if whole.n < fewest:
        when = "" if held.is_final else " before the end"
        raise Problem(409, "too-few", f"fewer than {fewest} reports are not shown{when}")
    later = range(2, len(held.told.announced) + 1)
    return {
        **_results(held, question, whole, groups, wish),
        "survey": held.name,
        "name": name,
        "state": held.state,
        "final": held.is_final,
        "question": question.text,
        "labels": list(question.labels),
        "protected_against_repeats": survey.invitations,
        "mechanism": held.mechanism(name).to_dict(),
        # So that anybody can recompute it.
        **({} if held.sums is None else {"sums": held.told_of(name, wish.by or ()).to_document()}),
        **({"later_sums": [held.told.of(name, n).to_document() for n in later]} if later else {}),
    }


def final_estimate(
    store: "CollectorStore",
    held: "CollectorSurvey",
    name: str,
    *,
    also_in: tuple[str, int] | None = None,
    population: str = "respondents",
) -> "Estimate":
    """The final estimate of everybody; also_in: of those who answered that question too."""
    told = held.told_of(name)
    found = tallies(store, held, name, told.questions(()), also_in=also_in)
    whole, _ = _without_masks(held, held.survey.by_name[name], found)
    mechanism = held.mechanism(name)
    share = held.survey.share_asked(name)
    return mechanism.estimate(whole, _decks(held, name, whole), population=population, asked=share)


def estimate_of_pairs(
    store: "CollectorStore",
    held: "CollectorSurvey",
    name: str,
    population: str,
    *,
    next_wave: str | None = None,
) -> "Estimate":
    """The final estimate of those who answered the wave before too, or the next wave.

    Raises:
        Problem: Cells were too small, so that they were merged with those of other people.
    """
    question, mechanism = held.survey.by_name[name], held.mechanism(name)
    told, by = held.told_of(name), BEFORE
    if next_wave is not None:
        told, by = held.told.of_next_wave(name), AFTER
    asked = told.questions((by,))
    found = tallies(store, held, name, asked, next_wave=next_wave)
    _, groups = _without_masks(held, question, found, (by,), told)
    if YES not in groups:
        raise Problem(409, "too-few", "too few people answered both waves: their cell was merged")
    share = held.survey.share_asked(name)
    decks = _decks(held, name, groups[YES])
    return mechanism.estimate(groups[YES], decks, population=population, asked=share)


def tallies(
    store: "CollectorStore",
    held: "CollectorSurvey",
    name: str,
    by: Sequence[str] = (),
    *,
    also_in: tuple[str, int] | None = None,
    next_wave: str | None = None,
) -> dict[Answers, "Tally"]:
    """Answers to some open questions -> counted reports to a question.

    also_in: Of those who answered that question too. next_wave: Of those who answered it too.
    """
    mechanism = held.mechanism(name)
    found: dict[Answers, Tally] = {}
    for block in store.report_blocks(held, name, also_in=also_in, next_wave=next_wave):
        rows_by_group: dict[Answers, list[int]] = defaultdict(list)
        for at, text in enumerate(block.covariates):
            answers = json.loads(text) if by else {}
            rows_by_group[tuple(answers.get(name, YES) for name in by)].append(at)
        for group, rows in rows_by_group.items():
            tally = mechanism.tally(block.reports[rows], block.carded[rows])
            found[group] = found[group] + tally if group in found else tally
    return found


def check_export(held: "CollectorSurvey", people: int) -> None:
    """Refuse to give reports away one by one where results must be of many.

    Two exports while answers come in would differ by single ones, so there is one, at the end.
    """
    fewest = held.survey.min_batch
    if fewest > 1 and not held.is_final:
        raise Problem(409, RESULTS_WAIT, "answers are exported when the survey is closed")
    if 0 < people < fewest:
        raise Problem(409, "too-few", f"fewer than {fewest} people's answers are not shown")


def _check_by(held: "CollectorSurvey", by: Sequence[str] | None) -> None:
    """Refuse groups by anything but open questions."""
    for name in by or ():
        checks.one_of("by", name, tuple(held.survey.covariates))


def _shown(
    store: "CollectorStore", held: "CollectorSurvey", name: str, wish: EstimateQuery
) -> dict[Answers, "Tally"]:
    """What may be shown now of a question whose results must be some reports apart."""
    every = held.survey.results_apart
    if wish.by is not None:
        # Groups are smaller: one of them may differ by a single report.
        raise Problem(409, RESULTS_WAIT, "results by group are shown when the survey is closed")
    fixed = store.fixed_results(held.name, held.numbers[name])
    if fixed is not None and fixed.shown is not None:
        return {(): fixed.shown}
    coming = f"the first {every}" if fixed is None else f"{fixed.next.n} reports"
    raise Problem(
        409,
        RESULTS_WAIT,
        f"results are shown {every} reports apart: that of {coming} is shown when {every} more "
        "have come",
    )


def _without_masks(
    held: "CollectorSurvey",
    question: "SensitiveQuestion",
    found: Mapping[Answers, "Tally"],
    by: Sequence[str] = (),
    told: "CardSums | None" = None,
) -> tuple["Tally", Mapping[str, "Tally"]]:
    """All reports and those of each group, as far as dealers have told of their cards."""
    if not found:
        raise Problem(409, "no-reports", "no report has been received")
    told = told or held.told_of(question.name, by)
    whole, groups = told.settled(held.mechanism(question.name), found, by)
    if question.mechanism.announced and whole.n_carded and not whole.known.announcements:
        raise Problem(
            409,
            RESULTS_WAIT,
            "the dealers' sums of the cards are not here: close the survey again, at all servers, "
            "to carry them",
        )
    return whole, groups


def _decks(held: "CollectorSurvey", name: str, whole: "Tally") -> int:
    """From how many decks was dealt: as told, and no fewer than so many cards need."""
    needed = held.mechanism(name).fewest_decks(whole.n_carded + whole.known.undealt)
    return max(needed, held.decks(name))


def _results(
    held: "CollectorSurvey",
    question: "SensitiveQuestion",
    whole: "Tally",
    groups: Mapping[str, "Tally"],
    wish: EstimateQuery,
) -> dict[str, Any]:
    """The estimate of everybody and, where asked for, of each group and their differences."""
    survey, mechanism = held.survey, held.mechanism(question.name)
    decks, level = _decks(held, question.name, whole), wish.level
    drawn: dict[str, Any] = {
        "population": wish.population,
        "population_size": wish.population_size,
        "asked": survey.share_asked(question.name),
    }
    everybody = mechanism.estimate(whole, decks, **drawn)
    results: dict[str, Any] = {
        "carded": whole.n_carded,
        "cardless": whole.n_cardless,
        "decks": decks,
        "asked": drawn["asked"],
        "estimate": everybody.to_dict(level, simultaneous=wish.simultaneous),
    }
    numbers = None if question.number is None else Numbers(*question.number, mechanism)
    if numbers is not None:
        results["mean"] = numbers.estimate_from(everybody).to_dict(level)
    parts = question.asked.crossed
    if parts:
        results["crossed"] = parts_of(everybody, parts, level)
    if wish.by is None:
        return results
    # What all groups hold together that are not shown follows from the rest.
    fewest = survey.smallest_group
    shown = groups if survey.min_batch == 1 else without_remainder(groups, fewest)
    found = estimate_groups(mechanism, shown, min_cell=fewest, decks=decks, **drawn)
    found = replace(found, hidden=found.hidden + len(groups) - len(shown))
    document = found.to_dict(level, simultaneous=wish.simultaneous)
    if numbers is not None:
        for group, facts in zip(found, document["groups"], strict=True):
            facts["mean"] = numbers.estimate_from(group.estimate).to_dict(level)
    if parts:
        for group, facts in zip(found, document["groups"], strict=True):
            facts["crossed"] = parts_of(group.estimate, parts, level)
    return results | document
