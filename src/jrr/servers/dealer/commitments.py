"""The dealer's part of committed decks: promise, roots, opened seeds, each once and for good."""

import asyncio
import json
from typing import Any

from sqlalchemy import Connection, Engine

from jrr._base import checks
from jrr._base.forgetting import overwrite
from jrr.servers.common.batch import read_aside
from jrr.servers.common.problems import Problem, gone, no_decks, wrong_state
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.store import DealerCampaign, DealerStore
from jrr.survey.committed_dealer import commit_decks, open_decks, promise_decks
from jrr.survey.cut_and_choose.published import Published
from jrr.survey.cut_and_choose.rules import BYTES
from jrr.protocol.states import CLOSED

MOST_SHOWN = 4  # campaigns that are over, whose decks are kept in memory for who asks


class Drawing:
    """Decks that are to be drawn from a key, outside of any transaction: it takes seconds."""

    def __init__(self, published: Published, key: bytes, beacon: bytes) -> None:
        self._published, self._key, self._beacon = published, key, beacon

    def run(self) -> Published:
        """What is published with the roots; the key is overwritten."""
        try:
            return commit_decks(self._published, self._key, self._beacon)
        finally:
            overwrite(self._key)


class ShownDecks:
    """What is public of decks, for strangers: one copy for all who read it, however slowly.

    At the end it may have megabytes, and a hundred copies of that would fill the memory.
    """

    def __init__(self, engine: Engine, jobs: "DeckJobs") -> None:
        self._engine, self._jobs = engine, jobs
        self._ended: dict[str, bytes] = {}
        self._one_reads = asyncio.Lock()

    async def of(self, name: str) -> bytes:
        """Of one campaign; a Problem before there is a promise."""
        if name not in self._ended:
            async with self._one_reads:
                if name not in self._ended:
                    written, is_final = await read_aside(self._engine, self._jobs.shown, name)
                    if not is_final:
                        return written
                    if len(self._ended) >= MOST_SHOWN:
                        self._ended.clear()
                    self._ended[name] = written
        return self._ended[name]


class DeckJobs:
    """Jobs of committed decks."""

    def __init__(self, jobs: DealerJobs) -> None:
        self._jobs = jobs

    def shown(self, connection: Connection, name: str) -> tuple[bytes, bool]:
        """What is public by now, and whether it stays so; a Problem before there is a promise."""
        store = DealerStore(connection)
        held = store.find(name)  # a Problem if unknown
        written = store.published(name)
        if written is None:
            raise no_decks()
        return written.encode(), held.state == CLOSED

    def begin(self, connection: Connection, name: str, beacon: bytes | None) -> Published | Drawing:
        """Publish the promise if there is none; decks to draw where the beacon is new."""
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        check_committed(held)
        published = self._published(store, name)
        if published is None:
            self._check_not_over(held)
            key = self._jobs.key(held)
            published = promise_decks(held.campaign, key)
            overwrite(key)
            self._keep(store, name, published)
        if beacon is None or published.beacon == beacon:
            return published
        if published.beacon is not None:
            raise Problem(409, "conflict", "the roots were made with another beacon")
        self._check_not_over(held)
        return Drawing(published, self._jobs.key(held), beacon)

    def keep_roots(self, connection: Connection, name: str, drawn: Published) -> Published:
        """Publish the roots, unless others asked at the same time and were faster."""
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        self._check_not_over(held)
        published = self._published(store, name)
        if published is None or published.promise != drawn.promise:
            raise Problem(409, "conflict", "the roots are of another promise")
        if published.roots is None:
            self._keep(store, name, drawn)
            return drawn
        if published.beacon != drawn.beacon:
            raise Problem(409, "conflict", "the roots were made with another beacon")
        return published

    def open_others(self, connection: Connection, name: str, coin: bytes) -> Published:
        """Publish the seeds of all decks but the one that the coin picks."""
        store = DealerStore(connection)
        held = store.find(name, lock=True)
        published = self._published(store, name)
        if published is None or published.roots is None:
            raise wrong_state("the roots must be published before the coin is drawn")
        if published.coin == coin:
            return published
        # With a second coin the deck that is dealt would be opened, and everybody's card with it.
        if published.coin is not None:
            raise Problem(409, "conflict", "the decks were opened for another coin")
        self._check_not_over(held)
        key = self._jobs.key(held)
        self._jobs.note_coin(name, coin)
        published = open_decks(published, key, coin)
        overwrite(key)
        self._keep(store, name, published)
        return published

    def _published(self, store: DealerStore, name: str) -> Published | None:
        written = store.published(name)
        return None if written is None else Published.from_dict(json.loads(written))

    def _keep(self, store: DealerStore, name: str, published: Published) -> None:
        store.publish(name, json.dumps(published.to_dict()))

    def _check_not_over(self, held: DealerCampaign) -> None:
        if held.state == CLOSED:
            raise gone("the campaign is closed")


def check_committed(held: DealerCampaign) -> None:
    """Refuse where the dealer commits to nothing."""
    if not held.campaign.committed_decks:
        raise wrong_state("the campaign's dealer commits to no decks")


def read_draw(name: str, told: dict[str, Any]) -> bytes | None:
    """A beacon or coin in a request; None where there is none yet."""
    return None if told[name] is None else checks.from_hex(name, told[name], BYTES)
