"""What a party does to its database; each job checks first and writes last."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from jrr.errors import JrrError
from jrr.servers.common import holding
from jrr.servers.common.certificates import check_pair
from jrr.servers.common.holding import campaign_of, check_invited, find
from jrr.servers.common.problems import Problem, gone, too_early, unknown_name
from jrr.servers.common.settings import Settings
from jrr.servers.common.tables import envelopes, members, records
from jrr.servers.common.tables import party_campaigns as campaigns
from jrr.servers.common.tables import party_invited as invited
from jrr.servers.common.web import Clock, check_times
from jrr.survey.campaign import Campaign, check_link
from jrr.survey.committee.cards import Envelope, Record, check_committee_mechanism, usable
from jrr.survey.committee.link import Identity
from jrr.survey.committee.merkle import Tree
from jrr.survey.committee.rounds import Member, Outcome
from jrr.survey.states import ABORTED, CLOSED, ENROLLING, NEW, OPEN

SERVING = "serving"  # somebody has been given a share: dealing again would mix two decks
ROWS = 10_000  # envelopes stored at a time


class PartyJobs:
    """The jobs, and what they need to know of the party itself."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._clock = clock
        self._settings = settings
        self.identity = Identity(settings.link_certificate, settings.link_key)
        check_pair("link_certificate and link_key", settings.link_certificate, settings.link_key)
        try:
            self._certificate = Path(settings.link_certificate).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            raise JrrError(
                f"link_certificate must be a PEM file, got {settings.link_certificate!r}"
            ) from None
        self._trees: dict[tuple[str, int], Tree] = {}

    def index(self, campaign: Campaign) -> int:
        """Which party of the campaign this is."""
        shown = [party["certificate"].strip() for party in campaign.dealer["parties"]]
        if self._certificate not in shown:
            raise Problem(422, "refused", "this party's certificate is not in the campaign")
        return shown.index(self._certificate)

    def listen(self, campaign: Campaign) -> tuple[str, int]:
        """Where to wait for the others."""
        port = check_link(campaign.dealer["parties"][self.index(campaign)]["link"])[1]
        return self._settings.link_host, self._settings.link_port or port

    def check(self, campaign: Campaign) -> dict[str, Any]:
        """Refuse a campaign that this party cannot deal."""
        if campaign.dealer["kind"] != "committee":
            raise Problem(422, "refused", "the campaign must be dealt by a committee")
        self.index(campaign)
        check_committee_mechanism(campaign.mechanism)
        return {}

    def open(self, connection: Connection, name: str) -> str:
        """Begin enrolment; the state after it."""
        row = find(connection, campaigns, name, lock=True)
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        if row.state != NEW:
            return str(row.state)
        _set(connection, name, state=ENROLLING)
        return ENROLLING

    def enrol(self, connection: Connection, name: str, who: bytes, key: bytes) -> bool:
        """Take somebody in; False where they are in already."""
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state == NEW:
            raise too_early("enrolment has not begun")
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        check_times(campaign, self._clock())
        check_invited(connection, invited, campaign, name, who)
        known = _member(connection, name, who)
        if known is not None:
            if bytes(known.key) != key:
                raise Problem(409, "conflict", "this pseudonym enrolled with another key")
            return False
        if row.state != ENROLLING:
            raise gone("enrolment has ended")
        if row.arrivals >= campaign.capacity:
            raise Problem(409, "full", "every place is taken")
        taken = select(members.c.campaign).where(members.c.campaign == name, members.c.key == key)
        if not usable(key) or connection.execute(taken).first() is not None:
            raise Problem(422, "refused", "key must be a fresh public key")
        connection.execute(insert(members).values(campaign=name, pseudonym=who, key=key))
        holding.count_arrival(connection, campaigns, row)
        return True

    def roster(
        self, connection: Connection, name: str, again: bool
    ) -> tuple[Campaign | None, list[Member]]:
        """Whom to deal to; None where that is done already."""
        row = find(connection, campaigns, name, lock=True)
        if row.state == SERVING or (row.state == OPEN and not again):
            return None, []
        if row.state not in (ENROLLING, OPEN):
            # After a complaint too: some may have answered with cards of the first deal.
            raise Problem(409, "wrong-state", f"the campaign must be enrolling, it is {row.state}")
        self._forget(connection, name)
        _set(connection, name, state=ENROLLING, n=None)
        query = select(members.c.pseudonym, members.c.key).where(members.c.campaign == name)
        found = [(bytes(who), bytes(key)) for who, key in connection.execute(query)]
        return campaign_of(row), found

    def prepare(self, connection: Connection, name: str, outcome: Outcome) -> None:
        """Keep everything, but serve nothing yet."""
        self._forget(connection, name)
        for record, sealed in zip(outcome.records, outcome.sealed, strict=True):
            connection.execute(
                insert(records).values(campaign=name, round=record.round, record=record.to_json())
            )
            for start in range(0, len(sealed), ROWS):
                part = enumerate(sealed[start : start + ROWS], start)
                connection.execute(
                    insert(envelopes),
                    [
                        {"campaign": name, "round": record.round, "slot": slot, "sealed": entry}
                        for slot, entry in part
                    ],
                )
        rows = [{"who": who, "place": slot} for slot, (who, _) in enumerate(outcome.members)]
        place = (
            update(members)
            .where(members.c.campaign == name, members.c.pseudonym == bindparam("who"))
            .values(slot=bindparam("place"))
        )
        connection.execute(place, rows)

    def publish(self, connection: Connection, name: str, n: int) -> None:
        """Every party has its part: serve."""
        _set(connection, name, state=OPEN, n=n)

    def discard(self, connection: Connection, name: str) -> None:
        """Nothing of a round that was not finished may be used."""
        self._forget(connection, name)

    def _forget(self, connection: Connection, name: str) -> None:
        for table in (envelopes, records):
            connection.execute(delete(table).where(table.c.campaign == name))
        connection.execute(update(members).where(members.c.campaign == name).values(slot=None))
        for key in [key for key in self._trees if key[0] == name]:
            del self._trees[key]

    def cards(self, connection: Connection, name: str, who: bytes) -> dict[str, Any]:
        """The sealed shares of one contributor, with the proofs that belong to them."""
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state in (NEW, ENROLLING):
            raise too_early("the cards are not dealt yet")
        if row.state in (CLOSED, ABORTED):
            raise gone("the cards are burned")
        check_times(campaign, self._clock())
        known = _member(connection, name, who)
        if known is None or known.slot is None:
            raise unknown_name()
        if row.state == OPEN:
            _set(connection, name, state=SERVING)
        rounds = []
        for number in range(campaign.rounds):
            record = _record(connection, name, number)
            sealed = connection.execute(
                select(envelopes.c.sealed).where(
                    envelopes.c.campaign == name,
                    envelopes.c.round == number,
                    envelopes.c.slot == known.slot,
                )
            ).scalar_one()
            tree = self._tree(connection, name, number)
            envelope = Envelope(known.slot, bytes(sealed), tuple(tree.path(known.slot)))
            rounds.append({"record": vars(record), "envelope": envelope.to_document()})
        return {"campaign": name, "n": row.n, "rounds": rounds}

    def _tree(self, connection: Connection, name: str, number: int) -> Tree:
        known = self._trees.get((name, number))
        if known is None:
            query = (
                select(envelopes.c.sealed)
                .where(envelopes.c.campaign == name, envelopes.c.round == number)
                .order_by(envelopes.c.slot)
            )
            known = Tree([bytes(sealed) for sealed in connection.execute(query).scalars()])
            self._trees[name, number] = known
        return known

    def complain(self, connection: Connection, name: str, who: bytes) -> bool:
        """End a dealing of which somebody complains; whether there was one to end."""
        row = find(connection, campaigns, name, lock=True)
        known = _member(connection, name, who)
        if known is None or known.slot is None:
            raise unknown_name()
        if row.state not in (OPEN, SERVING):
            return False
        self._forget(connection, name)
        _set(connection, name, state=ABORTED)
        return True

    def close(self, connection: Connection, name: str) -> dict[str, Any]:
        """End the campaign; nothing of its cards is kept."""
        row = find(connection, campaigns, name, lock=True)
        self._forget(connection, name)
        connection.execute(delete(members).where(members.c.campaign == name))
        _set(connection, name, state=CLOSED)
        return {"state": CLOSED, "n": row.n, "decks": 1}

    def facts(self, connection: Connection, name: str) -> dict[str, Any]:
        """What the operator is told of a deal."""
        row = find(connection, campaigns, name)
        campaign = campaign_of(row)
        found = [_record(connection, name, number).hash for number in range(campaign.rounds)]
        return {"n": row.n, "records": found}

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        row = find(connection, campaigns, name)
        return {
            "campaign": name,
            "state": row.state,
            "n": row.n,
            "invited": holding.count(connection, invited, name),
            "members": holding.count(connection, members, name),
        }


def _record(connection: Connection, name: str, number: int) -> Record:
    text = connection.execute(
        select(records.c.record).where(records.c.campaign == name, records.c.round == number)
    ).scalar_one()
    return Record.from_document(json.loads(text))


def _member(connection: Connection, name: str, who: bytes) -> Any:
    query = select(members).where(members.c.campaign == name, members.c.pseudonym == who)
    return connection.execute(query).one_or_none()


def _set(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(campaigns).where(campaigns.c.campaign == name).values(**values))
