"""The dealing protocol of all parties in one process, over queues that record and may lie."""

import asyncio
import hashlib
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from jrr.dealing.committee import dealing
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.dealing import Commitment, Dealt, Kind, deal
from jrr.dealing.committee.field import PRIME, Seeds, Vector
from jrr.errors import JrrError

SESSION = bytes(32)
Message = tuple[int, int, Kind, bytes]  # sender, receiver, kind, payload
Forge = Callable[[Message], bytes]
Elements = tuple[int, ...]


def honest(message: Message) -> bytes:
    """What is sent is what was meant."""
    return message[3]


@dataclass
class Mesh:
    """Queues between all parties; what went through them."""

    parties: int
    forge: Forge = honest
    record: bool = False
    log: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        pairs = itertools.permutations(range(self.parties), 2)
        self.queues: dict[tuple[int, int], deque[tuple[Kind, bytes] | None]] = {
            pair: deque() for pair in pairs
        }

    def leave(self, me: int) -> None:
        """Nobody need wait for this party any longer."""
        for to in range(self.parties):
            if to != me:
                self.queues[me, to].append(None)


class Turn:
    """Let the others go on; what an event loop understands as sleep(0)."""

    def __await__(self) -> Generator[None, None, None]:
        yield


@dataclass
class Wire:
    """One party's end of the mesh: a Channel."""

    me: int
    mesh: Mesh

    @property
    def parties(self) -> int:
        return self.mesh.parties

    @parties.setter
    def parties(self, _: int) -> None:
        raise AssertionError("nobody changes this")

    async def send(self, to: int, kind: Kind, payload: bytes) -> None:
        sent = self.mesh.forge((self.me, to, kind, payload))
        if self.mesh.record:
            self.mesh.log.append((self.me, to, kind, sent))
        self.mesh.queues[self.me, to].append((kind, sent))

    async def receive(self, sender: int, kind: Kind, size: int) -> bytes:
        queue = self.mesh.queues[sender, self.me]
        while not queue:
            await Turn()
        found = queue.popleft()
        if found is None:
            raise Abort(f"party {sender} gave up")
        if found[0] != kind or len(found[1]) > size:
            raise Abort(f"party {sender} sent {found[0].name} instead of {kind.name}")
        return found[1]


async def nothing_sealed(cards: Vector, tags: Vector) -> bytes:
    """Commits to nothing: for tests of what happens before."""
    return bytes(32)


async def run(
    mesh: Mesh,
    deck: Sequence[int] | Sequence[Sequence[int]],
    threshold: int,
    prime: int = PRIME,
    seeds: Sequence[Seeds] | None = None,
    commit_to: Sequence[Commitment] | None = None,
) -> list[Dealt | BaseException]:
    """What each party ends with; deck: one for all, or one per party."""
    decks = [deck] * mesh.parties if isinstance(deck[0], int) else list(deck)

    async def party(me: int) -> Dealt:
        more = {} if seeds is None else {"new_seed": seeds[me]}
        commit: Callable[[Vector, Vector], Awaitable[bytes]]
        commit = nothing_sealed if commit_to is None else commit_to[me]
        try:
            return await deal(
                Wire(me, mesh),
                decks[me],  # type: ignore[arg-type]
                threshold=threshold,
                session=SESSION,
                commit_to=commit,
                prime=prime,
                **more,
            )
        finally:
            mesh.leave(me)

    return await asyncio.gather(*(party(me) for me in range(mesh.parties)), return_exceptions=True)


def dealt_by_all(
    parties: int,
    deck: Sequence[int],
    threshold: int,
    prime: int = PRIME,
    seeds: Sequence[Seeds] | None = None,
) -> list[Dealt]:
    """One honest run."""
    return succeeded(asyncio.run(run(Mesh(parties), deck, threshold, prime, seeds)))


def succeeded(outcomes: Sequence[Dealt | BaseException]) -> list[Dealt]:
    """All parties' results, none of them an exception."""
    found = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        found.append(outcome)
    return found


def opened(outcomes: Sequence[Dealt], prime: int = PRIME) -> tuple[Elements, Elements]:
    """Cards and tags, added up."""
    cards = zip(*(one.cards.tolist() for one in outcomes), strict=True)
    tags = zip(*(one.tags.tolist() for one in outcomes), strict=True)
    return tuple(sum(one) % prime for one in cards), tuple(sum(one) % prime for one in tags)


def counted_seeds(label: str) -> Seeds:
    """Reproducible seeds, no two alike."""
    numbers = itertools.count()
    return lambda: hashlib.sha256(f"{label}/{next(numbers)}".encode()).digest()


def assignments(
    parties: int, deck: Sequence[int], threshold: int, runs: int, label: str
) -> list[tuple[int, ...]]:
    """The cards of many runs, each with seeds of its own."""
    seeds = [counted_seeds(f"{label}/{me}") for me in range(parties)]
    with in_turn():
        return [
            opened(succeeded(step_by_step(Mesh(parties), deck, threshold, seeds=seeds)))[0]
            for _ in range(runs)
        ]


@contextmanager
def in_turn() -> Iterator[None]:
    """Send first, then receive: queues are never full. Many times faster than tasks."""

    async def together(
        sending: Sequence[Awaitable[None]], receiving: Sequence[Awaitable[Any]]
    ) -> list[Any]:
        for message in sending:
            await message
        return [await message for message in receiving]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "together", together)
        yield


def step_by_step(
    mesh: Mesh,
    deck: Sequence[int],
    threshold: int,
    prime: int = PRIME,
    seeds: Sequence[Seeds] | None = None,
) -> list[Dealt | BaseException]:
    """As `run`, without an event loop; only inside `in_turn`."""
    waiting = {
        me: deal(
            Wire(me, mesh),
            deck,
            threshold=threshold,
            session=SESSION,
            commit_to=nothing_sealed,
            prime=prime,
            **({} if seeds is None else {"new_seed": seeds[me]}),
        )
        for me in range(mesh.parties)
    }
    found: dict[int, Dealt | BaseException] = {}
    while waiting:
        for me, steps in list(waiting.items()):
            try:
                steps.send(None)
            except StopIteration as finished:
                found[me] = finished.value
            except JrrError as error:
                found[me] = error
            else:
                continue
            del waiting[me]
            mesh.leave(me)
    return [found[me] for me in range(mesh.parties)]
