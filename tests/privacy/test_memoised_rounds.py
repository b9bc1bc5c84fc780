"""What T rounds of remembered responses tell: enumerated, and compared with what is stated.

The oracle knows nothing of the library: it sums over all permanent responses of all values, and
takes the worst pair of histories over everything that may be seen.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from jrr import DRR, JRR, MRR, RR, Longitudinal, Mechanism
from jrr.privacy.composition import composed_epsilon

Chances = list[list[float]]  # [permanent response][what is seen of a round]


def told(mechanism: RR) -> Chances:
    """What plain randomized response reports of each value."""
    p, q = float(mechanism.moments.p[0]), float(mechanism.moments.q[0])
    values = range(mechanism.k)
    return [[p if y == v else q for y in values] for v in values]


def likelihood(
    history: Sequence[int], seen: Sequence[int], permanent: Chances, fresh: Chances
) -> float:
    """Sums over the permanent responses of all values, held or not."""
    total = 0.0
    for memory in itertools.product(range(len(permanent)), repeat=len(permanent)):
        chance = math.prod(permanent[v][m] for v, m in enumerate(memory))
        for x, y in zip(history, seen, strict=True):
            chance *= fresh[memory[x]][y]
        total += chance
    return total


def pattern(history: Sequence[int]) -> tuple[int, ...]:
    """When the values change, without saying what they are."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(v, len(first)) for v in history)


def worst_losses(rounds: int, permanent: Chances, fresh: Chances) -> dict[tuple[str, int], float]:
    """(secret, at most so many values) -> the worst loss over histories and everything seen."""
    k = len(permanent)
    histories = list(itertools.product(range(k), repeat=rounds))
    found: dict[tuple[str, int], float] = {}
    for seen in itertools.product(range(len(fresh[0])), repeat=rounds):
        logs = {x: math.log(likelihood(x, seen, permanent, fresh)) for x in histories}
        for one, other in itertools.permutations(histories, 2):
            secrets = [("history", 0)]
            if pattern(one) == pattern(other):
                secrets += [("values", d) for d in range(len(set(one)), k + 1)]
            if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
                secrets += [("round", 0)]
            for secret in secrets:
                found[secret] = max(found.get(secret, 0.0), logs[one] - logs[other])
    return found


@pytest.mark.parametrize(
    ("k", "rounds", "permanent", "fresh"),
    [(2, 1, 2.0, 1.0), (2, 2, 2.0, 1.0), (2, 3, 1.0, 0.5), (2, 4, 0.3, 3.0), (3, 2, 2.0, 1.0)],
)
def test_what_is_stated_is_what_enumeration_finds(
    k: int, rounds: int, permanent: float, fresh: float
) -> None:
    daily = Longitudinal(RR(k, epsilon=fresh), RR(k, epsilon=permanent))
    assert daily.permanent is not None
    found = worst_losses(rounds, told(daily.permanent), told(RR(k, epsilon=fresh)))
    for distinct in range(1, min(k, rounds) + 1):
        stated = daily.epsilon(rounds=rounds, secret="values", distinct=distinct)
        assert stated == pytest.approx(found["values", distinct], rel=1e-9)
    assert daily.epsilon(rounds=rounds) == pytest.approx(found["values", 1])
    stated = daily.epsilon(rounds=rounds, secret="history")
    assert stated >= found["history", 0] - 1e-12
    if k == 2:
        assert stated == pytest.approx(found["history", 0], rel=1e-9)
    assert daily.epsilon(rounds=rounds, secret="round") >= found["round", 0] - 1e-12


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
    for mechanism in (RR(epsilon=1.0), MRR.for_epsilon(1_000, 1.0, announced=True)):
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
