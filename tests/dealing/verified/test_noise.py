"""Noise of closing sums: drawn as it must be, or the dealer is caught with the stated chance."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

from jrr.dealing.verified import noise
from jrr.dealing.verified.group import ORDER, base, commit, plus
from jrr.dealing.verified.keys import Promise, Secrets
from jrr.dealing.verified.laws import Law, Sums
from jrr.dealing.verified.noise import (
    NoiseRequest,
    NoiseSeeds,
    Opening,
    SlotNoise,
    check_opening,
    check_sum,
    slots_hash,
)
from jrr.errors import IntegrityError
from tests.statistics_rules import OFF, accepts_only

SLOTS = 8
SUMS = Sums(announcements=2, questions=3, cells=4)
LAW = Law(2, 0.8)
SURVEY = b"\x5a" * 32
SECRETS = Secrets(b"d" * 32)
REQUEST = NoiseRequest(SURVEY, b"t" * 32, b"h" * 64, SUMS.number(1, 2, 3))


@pytest.fixture(autouse=True)
def few_slots() -> Iterator[None]:
    with patch.object(noise, "SLOTS", SLOTS):
        yield


def promised() -> tuple[NoiseSeeds, Promise]:
    seeds = NoiseSeeds(SECRETS.noise, SURVEY, SUMS)
    return seeds, SECRETS.promise(seeds.root)


def test_sums_are_numbered_without_gaps() -> None:
    numbers = [SUMS.number(a, q, c) for a in range(2) for q in range(3) for c in range(4)]
    assert numbers == list(range(SUMS.count))


@pytest.mark.parametrize("slot", [0, 3, SLOTS - 1])
def test_honest_noise_passes(slot: int) -> None:
    seeds, promise = promised()
    committed = seeds.commit(REQUEST, LAW)
    opening = seeds.open(REQUEST, slot, LAW)
    check_opening(promise, SUMS, REQUEST, slot, LAW, committed, opening)
    drawn = seeds.noise(REQUEST, slot, LAW)
    assert list(opening.commitments) == list(map(commit, drawn.values, drawn.blindings))
    assert seeds._seed(REQUEST.number, slot) not in (*opening.seeds, opening.kept)


def test_noise_depends_on_all_that_the_collector_fixes() -> None:
    seeds, _ = promised()
    requests = [
        REQUEST,
        replace(REQUEST, nonce=b"u" * 32),
        replace(REQUEST, named=b"i" * 64),
        replace(REQUEST, number=0),
        replace(REQUEST, survey=bytes(32)),
    ]
    assert len({seeds.noise(one, 0, LAW) for one in requests}) == len(requests)
    assert len({seeds.noise(REQUEST, slot, LAW) for slot in range(SLOTS)}) == SLOTS


def test_another_opening_is_refused() -> None:
    seeds, promise = promised()
    committed = seeds.commit(REQUEST, LAW)
    opening = seeds.open(REQUEST, 3, LAW)
    ground = NoiseSeeds(b"another secret", SURVEY, SUMS)  # seeds chosen after the cards were named
    other = replace(REQUEST, number=5)
    wrong: list[tuple[bytes, Opening]] = [
        (committed, replace(opening, seeds=opening.seeds[::-1])),
        (committed, replace(opening, seeds=opening.seeds[1:])),
        (committed, replace(opening, kept=bytes(32))),
        (committed, replace(opening, path=opening.path[1:])),
        (committed, replace(opening, commitments=opening.commitments[::-1])),
        (committed, replace(opening, commitments=opening.commitments[:1])),
        (committed, seeds.open(REQUEST, 2, LAW)),
        (ground.commit(REQUEST, LAW), ground.open(REQUEST, 3, LAW)),
        (seeds.commit(other, LAW), seeds.open(other, 3, LAW)),
        (bytes(32), opening),
    ]
    for told, opened in wrong:
        with pytest.raises(IntegrityError, match="dealer"):
            check_opening(promise, SUMS, REQUEST, 3, LAW, told, opened)


@pytest.mark.parametrize("slot", [SLOTS, -1, True])
def test_a_slot_that_nobody_can_draw_is_refused(slot: int) -> None:
    """A record that names one: all slots are opened, and any noise would be used."""
    seeds, promise = promised()
    opening = seeds.open(REQUEST, 0, LAW)
    every = (seeds._seed(REQUEST.number, 0), *opening.seeds)
    lied = replace(opening, seeds=every, commitments=(commit(50, 1), commit(0, 2)))
    committed = seeds.commit(REQUEST, LAW)
    with pytest.raises(IntegrityError, match="one of those that were committed to"):
        check_opening(promise, SUMS, REQUEST, slot, LAW, committed, lied)


def test_a_lie_in_one_slot_passes_in_one_of_so_many() -> None:
    """The dealer puts +50 into one slot, and hopes that it is drawn: exactly one slot lets it."""
    seeds, promise = promised()
    lied = SlotNoise((50, 0), (123, 456))
    slots = [seeds.noise(REQUEST, slot, LAW).commitments for slot in range(SLOTS)]
    slots[5] = lied.commitments
    committed = slots_hash(slots)
    passed = []
    for slot in range(SLOTS):
        opening = seeds.open(REQUEST, slot, LAW)
        if slot == 5:
            opening = replace(opening, commitments=lied.commitments)
        try:
            check_opening(promise, SUMS, REQUEST, slot, LAW, committed, opening)
            passed.append(slot)
        except IntegrityError:
            pass
    assert passed == [5]


@pytest.mark.slow
@pytest.mark.statistical
def test_the_chance_of_a_lie_is_one_in_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many closings, with slots that dealer and collector choose."""
    runs, law, slots = 2_000, Law(1, 0.8), 4
    monkeypatch.setattr(noise, "SLOTS", slots)
    (seeds, promise), rng, passed = promised(), np.random.default_rng(31), 0
    for run in range(runs):
        request = replace(REQUEST, nonce=run.to_bytes(32, "little"))
        points = [seeds.noise(request, slot, law).commitments for slot in range(slots)]
        lied, drawn = map(int, rng.integers(slots, size=2))
        points[lied] = (plus(points[lied][0], base(20)),)
        opening = replace(seeds.open(request, drawn, law), commitments=points[drawn])
        with suppress(IntegrityError):
            check_opening(promise, SUMS, request, drawn, law, slots_hash(points), opening)
            passed += 1
    chance = 1 / slots
    accepts_only(lambda p: stats.binomtest(passed, runs, p).pvalue, chance, (1 + OFF) * chance)


def test_sums_are_those_of_the_cards_and_the_noise() -> None:
    cards = [(3, 11), (-4, 12), (0, 13)]
    commitments = [commit(*card) for card in cards]
    extra = commit(2, 99)
    check_sum(1, 11 + 12 + 13 + 99, commitments, extra)
    check_sum(1, 11 + 12 + 13 + 99 + ORDER, commitments, extra)
    lies = [
        (2, 135, commitments, extra),
        (1 + 48, 135, commitments, extra),
        (1, 134, commitments, extra),
        (1, 135, commitments[1:], extra),
        (1, 135, [*commitments, commitments[0]], extra),
        (1, 135, commitments, commit(3, 99)),
    ]
    for told, blinding, named, added in lies:
        with pytest.raises(IntegrityError, match="the sum is not that of the cards"):
            check_sum(told, blinding, named, added)
