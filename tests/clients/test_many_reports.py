"""A hundred thousand reports of the JavaScript client, mechanism by mechanism.

They are those of Python, one by one, from the same words (of the encodings, whose reports take
words in another order when many are made at once, the first thousand); and they have the law that
Python says they have, while a law that is off by 30% is rejected.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.dealing.deck import card_to_json
from jrr.mechanisms import hashing
from jrr.mechanisms.base import Mechanism
from tests.clients.test_javascript import node_program
from tests.statistics_rules import accepts_only, chi_square, skewed

REPORTS = 100_000
ONE_BY_ONE = 1_000
SCRIPT = Path(__file__).with_name("many_reports.mjs")
MECHANISMS: list[Mechanism] = [
    jrr.RR(epsilon=1.0),
    jrr.RR(k=5, epsilon=0.7),
    jrr.JRR(n=REPORTS, p=0.6, s=0.25),
    jrr.JRR(n=REPORTS, p=0.5, s=0.2, k=4),
    jrr.DRR(n=REPORTS, truth=0.2, own=0.3, k=3),
    jrr.MRR(REPORTS, own=2.0, card_rate=0.5, announced_rate=0.4),
    jrr.MRR(REPORTS, own=2.0, card_rate=0.5, announced_rate=0.4, k=3),
    jrr.MRR(REPORTS, own=2.0, card_rate=0.5, announced_rate=0.4, k=4, coin="oue"),
]


ENCODINGS: list[Mechanism] = [
    jrr.SS(7, epsilon=1.0),
    jrr.OUE(9, epsilon=1.0),
    jrr.OUE(9, q=0.3, s=0.2, coupling="joint", n=REPORTS),
    jrr.SUE(9, q=0.3, s=0.2, coupling="dealt", n=REPORTS),
    jrr.OLH(9, epsilon=1.0),
    jrr.OLH(9, g=4, p=0.5, s=0.3, coupling="joint", n=REPORTS),
]


def by_javascript(mechanism: Mechanism, seed: int, values: list[int], cards: object) -> object:
    given = {"mechanism": mechanism.to_dict(), "seed": seed, "values": values, "cards": cards}
    done = subprocess.run(
        [node_program(), str(SCRIPT)],
        input=json.dumps(given).encode(),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.slow_variants("False-MRR*k=3", "False-MRR*k=4", "True-MRR*k=4")
@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("carded", [True, False])
def test_they_are_pythons_and_have_its_law(mechanism: Mechanism, carded: bool) -> None:
    if carded and not mechanism.deals:
        return
    values = np.arange(REPORTS) % mechanism.k
    cards = mechanism.deal(jrr.SeededRandom(1)) if carded else None
    listed = None if cards is None else np.asarray(cards).tolist()
    made = np.array(by_javascript(mechanism, 7, values.tolist(), listed))
    expected = np.asarray(mechanism.respond(values, cards, jrr.SeededRandom(7)))
    assert np.array_equal(made, expected)
    # What those whose true value is 0 report, card by card, has the law of that card.
    mine = made[values == 0]
    held = None if cards is None else np.asarray(cards)[values == 0]
    if mechanism.masked:
        coin = mechanism.moments if carded else mechanism.moments.cardless
        assert coin is not None
        if held is not None:  # the card taken off, but for reports at the end of the range
            mine = np.clip(mine - held, 0, 1)
        marks = mine if mechanism.k == 2 else mine[:, 0]
        chance = float(coin.q[0] if mechanism.k == 2 else coin.p[0])
        check([1 - chance, chance], marks)
        return
    for entry in mechanism.card_laws():
        if (entry.card is None) == (held is None):
            check(entry.reports[0].tolist(), mine if held is None else mine[held == entry.card])


def check(law: list[float], reports: NDArray[Any]) -> None:
    counts = np.bincount(reports, minlength=len(law))
    accepts_only(lambda chances: chi_square(counts, chances), law, skewed(law))


@pytest.mark.slow_variants("OUE", "OLH(k=9, g=4, p=0.5,", "SUE", "OLH")
@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ENCODINGS, ids=repr)
def test_encodings_are_pythons_and_have_its_law(mechanism: Mechanism) -> None:
    values = np.arange(REPORTS) % mechanism.k
    cards = None if not mechanism.deals else np.asarray(mechanism.deal(jrr.SeededRandom(1)))
    listed = None
    if cards is not None:
        listed = [card_to_json(mechanism, plain(card)) for card in cards]
    made = by_javascript(mechanism, 7, values.tolist(), listed)
    assert isinstance(made, list)
    source = jrr.SeededRandom(7)
    for person in range(ONE_BY_ONE):
        card = None if cards is None else plain(cards[person])
        report = mechanism.respond_one(int(values[person]), card, source)
        assert made[person] == mechanism.report_format.to_json(report)
    rows = b"".join(map(mechanism.report_bytes, made))
    packed = np.frombuffer(rows, np.uint8).reshape(REPORTS, mechanism.report_format.width)
    reports = mechanism.report_format.unpack(packed)
    if isinstance(mechanism, jrr.OLH):
        check_hashes(mechanism, values, cards, reports)
    else:
        check_bits(mechanism, values, cards, reports)


def plain(card: Any) -> Any:
    """A card as `respond_one` takes it."""
    return card.tobytes() if isinstance(card, np.ndarray) else int(card)


def check_bits(
    mechanism: Mechanism, values: NDArray[Any], cards: Any, reports: NDArray[Any]
) -> None:
    """The bit of the true value and that of the one before it, by the bit's card."""
    people = np.arange(REPORTS)
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    plus = None if cards is None else np.unpackbits(cards, axis=1, bitorder="little")
    chances: dict[tuple[bool, int | None], float]
    if isinstance(mechanism, jrr.SS):
        assert (bits.sum(axis=1) == mechanism.d).all()
        chances = {(True, None): mechanism.p, (False, None): mechanism.q}
    else:
        assert isinstance(mechanism, jrr.SUE | jrr.OUE)
        law = {True: mechanism.law.holder, False: mechanism.law.other}
        kinds: dict[int | None, str] = {0: "minus", 1: "plus"}
        kinds = {None: "none"} if plus is None else kinds
        chances = {
            (held, card): getattr(law[held], kind) / 2**63
            for held in law
            for card, kind in kinds.items()
        }
    for (held, card), chance in chances.items():
        column = values if held else (values - 1) % mechanism.k
        among = people if plus is None else people[plus[people, column] == card]
        check([1 - chance, chance], bits[among, column[among]])


def check_hashes(
    mechanism: jrr.OLH, values: NDArray[Any], cards: Any, reports: NDArray[Any]
) -> None:
    """How far the told bucket is from that of the true value, by card; the seeds' first bits."""
    state = hashing.prefix(np.ascontiguousarray(reports["seed"]))
    hashed = hashing.bucket(hashing.finish(state, values.astype(np.uint32)), mechanism.g)
    moved = (reports["value"].astype(np.int64) - hashed) % mechanism.g
    for entry in mechanism.inner.card_laws():
        if (entry.card is None) == (cards is None):
            check(entry.reports[0].tolist(), moved if cards is None else moved[cards == entry.card])
    check([1 / 16] * 16, (reports["seed"] >> np.uint64(60)).astype(np.int64))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.Piecewise(epsilon=2.0, steps=8, width=3),
        jrr.MRR(REPORTS, own=2.0, card_rate=0.5, announced_rate=0.5, coin=jrr.Window(8, 3)),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_numbers_in_steps_are_pythons_and_have_their_law(mechanism: Mechanism) -> None:
    values = np.arange(REPORTS) % (mechanism.steps + 1)
    cards = [int(card) for card in values - 3] if mechanism.deals else None
    made = by_javascript(mechanism, 7, values.tolist(), cards)
    assert isinstance(made, list)
    source = jrr.SeededRandom(7)
    for person in range(ONE_BY_ONE):
        card = None if cards is None else cards[person]
        assert made[person] == mechanism.respond_one_step(int(values[person]), card, source)
    said = np.array(made) - np.array(cards if cards is not None else 0)
    near = np.where((said >= values) & (said < values + 3), said - values, 3)
    weights = np.array([np.exp(2.0)] * 3 + [8.0])
    check((weights / weights.sum()).tolist(), near)
