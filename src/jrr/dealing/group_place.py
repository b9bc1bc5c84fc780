"""What a member of a group keeps from a deal until it answers: its place in the shuffled deck.

The members of a group shuffle the numbers 1..n and each learns its own. The deck of a mechanism is
public when it is sorted, so a place in it is a card, whatever the mechanism.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jrr._base import checks
from jrr._base.files import write_once
from jrr.dealing.committee.cards import card_of, deck_of
from jrr.dealing.committee.meeting import Peer
from jrr.dealing.committee.schedule import default_threshold
from jrr.dealing.interface import Hand, Hands
from jrr.errors import DamagedError, JrrError, ProtocolError
from jrr.protocol.texts import check_link, split_link

if TYPE_CHECKING:
    from jrr.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class GroupMembers:
    """Who deals among themselves."""

    name: str  # of the deal, a new one each time
    peers: list[Peer]
    threshold: int | None  # members that may collude; None: a minority
    survey: str | None = None  # the name of the survey that the cards are for

    @property
    def effective_threshold(self) -> int:
        """Members that may collude and still learn no card."""
        return default_threshold(len(self.peers)) if self.threshold is None else self.threshold

    @property
    def agreed_name(self) -> str:
        """What all members must agree on: cards for one survey are none for another."""
        return self.name if self.survey is None else f"{self.name} for {self.survey}"


def read_group(file: Path) -> GroupMembers:
    """The group that a file names.

    Args:
        file: {"name": …, "threshold": …, "members": [{"link": …, "certificate": …}, …]} in JSON,
            and "survey": its link, where the cards are for one.

    Returns:
        Its members, in order.

    Raises:
        ArgumentError: There is no such file.
        DamagedError: It does not name 3 to 16 different members.
    """
    try:
        document = json.loads(file.read_text("utf-8"))
        entries = document["members"]
        peers = [Peer(*check_link(entry["link"]), str(entry["certificate"])) for entry in entries]
        checks.integer("members", len(peers), 3, 16)
        threshold = document.get("threshold")
        if threshold is not None:
            threshold = checks.integer("threshold", threshold, 1, (len(peers) - 1) // 2)
        link = document.get("survey")
        members = GroupMembers(
            name=str(document["name"]),
            peers=peers,
            threshold=threshold,
            survey=None if link is None else split_link(link)[1],
        )
    except JrrError as error:
        raise DamagedError(f"file must name the group's members, in {file} {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"file must name the group's members, {file} does not: {error!r}"
        ) from None
    except OSError:
        raise checks.refusal("file", str(file), "a file that exists") from None
    if len({peer.certificate for peer in peers}) != len(peers):
        raise DamagedError("members must have certificates of their own, got one twice")
    return members


VERSION = 1


@dataclass(frozen=True, kw_only=True)
class GroupPlace:
    """A secret of one member: whoever has it and the report has the view "dealer"."""

    survey: str  # the name of the survey that it was dealt for
    group: str  # what the members called the round
    members: int
    threshold: int  # members that may collude and still learn no card
    shuffled_id: int  # 1..members; all places of a group are different

    def __post_init__(self) -> None:
        checks.integer("members", self.members, 2)
        checks.integer("threshold", self.threshold, 0, self.members - 1)
        checks.integer("shuffled_id", self.shuffled_id, 1, self.members)

    def hands(self, survey: "Survey") -> Hands:
        """The card for a survey.

        Args:
            survey: Whose contributors deal among themselves.

        Returns:
            The card at this place in its deck.

        Raises:
            ProtocolError: The card was dealt for another survey, in a group of another size, or
                by a protocol that withstands fewer colluders than the survey counts on.
        """
        if self.survey != survey.hash:
            raise ProtocolError("the card was dealt for another survey")
        (question,) = survey.dealt
        mechanism = question.mechanism
        if self.members != mechanism.moments.deck:
            raise ProtocolError(
                f"the card was dealt in a group of {self.members}, the survey asks for groups of "
                f"{mechanism.moments.deck}"
            )
        if self.threshold < question.colluders:
            raise ProtocolError(
                f"the card was dealt with threshold {self.threshold}, the survey counts on "
                f"{question.colluders} colluders: deal again with a larger threshold"
            )
        card = card_of(mechanism, deck_of(mechanism)[self.shuffled_id - 1])
        return Hands({question.name: Hand(card)})

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
        raise DamagedError(
            f"{file} must be a card that jrr survey deal-in-group wrote: {error!r}"
        ) from None
    except OSError as error:
        raise checks.refusal("card", str(file), f"readable ({error.strerror})") from None
