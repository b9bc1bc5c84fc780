"""Parameters of coupled encodings for a wanted ε: solve for privacy, then choose the lean.

A family of mechanisms has one noise parameter, more of which is more private, and a lean s,
more of which is less private. At every noise the largest lean is the most that probabilities
and the cap on the dealer allow. The best choice is that lean, or none at all: between them the
variance is larger (tests/mechanisms/test_unary.py searches), as it is for JRR and DRR.
"""

import math
from collections.abc import Callable
from typing import TypeVar

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism

COUPLINGS = ("none", "joint", "dealt")
_M = TypeVar("_M", bound=Mechanism)


def check_coupling(coupling: object, n: object, colluders: object) -> tuple[str, int | None, int]:
    """A known coupling with the deck it needs."""
    word = checks.one_of("coupling", coupling, COUPLINGS)
    if word == "none":
        if n is not None:
            raise checks.refusal("n", n, "None without a coupling: no cards are dealt")
        return word, None, checks.integer("colluders", colluders, 0)
    if n is None:
        raise checks.refusal("n", n, f"the size of a deck with coupling={word!r}")
    size = checks.deck_size(n)
    return word, size, checks.integer("colluders", colluders, 0, size - 1)


def check_wish(
    wish: float | None, lean: float, mechanism: Mechanism, dealer_epsilon: float | None
) -> None:
    """Refuse a lean that was asked for and cannot be had."""
    if wish is not None and lean < wish:
        raise checks.refusal("s", wish, f"at most {lean!r} at this epsilon")
    if dealer_epsilon is not None and mechanism.epsilon("dealer") > dealer_epsilon:
        raise checks.refusal("s", wish, f"small enough for dealer_epsilon={dealer_epsilon!r}")


def calibrated(
    make: Callable[[float, float], _M],
    most_lean: Callable[[float], float],
    noise: tuple[float, float],
    worth: Callable[[_M], float],
    epsilon: float,
    dealer_epsilon: float | None,
    colluders: int,
    lean: float | None,
) -> _M:
    """The most accurate make(noise, lean) that keeps ε in the view `cards`, and the cap.

    noise: from nearly none to so much that nothing is told. worth: the variance to be made
    small. lean: a wish; None takes the better of none and the most.
    """
    budget = epsilon if dealer_epsilon is None else min(epsilon, dealer_epsilon)

    def largest(amount: float) -> float:
        most = most_lean(amount)
        if dealer_epsilon is None:
            return most
        cap = dealer_epsilon
        # A falling function of what is left out of the lean.
        left = _smallest(
            lambda left: make(amount, most - left).epsilon("dealer") - cap, 0.0, most, 1e-12
        )
        return 0.0 if left is None else most - left

    def least_noise(lean_at: Callable[[float], float]) -> list[_M]:
        amount = _smallest(
            lambda amount: make(amount, lean_at(amount)).epsilon("cards", colluders) - budget,
            *noise,
            1e-14,
        )
        return [] if amount is None else [make(amount, lean_at(amount))]

    if lean is None:
        candidates = least_noise(lambda amount: 0.0) + least_noise(largest)
    else:
        wish = lean
        candidates = least_noise(lambda amount: min(wish, most_lean(amount)))
    if not candidates:
        raise ArgumentError(
            "epsilon must be large enough for a report to tell something, "
            f"got epsilon={epsilon!r}, dealer_epsilon={dealer_epsilon!r}"
        )
    return min(candidates, key=worth)


def _smallest(
    excess: Callable[[float], float], low: float, high: float, slack: float
) -> float | None:
    """The smallest x in [low, high] with excess(x) <= 0, for a falling function; None if none.

    Regula falsi (the Illinois variant), which always ends on the private side; it stops where
    at most `slack` of the guarantee is given away.
    """
    at_low, at_high = excess(low), excess(high)
    if at_low <= 0:
        return low
    if at_high > 0:
        return None
    weight_low, weight_high = at_low, at_high  # of the end that stays, halved when it stays on
    for _ in range(200):
        middle = (low + high) / 2
        if math.isfinite(weight_low):
            guess = (low * weight_high - high * weight_low) / (weight_high - weight_low)
            middle = guess if low < guess < high else middle
        if not low < middle < high or -slack <= at_high:
            break
        value = excess(middle)
        if value > 0:
            weight_high = weight_high / 2 if weight_low == at_low else at_high
            low, at_low, weight_low = middle, value, value
        else:
            weight_low = weight_low / 2 if weight_high == at_high else at_low
            high, at_high, weight_high = middle, value, value
    return high
