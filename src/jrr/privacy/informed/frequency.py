"""What the adversary knows of the others' values: all of them, their number, or a prior."""

from typing import NamedTuple

from jrr._base import checks
from jrr.privacy.loss import DealtLaw, JointLaw

MOST_PEOPLE = 10_000_000  # beyond, laws are slow, and bounded by smaller ones


class Beta(NamedTuple):
    """A prior of the share of 1s among the others, who are independent given it."""

    a: float
    b: float


Frequency = float | Beta | None


def check_frequency(value: object) -> Frequency:
    """A known share of 1s, a Beta prior of it, or None: all values are known."""
    allowed = "None, a number in 0..1 or Beta(a, b) with a, b > 0"
    if value is None:
        return None
    if isinstance(value, Beta):
        sizes = [checks.real("frequency", part, allowed, 0.0, 1e6, open_low=True) for part in value]
        return Beta(*sizes)
    return checks.real("frequency", value, allowed, 0.0, 1.0)


def check_question(
    law: JointLaw | DealtLaw, ones: int | None, colluders: int, frequency: Frequency
) -> tuple[Frequency, int | None]:
    """A prior and a number of ones that fit together and the deck, or a refusal."""
    prior = check_frequency(frequency)
    n = law.n
    checks.integer("colluders", colluders, 0, n - 1)
    if n > MOST_PEOPLE and (prior is not None or ones is not None):
        raise checks.refusal("n", n, f"at most {MOST_PEOPLE} with ones or a frequency")
    if (prior is not None or ones is not None) and law.k > 2:
        raise checks.refusal("k", law.k, "2 where ones or a frequency is given")
    if ones is None:
        return prior, None
    if prior is not None:
        raise checks.refusal("ones", ones, "None where a frequency is given")
    return prior, checks.integer("ones", ones, 0, n - colluders - 1)
