"""The most accurate masked randomized response: how strong a coin, and which share cards get.

The loss ε fixes the sum c of the card's and the closing's rates once the own coin is chosen. What
is left are two numbers, the coin and the card's share of c, and a variance in closed form.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jrr.estimation.masks import AnnouncedMasks, ClosedMasks, Masks
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.request import Request

LEAST_CARD_RATE = 0.00125  # below it cards would not fit into 16 bits
_ANNOUNCED_SHARES = (0.03, 0.97)  # of c for cards whose sum is announced: at least and at most
_DEARER = 1.02  # variance that small cards may cost: the smaller, the less a liar moves the result
_COINS_TRIED = (1.0, 0.6, 0.35, 0.2, 0.1)  # of the way from ε to the cap
_SHARES_TRIED = (0.02, 0.1, 0.25, 0.5, 0.75, 0.97)  # of c for the card of a closed deck
_MOST_OWN = 40.0  # a coin that hardly ever lies
_UNCAPPED = 20.0  # the own coin's loss where nobody asked for a cap


@dataclass(frozen=True)
class Design:
    """The parameters that are chosen."""

    own: float
    card_rate: float
    closing_rate: float

    def scaled(self, factor: float) -> "Design":
        """With both rates made a little smaller, which is more private."""
        return Design(self.own, self.card_rate * factor, self.closing_rate * factor)


def own_cap(request: Request) -> float:
    """The most that the own coin may lose."""
    return min(request.dealer_epsilon or _UNCAPPED, _MOST_OWN)


def best_design(request: Request, coin: Coin) -> Design | None:
    """The best over own coins up to the cap; None where the cap leaves none."""
    cap = own_cap(request)
    if not cap > request.budget:
        return None
    # The coin may be anything from just above ε to the cap; the cap is usually best, by far.
    owns = [request.budget + share * (cap - request.budget) for share in _COINS_TRIED]
    found: list[tuple[float, Design]] = []
    for own in owns:
        design = design_for(request, coin, own)
        if design is not None:
            found.append((worth_of(request, coin, design), design))
        if len(found) == 2 and found[1][0] > found[0][0] * 1.02:
            return found[0][1]
    if not found:
        return None
    worth, best = min(found, key=lambda one: one[0])
    near = sorted(owns)
    at = near.index(best.own)
    low, high = near[max(0, at - 1)], near[min(len(near) - 1, at + 1)]
    own = _lowest(lambda x: worth_of(request, coin, design_for(request, coin, x)), low, high, 1e-3)
    better = design_for(request, coin, own)
    return better if better is not None and worth_of(request, coin, better) < worth else best


def design_for(request: Request, coin: Coin, own: float) -> Design | None:
    """The best share for the card, the own coin being given."""
    step = coin.step_for(request.budget, own)
    if not math.isfinite(step) or step <= LEAST_CARD_RATE:
        return None
    if request.announced:
        return _announced_design(request, coin, own, step)
    least = LEAST_CARD_RATE / step
    if least > 0.9:
        return None

    def worth(share: float) -> float:
        return worth_of(request, coin, Design(own, share * step, (1 - share) * step))

    grid = np.unique(np.clip(_SHARES_TRIED, least, 0.97))
    worths = [worth(float(share)) for share in grid]
    at = int(np.argmin(worths))
    low, high = float(grid[max(0, at - 1)]), float(grid[min(len(grid) - 1, at + 1)])
    found = _lowest(worth, low, high, 1e-3)
    share = found if worth(found) < worths[at] else float(grid[at])
    return Design(own, share * step, (1 - share) * step)


def _announced_design(request: Request, coin: Coin, own: float, step: float) -> Design | None:
    """The smallest cards that cost little: the largest share of c for them, by halving.

    The variance hardly depends on the cards, which the announced sum takes away. But a liar may
    send any number that a card could explain: large cards would let one person move everything.
    """
    if not step > LEAST_CARD_RATE:
        return None
    low, high = (max(share, LEAST_CARD_RATE / step) for share in _ANNOUNCED_SHARES)
    high = min(high, 0.97)
    sums = request.announcements
    if low >= high:
        return Design(own, LEAST_CARD_RATE, (step - LEAST_CARD_RATE) / sums)

    def design(share: float) -> Design:
        return Design(own, share * step, (1 - share) * step / sums)

    allowed = _DEARER * worth_of(request, coin, design(low))
    if worth_of(request, coin, design(high)) <= allowed:
        return design(high)
    for _ in range(13):
        middle = (low + high) / 2
        if worth_of(request, coin, design(middle)) <= allowed:
            low = middle
        else:
            high = middle
    return design(low)


def _lowest(f: Callable[[float], float], low: float, high: float, close: float) -> float:
    """Where a function with one valley is least, by golden sections; it may be infinite."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = f(left), f(right)
    while high - low > close:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = f(right)
    return left if at_left <= at_right else right


def worth_of(request: Request, coin: Coin, design: Design | None) -> float:
    """The variance of a design, by which searches compare; infinite for none."""
    if design is None:
        return math.inf
    masks: Masks
    if request.announced:
        masks = AnnouncedMasks(design.card_rate, design.closing_rate)
    else:
        masks = ClosedMasks(request.n, design.card_rate, design.closing_rate)
    p, q = coin.ideal_chances(design.own)
    noise = request.variance_of(coin.moments(p, q, p - q, masks, deck=request.n))
    return noise + coin.rounding(design.own) / request.reporters
