"""One deal, by one party together with the others."""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.cards import Record, deck_of, excess_leaves, seal_shares, usable
from jrr.dealing.committee.dealing import Kind, deal, exchange
from jrr.dealing.committee.meeting import Identity, Meeting, Peer, meet
from jrr.dealing.committee.merkle import Tree
from jrr.protocol.texts import check_link

if TYPE_CHECKING:
    from jrr.dealing.committee import field
    from jrr.dealing.committee.meeting import Link, Traffic
    from jrr.dealing.kinds import Committee
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.survey import Survey

ENTRY = 32  # bytes of a member in a roster: the public key
NOTHING = bytes(32)  # instead of the name of a deal: none is kept
PUBLISHED, GIVEN, AGAIN = 1, 2, 4  # flags of what is kept
Member = tuple[bytes, bytes]  # hash of the pseudonym at this party, public key


@dataclass(frozen=True, kw_only=True)
class KeptDeal:
    """A deal that a party has from an earlier meeting."""

    name: bytes  # see `deal_name`
    published: bool = False  # it was told that every party has its part
    given: bool = False  # somebody was given a share of it


@dataclass(frozen=True, kw_only=True)
class DealOrder:
    """What all parties must agree on before they deal."""

    survey: str  # its hash
    capacity: int  # people at most
    threshold: int  # parties that may collude
    peers: tuple[Peer, ...]  # all parties, in order
    mechanism_for: "Callable[[int], Mechanism]"  # for so many people; refuses too few

    @classmethod
    def of(cls, survey: "Survey", committee: "Committee") -> "DealOrder":
        """As a survey's document says."""
        (question,) = survey.dealt
        return cls(
            survey=survey.hash,
            capacity=survey.capacity,
            threshold=committee.threshold,
            peers=tuple(
                Peer(*check_link(party.link), party.certificate) for party in committee.parties
            ),
            mechanism_for=question.for_people,
        )


@dataclass(frozen=True, kw_only=True)
class DealingParty:
    """One party's own side of a deal."""

    number: int  # its place among the peers
    identity: Identity
    members: Sequence[Member]  # whom it knows
    patience: float = 60.0  # seconds for each message
    join: float = 60.0  # seconds until all parties are there
    listen: tuple[str, int] | None = None  # where to wait for the others, if not as the order says
    kept: KeptDeal | None = None
    again: bool = False  # discard a deal that was published, if not all parties have it


@dataclass(frozen=True, kw_only=True)
class DealtDeck:
    """What a party keeps."""

    members: tuple[Member, ...]  # who was dealt a card, in the order of slots
    left_out: Mapping[bytes, tuple[int, ...]]  # by key: which parties did not name it
    record: Record
    sealed: list[bytes]  # one per slot
    excess: list[bytes]  # one per slot, see `excess_leaves`
    traffic: "Traffic"


@dataclass(frozen=True, kw_only=True)
class Keeper:
    """What a party does with a deal; each act lasts, whatever happens afterwards."""

    keep: Callable[[DealtDeck], None] = lambda dealt: None  # store it, but serve nothing yet
    discard: Callable[[], None] = lambda: None  # forget what was kept before
    publish: Callable[[], None] = lambda: None  # every party has its part: serve what is kept
    settle: Callable[[], None] = lambda: None  # every party serves: nobody needs to meet again


def deal_name(record: Record) -> bytes:
    """What parties call a deal: a hash of its record."""
    return hashlib.sha256(record.hash.encode()).digest()


async def deal_together(
    order: DealOrder, party: DealingParty, *, keeper: Keeper | None = None
) -> DealtDeck | None:
    """Deal to everybody whom all parties know, or take up a deal that all of them keep.

    A party publishes a deal when all others have told it that they keep theirs, and forgets what it
    keeps only when all have met and one of them has nothing. So whenever parties die, the next
    meeting finds either a deal that all keep, or one that nobody has published.

    Args:
        order: What all parties agree on.
        party: Who this one is, and what it keeps.
        keeper: What it does with a deal.

    Returns:
        The sealed shares; None where the deal that is kept was taken up.

    Raises:
        Abort: The parties do not agree, one of them broke the rules, or one is missing.
    """
    own = keeper or Keeper()

    async def body(link: "Link") -> DealtDeck | None:
        dealt = None
        if not await _all_keep_one_deal(link, party):
            await asyncio.to_thread(own.discard)
            dealt = await _deal_anew(link, order, party)
            await asyncio.to_thread(own.keep, dealt)
            # Cards are served only where every party has its part of them.
            name = deal_name(dealt.record)
            stored = await exchange(link, Kind.STORED, name, 32)
            if any(other != name for other in stored):
                raise Abort("the parties did not store the same deal")
        await asyncio.to_thread(own.publish)
        with contextlib.suppress(Abort):  # the deal is done; who was not heard will ask again
            await exchange(link, Kind.SERVED, b"", 0)
            await asyncio.to_thread(own.settle)
        return dealt

    agreement = hashlib.sha256(b"jrr committee 2:" + bytes.fromhex(order.survey)).digest()
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


async def _all_keep_one_deal(link: "Link", party: DealingParty) -> bool:
    """Whether all parties keep the same deal; Abort where one must not be discarded."""
    kept = party.kept
    flags = AGAIN if party.again else 0
    if kept is not None:
        flags |= (PUBLISHED if kept.published else 0) | (GIVEN if kept.given else 0)
    mine = bytes([flags]) + (NOTHING if kept is None else kept.name)
    told = await exchange(link, Kind.HELD, mine, 1 + len(NOTHING))
    names = [message[1:] for message in told]
    if names[0] != NOTHING and len(set(names)) == 1:
        return True
    for number, message in enumerate(told):
        lacking = [other for other, name in enumerate(names) if name != names[number]]
        if message[0] & GIVEN:
            raise Abort(
                f"party {number} has given out shares of a deal that parties {lacking} do not "
                "keep: nothing can be dealt any more, people answer without cards"
            )
        if message[0] & PUBLISHED and not message[0] & AGAIN:
            raise Abort(
                f"party {number} has published a deal that parties {lacking} do not keep: its "
                "operator must agree to discard it (--again)"
            )
    return False


async def _deal_anew(link: "Link", order: DealOrder, party: DealingParty) -> DealtDeck:
    """A deck, with fresh randomness."""
    agreed, left_out = await _roster(link, party.members, order.capacity)
    mechanism = order.mechanism_for(len(agreed))
    deck = await asyncio.to_thread(deck_of, mechanism)
    keys = [key for _, key in agreed]
    roster = roster_hash(order.survey, keys)
    envelopes: list[bytes] = []

    async def commit_to(cards: "field.Vector", tags: "field.Vector") -> bytes:
        nonlocal envelopes
        envelopes = await asyncio.to_thread(
            seal_shares, keys, cards, tags, order.survey, party.number
        )
        return (await asyncio.to_thread(Tree, envelopes)).root

    dealt = await deal(
        link, deck, threshold=order.threshold, session=_session(link, roster), commit_to=commit_to
    )
    return DealtDeck(
        members=tuple(agreed),
        left_out=left_out,
        record=await asyncio.to_thread(Record.of, order.survey, roster, dealt),
        sealed=envelopes,
        excess=excess_leaves(dealt.excess),
        traffic=link.traffic,
    )


async def _roster(
    link: "Link", members: Sequence[Member], capacity: int
) -> tuple[list[Member], dict[bytes, tuple[int, ...]]]:
    """Those whose key every party knows, in the order of keys; names differ from party to party.

    And whom this party knows besides, each with the parties that did not name them.
    """
    own = {key: name for name, key in members if usable(key)}
    mine = b"".join(sorted(own))
    digests = await exchange(link, Kind.DIGEST, hashlib.sha256(mine).digest(), 32)
    await _check_same(link, digests)
    # Nobody is told who else is known where all know the same people, which is the rule.
    rosters = [mine] * link.parties
    if len(set(digests)) > 1:
        rosters = await exchange(link, Kind.ROSTER, mine, ENTRY * capacity, exact=False)
    named = []
    for party, data in enumerate(rosters):
        if len(data) % ENTRY:
            raise Abort(f"party {party} sent what is no roster")
        if hashlib.sha256(data).digest() != digests[party]:
            raise Abort(f"party {party} sent another roster than it had announced")
        named.append({data[at : at + ENTRY] for at in range(0, len(data), ENTRY)})
    agreed = sorted(set(own).intersection(*named))
    left_out = {
        key: tuple(party for party, keys in enumerate(named) if key not in keys)
        for key in set(own).difference(agreed)
    }
    return [(own[key], key) for key in agreed], left_out


async def _check_same(link: "Link", digests: Sequence[bytes]) -> None:
    """Abort where a party announced one roster here and another one there."""
    echoes = await exchange(link, Kind.ECHO, b"".join(digests), 32 * link.parties)
    for party in range(link.parties):
        told = [echo[32 * party : 32 * party + 32] for echo in echoes]
        others = [at for at, digest in enumerate(told) if digest != told[party]]
        if others:
            raise Abort(
                f"party {party} announced another roster to parties {others} than to the rest, as "
                "they say"
            )


def roster_hash(survey: str, keys: Sequence[bytes]) -> str:
    """What stands for the people whom a deal is for, in the order of slots."""
    text = b"jrr committee roster 1:" + bytes.fromhex(survey) + b"".join(keys)
    return hashlib.sha256(text).hexdigest()


def _session(link: "Link", roster: str) -> bytes:
    text = b"jrr committee deal 2:" + link.session + bytes.fromhex(roster)
    return hashlib.sha256(text).digest()
