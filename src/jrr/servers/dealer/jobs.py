"""What the dealer does to its database; each job checks first and writes last."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from jrr._base.forgetting import overwrite
from jrr.errors import DamagedError, JrrError
from jrr.servers.common.batch import as_problem, in_groups
from jrr.servers.common.jobs import (
    CampaignJobs,
    Clock,
    check_state,
    check_times,
    check_whole,
    utc_now,
)
from jrr.servers.common.problems import Problem, gone
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.seating import Seating, Visitor, check_device, keep_seats
from jrr.servers.dealer.store import DealerCampaign, DealerStore
from jrr.survey.announcing import announce, place_numbers, undealt_sum, unknown_serials
from jrr.survey.campaign import Campaign
from jrr.survey.dealer import Dealer
from jrr.survey.dealer_kinds import DealerServer, DealerServers
from jrr.survey.naming import Naming
from jrr.survey.states import CLOSED, ENROLLING, NEW, OPEN, Act, State

log = logging.getLogger("jrr.servers")
T = TypeVar("T")


def _campaign_of(visitor: Visitor) -> str:
    return visitor.campaign


def _outcome(act: Callable[[Visitor], T], visitor: Visitor) -> T | Problem:
    try:
        return act(visitor)
    except (Problem, JrrError) as error:
        return as_problem(error)


class DealerJobs(CampaignJobs[DealerStore]):
    """The jobs, and the decks that are open."""

    title = "jrr dealer"
    store = DealerStore

    def __init__(self, keys: KeyFiles, clock: Clock = utc_now) -> None:
        super().__init__(clock)
        self.keys = keys
        self._dealers: dict[str, Dealer] = {}
        self._said: set[str] = set()  # in the log

    def new_columns(self, campaign: Campaign) -> dict[str, Any]:
        """A fresh key; refuses a campaign that another kind of dealer deals."""
        if not isinstance(campaign.dealer, DealerServer | DealerServers):
            raise Problem(422, "refused", "the campaign must have this kind of dealer")
        key, wrapped = self.keys.create(campaign.hash)
        overwrite(key)  # it is unwrapped when the first card is dealt
        return {"wrapped_key": wrapped}

    def open(self, connection: Connection, name: str) -> State:
        """Begin enrolment, or dealing on arrival; the state after it."""
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        check_state(Act.OPEN, held)
        if held.state != NEW:
            return held.state
        state = ENROLLING if held.campaign.enrols else OPEN
        store.move(held, state)
        return state

    def enrol_all(self, connection: Connection, people: Sequence[Visitor]) -> list[bool | Problem]:
        """Take people in; of each, False where they are in already, or why they are refused."""
        return in_groups(people, _campaign_of, partial(self._enrol_some, DealerStore(connection)))

    def _enrol_some(
        self, store: DealerStore, name: str, people: Sequence[Visitor]
    ) -> list[bool | Problem]:
        held = store.find(name, lock=True)
        if not held.campaign.enrols:
            raise Problem(409, "no-enrolment", "cards are dealt on arrival: ask for cards")
        check_state(Act.ENROL_AGAIN, held)
        check_times(held.campaign, self.clock())
        self._check_backup(held)
        names = [visitor.who for visitor in people]
        invited = store.invitations(name, names) if held.campaign.invitations else None
        table = Seating(held, invited, store.seats_of(name, names))

        def enrol(visitor: Visitor) -> bool:
            table.check_invited(visitor)
            seat = table.seats.get(visitor.who)
            if seat is not None:
                check_device(seat, visitor.device)
                return False
            check_state(Act.ENROL, held)
            if table.arrivals >= held.campaign.capacity:
                raise Problem(409, "full", "every place is taken")
            table.seat(visitor, None)
            return True

        outcomes = [_outcome(enrol, visitor) for visitor in people]
        keep_seats(store, self.keys, [table])
        return outcomes

    def deal(self, connection: Connection, name: str) -> dict[str, Any]:
        """Deal to exactly those who enrolled; again changes nothing."""
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        if held.state == OPEN:
            return {"n": held.n}
        check_state(Act.DEAL, held)
        n = store.count(store.seats, name)
        held.campaign.for_people(n)  # too few people would break the guarantee: refused
        store.number_seats(name)
        store.move(held, OPEN, n=n)
        return {"n": n}

    def cards_all(
        self, connection: Connection, people: Sequence[Visitor]
    ) -> list[dict[str, Any] | Problem]:
        """People's cards, the same ones however often they ask; or why not."""
        return in_groups(people, _campaign_of, partial(self._cards_some, DealerStore(connection)))

    def cards(
        self, connection: Connection, name: str, who: bytes, device: bytes | None
    ) -> dict[str, Any]:
        """Somebody's card; the same ones however often they ask."""
        (outcome,) = self.cards_all(connection, [Visitor(name, who, device)])
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    def _cards_some(
        self, store: DealerStore, name: str, people: Sequence[Visitor]
    ) -> list[dict[str, Any] | Problem]:
        held = store.find(name, lock=True)
        self.check_dealing(held)
        names = [visitor.who for visitor in people]
        invited = store.invitations(name, names) if held.campaign.invitations else None
        seating = Seating(held, invited, store.seats_of(name, names))
        outcomes = [_outcome(partial(self.hand, seating), visitor) for visitor in people]
        keep_seats(store, self.keys, [seating])
        return outcomes

    def check_dealing(self, held: DealerCampaign) -> None:
        """Refuse unless cards are given away now."""
        check_state(Act.FETCH_CARDS, held)
        check_times(held.campaign, self.clock())
        self._dealer(held)

    def hand(self, seating: Seating, visitor: Visitor) -> dict[str, Any]:
        """Somebody's cards; they are seated if they were not yet."""
        held = seating.held
        dealer = self._dealers[held.name]  # opened by check_dealing
        check_whole(held, visitor.survey)
        place = seating.place_of(visitor, dealer)
        card = dealer.card(*place)
        reply = {"campaign": held.name, "n": dealer.block_size, "card": card}
        if held.campaign.announces:
            reply["serial"] = dealer.serial_number(*place)
        return reply

    def close(
        self, connection: Connection, name: str, *, without_sum: bool = False
    ) -> dict[str, Any]:
        """End the campaign; what it was told of its cards, if anything. `burn` comes next.

        without_sum: Where card sums are announced, end without one: reports that were made with a
        card are then worth nothing.
        """
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        if held.campaign.announces and held.told is None and held.state != CLOSED:
            if not without_sum:
                raise Problem(
                    409, "sum-wanted", "the collector's serials must be named first (announce)"
                )
            store.move(held, CLOSED, wrapped_key=None)
        elif held.campaign.mechanism.masked and held.state != CLOSED:
            dealt = held.state == OPEN
            store.tell(held, {"undealt": self._undealt(store, held)} if dealt else {})
        elif not held.campaign.mechanism.masked:
            self.burn(name)  # first: from here on nothing below matters for privacy
            store.move(held, CLOSED, wrapped_key=None)
        decks = 1 if held.campaign.enrols else held.campaign.mechanism.fewest_decks(held.arrivals)
        reply = {"state": CLOSED, "n": held.n, "decks": decks}
        told = store.find(name).told or {}
        return reply | {key: told[key] for key in ("undealt", "announced") if key in told}

    def announce(self, connection: Connection, name: str, document: object) -> dict[str, Any]:
        """Tell the noisy sum of the named cards, once; the same names again are told the same.

        It ends the campaign. When this is committed, `burn` destroys the key, and only then may
        anybody be answered: so whatever breaks down in between, there is one announcement at most,
        and what was told is never lost with the key.
        """
        store = DealerStore(connection)
        held, naming = self._named(store, name, document)
        if held.told is not None:
            if held.told["named"] != naming.digest:
                raise Problem(
                    409,
                    "announced",
                    "the sum was announced for other serials: another one could give away a card",
                )
            return dict(held.told["announced"])
        if held.state == CLOSED:
            raise gone("the cards are burned, and no sum was announced")
        dealer, dealt = self._dealt(store, held)
        told = announce(dealer, naming, dealt, held.campaign.smallest_group).to_document()
        store.tell(held, {"named": naming.digest, "announced": told})
        return told

    def unknown(self, connection: Connection, name: str, document: object) -> list[str]:
        """Which of the named serials nobody was given; none once their sum is announced."""
        store = DealerStore(connection)
        held, naming = self._named(store, name, document)
        if held.told is not None:
            return []
        check_state(Act.FETCH_CARDS, held)
        dealer, dealt = self._dealt(store, held)
        return [serial.hex() for serial in unknown_serials(dealer, naming, dealt)]

    def burn(self, name: str) -> None:
        """Forget a campaign's key, in memory and for good."""
        dealer = self._dealers.pop(name, None)
        if dealer is not None:
            dealer.forget()
        self.keys.burn(name)

    def finish_burning(self, connection: Connection) -> None:
        """Destroy the keys of campaigns that are over: an end may have been interrupted."""
        for name in DealerStore(connection).closed():
            self.burn(name)

    def _named(
        self, store: DealerStore, name: str, document: object
    ) -> tuple[DealerCampaign, Naming]:
        held = store.find(name, lock=True)
        if not held.campaign.announces:
            raise Problem(409, "wrong-state", "the campaign's card sums are not announced")
        return held, Naming.from_document(held.campaign, document)

    def _dealt(self, store: DealerStore, held: DealerCampaign) -> tuple[Dealer, Any]:
        """The decks, and the places of all cards that may have left them."""
        dealer = self._dealer(held)
        return dealer, place_numbers(dealer, store.places(held.name))

    def _undealt(self, store: DealerStore, held: DealerCampaign) -> dict[str, Any]:
        dealer, dealt = self._dealt(store, held)
        blocks = 1 if held.campaign.enrols else -(-held.arrivals // dealer.block_size)
        return undealt_sum(dealer, blocks, dealt).to_document()

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store = DealerStore(connection)
        held = store.find(name)
        return {
            "campaign": name,
            "state": held.state,
            "n": held.n,
            "invited": store.count(store.invited, name),
            "seats": store.count(store.seats, name),
        } | ({"announced": held.told is not None} if held.campaign.announces else {})

    def _dealer(self, held: DealerCampaign) -> Dealer:
        """The campaign's decks, from its key; kept open until the campaign is closed."""
        self._check_backup(held)
        if held.name in self._dealers:
            return self._dealers[held.name]
        dealer = Dealer(held.mechanism, self._key(held))
        self._dealers[held.name] = dealer
        return dealer

    def _key(self, held: DealerCampaign) -> bytes:
        """The campaign's key; who asks for it overwrites it."""
        key = None
        if held.wrapped_key is not None:
            try:
                key = self.keys.unwrap(held.name, held.wrapped_key)
            except JrrError as error:
                raise self._unusable(error) from None
        if key is None:
            raise gone("the cards are burned")
        return key

    def _check_backup(self, held: DealerCampaign) -> None:
        """Refuse to deal from a database that knows of fewer seats than were given away."""
        # Every time: a database may go back under a dealer that runs (a restored PostgreSQL).
        try:
            given = max(self.keys.seats(name) for name in {held.name, held.survey or held.name})
        except JrrError as error:
            raise self._unusable(error) from None
        if held.arrivals < given:
            raise self._unusable(
                DamagedError(
                    f"the database has {held.arrivals} seats of campaign {held.name[:12]}, but "
                    f"{given} were given away: is it from an older backup? cards would be dealt "
                    "twice"
                )
            )

    def _unusable(self, error: JrrError) -> Problem:
        """Say once in the log why the deck stays closed; people are told to come back."""
        if str(error) not in self._said:
            self._said.add(str(error))
            log.error("%s", error)
        return Problem(503, "no-key", "the dealer cannot open its deck", {"Retry-After": "60"})

    def check_ready(self, connection: Connection) -> None:
        """Refuse unless every campaign that is open could be dealt."""
        try:
            self.keys.check()
        except JrrError as error:
            raise self._unusable(error) from None
        store = DealerStore(connection)
        for name in store.open_ones():
            self._dealer(store.find(name))
