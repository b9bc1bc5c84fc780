"""How answers have changed since another wave of the same people."""

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jrr.estimation.differences import difference
from jrr.estimation.told_sums import why_not_by
from jrr.mechanisms.numbers import Numbers
from jrr.protocol.steps import RESULTS_WAIT
from jrr.servers.collector.results import estimate_of_pairs, final_estimate
from jrr.servers.common.problems import Problem
from jrr.survey.other_waves import BEFORE, needs_sums, no_pairs_of_closed_decks, why_no_pairs

if TYPE_CHECKING:
    from jrr.estimation.estimates import Estimate
    from jrr.servers.collector.store import CollectorStore, CollectorSurvey


@dataclass(frozen=True, kw_only=True)
class ChangeWish:
    """What the operator wants to know of two waves."""

    since: str  # hash of the wave before
    paired: bool = False  # only among those who answered both
    level: float = 0.95
    simultaneous: bool = False
    population: str = "respondents"


def changes(
    store: "CollectorStore", before: "CollectorSurvey", now: "CollectorSurvey", wish: ChangeWish
) -> dict[str, Any]:
    """Question -> how shares and means have changed since another wave, or why it is not shown.

    Paired: among those who answered both. Where cards are numbers that needs sums of just these
    people's cards: of the later wave from its cells, of the one before from its second sums.
    """
    if now.survey.collector_salt != before.survey.collector_salt:
        raise Problem(409, "other-panel", "the surveys must be waves of the same people")
    found: dict[str, Any] = {}
    for question in now.survey.sensitive:
        old = before.survey.by_name.get(question.name)
        if old is None or not old.asks_the_same(question):
            found[question.name] = {"refused": "the wave before did not ask the same"}
            continue
        try:
            found[question.name] = _change_of(store, before, now, question.name, wish)
        except Problem as problem:
            found[question.name] = {"refused": problem.detail}
    return found


def _change_of(
    store: "CollectorStore",
    before: "CollectorSurvey",
    now: "CollectorSurvey",
    name: str,
    wish: ChangeWish,
) -> dict[str, Any]:
    """The change of one question; a Problem where it may not be shown."""
    waves = (before, now)
    if not all(one.is_final for one in waves):
        raise Problem(409, RESULTS_WAIT, "changes are shown when both waves are closed")
    both = store.count_both(now, name, (before.name, before.numbers[name]))
    if wish.paired:
        first, second = _of_both(store, before, now, name, wish.population)
    else:
        first, second = (
            final_estimate(store, one, name, population=wish.population) for one in waves
        )
    fewest = max(one.survey.smallest_group for one in waves)
    if min(first.n, second.n) < fewest:
        raise Problem(409, "too-few", f"fewer than {fewest} people are not shown")
    if wish.paired:
        # Those who answered one wave only follow from the waves' own results.
        for one, estimate in zip(waves, (first, second), strict=True):
            alone, least = store.report_counts(one)[name] - estimate.n, one.survey.min_batch
            if 0 < alone < least:
                raise Problem(
                    409,
                    "too-few",
                    f"fewer than {least} people answered only one of the waves: ask without "
                    "pairing",
                )
    question = now.survey.by_name[name]
    moved = difference(second, first, same_deck=False, shared=min(both, first.n, second.n))
    facts = moved.to_dict(wish.level, simultaneous=wish.simultaneous)
    facts |= {"n_before": first.n, "n_now": second.n, "labels": list(question.labels)}
    facts["n_both"] = both
    if wish.paired:
        facts["unpaired_stderr"] = _unpaired_stderr(store, before, now, name)
    if question.number is not None:
        means = [
            Numbers(*question.number, one.mechanism(name)).estimate_from(estimate)
            for one, estimate in zip(waves, (first, second), strict=True)
        ]
        together = bool(both) and wish.population != "respondents"
        documents = (one.to_dict(wish.level) for one in means)
        facts["mean"] = _change_of_means(*documents, together=together)
    return facts


def _of_both(
    store: "CollectorStore",
    before: "CollectorSurvey",
    now: "CollectorSurvey",
    name: str,
    population: str,
) -> "tuple[Estimate, Estimate]":
    """The estimates of both waves, among those who answered both."""
    reason = None
    if needs_sums(before.mechanism(name)):
        reason = why_no_pairs(before.survey, name, len(before.told.announced), now.survey)
    if reason is None and needs_sums(now.mechanism(name)) and BEFORE not in now.told.grouping.by:
        reason = no_pairs_of_closed_decks(now.survey, name)
        reason = reason or why_not_by((BEFORE,), now.told.grouping.by)
    if reason is not None:
        raise Problem(409, "paired-masks", reason)
    if needs_sums(before.mechanism(name)):
        first = estimate_of_pairs(store, before, name, population, next_wave=now.name)
    else:
        first = _of_those_in(store, before, now, name, population)
    if needs_sums(now.mechanism(name)):
        return first, estimate_of_pairs(store, now, name, population)
    return first, _of_those_in(store, now, before, name, population)


def _of_those_in(
    store: "CollectorStore",
    one: "CollectorSurvey",
    other: "CollectorSurvey",
    name: str,
    population: str,
) -> "Estimate":
    """Of reports without masks: the estimate among those who answered another wave too."""
    in_other = (other.name, other.numbers[name])
    return final_estimate(store, one, name, also_in=in_other, population=population)


def _unpaired_stderr(
    store: "CollectorStore", before: "CollectorSurvey", now: "CollectorSurvey", name: str
) -> list[float]:
    """Of the change between everybody's answers, as if other people had answered each wave."""
    first, second = (final_estimate(store, one, name, population="sample") for one in (before, now))
    found: list[float] = difference(second, first, same_deck=False).stderr.tolist()
    return found


def _change_of_means(
    before: dict[str, Any], now: dict[str, Any], *, together: bool
) -> dict[str, Any]:
    """Of two means and their intervals: distances of opposite ends, added as squares.

    together: Drawing people is noise in both, and some are in both: distances are added.
    """
    change = now["mean"] - before["mean"]
    (low, high), (low_before, high_before) = now["interval"], before["interval"]
    add = operator.add if together else math.hypot
    down = add(now["mean"] - low, high_before - before["mean"])
    up = add(high - now["mean"], before["mean"] - low_before)
    return {"change": change, "interval": [change - down, change + up]}
