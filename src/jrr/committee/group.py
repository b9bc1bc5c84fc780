"""Contributors who deal among themselves, word by word as in the paper.

IDs 1..n are shuffled; contributor j alone learns its shuffled ID π(j). Neighbours 2i-1 and 2i
form a pair, and the sign follows the parity of π(j): even is plus, odd is minus. With an odd n
the last ID has no neighbour, and its card is blank.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from jrr.committee import field
from jrr.committee.dealing import Abort, Kind, deal, together
from jrr.committee.field import PRIME, Vector
from jrr.committee.link import Identity, Link, Peer, Traffic, meet
from jrr.committee.schedule import default_threshold


@dataclass(frozen=True)
class Place:
    """What one contributor learns: its own shuffled ID and what follows from it."""

    shuffled_id: int  # π(j)
    pair: int
    card: int  # +1, -1 or 0
    traffic: Traffic


async def deal_among(
    me: int,
    peers: list[Peer],
    identity: Identity,
    name: str,
    threshold: int | None = None,
    patience: float = 30.0,
    join: float = 60.0,
) -> Place:
    """Take part as contributor `me`; name: what the group calls this round, the same for all."""
    count = len(peers)
    allowed = default_threshold(count) if threshold is None else threshold

    async def body(link: Link) -> Place:
        async def commit_to(cards: Vector, tags: Vector) -> bytes:
            return hashlib.sha256(field.to_bytes(cards) + field.to_bytes(tags)).digest()

        dealt = await deal(link, range(1, count + 1), allowed, link.session, commit_to)
        others = [party for party in range(count) if party != me]
        own = {
            party: field.to_bytes(np.array([dealt.cards[party], dealt.tags[party]], np.uint64))
            for party in others
        }
        _, parts = await together(
            [link.send(party, Kind.SLOT, own[party]) for party in others],
            [link.receive(party, Kind.SLOT, 8) for party in others],
        )
        card, tag = int(dealt.cards[me]), int(dealt.tags[me])
        for part in parts:
            share = field.from_bytes(part, (2,))
            card, tag = (card + int(share[0])) % PRIME, (tag + int(share[1])) % PRIME
        if tag != dealt.alpha * card % PRIME or not 1 <= card <= count:
            raise Abort("the shuffled ID does not match its tag: somebody changed it")
        return Place(card, (card + 1) // 2, sign_of(card, count), link.traffic)

    agreement = hashlib.sha256(f"jrr group 1:{name}:{count}:{allowed}".encode()).digest()
    return await meet(me, peers, identity, agreement, patience, join, body)


def sign_of(shuffled_id: int, count: int) -> int:
    """The card that a shuffled ID means."""
    if count % 2 and shuffled_id == count:
        return 0
    return 1 if shuffled_id % 2 == 0 else -1
