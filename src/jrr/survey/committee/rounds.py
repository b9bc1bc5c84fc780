"""All rounds of a campaign, dealt by one party together with the others."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jrr.survey.campaign import Campaign, check_link
from jrr.survey.committee import field
from jrr.survey.committee.cards import Record, deck_of, seal_shares, usable
from jrr.survey.committee.dealing import Abort, Kind, deal, exchange
from jrr.survey.committee.link import Identity, Link, Peer, Traffic, meet
from jrr.survey.committee.merkle import Tree

ENTRY = 32  # bytes of a member in a roster: the public key
Member = tuple[bytes, bytes]  # hash of the pseudonym at this party, public key
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What a party keeps."""

    members: tuple[Member, ...]  # who was dealt a card, in the order of slots
    records: tuple[Record, ...]  # one per round
    sealed: tuple[list[bytes], ...]  # one list per round
    traffic: Traffic


def peers_of(campaign: Campaign) -> list[Peer]:
    """The parties of a campaign."""
    return [
        Peer(*check_link(party["link"]), party["certificate"])
        for party in campaign.dealer["parties"]
    ]


async def deal_rounds(
    campaign: Campaign,
    me: int,
    identity: Identity,
    members: Sequence[Member],
    patience: float = 60.0,
    join: float = 60.0,
    listen: tuple[str, int] | None = None,
    confirm: Callable[[Outcome], None] = lambda outcome: None,
    progress: Progress = lambda step, done, total: None,
) -> Outcome:
    """Deal to everybody whom all parties know; an Abort leaves nothing.

    confirm: called when the party has everything, before the parties tell each other so.
    """

    async def body(link: Link) -> Outcome:
        agreed = await _roster(link, members, campaign.capacity)
        mechanism = campaign.for_people(len(agreed))
        deck = await asyncio.to_thread(deck_of, mechanism)
        records, sealed = [], []
        for number in range(campaign.rounds):
            session = _session(link, agreed, number)
            made: list[bytes] = []

            async def commit_to(
                cards: field.Vector,
                tags: field.Vector,
                number: int = number,
                made: list[bytes] = made,
            ) -> bytes:
                keys = [key for _, key in agreed]
                step = f"sealing round {number}"
                made += await asyncio.to_thread(
                    seal_shares,
                    keys,
                    cards,
                    tags,
                    campaign.hash,
                    number,
                    me,
                    lambda done, total: progress(step, done, total),
                )
                return (await asyncio.to_thread(Tree, made)).root

            progress(f"shuffling round {number}", number, campaign.rounds)
            dealt = await deal(link, deck, campaign.dealer["threshold"], session, commit_to)
            records.append(Record.of(campaign.hash, number, len(agreed), dealt))
            sealed.append(made)
        outcome = Outcome(tuple(agreed), tuple(records), tuple(sealed), link.traffic)
        await asyncio.to_thread(confirm, outcome)
        # Cards are served only where every party has its part of them.
        whole = hashlib.sha256(b"".join(r.hash.encode() for r in records)).digest()
        found = await exchange(link, Kind.STORED, whole, 32)
        if any(other != whole for other in found):
            raise Abort("the parties did not store the same rounds")
        return outcome

    agreement = hashlib.sha256(b"jrr committee 1:" + bytes.fromhex(campaign.hash)).digest()
    return await meet(me, peers_of(campaign), identity, agreement, patience, join, body, listen)


async def _roster(link: Link, members: Sequence[Member], capacity: int) -> list[Member]:
    """Those whose key every party knows, in the order of keys; names differ from party to party."""
    own = {key: name for name, key in members if usable(key)}
    mine = b"".join(sorted(own))
    digests = await exchange(link, Kind.DIGEST, hashlib.sha256(mine).digest(), 32)
    # Nobody is told who else is known where all know the same people, which is the rule.
    found = [mine]
    if len(set(digests)) > 1:
        found = await exchange(link, Kind.ROSTER, mine, ENTRY * capacity, exact=False)
    common = set(own)
    for party, data in enumerate(found):
        if len(data) % ENTRY:
            raise Abort(f"party {party} sent what is no roster")
        common &= {data[at : at + ENTRY] for at in range(0, len(data), ENTRY)}
    return [(own[key], key) for key in sorted(common)]


def _session(link: Link, agreed: Sequence[Member], number: int) -> bytes:
    roster = hashlib.sha256(b"".join(key for _, key in agreed)).digest()
    text = b"jrr committee round 1:" + link.session + roster + number.to_bytes(4, "little")
    return hashlib.sha256(text).digest()
