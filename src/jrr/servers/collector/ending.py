"""How a campaign ends whose card sums are announced: looked at first, then closed or not at all.

The grouping is chosen, checked and kept in the transaction that closes the campaign: a report that
comes a moment before cannot make a group that is too small for a sum.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError
from jrr.servers.collector.store import CollectorCampaign, CollectorStore
from jrr.servers.common.problems import Problem
from jrr.survey.grouping import (
    EVERYBODY,
    CardGrouping,
    Sizes,
    merge_small,
    small_words,
    summed,
    too_small,
)
from jrr.survey.serials import serial_from_hex
from jrr.survey.states import CLOSED
from jrr.survey.told import ToldSums

FIELDS = ("by", "merge_small", "allow_small", "discard")


@dataclass(frozen=True, kw_only=True)
class EndWish:
    """What an operator wants of the end."""

    by: str | None = None  # a covariate: one sum for each of its values; None: as chosen before
    merge_small: bool = False  # groups that are too small for a sum become one
    allow_small: bool = False  # close though no sum can be told of some groups
    discard: tuple[bytes, ...] = ()  # delete the reports with these serial numbers

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "EndWish":
        """From the fields of a message."""
        flags = {name: document.get(name, False) for name in ("merge_small", "allow_small")}
        by, discard = document.get("by"), document.get("discard", [])
        if not all(isinstance(flag, bool) for flag in flags.values()):
            raise DamagedError("merge_small and allow_small must be true or false")
        if by is not None and not isinstance(by, str):
            raise DamagedError("by must be a covariate, or null")
        if not isinstance(discard, list):
            raise DamagedError("discard must be a list of serials")
        return cls(by=by, discard=tuple(serial_from_hex(one) for one in discard), **flags)


def prospect(store: CollectorStore, held: CollectorCampaign, wish: EndWish) -> dict[str, Any]:
    """What closing would do: the groups, their sizes, and which are too small. Changes nothing."""
    campaign = held.campaign
    facts = {"state": held.state, "settled": held.sums is not None}
    facts |= {"fewest": campaign.smallest_group, "reports": store.count(store.reports, held.name)}
    if held.sums is not None:
        told = ToldSums.from_document(campaign, held.sums).grouping
        return facts | told.to_document() | {"groups": [], "too_small": []}
    grouping, sizes = _chosen(store, held, wish)
    small = too_small(sizes, campaign.smallest_group)
    groups = [
        {
            "name": name,
            "cards": [one.get(name, 0) for one in sizes],  # of each dealer
        }
        for name in grouping.names(campaign)
    ]
    facts |= grouping.to_document() | {"groups": groups}
    facts["too_small"] = [one["name"] for one in groups if one["name"] in small]
    return facts


def close_announced(store: CollectorStore, held: CollectorCampaign, wish: EndWish) -> int:
    """Take no more reports, and keep in which groups they are named; how many were discarded.

    Again with another grouping, that one is kept: for an operator who knows that no dealer has
    announced anything yet.

    Raises:
        Problem: A group is too small for a sum; nothing is changed.
    """
    if held.sums is not None:
        return 0
    with store.connection.begin_nested():  # other jobs share this transaction
        discarded = store.discard(held.name, wish.discard)
        grouping, sizes = _chosen(store, held, wish)
        small = too_small(sizes, held.campaign.smallest_group)
        if small and not wish.allow_small and held.state != CLOSED:
            raise Problem(409, "too-small", small_words(held.campaign, sizes))
        store.keep_grouping(held, grouping.to_document())
        if held.state != CLOSED:
            store.move(held, CLOSED)
    return discarded


def kept_grouping(held: CollectorCampaign) -> CardGrouping:
    """The grouping that was chosen when the campaign was closed."""
    if held.grouping is None:
        return CardGrouping()
    return CardGrouping.from_document(held.campaign, held.grouping)


def _chosen(
    store: CollectorStore, held: CollectorCampaign, wish: EndWish
) -> tuple[CardGrouping, list[Sizes]]:
    """The grouping that is wished for, or was chosen before; cards by dealer and group.

    What was chosen before stays as long as it works, whatever was discarded since: a dealer may
    have announced sums of just these groups.
    """
    before, by, fewest = kept_grouping(held), wish.by, held.campaign.smallest_group
    if by is not None:
        checks.one_of("by", by, tuple(held.campaign.covariates))
    if held.state == CLOSED and by in (None, before.by):
        sizes = summed(before, _sizes(store, held, before.by))
        if not (wish.merge_small and before.by is not None and too_small(sizes, fewest)):
            return before, sizes
        by = before.by
    if wish.merge_small and by is None:
        raise ArgumentError("merge_small must come with by: without groups there are none to merge")
    values = _sizes(store, held, by)
    grouping = CardGrouping(by=by)
    if by is not None and wish.merge_small:
        grouping = merge_small(held.campaign, by, values)
    return grouping, summed(grouping, values)


def _sizes(store: CollectorStore, held: CollectorCampaign, by: str | None) -> Sequence[Sizes]:
    """For each dealer: how many cards of each value came back."""
    sizes: list[dict[str, int]] = [{} for _ in held.campaign.dealers]
    for dealer, covariates, count in store.card_counts(held.name):
        value = EVERYBODY if by is None else json.loads(covariates)[by]
        one = sizes[dealer]
        one[value] = one.get(value, 0) + count
    return sizes
