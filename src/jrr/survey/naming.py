"""What goes between collector and dealer at the end of a campaign whose card sums are announced.

The collector names the reports that it has by the serial numbers that came with them (`Naming`),
and the dealer tells the noisy sum of exactly those cards (`Announcement`), once. The operator
carries both. Names may be in disjoint groups, the values of one public covariate or several of them
together (jrr.survey.grouping): then every group has a sum of its own, and results by group can be
shown. Both documents say which grouping it is.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.told_sums import CardSum, Merged
from jrr.survey.campaign import Campaign
from jrr.survey.documents import canonical_json
from jrr.survey.grouping import CardGrouping
from jrr.survey.serials import serial_from_hex


@dataclass(frozen=True, kw_only=True)
class Naming:
    """The serial numbers of one dealer's cards that reports came with."""

    campaign: str  # its hash
    by: str | None  # the covariate whose values are the groups; None: everybody is one group
    merged: Merged = field(default_factory=dict, hash=False)  # groups of several values
    serials: Mapping[str, tuple[bytes, ...]]  # group -> serial numbers

    @property
    def grouping(self) -> CardGrouping:
        """In which groups they are."""
        return CardGrouping(by=self.by, merged=self.merged)

    def to_document(self) -> dict[str, Any]:
        """As it is sent: sorted, so that the same names are the same bytes."""
        return {
            "campaign": self.campaign,
            **self.grouping.to_document(),
            "serials": {
                group: [serial.hex() for serial in sorted(names)]
                for group, names in self.serials.items()
            },
        }

    @property
    def digest(self) -> str:
        """By which a dealer knows the same names again."""
        return hashlib.sha256(canonical_json(self.to_document())).hexdigest()

    @classmethod
    def from_document(cls, campaign: Campaign, document: object) -> "Naming":
        """The naming that `to_document` wrote.

        Raises:
            DamagedError: It is none, or of another campaign.
            ArgumentError: A serial number is named twice.
        """
        grouping, given = _read(campaign, document, "serials")
        named = {group: _serials(group, names) for group, names in given.items()}
        everything = [serial for names in named.values() for serial in names]
        doubled = len(everything) - len(set(everything))
        if doubled:
            raise ArgumentError(f"serials must be named once each, got {doubled} named again")
        return cls(campaign=campaign.hash, by=grouping.by, merged=grouping.merged, serials=named)


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """What one dealer announced of its cards, once and for all."""

    campaign: str
    by: str | None
    merged: Merged = field(default_factory=dict, hash=False)
    sums: Mapping[str, CardSum]  # group -> sum

    @property
    def grouping(self) -> CardGrouping:
        """In which groups they are."""
        return CardGrouping(by=self.by, merged=self.merged)

    def to_document(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "campaign": self.campaign,
            **self.grouping.to_document(),
            "sums": {group: told.to_document() for group, told in self.sums.items()},
        }

    @classmethod
    def from_document(cls, campaign: Campaign, document: object) -> "Announcement":
        """The announcement that `to_document` wrote.

        Raises:
            DamagedError: It is none, or of another campaign.
        """
        grouping, given = _read(campaign, document, "sums")
        told = {group: _card_sum(campaign, one) for group, one in given.items()}
        return cls(campaign=campaign.hash, by=grouping.by, merged=grouping.merged, sums=told)


def read_undealt(campaign: Campaign, document: object) -> CardSum:
    """What a dealer tells of closed decks: how many cards nobody fetched, and their sum.

    Raises:
        DamagedError: It is nothing of the kind.
    """
    return _card_sum(campaign, document)


def _read(
    campaign: Campaign, document: object, what: str
) -> tuple[CardGrouping, Mapping[str, Any]]:
    if not isinstance(document, Mapping) or set(document) - {"merged"} != {"campaign", "by", what}:
        raise DamagedError(f"a naming or announcement must be of campaign, by and {what}")
    if document["campaign"] != campaign.hash:
        raise DamagedError("a naming or announcement must be of this campaign, got another's")
    grouping, given = CardGrouping.from_document(campaign, document), document[what]
    if not isinstance(given, Mapping) or not set(given) <= set(grouping.names(campaign)):
        raise DamagedError(f"{what} must have the groups of their covariate and no others")
    return grouping, given


def _serials(group: str, names: object) -> tuple[bytes, ...]:
    if not isinstance(names, list):
        raise DamagedError(f"serials of the group {group!r:.80} must be a list")
    return tuple(serial_from_hex(name) for name in names)


def _card_sum(campaign: Campaign, document: object) -> CardSum:
    mechanism = campaign.mechanism
    try:
        return CardSum.from_document(document, 1 if mechanism.k == 2 else mechanism.k)
    except ArgumentError as error:
        raise DamagedError(f"an announced sum must be one of this campaign: {error}") from None
