"""How likely effects are found, and with how many people: differences, coefficients."""

import bisect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from scipy.special import ndtr

from jrr._base import checks
from jrr.estimation.estimates import quantile
from jrr.planning.plans import Plan, plan

Scale = Literal["difference", "log odds"]


def group_stderr(
    chosen: Any,
    people: float,
    sums: float = 1,
    frequency: float | None = None,
    *,
    compared: bool = False,
) -> float:
    """Of a share or mean among some people, where so many announced sums are added.

    Args:
        chosen: how the question is asked: a `Plan`, or one of a number or of a shared coin.
        people: in the group, who report.
        sums: of cards that are added for them.
        frequency: their share; None: by the plan's criterion.
        compared: with others of the same deck; what cancels between people does not cancel there.
    """
    request, mechanism, people = chosen.request, chosen.mechanism, max(people, 1)
    noise = (chosen.stated_stderr if frequency is None else chosen.stderr(frequency)) ** 2
    if not mechanism.announced:  # what cancels in a whole deck does not in a part of it
        known = request if frequency is None else replace(request, frequency=frequency)
        some = 1 if compared else people
        part = replace(known, lost=max(0.0, 1 - some / request.n))
        of_some, of_all = (one.variance_of(mechanism.moments) for one in (part, known))
        return math.sqrt(noise * of_some / of_all * some / people)
    whole = request.reporters
    each = chosen.unit / (float(mechanism.moments.gain[0]) * whole)  # what 1 of a sum moves
    of_sum = mechanism.masks.variance_of(whole) * each**2  # does not shrink with the group
    own = max(noise - of_sum, 0.0) * whole / people
    return math.sqrt(own + sums * of_sum * (whole / people) ** 2)


def effect_stderr(
    chosen: Any,
    shares: tuple[float, float],
    people: tuple[float, float],
    *,
    scale: Scale = "difference",
    explained: float = 0.0,
    sums: float = 1,
) -> float:
    """Of a comparison of two groups of a population that are drawn at random.

    Args:
        chosen: how the question is asked.
        shares: of yes in both groups.
        people: in both groups.
        scale: "difference" of the shares, or "log odds": the coefficient of a logistic regression
            on who is in the second group.
        explained: how much of the variance of being in that group other covariates explain (R²).
        sums: of cards that are added for each group.
    """
    variance = 0.0
    for share, some in zip(shares, people, strict=True):
        drawn = share * (1 - share)
        of_share = group_stderr(chosen, some, sums, share, compared=True) ** 2 + drawn / some
        variance += of_share / (drawn**2 if scale == "log odds" else 1)
    return math.sqrt(variance / (1 - explained))


def power_of_effect(
    n: int,
    epsilon: float,
    first: float,
    second: float,
    *,
    share: float = 0.5,
    scale: Scale = "difference",
    explained: float = 0.0,
    level: float = 0.95,
    **wish: Any,
) -> float:
    """How likely two groups are found to differ, or a logistic coefficient not to be 0.

    Masked answers are compared through a sum for each group (`plan_analyses`, closing by cells).
    Noise that cancels in a closed deck does not cancel in a comparison of its people.

    Args:
        n: people who answer.
        epsilon: what the adversary may learn at most.
        first: the share of yes in one group.
        second: in the other.
        share: of the people who are in the second group.
        scale: "difference", or "log odds" for the coefficient of a logistic regression.
        explained: how much of the variance of being in the second group the other covariates of
            that regression explain (R²).
        level: of the interval that must leave out 0.
        wish: more of `jrr.plan`, as mechanism="rr".

    Returns:
        The chance.

    Raises:
        ArgumentError: for a number out of its range, or as `jrr.plan` does.

    Example:
        >>> import jrr
        >>> ways = [{"mechanism": "rr"}, {}]
        >>> [round(jrr.power_of_effect(2_000, 1.0, 0.2, 0.26, **way), 2) for way in ways]
        [0.25, 0.79]
    """
    for name, value in {"first": first, "second": second, "share": share}.items():
        checks.real(name, value, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    checks.one_of("scale", scale, ("difference", "log odds"))
    checks.real("explained", explained, "in [0, 1)", 0.0, 1.0, open_high=True)
    chosen: Plan = plan(n, epsilon, **wish)
    whole = chosen.request.reporters
    error = effect_stderr(
        chosen,
        (first, second),
        ((1 - share) * whole, share * whole),
        scale=scale,
        explained=explained,
    )
    effect = second - first
    if scale == "log odds":
        effect = math.log(second / (1 - second)) - math.log(first / (1 - first))
    far, edge = abs(effect) / error, quantile(level)
    return float(ndtr(far - edge) + ndtr(-far - edge))


def required_n_for_effect(
    epsilon: float,
    first: float,
    second: float,
    *,
    power: float = 0.8,
    most: int = 10**12,
    **wish: Any,
) -> int:
    """The fewest contributors (an even number) with whom an effect is found so often.

    Args:
        epsilon: what the adversary may learn at most.
        first: the share of yes in one group.
        second: in the other.
        power: how often it is to be found.
        most: contributors beyond which the search gives up.
        wish: more of `power_of_effect`.

    Raises:
        ArgumentError: if `most` contributors are not enough, or as `power_of_effect` does.

    Example:
        >>> import jrr
        >>> ways = [{"mechanism": "rr"}, {}, {"scale": "log odds"}, {"announced": False}]
        >>> [jrr.required_n_for_effect(1.0, 0.2, 0.26, **way) for way in ways]
        [9664, 2074, 2104, 23194]
    """
    checks.real("power", power, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    return fewest_even(
        lambda n: power_of_effect(n, epsilon, first, second, **wish) >= power,
        lambda: checks.refusal("power", power, f"reachable with at most {most} contributors"),
        least=2 * (int(wish.get("colluders") or 0) // 2 + 1),
        most=most,
    )


def fewest_even(
    enough: Callable[[int], bool], refusal: Callable[[], Exception], *, least: int = 2, most: int
) -> int:
    """The smallest even number of people that is enough; more are enough, too."""
    low, high = least // 2 - 1, least // 2
    while not enough(2 * high):
        if high >= most // 2:
            raise refusal()
        low, high = high, min(2 * high, most // 2)
    between = range(low + 1, high)
    return 2 * (low + 1 + bisect.bisect_left(between, True, key=lambda pairs: enough(2 * pairs)))
