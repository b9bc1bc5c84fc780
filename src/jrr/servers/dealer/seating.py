"""Who sits where, as far as it concerns those who ask together: looked up and written at once."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jrr.servers.common.problems import Problem, unknown_name

if TYPE_CHECKING:
    from jrr.servers.dealer.keyfiles import KeyFiles
    from jrr.servers.dealer.store import DealerCampaign, DealerStore
    from jrr.survey.dealer import Dealer


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Where somebody sits, and on which device."""

    block: int | None  # None: enrolled, not dealt to yet
    number: int | None
    fetched: bool  # whether its cards may have left the dealer
    device: bytes  # hash of the device's secret; empty where it gave none


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks for a place or for cards."""

    campaign: str
    who: bytes  # hash of the pseudonym
    device: bytes | None  # hash of the device's secret
    survey: str | None = None  # through which they ask, if they do


@dataclass
class Seating:
    """The seats of one campaign."""

    held: "DealerCampaign"
    invited: Mapping[bytes, Any] | None  # None: anybody may come
    seats: dict[bytes, Seat]  # of those who ask
    new: dict[bytes, Seat] = field(default_factory=dict)
    fetched: list[bytes] = field(default_factory=list)  # whose cards leave for the first time

    @property
    def arrivals(self) -> int:
        """Seats that are taken, those of this moment included."""
        return self.held.arrivals + len(self.new)

    def check_invited(self, visitor: Visitor) -> None:
        """Refuse whoever was not invited."""
        if self.invited is not None and visitor.who not in self.invited:
            raise unknown_name()

    def seat(self, visitor: Visitor, place: tuple[int, int] | None) -> None:
        """Seat somebody; place: block and number, where the cards are given away now."""
        block, number = place or (None, None)
        device = visitor.device or b""
        seat = Seat(block=block, number=number, fetched=place is not None, device=device)
        self.seats[visitor.who] = self.new[visitor.who] = seat

    def unseat(self, visitor: Visitor) -> None:
        """Take back the last seat that was given away, if it is this visitor's."""
        if visitor.who in self.new:
            del self.new[visitor.who], self.seats[visitor.who]

    def place_of(self, visitor: Visitor, dealer: "Dealer") -> tuple[int, int]:
        """Block and number of somebody's seat; they are given the next one if they have none."""
        seat = self.seats.get(visitor.who)
        campaign = self.held.campaign
        if seat is not None and seat.block is not None and seat.number is not None:
            check_device(seat, visitor.device)
            if not seat.fetched and campaign.mechanism.masked:
                self.fetched.append(visitor.who)
            return seat.block, seat.number
        if campaign.enrols:
            raise unknown_name()
        self.check_invited(visitor)
        if self.arrivals >= campaign.capacity:
            raise Problem(404, "no-card-left", "every card is dealt: answer without one")
        place = dealer.place(self.arrivals)
        self.seat(visitor, place)
        return place


def keep_seats(store: "DealerStore", keys: "KeyFiles", seatings: Sequence[Seating]) -> None:
    """Write what is new, and beside the keys how many seats there are then.

    The parts of a survey have one number for all of them: whoever has a card of one has of each.
    """
    for survey, held in {
        one.held.survey or one.held.name: one.held for one in seatings if one.new
    }.items():
        # Counted again then: a part of the transaction may have been taken back.
        def note(name: str = survey, counted: str = held.name) -> None:
            keys.note_seats(name, store.committed_arrivals(counted))

        store.when_committed(note)
    store.add_seats({one.held.name: one.new for one in seatings})
    store.count_all_arrivals([(one.held, len(one.new)) for one in seatings])
    for one in seatings:
        store.note_fetched(one.held.name, one.fetched)


def check_device(seat: Seat, device: bytes | None) -> None:
    """Whoever made the invitations could ask too: the cards are only for who came first.

    A seat that was taken without a device is not shared with one either, or its rightful owner
    would never notice that somebody else has the card.
    """
    if not hmac.compare_digest(seat.device, device or b""):
        raise Problem(409, "other-device", "another device has asked under this pseudonym")
