"""Parameters of coupled encodings for a wanted ε: solve for privacy, then choose the lean.

A family of mechanisms has one noise parameter, more of which is more private, and a lean s,
more of which is less private. At every noise the largest lean is the most that probabilities
and the cap on the dealer allow. The best choice is that lean, or none at all: between them the
variance is larger (tests/mechanisms/test_unary.py searches), as it is for JRR and DRR.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.request import Request

if TYPE_CHECKING:
    from jrr.mechanisms.joint import JRR
    from jrr.mechanisms.unary import Unary

COUPLINGS = ("none", "joint", "dealt")
_M = TypeVar("_M", bound="JRR | Unary")


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What the parameters of an encoding are chosen for, and which cards it has."""

    epsilon: float  # in the view `cards`; not a number where parameters are given instead
    coupling: str
    n: int | None  # contributors per deck, where there are cards
    colluders: int
    lean: float | None = None  # a wish; None takes the better of none and the most
    dealer_epsilon: float | None = None
    worth: Callable[[Moments], float] = Moments.mean_variance  # the variance to be made small

    @classmethod
    def checked(
        cls,
        coupling: object,
        n: object,
        colluders: object,
        epsilon: object,
        s: float | None,
        dealer_epsilon: object,
        **instead: float | None,
    ) -> "Calibration":
        """From the arguments of a constructor; `instead` is what may be given instead of ε."""
        word = checks.one_of("coupling", coupling, COUPLINGS)
        size = None
        if word == "none" and n is not None:
            raise checks.refusal("n", n, "None without a coupling: no cards are dealt")
        if word != "none":
            if n is None:
                raise checks.refusal("n", n, f"the size of a deck with coupling={word!r}")
            size = checks.deck_size(n)
        known = checks.integer("colluders", colluders, 0, None if size is None else size - 1)
        checks.exactly_one(epsilon=epsilon, **instead)
        if word == "none" and s:
            raise checks.refusal("s", s, "0 or None without a coupling")
        budget, cap = math.nan, None
        if epsilon is not None:
            budget = checks.positive("epsilon", epsilon)
            if dealer_epsilon is not None:
                cap = checks.positive("dealer_epsilon", dealer_epsilon)
        elif dealer_epsilon is not None:
            allowed = f"None where {', '.join(instead)} is given"
            raise checks.refusal("dealer_epsilon", dealer_epsilon, allowed)
        lean = 0.0 if word == "none" else s
        return cls(
            epsilon=budget, coupling=word, n=size, colluders=known, lean=lean, dealer_epsilon=cap
        )

    @classmethod
    def for_request(cls, request: Request, coupling: str) -> "Calibration":
        """The lean that is best for a plan."""
        return cls(
            epsilon=request.budget,
            coupling=coupling,
            n=request.n,
            colluders=request.colluders,
            dealer_epsilon=request.dealer_epsilon,
            worth=request.variance_of,
        )


def calibrated(
    make: Callable[[float, float], _M],
    most_lean: Callable[[float], float],
    noise: tuple[float, float],
    asked: Calibration,
    moments_of: Callable[[_M], Moments],
) -> _M:
    """The most accurate make(noise, lean) that keeps ε in the view `cards`, and the cap.

    noise: from nearly none to so much that nothing is told.
    """
    cap = math.inf if asked.dealer_epsilon is None else asked.dealer_epsilon
    budget = min(asked.epsilon, cap)

    def largest(amount: float) -> float:
        most = most_lean(amount)
        if asked.dealer_epsilon is None:
            return most
        # A falling function of what is left out of the lean.
        left = _smallest(
            lambda left: make(amount, most - left).epsilon("dealer") - cap, 0.0, most, 1e-12
        )
        return 0.0 if left is None else most - left

    def least_noise(lean_at: Callable[[float], float]) -> list[_M]:
        amount = _smallest(
            lambda amount: make(amount, lean_at(amount)).epsilon("cards", asked.colluders) - budget,
            *noise,
            1e-14,
        )
        return [] if amount is None else [make(amount, lean_at(amount))]

    wish = asked.lean
    if wish is None:
        candidates = least_noise(lambda amount: 0.0) + least_noise(largest)
    else:
        candidates = least_noise(lambda amount: min(wish, most_lean(amount)))
    if not candidates:
        raise ArgumentError(
            "epsilon must be large enough for a report to tell something, "
            f"got epsilon={asked.epsilon!r}, dealer_epsilon={asked.dealer_epsilon!r}"
        )
    best = min(candidates, key=lambda made: asked.worth(moments_of(made)))
    if wish is not None and best.s < wish:
        raise checks.refusal("s", wish, f"at most {best.s!r} at this epsilon")
    if best.epsilon("dealer") > cap:
        raise checks.refusal("s", wish, f"small enough for dealer_epsilon={cap!r}")
    return best


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
