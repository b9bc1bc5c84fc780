"""One estimate of several surveys that asked different people the same question."""

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate


def pooled(*estimates: Estimate) -> Estimate:
    """The estimate of all people of several surveys together.

    Counts are added, and so are their variances. That holds for surveys that are independent of
    each other, and also where the mechanism of a later one was chosen by what earlier ones said,
    as in two phases (docs/theory.md, Theorem 12a). Nobody may be in two of them.

    Args:
        *estimates: at least two, with the same values in the same order.

    Returns:
        A new estimate, of those who answered; `for_population` makes it one of a population.

    Raises:
        ArgumentError: for fewer than two, or estimates of different numbers of values.

    Example:
        >>> import jrr
        >>> first = jrr.RR(p=0.75).estimate([0] * 50 + [1] * 50)
        >>> second = jrr.RR(p=0.9).estimate([0] * 90 + [1] * 10)
        >>> pooled(first, second).counts.round(1).tolist()
        [150.0, 50.0]
    """
    given: tuple[object, ...] = estimates
    for one in given:
        if not isinstance(one, Estimate):
            raise checks.refusal("estimates", one, "Estimates of shares")
    if len(estimates) < 2:
        raise ArgumentError(f"estimates must be at least two to be pooled, got {len(estimates)}")
    sizes = sorted({len(one.counts) for one in estimates})
    if len(sizes) > 1:
        raise ArgumentError(f"estimates must be of equally many values, got {sizes}")
    return Estimate([stratum for one in estimates for stratum in one.strata])
