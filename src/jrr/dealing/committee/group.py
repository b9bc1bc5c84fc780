"""Contributors who deal among themselves, word by word as in the paper.

IDs 1..n are shuffled; contributor j alone learns its shuffled ID π(j). Neighbours 2i-1 and 2i
form a pair, and the sign follows the parity of π(j): even is plus, odd is minus. With an odd n
the last ID has no neighbour, and its card is blank.
"""

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jrr.dealing.committee import field
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.dealing import Kind, deal, together
from jrr.dealing.committee.field import PRIME, Vector
from jrr.dealing.committee.meeting import Identity, Meeting, Peer, meet
from jrr.dealing.committee.merkle import Tree, belongs
from jrr.dealing.committee.schedule import default_threshold

if TYPE_CHECKING:
    from jrr.dealing.committee.meeting import Link, Traffic

SHARE, NONCE = 8, 32  # bytes


@dataclass(frozen=True)
class GroupCard:
    """What one contributor learns: its own shuffled ID and what follows from it."""

    shuffled_id: int  # π(j)
    pair: int
    card: int  # +1, -1 or 0
    traffic: "Traffic"


async def deal_among(
    me: int,
    peers: list[Peer],
    identity: Identity,
    name: str,
    *,
    threshold: int | None = None,
    patience: float = 30.0,
    join: float = 60.0,
) -> GroupCard:
    """Deal among contributors only, as one of them.

    Args:
        me: One's own place among the peers.
        peers: All contributors, in the same order for all.
        identity: One's own certificate and key.
        name: What the group calls this deal, the same for all and never used before.
        threshold: How many may collude; None: a minority (`default_threshold`).
        patience: Seconds to wait for each message.
        join: Seconds to wait until all are there.

    Returns:
        One's own card.

    Raises:
        Abort: Somebody broke the rules, or is missing.
    """
    count = len(peers)
    allowed = default_threshold(count) if threshold is None else threshold

    async def body(link: "Link") -> GroupCard:
        mine: list[bytes] = []  # share of every slot, with a nonce that hides it in the tree

        async def commit_to(cards: Vector, tags: Vector) -> bytes:
            pairs = np.stack((cards, tags), axis=1)
            mine.extend(field.to_bytes(pair) + secrets.token_bytes(NONCE) for pair in pairs)
            return Tree(mine).root

        dealt = await deal(
            link, range(1, count + 1), threshold=allowed, session=link.session, commit_to=commit_to
        )
        tree = Tree(mine)
        others = [party for party in range(count) if party != me]
        told = await together(
            [
                link.send(party, Kind.SLOT, mine[party] + b"".join(tree.path(party)))
                for party in others
            ],
            [link.receive(party, Kind.SLOT, SHARE + NONCE + 32 * 8) for party in others],
        )
        card, tag = int(dealt.cards[me]), int(dealt.tags[me])
        for party, message in zip(others, told, strict=True):
            # What is opened must be what was committed to before α was known.
            share, path = message[: SHARE + NONCE], message[SHARE + NONCE :]
            steps = [path[at : at + 32] for at in range(0, len(path), 32)]
            if not belongs(share, me, count, steps, dealt.roots[party]):
                raise Abort(f"party {party} opened another share than it had committed to")
            try:
                pair = field.from_bytes(share[:SHARE], (2,))
            except ValueError:
                raise Abort(f"party {party} sent what is no share") from None
            if (int(pair[1]) - dealt.alpha * int(pair[0])) % PRIME != int(dealt.excess[party, me]):
                raise Abort(f"party {party} opened another share than it was checked with")
            card, tag = (card + int(pair[0])) % PRIME, (tag + int(pair[1])) % PRIME
        if tag != dealt.alpha * card % PRIME or not 1 <= card <= count:
            raise Abort("the shuffled ID does not match its tag: somebody changed it")
        return GroupCard(card, (card + 1) // 2, sign_of(card, count), link.traffic)

    facts = [f"jrr group 1:{name}:{count}:{allowed}".encode(), *(p.fingerprint for p in peers)]
    agreement = hashlib.sha256(b"\0".join(facts)).digest()
    meeting = Meeting(
        me=me, peers=peers, identity=identity, agreement=agreement, patience=patience, join=join
    )
    return await meet(meeting, body)


def sign_of(shuffled_id: int, count: int) -> int:
    """The card that a shuffled ID means."""
    if count % 2 and shuffled_id == count:
        return 0
    return 1 if shuffled_id % 2 == 0 else -1
