"""How a survey ends: looked at first, then closed or not at all; then dealers' sums are kept.

The grouping is chosen, checked and kept in the transaction that closes the survey: an answer that
comes a moment before cannot make a group that is too small for a sum.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from jrr._base import checks
from jrr.dealing.serials import serial_from_hex
from jrr.errors import ArgumentError
from jrr.protocol.documents import Message
from jrr.protocol.states import CLOSED
from jrr.servers.common.problems import Problem, gone, wrong_state
from jrr.survey.closing import ClosingRequest, ToldSums, announced_questions
from jrr.survey.grouping import (
    EVERYBODY,
    CardGrouping,
    Sizes,
    merge_small,
    small_words,
    summed,
    too_small,
)

if TYPE_CHECKING:
    from jrr.servers.collector.store import CollectorStore, CollectorSurvey
    from jrr.survey.survey import Survey


class ClosingChoices(Message):
    """What an operator wants of the end."""

    by: str | None = None  # an open question: one sum for each answer; None: as chosen before
    merge_small: bool = False  # groups that are too small for a sum become one
    allow_small: bool = False  # close though no sum can be told of some groups
    # Question -> serials: all answers of those people are deleted.
    discard: dict[str, list[str]] = msgspec.field(default_factory=dict)


def prospect(
    store: "CollectorStore", held: "CollectorSurvey", wish: ClosingChoices
) -> dict[str, Any]:
    """What closing would do: the groups, their sizes, and which are too small. Changes nothing."""
    survey = held.survey
    facts = {
        "state": held.state,
        "settled": held.is_settled,
        "fewest": survey.smallest_group,
        "reports": store.people_count(held),
    }
    if held.sums is not None or not survey.announces:
        return facts | held.told.grouping.to_document() | {"groups": [], "too_small": []}
    grouping, sizes = _chosen(store, held, wish)
    small = too_small(sizes, survey.smallest_group)
    names = grouping.names(survey)
    dealers = len(survey.dealing.addresses)
    groups = [
        {
            "name": name,
            "cards": {
                question.name: [one.get(name, 0) for one in sizes[at : at + dealers]]
                for at, question in zip(
                    range(0, len(sizes), dealers), announced_questions(survey), strict=True
                )
            },
        }
        for name in names
    ]
    left = [name for name in names if name in small]
    return facts | grouping.to_document() | {"groups": groups, "too_small": left}


def close(store: "CollectorStore", held: "CollectorSurvey", wish: ClosingChoices) -> int:
    """Take no more answers, and keep in which groups cards are named; how many were discarded.

    Again with another grouping, that one is kept: for an operator who knows that no dealer has
    announced anything yet.

    Raises:
        Problem: A group is too small for a sum; nothing is changed.
    """
    if held.sums is not None:
        return 0
    unwanted = read_serials(held.survey, wish.discard)
    discarded = 0
    with store.connection.begin_nested():  # other jobs share this transaction
        if held.survey.announces:
            discarded = store.discard(held, unwanted)
            grouping, sizes = _chosen(store, held, wish)
            small = too_small(sizes, held.survey.smallest_group)
            if small and not wish.allow_small and not held.is_final:
                raise Problem(409, "too-small", small_words(held.survey, sizes))
            store.keep_grouping(held, grouping)
        if not held.is_final:
            store.move(held, CLOSED)
    return discarded


def closing_request(
    store: "CollectorStore", held: "CollectorSurvey", dealer: int, ahead: bool
) -> ClosingRequest:
    """The serial numbers of one dealer's cards that are here.

    ahead: Before the end, in no groups: to ask the dealer whether it knows them.
    """
    if not ahead:
        check_settling(held)
    elif held.sums is not None:
        raise _forgotten()
    checks.integer("dealer", dealer, 0, len(held.survey.dealing.addresses) - 1)
    return _request(store, held, dealer, CardGrouping() if ahead else held.grouping)


def keep_sums(store: "CollectorStore", held: "CollectorSurvey", sums: ToldSums) -> None:
    """Keep what dealers told of their cards, and forget serial numbers; the same again is fine."""
    if held.sums is not None:
        if held.told != sums:
            raise Problem(409, "announced", "other sums are here already")
        return
    check_settling(held)
    for dealer, told in enumerate(sums.announced):
        here = _request(store, held, dealer, told.grouping)
        if here.sizes != {name: _without_empty(groups) for name, groups in told.sizes.items()}:
            raise Problem(409, "conflict", "the sum is of other reports than are here")
    store.keep_sums(held.name, sums)


def check_settling(held: "CollectorSurvey") -> None:
    """Refuse to name cards, or to take sums, but between the end and the result."""
    if not held.is_final:
        raise wrong_state("the survey must be closed first: more answers may come")
    if held.sums is not None:
        raise _forgotten()


def read_serials(survey: "Survey", serials: Mapping[str, Sequence[str]]) -> dict[str, list[bytes]]:
    """Serial numbers by question, as an operator sends them."""
    known = tuple(one.name for one in announced_questions(survey))
    return {
        checks.one_of("question", question, known): [serial_from_hex(one) for one in some]
        for question, some in serials.items()
    }


def _without_empty(groups: Sizes) -> Sizes:
    return {group: cards for group, cards in groups.items() if cards}


def _forgotten() -> Problem:
    return gone("the sums are here, and the serial numbers are forgotten")


def _request(
    store: "CollectorStore", held: "CollectorSurvey", dealer: int, grouping: CardGrouping
) -> ClosingRequest:
    numbers = {one.name: held.numbers[one.name] for one in announced_questions(held.survey)}
    found: dict[int, dict[str, list[bytes]]] = {at: defaultdict(list) for at in numbers.values()}
    for question, serial, covariates in store.named(held.name, dealer):
        found[question][grouping.group_of(_value(covariates, grouping.by))].append(serial)
    return ClosingRequest(
        survey=held.name,
        grouping=grouping,
        questions={
            name: {group: tuple(some) for group, some in sorted(found[at].items())}
            for name, at in numbers.items()
        },
    )


def _chosen(
    store: "CollectorStore", held: "CollectorSurvey", wish: ClosingChoices
) -> tuple[CardGrouping, list[Sizes]]:
    """The grouping that is wished for, or was chosen before; cards by question, dealer and group.

    What was chosen before stays as long as it works, whatever was discarded since: a dealer may
    have announced sums of just these groups.
    """
    before, by, fewest = held.grouping, wish.by, held.survey.smallest_group
    if by is not None:
        checks.one_of("by", by, tuple(held.survey.covariates))
    if held.is_final and by in (None, before.by):
        sizes = summed(before, _sizes(store, held, before.by))
        if not (wish.merge_small and before.by is not None and too_small(sizes, fewest)):
            return before, sizes
        by = before.by
    if wish.merge_small and by is None:
        raise ArgumentError("merge_small must come with by: without groups there are none to merge")
    values = _sizes(store, held, by)
    grouping = CardGrouping(by=by)
    if by is not None and wish.merge_small:
        grouping = merge_small(held.survey, by, values)
    return grouping, summed(grouping, values)


def _sizes(store: "CollectorStore", held: "CollectorSurvey", by: str | None) -> Sequence[Sizes]:
    """Of each announced question and each dealer: how many cards of each value came back."""
    announced = [held.numbers[one.name] for one in announced_questions(held.survey)]
    dealers = range(len(held.survey.dealing.addresses))
    sizes: dict[tuple[int, int], dict[str, int]]
    sizes = {(question, dealer): {} for question in announced for dealer in dealers}
    for question, dealer, covariates, count in store.card_counts(held.name):
        one, value = sizes[question, dealer], _value(covariates, by)
        one[value] = one.get(value, 0) + count
    return list(sizes.values())


def _value(covariates: str, by: str | None) -> str:
    """Somebody's group: the answer to an open question, or everybody."""
    return EVERYBODY if by is None else str(json.loads(covariates)[by])
