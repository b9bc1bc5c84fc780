"""What a member of a group keeps from a deal until it answers: its place in the shuffled deck.

The members of a group shuffle the numbers 1..n and each learns its own. The deck of a mechanism is
public when it is sorted, so a place in it is a card, whatever the mechanism.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from jrr._base import checks
from jrr._base.files import write_once
from jrr.errors import DamagedError, JrrError, ProtocolError
from jrr.survey.campaign import Campaign
from jrr.survey.committee.cards import card_of, deck_of

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class GroupPlace:
    """A secret of one member: whoever has it and the report has the view "dealer"."""

    campaign: str  # the name of the campaign that it was dealt for
    group: str  # what the members called the deal
    members: int
    threshold: int  # members that may collude and still learn no card
    shuffled_id: int  # 1..members; all places of a group are different

    def __post_init__(self) -> None:
        checks.integer("members", self.members, 2)
        checks.integer("threshold", self.threshold, 0, self.members - 1)
        checks.integer("shuffled_id", self.shuffled_id, 1, self.members)

    def card_in(self, campaign: Campaign) -> int:
        """The card for a campaign.

        Args:
            campaign: Whose contributors deal among themselves.

        Returns:
            The card at this place in its deck.

        Raises:
            ProtocolError: The card was dealt for another campaign, in a group of another size, or
                by a protocol that withstands fewer colluders than the campaign counts on.
        """
        if self.campaign != campaign.hash or not campaign.by_groups:
            raise ProtocolError("the card was dealt for another campaign")
        mechanism = campaign.mechanism
        if self.members != mechanism.moments.deck:
            raise ProtocolError(
                f"the card was dealt in a group of {self.members}, the campaign asks for groups of "
                f"{mechanism.moments.deck}"
            )
        if self.threshold < campaign.colluders:
            raise ProtocolError(
                f"the card was dealt with threshold {self.threshold}, the campaign counts on "
                f"{campaign.colluders} colluders: deal again with a larger threshold"
            )
        return card_of(mechanism, deck_of(mechanism)[self.shuffled_id - 1])

    def write(self, file: Path) -> None:
        """Write a private file that does not exist yet.

        Raises:
            ArgumentError: It does.
        """
        try:
            write_once(file, json.dumps({"jrr_group_place": VERSION} | asdict(self)))
        except FileExistsError:
            raise checks.refusal("out", str(file), "a file that does not exist yet") from None


def read_place(file: Path) -> GroupPlace:
    """The place that `GroupPlace.write` wrote.

    Raises:
        ArgumentError: There is no such file.
        DamagedError: It is another one.
    """
    try:
        document = dict(json.loads(file.read_text("utf-8")))
        version = document.pop("jrr_group_place")
        checks.integer("jrr_group_place", version, VERSION, VERSION)
        return GroupPlace(**document)
    except (JrrError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{file} must be a card that jrr mpc group wrote: {error!r}") from None
    except OSError as error:
        raise checks.refusal("card", str(file), f"readable ({error.strerror})") from None
