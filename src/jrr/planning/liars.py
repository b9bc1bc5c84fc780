"""What one contributor who lies can do to an estimate, for plans and for measured attacks."""

from jrr._base import checks
from jrr.mechanisms.base import Mechanism

USUAL_SHARE = 0.1  # of people who hold the answer, where nothing is known: it matters by < 1 person


def liar_bias(mechanism: Mechanism, frequency: float = USUAL_SHARE, value: int = 1) -> float:
    """By how many people one contributor who supports a value all it can moves its estimate.

    On average over contributors of whom `frequency` hold the value anyway. Masked reports may be
    any number that the collector accepts, up to B+1: that is (B+1-q)/λ - f people.

    Args:
        mechanism: what perturbs the answers.
        frequency: the share of people who hold the value.
        value: which one.

    Returns:
        The number of people.

    Example:
        >>> import jrr
        >>> round(liar_bias(jrr.plan(10_000, 1.0).mechanism))
        40
    """
    frequency = checks.real("frequency", frequency, "in 0..1", 0.0, 1.0)
    q, gain = lie_and_gain(mechanism, value)
    return (mechanism.most_support - q) / gain - frequency


def lie_and_gain(mechanism: Mechanism, value: int) -> tuple[float, float]:
    """The chance that a report supports a value that is not held, and how much oftener a held one.

    That is q and λ = p - q.
    """
    moments, at = mechanism.moments, checks.integer("value", value, 0, mechanism.k - 1)
    at = at if len(moments.q) > 1 else 0  # one entry where all values are treated alike
    return float(moments.q[at]) + moments.base, float(moments.gain[at])
