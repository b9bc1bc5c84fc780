"""In which groups the cards of a campaign are summed at its end, and which are too small for that.

A dealer tells no sum of few cards. So a grouping is looked at before anything is closed, and groups
that are too small can be merged by one rule: all of them become one group; while that is still too
small, the smallest of the others joins it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.estimation.told_sums import Merged, group_of

if TYPE_CHECKING:
    from jrr.survey.campaign import Campaign

EVERYBODY = ""  # the only group where there is no grouping
MERGED_BY = " + "  # between the values in the name of a merged group
MERGE_RULE = (
    "groups that are too small become one; while that is too small, the smallest other joins it"
)

Sizes = Mapping[str, int]  # value or group -> cards


@dataclass(frozen=True, kw_only=True)
class CardGrouping:
    """One sum for all cards, or for each value of a covariate, some values together.

    Attributes:
        by: the covariate; None: everybody is one group.
        merged: name of a group of several values -> those values.
    """

    by: str | None = None
    merged: Merged = field(default_factory=dict, hash=False)

    def names(self, campaign: "Campaign") -> list[str]:
        """All groups, in the order of the covariate's values."""
        if self.by is None:
            return [EVERYBODY]
        return list(dict.fromkeys(self.group_of(value) for value in campaign.covariates[self.by]))

    def group_of(self, value: str) -> str:
        """The group of somebody whose covariate has a value."""
        return EVERYBODY if self.by is None else group_of(self.merged, value)

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored; without `merged` where every group is one value."""
        more = {name: list(values) for name, values in self.merged.items()}
        return {"by": self.by} | ({"merged": more} if more else {})

    @classmethod
    def from_document(cls, campaign: "Campaign", document: Mapping[str, Any]) -> "CardGrouping":
        """What `to_document` wrote; other fields are left alone.

        Raises:
            ArgumentError: The campaign has no such covariate.
            DamagedError: Groups are merged that it does not have.
        """
        by, merged = document["by"], document.get("merged", {})
        if by is not None:
            checks.one_of("by", by, tuple(campaign.covariates))
        values = set() if by is None else set(campaign.covariates[by])
        if not isinstance(merged, Mapping) or not all(
            isinstance(some, list) and len(some) > 1 for some in merged.values()
        ):
            raise DamagedError("merged must be lists of several values, by the names of groups")
        together = Counter(value for some in merged.values() for value in map(str, some))
        if not set(together) <= values or any(count > 1 for count in together.values()):
            raise DamagedError("merged must have values of the covariate, each once at most")
        if set(merged) & values:
            raise DamagedError("merged must give groups names that are none of the values")
        return cls(by=by, merged={name: tuple(some) for name, some in merged.items()})


def too_small(sizes: Iterable[Sizes], fewest: int) -> set[str]:
    """Groups of which some dealer could tell no sum: of a few cards, though not of none.

    Args:
        sizes: For each dealer: group -> cards.
        fewest: Cards in the smallest sum that is told.
    """
    return {name for one in sizes for name, size in one.items() if 0 < size < fewest}


def summed(grouping: CardGrouping, sizes: Sequence[Sizes]) -> list[Sizes]:
    """The sizes of groups, from those of single values."""
    found: list[Sizes] = []
    for one in sizes:
        counts: Counter[str] = Counter()
        for value, size in one.items():
            counts[grouping.group_of(value)] += size
        found.append(dict(counts))
    return found


def merge_small(campaign: "Campaign", by: str, sizes: Sequence[Sizes]) -> CardGrouping:
    """The values of a covariate as groups, those that are too small merged (see above).

    Args:
        campaign: Whose covariate it is.
        by: Its name.
        sizes: For each dealer: value -> cards.

    Returns:
        The grouping; where all cards together are too few, one that has a group too small.
    """
    values, fewest = campaign.covariates[by], campaign.smallest_group
    together = too_small(sizes, fewest)
    total = {value: sum(one.get(value, 0) for one in sizes) for value in values}
    others = sorted((value for value in values if total[value]), key=lambda value: total[value])
    while together and too_small(
        [{"": sum(one.get(value, 0) for value in together)} for one in sizes], fewest
    ):
        larger = next((value for value in others if value not in together), None)
        if larger is None:
            break
        together.add(larger)
    if len(together) < 2:
        return CardGrouping(by=by)
    members = tuple(value for value in values if value in together)
    name = MERGED_BY.join(members)
    while name in values:
        name = f"({name})"
    return CardGrouping(by=by, merged={name: members})


def small_words(campaign: "Campaign", sizes: Sequence[Sizes]) -> str:
    """Why no sum is told of some groups: how many cards there must be, and how many there are."""
    fewest = campaign.smallest_group
    least: dict[str, int] = {}
    for one in sizes:
        for name in too_small([one], fewest):
            least[name] = min(one[name], least.get(name, fewest))
    got = ", ".join(
        f"{count} in the group {name!r:.80}" if name != EVERYBODY else str(count)
        for name, count in sorted(least.items())
    )
    return (
        f"answers made with a card must be at least {fewest} (the campaign's min_cell and "
        f"min_batch) in each group for a result, or none, got {got}"
    )
