"""Parties as processes that die, meet strangers or sit behind a bad network."""

import asyncio
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from jrr import DRR
from jrr.dealing.committee.dealing import Kind
from jrr.dealing.committee.deals import DealtDeck
from jrr.research.processes import free_port
from jrr.survey.survey import Survey
from tests.dealing.committee.parties import (
    Ended,
    Part,
    hands,
    identity,
    members_of,
    peers,
    secrets_of,
    survey_of,
    together,
)

PEOPLE = secrets_of(5)
SOON = 50.0  # seconds: less than the patience, so nobody waited for a deadline


def parts_of(survey: Survey, people: Sequence[bytes] = PEOPLE, **more: float) -> list[Part]:
    members = members_of(survey, people)
    count = len(survey.dealing.addresses)
    return [
        Part(survey.to_bytes(), me, identity(me), members, **more)  # type: ignore[arg-type]
        for me in range(count)
    ]


def outcomes_of(ended: Sequence[Ended]) -> list[DealtDeck]:
    found = []
    for one in ended:
        assert one.outcome is not None, one.reason
        found.append(one.outcome)
    return found


def check_cards(survey: Survey, ended: Sequence[Ended]) -> list[int]:
    cards = hands(survey, PEOPLE, outcomes_of(ended))
    assert Counter(cards) == {1: 2, -1: 2, 0: 1}
    return cards


def test_three_processes_deal_and_every_card_is_there_once() -> None:
    survey = survey_of(peers(3))
    ended = together(parts_of(survey))
    outcomes = outcomes_of(ended)
    assert Counter(hands(survey, PEOPLE, outcomes)) == {1: 2, -1: 2, 0: 1}
    assert len({outcome.record for outcome in outcomes}) == 1
    assert len(set(outcomes[0].record.roots)) == 3


def deaths(party: int, parity: int) -> None:
    """Die before every message of one's own in turn; deal again after every death."""
    survey = survey_of(peers(3))
    seen_alphas, die_at = set(), parity
    steps: list[int] = []
    while True:
        parts = parts_of(survey)
        parts[party] = replace(parts[party], die_at=die_at)
        ended = together(parts)
        if ended[party].code == 0:  # it had no message left to die before
            check_cards(survey, ended)
            steps = ended[party].kinds
            break
        assert (ended[party].reason, ended[party].code) == ("died", 9)
        survivors = [one for at, one in enumerate(ended) if at != party]
        for one in survivors:
            assert one.seconds < SOON
            if one.outcome is not None:
                # It was told that the dead one keeps its part; the other one too, or not yet.
                assert one.kinds[-1] == Kind.SERVED
            else:
                assert re.search(r"party \d", one.reason), one.reason
        die_at += 2
    # A rerun after all that gives fresh cards.
    for _ in range(2):
        ended = together(parts_of(survey))
        check_cards(survey, ended)
        seen_alphas.add(outcomes_of(ended)[0].record.alpha)
    assert len(seen_alphas) == 2
    kinds = {
        Kind.DIGEST,
        Kind.COMMIT,
        Kind.SUM,
        Kind.ROOT,
        Kind.REVEAL,
        Kind.CHECK,
        Kind.STORED,
        Kind.SERVED,
    }
    assert kinds <= set(steps)
    assert die_at in (len(steps), len(steps) + 1)


@pytest.mark.slow_variants("0-", "1-", "2-0]")
@pytest.mark.parametrize("parity", [0, 1])
@pytest.mark.parametrize("party", [0, 1, 2])
def test_whenever_a_party_dies_the_others_abort_and_a_rerun_succeeds(
    party: int, parity: int
) -> None:
    """Before its first, third, … or its second, fourth, … message, up to the last."""
    deaths(party, parity)


def test_a_party_that_never_comes_is_waited_for_and_named() -> None:
    survey = survey_of(peers(3))
    ended = together(parts_of(survey, join=1.0)[:2])
    for one in ended:
        assert "did not come within 1 s" in one.reason or "gave up" in one.reason
        assert 0.9 < one.seconds < SOON
    assert any("parties [2] did not come" in one.reason for one in ended)


def test_parties_that_mean_different_surveys_do_not_deal() -> None:
    where = peers(3)
    survey, other = survey_of(where), survey_of(where)
    assert survey.hash != other.hash  # another nonce
    parts = parts_of(survey)
    parts[2] = parts_of(other)[2]
    ended = together(parts)
    assert all(one.outcome is None for one in ended)
    assert any("in another session" in one.reason for one in ended)
    assert all(one.seconds < SOON for one in ended)


def test_only_those_whom_all_parties_know_under_one_key_are_dealt_to() -> None:
    survey = survey_of(peers(3))
    people = secrets_of(8)
    known = members_of(survey, people)
    other_key = (known[6][0], members_of(survey, [bytes(20)])[0][1])
    parts = [
        Part(survey.to_bytes(), me, identity(me), members)
        for me, members in enumerate((known, known[:7], [*known[:6], other_key, known[7]]))
    ]
    outcomes = outcomes_of(together(parts))
    for outcome in outcomes:
        assert set(outcome.members) == set(known[:6])
    assert Counter(hands(survey, people[:6], outcomes)) == {1: 3, -1: 3}


def test_too_few_people_are_refused_by_all() -> None:
    survey = survey_of(peers(3), DRR(6, truth=0.5, own=0.1))
    ended = together(parts_of(survey))
    for one in ended:
        assert "5 have enrolled, at least 6 are needed" in one.reason


# A bad network ----------------------------------------------------------------------------------


class Proxy:
    """Passes bytes on, late, and sometimes not for a while."""

    def __init__(self, target: int, delay: float, stall: float, seed: int) -> None:
        self.port = free_port()
        self._target, self._delay, self._stall = target, delay, stall
        self._random = random.Random(seed)

    async def serve(self) -> None:
        async with await asyncio.start_server(self._pass_on, "127.0.0.1", self.port) as server:
            await server.serve_forever()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pump(reader, there[1]), self._pump(there[0], writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(700):  # in small pieces
                pause = self._delay
                if self._random.random() < 0.05:
                    pause += self._random.random() * self._stall
                await asyncio.sleep(pause)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


@contextmanager
def proxies(made: Sequence[Proxy]) -> Iterator[None]:
    loop = asyncio.new_event_loop()

    async def serve_all() -> None:
        await asyncio.gather(*(proxy.serve() for proxy in made))

    task = loop.create_task(serve_all())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
            for other in asyncio.all_tasks(loop):
                other.cancel()
            loop.run_until_complete(asyncio.sleep(0.1))
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10)


def behind_proxies(delay: float, stall: float, patience: float) -> tuple[Survey, list[Ended]]:
    real = [free_port() for _ in range(3)]
    made = [Proxy(port, delay, stall, number) for number, port in enumerate(real)]
    where = [replace(peer, port=proxy.port) for peer, proxy in zip(peers(3), made, strict=True)]
    survey = survey_of(where)
    parts = [
        replace(part, listen=("127.0.0.1", real[part.me]))
        for part in parts_of(survey, patience=patience, join=6.0)
    ]
    with proxies(made):
        return survey, together(parts)


def test_behind_a_slow_network_they_deal() -> None:
    start = time.perf_counter()
    survey, ended = behind_proxies(delay=0.05, stall=0.3, patience=6.0)
    check_cards(survey, ended)
    assert time.perf_counter() - start > 0.5  # it was slow indeed


def test_behind_a_network_that_stalls_too_long_all_abort_with_a_reason() -> None:
    _, ended = behind_proxies(delay=0.4, stall=0.0, patience=0.3)
    for one in ended:
        assert one.outcome is None
        assert one.reason
        assert one.reason not in ("hangs", "died")
        assert one.code == 0
    assert any("within 0.3 s" in one.reason for one in ended)
