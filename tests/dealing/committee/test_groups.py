"""A group of contributors deals among itself; whoever breaks the rules is found out."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.dealing import Kind
from jrr.dealing.committee.group import deal_among, sign_of
from jrr.dealing.committee.meeting import Link
from tests.dealing.committee.parties import identity, peers


@pytest.mark.parametrize("count", range(2, 18))
def test_signs_balance_whatever_the_size(count: int) -> None:
    cards = Counter(sign_of(number, count) for number in range(1, count + 1))
    assert cards[1] == cards[-1] == count // 2
    assert cards[0] == count % 2
    assert sign_of(2, count) == 1
    assert sign_of(1, count) == -1


def all_members(count: int) -> list[Any]:
    where = peers(count)

    async def run() -> list[Any]:
        return await asyncio.gather(
            *(deal_among(me, where, identity(me), "x", patience=5.0) for me in range(count)),
            return_exceptions=True,
        )

    return asyncio.run(run())


def test_a_member_who_opens_another_share_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Link.send

    async def send(self: Link, to: int, kind: int, payload: bytes) -> None:
        if (self.me, kind) == (1, Kind.SLOT):
            payload = bytes([payload[0] ^ 1]) + payload[1:]
        await plain(self, to, kind, payload)

    monkeypatch.setattr(Link, "send", send)
    found = all_members(3)
    for me in (0, 2):
        assert isinstance(found[me], Abort)
    assert any("party 1 opened another share than it had committed to" in str(one) for one in found)


@pytest.mark.parametrize("size", [0, 8, 40, 41, 41 + 32 * 7])
def test_a_member_who_opens_nothing_sensible_is_found_out(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Link.send

    async def send(self: Link, to: int, kind: int, payload: bytes) -> None:
        if (self.me, kind) == (1, Kind.SLOT):
            payload = payload[:size].ljust(size, b"\0")
        await plain(self, to, kind, payload)

    monkeypatch.setattr(Link, "send", send)
    found = all_members(3)
    for me in (0, 2):
        assert isinstance(found[me], Abort), found[me]


def test_members_who_call_the_round_differently_do_not_deal() -> None:
    where = peers(3)

    async def run() -> list[Any]:
        return await asyncio.gather(
            *(
                deal_among(me, where, identity(me), f"round {me == 2}", patience=3.0)
                for me in range(3)
            ),
            return_exceptions=True,
        )

    found = asyncio.run(run())
    assert all(isinstance(one, Abort) for one in found)
    assert any("in another session" in str(one) for one in found)
