"""Campaigns that a server holds: installing, inviting, looking up. Alike for both roles."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite

from jrr._base import checks
from jrr.errors import JrrError
from jrr.servers.common.problems import Problem, gone, unknown_campaign, unknown_name
from jrr.survey.campaign import Campaign, hash_of, read_campaign
from jrr.survey.messages import parse
from jrr.survey.states import CLOSED, NEW


def campaign_of(row: Any) -> Campaign:
    """The campaign in a row; parsed once."""
    return read_campaign(bytes(row.document))


def count_arrival(connection: Connection, campaigns: Table, row: Any) -> None:
    """One more has come; the caller has locked the row."""
    grown = connection.info.setdefault("arrivals", {})  # for Writer, which tidies up behind
    grown[row.campaign] = row.arrivals + 1
    connection.execute(
        update(campaigns)
        .where(campaigns.c.campaign == row.campaign)
        .values(arrivals=row.arrivals + 1)
    )


def find(connection: Connection, campaigns: Table, name: str, lock: bool = False) -> Any:
    """The row of a campaign, or a problem."""
    query = select(campaigns).where(campaigns.c.campaign == name)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise unknown_campaign()
    return row


def install(
    campaigns: Table, name: str, body: bytes, more: Callable[[Campaign], dict[str, Any]]
) -> Callable[[Connection], bool]:
    """A job that stores a document; True where it is new. The same again changes nothing."""
    if hash_of(body) != name:
        raise JrrError("campaign must have the hash that its address names")
    campaign = read_campaign(body)

    def job(connection: Connection) -> bool:
        known = connection.execute(
            select(campaigns.c.campaign).where(campaigns.c.campaign == name)
        ).one_or_none()
        if known is not None:
            return False
        connection.execute(
            insert(campaigns).values(
                campaign=name, document=body, state=NEW, n=None, arrivals=0, **more(campaign)
            )
        )
        return True

    return job


def invite(
    campaigns: Table, invited: Table, name: str, body: bytes, rounds_each: bool
) -> Callable[[Connection], int]:
    """A job that adds hashes of pseudonyms; how many there are in all."""
    document = parse(body, "names", optional=("round",) if rounds_each else ())
    listed, number = document["names"], document.get("round", 0)
    extra = {"round": checks.integer("round", number, 0, 999)} if rounds_each else {}
    if not isinstance(listed, list) or len(listed) > 100_000:
        raise JrrError("names must be a list of at most 100000 hashes")
    hashes = sorted({_hash(entry) for entry in listed})

    def job(connection: Connection) -> int:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        if not campaign.invitations:
            raise Problem(409, "open-campaign", "anybody may answer: there are no invitations")
        upsert = insert_sqlite if connection.dialect.name == "sqlite" else insert_postgresql
        with connection.begin_nested() as attempt:  # other jobs share this transaction
            if hashes:
                connection.execute(
                    upsert(invited).on_conflict_do_nothing(),
                    [{"campaign": name, "pseudonym": entry} | extra for entry in hashes],
                )
            total = count(connection, invited, name)
            full = total > campaign.capacity * (campaign.rounds if rounds_each else 1)
            if full:
                attempt.rollback()
        if full:
            raise Problem(409, "full", f"more invitations than the capacity {campaign.capacity}")
        return total

    return job


def check_invited(
    connection: Connection,
    invited: Table,
    campaign: Campaign,
    name: str,
    pseudonym: bytes,
    round_number: int | None = None,
) -> None:
    """Refuse a pseudonym that nobody was invited by, or that is for another round."""
    if not campaign.invitations:
        return
    query = select(invited).where(invited.c.campaign == name, invited.c.pseudonym == pseudonym)
    row = connection.execute(query).one_or_none()
    if row is None or (round_number is not None and row.round != round_number):
        raise unknown_name()


def count(connection: Connection, table: Table, name: str) -> int:
    """Rows of a campaign."""
    query = select(func.count()).select_from(table).where(table.c.campaign == name)
    return int(connection.execute(query).scalar_one())


def _hash(entry: object) -> bytes:
    if isinstance(entry, str) and len(entry) == 64:
        try:
            found = bytes.fromhex(entry)
        except ValueError:
            found = b""
        if found.hex() == entry:  # blanks and capitals would be another way to write it
            return found
    raise checks.refusal("names", entry, "hashes of 64 hexadecimal digits")
