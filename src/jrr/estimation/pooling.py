"""One estimate of several surveys that asked different people the same question."""

import math
from collections.abc import Sequence

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Population, Stratum


def pooled(*estimates: Estimate) -> Estimate:
    """The estimate of all people of several surveys together.

    Counts are added, and so are their variances. That holds for surveys that are independent of
    each other, and also where the mechanism of a later one was chosen by what earlier ones said,
    as in two phases (docs/theory-jrr.md, Theorem 12a). Nobody may be in two of them.

    Samples of one population are a larger sample of it, as nobody is in two of them.

    Args:
        *estimates: at least two, with the same values in the same order, all of the same
            population (`Estimate.for_population`), all with weights or all without. Weights must
            be on one scale, which nobody can check: a weight of 2 must say the same in each.

    Returns:
        A new estimate of the same population.

    Raises:
        ArgumentError: for fewer than two, estimates of different numbers of values or of
            different populations, or some with weights and some without.

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
    strata = [stratum for one in estimates for stratum in one.strata]
    _check_weights(strata)
    population, size = _one_population(estimates)
    return Estimate(strata).for_population(population, size, estimates[0].asked)


def _check_weights(strata: Sequence[Stratum]) -> None:
    """Refuse people who count once beside people who count by weights."""
    weighted = sum(stratum.n for stratum in strata if stratum.squares is not None)
    others = sum(stratum.n for stratum in strata) - weighted
    if weighted and others:
        raise ArgumentError(
            "estimates must be all with weights or all without, got "
            f"{weighted:,} people with weights and {others:,} without: nothing says how much a "
            "person without a weight counts beside the others. Tally all with weights on one "
            "scale, those without with weights of 1 if that is right"
        )


def _one_population(estimates: Sequence[Estimate]) -> tuple[Population, float | None]:
    """Whom all estimates speak of, and how many people these are where that was told."""
    sizes = {
        None if one.sampling is None or one.sampling.of_respondents else one.sampling.size
        for one in estimates
    }
    if len(sizes) > 1 or len({(one.population, one.asked) for one in estimates}) > 1:
        named = [
            f"{one.population!r} of size {one.population_size}, {one.asked:g} of them asked"
            for one in estimates
        ]
        raise ArgumentError(
            "estimates must all be of the same population and population_size, got "
            f"{', '.join(named)}: see `Estimate.for_population`"
        )
    (size,) = sizes
    return estimates[0].population, None if size is None or math.isinf(size) else size
