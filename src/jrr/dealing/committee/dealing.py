"""The dealing protocol of one party, over any channel.

The deck is public at first. Its cards x and their tags αx, α a secret number that is the sum of
one secret number per party, are shared, permuted by every group of the schedule in turn, and at
last shared among all parties. A party that adds anything to a card must add α times as much to
its tag, and nobody knows α until all shares are committed to; so its holder notices, except with
probability 1/p. Before any card is shown, the tag of every slot is checked: whether somebody
notices then does not depend on the card.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeVar

import numpy as np

from jrr.dealing.committee import field
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.field import PRIME, SEED, Vector
from jrr.dealing.committee.schedule import groups
from jrr.errors import ArgumentError

T = TypeVar("T")


class Kind(IntEnum):
    """What a message is; every message has one place in the protocol."""

    HELLO = 0  # a nonce, before there is a session
    COMMIT = 1  # hash of one's part of α
    SEED = 2  # a share, as a seed
    VECTOR = 3  # a share
    ORDER = 4  # the seed of a group's permutation
    SUM = 5  # sum of one's final shares of the cards
    ROOT = 6  # commitment to one's sealed shares
    REVEAL = 7  # one's part of α
    RECORD = 8  # hash of what everybody saw
    ROSTER = 9  # whom one knows
    STORED = 10  # hash of all records, once they are kept
    SLOT = 11  # one share, to the one whose card it is
    DIGEST = 12  # hash of the roster
    PROMISE = 13  # commitment to what one's shares add to the check of every slot
    CHECK = 14  # what they add, slot by slot
    ECHO = 15  # the hashes of rosters that one was told
    HELD = 16  # the deal that one keeps from an earlier meeting
    SERVED = 17  # one gives out cards of the deal


class Channel(Protocol):
    """Messages to and from every other party, in order, none lost, none invented."""

    me: int
    parties: int

    async def send(self, to: int, kind: Kind, payload: bytes) -> None:
        """Send a message."""

    async def receive(self, sender: int, kind: Kind, size: int) -> bytes:
        """The next message of a party; Abort if it is another one, too long or too late."""


@dataclass(frozen=True, kw_only=True)
class Dealt:
    """What one party has at the end."""

    cards: Vector  # shares, one per slot
    tags: Vector
    alpha: int  # public now
    roots: tuple[bytes, ...]  # one per party
    excess: Vector  # of each party (row) in each slot: tag share less α times card share; public
    record: bytes  # hash of all public facts, the same at every party


Commitment = Callable[[Vector, Vector], Awaitable[bytes]]


async def deal(
    channel: Channel,
    deck: Sequence[int],
    *,
    threshold: int,
    session: bytes,
    commit_to: Commitment,
    prime: int = PRIME,
    new_seed: field.Seeds = field.new_seed,
) -> Dealt:
    """Run the protocol as one party.

    Args:
        channel: To the other parties, who do the same.
        deck: The cards in order, as field elements other than 0; public.
        threshold: How many parties may collude and still learn no card.
        session: 32 bytes that all parties derived alike from everything they agree on.
        commit_to: Seals the final shares and returns what commits to them.
        prime: Of the field; another one is for tests.
        new_seed: Where randomness comes from; another one is for tests.

    Returns:
        This party's shares, in an order that nobody knows, and the public facts of the deal.

    Raises:
        Abort: A party broke the rules, or is missing; nothing of the deal may be used.
    """
    me, everybody = channel.me, tuple(range(channel.parties))
    public = np.array(deck, np.uint64)
    if public.size and (int(public.max()) >= prime or int(public.min()) < 1):
        raise ArgumentError("deck must hold elements of the field other than 0")
    part = int(field.expand(new_seed(), (1,), prime)[0])
    nonce = new_seed()
    own = _hidden("alpha", session, me, part.to_bytes(4, "little"), nonce)
    commitments = await exchange(channel, Kind.COMMIT, own, SEED)

    mine: Vector | None = np.stack(
        (public if me == 0 else np.zeros_like(public), field.times(public, part, prime))
    )
    holders: tuple[int, ...] = everybody
    for group in groups(channel.parties, threshold):
        mine = await _reshare(
            channel, holders, group, mine, count=len(public), prime=prime, new_seed=new_seed
        )
        holders = group
        if mine is not None:
            seed = await _agree(channel, group, new_seed)
            mine = mine[:, field.permutation(seed, len(public))]
    mine = await _reshare(
        channel, holders, everybody, mine, count=len(public), prime=prime, new_seed=new_seed
    )
    assert mine is not None  # everybody holds a share at last

    # Not the tags': their sum would tell α, and with it how to change a card unnoticed.
    own_sum = field.total(mine[0], prime).to_bytes(4, "little")
    sums = await exchange(channel, Kind.SUM, own_sum, 4)
    if sum(int.from_bytes(entry, "little") for entry in sums) % prime != field.total(public, prime):
        raise Abort("the shuffled cards do not add up to the deck: a share was changed or lost")

    root = await commit_to(mine[0], mine[1])
    roots = await exchange(channel, Kind.ROOT, root, SEED)
    opened = await exchange(channel, Kind.REVEAL, part.to_bytes(4, "little") + nonce, 4 + SEED)
    alpha = 0
    for party, reveal in enumerate(opened):
        value = int.from_bytes(reveal[:4], "little")
        if _hidden("alpha", session, party, reveal[:4], reveal[4:]) != commitments[party]:
            raise Abort(f"party {party} revealed another number than it had committed to")
        alpha = (alpha + value) % prime
    excess = await _check_tags(
        channel, mine, alpha, session=session, prime=prime, new_seed=new_seed
    )
    seen = alpha.to_bytes(4, "little") + b"".join(roots) + field.to_bytes(excess)
    facts = hashlib.sha256(session + seen).digest()
    records = await exchange(channel, Kind.RECORD, facts, SEED)
    if any(record != facts for record in records):
        raise Abort("the parties did not see the same messages")
    return Dealt(
        cards=mine[0], tags=mine[1], alpha=alpha, roots=tuple(roots), excess=excess, record=facts
    )


async def _check_tags(
    channel: Channel, mine: Vector, alpha: int, *, session: bytes, prime: int, new_seed: field.Seeds
) -> Vector:
    """Abort if any tag is not α times its card; what each party's shares are in excess of that.

    Who changes tags while the deck is still in order could mark those of one kind: whose holder
    complains would then tell the card. So in every slot the parties' excesses, tag - α card of
    their shares, must add up to 0: a marked slot is found unless whoever marked it guesses where
    it went. Honest excesses are uniform given that they add up to 0, and tell nothing. They are
    kept: a share that is opened later and has another excess convicts its party.
    """
    own = field.subtract(mine[1], field.times(mine[0], alpha, prime), prime)
    nonce = new_seed()
    promise = _hidden("excess", session, channel.me, field.to_bytes(own), nonce)
    promises = await exchange(channel, Kind.PROMISE, promise, SEED)
    size = 4 * len(own)
    opened = await exchange(channel, Kind.CHECK, field.to_bytes(own) + nonce, size + SEED)
    rows = []
    for party, message in enumerate(opened):
        if _hidden("excess", session, party, message[:size], message[size:]) != promises[party]:
            raise Abort(f"party {party} opened another check than it had committed to")
        try:
            rows.append(field.from_bytes(message[:size], (len(own),), prime))
        except ValueError as error:
            raise Abort(f"party {party} sent what is no check: {error}") from None
    excess = np.stack(rows)
    if (excess.sum(axis=0) % np.uint64(prime)).any():
        raise Abort("cards and tags do not match: a party changed some")
    return excess


async def exchange(
    channel: Channel, kind: Kind, payload: bytes, size: int, *, exact: bool = True
) -> list[bytes]:
    """Everybody's message to everybody, in the order of the parties, all of this size.

    exact: False where messages may be shorter.
    """
    others = [party for party in range(channel.parties) if party != channel.me]
    messages = await together(
        [channel.send(party, kind, payload) for party in others],
        [channel.receive(party, kind, size) for party in others],
    )
    for party, message in zip(others, messages, strict=True):
        _whole(message, size if exact else len(message), party)
    messages.insert(channel.me, payload)
    return messages


def _whole(message: bytes, size: int, party: int) -> bytes:
    if len(message) != size:
        raise Abort(f"party {party} sent {len(message)} bytes where {size} are due")
    return message


async def _reshare(
    channel: Channel,
    holders: tuple[int, ...],
    receivers: tuple[int, ...],
    mine: Vector | None,
    *,
    count: int,
    prime: int,
    new_seed: field.Seeds,
) -> Vector | None:
    """Each holder shares its share among the receivers, who add up what they get."""
    me, shape = channel.me, (2, count)
    received: Vector | None = None
    sending: list[Awaitable[None]] = []
    if mine is not None:
        # Whoever gets the rest rather than a seed: oneself if possible, which costs nothing.
        last = me if me in receivers else receivers[-1]
        rest = mine
        for receiver in receivers:
            if receiver != last:
                seed = new_seed()
                rest = field.subtract(rest, field.expand(seed, shape, prime), prime)
                sending.append(channel.send(receiver, Kind.SEED, seed))
        if last == me:
            received = rest
        else:
            sending.append(channel.send(last, Kind.VECTOR, field.to_bytes(rest)))
    receiving: list[Awaitable[Vector]] = []
    if me in receivers:
        for holder in holders:
            if holder != me:
                whole = holder not in receivers and me == receivers[-1]
                receiving.append(_part(channel, holder, whole=whole, shape=shape, prime=prime))
    for part in await together(sending, receiving):
        received = part if received is None else field.add(received, part, prime)
    return received


async def _part(
    channel: Channel, holder: int, *, whole: bool, shape: tuple[int, int], prime: int
) -> Vector:
    if not whole:
        seed = _whole(await channel.receive(holder, Kind.SEED, SEED), SEED, holder)
        return field.expand(seed, shape, prime)
    data = await channel.receive(holder, Kind.VECTOR, 4 * shape[0] * shape[1])
    try:
        return field.from_bytes(data, shape, prime)
    except ValueError as error:
        raise Abort(f"party {holder} sent what is no share: {error}") from None


async def _agree(channel: Channel, group: tuple[int, ...], new_seed: field.Seeds) -> bytes:
    """The seed of a group's permutation: all know it, and all but its first obey the first."""
    if channel.me != group[0]:
        return _whole(await channel.receive(group[0], Kind.ORDER, SEED), SEED, group[0])
    seed = new_seed()
    await together([channel.send(party, Kind.ORDER, seed) for party in group[1:]], [])
    return seed


async def together(
    sending: Sequence[Awaitable[None]], receiving: Sequence[Awaitable[T]]
) -> list[T]:
    """Send and receive at once, so that nobody waits for a full pipe; the first Abort ends all."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for message in sending:
                tasks.create_task(_awaited(message))
            parts = [tasks.create_task(_awaited(message)) for message in receiving]
    except BaseExceptionGroup as group:
        raise _first(group) from None
    return [part.result() for part in parts]


async def _awaited(one: Awaitable[T]) -> T:
    return await one


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """One reason out of several; anything unexpected goes before an Abort."""
    aborts, unexpected = group.split(Abort)
    chosen: BaseException = unexpected or aborts or group
    while isinstance(chosen, BaseExceptionGroup):
        chosen = chosen.exceptions[0]
    return chosen


def _hidden(what: str, session: bytes, party: int, value: bytes, nonce: bytes) -> bytes:
    """What a party commits to a value by, until it opens it with the nonce."""
    text = f"jrr committee {what} 1:".encode() + session + bytes([party])
    return hashlib.sha256(text + value + nonce).digest()


def new_run() -> bytes:
    """A name for one run, so that no message of another one fits."""
    return secrets.token_bytes(16)
