"""All rounds of one deal, by one party together with the others."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jrr.mechanisms import Mechanism
from jrr.survey.committee import field
from jrr.survey.committee.cards import Record, deck_of, seal_shares, usable
from jrr.survey.committee.dealing import Abort, Kind, deal, exchange
from jrr.survey.committee.link import Identity, Link, Meeting, Peer, Traffic, meet
from jrr.survey.committee.merkle import Tree

ENTRY = 32  # bytes of a member in a roster: the public key
Member = tuple[bytes, bytes]  # hash of the pseudonym at this party, public key
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class DealOrder:
    """What all parties must agree on before they deal."""

    campaign: str  # its hash
    rounds: int
    capacity: int  # people at most
    threshold: int  # parties that may collude
    peers: tuple[Peer, ...]  # all parties, in order
    mechanism_for: Callable[[int], Mechanism]  # for so many people; refuses too few


@dataclass(frozen=True, kw_only=True)
class DealingParty:
    """One party's own side of a deal."""

    number: int  # its place among the peers
    identity: Identity
    members: Sequence[Member]  # whom it knows
    patience: float = 60.0  # seconds for each message
    join: float = 60.0  # seconds until all parties are there
    listen: tuple[str, int] | None = None  # where to wait for the others, if not as the order says


@dataclass(frozen=True, kw_only=True)
class DealtRounds:
    """What a party keeps."""

    members: tuple[Member, ...]  # who was dealt a card, in the order of slots
    records: tuple[Record, ...]  # one per round
    sealed: tuple[list[bytes], ...]  # one list per round
    traffic: Traffic


async def deal_rounds(
    order: DealOrder,
    party: DealingParty,
    *,
    confirm: Callable[[DealtRounds], None] = lambda dealt: None,
    progress: Progress = lambda step, done, total: None,
) -> DealtRounds:
    """Deal to everybody whom all parties know; an Abort leaves nothing.

    Args:
        order: What all parties agree on.
        party: Who this one is.
        confirm: Called when the party has everything, before the parties tell each other so.
        progress: Told what is being done, how much, and of how much.

    Returns:
        The sealed shares of every round.

    Raises:
        Abort: The parties do not agree, one of them broke the rules, or one is missing.
    """

    async def body(link: Link) -> DealtRounds:
        agreed = await _roster(link, party.members, order.capacity)
        mechanism = order.mechanism_for(len(agreed))
        deck = await asyncio.to_thread(deck_of, mechanism)
        records, sealed = [], []
        for number in range(order.rounds):
            session = _session(link, agreed, number)
            envelopes: list[bytes] = []

            async def commit_to(
                cards: field.Vector,
                tags: field.Vector,
                number: int = number,
                envelopes: list[bytes] = envelopes,
            ) -> bytes:
                step = f"sealing round {number}"
                envelopes += await asyncio.to_thread(
                    seal_shares,
                    [key for _, key in agreed],
                    cards,
                    tags,
                    order.campaign,
                    number,
                    party.number,
                    lambda done, total: progress(step, done, total),
                )
                return (await asyncio.to_thread(Tree, envelopes)).root

            progress(f"shuffling round {number}", number, order.rounds)
            dealt = await deal(
                link, deck, threshold=order.threshold, session=session, commit_to=commit_to
            )
            records.append(Record.of(order.campaign, number, len(agreed), dealt))
            sealed.append(envelopes)
        outcome = DealtRounds(
            members=tuple(agreed),
            records=tuple(records),
            sealed=tuple(sealed),
            traffic=link.traffic,
        )
        await asyncio.to_thread(confirm, outcome)
        # Cards are served only where every party has its part of them.
        whole = hashlib.sha256(b"".join(r.hash.encode() for r in records)).digest()
        stored = await exchange(link, Kind.STORED, whole, 32)
        if any(other != whole for other in stored):
            raise Abort("the parties did not store the same rounds")
        return outcome

    agreement = hashlib.sha256(b"jrr committee 1:" + bytes.fromhex(order.campaign)).digest()
    meeting = Meeting(
        me=party.number,
        peers=list(order.peers),
        identity=party.identity,
        agreement=agreement,
        patience=party.patience,
        join=party.join,
        listen=party.listen,
    )
    return await meet(meeting, body)


async def _roster(link: Link, members: Sequence[Member], capacity: int) -> list[Member]:
    """Those whose key every party knows, in the order of keys; names differ from party to party."""
    own = {key: name for name, key in members if usable(key)}
    mine = b"".join(sorted(own))
    digests = await exchange(link, Kind.DIGEST, hashlib.sha256(mine).digest(), 32)
    # Nobody is told who else is known where all know the same people, which is the rule.
    rosters = [mine]
    if len(set(digests)) > 1:
        rosters = await exchange(link, Kind.ROSTER, mine, ENTRY * capacity, exact=False)
    common = set(own)
    for party, data in enumerate(rosters):
        if len(data) % ENTRY:
            raise Abort(f"party {party} sent what is no roster")
        common &= {data[at : at + ENTRY] for at in range(0, len(data), ENTRY)}
    return [(own[key], key) for key in sorted(common)]


def _session(link: Link, agreed: Sequence[Member], number: int) -> bytes:
    roster = hashlib.sha256(b"".join(key for _, key in agreed)).digest()
    text = b"jrr committee round 1:" + link.session + roster + number.to_bytes(4, "little")
    return hashlib.sha256(text).digest()
