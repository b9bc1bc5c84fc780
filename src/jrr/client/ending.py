"""What an operator wants of a survey's end, and what is known of it before anything is changed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jrr.errors import DamagedError

Serials = Mapping[str, Sequence[str]]  # by question
SUMS = ("sums", "undealt", "decks")  # of a dealer's reply: what the collector needs
COMMITTED = ("request", "committed")  # of its first reply, where cards are verified


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What an operator wants of the end."""

    # Open questions: a sum, and so results, for each cell of their crossing; (): for everybody
    # together; None: as the survey was planned, small cells merged.
    by: tuple[str, ...] | str | None = None
    merge_small: bool = False  # cells that are too small for a sum are merged
    announcement: int = 1  # 2: once more, where so many were planned; who answered the next wave
    discard_unknown: bool = False  # delete answers whose serial numbers no dealer knows
    discard_small: bool = False  # delete answers of groups too small for a sum
    without_sum: bool = False  # burn the cards and give up the reports that were made with one
    request: Mapping[str, Any] | None = None  # dealer alone: what the collector's operator gave
    sums: Sequence[Mapping[str, Any]] | None = None  # collector alone: `dealer_sums` of each dealer
    carries_requests: bool = True  # requests for dealers in other hands have somewhere to go

    @property
    def cells(self) -> tuple[str, ...] | None:
        """`by` as several questions; a single one may be given by its name alone."""
        return (self.by,) if isinstance(self.by, str) else self.by

    @property
    def at_collector(self) -> dict[str, Any]:
        """What the collector is told when it closes."""
        allow = self.discard_small or self.without_sum
        return {
            "by": None if self.cells is None else list(self.cells),
            "merge_small": self.merge_small,
            "allow_small": allow,
            "announcement": self.announcement,
            "gives_up": self.without_sum,
        }


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What closing would do; nothing is changed yet."""

    facts: Mapping[str, Any]  # of the collector: groups with their sizes, which are too small
    unknown: Serials = field(default_factory=dict)  # serial numbers that no dealer gave to anybody


def dealer_sums(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a dealer says when it closes, what the collector needs: a file carries it.

    A dealer of verified cards says first to which noise it is committed, and sums when it is asked
    again.
    """
    if "committed" in reply:
        return {name: reply[name] for name in COMMITTED}
    told = {name: reply.get(name) for name in SUMS}
    return told if "openings" not in reply else told | {"openings": reply["openings"]}


def read_carried(text: str, allowed: str) -> dict[str, Any]:
    """What a file between operators holds.

    Raises:
        DamagedError: It is no such file; allowed: how that is said.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DamagedError(allowed)
    return found
