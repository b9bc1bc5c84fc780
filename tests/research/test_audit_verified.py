"""Verified reports tell no more than others: an audit of all that is sent and told.

The adversary is the collector: it has the report, the commitments of two people, the proof, what
the dealer told, and the other person's card. It also tries what would open careless commitments.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from jrr import MRR
from jrr._base.randomness import RandomSource
from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.cards import VerifiedCard, cards_of, report_binding, signed_card
from jrr.dealing.verified.group import IDENTITY, OTHER_BASE, base, minus, number_bytes, plus
from jrr.dealing.verified.keys import Secrets, Stream
from jrr.dealing.verified.laws import Law
from jrr.dealing.verified.noise import NoiseRequest, check_sum
from jrr.dealing.verified.proofs import Possible, Statement, prove, verify
from jrr.research.audit import audit

pytestmark = pytest.mark.slow
MECHANISM = MRR(n=2, own=4.0, card_rate=0.9, announced_rate=0.9)
CARDS, NOISE = {"answer": Law(1, 0.9)}, Law(1, 0.9)
FAR = 6  # masks beyond are not looked for
SMALL = range(-2 * FAR, 2 * FAR + 1)


def drawn(rng: RandomSource, size: int) -> bytes:
    return b"".join(rng.word().to_bytes(8, "little") for _ in range(size // 8))


def seen(value: int, trials: int, rng: RandomSource) -> Any:
    """What the collector makes of one survey of two people, for every trial."""
    return np.array([one_survey(value, rng) for _ in range(trials)])


def one_survey(value: int, rng: RandomSource) -> str:
    dealer = Secrets(drawn(rng, 32))
    context = dealer.promise(b"r" * 32).context("5a" * 32)
    asked = [SerialNonce(drawn(rng, 16), drawn(rng, 32)) for _ in range(2)]
    mine, theirs = (cards_of(dealer, context, one, CARDS)["answer"] for one in asked)
    said = int(MECHANISM.respond_one(value, 0, rng))  # with a card of 0 the coin alone
    report = mine.masks[0] + said
    name = drawn(rng, 32)
    binding = report_binding(context, "answer", name, [asked[0].serial])
    statement = Statement(binding, Possible(1), mine.commitments, [report])
    proof = prove(statement, [said], mine.blindings)
    verify(statement, proof)
    signature = dealer.sign(signed_card(context, "answer", asked[0].serial, mine.commitments))
    request = NoiseRequest(b"s" * 32, drawn(rng, 32), b"n" * 64, 0)
    noise = request.noise(0, drawn(rng, 32), NOISE)
    told = mine.masks[0] + theirs.masks[0] + noise.values[0]
    blinding = mine.blindings[0] + theirs.blindings[0] + noise.blindings[0]
    points = [*mine.commitments, *theirs.commitments]
    check_sum(told, blinding, points, noise.commitments[0])
    left = min(max(told - theirs.masks[0], -FAR), FAR)
    bits = [part[0] & 1 for part in (mine.commitments[0], proof, proof[-32:], signature)]
    bits.append(number_bytes(blinding)[0] & 1)
    mask = opened(mine.commitments[0], theirs)
    guess = "" if mask is None else str(report - mask)
    return f"{min(max(report, -FAR), FAR)} {left} {sum(bits) % 2} {guess}"


def opened(mine: bytes, theirs: VerifiedCard) -> int | None:
    """The mask behind a commitment, if it was blinded as others were, or with few bits."""
    distance = minus(mine, theirs.commitments[0])
    for mask in SMALL:
        if distance == base_of(mask - theirs.masks[0]) or minus(mine, base_of(mask)) in few_bits():
            return mask
    return None


@cache
def base_of(number: int) -> bytes:
    return base(number)


@cache
def few_bits() -> frozenset[bytes]:
    """The second base so many times, for every number of 16 bits."""

    def multiples() -> Iterator[bytes]:
        point = IDENTITY
        for _ in range(1 << 16):
            yield point
            point = plus(point, OTHER_BASE)

    return frozenset(multiples())


CLAIM = MECHANISM.epsilon("everything")


@pytest.mark.statistical
def test_what_is_sent_and_told_keeps_the_claim() -> None:
    found = audit(seen, CLAIM, 4_000, 1, workers=1)
    assert not found.violates, found.sentence
    assert found.lower_bound > 0.3 * CLAIM  # or nothing would be measured


LEAKS = {
    "blindings of 16 bits": lambda self: int.from_bytes(self.take(64)[:2], "little"),
    "one blinding for all": lambda self: 5**90,
}


@pytest.mark.statistical
@pytest.mark.parametrize("leak", list(LEAKS))
def test_a_careless_blinding_is_found(leak: str) -> None:
    with patch.object(Stream, "number", LEAKS[leak]):
        found = audit(seen, CLAIM, 1_000, 1, workers=1)
    assert found.violates, found.sentence
