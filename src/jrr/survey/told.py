"""What dealers told of their cards at the end, and how a collector takes masks off with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr.errors import DamagedError, ProtocolError
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.survey.campaign import Campaign
from jrr.survey.naming import Announcement, UndealtSum


@dataclass(frozen=True, kw_only=True)
class ToldSums:
    """Announcements, one from each dealer; or the sum of a closed deck's undealt cards."""

    announced: tuple[Announcement, ...] = ()
    undealt: UndealtSum | None = None

    def __post_init__(self) -> None:
        if len({one.by for one in self.announced}) > 1:
            raise DamagedError("dealers must announce sums of the same groups")

    @property
    def by(self) -> str | None:
        """The covariate for whose values there are sums."""
        return self.announced[0].by if self.announced else None

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
            undealt=None if undealt is None else UndealtSum.from_document(campaign, undealt),
        )

    def settled(
        self, mechanism: Mechanism, tallies: Mapping[str, Tally], round_number: int, by: str | None
    ) -> tuple[Tally, Mapping[str, Tally]]:
        """Everybody and every group, with masks taken off as far as dealers have told.

        Args:
            mechanism: By which the reports were made.
            tallies: Group -> counted reports of the round; all of them together are everybody.
            round_number: Which round.
            by: The covariate whose values the groups are; None: there is one group.

        Raises:
            ProtocolError: Sums were announced for other groups than these.
        """
        whole = _together(tallies)
        if self.undealt is not None:
            total, cards = self.undealt.sums[round_number], self.undealt.cards
            # A group has a part of the deck's cards only: what is left over says nothing of it.
            told = mechanism.settle(whole, undealt=(total, cards)) if cards else whole
            return told, tallies
        if not self.announced:
            return whole, tallies
        if by is None:
            groups = {group for one in self.announced for group in one.rounds[round_number]}
            sums = [told for group in sorted(groups) for told in self._sums(round_number, group)]
            return (mechanism.settle(whole, announced=sums) if sums else whole), tallies
        if by != self.by:
            named = "all reports together" if self.by is None else f"the groups of {self.by}"
            raise ProtocolError(
                f"results by {by} need a sum of the cards of each group, and the dealer announced "
                f"those of {named}, once: close a campaign with --by {by} for that"
            )
        off = {}
        for group, tally in tallies.items():
            sums = self._sums(round_number, group)
            off[group] = mechanism.settle(tally, announced=sums) if sums else tally
        return _together(off), off

    def _sums(self, round_number: int, group: str) -> list[Any]:
        told = [one.rounds[round_number].get(group) for one in self.announced]
        return [one.sum for one in told if one is not None and one.sum is not None]


def _together(tallies: Mapping[str, Tally]) -> Tally:
    total = sum(tallies.values())
    assert isinstance(total, Tally)  # of at least one
    return total
