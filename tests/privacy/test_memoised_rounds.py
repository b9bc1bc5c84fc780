"""What T rounds of remembered responses tell: enumerated, and compared with what is stated.

The oracle knows nothing of the library: it sums over all permanent responses of all values, and
takes the worst pair of histories over everything that may be seen.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jrr import DRR, JRR, MRR, RR, Longitudinal, Mechanism
from jrr.privacy.composition import composed_epsilon

Floats = NDArray[np.float64]
Chances = list[list[float]]  # [permanent response][what is seen of a round]


def told(mechanism: RR) -> Chances:
    """What plain randomized response reports of each value."""
    p, q = float(mechanism.moments.p[0]), float(mechanism.moments.q[0])
    values = range(mechanism.k)
    return [[p if y == v else q for y in values] for v in values]


def log_likelihoods(
    histories: Sequence[Sequence[int]],
    seen: Sequence[Sequence[int]],
    permanent: Chances,
    fresh: Chances,
) -> Floats:
    """[history, what is seen]: sums over the permanent responses of all values, held or not."""
    rounds = np.array(fresh)[:, np.array(seen)]  # [permanent response, what is seen, round]
    total = np.zeros((len(histories), len(seen)))
    for memory in itertools.product(range(len(permanent)), repeat=len(permanent)):
        chance = math.prod(permanent[v][m] for v, m in enumerate(memory))
        for row, history in enumerate(histories):
            told_by = [rounds[memory[x], :, t] for t, x in enumerate(history)]
            total[row] += chance * np.prod(told_by, axis=0)
    return np.log(total)


def changes(history: Sequence[int]) -> tuple[bool, ...]:
    """When the value changes, without saying from what to what."""
    return tuple(a != b for a, b in itertools.pairwise(history))


def same_value(history: Sequence[int]) -> tuple[int, ...]:
    """Which rounds have the same value, without saying which."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(v, len(first)) for v in history)


def all_but_one(history: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """All rounds but one, for each one."""
    return [(t, tuple(history[:t]) + tuple(history[t + 1 :])) for t in range(len(history))]


def worst_losses(rounds: int, permanent: Chances, fresh: Chances) -> dict[tuple[str, int], float]:
    """(secret, at most so many values) -> the worst loss over histories and everything seen."""
    k = len(permanent)
    histories = list(itertools.product(range(k), repeat=rounds))
    seen = list(itertools.product(range(len(fresh[0])), repeat=rounds))
    logs = log_likelihoods(histories, seen, permanent, fresh)
    alike: dict[Any, list[int]] = defaultdict(list)  # what the adversary knows -> histories
    for row, history in enumerate(histories):
        alike["history", 0].append(row)
        for one_round in all_but_one(history):
            alike["round", 0, one_round].append(row)
        for distinct in range(len(set(history)), k + 1):
            alike["values", distinct, changes(history)].append(row)
            alike["same rounds", distinct, same_value(history)].append(row)
    found: dict[tuple[str, int], float] = defaultdict(float)
    for (secret, distinct, *_), rows in alike.items():
        spread = float(np.max(logs[rows].max(axis=0) - logs[rows].min(axis=0)))
        found[secret, distinct] = max(found[secret, distinct], spread)
    return found


GRID = [
    *((2, rounds, e, c) for rounds in (1, 2, 3, 4) for e, c in ((2.0, 1.0), (0.3, 3.0))),
    *((3, rounds, e, c) for rounds in (1, 2, 3, 4, 5) for e, c in ((2.0, 2.0), (0.5, 2.0))),
    *((3, rounds, 2.0, 0.1) for rounds in (3, 4)),
    *((4, rounds, 1.0, c) for rounds in (3, 4) for c in (0.5, 3.0)),
]


@pytest.mark.slow_variants("4-4-1.0-0.5")
@pytest.mark.parametrize(("k", "rounds", "permanent", "fresh"), GRID)
def test_what_is_stated_is_what_enumeration_finds(
    k: int, rounds: int, permanent: float, fresh: float
) -> None:
    daily = Longitudinal(RR(k, epsilon=fresh), RR(k, epsilon=permanent))
    assert daily.permanent is not None
    found = worst_losses(rounds, told(daily.permanent), told(RR(k, epsilon=fresh)))
    for distinct in range(1, min(k, rounds) + 1):
        stated = daily.epsilon(rounds=rounds, secret="values", distinct=distinct)
        assert stated >= found["values", distinct] * (1 - 1e-12)
        if distinct < 3:
            assert stated == pytest.approx(found["values", distinct], rel=1e-9)
        once = daily.epsilon(rounds=rounds, secret="values", distinct=distinct, returning=False)
        assert once == pytest.approx(found["same rounds", distinct], rel=1e-9)
    assert daily.epsilon(rounds=rounds) == pytest.approx(found["values", 1])
    stated = daily.epsilon(rounds=rounds, secret="history")
    assert stated >= found["history", 0] * (1 - 1e-12)
    if k == 2:
        assert stated == pytest.approx(found["history", 0], rel=1e-9)
    assert daily.epsilon(rounds=rounds, secret="round") >= found["round", 0] - 1e-12


def loss_between(
    one: Sequence[int], other: Sequence[int], seen: Sequence[int], daily: Longitudinal
) -> float:
    """How much likelier what is seen is with one history than with the other."""
    assert isinstance(daily.fresh, RR)
    assert daily.permanent is not None
    logs = log_likelihoods([one, other], [seen], told(daily.permanent), told(daily.fresh))
    return float(logs[0, 0] - logs[1, 0])


def test_values_that_come_back_are_not_protected_by_what_is_remembered() -> None:
    """Same times of change, three values; the sum of three permanent losses would be 6."""
    daily = Longitudinal(RR(3, epsilon=2.0), RR(3, epsilon=2.0))
    one, other = ([v for v in order for _ in range(10)] for order in ((0, 1, 0, 2), (0, 1, 2, 0)))
    assert changes(one) == changes(other)
    found = loss_between(one, other, one, daily)
    assert found == pytest.approx(21.87, abs=0.005)
    options: dict[str, Any] = {"rounds": 40, "secret": "values", "distinct": 3}
    assert daily.epsilon(**options) > found
    assert daily.epsilon(**options, returning=False) == pytest.approx(6.0)
    assert daily.epsilon(rounds=40, secret="values", distinct=2) == pytest.approx(4.0)


@pytest.mark.parametrize("rounds", [9, 18, 36, 72])
def test_the_bound_of_three_values_grows_as_the_loss_does(rounds: int) -> None:
    """Histories in which every pair of values meets equally often lose 2/3 of the fresh loss."""
    daily = Longitudinal(RR(3, epsilon=2.0), RR(3, epsilon=2.0))
    one = [(0, 1, 2)[t % 3] for t in range(rounds)]
    other = [(0, 1, 2, 1, 2, 0, 2, 0, 1)[t % 9] for t in range(rounds)]
    found = loss_between(one, other, one, daily)
    stated = daily.epsilon(rounds=rounds, secret="values", distinct=3)
    assert changes(one) == changes(other)
    assert found <= stated
    assert stated - found < 7.0  # about the loss of three permanent responses, for any rounds
    assert daily.epsilon(rounds=rounds, secret="history") <= stated * (1 + 1e-9)


def everything_of_one_round(mechanism: MRR, known_card: bool, reach: int = 6) -> Chances:
    """All that is seen of one of n = 2 people: both reports, perhaps the other's card.

    Closed decks; the other person answers 0. What is seen is cut at `reach`, where ratios have
    long been constant.
    """
    lie = 1 - float(mechanism.moments.p[0])
    a, b = mechanism.card_rate, mechanism.total_rate
    cells = range(-reach, reach + 2)

    def weight(y0: int, y1: int, coin: int, other: int) -> float:
        z0, z1 = y0 - coin, y1 - other
        return math.exp(-a * (abs(z0) + abs(z1)) - b * abs(z0 + z1))

    rows: Chances = []
    for value in (0, 1):
        row = []
        for y0, y1 in itertools.product(cells, repeat=2):
            parts = [
                sum(
                    (1 - lie if coin == value else lie)
                    * (1 - lie if other == 0 else lie)
                    * weight(y0, y1, coin, other)
                    for coin in (0, 1)
                )
                for other in (0, 1)
            ]
            row += parts if known_card else [sum(parts)]
        rows.append(row)
    return rows


@pytest.mark.parametrize("known_card", [False, True], ids=["collector", "colluding contributor"])
def test_two_rounds_behind_closed_decks(known_card: bool) -> None:
    """Fresh decks of masked cards in each of two rounds, n = 2, in the view everything."""
    mechanism = MRR(2, own=1.5, card_rate=0.8, total_rate=0.6)
    permanent = RR(epsilon=1.2)
    daily = Longitudinal(mechanism, permanent)
    fresh = everything_of_one_round(mechanism, known_card, reach=2)
    # The worst ratios of one round decide: keep one sight for each direction, and one between.
    ratios = [one / zero for zero, one in zip(*fresh, strict=True)]
    order = sorted(range(len(ratios)), key=lambda i: ratios[i])
    kept = [order[0], order[len(order) // 2], order[-1]]
    laws = told(permanent), [[row[i] for i in kept] for row in fresh]
    found = worst_losses(2, *laws)
    for secret, distinct in (("values", 1), ("values", 2), ("history", 0)):
        stated = daily.epsilon(
            "everything", rounds=2, secret=secret, distinct=max(distinct, 1), colluders=1
        )
        assert found[secret, distinct] <= stated + 1e-12
        assert found[secret, distinct] == pytest.approx(stated, rel=1e-6)


def two_card_rounds(truths: Sequence[Sequence[Sequence[float]]], view: str) -> Chances:
    """One round of n = 2 people who are dealt card 0 and card 1; the other one's value is 0.

    truths: [card][value][report] chances. The target is person 0.
    """
    rows: Chances = []
    for value in (0, 1):
        row: dict[tuple[int, ...], float] = {}
        for card, y0, y1 in itertools.product((0, 1), repeat=3):
            sight = {
                "report": (y0,),
                "everything": (y0, y1),
                "cards": (y0, y1, 1 - card),  # the other person's card
                "dealer": (y0, y1, card),
            }[view]
            chance = 0.5 * truths[card][value][y0] * truths[1 - card][0][y1]
            row[sight] = row.get(sight, 0.0) + chance
        rows.append([row[sight] for sight in sorted(row)])
    return rows


def joint(p: float, s: float) -> list[list[list[float]]]:
    chances = (p - s, p + s)
    return [[[t if y == x else 1 - t for y in (0, 1)] for x in (0, 1)] for t in chances]


def dealt(truth: float, own: float) -> list[list[list[float]]]:
    return [
        [
            [truth * (y == x) + (1 - truth - own) * (y == card) + own / 2 for y in (0, 1)]
            for x in (0, 1)
        ]
        for card in (0, 1)
    ]


@pytest.mark.parametrize("view", ["report", "cards", "everything", "dealer"])
@pytest.mark.parametrize(
    ("mechanism", "truths"),
    [(JRR(2, p=0.6, s=0.3), joint(0.6, 0.3)), (DRR(2, truth=0.4, own=0.2), dealt(0.4, 0.2))],
)
def test_two_rounds_of_cards_by_view(
    mechanism: Mechanism, truths: list[list[list[float]]], view: str
) -> None:
    """A collector with one report, with all, with the other's card, and with the dealer."""
    permanent = RR(epsilon=1.2)
    daily = Longitudinal(mechanism, permanent)
    found = worst_losses(2, told(permanent), two_card_rounds(truths, view))
    for secret, distinct in (("values", 1), ("values", 2), ("history", 0)):
        stated = daily.epsilon(
            view, rounds=2, secret=secret, distinct=max(distinct, 1), colluders=int(view == "cards")
        )
        assert found[secret, distinct] <= stated + 1e-12
        if mechanism.name == "JRR" and view in ("report", "dealer"):
            assert found[secret, distinct] == pytest.approx(stated, rel=1e-9)


def test_a_year_costs_no_more_than_the_permanent_response() -> None:
    for mechanism in (RR(epsilon=1.0), MRR.for_epsilon(1.0, n=1_000, announced=True)):
        daily = Longitudinal(mechanism, RR(epsilon=2.0))
        for view in ("report", "cards", "everything", "dealer"):
            assert daily.epsilon(view, rounds=365) <= 2.0
            assert daily.epsilon(view, rounds=365) > 1.99
            assert daily.epsilon(view, rounds=365, secret="values") <= 4.0 * (1 + 1e-9)


def test_remembering_does_not_hide_when_a_value_changed() -> None:
    """Known limit, stated: a history costs more than two permanent responses, and grows."""
    daily = Longitudinal(RR(epsilon=1.0), RR(epsilon=2.0))
    few, year = (daily.epsilon(rounds=t, secret="history") for t in (10, 365))
    assert few > 4.0
    assert 180 < year < 365
    # Without fresh noise a change is seen for sure (Theorem S2).
    bare = Longitudinal(RR(p=1.0), RR(epsilon=2.0))
    assert bare.epsilon(rounds=2) == pytest.approx(2.0)
    assert bare.epsilon(rounds=2, secret="history") == math.inf


def fresh_delta(epsilon: float, rounds: int, at: float) -> float:
    """δ of rounds of randomized response, summed over all reports."""
    p = 1 / (1 + math.exp(-epsilon))
    total = 0.0
    for seen in itertools.product((0, 1), repeat=rounds):
        one = math.prod(p if y else 1 - p for y in seen)
        zero = math.prod(1 - p if y else p for y in seen)
        total += max(0.0, one - math.exp(at) * zero)
    return total


@pytest.mark.parametrize(("epsilon", "rounds", "delta"), [(0.5, 6, 0.01), (1.0, 4, 0.1)])
def test_fresh_rounds_at_a_delta(epsilon: float, rounds: int, delta: float) -> None:
    found = composed_epsilon(epsilon, rounds, delta)
    assert fresh_delta(epsilon, rounds, found) == pytest.approx(delta, rel=1e-6)
    assert fresh_delta(epsilon, rounds, found) <= delta
    assert composed_epsilon(epsilon, rounds) == float(Fraction(epsilon) * rounds)
