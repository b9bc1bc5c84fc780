"""Every mechanism is made from ε by the same call."""

import inspect
import math

import pytest

import jrr
from jrr.mechanisms.registry import mechanism_class, names

KINDS = [mechanism_class(name) for name in names()]
TWO_ENDS = (jrr.Piecewise,)  # numbers, whose values are their two ends
ALWAYS_DEAL = (jrr.JRR, jrr.DRR, jrr.MRR)


def kinds(k: int) -> list[type[jrr.Mechanism]]:
    return [kind for kind in KINDS if k == 2 or not issubclass(kind, TWO_ENDS)]


@pytest.mark.parametrize(("k", "kind"), [(k, kind) for k in (2, 5) for kind in kinds(k)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_keeps_what_was_asked(k: int, kind: type[jrr.Mechanism], epsilon: float) -> None:
    made = kind.for_epsilon(epsilon, n=1_000, k=k)
    assert type(made) is kind
    assert made.k == k
    assert made.epsilon("cards", 5 if made.deals else 0) <= epsilon
    assert made.epsilon("dealer") <= epsilon + 2
    assert made.moments.deck in (None, 1_000)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_without_a_deck_no_cards_are_dealt(kind: type[jrr.Mechanism]) -> None:
    if issubclass(kind, ALWAYS_DEAL):
        with pytest.raises(jrr.JrrError, match=f"n must be the size of a deck: {kind.name} deals"):
            kind.for_epsilon(1.0)
        return
    made = kind.for_epsilon(1.0)
    assert type(made) is kind
    assert not made.deals
    assert 0.99 < made.epsilon() <= 1.0


@pytest.mark.parametrize("name", ["rr", "jrr", "drr", "mrr"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_as_accurate_as_a_plan(name: str, epsilon: float) -> None:
    plan = jrr.plan(1_000, epsilon, mechanism=name)
    made = mechanism_class(name.upper()).for_epsilon(epsilon, n=1_000)
    # A plan of MRR may choose a weaker coin, and one of cards plain RR where they gain nothing.
    assert plan.request.expected_variance(made) <= plan.request.expected_variance(
        plan.mechanism
    ) * (1 + 1e-3)


def test_cards_that_gain_nothing_do_nothing() -> None:
    """At a frequency of one half no JRR is better than RR: then it is one."""
    made = jrr.JRR.for_epsilon(1.0, n=100, frequency=0.5)
    assert made.s == 0
    assert made.p == jrr.RR(epsilon=1.0).p
    decoys = jrr.DRR.for_epsilon(1.0, n=10, colluders=9)
    assert decoys.dealt < 1e-12
    assert decoys.epsilon("everything") <= 1.0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_arguments_stand_in_the_same_order(kind: type[jrr.Mechanism]) -> None:
    """First how many people or values, then the one number that says most; all others by name."""
    given = inspect.signature(kind).parameters.values()
    positional = [one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD]
    allowed = {
        "JRR": ["n", "p"],
        "DRR": ["n", "truth", "own"],
        "MRR": ["n", "own"],
        "Piecewise": ["epsilon"],
    }
    assert positional == allowed.get(kind.name, ["k", "epsilon"])


def test_no_cap() -> None:
    for cap, reached in ((None, 3.0), (math.inf, math.inf)):
        made = jrr.DRR.for_epsilon(1.0, n=10_000, dealer_epsilon=cap)
        assert made.epsilon("dealer") == pytest.approx(reached)
