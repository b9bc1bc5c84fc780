"""A hundred thousand reports of the JavaScript client, mechanism by mechanism.

They are those of Python, one by one, from the same words; and they have the law that Python says
they have, while a law that is off by 30% is rejected.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.mechanisms.base import Mechanism
from tests.clients.test_javascript import node_program
from tests.statistics_rules import accepts_only, chi_square, skewed

REPORTS = 100_000
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


def by_javascript(mechanism: Mechanism, seed: int, values: list[int], cards: object) -> object:
    given = {"mechanism": mechanism.to_dict(), "seed": seed, "values": values, "cards": cards}
    done = subprocess.run(
        [node_program(), str(SCRIPT)],
        input=json.dumps(given).encode(),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


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
