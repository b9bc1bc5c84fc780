"""What one contributor who lies can do to an estimate, for plans and for measured attacks."""

from collections.abc import Iterable
from typing import Any

from jrr._base import checks
from jrr.mechanisms.base import Mechanism


def liar_bias(
    mechanism: Mechanism, frequency: float = 0.0, value: int = 1, verified: bool = False
) -> float:
    """By how many people one contributor who supports a value all it can moves its estimate.

    On average over contributors of whom `frequency` hold the value anyway: with none of them it is
    the most that one person can, which plans and reports say. Masked reports may be any number that
    the collector accepts, up to B+1: that is (B+1-q)/λ - f people. Verified ones are a mask and
    what the coin can say, 1 at most: (1-q)/λ - f; a liar who says that there was no card has
    nothing to prove, and moves as many as under RR.

    Args:
        mechanism: what perturbs the answers.
        frequency: the share of people who hold the value.
        value: which one.
        verified: whether answers behind announced masks are proved to be possible ones.

    Returns:
        The number of people.

    Example:
        >>> import jrr
        >>> round(liar_bias(jrr.plan(10_000, 1.0).mechanism))
        40
        >>> round(liar_bias(jrr.plan(10_000, 1.0).mechanism, verified=True), 1)
        1.6
    """
    frequency = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
    q, gain = lie_and_gain(mechanism, value)
    if not (verified and mechanism.announced):
        return (mechanism.most_support - q) / gain - frequency
    masked: Any = mechanism
    base, alone = lie_and_gain(mechanism, value, carded=False)
    most = float(masked.coin.largest)
    return max((most - q) / gain, (most - base) / alone) - frequency


def most_moved(mechanisms: Iterable[Mechanism], verified: bool) -> float:
    """The most of `liar_bias` of some questions: by how many people one liar moves a result."""
    return max((liar_bias(one, verified=verified) for one in mechanisms), default=0.0)


def lie_and_gain(mechanism: Mechanism, value: int, carded: bool = True) -> tuple[float, float]:
    """The chance that a report supports a value that is not held, and how much oftener a held one.

    That is q and λ = p - q.
    """
    moments, at = mechanism.moments, checks.integer("value", value, 0, mechanism.k - 1)
    moments = moments if carded else moments.without_cards()
    at = at if len(moments.q) > 1 else 0  # one entry where all values are treated alike
    return float(moments.q[at]) + moments.base, float(moments.gain[at])
