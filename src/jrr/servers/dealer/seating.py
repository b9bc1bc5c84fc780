"""Whose card is which: the seats of people who ask at the same time, read and written together.

A seat is a place in a deck, the same for all questions of a survey.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jrr.protocol.states import Act
from jrr.servers.common.jobs import check_state
from jrr.servers.common.problems import Problem, unknown_name

if TYPE_CHECKING:
    from jrr.dealing.decks import SurveyDecks
    from jrr.dealing.serials import SerialNonce
    from jrr.servers.dealer.keyfiles import KeyFiles
    from jrr.servers.dealer.store import DealerStore, HeldByDealer


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Which cards somebody has, by their place in the decks, and on which device."""

    block: int | None  # None: enrolled, not dealt to yet
    number: int | None
    fetched: bool  # whether its cards may have left the dealer
    device: bytes  # hash of the device's secret; empty where it gave none
    asked: "SerialNonce | None" = None  # what the device chose for verified cards


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks for a place or for cards."""

    survey: str  # its hash
    who: bytes  # hash of the pseudonym
    device: bytes | None = None  # hash of the device's secret
    asked: "SerialNonce | None" = None  # what it chose for verified cards


@dataclass
class Seating:
    """The seats of one survey: one for each person, whatever the number of questions."""

    held: "HeldByDealer"
    invited: Mapping[bytes, Any] | None  # None: anybody may come
    seats: dict[bytes, Seat]  # of those who ask
    serials: dict[bytes, bytes]  # of verified cards -> whose; of those who ask
    new: dict[bytes, Seat] = field(default_factory=dict)
    fetched: list[bytes] = field(default_factory=list)  # whose cards leave for the first time

    @property
    def arrivals(self) -> int:
        """Seats that are taken, those of this moment included."""
        return self.held.arrivals + len(self.new)

    def enrol(self, visitor: Visitor) -> bool:
        """Give somebody a seat for the next deal; False where they have one."""
        self._check_invited(visitor)
        seat = self.seats.get(visitor.who)
        if seat is not None:
            check_device(seat, visitor.device)
            return False
        check_state(Act.ENROL, self.held)
        if self.arrivals >= self.held.survey.capacity:
            raise Problem(409, "full", "every place is taken")
        self._seat(visitor, None)
        return True

    def cards(self, visitor: Visitor, decks: "SurveyDecks") -> dict[str, Any]:
        """Somebody's cards of all questions; whoever has no seat is given the next one."""
        self._check_asked(visitor)
        seat = self.seats.get(visitor.who)
        if seat is not None and seat.block is not None and seat.number is not None:
            check_device(seat, visitor.device)
            if seat.asked != visitor.asked:  # the serial and the nonce are chosen once
                raise Problem(409, "other-device", "another serial was asked with before")
            cards = decks.given(seat.block, seat.number, visitor.asked)
            if not seat.fetched and self._is_masked:
                self.fetched.append(visitor.who)
            return cards
        if self.held.n is not None:  # dealt to exactly those who enrolled
            raise unknown_name()
        self._check_invited(visitor)
        if self.arrivals >= self.held.survey.capacity:
            raise Problem(404, "no-card-left", "every card is dealt: answer without one")
        place = decks.place(self.arrivals)
        cards = decks.given(*place, visitor.asked)  # before the seat is taken: all cards or none
        self._seat(visitor, place)
        return cards

    def _check_asked(self, visitor: Visitor) -> None:
        """Refuse verified cards without a serial of one's own, and a serial elsewhere."""
        if (visitor.asked is not None) != self.held.survey.dealing.is_verified:
            allowed = "serial and nonce must be given exactly where cards are verified"
            raise Problem(422, "refused", allowed)
        if visitor.asked is not None:
            owner = self.serials.setdefault(visitor.asked.serial, visitor.who)
            if owner != visitor.who:
                raise Problem(409, "serial-used", "somebody else has asked with this serial")

    @property
    def _is_masked(self) -> bool:
        """Whether it matters at the end who has fetched cards."""
        return any(question.mechanism.masked for question in self.held.survey.dealt)

    def _check_invited(self, visitor: Visitor) -> None:
        if self.invited is not None and visitor.who not in self.invited:
            raise unknown_name()

    def _seat(self, visitor: Visitor, place: tuple[int, int] | None) -> None:
        """place: Block and number, where the cards are given away now."""
        block, number = place or (None, None)
        seat = Seat(
            block=block,
            number=number,
            fetched=place is not None,
            device=visitor.device or b"",
            asked=visitor.asked,
        )
        self.seats[visitor.who] = self.new[visitor.who] = seat

    def keep(self, store: "DealerStore", keys: "KeyFiles") -> None:
        """Write what is new, and beside the key how many seats there are then."""
        name = self.held.name
        if self.new:
            # Counted again then: a part of the transaction may have been taken back.
            store.when_committed(lambda: keys.note_seats(name, store.committed_arrivals(name)))
        store.add_seats(name, self.new)
        store.count_arrivals(self.held, len(self.new))
        store.note_fetched(name, self.fetched)


def check_device(seat: Seat, device: bytes | None) -> None:
    """Whoever made the invitations could ask too: the cards are only for who came first.

    A seat that was taken without a device is not shared with one either, or its rightful owner
    would never notice that somebody else has the card.
    """
    if not hmac.compare_digest(seat.device, device or b""):
        raise Problem(409, "other-device", "another device has asked under this pseudonym")
