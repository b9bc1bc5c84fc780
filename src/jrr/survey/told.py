"""What dealers told of their cards at the end of a campaign."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr.errors import DamagedError
from jrr.estimation.told_sums import CardSum, CardSums
from jrr.survey.campaign import Campaign
from jrr.survey.grouping import CardGrouping
from jrr.survey.naming import Announcement, read_undealt


@dataclass(frozen=True, kw_only=True)
class ToldSums:
    """Announcements, one from each dealer; or the sum of a closed deck's undealt cards."""

    announced: tuple[Announcement, ...] = ()
    undealt: CardSum | None = None

    def __post_init__(self) -> None:
        if any(one.grouping != self.announced[0].grouping for one in self.announced):
            raise DamagedError("dealers must announce sums of the same groups")

    @property
    def grouping(self) -> CardGrouping:
        """In which groups there are sums."""
        return self.announced[0].grouping if self.announced else CardGrouping()

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "announced": [one.to_document() for one in self.announced],
            "undealt": None if self.undealt is None else self.undealt.to_document(),
        }

    @classmethod
    def from_document(cls, campaign: Campaign, document: object) -> "ToldSums":
        """What `to_document` wrote.

        Raises:
            DamagedError: It is not what the dealers of this campaign tell.
        """
        if not isinstance(document, Mapping) or set(document) != {"announced", "undealt"}:
            raise DamagedError("sums must be of announced and undealt")
        announced, undealt = document["announced"], document["undealt"]
        expected = len(campaign.dealers) if campaign.announces else 0
        if not isinstance(announced, list) or len(announced) != expected:
            raise DamagedError(f"announced must be a list of {expected}, one from each dealer")
        if undealt is not None and (campaign.announces or not campaign.mechanism.masked):
            raise DamagedError("undealt must be null but for a closed deck of whole numbers")
        return cls(
            announced=tuple(Announcement.from_document(campaign, one) for one in announced),
            undealt=None if undealt is None else read_undealt(campaign, undealt),
        )

    @property
    def by_group(self) -> CardSums:
        """The sums of all dealers, group by group, as estimates take them."""
        sums = [one.sums for one in self.announced]
        groups = sorted({group for one in sums for group in one})
        return CardSums(
            by=self.grouping.by,
            merged=self.grouping.merged,
            announced={
                group: tuple(one.get(group, CardSum(0, None)) for one in sums) for group in groups
            },
            undealt=self.undealt,
        )
