"""MPyC, another engine by other people, as the oracle of our own dealing."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr.dealing.committee.field import PRIME
from jrr.research.processes import free_port
from tests.dealing.committee.memory import (
    Mesh,
    assignments,
    counted_seeds,
    in_turn,
    opened,
    step_by_step,
    succeeded,
)
from tests.statistics_rules import OFF, P_VALUE

PROGRAM = Path(__file__).with_name("mpyc_program.py")
DEADLINE, TRIES = 300.0, 3  # seconds
DEALS = 2_000
DECK = (1, 1, 2)


def ask(**asked: Any) -> Any:
    """Three processes of MPyC on this machine.

    A port that somebody else takes in between leaves them waiting for ever: try again.
    """
    for _ in range(TRIES):
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), "-M3", "-B", str(free_port(2)), "--no-log"],
            env=os.environ | {"JRR_TEST_ASKED": json.dumps({"prime": PRIME, **asked})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, error = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            continue
        assert process.returncode == 0, error
        return json.loads(out)
    raise AssertionError("MPyC did not finish")


@pytest.mark.slow_variants("(1, 1, 2, 2)]")
@pytest.mark.parametrize("deck", [(1, 1, 2, 2), (1, 2, 3, 1, 2, 3, 1)], ids=str)
def test_what_parties_hold_opens_to_the_deck(deck: tuple[int, ...]) -> None:
    """Cards and tags, added up by MPyC, are those that we open, and tags are α times cards."""
    seeds = [counted_seeds(f"mpyc/{me}") for me in range(3)]
    with in_turn():
        dealt = succeeded(step_by_step(Mesh(3), deck, 1, seeds=seeds))
    shares = [{"cards": one.cards.tolist(), "tags": one.tags.tolist()} for one in dealt]
    found = ask(shares=shares, alpha=dealt[0].alpha)
    cards, tags = opened(dealt)
    assert found["cards"] == list(cards)
    assert found["tags"] == list(tags) == found["times alpha"]
    assert sorted(found["cards"]) == sorted(deck)
    shares[1]["cards"][0] += 1  # the negative control: a party that changes a card
    changed = ask(shares=shares, alpha=dealt[0].alpha)
    assert changed["tags"] != changed["times alpha"]


def alike(first: Sequence[int], second: Sequence[int]) -> float:
    """p-value of two rows of counts having one law."""
    return float(stats.chi2_contingency(np.array([first, second])).pvalue)


@pytest.mark.slow
@pytest.mark.statistical
def test_both_engines_deal_by_one_law() -> None:
    theirs = Counter(tuple(cards) for cards in ask(deals=DEALS, deck=DECK))
    ours = Counter(assignments(3, DECK, 1, DEALS, "beside mpyc"))
    orders = sorted(set(theirs) | set(ours))
    assert len(orders) == 3
    rows = [[found[order] for order in orders] for found in (theirs, ours)]
    assert alike(*rows) > P_VALUE
    lost = round(OFF * rows[1][0])  # the negative control: one order comes 30% too rarely
    assert alike(rows[0], [rows[1][0] - lost, rows[1][1] + lost, rows[1][2]]) < P_VALUE
