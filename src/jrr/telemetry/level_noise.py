"""The noise of one level of a tree: variances of weighted sums of its estimated shares.

Sums of shares are not sums of independent numbers: how the shares of one mechanism vary together is
written down here, for each kind of mechanism that a tree takes (docs/theory.md, section 18).
"""

from collections.abc import Callable

from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism


def spread_of_values(weights: Floats, shares: Floats) -> Floats:
    """The variance of what single people's values weigh: weights[sum, value]."""
    spread: Floats = weights**2 @ shares - (weights @ shares) ** 2
    return spread


def _single_values(mechanism: Mechanism, weights: Floats, held: Floats, n: int) -> Floats:
    """Noise of Σ weight · share, where a report supports exactly one value (RR)."""
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    total = weights.sum(axis=1, keepdims=True)
    mean = q * total + (p - q) * weights  # what a holder's report weighs on average
    square = q * (weights**2).sum(axis=1, keepdims=True) + (p - q) * weights**2
    noise: Floats = (square - mean**2) @ held / (n * gain**2)
    return noise


def _single_bits(mechanism: Mechanism, weights: Floats, held: Floats, n: int) -> Floats:
    """The same where values are supported independently of each other (OUE, OLH)."""
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    squares = weights**2
    spread = q * (1 - q) * squares.sum(axis=1) + (p * (1 - p) - q * (1 - q)) * (squares @ held)
    noise: Floats = spread / (n * gain**2)
    return noise


def _behind_masks(mechanism: Mechanism, weights: Floats, held: Floats, n: int) -> Floats:
    """The same behind masks, which are independent for every value (MRR of more than two)."""
    of = mechanism.moments
    q, gain = float(of.q[0]), float(of.gain[0])
    coin = _single_values if getattr(mechanism, "coin", "") == "rr" else _single_bits
    alone = n * q * (1 - q) / gain**2
    constant = float(of.quadratic(n, mechanism.fewest_decks(n)).constant[0])
    masks: Floats = (constant - alone) / n**2 * (weights**2).sum(axis=1)
    return coin(mechanism, weights, held, n) + masks


# By the mechanism's name: mechanism, weights[sum, value], shares held, people -> variances.
NOISE: dict[str, Callable[[Mechanism, Floats, Floats, int], Floats]] = {
    "RR": _single_values,
    "OUE": _single_bits,
    "OLH": _single_bits,
    "MRR": _behind_masks,
}
