"""What a party does to its database; each job checks first and writes last."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from jrr.errors import ArgumentError
from jrr.servers.common.certificates import check_pair
from jrr.servers.common.jobs import CampaignJobs, Clock, check_state, check_times, utc_now
from jrr.servers.common.problems import Problem, unknown_name
from jrr.servers.common.settings import Settings
from jrr.servers.party.store import PartyStore
from jrr.survey.addresses import check_link
from jrr.survey.campaign import Campaign
from jrr.survey.committee.cards import Envelope, check_committee_mechanism, usable
from jrr.survey.committee.link import Identity
from jrr.survey.committee.merkle import Tree
from jrr.survey.committee.rounds import DealtRounds, Member
from jrr.survey.committee_order import committee_of
from jrr.survey.dealer_kinds import Committee
from jrr.survey.states import ABORTED, CLOSED, ENROLLING, NEW, OPEN, SERVING, Act, State


class PartyJobs(CampaignJobs[PartyStore]):
    """The jobs, and what they need to know of the party itself."""

    title = "jrr committee party"
    store = PartyStore

    def __init__(self, settings: Settings, clock: Clock = utc_now) -> None:
        super().__init__(clock)
        self._settings = settings
        self.identity = Identity(settings.link_certificate, settings.link_key)
        check_pair("link_certificate and link_key", settings.link_certificate, settings.link_key)
        try:
            self._certificate = Path(settings.link_certificate).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            raise ArgumentError(
                f"link_certificate must be a PEM file, got {settings.link_certificate!r}"
            ) from None
        self._trees: dict[tuple[str, int], Tree] = {}

    def number(self, campaign: Campaign) -> int:
        """Which party of the campaign this is."""
        shown = [party.certificate.strip() for party in committee_of(campaign).parties]
        if self._certificate not in shown:
            raise Problem(422, "refused", "this party's certificate is not in the campaign")
        return shown.index(self._certificate)

    def listen(self, campaign: Campaign) -> tuple[str, int]:
        """Where to wait for the others."""
        link = committee_of(campaign).parties[self.number(campaign)].link
        return self._settings.link_host, self._settings.link_port or check_link(link)[1]

    def new_columns(self, campaign: Campaign) -> dict[str, Any]:
        """Nothing; refuses a campaign that this party cannot deal."""
        if not isinstance(campaign.dealer, Committee):
            raise Problem(422, "refused", "the campaign must be dealt by a committee")
        self.number(campaign)
        check_committee_mechanism(campaign.mechanism)
        return {}

    def open(self, connection: Connection, name: str) -> State:
        """Begin enrolment; the state after it."""
        store = PartyStore(connection)
        held = store.find(name, lock=True)
        check_state(Act.OPEN, held)
        if held.state != NEW:
            return held.state
        store.move(held, ENROLLING)
        return ENROLLING

    def enrol(self, connection: Connection, name: str, who: bytes, key: bytes) -> bool:
        """Take somebody in; False where they are in already."""
        store = PartyStore(connection)
        held = store.find(name, lock=True)
        check_state(Act.ENROL_AGAIN, held)
        check_times(held.campaign, self.clock())
        self.check_invited(store, held, who)
        member = store.member(name, who)
        if member is not None:
            if member.key != key:
                raise Problem(409, "conflict", "this pseudonym enrolled with another key")
            return False
        check_state(Act.ENROL, held)
        if held.arrivals >= held.campaign.capacity:
            raise Problem(409, "full", "every place is taken")
        if not usable(key) or store.has_key(name, key):
            raise Problem(422, "refused", "key must be a fresh public key")
        store.add_member(name, who, key)
        store.count_arrival(held)
        return True

    def begin_deal(
        self, connection: Connection, name: str, again: bool
    ) -> tuple[Campaign, list[Member]] | None:
        """Whom to deal to; None where that is done already (again: do it anew if possible)."""
        store = PartyStore(connection)
        held = store.find(name, lock=True)
        if held.state == SERVING or (held.state == OPEN and not again):
            return None
        check_state(Act.DEAL, held)
        self._forget(store, name)
        store.move(held, ENROLLING, n=None)
        return held.campaign, store.roster(name)

    def keep_deal(self, connection: Connection, name: str, dealt: DealtRounds) -> None:
        """Keep everything, but serve nothing yet."""
        store = PartyStore(connection)
        self._forget(store, name)
        store.add_deal(name, dealt)

    def publish_deal(self, connection: Connection, name: str, n: int) -> None:
        """Every party has its part: serve."""
        store = PartyStore(connection)
        store.move(store.find(name, lock=True), OPEN, n=n)

    def discard_deal(self, connection: Connection, name: str) -> None:
        """Nothing of a round that was not finished may be used."""
        self._forget(PartyStore(connection), name)

    def _forget(self, store: PartyStore, name: str) -> None:
        store.remove_deal(name)
        for key in [key for key in self._trees if key[0] == name]:
            del self._trees[key]

    def cards(self, connection: Connection, name: str, who: bytes) -> dict[str, Any]:
        """The sealed shares of one contributor, with the proofs that belong to them."""
        store = PartyStore(connection)
        held = store.find(name, lock=True)
        check_state(Act.FETCH_CARDS, held)
        check_times(held.campaign, self.clock())
        slot = _slot(store, name, who)
        if held.state == OPEN:
            store.move(held, SERVING)
        rounds = []
        for number in range(held.campaign.rounds):
            path = self._tree(store, name, number).path(slot)
            envelope = Envelope(slot, store.envelope(name, number, slot), tuple(path))
            record = store.record(name, number)
            rounds.append({"record": vars(record), "envelope": envelope.to_document()})
        return {"campaign": name, "n": held.n, "rounds": rounds}

    def _tree(self, store: PartyStore, name: str, number: int) -> Tree:
        """What the party committed to in a round; kept, since it takes all its envelopes."""
        if (name, number) not in self._trees:
            self._trees[name, number] = Tree(store.round_envelopes(name, number))
        return self._trees[name, number]

    def complain(self, connection: Connection, name: str, who: bytes) -> bool:
        """End a dealing of which somebody complains; whether there was one to end."""
        store = PartyStore(connection)
        held = store.find(name, lock=True)
        _slot(store, name, who)
        if held.state not in (OPEN, SERVING):
            return False
        self._forget(store, name)
        store.move(held, ABORTED)
        return True

    def close(self, connection: Connection, name: str) -> dict[str, Any]:
        """End the campaign; nothing of its cards is kept."""
        store = PartyStore(connection)
        held = store.find(name, lock=True)
        self._forget(store, name)
        store.remove_members(name)
        store.move(held, CLOSED)
        return {"state": CLOSED, "n": held.n, "decks": 1}

    def deal_facts(self, connection: Connection, name: str) -> dict[str, Any]:
        """What the operator is told of a deal."""
        store = PartyStore(connection)
        held = store.find(name)
        rounds = range(held.campaign.rounds)
        return {"n": held.n, "records": [store.record(name, number).hash for number in rounds]}

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        store = PartyStore(connection)
        held = store.find(name)
        return {
            "campaign": name,
            "state": held.state,
            "n": held.n,
            "invited": store.count(store.invited, name),
            "members": store.count(store.members, name),
        }


def _slot(store: PartyStore, name: str, who: bytes) -> int:
    """The slot of somebody who was dealt to."""
    member = store.member(name, who)
    if member is None or member.slot is None:
        raise unknown_name()
    return member.slot
